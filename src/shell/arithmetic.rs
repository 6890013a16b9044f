//! Arithmetic text: not understood, only searched for its end and for what it runs and assigns.

use std::collections::BTreeSet;

use super::cursor::{continues_name, is_name};
use super::pieces::dynamic_word;
use super::{Parsed, Parser};
use crate::model::script::{Assignment, Dynamic};

impl Parser<'_, '_> {
    /// Text up to the matching `close`, one of `)` and `]`; moves past it.
    pub(super) fn arithmetic(&mut self, close: u8) -> Parsed<()> {
        self.state.evaluates = true;
        self.state.values.risk();
        let start = self.pos;
        let open = if close == b')' { b'(' } else { b'[' };
        let mut depth = 0_usize;
        loop {
            self.tick()?;
            match self.peek() {
                0 => return self.fail("unfinished arithmetic"),
                byte if byte == open => {
                    depth += 1;
                    self.pos += 1;
                }
                byte if byte == close => {
                    self.pos += 1;
                    match depth.checked_sub(1) {
                        Some(left) => depth = left,
                        None => break,
                    }
                }
                b'\\' => self.pos += 2,
                b'\'' => {
                    let text = self.single_quoted()?;
                    self.state.smuggles |= holds_substitution(&text);
                }
                b'"' => drop(self.double_quoted()?),
                b'$' if self.is_bash() && self.peek_second() == b'\'' => {
                    self.bump();
                    self.peek();
                    let text = self.ansi_quoted()?;
                    self.state.smuggles |= holds_substitution(&text);
                }
                b'$' => self.arithmetic_dollar()?,
                b'`' => drop(self.backquoted(false)?),
                _ => self.pos += 1,
            }
        }
        self.note_arithmetic(start, self.pos.saturating_sub(1));
        Ok(())
    }

    /// An expansion in arithmetic. Bash counts the parentheses in `${…}` as well, so an odd one makes
    /// it look for the end elsewhere: refused.
    fn arithmetic_dollar(&mut self) -> Parsed<()> {
        let start = self.pos;
        self.dollar(true)?;
        let text = self.slice(start, self.pos);
        if text == b"$$" && matches!(self.peek(), b'{' | b'(') {
            // Bash's second look at a subscript takes the second `$` for the start of an expansion.
            return self.fail("`$$` before a bracket in arithmetic");
        }
        let count = |wanted: u8| text.iter().filter(|&&byte| byte == wanted).count();
        if text.starts_with(b"${") && count(b'(') != count(b')') {
            return self.fail("an odd parenthesis in arithmetic");
        }
        Ok(())
    }

    /// Records that arithmetic between two offsets may change variables. Which ones is decided
    /// generously: every name in it, if anything in it assigns.
    pub(super) fn note_arithmetic(&mut self, start: usize, end: usize) {
        self.note_evaluated(start, end);
        let text = self.slice(start, end);
        self.note_elements(text);
        let names = assigned_names(text);
        self.assign_dynamically(names, start, end, Dynamic::Arithmetic);
    }

    /// Records the arrays that arithmetic `text` may make: every name in it, if it has a subscript.
    pub(super) fn note_elements(&mut self, text: &[u8]) {
        if text.contains(&b'[') {
            for name in assigned_names(text) {
                self.state.arrays.note(&name);
            }
        }
    }

    /// Puts a sub-command into the output that gives each of some variables a value not known here.
    pub(super) fn assign_dynamically(
        &mut self,
        names: BTreeSet<Vec<u8>>,
        start: usize,
        end: usize,
        reason: Dynamic,
    ) {
        if names.is_empty() {
            return;
        }
        let span = self.span(start, end);
        let index = self.reserve(start);
        for name in &names {
            self.note_assignment(name, span);
        }
        let value = dynamic_word(span, reason);
        if let Some(subcommand) = self.reserved(index) {
            subcommand.span.end = span.end;
            subcommand.assignments = names
                .into_iter()
                .map(|name| Assignment {
                    name,
                    value: value.clone(),
                })
                .collect();
        }
    }
}

/// The variables that arithmetic `text` may assign.
pub(super) fn assigned_names(text: &[u8]) -> BTreeSet<Vec<u8>> {
    let assigns = text.contains(&b'=') || text.windows(2).any(|two| two == b"++" || two == b"--");
    if !assigns {
        return BTreeSet::new();
    }
    text.split(|&byte| !continues_name(byte))
        .filter(|name| is_name(name))
        .map(<[u8]>::to_vec)
        .collect()
}

/// Whether `text`, evaluated as arithmetic, could run a command.
pub(super) fn holds_substitution(text: &[u8]) -> bool {
    text.contains(&b'`') || text.windows(2).any(|two| two == b"$(" || two == b"${")
}
