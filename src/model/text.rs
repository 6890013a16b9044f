//! Untrusted bytes shown to people: every control, bidirectional and invisible character escaped.

use std::fmt;

/// Displays bytes so that a terminal, a log line or a web page can neither be driven nor deceived by
/// them. Printable text passes unchanged; a backslash is doubled so that escapes are unambiguous;
/// control characters become `\n`, `\t`, `\r`, `\e` or `\xNN`; bidirectional controls, zero-width and
/// other invisible code points become `\u{…}`; bytes that are not UTF-8 become `\xNN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escaped<'a>(pub &'a [u8]);

impl<'a> From<&'a str> for Escaped<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.as_bytes())
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    '\n' => f.write_str("\\n")?,
                    '\t' => f.write_str("\\t")?,
                    '\r' => f.write_str("\\r")?,
                    '\u{1b}' => f.write_str("\\e")?,
                    c if (c as u32) < 0x20 || c == '\u{7f}' => write!(f, "\\x{:02x}", c as u32)?,
                    c if is_deceptive(c) => write!(f, "\\u{{{:x}}}", c as u32)?,
                    c => fmt::Write::write_char(f, c)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Whether `c` could hide or reorder its neighbours: C1 controls, format characters, bidirectional
/// controls, variation selectors, fillers, tags and every space that is not the ASCII one.
/// (Unicode 16, general categories Cf, Zs, Zl, Zp and Default_Ignorable_Code_Point.)
fn is_deceptive(c: char) -> bool {
    matches!(
        c as u32,
        0x80..=0xa0
            | 0xad
            | 0x34f
            | 0x600..=0x605
            | 0x61c
            | 0x6dd
            | 0x70f
            | 0x890..=0x891
            | 0x8e2
            | 0x115f..=0x1160
            | 0x1680
            | 0x17b4..=0x17b5
            | 0x180b..=0x180f
            | 0x2000..=0x200f
            | 0x2028..=0x202f
            | 0x205f..=0x206f
            | 0x2800
            | 0x3000
            | 0x3164
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfffb
            | 0x110bd
            | 0x110cd
            | 0x13430..=0x1345f
            | 0x1bca0..=0x1bca3
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
}

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn plain_text_passes_unchanged() {
        assert_eq!(
            Escaped("git log ünïcode 漢".as_bytes()).to_string(),
            "git log ünïcode 漢"
        );
    }

    #[test]
    fn controls_bidi_and_invalid_bytes_are_escaped() {
        assert_eq!(
            Escaped(b"a\x1b[2J\n\x00\xff\\").to_string(),
            "a\\e[2J\\n\\x00\\xff\\\\"
        );
        assert_eq!(
            Escaped("x\u{202e}y\u{200b}z".as_bytes()).to_string(),
            "x\\u{202e}y\\u{200b}z"
        );
    }
}
