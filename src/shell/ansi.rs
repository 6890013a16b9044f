//! `$'…'`, decoded as bash decodes it.

use super::{Parsed, Parser};

/// The byte by which bash marks others as quoted; escaped itself, it comes out twice.
const MARK: u8 = 1;

/// Decoded bytes. The first NUL ends them, since bash builds a C string; reading goes on.
#[derive(Default)]
struct Decoded {
    bytes: Vec<u8>,
    cut: bool,
}

impl Decoded {
    fn push(&mut self, byte: u8) {
        self.cut |= byte == 0;
        if !self.cut {
            self.bytes.push(byte);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.push(byte);
        }
    }
}

impl Parser<'_, '_> {
    /// The quoted string whose opening `'` stands here.
    pub(super) fn ansi_quoted(&mut self) -> Parsed<Vec<u8>> {
        self.pos += 1;
        let mut decoded = Decoded::default();
        loop {
            self.tick()?;
            match self.next_raw()? {
                b'\'' => return Ok(decoded.bytes),
                b'\\' => self.ansi_escape(&mut decoded)?,
                byte => decoded.push(byte),
            }
        }
    }

    /// The next byte as it stands.
    fn next_raw(&mut self) -> Parsed<u8> {
        if self.is_done() {
            return self.fail("an unclosed `$'`");
        }
        let byte = self.at(self.pos);
        self.pos += 1;
        Ok(byte)
    }

    fn ansi_escape(&mut self, decoded: &mut Decoded) -> Parsed<()> {
        match self.next_raw()? {
            b'n' => decoded.push(b'\n'),
            b't' => decoded.push(b'\t'),
            b'r' => decoded.push(b'\r'),
            b'a' => decoded.push(7),
            b'b' => decoded.push(8),
            b'v' => decoded.push(11),
            b'f' => decoded.push(12),
            b'e' | b'E' => decoded.push(27),
            byte @ (b'\\' | b'\'' | b'"' | b'?') => decoded.push(byte),
            b'0'..=b'7' => {
                self.pos -= 1;
                let (value, _) = self.digits(8, 3);
                decoded.push(low_byte(value));
            }
            b'x' if self.at(self.pos) == b'{' => {
                // Read differently from version to version.
                return self.fail("an escape `\\x{`");
            }
            b'x' => match self.digits(16, 2) {
                (_, 0) => decoded.extend(b"\\x"),
                (value, _) => decoded.push(low_byte(value)),
            },
            b'u' => self.code_point(b'u', 4, decoded),
            b'U' => self.code_point(b'U', 8, decoded),
            b'c' => {
                let byte = self.next_raw()?;
                if byte == b'\\' {
                    // Whether the next backslash belongs to it as well depends on the version.
                    return self.fail("an escape `\\c\\`");
                }
                if matches!(byte, MARK | 127) {
                    return self.fail("an escape of a control character");
                }
                decoded.push(if byte == b'?' {
                    127
                } else {
                    byte.to_ascii_uppercase() & 0x1f
                });
            }
            MARK => return self.fail("an escape of a control character"),
            byte => decoded.extend(&[b'\\', byte]),
        }
        Ok(())
    }

    /// Up to `most` digits of a base: their value and how many there are.
    fn digits(&mut self, base: u32, most: usize) -> (u32, usize) {
        let mut value = 0_u32;
        let mut count = 0;
        while count < most
            && let Some(digit) = char::from(self.at(self.pos)).to_digit(base)
        {
            value = value.wrapping_mul(base).wrapping_add(digit);
            self.pos += 1;
            count += 1;
        }
        (value, count)
    }

    fn code_point(&mut self, letter: u8, most: usize, decoded: &mut Decoded) {
        let start = self.pos;
        let (value, count) = self.digits(16, most);
        if count == 0 {
            decoded.extend(&[b'\\', letter]);
            return;
        }
        if value > 0x7f {
            // The bytes depend on the character set of the locale.
            let span = self.span(start, self.pos);
            self.opaque(span, "a character given by its code point");
        }
        if let Some(character) = char::from_u32(value) {
            decoded.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// The low eight bits, as `\777` is read.
fn low_byte(value: u32) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low
}
