//! Assignments: `NAME=value`, `NAME+=value`, elements and compound arrays.

use super::cursor::{continues_name, is_meta, starts_name};
use super::word::{Part, RawWord};
use super::{Parsed, Parser, variables};
use crate::model::script::{Assignment, Dynamic, SyntaxError};

/// What stands where an assignment could.
pub(super) enum Found {
    /// An assignment, also in the form of one argument.
    Assignment(Assignment, RawWord),
    /// `a[1]` with no `=`: a word, but one whose subscript was read as such.
    Element(RawWord),
    /// No assignment; nothing was read.
    Nothing,
}

impl Parser<'_, '_> {
    /// The assignment here, if there is one.
    pub(super) fn assignment(&mut self) -> Parsed<Found> {
        if !starts_name(self.peek()) {
            return Ok(Found::Nothing);
        }
        let start = self.pos;
        let mut name = Vec::new();
        while continues_name(self.peek()) {
            self.tick()?;
            name.push(self.at(self.pos));
            self.pos += 1;
        }
        let element = self.is_bash() && self.peek() == b'[';
        if element {
            let subscript = self.pos;
            self.pos += 1;
            self.deeper(|parser| parser.arithmetic(b']'))?;
            if self
                .slice(subscript, self.pos)
                .iter()
                .any(|byte| b"'\\`".contains(byte))
            {
                // Bash looks for its end twice, by different rules; if the second look fails, what
                // reads like an assignment is a command.
                let span = self.span(subscript, self.pos);
                self.opaque(span, "a subscript with quotes");
            }
        }
        let append = self.is_bash() && self.peek() == b'+' && self.peek_second() == b'=';
        if append || self.peek() == b'=' {
            self.bump_by(1 + usize::from(append));
            return self.assigned_value(start, name, element, append);
        }
        if element {
            return self.element_word(start);
        }
        self.pos = start;
        Ok(Found::Nothing)
    }

    fn assigned_value(
        &mut self,
        start: usize,
        name: Vec<u8>,
        element: bool,
        append: bool,
    ) -> Parsed<Found> {
        let head = self.slice(start, self.pos).to_vec();
        let mut argument = vec![Part::Text {
            bytes: head,
            quoted: false,
        }];
        let compound = self.is_bash() && self.peek() == b'(';
        if element || compound {
            self.state.arrays.note(&name);
        }
        let value = if compound {
            self.pos += 1;
            self.deeper(Self::array)?;
            if !is_meta(self.peek()) {
                return self.fail("text after an array");
            }
            argument.push(Part::dynamic(Dynamic::Array));
            vec![Part::dynamic(Dynamic::Array)]
        } else if self.at_word() {
            let raw = self.word()?;
            argument.extend(raw.parts.iter().cloned());
            raw.parts
        } else {
            Vec::new()
        };
        let value = if element {
            argument.insert(1, Part::dynamic(Dynamic::Array));
            vec![Part::dynamic(Dynamic::Array)]
        } else {
            value
        };
        let end = self.pos;
        let span = self.span(start, end);
        let mut value = self.value(RawWord {
            start,
            end,
            span,
            parts: value,
        });
        if append && !element && !compound {
            variables::appended(&mut value, &name);
        }
        let raw = RawWord {
            start,
            end,
            span,
            parts: argument,
        };
        Ok(Found::Assignment(Assignment { name, value }, raw))
    }

    fn element_word(&mut self, start: usize) -> Parsed<Found> {
        let mut parts = vec![Part::dynamic(Dynamic::Array)];
        if self.at_word() {
            parts.append(&mut self.word()?.parts);
        }
        let span = self.span(start, self.pos);
        Ok(Found::Element(RawWord {
            start,
            end: self.pos,
            span,
            parts,
        }))
    }

    /// The rest of `(…)`: values, each with an optional subscript.
    fn array(&mut self) -> Parsed<()> {
        loop {
            self.tick()?;
            self.newlines()?;
            match self.peek() {
                b')' => {
                    self.pos += 1;
                    return Ok(());
                }
                0 => return self.fail("an unclosed array"),
                b'[' if self.array_subscript()? && !self.at_word() => continue,
                _ => {}
            }
            if !self.at_word() {
                return self.fail("an unexpected operator in an array");
            }
            let value = self.word()?;
            if self.state.context.substitution && escapes(self.slice(value.start, value.end)) {
                // Bash 5.2 drops the backslash when it reads the substitution: `$(a=(\;))` is an
                // error, after which it goes on with the next line of the text.
                return self.fail("an escape in an array in a substitution");
            }
        }
    }

    /// `[…]=` or `[…]+=` here; reads nothing if the bracket is part of a word.
    fn array_subscript(&mut self) -> Parsed<bool> {
        let mark = self.mark();
        self.pos += 1;
        match self.deeper(|parser| parser.arithmetic(b']')) {
            Ok(()) if self.peek() == b'=' => {
                self.pos += 1;
                Ok(true)
            }
            Ok(()) if self.peek() == b'+' && self.peek_second() == b'=' => {
                self.bump_by(2);
                Ok(true)
            }
            Err(error @ SyntaxError::Limit(_)) => Err(error),
            Ok(()) | Err(SyntaxError::Syntax { .. }) => {
                self.rewind(mark);
                Ok(false)
            }
        }
    }
}

/// Whether a backslash stands outside quotes.
fn escapes(word: &[u8]) -> bool {
    let mut quote = None;
    for &byte in word {
        match (quote, byte) {
            (None, b'\\') => return true,
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None | Some(_), _) => {}
        }
    }
    false
}
