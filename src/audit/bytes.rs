//! Bytes in a record, without loss: the text form of [`Escaped`], which is also what people are shown.
//!
//! UTF-8 stands for itself; a backslash is `\\`, newline, tab, carriage return and escape are `\n`,
//! `\t`, `\r`, `\e`, other control characters and bytes that are no UTF-8 are `\xNN`, invisible and
//! bidirectional characters are `\u{…}`. [`decode`] takes it back. JSON escapes the backslash once more.

use crate::model::text::Escaped;

/// Untrusted bytes of a record: a line, a word, a path, a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Bytes {
    fn from(bytes: &T) -> Self {
        Self(bytes.as_ref().to_vec())
    }
}

impl serde::Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Escaped(&self.0))
    }
}

/// The text form.
pub fn encode(bytes: &[u8]) -> String {
    Escaped(bytes).to_string()
}

/// The bytes that a text form stands for, `None` when it is none.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at_checked(at)?;
        bytes.extend_from_slice(plain.as_bytes());
        let mut chars = escape.chars();
        chars.next();
        match chars.next()? {
            '\\' => bytes.push(b'\\'),
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'e' => bytes.push(0x1b),
            'x' => {
                let hex = chars.as_str().get(..2)?;
                bytes.push(u8::from_str_radix(hex, 16).ok()?);
                chars = chars.as_str().get(2..)?.chars();
            }
            'u' => {
                let (hex, after) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                let c = char::from_u32(u32::from_str_radix(hex, 16).ok()?)?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                chars = after.chars();
            }
            _ => return None,
        }
        rest = chars.as_str();
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use proptest::prelude::*;

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        assert_eq!(decode("a\\q"), None);
        assert_eq!(decode("a\\"), None);
        assert_eq!(decode("\\xg0"), None);
    }

    proptest! {
        #[test]
        fn encoding_is_without_loss(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn so_it_is_for_text(text in "\\PC*[\\\\\u{202e}\u{200b}é]*") {
            prop_assert_eq!(decode(&encode(text.as_bytes())), Some(text.into_bytes()));
        }
    }
}
