//! `[[ … ]]`: operands are no argv, but what they expand runs.

use super::keyword::Keyword;
use super::{Parsed, Parser, limit};
use crate::model::script::SyntaxError;

/// Operators between two operands, other than `<`, `>` and `=~`.
const BINARY: &[&[u8]] = &[
    b"=", b"==", b"!=", b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge", b"-nt", b"-ot", b"-ef",
];

impl Parser<'_, '_> {
    /// The rest of `[[ … ]]`.
    pub(super) fn conditional(&mut self) -> Parsed<()> {
        // `-eq`, `-v` and their like evaluate the text of their operands.
        self.state.evaluates = true;
        let outside = std::mem::replace(&mut self.state.extended_globs, true);
        let result = self.alternatives();
        self.state.extended_globs = outside;
        result?;
        self.expect_keyword(Keyword::ConditionalEnd, "`]]` expected")
    }

    /// Terms joined by `&&` and `||`.
    fn alternatives(&mut self) -> Parsed<()> {
        loop {
            self.term()?;
            self.newlines()?;
            match (self.peek(), self.peek_second()) {
                (b'&', b'&') | (b'|', b'|') => self.bump_by(2),
                _ => return Ok(()),
            }
        }
    }

    fn term(&mut self) -> Parsed<()> {
        self.bangs()?;
        if self.peek() == b'(' {
            self.pos += 1;
            self.deeper(Self::alternatives)?;
            self.newlines()?;
            if self.peek() != b')' {
                return self.fail("`)` in a condition expected");
            }
            self.pos += 1;
            return Ok(());
        }
        if !self.at_operand() {
            return self.fail("an operand expected");
        }
        let first = self.word()?;
        let text = self.slice(first.start, first.end);
        let unary = matches!(text, [b'-', letter] if letter.is_ascii_alphabetic());
        self.blanks()?;
        let (operator, end) = self.plain_word();
        let ended = operator == b"]]" || matches!(self.peek(), b'&' | b'|' | b')' | b'\n');
        if unary && !matches!(operator.as_slice(), b"=" | b"==" | b"!=" | b"=~") {
            let names = text == b"-v";
            self.unary_operand(ended, operator == b"]]")?;
            if names {
                self.note_evaluated(first.start, self.pos);
            }
            return Ok(());
        }
        if ended {
            return Ok(());
        }
        if matches!(self.peek(), b'<' | b'>') && self.peek_second() != b'(' {
            self.pos += 1;
            self.blanks()?;
            return self.operand();
        }
        self.binary(&operator, end)?;
        if matches!(
            operator.as_slice(),
            b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge"
        ) {
            self.note_evaluated(first.start, self.pos);
        }
        Ok(())
    }

    fn bangs(&mut self) -> Parsed<()> {
        let mut count = 0;
        loop {
            self.tick()?;
            self.newlines()?;
            if !self.take_keyword(Keyword::Bang) {
                return Ok(());
            }
            count += 1;
            if count > limit::BANGS {
                return Err(SyntaxError::Limit("repeated `!`"));
            }
        }
    }

    /// What follows `-x`: an operand, or nothing when `-x` is itself a string to test.
    fn unary_operand(&mut self, ended: bool, closed: bool) -> Parsed<()> {
        if closed || matches!(self.peek(), b'&' | b'|' | b')') {
            return Ok(());
        }
        if ended {
            return self.fail("an operand expected");
        }
        self.operand()
    }

    fn operand(&mut self) -> Parsed<()> {
        if !self.at_operand() {
            return self.fail("an operand expected");
        }
        self.word().map(drop)
    }

    fn at_operand(&mut self) -> bool {
        self.at_word() && !self.at_keyword(Keyword::ConditionalEnd)
    }

    fn binary(&mut self, operator: &[u8], end: usize) -> Parsed<()> {
        if operator == b"=~" {
            self.pos = end;
            self.newlines()?;
            return self.regular_expression();
        }
        if !BINARY.contains(&operator) {
            return self.fail("an operator expected");
        }
        self.pos = end;
        self.newlines()?;
        if self.at_keyword(Keyword::ConditionalEnd) || !(self.peek() == b'(' || self.at_word()) {
            return self.fail("an operand expected");
        }
        self.pattern_word().map(drop)
    }

    /// The right side of `=~`, where parentheses group and may hold blanks.
    fn regular_expression(&mut self) -> Parsed<()> {
        let start = self.pos;
        let mut open = 0_usize;
        loop {
            self.tick()?;
            match self.peek() {
                0 => return self.fail("an unfinished regular expression"),
                b' ' | b'\t' | b'\n' | b'&' | b';' if open == 0 => break,
                b'(' => {
                    open += 1;
                    self.pos += 1;
                }
                b')' => match open.checked_sub(1) {
                    Some(left) => {
                        open = left;
                        self.pos += 1;
                    }
                    None => break,
                },
                _ => self.pattern_byte()?,
            }
        }
        if self.pos == start {
            return self.fail("a regular expression expected");
        }
        Ok(())
    }
}
