//! Program texts of sed, awk and jq: whether they only read and print.
//!
//! Each analysis knows a harmless part of the language and calls the rest unknown.

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
        Language::Awk => super::awk::harmless(text),
        Language::Jq | Language::Yq => jq(text),
    };
    if harmless {
        Safety::Harmless
    } else {
        Safety::Unknown
    }
}

/// A filter of jq reads its input; the environment it shows too, and modules hold other filters.
fn jq(text: &[u8]) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut at = 0;
    text.chunk_by(|before, after| is_word(*before) == is_word(*after))
        .all(|chunk| {
            let start = at;
            at += chunk.len();
            let shows = matches!(
                chunk,
                b"env"
                    | b"ENV"
                    | b"envsubst"
                    | b"strenv"
                    | b"import"
                    | b"include"
                    | b"load"
                    | b"system"
            );
            let before = start.checked_sub(1).and_then(|at| text.get(at));
            // `.env` is a key, `"env"` a text.
            let key = before == Some(&b'.')
                && start.checked_sub(2).and_then(|at| text.get(at)) != Some(&b'.');
            let quoted = before == Some(&b'"') && text.get(at) == Some(&b'"');
            !shows || key || quoted
        })
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
            | b'z' | b'F' => {}
            b'q' | b'Q' | b'l' => {
                script.skip(|byte| byte == b' ' || byte.is_ascii_digit());
            }
            // The name of a label ends at a blank or a semicolon, or only with the line: of letters alone
            // it is the same.
            b':' | b'b' | b't' | b'T' => {
                script.skip(|byte| byte == b' ');
                script.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            }
            // Text up to the end of the line, which a backslash moves.
            b'a' | b'i' | b'c' => script.line(),
            b'#' => script.skip(|byte| byte != b'\n'),
            b's' => {
                script.delimited()?;
                script.skip(|byte| {
                    matches!(byte, b'g' | b'p' | b'i' | b'I' | b'm' | b'M') || byte.is_ascii_digit()
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

    /// The rest of the line, and of every line a backslash joins to it.
    fn line(&mut self) {
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => return,
                b'\\' => {
                    self.next();
                }
                _ => {}
            }
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
            Some(b'/' | b'\\') => {
                let other = self.next() == Some(b'\\');
                let delimiter = if other { self.next()? } else { b'/' };
                if matches!(delimiter, b'\\' | b'\n' | b'[') {
                    return None;
                }
                self.until(delimiter)?;
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
    use super::{jq, sed};

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
            ":a;N;$!ba;s/\\n/ /g",
            "/x/,+3p",
            "1~2d",
            "\\|usr|p",
            "2a some text; w x",
            "/^$/d; # nothing\ns/a/b/",
            "$!N",
            "10q",
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
            "a x\nw f",
            ":a w f",
            "ba;w f",
            "# x\ne id",
            "\\[x[e id",
        ] {
            assert!(sed(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn jq_filters_are_harmless_unless_they_show_the_environment() {
        for text in [
            ".",
            ".a | .b",
            ".[] | select(.name == \"env\")",
            ".environment",
            ".env.x",
        ] {
            assert!(jq(text.as_bytes()), "{text}");
        }
        for text in [
            "env",
            "$ENV.X",
            ".a, env",
            "\"\\(env.X)\"",
            "import \"x\" as x; .",
            "..|env",
        ] {
            assert!(!jq(text.as_bytes()), "{text}");
        }
    }
}
