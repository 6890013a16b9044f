//! The shell-line splitter: bytes of a command line in, flat sub-commands out.
//!
//! The splitter exists so that every program a line would start can be judged before anything runs.
//! Its one rule follows from that: it may refuse a line the shell would run, and it may call a part
//! undecidable, but it must never overlook a command nor invent an argv. Whatever it cannot say for
//! certain is a [`SyntaxError`], an opaque mark, a dynamic piece of a word or an unknown [`Folder`].
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | line | all the text given to `bash -c -- LINE`, newlines included |
//! | dialect | the shell that will really read the line; the grammars differ in both directions |
//! | list, and-or list, pipeline | the three layers of the grammar above a command |
//! | simple command | assignments, words and redirections; it fills one [`SubCommand`] |
//! | raw word | a word after quote recognition, before brace expansion and quote removal |
//! | inner text | text the shell reads a second time: backquotes, here-documents, `eval` |
//! | carrier | the sub-command whose argument was read as inner text |
//! | whereabouts | the folder reached so far, as far as the line alone can tell |
//!
//! # What it does not see
//!
//! Names of variables that a sourced file sets, and what else such a file does to the shell. Whether a
//! `cd` it follows succeeds. What the environment brings: a variable that the line does not assign counts
//! as harmless where it is evaluated. What any of these starts is judged where it starts, by the gate.
//!
//! # How it is built
//!
//! A recursive descent over bytes, one method per production, with a flat output: nesting lives on the
//! stack of the parser only, so a script of any shape is dropped without recursion. Depth, fuel and the
//! number of open here-documents are bounded, so that no line can exhaust the stack or the clock.
//! Nothing here reads a file, the environment, a clock or a process.

#![forbid(unsafe_code)]

mod ansi;
mod arithmetic;
mod arrays;
mod assignment;
mod brace;
mod builtin;
mod call;
mod compound;
mod conditional;
mod cursor;
mod document;
mod evaluated;
mod expansion;
mod folder;
mod function;
mod keyword;
mod limit;
mod list;
mod loops;
mod operand;
mod parameter;
mod pieces;
mod printed;
mod quote;
mod redirect;
mod sequence;
mod simple;
mod state;
mod substitution;
mod values;
mod variables;
mod word;

#[cfg(test)]
mod tests;

use crate::model::script::{
    Context, Dialect, Folder, Opaque, Redirection, Script, Span, SubCommand, SyntaxError,
};
use folder::Whereabouts;
use state::State;
use values::{Point, Values};

/// What a production gives back.
type Parsed<T> = Result<T, SyntaxError>;

/// Splits `line`, read as a script of `dialect`, into sub-commands.
///
/// # Errors
/// The line is no script of that dialect, holds a NUL byte, or passes a limit.
pub fn parse(line: &[u8], dialect: Dialect) -> Result<Script, SyntaxError> {
    if line.len() > limit::LINE {
        return Err(SyntaxError::Limit("length"));
    }
    if let Some(at) = line.iter().position(|&byte| byte == 0) {
        // No argv can carry a NUL, and shells disagree on what one in a script means.
        return Err(SyntaxError::Syntax {
            at,
            reason: "a NUL byte",
        });
    }
    let mut state = State::new(line.len(), dialect, Values::default());
    read(line, &mut state)?;
    let (script, learned) = state.finish(line);
    let second = learned.and_then(|learned| {
        let mut state = State::new(line.len(), dialect, Values::second(learned));
        read(line, &mut state).ok()?;
        state.values.holds().then(|| state.finish(line).0)
    });
    Ok(second.unwrap_or(script))
}

fn read(line: &[u8], state: &mut State) -> Parsed<()> {
    Parser {
        text: line,
        pos: 0,
        outer: None,
        state,
    }
    .script()
}

/// A position in some text, and the state shared with the texts around it.
struct Parser<'t, 's> {
    /// What is being read: the line or an inner text.
    text: &'t [u8],
    /// Offset of the next byte; past the end reads as NUL, which no text contains.
    pos: usize,
    /// For inner text, where the whole of it stands in the line.
    outer: Option<Span>,
    state: &'s mut State,
}

