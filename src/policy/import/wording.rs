//! From the text of a command with wildcards to the words of a rule.
//!
//! Other hosts compare text: a wildcard runs over blanks and quotes. A rule of ours compares words. A text
//! becomes words exactly, or it is cut before what cannot be said: that makes a rule that asks or denies
//! wider, and one that allows is left out.

/// One character, or any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sym {
    Char(char),
    Any,
}

/// The text as words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wording {
    pub(super) words: Vec<Vec<Sym>>,
    /// Why the words stop before the end of the text.
    pub(super) cut: Option<&'static str>,
}

/// Splits `text` as a shell splits a command; `*` is any text when `wild`.
pub(super) fn split(text: &str, wild: bool) -> Wording {
    let mut words: Vec<Vec<Sym>> = Vec::new();
    let mut word: Option<Vec<Sym>> = None;
    let mut chars = text.chars();
    let mut cut = None;
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some(next) if next == char => break,
                        Some('*') if wild => word.push(Sym::Any),
                        Some('\\' | '$' | '`') if char == '"' => {
                            cut = Some("it holds an expansion");
                            break;
                        }
                        Some(next) => word.push(Sym::Char(next)),
                        None => {
                            cut = Some("a quote is not closed");
                            break;
                        }
                    }
                }
                if cut.is_some() {
                    return Wording { words, cut };
                }
            }
            '\\' => match chars.next() {
                Some(next) => word.get_or_insert_default().push(Sym::Char(next)),
                None => {
                    cut = Some("it ends in a backslash");
                    return Wording { words, cut };
                }
            },
            '*' if wild => word.get_or_insert_default().push(Sym::Any),
            '$' | '`' => {
                cut = Some("it holds an expansion");
                return Wording { words, cut };
            }
            ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\n' => {
                cut = Some("it holds an operator of the shell");
                // What stands before it is not a whole word.
                words.extend(word.take());
                return Wording { words, cut };
            }
            '*' | '?' | '[' | ']' | '{' | '}' | '~' | '#' if word.is_none() || char != '#' => {
                word.get_or_insert_default().push(Sym::Char(char));
            }
            char => word.get_or_insert_default().push(Sym::Char(char)),
        }
    }
    words.extend(word);
    Wording { words, cut }
}

/// A word whose every character is known.
pub(super) fn literal(word: &[Sym]) -> Option<String> {
    word.iter()
        .map(|sym| match sym {
            Sym::Char(char) => Some(*char),
            Sym::Any => None,
        })
        .collect()
}

/// `text` as one word of a rule that stands for itself.
pub(super) fn quote(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:@%+,=".contains(char);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('=') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The first word as a program: a path keeps its meaning, so only its wildcards are quoted.
pub(super) fn program(text: &str) -> String {
    match text.strip_prefix("~/") {
        Some(rest) => format!("~/{}", quote(rest)),
        None => quote(text),
    }
}

/// The words of an allow rule, when nothing is left open and nothing is cut.
pub(super) fn exact(wording: &Wording) -> Result<Vec<String>, &'static str> {
    if let Some(why) = wording.cut {
        return Err(why);
    }
    let words: Option<Vec<String>> = wording.words.iter().map(|word| literal(word)).collect();
    let words = words.ok_or("a wildcard stands in it")?;
    let Some((first, rest)) = words.split_first() else {
        return Err("it names no program");
    };
    if first.contains('=') {
        return Err("it starts with an assignment");
    }
    // What a shell would fill in never reaches the program as it is written here.
    if words.iter().any(|word| word.contains(['*', '?', '['])) {
        return Err("it holds a pattern of file names");
    }
    Ok(std::iter::once(program(first))
        .chain(rest.iter().map(|word| quote(word)))
        .collect())
}

/// The pattern of a rule that asks or denies, and why it is wider than the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wide {
    pub(super) pattern: String,
    pub(super) wider: Option<&'static str>,
}

