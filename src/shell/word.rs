//! Raw words: recognising quotes and expansions, before anything is removed or expanded.

use super::arithmetic::holds_substitution;
use super::cursor::is_meta;
use super::{Parsed, Parser};
use crate::model::script::{Dynamic, Span};

/// A stretch of a raw word.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Bytes that stand for themselves, unless unquoted and special later on.
    Text {
        /// The bytes, quotes removed.
        bytes: Vec<u8>,
        /// Whether they were quoted or escaped. An empty quoted text keeps an empty word alive.
        quoted: bool,
    },
    /// Something expanded when the shell runs.
    Dynamic {
        /// Why.
        reason: Dynamic,
        /// The variable of a plain `$name` or `${name}`.
        name: Option<Vec<u8>>,
        /// Whether it yields exactly one string.
        quoted: bool,
        /// Whether its source text could confuse brace expansion, which works on source text.
        braces: bool,
    },
}

impl Part {
    /// An unquoted expansion that names no variable.
    pub(super) fn dynamic(reason: Dynamic) -> Self {
        Self::Dynamic {
            reason,
            name: None,
            quoted: false,
            braces: false,
        }
    }

    /// Quoted bytes.
    pub(super) fn quoted(bytes: Vec<u8>) -> Self {
        Self::Text {
            bytes,
            quoted: true,
        }
    }
}

/// A word before brace expansion and quote removal.
#[derive(Clone, Debug)]
pub(super) struct RawWord {
    /// Offsets in the text being read.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where it stands in the line.
    pub(super) span: Span,
    pub(super) parts: Vec<Part>,
}

/// Appends an unquoted byte.
pub(super) fn push_literal(parts: &mut Vec<Part>, byte: u8) {
    if let Some(Part::Text {
        bytes,
        quoted: false,
    }) = parts.last_mut()
    {
        bytes.push(byte);
    } else {
        parts.push(Part::Text {
            bytes: vec![byte],
            quoted: false,
        });
    }
}

/// Whether a word holds literal text with the form of a subscript that runs a command.
fn smuggles(parts: &[Part]) -> bool {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { bytes, .. } => Some(bytes.as_slice()),
        Part::Dynamic { .. } => None,
    });
    texts.clone().any(|text| text.contains(&b'['))
        && holds_substitution(&texts.collect::<Vec<_>>().concat())
}

impl Parser<'_, '_> {
    /// The word here.
    pub(super) fn word(&mut self) -> Parsed<RawWord> {
        self.word_or_pattern(false)
    }

    /// The right side of `==` in `[[ … ]]`, where a parenthesis can open a pattern.
    pub(super) fn pattern_word(&mut self) -> Parsed<RawWord> {
        self.word_or_pattern(true)
    }

    fn word_or_pattern(&mut self, parentheses: bool) -> Parsed<RawWord> {
        self.peek();
        let start = self.pos;
        let mut parts = Vec::new();
        loop {
            self.tick()?;
            let byte = self.peek();
            if self.state.extended_globs
                && matches!(byte, b'?' | b'*' | b'+' | b'@' | b'!')
                && self.peek_second() == b'('
            {
                self.bump_by(2);
                self.extended_pattern()?;
                parts.push(Part::dynamic(Dynamic::Glob));
            } else if parentheses && byte == b'(' {
                self.pos += 1;
                self.extended_pattern()?;
                parts.push(Part::dynamic(Dynamic::Glob));
            } else if self.at_process_substitution() {
                self.bump_by(2);
                self.substitution()?;
                parts.push(Part::dynamic(Dynamic::ProcessSubstitution));
            } else if is_meta(byte) {
                break;
            } else {
                self.word_byte(byte, &mut parts)?;
            }
        }
        if self.pos == start {
            return self.fail("a word expected");
        }
        self.state.smuggles |= smuggles(&parts);
        Ok(RawWord {
            start,
            end: self.pos,
            span: self.span(start, self.pos),
            parts,
        })
    }

    /// One quote, expansion or plain byte of a word.
    fn word_byte(&mut self, byte: u8, parts: &mut Vec<Part>) -> Parsed<()> {
        match byte {
            b'\\' => {
                if self.pos + 1 < self.text.len() {
                    parts.push(Part::quoted(vec![self.at(self.pos + 1)]));
                    self.pos += 2;
                } else {
                    // At the very end there is nothing to escape.
                    push_literal(parts, b'\\');
                    self.pos += 1;
                }
            }
            b'\'' => parts.push(Part::quoted(self.single_quoted()?)),
            b'"' => parts.append(&mut self.double_quoted()?),
            b'`' => parts.push(self.backquoted(false)?),
            b'$' => self.word_dollar(parts)?,
            _ => {
                push_literal(parts, byte);
                self.pos += 1;
            }
        }
        Ok(())
    }

    fn word_dollar(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        match self.peek_second() {
            b'\'' if self.is_bash() => {
                self.bump();
                self.peek();
                parts.push(Part::quoted(self.ansi_quoted()?));
            }
            b'"' if self.is_bash() => {
                self.bump();
                self.peek();
                self.double_quoted()?;
                parts.push(Part::Dynamic {
                    reason: Dynamic::Locale,
                    name: None,
                    quoted: true,
                    braces: false,
                });
            }
            _ => match self.dollar(false)? {
                Some(part) => parts.push(part),
                None => push_literal(parts, b'$'),
            },
        }
        Ok(())
    }

    /// The rest of a pattern list up to its closing parenthesis.
    fn extended_pattern(&mut self) -> Parsed<()> {
        self.deeper(|parser| {
            let mut open = 1_usize;
            loop {
                parser.tick()?;
                match parser.peek() {
                    0 => return parser.fail("an unfinished pattern"),
                    b'(' => {
                        open += 1;
                        parser.pos += 1;
                    }
                    b')' => {
                        open -= 1;
                        parser.pos += 1;
                        if open == 0 {
                            return Ok(());
                        }
                    }
                    _ => parser.pattern_byte()?,
                }
            }
        })
    }

    /// One quote, expansion or byte of a pattern whose text does not matter.
    pub(super) fn pattern_byte(&mut self) -> Parsed<()> {
        match self.peek() {
            b'\\' => self.pos += 2,
            b'\'' => drop(self.single_quoted()?),
            b'"' => drop(self.double_quoted()?),
            b'$' if self.is_bash() && self.peek_second() == b'\'' => {
                self.bump();
                self.peek();
                self.ansi_quoted()?;
            }
            b'$' => drop(self.dollar(false)?),
            b'`' => drop(self.backquoted(false)?),
            b'<' | b'>' if self.at_process_substitution() => {
                self.bump_by(2);
                self.substitution()?;
            }
            _ => self.pos += 1,
        }
        Ok(())
    }
}
