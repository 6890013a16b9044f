//! Paths inside words that are more than a path: `@FILE` and `file://` of curl, `REV:PATH` of git.

use super::accesses::base;
use crate::model::script::SubCommand;
use crate::model::script::Word;
use crate::policy::knowledge::{OperandKind, Reading};
use crate::policy::words::without_prefix;

/// The paths, each with whether it is written.
pub(super) fn paths(sub: &SubCommand, reading: &Reading<'_>) -> Vec<(Word, bool)> {
    let mut found = Vec::new();
    match sub.program().and_then(base) {
        Some(b"curl" | b"wget") => transfers(sub, reading, &mut found),
        Some(b"git") => revisions(sub, reading, &mut found),
        Some(b"grep" | b"egrep" | b"fgrep" | b"rg") => here(sub, reading, &mut found),
        Some(_) | None => {}
    }
    found
}

fn transfers(sub: &SubCommand, reading: &Reading<'_>, found: &mut Vec<(Word, bool)>) {
    const UPLOADS: [&str; 8] = [
        "-d",
        "--data-binary",
        "--data-urlencode",
        "-F",
        "-H",
        "--url-query",
        "-b",
        "-w",
    ];
    let values = reading.seen.iter().filter_map(|seen| {
        let value = seen.value.as_ref()?;
        Some((
            UPLOADS.iter().any(|name| seen.is(name)),
            seen.is("-b"),
            value,
        ))
    });
    for (uploads, cookies, value) in values {
        let known = value.static_prefix();
        // `-d @FILE`, `-F name=@FILE;type=…`, `-F name=<FILE`.
        let mark = known.iter().position(|byte| matches!(byte, b'@' | b'<'));
        if uploads && let Some(mark) = mark {
            let mut word = without_prefix(value, mark + 1);
            if let Some(text) = word.as_static()
                && let Some(end) = text.iter().position(|byte| *byte == b';')
            {
                word = Word::text(word.span, text.get(..end).unwrap_or_default().to_vec());
            }
            found.push((word, false));
        }
        // Without `=` it is a file of cookies.
        if cookies && !known.contains(&b'=') {
            found.push((value.clone(), false));
        }
    }
    let writes = reading.has("-O") || reading.has("--remote-name-all");
    let operands = reading.operands.iter().filter_map(|at| sub.argv.get(*at));
    let named = reading
        .seen
        .iter()
        .filter(|seen| seen.is("--url"))
        .filter_map(|seen| seen.value.as_ref());
    for url in operands.chain(named) {
        let known = url.static_prefix();
        let scheme = known.get(..7).unwrap_or_default();
        if scheme.eq_ignore_ascii_case(b"file://") {
            // `file://HOST/PATH`
            let slash = known.iter().skip(7).position(|byte| *byte == b'/');
            found.push((without_prefix(url, 7 + slash.unwrap_or(0)), false));
        }
        if writes {
            let name = url.as_static().and_then(base).map(|name| {
                let name = name.split(|byte| *byte == b'?').next().unwrap_or(name);
                Word::text(url.span, name.to_vec())
            });
            // Of a word that is not known, nothing is known of the file either.
            found.push((name.unwrap_or_else(|| url.clone()), true));
        }
    }
}

/// `git show REV:PATH` prints the file as it once was.
fn revisions(sub: &SubCommand, reading: &Reading<'_>, found: &mut Vec<(Word, bool)>) {
    for operand in reading.uses() {
        let word = sub.argv.get(operand.index);
        let Some(word) = word.filter(|_| operand.kind == Some(OperandKind::Read)) else {
            continue;
        };
        let colon = word.static_prefix().iter().position(|byte| *byte == b':');
        if let Some(colon) = colon {
            found.push((without_prefix(word, colon + 1), false));
        }
    }
}

/// `grep -r x` and `rg x` without a file search the folder they stand in.
fn here(sub: &SubCommand, reading: &Reading<'_>, found: &mut Vec<(Word, bool)>) {
    let reads = reading
        .uses()
        .iter()
        .any(|operand| operand.kind == Some(OperandKind::Read));
    let rg = sub.program().and_then(base) == Some(b"rg");
    let descends = rg || reading.has("-r") || reading.has("-R");
    if descends
        && !reads
        && let Some(first) = sub.argv.first()
    {
        found.push((Word::text(first.span, b".".as_slice()), false));
    }
}