/// A pattern that matches every command the text does. `whole`: nothing may follow the text.
pub(super) fn restrict(wording: &Wording, whole: bool) -> Wide {
    let mut wider = wording.cut;
    let mut words = wording.words.as_slice();
    // A denial looks past assignments anyway.
    while let Some((first, rest)) = words.split_first() {
        match literal(first) {
            Some(text) if is_assignment(&text) => words = rest,
            Some(_) | None => break,
        }
    }
    let mut pattern: Vec<String> = Vec::new();
    let mut open = false;
    for (at, word) in words.iter().enumerate() {
        let last = at + 1 == words.len();
        if word.as_slice() == [Sym::Any] {
            match (at, last) {
                // What follows is any text, which may be several words.
                (0, _) => pattern.extend(["*".to_owned(), "**".to_owned()]),
                (_, true) => {}
                (_, false) => pattern.push("**".to_owned()),
            }
            open = true;
            continue;
        }
        let known: String = word
            .iter()
            .map_while(|sym| match sym {
                Sym::Char(char) => Some(*char),
                Sym::Any => None,
            })
            .collect();
        let whole_word = known.chars().count() == word.len();
        let text = if at == 0 {
            restricted_program(&known, whole_word, &mut wider)
        } else if whole_word {
            quote(&known)
        } else if known.is_empty() {
            break_open(&mut wider, last && word.len() == 1)
        } else {
            format!("{}**", quote(&known))
        };
        pattern.push(text);
        if !whole_word {
            // A wildcard inside a word runs on over the words after it.
            let ends =
                matches!(word.last(), Some(Sym::Any)) && word.len() == known.chars().count() + 1;
            if !(last && ends) {
                wider = Some("what follows the wildcard is left open");
            }
            open = true;
            break;
        }
    }
    while pattern.last().is_some_and(|word| word == "**") {
        pattern.pop();
    }
    if pattern.is_empty() {
        pattern.push("*".to_owned());
        wider = wider.or(Some("it names no program"));
    }
    let exact = whole && !open && wording.cut.is_none();
    let text = pattern.join(" ");
    Wide {
        pattern: if exact { format!("= {text}") } else { text },
        wider,
    }
}

fn break_open(wider: &mut Option<&'static str>, ends: bool) -> String {
    if !ends {
        *wider = Some("what follows the wildcard is left open");
    }
    "**".to_owned()
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || char == '_')
    })
}

/// A denial knows a program by its base name wherever it lies.
fn restricted_program(known: &str, whole: bool, wider: &mut Option<&'static str>) -> String {
    if whole {
        let base = known.rsplit('/').next().unwrap_or(known);
        if base.len() != known.len() {
            *wider = wider.or(Some(
                "it names every program of that name, wherever it lies",
            ));
        }
        if base.is_empty() {
            return "*".to_owned();
        }
        return quote(base);
    }
    match known.rsplit_once('/') {
        None if known.is_empty() => "*".to_owned(),
        None => format!("{}**", quote(known)),
        Some(_) => {
            *wider = wider.or(Some("it names every program below folders of that name"));
            let below = known.trim_start_matches("./").trim_start_matches('/');
            format!("/**/{}**", quote(below))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{exact, restrict, split};

    #[test]
    fn a_text_becomes_words_or_is_left_out() {
        let words = |text: &str| exact(&split(text, true)).map(|words| words.join(" "));
        assert_eq!(words("git log"), Ok("git log".to_owned()));
        assert_eq!(
            words("git commit -m 'a b'"),
            Ok("git commit -m 'a b'".to_owned())
        );
        for text in [
            "git *", "a && b", "echo $x", "A=1 make", "", "ls a?", "x 'y",
        ] {
            assert!(words(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_denial_only_gets_wider() {
        let pattern = |text: &str| restrict(&split(text, true), true).pattern;
        for (text, wanted) in [
            ("rm -rf", "= rm -rf"),
            ("rm -rf *", "rm -rf"),
            ("git * --force", "git ** --force"),
            ("* --force", "* ** --force"),
            ("git push*", "git push**"),
            ("git push*x y", "git push**"),
            ("rm*", "rm**"),
            ("*", "*"),
            ("curl * | sh", "curl"),
            ("A=1 rm *", "rm"),
            ("/usr/bin/rm *", "rm"),
            ("./scripts/*.sh", "/**/scripts/**"),
            ("echo $SECRET", "echo"),
            ("$x", "*"),
        ] {
            assert_eq!(pattern(text), wanted, "{text}");
        }
    }
}
