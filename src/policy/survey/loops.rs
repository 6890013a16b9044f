//! Loop variables over words that are written out: the body is judged once for every value.

use std::ops::Range;

use super::constants::{assigns, is_plain, may_name, names_variables};
use crate::model::script::{Loop, Piece, Script, SubCommand, Word};

/// Values of one loop that are tried; with more the variable stays dynamic.
const VALUES: usize = 32;
/// Sub-commands that all loops of a line may add.
const COUNT: usize = 512;

/// Puts the values of loops in place of their variables, inside their bodies alone. The first value
/// stands in the sub-command itself, one copy at the end of the script for each further one.
pub(super) fn fill(script: &mut Script) {
    if script.subcommands.iter().any(renames) {
        return;
    }
    let written = script.subcommands.len();
    // Where each sub-command stood in the line; copies stand where their original does.
    let mut places: Vec<usize> = (0..written).collect();
    for each in script.loops.clone() {
        let body = each.header + 1..each.end;
        let Some(values) = values(&each).filter(|_| is_kept(script, &each, &body)) else {
            continue;
        };
        for at in 0..script.subcommands.len() {
            if places.get(at).is_some_and(|place| body.contains(place)) {
                let room = COUNT.saturating_sub(script.subcommands.len() - written);
                let copies = expand(script, at, &each.name, &values, room);
                let place = places.get(at).copied().unwrap_or(at);
                places.extend(std::iter::repeat_n(place, copies.len()));
                script.subcommands.extend(copies);
            }
        }
    }
}

/// The values, when all are known. Variables in capitals may have a meaning of the shell's own.
fn values(each: &Loop) -> Option<Vec<Vec<u8>>> {
    let plain = each.name.iter().any(u8::is_ascii_lowercase);
    let fits = (1..=VALUES).contains(&each.values.len());
    let known = each.values.iter().map(Word::as_static);
    known
        .map(|value| value.filter(|_| plain && fits).map(<[u8]>::to_vec))
        .collect::<Option<Vec<_>>>()
        .filter(|values| !values.is_empty())
}

/// Whether the variable keeps the value of the round throughout the body. A declaration anywhere may
/// change what an assignment makes of it (`declare -u`).
fn is_kept(script: &Script, each: &Loop, body: &Range<usize>) -> bool {
    let assigned = script
        .subcommands
        .get(body.clone())
        .is_none_or(|body| body.iter().any(|sub| assigns(sub, &each.name)));
    !assigned
        && !script
            .subcommands
            .iter()
            .any(|sub| may_name(sub, &each.name))
}

/// Whether commands that stand elsewhere may run in the body, or one variable stand for another.
fn renames(sub: &SubCommand) -> bool {
    let refers = |word: &Word| match word.as_static() {
        Some(text) => text.starts_with(b"-") && text.contains(&b'n'),
        None => true,
    };
    match sub.program() {
        Some(b"trap" | b"source" | b".") => true,
        Some(b"declare" | b"typeset" | b"local" | b"command" | b"builtin") => {
            sub.argv.iter().skip(1).any(refers)
        }
        Some(_) | None => false,
    }
}

/// Puts the first value into the sub-command and gives back a copy for each further one.
fn expand(
    script: &mut Script,
    at: usize,
    name: &[u8],
    values: &[Vec<u8>],
    room: usize,
) -> Vec<SubCommand> {
    let Some(sub) = script.subcommands.get(at).filter(|sub| is_open(sub, name)) else {
        return Vec::new();
    };
    let mut filled = values.iter().map(|value| with(sub, name, value));
    let Some(first) = filled.next() else {
        return Vec::new();
    };
    let copies: Vec<SubCommand> = filled.collect();
    if copies.len() > room {
        return Vec::new();
    }
    if let Some(sub) = script.subcommands.get_mut(at) {
        *sub = first;
    }
    copies
}

/// Whether the sub-command uses the variable, and runs where the loop does. What built-ins make of
/// names and options was decided when the line was read, and so was what a program's name means.
fn is_open(sub: &SubCommand, name: &[u8]) -> bool {
    let interprets = sub.program().is_none_or(|program| {
        names_variables(program)
            || matches!(
                program,
                b"test" | b"[" | b"set" | b"shopt" | b"alias" | b"hash" | b"enable"
            )
    });
    let uses = words(sub).any(|word| word.pieces.iter().any(|piece| is_variable(piece, name)));
    uses && !sub.context.function_body && (sub.argv.is_empty() || !interprets)
}

fn words(sub: &SubCommand) -> impl Iterator<Item = &Word> {
    let targets = sub.redirections.iter().map(|each| &each.target);
    sub.argv.iter().chain(targets)
}

fn is_variable(piece: &Piece, name: &[u8]) -> bool {
    match piece {
        Piece::Text(_) => false,
        Piece::Dynamic { name: found, .. } => found.as_deref() == Some(name),
    }
}

fn with(sub: &SubCommand, name: &[u8], value: &[u8]) -> SubCommand {
    let mut sub = sub.clone();
    let targets = sub.redirections.iter_mut().map(|each| &mut each.target);
    for word in sub.argv.iter_mut().chain(targets) {
        put(word, name, value);
    }
    sub
}

/// An unquoted value is split and matched; one without such bytes stays itself.
fn put(word: &mut Word, name: &[u8], value: &[u8]) {
    let stays = !value.is_empty() && value.iter().all(is_plain);
    let mut pieces: Vec<Piece> = Vec::with_capacity(word.pieces.len());
    for piece in word.pieces.drain(..) {
        let fits = match &piece {
            Piece::Dynamic { quoted, .. } => is_variable(&piece, name) && (*quoted || stays),
            Piece::Text(_) => false,
        };
        let piece = if fits {
            Piece::Text(value.to_vec())
        } else {
            piece
        };
        match (pieces.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.extend(text),
            (_, piece) => pieces.push(piece),
        }
    }
    word.pieces = pieces;
}
