//! Values that arithmetic meets: bash evaluates the *value* of a name, and a subscript in it runs
//! what it substitutes (`read x < f; echo $((x))` with `a[$(id)]` in the file).

use std::collections::BTreeSet;

use super::Parser;
use super::cursor::{continues_name, is_name};
use crate::model::script::{Dynamic, Piece, Script, Span, SubCommand, Word};

/// Substitutions in arithmetic that are looked at; more count as foreign.
const SPANS: usize = 64;

/// What the line evaluates as arithmetic.
#[derive(Default)]
pub(super) struct Evaluated {
    /// Every name in an evaluated text.
    names: BTreeSet<Vec<u8>>,
    /// Evaluated texts with a substitution in them.
    substitutions: Vec<Span>,
}

impl Parser<'_, '_> {
    /// Records that the text between two offsets is evaluated.
    pub(super) fn note_evaluated(&mut self, start: usize, end: usize) {
        let text = self.slice(start, end);
        let span = self.span(start, end);
        let evaluated = &mut self.state.evaluated;
        evaluated.names.extend(names(text));
        let runs = text
            .windows(3)
            .any(|three| three.starts_with(b"$(") && three != b"$((");
        if runs || text.contains(&b'`') {
            evaluated.substitutions.push(span);
        }
    }
}

impl Evaluated {
    /// Records that a text known now, an argument of `let`, is evaluated.
    pub(super) fn note(&mut self, text: &[u8]) {
        self.names.extend(names(text));
    }

    /// Whether something evaluated may be text that a program or a file gave.
    pub(super) fn is_foreign(&self, script: &Script, line: &[u8]) -> bool {
        if self.names.is_empty() && self.substitutions.is_empty() {
            return false;
        }
        let direct = self.substitutions.len() > SPANS
            || self
                .substitutions
                .iter()
                .any(|span| !prints_numbers(script, *span));
        direct || self.foreign_names(script, line)
    }

    /// Follows the evaluated names through the values they get, and the names in those.
    fn foreign_names(&self, script: &Script, line: &[u8]) -> bool {
        let mut reached = self.names.clone();
        loop {
            let before = reached.len();
            for (index, sub) in script.subcommands.iter().enumerate() {
                for assignment in &sub.assignments {
                    if !reached.contains(&assignment.name) {
                        continue;
                    }
                    let list = script.loops.iter().find(|each| each.header == index);
                    let values = list.map_or_else(
                        || std::slice::from_ref(&assignment.value),
                        |each| each.values.as_slice(),
                    );
                    for value in values {
                        let Some(names) = links(script, value, line) else {
                            return true;
                        };
                        reached.extend(names);
                    }
                }
            }
            if reached.len() == before {
                // `[[ $(cat f) =~ … ]]` fills it without an assignment.
                return reached.contains(b"BASH_REMATCH".as_slice());
            }
        }
    }
}

fn names(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    text.split(|&byte| !continues_name(byte))
        .filter(|name| is_name(name))
        .map(<[u8]>::to_vec)
}

/// The names a value is made of; none if its text comes from elsewhere.
fn links(script: &Script, value: &Word, line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for piece in &value.pieces {
        match piece {
            Piece::Text(text) => found.extend(names(text)),
            Piece::Dynamic {
                name: Some(name), ..
            } => found.push(name.clone()),
            Piece::Dynamic { reason, .. } => {
                let number = match reason {
                    Dynamic::Arithmetic => true,
                    Dynamic::CommandSubstitution => prints_numbers(script, value.span),
                    Dynamic::Parameter => line
                        .get(value.span.start..value.span.end)
                        .is_some_and(ends_in_number),
                    Dynamic::ProcessSubstitution
                    | Dynamic::Glob
                    | Dynamic::Tilde
                    | Dynamic::Locale
                    | Dynamic::Array
                    | Dynamic::Brace
                    | Dynamic::FunctionSubstitution => false,
                };
                number.then_some(())?;
            }
        }
    }
    Some(found)
}

/// `$?`, `$#`, `$$` and `$!` alone, or as the whole value of an assignment.
fn ends_in_number(text: &[u8]) -> bool {
    let value = text.rsplit(|&byte| byte == b'=').next().unwrap_or(text);
    matches!(value, b"$?" | b"$#" | b"$$" | b"$!")
}

/// Whether the substitution at `span` is one pipeline that ends in a program which prints numbers.
fn prints_numbers(script: &Script, span: Span) -> bool {
    let mut inside = script.subcommands.iter().filter(|sub| {
        sub.context.substitution && sub.span.start >= span.start && sub.span.end <= span.end
    });
    let Some(mut last) = inside.next() else {
        return false;
    };
    for sub in inside {
        if !sub.context.piped {
            return false;
        }
        last = sub;
    }
    is_counter(last)
}

fn is_counter(sub: &SubCommand) -> bool {
    let Some(words) = sub.static_argv() else {
        return false;
    };
    match words.as_slice() {
        [b"wc", b"-l" | b"-c" | b"-w" | b"-m"] | [b"nproc"] | [b"id", b"-u" | b"-g"] => true,
        [b"date", b"+%s" | b"+%s%N" | b"+%Y" | b"+%H" | b"+%M"] => true,
        [b"seq", numbers @ ..] => numbers
            .iter()
            .all(|word| word.iter().all(u8::is_ascii_digit)),
        _ => false,
    }
}
