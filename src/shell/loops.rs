//! `while`, `until`, `for` and `select`.

use std::collections::BTreeSet;

use super::cursor::is_name;
use super::keyword::Keyword;
use super::list::Until;
use super::pieces::dynamic_word;
use super::{Parsed, Parser};
use crate::model::script::{Assignment, Dynamic, Loop, Word};

impl Parser<'_, '_> {
    /// The rest of `while …; do …; done`; `until` reads alike.
    pub(super) fn while_loop(&mut self) -> Parsed<()> {
        self.repeated(|parser| {
            parser.body(Until::keywords(&[Keyword::Do]))?;
            parser.do_group()
        })
    }

    fn do_group(&mut self) -> Parsed<()> {
        self.expect_keyword(Keyword::Do, "`do` expected")?;
        self.body(Until::keywords(&[Keyword::Done]))?;
        self.expect_keyword(Keyword::Done, "`done` expected")
    }

    /// The rest of `for`.
    pub(super) fn for_loop(&mut self) -> Parsed<()> {
        self.blanks()?;
        if self.is_bash() && self.peek() == b'(' && self.peek_second() == b'(' {
            return self.arithmetic_loop();
        }
        self.word_loop()
    }

    /// The rest of `select`.
    pub(super) fn select_loop(&mut self) -> Parsed<()> {
        self.blanks()?;
        // The line that was read, whatever it holds.
        let reply = BTreeSet::from([b"REPLY".to_vec()]);
        self.assign_dynamically(reply, self.pos, self.pos, Dynamic::Array);
        self.word_loop()
    }

    /// `((…; …; …))` and a body.
    fn arithmetic_loop(&mut self) -> Parsed<()> {
        self.bump_by(2);
        let start = self.pos;
        self.arithmetic(b')')?;
        if self.at(self.pos) != b')' {
            return self.fail("`))` expected");
        }
        // Bash splits at every `;`, whatever is around it, and wants three expressions.
        let text = self.slice(start, self.pos.saturating_sub(1));
        if text.iter().filter(|&&byte| byte == b';').count() != 2 {
            return self.fail("three arithmetic expressions expected");
        }
        self.pos += 1;
        self.blanks()?;
        if self.peek() == b';' {
            self.pos += 1;
        }
        self.newlines()?;
        self.loop_body()
    }

    /// `NAME [in WORD…]` and a body.
    fn word_loop(&mut self) -> Parsed<()> {
        let start = self.pos;
        if !self.at_word() {
            return self.fail("a variable name expected");
        }
        let raw = self.word()?;
        let name = self.slice(raw.start, raw.end).to_vec();
        if !is_name(&name) {
            // Bash refuses an odd name only when the loop runs; nothing is lost by refusing it now.
            return self.fail("a variable name expected");
        }
        let header = self.reserve(start);
        self.blanks()?;
        let explicit = if self.peek() == b';' && self.peek_second() != b';' {
            self.pos += 1;
            true
        } else {
            false
        };
        self.newlines()?;
        let values = if !explicit && self.take_keyword(Keyword::In) {
            Some(self.loop_words()?)
        } else {
            None
        };
        let declared = self.declare_loop(header, name, values);
        // The body of an earlier here-document would be read in the midst of this loop.
        let alone = self.state.pending.is_empty();
        self.loop_body()?;
        let end = self.state.script.subcommands.len();
        if let Some(each) = declared.and_then(|at| self.state.script.loops.get_mut(at)) {
            each.end = if alone { end } else { header };
        }
        Ok(())
    }

    fn loop_words(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.tick()?;
            self.blanks()?;
            if !self.at_word() {
                break;
            }
            let raw = self.word()?;
            self.arguments(raw, &mut words)?;
        }
        match self.peek() {
            b';' if self.peek_second() != b';' => self.pos += 1,
            b'\n' => {}
            _ => return self.fail("`;` or a newline expected"),
        }
        self.newlines()?;
        Ok(words)
    }

    /// Records what the loop variable can be: a dynamic value in the flat output, so that no reader
    /// takes an earlier literal for it, and the words themselves beside it. Gives back which loop it is.
    fn declare_loop(
        &mut self,
        header: usize,
        name: Vec<u8>,
        values: Option<Vec<Word>>,
    ) -> Option<usize> {
        let end = self.pos;
        let span = self.span(end, end);
        self.note_assignment(&name, span);
        if let Some(subcommand) = self.reserved(header) {
            subcommand.span.end = span.end;
            let value = dynamic_word(span, Dynamic::Array);
            subcommand.assignments.push(Assignment {
                name: name.clone(),
                value,
            });
        }
        let at = self.state.script.loops.len();
        self.state.script.loops.push(Loop {
            header,
            end: header,
            name,
            values: values?,
        });
        Some(at)
    }

    /// `do …; done`, and in bash also `{ …; }`.
    fn loop_body(&mut self) -> Parsed<()> {
        if self.is_bash() && self.take_keyword(Keyword::OpenBrace) {
            return self.repeated(Self::brace_group);
        }
        self.repeated(Self::do_group)
    }
}