/// How far the output had grown at some point, to take a wrong guess back.
#[derive(Clone)]
struct Mark {
    pos: usize,
    subcommands: usize,
    opaque: usize,
    functions: usize,
    definitions: usize,
    loops: usize,
    substitutions: usize,
    context: Context,
    whereabouts: Whereabouts,
    values: Point,
}

impl Parser<'_, '_> {
    /// The whole text as a list of commands.
    fn script(&mut self) -> Parsed<()> {
        self.list(list::Until::END)?;
        if self.pos < self.text.len() {
            return self.fail("unexpected token");
        }
        self.abandon_documents();
        Ok(())
    }

    /// Reads `text` with `production` as inner text that stands at `span` of the line.
    fn inner<T>(
        &mut self,
        text: &[u8],
        span: Span,
        production: impl FnOnce(&mut Parser<'_, '_>) -> Parsed<T>,
    ) -> Parsed<T> {
        self.deeper(|parser| {
            let held = std::mem::take(&mut parser.state.pending);
            let mut inner = Parser {
                text,
                pos: 0,
                outer: Some(span),
                state: &mut *parser.state,
            };
            let result = production(&mut inner);
            inner.abandon_documents();
            parser.state.pending = held;
            result
        })
    }

    /// Runs `production` one level further down in what rules see as nesting.
    fn nested<T>(&mut self, production: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.deeper(|parser| {
            parser.state.context.depth += 1;
            let result = production(parser);
            parser.state.context.depth -= 1;
            result
        })
    }

    fn mark(&self) -> Mark {
        Mark {
            pos: self.pos,
            subcommands: self.state.script.subcommands.len(),
            opaque: self.state.script.opaque.len(),
            functions: self.state.script.functions.len(),
            definitions: self.state.definitions.len(),
            loops: self.state.script.loops.len(),
            substitutions: self.state.evaluated.substitutions.len(),
            context: self.state.context,
            whereabouts: self.state.whereabouts.clone(),
            values: self.state.values.point(),
        }
    }

    fn rewind(&mut self, mark: Mark) {
        self.pos = mark.pos;
        self.state.script.subcommands.truncate(mark.subcommands);
        self.state.script.opaque.truncate(mark.opaque);
        self.state.script.functions.truncate(mark.functions);
        self.state.definitions.truncate(mark.definitions);
        self.state.script.loops.truncate(mark.loops);
        self.state
            .evaluated
            .substitutions
            .truncate(mark.substitutions);
        self.state.context = mark.context;
        self.state.whereabouts = mark.whereabouts;
        self.state.values.return_to(mark.values);
    }

    /// Marks something legal that cannot be decided.
    fn opaque(&mut self, span: Span, reason: &'static str) {
        self.state.script.opaque.push(Opaque { span, reason });
    }

    /// Takes the place of a sub-command in the output, so that what is nested in its words follows it.
    fn reserve(&mut self, start: usize) -> usize {
        let index = self.state.script.subcommands.len();
        let folder = self.state.whereabouts.folder();
        if let Folder::Moved(path) | Folder::Home(path) = &folder {
            // A copy a command: a long path before many commands must not outgrow the line.
            self.state.fuel = self.state.fuel.saturating_sub(path.len() as u64);
        }
        let subcommand = SubCommand {
            span: self.span(start, start),
            context: self.state.context,
            folder,
            argv: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            carrier: self.state.carrier,
        };
        self.state.script.subcommands.push(subcommand);
        index
    }

    /// The sub-command reserved before. Indices stay valid, since output is only taken back to a mark.
    fn reserved(&mut self, index: usize) -> Option<&mut SubCommand> {
        self.state.script.subcommands.get_mut(index)
    }

    /// Completes a reserved sub-command that is nothing but redirections.
    fn fill_redirections(&mut self, index: usize, end: usize, redirections: Vec<Redirection>) {
        let end = self.span(end, end).end;
        if let Some(subcommand) = self.reserved(index) {
            subcommand.span.end = end;
            subcommand.redirections = redirections;
        }
    }

    fn is_bash(&self) -> bool {
        self.state.dialect == Dialect::Bash
    }
}
