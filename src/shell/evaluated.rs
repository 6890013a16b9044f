//! Values that arithmetic meets: bash evaluates the *value* of a name, and a subscript in it runs
//! what it substitutes (`read x < f; echo $((x))` with `a[$(id)]` in the file).

use std::collections::{BTreeMap, BTreeSet};

use super::Parser;
use super::cursor::{continues_name, is_name};
use crate::model::script::{Dynamic, Loop, Piece, Script, Span, SubCommand, Word};

/// Substitutions in arithmetic that are looked at; more count as foreign.
const SPANS: usize = 64;

/// What the line evaluates as arithmetic.
#[derive(Default)]
pub(super) struct Evaluated {
    /// Every name in an evaluated text.
    names: BTreeSet<Vec<u8>>,
    /// Evaluated texts with a substitution in them.
    substitutions: Vec<Span>,
    /// An evaluated text holds an argument of the shell or of a function.
    positional: bool,
}

/// Whether bash, in one version or another, evaluates whatever is assigned to the variable: it is an
/// integer from the start.
fn is_integer(name: &[u8]) -> bool {
    matches!(
        name,
        b"RANDOM" | b"SRANDOM" | b"SECONDS" | b"OPTIND" | b"HISTCMD" | b"LINENO" | b"BASHPID"
    )
}

/// Variables that bash fills without an assignment of the line, with text from anywhere: `: $(cat f)`
/// fills `_`, `[[ $(cat f) =~ … ]]` fills `BASH_REMATCH`.
const FILLED: [&[u8]; 7] = [
    b"_",
    b"BASH_REMATCH",
    b"BASH_COMMAND",
    b"BASH_ARGV",
    b"DIRSTACK",
    b"PWD",
    b"OLDPWD",
];

impl Parser<'_, '_> {
    /// Records that the text between two offsets is evaluated.
    pub(super) fn note_evaluated(&mut self, start: usize, end: usize) {
        let text = self.slice(start, end);
        let span = self.span(start, end);
        let evaluated = &mut self.state.evaluated;
        evaluated.names.extend(names(text));
        evaluated.positional |= holds_argument(text);
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

    /// Records an assignment to a variable: `RANDOM=$x` evaluates. True if it does.
    pub(super) fn note_variable(&mut self, name: &[u8]) -> bool {
        let integer = is_integer(name);
        if integer {
            self.names.insert(name.to_vec());
        }
        integer
    }

    /// Whether something evaluated may be text that a program or a file gave.
    pub(super) fn is_foreign(&self, script: &Script, line: &[u8]) -> bool {
        if self.names.is_empty() && self.substitutions.is_empty() && !self.positional {
            return false;
        }
        let direct = self.positional
            || self.substitutions.len() > SPANS
            || self
                .substitutions
                .iter()
                .any(|span| !prints_numbers(script, *span));
        direct || self.foreign_names(script, line)
    }

    /// Follows the evaluated names through the values they get, and the names in those.
    fn foreign_names(&self, script: &Script, line: &[u8]) -> bool {
        let loops: BTreeMap<usize, &Loop> = script
            .loops
            .iter()
            .map(|each| (each.header, each))
            .collect();
        let mut values: BTreeMap<&[u8], Vec<&[Word]>> = BTreeMap::new();
        for (index, sub) in script.subcommands.iter().enumerate() {
            for assignment in &sub.assignments {
                let given = loops.get(&index).map_or_else(
                    || std::slice::from_ref(&assignment.value),
                    |each| each.values.as_slice(),
                );
                values.entry(&assignment.name).or_default().push(given);
            }
        }
        let mut reached = self.names.clone();
        let mut left: Vec<Vec<u8>> = self.names.iter().cloned().collect();
        let mut substitutions = 0_usize;
        while let Some(name) = left.pop() {
            if FILLED.contains(&name.as_slice()) {
                return true;
            }
            let given = values.get(name.as_slice()).into_iter().flatten().copied();
            for value in given.flatten() {
                substitutions += usize::from(value.dynamic() == Some(Dynamic::CommandSubstitution));
                let Some(names) = links(script, value, line).filter(|_| substitutions <= SPANS)
                else {
                    return true;
                };
                for name in names {
                    if reached.insert(name.clone()) {
                        left.push(name);
                    }
                }
            }
        }
        false
    }
}

/// Whether the text holds `$1`, `$@`, `${1…}` or their like. `$#` is a number.
fn holds_argument(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'$').skip(1).any(|after| {
        let name = after.strip_prefix(b"{").unwrap_or(after);
        name.first()
            .is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'@' | b'*'))
    })
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
                    // `x=$1=$?` ends in one, too.
                    Dynamic::Parameter if value.pieces.len() > 1 => false,
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
