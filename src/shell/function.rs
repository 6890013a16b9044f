//! Function definitions and coprocesses.

use super::word::{Part, RawWord};
use super::{Parsed, Parser};

impl Parser<'_, '_> {
    /// The rest of `function NAME [()] BODY`.
    pub(super) fn function(&mut self, start: usize) -> Parsed<()> {
        self.blanks()?;
        if !self.at_word() {
            return self.fail("a function name expected");
        }
        let name = self.word()?;
        self.blanks()?;
        if self.peek() == b'(' {
            // Without `)` it is a subshell, the body itself.
            self.empty_parentheses()?;
        }
        self.define(&name, start)
    }

    /// `()` here, if that is what follows.
    pub(super) fn empty_parentheses(&mut self) -> Parsed<bool> {
        let start = self.pos;
        self.pos += 1;
        self.blanks()?;
        if self.peek() == b')' {
            self.pos += 1;
            return Ok(true);
        }
        self.pos = start;
        Ok(false)
    }

    /// Records the function `name` and reads its body.
    pub(super) fn define(&mut self, name: &RawWord, start: usize) -> Parsed<()> {
        let span = self.span(start, self.pos);
        self.state.compound = true;
        let mut bytes = Vec::new();
        let mut odd = false;
        for part in &name.parts {
            match part {
                Part::Text {
                    bytes: text,
                    quoted,
                } => {
                    odd |= quoted;
                    bytes.extend_from_slice(text);
                }
                Part::Dynamic { .. } => return self.fail("a function name cannot be an expansion"),
            }
        }
        if !self.is_bash() && !super::cursor::is_name(&bytes) {
            return self.fail("a bad function name");
        }
        if odd {
            // Which bytes name the function then depends on the version.
            self.opaque(span, "a function whose name is quoted");
        }
        self.state.values.note_function(&bytes);
        self.state.definitions.push((bytes.clone(), span));
        self.state.script.functions.push(bytes.clone());
        let name = bytes;
        self.newlines()?;
        if self.is_bash() && !self.at_compound() {
            return self.fail("a function body expected");
        }
        let context = self.state.context;
        let start = self.start_body(&name);
        self.state.context.function_body = true;
        let result = self.nested(|parser| parser.deferred(Self::command));
        self.state.context = context;
        let moves = result?;
        let elsewhere = self.take_definition(&name, start);
        if moves && !elsewhere {
            // The call, which may be hidden in anything that follows, moves too.
            self.state.whereabouts.lose();
        }
        Ok(())
    }

    /// The rest of `coproc [NAME] COMMAND`.
    pub(super) fn coprocess(&mut self) -> Parsed<()> {
        self.blanks()?;
        let mark = self.mark();
        if !self.at_compound() && self.at_word() {
            let name = self.word()?;
            self.blanks()?;
            let named = matches!(name.parts.as_slice(), [Part::Text { .. }]);
            if !(named && self.at_compound()) {
                // No name after all: the word starts a simple command.
                self.rewind(mark);
                if self.state.context.substitution {
                    // Bash 5.2 writes the substitution anew, with a name, and runs the name.
                    let span = self.span(self.pos, self.pos);
                    self.opaque(span, "a coprocess in a substitution");
                }
                return self.isolated(Self::simple);
            }
            let variable = self.slice(name.start, name.end).to_vec();
            self.note_assignment(&variable, name.span);
            self.note_assignment(&[variable.as_slice(), b"_PID"].concat(), name.span);
            self.state.arrays.note(&variable);
        }
        self.isolated(|parser| parser.deeper(Self::command))
    }
}
