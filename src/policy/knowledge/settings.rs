//! Words that carry code in a language of the program's own: variables of make, formats of git.

use super::carried::{Carried, Inner, POSIX_OR_BASH};
use super::grammar::OperandKind;
use super::reading::Reading;
use crate::model::script::{SubCommand, Word};
use crate::policy::words::without_prefix;

/// Notes what the settings of `sub` start.
pub(super) fn settings(sub: &SubCommand, reading: &Reading<'_>, carried: &mut Carried) {
    for operand in reading.uses() {
        if operand.kind == Some(OperandKind::Setting)
            && let Some(word) = sub.argv.get(operand.index)
        {
            variable(word, operand.index, carried);
        }
    }
    formats(sub, reading, carried);
}

/// `SHELL=sh` names a program, `X='$(shell id)'` runs one; `V=1` does neither.
fn variable(word: &Word, at: usize, carried: &mut Carried) {
    let known = word.static_prefix();
    let equals = known.iter().position(|byte| *byte == b'=');
    let Some(equals) = equals else {
        // A word that is not known could be such a setting.
        if word.as_static().is_none() {
            carried.suspects.push(at);
        }
        return;
    };
    let name = known.get(..equals).unwrap_or_default();
    let name = name.strip_suffix(b"!").unwrap_or(name);
    let name: Vec<u8> = name
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b':' | b'+' | b'?'))
        .collect();
    let value = without_prefix(word, equals + 1);
    let text = value.as_static();
    // A value is make code, and `!=` runs it.
    let code = text.is_none_or(|text| text.contains(&b'$')) || known.contains(&b'!');
    let flags = matches!(
        name.as_slice(),
        b".SHELLFLAGS" | b"MAKEFLAGS" | b"GNUMAKEFLAGS" | b"MAKEFILES" | b"MFLAGS"
    );
    let program = is_program(&name);
    if code || flags || program {
        carried.suspects.push(at);
    }
    if (program || known.contains(&b'!')) && text.is_some_and(|text| !text.is_empty()) {
        carried.inner.push(Inner::Text {
            text: value,
            dialects: POSIX_OR_BASH,
        });
    }
}

/// Variables that the rules make brings along, or make itself, start. make(1), "Implicit Variables"
fn is_program(name: &[u8]) -> bool {
    matches!(
        name,
        b"SHELL"
            | b"MAKE"
            | b"AR"
            | b"AS"
            | b"CC"
            | b"CXX"
            | b"CPP"
            | b"FC"
            | b"LD"
            | b"LEX"
            | b"YACC"
            | b"RM"
            | b"INSTALL"
    )
}

/// `git log --format=%G?` and `git tag --format='%(signature)'` start gpg, or what the configuration
/// calls so.
fn formats(sub: &SubCommand, reading: &Reading<'_>, carried: &mut Carried) {
    let name = sub.program().unwrap_or_default();
    if name.rsplit(|byte| *byte == b'/').next() != Some(b"git") {
        return;
    }
    for seen in &reading.seen {
        let Some(value) = &seen.value else { continue };
        let format = seen.spec.is_some_and(|spec| {
            let is = |name: &str| spec.spellings.iter().any(|spelling| spelling == name);
            is("--format") || is("--pretty") || is("--sort")
        });
        let verifies = value.as_static().is_none_or(|text| {
            text.windows(2).any(|two| two == b"%G")
                || text.windows(9).any(|nine| nine == b"signature")
        });
        if format && verifies {
            carried.suspects.push(seen.index);
        }
    }
}
