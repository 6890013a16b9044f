//! Calls of functions that the line defines: the body is read once more where it is called, with the
//! arguments and the folder of the call.
//!
//! A definition is followed as a value is, under the name `NAME()`: what may not have run, what ended with
//! a subshell and what `unset -f` took away is not known. A call that cannot be followed, one of a function
//! that calls itself, for instance, leaves the whole line as the first reading found it.

use super::builtin::Words;
use super::values::Point;
use super::{Mark, Parsed, Parser};
use crate::model::script::{Piece, Span, SyntaxError};

/// Calls within calls.
const DEEPEST: usize = 8;

/// What a function is followed under.
pub(super) fn key(name: &[u8]) -> Vec<u8> {
    [name, b"()"].concat()
}

/// The body of a function: its text, and where it stands.
#[derive(Clone)]
pub(super) struct Body {
    text: Vec<u8>,
    span: Span,
}

/// Where a body starts, and what was known before it.
pub(super) struct Start {
    mark: Mark,
    documents: usize,
    /// What was asked of the text around it.
    outer: bool,
}

impl Parser<'_, '_> {
    pub(super) fn start_body(&mut self, name: &[u8]) -> Start {
        // What is dropped is read again where it counts.
        let later = self.outer.is_none() && self.state.values.is_called(name);
        Start {
            mark: self.mark(),
            documents: self.state.pending.len(),
            outer: self.state.values.postpone(later),
        }
    }

    /// Takes the definition of `name`, whose body has been read. True if the body counts where it is called
    /// only: its commands here are dropped.
    pub(super) fn take_definition(&mut self, name: &[u8], start: Start) -> bool {
        let end = self.pos;
        let whole = self.outer.is_none() && self.state.pending.len() == start.documents;
        let begin = start.mark.pos;
        let body = self.slice(begin, end).to_vec();
        let dropped = whole && self.state.values.is_called(name);
        let postponed = self.state.values.postpone(start.outer);
        if postponed && !dropped {
            self.state.values.fail();
        }
        if dropped {
            self.rewind(start.mark);
            self.pos = end;
        }
        let span = self.span(begin, end);
        let value = whole.then(|| {
            let number = self.state.bodies.len().to_string();
            self.state.bodies.push(Body { text: body, span });
            vec![Piece::Text(number.into_bytes())]
        });
        self.state.values.note_plain(&key(name), value);
        dropped
    }

    /// The sub-command at `index` calls the function `name`.
    pub(super) fn call(&mut self, name: &[u8], index: usize) -> Parsed<()> {
        self.state.values.called(name);
        if self.state.values.is_first() || self.state.values.is_postponed() {
            return Ok(());
        }
        let number = self.state.values.body(name);
        let body = number
            .and_then(|number| self.state.bodies.get(number))
            .cloned();
        let calling = &self.state.calling;
        let again = calling.len() >= DEEPEST || calling.iter().any(|each| each == name);
        let Some(body) = body.filter(|_| !again) else {
            self.state.values.fail();
            return Ok(());
        };
        let arguments = (!shifts(&body.text)).then(|| self.arguments_of(index));
        if let Some(sub) = self.reserved(index) {
            sub.context.call = true;
        }
        let outside = self.state.values.take_arguments(arguments);
        let (moves, returns) = (self.state.whereabouts.moves(), self.state.returns);
        let point: Point = self.state.values.point();
        let context = self.state.context;
        self.state.context.depth += 1;
        self.state.calling.push(name.to_vec());
        let result = self.inner(&body.text, body.span, |inner| inner.command());
        self.state.calling.pop();
        self.state.context = context;
        self.state.values.take_arguments(outside);
        // What was local is what it was before; what came behind a `return` may not have run.
        self.state.values.forget_since(point);
        self.state.values.settle(false);
        let redirected = self
            .reserved(index)
            .is_some_and(|sub| !sub.redirections.is_empty());
        let moved = self.state.whereabouts.moves() != moves;
        if moved && (redirected || self.state.returns != returns) {
            self.state.whereabouts.forget();
        }
        match result {
            Err(SyntaxError::Syntax { .. }) => {
                self.state.values.fail();
                Ok(())
            }
            result => result,
        }
    }

    /// `$1` and so on, as far as each is one word; what is known of them.
    fn arguments_of(&mut self, index: usize) -> Words {
        let argv = self.reserved(index).map(|sub| sub.argv.as_slice());
        let words = argv.unwrap_or_default().iter().skip(1);
        let single = |piece: &Piece| match piece {
            Piece::Text(_) => true,
            Piece::Dynamic { quoted, .. } => *quoted,
        };
        words
            .take_while(|word| word.pieces.iter().all(single))
            .map(|word| word.as_static().map(<[u8]>::to_vec))
            .collect()
    }
}

/// Whether a body may change its arguments: with these words, or with a spelling that is found out later.
fn shifts(body: &[u8]) -> bool {
    let holds = |word: &[u8]| body.windows(word.len()).any(|window| window == word);
    holds(b"shift") || holds(b"set")
}
