//! Single and double quotes.

use super::word::Part;
use super::{Parsed, Parser};

impl Parser<'_, '_> {
    /// `'…'`: every byte stands for itself, line continuations too.
    pub(super) fn single_quoted(&mut self) -> Parsed<Vec<u8>> {
        self.pos += 1;
        let start = self.pos;
        while !self.is_done() && self.at(self.pos) != b'\'' {
            self.tick()?;
            self.pos += 1;
        }
        if self.is_done() {
            return self.fail("an unclosed single quote");
        }
        let text = self.slice(start, self.pos).to_vec();
        self.pos += 1;
        Ok(text)
    }

    /// `"…"`: expansions stay active, and a backslash escapes only what would be special.
    pub(super) fn double_quoted(&mut self) -> Parsed<Vec<Part>> {
        self.deeper(|parser| {
            parser.pos += 1;
            let mut parts = Vec::new();
            let mut text = Vec::new();
            loop {
                parser.tick()?;
                match parser.peek() {
                    0 => return parser.fail("an unclosed double quote"),
                    b'"' => {
                        parser.pos += 1;
                        parts.push(Part::quoted(text));
                        return Ok(parts);
                    }
                    b'\\' => {
                        let next = parser.at(parser.pos + 1);
                        if matches!(next, b'$' | b'`' | b'"' | b'\\') {
                            text.push(next);
                            parser.pos += 2;
                        } else {
                            text.push(b'\\');
                            parser.pos += 1;
                        }
                    }
                    b'$' => match parser.dollar(true)? {
                        Some(part) => {
                            parts.push(Part::quoted(std::mem::take(&mut text)));
                            parts.push(part);
                        }
                        None => text.push(b'$'),
                    },
                    b'`' => {
                        parts.push(Part::quoted(std::mem::take(&mut text)));
                        parts.push(parser.backquoted(true)?);
                    }
                    byte => {
                        text.push(byte);
                        parser.pos += 1;
                    }
                }
            }
        })
    }
}
