//! Simple commands: assignments, words and redirections in any order, or the head of a function.

use super::assignment::Found;
use super::word::{Part, RawWord};
use super::{Parsed, Parser};
use crate::model::script::{Assignment, Redirection, Word};

/// A simple command while it is read.
#[derive(Default)]
struct Draft {
    argv: Vec<Word>,
    assignments: Vec<Assignment>,
    redirections: Vec<Redirection>,
    /// Raw words so far: brace expansion makes them more or fewer.
    words: usize,
    /// The only raw word so far, which may turn out to name a function.
    only: Option<RawWord>,
    /// Arguments may be assignments, as after `declare`.
    declares: bool,
}

impl Parser<'_, '_> {
    /// A simple command, or a definition `NAME() …`.
    pub(super) fn simple(&mut self) -> Parsed<()> {
        let start = self.pos;
        let mark = self.mark();
        let index = self.reserve(start);
        let mut draft = Draft::default();
        loop {
            self.tick()?;
            self.blanks()?;
            if let Some(redirection) = self.redirection(index, draft.redirections.len())? {
                self.state.compound = true;
                draft.redirections.push(redirection);
                continue;
            }
            if self.peek() == b'(' {
                return match self.function_name(&mut draft)? {
                    Some(name) => {
                        self.state.script.subcommands.truncate(mark.subcommands);
                        self.define(&name, start)
                    }
                    None => self.fail("unexpected `(`"),
                };
            }
            if !self.at_word() {
                break;
            }
            self.simple_word(&mut draft)?;
        }
        if draft.words == 0 && draft.assignments.is_empty() && draft.redirections.is_empty() {
            return self.fail("a command expected");
        }
        let end = self.span(self.pos, self.pos).end;
        if let Some(subcommand) = self.reserved(index) {
            subcommand.span.end = end;
            subcommand.argv = draft.argv;
            subcommand.assignments = draft.assignments;
            subcommand.redirections = draft.redirections;
        }
        self.take_separators(index);
        self.take_assignments(index);
        let redirects = self
            .reserved(index)
            .is_some_and(|sub| !sub.redirections.is_empty());
        let moves = self.state.whereabouts.moves();
        let point = self.state.values.point();
        let settled = self.state.values.is_settled();
        self.effects(index)?;
        self.state.values.settle(settled);
        if redirects {
            // With one that fails, `eval` and its like do not run.
            self.state.values.forget_since(point);
        }
        if self.state.whereabouts.moves() != moves {
            self.state.values.moved();
        }
        Ok(())
    }

    /// The function defined by the words so far and the `()` here.
    fn function_name(&mut self, draft: &mut Draft) -> Parsed<Option<RawWord>> {
        if draft.words != 1 || !draft.assignments.is_empty() || !draft.redirections.is_empty() {
            return Ok(None);
        }
        let name = draft.only.take();
        Ok(if self.empty_parentheses()? {
            name
        } else {
            None
        })
    }

    fn simple_word(&mut self, draft: &mut Draft) -> Parsed<()> {
        let leading = draft.words == 0;
        if leading || draft.declares {
            match self.assignment()? {
                Found::Assignment(assignment, _) if leading => {
                    if assignment.name != b"IFS" {
                        self.note_meaning(&assignment.name, assignment.value.span);
                    }
                    // A value behind it is expanded after it, the words of a command before it.
                    self.state.values.forget(&assignment.name);
                    draft.assignments.push(assignment);
                    return Ok(());
                }
                Found::Assignment(_, raw) | Found::Element(raw) => {
                    draft.words += 1;
                    return self.arguments(raw, &mut draft.argv);
                }
                Found::Nothing => {}
            }
        }
        let raw = self.word()?;
        if leading {
            draft.only = Some(raw.clone());
        }
        draft.words += 1;
        if leading && draft.argv.is_empty() {
            return self.program_word(raw, draft);
        }
        self.arguments(raw, &mut draft.argv)
    }

    /// The word that names the program, or nothing, where braces or values make nothing of it.
    fn program_word(&mut self, raw: RawWord, draft: &mut Draft) -> Parsed<()> {
        let written = raw
            .parts
            .iter()
            .all(|part| matches!(part, Part::Text { .. }));
        let leading = true;
        if !written {
            let plain = raw.clone();
            self.arguments(raw, &mut draft.argv)?;
            let named = draft.argv.first().and_then(Word::as_static);
            if named.is_some_and(|name| self.is_of_the_shell(name)) {
                // What the shell itself runs was not looked for behind a variable.
                draft.argv.clear();
                let hidden = self.state.values.hide(true);
                let result = self.arguments(plain, &mut draft.argv);
                self.state.values.hide(hidden);
                return result;
            }
            return Ok(());
        }
        let argument = self.slice(raw.start, raw.end).contains(&b'$');
        self.arguments(raw, &mut draft.argv)?;
        let named = draft.argv.first().and_then(Word::as_static);
        if argument && named.is_some_and(|name| self.is_of_the_shell(name)) {
            // An argument of the function named it, which the first reading did not know.
            self.state.values.fail();
        }
        if leading && self.is_bash() {
            draft.declares = draft
                .argv
                .first()
                .and_then(Word::as_static)
                .is_some_and(declares);
        }
        Ok(())
    }
}

/// Whether bash reads `NAME=(…)` among the arguments of this built-in.
fn declares(name: &[u8]) -> bool {
    matches!(
        name,
        b"declare" | b"typeset" | b"local" | b"export" | b"readonly" | b"alias" | b"eval" | b"let"
    )
}
