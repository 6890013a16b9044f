//! What a typed line means.

use super::approver::Note;

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// `y`
    Once,
    /// `n` or `n NOTE`
    Deny(Option<Note>),
    /// `v`
    View,
    /// `x`
    Stop,
    /// Enter alone.
    Redraw,
    /// Anything else decides nothing.
    Unknown(Vec<u8>),
}

/// Reads a line as the terminal hands it out. One letter alone is a key; only `n` takes words.
pub(super) fn read_key(line: &[u8]) -> Key {
    let typed = line.trim_ascii();
    match typed {
        b"" => Key::Redraw,
        b"y" => Key::Once,
        b"n" => Key::Deny(None),
        b"v" => Key::View,
        b"x" => Key::Stop,
        _ => match typed.strip_prefix(b"n ") {
            Some(note) => Key::Deny(Note::new(&String::from_utf8_lossy(note))),
            None => Key::Unknown(typed.to_vec()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, read_key};
    use crate::approval::approver::Note;

    #[test]
    fn one_letter_alone_is_a_key() {
        assert_eq!(read_key(b"y\n"), Key::Once);
        assert_eq!(read_key(b" x \n"), Key::Stop);
        assert_eq!(read_key(b"v\n"), Key::View);
        assert_eq!(read_key(b"\n"), Key::Redraw);
        assert_eq!(read_key(b"n\n"), Key::Deny(None));
        assert_eq!(
            read_key(b"n use trash instead\n"),
            Key::Deny(Note::new("use trash instead"))
        );
        for typed in [
            b"Y".as_slice(),
            b"yes",
            b"yy",
            b"y y",
            b"y n",
            b"any y",
            b"no",
            b"a",
            b"\x1by",
            b"y\x1b[A",
            b"\xd1\x83",
        ] {
            assert_eq!(read_key(typed), Key::Unknown(typed.to_vec()));
        }
    }

    #[test]
    fn a_note_is_escaped_and_capped() {
        let note = Note::new("a\u{1b}[2J\u{202e}b").unwrap();
        assert_eq!(note.as_str(), r"a\e[2J\u{202e}b");
        let long = Note::new(&"x".repeat(5000)).unwrap();
        assert_eq!(
            long.to_string(),
            format!("{} [4000 more characters]", "x".repeat(1000))
        );
        assert_eq!(Note::new(" \n"), None);
    }
}
