//! Reads what bash traced, and says whether a predicted sub-command covers a started one.
//!
//! Two traces complete each other. `set -x` shows every simple command after all expansions, built-ins,
//! functions and paths included, but quoted for people, and a quoted command `x=1` looks like an
//! assignment. The handler for commands that are not found gets the exact argv of all the others, also
//! after `set +x`. Neither sees what bash opens, nor a command that a failing redirection kept from
//! starting, nor one after the line has replaced the handler (which the parser has to call opaque).

use tipstaff::model::script::SubCommand;

use super::drive::{NEWLINE, PROMPT, RECORD};
use super::support::cover::{fits, matches};

/// One started command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Started {
    pub argv: Vec<Vec<u8>>,
}

/// The commands that `set -x` shows.
pub fn traced(trace: &[u8]) -> Vec<Started> {
    let marker = PROMPT.trim_start_matches('+').as_bytes();
    let mut entries = Vec::new();
    let mut rest = trace;
    while let Some(at) = find(rest, marker) {
        rest = &rest[at + marker.len()..];
        let end = find(rest, marker).unwrap_or(rest.len());
        let mut entry = &rest[..end];
        // The plusses belong to the next entry's prompt.
        if end < rest.len() {
            while let Some(shorter) = entry.strip_suffix(b"+") {
                entry = shorter;
            }
        }
        entries.push(entry.strip_suffix(b"\n").unwrap_or(entry));
    }
    entries.into_iter().filter_map(command).collect()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn command(entry: &[u8]) -> Option<Started> {
    let compound = [&b"[[ "[..], b"(( ", b"for ", b"case ", b"select ", b"(("];
    if compound.iter().any(|start| entry.starts_with(start)) || is_assignment(entry) {
        return None;
    }
    let argv = words(entry);
    let ours = argv.get(2).is_some_and(|word| word == RECORD.as_bytes());
    (!argv.is_empty() && !ours).then_some(Started { argv })
}

/// `name=…`, `name+=…`, `name[…]=…`: shown for an assignment, and for a command of that name, which the
/// handler sees.
fn is_assignment(entry: &[u8]) -> bool {
    let name = entry
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    let rest = &entry[name..];
    name > 0 && (rest.starts_with(b"=") || rest.starts_with(b"+=") || rest.starts_with(b"["))
}

/// Undoes the quoting of `set -x`: words are bare, `'…'` or `$'…'`.
fn words(entry: &[u8]) -> Vec<Vec<u8>> {
    let mut words: Vec<Option<Vec<u8>>> = vec![None];
    let mut at = 0;
    while let Some(&byte) = entry.get(at) {
        at += 1;
        if byte == b' ' {
            words.push(None);
            continue;
        }
        let last = words.len() - 1;
        let word = words[last].get_or_insert_default();
        match byte {
            b'\'' => {
                let close = entry[at..].iter().position(|&byte| byte == b'\'');
                let close = close.map_or(entry.len(), |close| at + close);
                word.extend_from_slice(&entry[at..close]);
                at = close + 1;
            }
            b'$' if entry.get(at) == Some(&b'\'') => at = ansi(entry, at + 1, word),
            b'\\' => {
                word.extend(entry.get(at));
                at += 1;
            }
            _ => word.push(byte),
        }
    }
    words.into_iter().flatten().collect()
}

/// The text of `$'…'` from `at`; where it ends.
fn ansi(entry: &[u8], mut at: usize, word: &mut Vec<u8>) -> usize {
    while let Some(&byte) = entry.get(at) {
        at += 1;
        if byte == b'\'' {
            break;
        }
        if byte != b'\\' {
            word.push(byte);
            continue;
        }
        let Some(&letter) = entry.get(at) else {
            break;
        };
        let octal: Vec<u8> = entry[at..]
            .iter()
            .take(3)
            .take_while(|digit| (b'0'..=b'7').contains(digit))
            .copied()
            .collect();
        if !octal.is_empty() {
            at += octal.len();
            let value = octal
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            word.push(u8::try_from(value).unwrap_or(u8::MAX));
            continue;
        }
        at += 1;
        word.push(match letter {
            b'E' | b'e' => 0x1b,
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            other => other,
        });
    }
    at
}

/// The commands the handler was called for.
pub fn handled(records: &[u8]) -> Vec<Started> {
    let mut fields = records.split(|&byte| byte == 0);
    let mut started = Vec::new();
    while let Some(field) = fields.next() {
        if field != RECORD.as_bytes() {
            continue;
        }
        let count = fields
            .next()
            .and_then(|count| std::str::from_utf8(count).ok())
            .and_then(|count| count.parse().ok())
            .unwrap_or(0);
        let line = |word: &[u8]| {
            let (mut line, mut rest) = (Vec::new(), word);
            while let Some(at) = find(rest, NEWLINE.as_bytes()) {
                line.extend_from_slice(&rest[..at]);
                line.push(b'\n');
                rest = &rest[at + NEWLINE.len()..];
            }
            [line.as_slice(), rest].concat()
        };
        let argv = fields.by_ref().take(count).map(line).collect();
        started.push(Started { argv });
    }
    started
}

/// Whether `sub` predicts `argv`, and if so whether by static words alone. The handler is called for
/// what `command` runs, without the words before it.
pub fn covers(sub: &SubCommand, argv: &[Vec<u8>]) -> Option<bool> {
    let mut words = sub.argv.as_slice();
    let mut known = true;
    loop {
        if matches(words, argv) {
            return Some(known && words.iter().all(|word| word.as_static().is_some()));
        }
        let (first, rest) = words.split_first()?;
        let runs_text = ["eval", "trap"]
            .iter()
            .any(|name| fits(&first.pieces, name.as_bytes()));
        if first.as_static().is_none() && runs_text {
            // A name known only at run time, which no allow rule covers, can be one of these, which
            // run their arguments.
            return Some(false);
        }
        let may_be = |name: &str| matches(std::slice::from_ref(first), &[name.into()]);
        if !["command", "builtin", "-p", "--"].into_iter().any(may_be) {
            return None;
        }
        known &= first.as_static().is_some();
        words = rest;
    }
}
