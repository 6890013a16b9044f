//! Looking at bytes and moving over them.
//!
//! A backslash before a newline vanishes almost everywhere, even inside operators and reserved words.
//! `peek` and `peek_second` therefore look past such pairs; `at` shows the bytes as they stand and is
//! for the places where the pair stays: single quotes, comments, quoted here-documents.

use super::{Parsed, Parser};
use crate::model::script::{Span, SyntaxError};

/// Whether a byte ends an unquoted word; the end of the text reads as NUL.
pub(super) fn is_meta(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | 0
    )
}

/// Whether a byte can start a variable name.
pub(super) fn starts_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphabetic()
}

/// Whether a byte can continue a variable name.
pub(super) fn continues_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Whether `text` is a variable name.
pub(super) fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(|&first| starts_name(first))
        && text.iter().all(|&byte| continues_name(byte))
}

impl<'t> Parser<'t, '_> {
    /// The byte at an offset, NUL past the end.
    pub(super) fn at(&self, offset: usize) -> u8 {
        self.text.get(offset).copied().unwrap_or(0)
    }

    /// `offset` moved past line continuations.
    pub(super) fn continued(&self, mut offset: usize) -> usize {
        while self.at(offset) == b'\\' && self.at(offset + 1) == b'\n' {
            offset += 2;
        }
        offset
    }

    /// The next byte; moves past line continuations before it.
    pub(super) fn peek(&mut self) -> u8 {
        self.pos = self.continued(self.pos);
        self.at(self.pos)
    }

    /// The byte after the next.
    pub(super) fn peek_second(&self) -> u8 {
        self.at(self.continued(self.continued(self.pos) + 1))
    }

    /// Moves past the next byte.
    pub(super) fn bump(&mut self) {
        self.peek();
        self.pos += 1;
    }

    /// Moves past the next `count` bytes.
    pub(super) fn bump_by(&mut self, count: usize) {
        for _ in 0..count {
            self.bump();
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// The text between two offsets as it stands.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t [u8] {
        self.text
            .get(start..end.min(self.text.len()))
            .unwrap_or_default()
    }

    /// Where a stretch of this text stands in the line.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let length = self.text.len();
        self.outer.unwrap_or(Span {
            start: start.min(length),
            end: end.min(length),
        })
    }

    /// A syntax error here.
    pub(super) fn fail<T>(&self, reason: &'static str) -> Parsed<T> {
        Err(SyntaxError::Syntax {
            at: self.span(self.pos, self.pos).start,
            reason,
        })
    }

    /// Moves past blanks, and past a comment, which callers allow only where a word could start.
    pub(super) fn blanks(&mut self) -> Parsed<()> {
        loop {
            self.tick()?;
            match self.peek() {
                b' ' | b'\t' => self.pos += 1,
                b'#' => {
                    // A backslash does not continue a comment.
                    while !self.is_done() && self.at(self.pos) != b'\n' {
                        self.pos += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Moves past blanks where a `#` belongs to what follows.
    pub(super) fn blanks_only(&mut self) -> Parsed<()> {
        while matches!(self.peek(), b' ' | b'\t') {
            self.tick()?;
            self.pos += 1;
        }
        Ok(())
    }

    /// Moves past blanks, comments and newlines; the first newline begins the bodies of the
    /// here-documents that wait.
    pub(super) fn newlines(&mut self) -> Parsed<()> {
        loop {
            self.blanks()?;
            if self.peek() != b'\n' {
                return Ok(());
            }
            self.pos += 1;
            self.read_documents()?;
        }
    }

    /// Whether a process substitution starts here.
    pub(super) fn at_process_substitution(&mut self) -> bool {
        self.is_bash() && matches!(self.peek(), b'<' | b'>') && self.peek_second() == b'('
    }

    /// Whether a word starts here.
    pub(super) fn at_word(&mut self) -> bool {
        !is_meta(self.peek()) || self.at_process_substitution()
    }
}
