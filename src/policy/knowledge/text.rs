//! Program texts of sed and awk: whether they only read and print.
//!
//! Both analyses know a harmless part of the language and call the rest unknown.

use super::grammar::Language;

/// What a program text does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safety {
    /// It reads and prints.
    Harmless,
    /// It may write files or start programs.
    Unknown,
}

pub(crate) fn safety(language: Language, text: &[u8]) -> Safety {
    let harmless = match language {
        Language::Sed => sed(text).is_some(),
        Language::Awk => awk(text),
    };
    if harmless {
        Safety::Harmless
    } else {
        Safety::Unknown
    }
}

/// awk starts programs by `system`, `|`, `getline` from a pipe, writes by `>`, and gawk loads code by
/// `@`. A text without any of these can do neither. Before the first brace, wherever it stands, no
/// statement can, so a `>` there compares; the other comparisons fall out with the rest.
fn awk(text: &[u8]) -> bool {
    let braces = text.iter().position(|byte| *byte == b'{');
    let statements = text.get(braces.unwrap_or(text.len())..);
    if statements.is_some_and(|rest| rest.contains(&b'>')) {
        return false;
    }
    let has = |needle: &[u8]| text.windows(needle.len()).any(|window| window == needle);
    ![b"system".as_slice(), b"getline", b"@", b"close", b"\\"]
        .iter()
        .any(|word| has(word))
        && !pipes(text)
}

/// Whether a `|` is left when every `||` is taken out from the left, as awk itself reads them.
fn pipes(text: &[u8]) -> bool {
    text.chunk_by(|before, after| (*before == b'|') == (*after == b'|'))
        .any(|run| run.first() == Some(&b'|') && run.len() % 2 == 1)
}

/// Follows a sed script; `None` where it holds anything but harmless commands.
fn sed(text: &[u8]) -> Option<()> {
    let mut script = Script(text);
    loop {
        script.skip(|byte| matches!(byte, b' ' | b'\t' | b';' | b'\n' | b'}'));
        if script.0.is_empty() {
            return Some(());
        }
        if script.address()? && script.take(b',') {
            script.skip(|byte| matches!(byte, b' ' | b'+' | b'~'));
            script.address()?.then_some(())?;
        }
        script.skip(|byte| matches!(byte, b' ' | b'\t' | b'!'));
        match script.next()? {
            b'{' => continue,
            b'p' | b'd' | b'n' | b'N' | b'D' | b'P' | b'h' | b'H' | b'g' | b'G' | b'x' | b'='
            | b'z' => {}
            b'q' | b'Q' | b'l' => {
                script.skip(|byte| byte == b' ' || byte.is_ascii_digit());
            }
            b's' => {
                script.delimited()?;
                script.skip(|byte| {
                    matches!(byte, b'g' | b'p' | b'i' | b'I') || byte.is_ascii_digit()
                });
            }
            b'y' => script.delimited()?,
            _ => return None,
        }
        script.skip(|byte| matches!(byte, b' ' | b'\t'));
        match script.0.first() {
            None | Some(b';' | b'\n' | b'}') => {}
            Some(_) => return None,
        }
    }
}

struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.0.first() == Some(&wanted);
        if found {
            self.next();
        }
        found
    }

    fn skip(&mut self, unwanted: impl Fn(u8) -> bool) {
        while self.0.first().is_some_and(|byte| unwanted(*byte)) {
            self.next();
        }
    }

    /// A line number, `$` or `/regex/`; whether there was one.
    fn address(&mut self) -> Option<bool> {
        match self.0.first() {
            Some(b'$') => {
                self.next();
                Some(true)
            }
            Some(byte) if byte.is_ascii_digit() => {
                self.skip(|byte| byte.is_ascii_digit() || byte == b'~');
                Some(true)
            }
            Some(b'/') => {
                self.next();
                self.until(b'/')?;
                self.skip(|byte| matches!(byte, b'I' | b'M'));
                Some(true)
            }
            Some(_) | None => Some(false),
        }
    }

    /// `X…X…X`
    fn delimited(&mut self) -> Option<()> {
        let delimiter = self.next()?;
        if matches!(delimiter, b'\\' | b'\n') {
            return None;
        }
        self.until(delimiter)?;
        self.until(delimiter)
    }

    /// Bracket expressions and escaped delimiters are followed in the way that ends earlier in one
    /// reading and later in the other; where they differ the text is not understood.
    fn until(&mut self, delimiter: u8) -> Option<()> {
        loop {
            match self.next()? {
                byte if byte == delimiter => return Some(()),
                b'\\' => {
                    self.next()?;
                }
                b'[' => {
                    let end = self.0.iter().position(|byte| *byte == b']')?;
                    if self.0.get(..end)?.contains(&delimiter) {
                        return None;
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{awk, sed};

    #[test]
    fn sed_printing_is_harmless_and_the_rest_is_not() {
        for text in [
            "1,5p",
            "$p",
            "/a/,/b/p",
            "s/a/b/g",
            "s|x|y|;p",
            "/^#/d",
            "1{p;q}",
            "s/[a-z]//",
        ] {
            assert!(sed(text.as_bytes()).is_some(), "{text}");
        }
        for text in [
            "1e touch x",
            "s/a/b/e",
            "s/a/b/w x",
            "w x",
            "r /etc/passwd",
            "s/[/]e/x/",
            "e",
        ] {
            assert!(sed(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn awk_printing_is_harmless_and_the_rest_is_not() {
        assert!(awk(b"{print $1}"));
        assert!(awk(b"$1 == 2 || /x/ {n += $2} END {print n}"));
        assert!(awk(b"$1 > 3"));
        assert!(awk(b"$1 >= 3 && $2 > $1 {print}"));
        for text in [
            "BEGIN{system(\"x\")}",
            "{print > \"f\"}",
            "$1 > 3 {x=\"}\"; print > \"f\"}",
            "/}/ {print > \"f\"}",
            "{\"id\" | getline}",
            "@load \"x\"",
            // A run of three is an `or` and a pipe, wherever another pipe stands.
            "BEGIN{x=\"|||\"; print \"touch x\" | \"sh\"}",
        ] {
            assert!(!awk(text.as_bytes()), "{text}");
        }
    }
}
