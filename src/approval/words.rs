//! Text that is fit to be shown: secrets scrubbed, then escaped.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::model::script::{Assignment, Piece, Redirection, RedirectionKind, SubCommand, Word};
use crate::model::text::Escaped;

/// Takes secrets out of bytes before they are shown.
pub type Scrub<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// Text that can neither drive nor deceive a terminal, page or log. Made from untrusted bytes by this
/// module alone, so that a question cannot hold any other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Shown(String);

/// Blanks beyond this many in a row are counted instead: they would push what follows off the screen.
const BLANKS: usize = 16;

impl Shown {
    /// Scrubs and escapes `bytes`.
    pub fn text(bytes: &[u8], scrub: Scrub<'_>) -> Self {
        Self(fold(&Escaped(&scrub(bytes)).to_string()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One argument as a shell reads it back: plain, in single quotes, or in `$'…'` where it holds a
    /// character that has to be escaped.
    pub fn word(bytes: &[u8], scrub: Scrub<'_>) -> Self {
        let bytes = scrub(bytes);
        let escaped = fold(&Escaped(&bytes).to_string());
        let plain = std::str::from_utf8(&bytes).is_ok_and(|text| text == escaped);
        Self(if plain {
            shell_words::quote(&escaped).into_owned()
        } else {
            format!("$'{}'", escaped.replace('\'', "\\'"))
        })
    }

    /// A whole argv.
    pub fn argv<'b>(argv: impl IntoIterator<Item = &'b [u8]>, scrub: Scrub<'_>) -> Self {
        let words: Vec<String> = argv
            .into_iter()
            .map(|word| Self::word(word, scrub).0)
            .collect();
        Self(words.join(" "))
    }

    /// A sub-command with its assignments and redirections; what is known only when the shell runs
    /// stands in angle brackets, which no quoted word can show.
    pub fn subcommand(subcommand: &SubCommand, scrub: Scrub<'_>) -> Self {
        let assignments = subcommand
            .assignments
            .iter()
            .map(|assignment| shown_assignment(assignment, scrub));
        let argv = subcommand.argv.iter().map(|word| shown_word(word, scrub));
        let redirections = subcommand
            .redirections
            .iter()
            .map(|redirection| shown_redirection(redirection, scrub));
        let words: Vec<String> = assignments.chain(argv).chain(redirections).collect();
        Self(words.join(" "))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Counts long runs of blanks: `\x20{400}`. A backslash of the text itself is doubled, so this cannot
/// be forged.
fn fold(escaped: &str) -> String {
    let mut folded = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = rest.find(' ') {
        let (before, blanks) = rest.split_at(at);
        folded.push_str(before);
        let after = blanks.trim_start_matches(' ');
        let count = blanks.len() - after.len();
        if count > BLANKS {
            folded.push_str(&format!("\\x20{{{count}}}"));
        } else {
            folded.extend(std::iter::repeat_n(' ', count));
        }
        rest = after;
    }
    folded.push_str(rest);
    folded
}

fn shown_assignment(assignment: &Assignment, scrub: Scrub<'_>) -> String {
    let name = Shown::text(&assignment.name, scrub);
    format!("{name}={}", shown_word(&assignment.value, scrub))
}

fn shown_redirection(redirection: &Redirection, scrub: Scrub<'_>) -> String {
    let sign = match redirection.kind {
        RedirectionKind::Read => "< ",
        RedirectionKind::Write => "> ",
        RedirectionKind::Append => ">> ",
        RedirectionKind::ReadWrite => "<> ",
        RedirectionKind::WriteBoth => "&> ",
        RedirectionKind::Duplicate => ">&",
        RedirectionKind::HereDocument => "<< ",
        RedirectionKind::HereString => "<<< ",
    };
    format!("{sign}{}", shown_word(&redirection.target, scrub))
}

fn shown_word(word: &Word, scrub: Scrub<'_>) -> String {
    if let Some(bytes) = word.as_static() {
        return Shown::word(bytes, scrub).0;
    }
    word.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) if text.is_empty() => Cow::Borrowed(""),
            Piece::Text(text) => Cow::Owned(Shown::word(text, scrub).0),
            Piece::Dynamic {
                name: Some(name), ..
            } => Cow::Owned(format!("<${}>", Shown::text(name, scrub))),
            Piece::Dynamic {
                reason, name: None, ..
            } => Cow::Owned(format!("<{}>", reason.reason())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Shown;
    use crate::model::script::{Context, Dynamic, Folder, Piece, Span, SubCommand, Word};

    fn keep(bytes: &[u8]) -> Vec<u8> {
        bytes.to_vec()
    }

    #[test]
    fn words_are_quoted_as_a_shell_reads_them() {
        let word = |text: &str| Shown::word(text.as_bytes(), &keep).to_string();
        assert_eq!(word("plain"), "plain");
        assert_eq!(word("two words"), "'two words'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
        assert_eq!(word("ok\u{200b}"), r"$'ok\u{200b}'");
        assert_eq!(word("a\r\u{1b}[2Kb"), r"$'a\r\e[2Kb'");
        assert_eq!(word("it's\n"), r"$'it\'s\n'");
        assert_eq!(Shown::word(b"\xff", &keep).to_string(), r"$'\xff'");
    }

    #[test]
    fn blank_runs_are_counted() {
        let line = format!("ls{}; touch x", " ".repeat(400));
        assert_eq!(
            Shown::text(line.as_bytes(), &keep).to_string(),
            r"ls\x20{400}; touch x"
        );
        assert_eq!(Shown::text(br"\x20{3}", &keep).to_string(), r"\\x20{3}");
    }

    #[test]
    fn dynamic_parts_cannot_be_forged_by_text() {
        let span = Span::default();
        let subcommand = SubCommand {
            span,
            context: Context::default(),
            folder: Folder::Start,
            argv: vec![
                Word::text(span, "rm"),
                Word::text(span, "<$HOME>"),
                Word {
                    span,
                    pieces: vec![
                        Piece::Dynamic {
                            reason: Dynamic::Parameter,
                            name: Some(b"HOME".to_vec()),
                            quoted: true,
                        },
                        Piece::Text(b"/x y".to_vec()),
                        Piece::Dynamic {
                            reason: Dynamic::Glob,
                            name: None,
                            quoted: false,
                        },
                    ],
                },
            ],
            assignments: Vec::new(),
            redirections: Vec::new(),
            carrier: None,
        };
        assert_eq!(
            Shown::subcommand(&subcommand, &keep).to_string(),
            "rm '<$HOME>' <$HOME>'/x y'<a file name pattern>"
        );
    }

    #[test]
    fn secrets_are_scrubbed_before_anything_else() {
        let scrub = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes)
                .replace("hunter2", "[secret]")
                .into_bytes()
        };
        assert_eq!(
            Shown::argv([b"login".as_slice(), b"--password=hunter2"], &scrub).to_string(),
            "login '--password=[secret]'"
        );
    }
}
