//! What one sub-command accesses.

use super::absolute;
use crate::model::access::{Access, Facts, PathAccess, Source};
use crate::model::script::{RedirectionKind, Script, SubCommand, Word};
use crate::policy::knowledge::{self, Effect, OperandKind, Reading, ValueKind};
use crate::policy::words::without_prefix;

/// The accesses of `sub`. `exported` says that the line makes the shell export every variable.
pub(super) fn of(sub: &SubCommand, facts: &Facts, exported: bool) -> Vec<Access> {
    let mut accesses = Vec::new();
    // What a function does is told by the sub-commands of its body.
    let runs = !sub.argv.is_empty() && !sub.context.call;
    if runs {
        accesses.push(Access::Command);
    }
    for assignment in &sub.assignments {
        // Used by the built-in and gone with it.
        let separates = assignment.name == b"IFS" && sub.reads_fields();
        if !separates && (!sub.argv.is_empty() || exported || is_obeyed(&assignment.name)) {
            accesses.push(Access::Env(assignment.name.clone()));
        }
    }
    for redirection in &sub.redirections {
        redirect(
            sub,
            redirection.kind,
            &redirection.target,
            facts,
            &mut accesses,
        );
    }
    if runs {
        let reading = knowledge::read(sub);
        options(sub, &reading, facts, &mut accesses);
        operands(sub, &reading, facts, exported, &mut accesses);
        into_folder(sub, &reading, facts, &mut accesses);
        for (word, writes) in super::hidden::paths(sub, &reading) {
            let access = file(sub, word, Source::Operand, facts);
            accesses.extend(access.map(if writes { Access::Write } else { Access::Read }));
        }
    }
    accesses
}

/// Whether the line turns `set -a` or `set -k` on.
pub(super) fn exports_everything(script: &Script) -> bool {
    script.subcommands.iter().any(|sub| {
        sub.program() == Some(b"set")
            && sub.argv.iter().skip(1).any(|word| match word.as_static() {
                None => true,
                Some(b"allexport" | b"keyword") => true,
                Some([b'-', letters @ ..]) => {
                    letters.iter().any(|byte| matches!(byte, b'a' | b'k'))
                }
                Some(_) => false,
            })
    })
}

fn redirect(
    sub: &SubCommand,
    kind: RedirectionKind,
    target: &Word,
    facts: &Facts,
    accesses: &mut Vec<Access>,
) {
    let (reads, writes) = match kind {
        RedirectionKind::Read => (true, false),
        RedirectionKind::Write | RedirectionKind::Append | RedirectionKind::WriteBoth => {
            (false, true)
        }
        RedirectionKind::ReadWrite => (true, true),
        // A word that is not known may turn out to be a file.
        RedirectionKind::Duplicate => (false, target.as_static().is_none()),
        RedirectionKind::HereDocument | RedirectionKind::HereString => (false, false),
    };
    if !reads && !writes {
        return;
    }
    if let Some(network) = socket(target) {
        accesses.push(network);
        return;
    }
    let Some(access) = file(sub, target.clone(), Source::Redirection, facts) else {
        return;
    };
    if writes {
        accesses.push(Access::Write(access.clone()));
    }
    if reads {
        accesses.push(Access::Read(access));
    }
}

/// `/dev/tcp/HOST/PORT`: bash opens a connection itself.
fn socket(target: &Word) -> Option<Access> {
    let known = target.static_prefix();
    let rest = known
        .strip_prefix(b"/dev/tcp/")
        .or_else(|| known.strip_prefix(b"/dev/udp/"))?;
    let mut parts = rest.split(|byte| *byte == b'/');
    let host = parts.next().unwrap_or_default().to_vec();
    let port = parts
        .next()
        .map(<[u8]>::to_vec)
        .filter(|_| target.as_static().is_some());
    Some(Access::Network { host, port })
}

/// The file a word names; `None` for the places that are no access.
fn file(sub: &SubCommand, word: Word, source: Source, facts: &Facts) -> Option<PathAccess> {
    let path = match word.as_static() {
        Some(text) if is_no_access(text) => return None,
        Some(text) if text.starts_with(b"/") => Some(facts.cwd.join_bytes(text)),
        Some(text) => absolute(&sub.folder, facts).map(|folder| folder.join_bytes(text)),
        None => None,
    };
    Some(PathAccess {
        written: word,
        path,
        source,
    })
}

fn is_no_access(path: &[u8]) -> bool {
    matches!(
        path,
        b"/dev/null" | b"/dev/stdout" | b"/dev/stderr" | b"/dev/stdin" | b"/dev/tty" | b"/dev/zero"
    )
}

fn options(sub: &SubCommand, reading: &Reading<'_>, facts: &Facts, accesses: &mut Vec<Access>) {
    for seen in &reading.seen {
        let (Some(kind), Some(value)) = (seen.kind(), &seen.value) else {
            continue;
        };
        let access = || file(sub, value.clone(), Source::Operand, facts);
        let script = |word: &Word| file(sub, word.clone(), Source::Script, facts);
        match kind {
            ValueKind::Read | ValueKind::Folder => {
                accesses.extend(access().map(Access::Read));
                // The key of ssh-keygen.
                if seen.effect() == Some(Effect::Writes) {
                    accesses.extend(access().map(Access::Write));
                }
            }
            ValueKind::Write => accesses.extend(access().map(Access::Write)),
            ValueKind::Archive => {
                accesses.extend(access().map(Access::Read));
                let reads = |names: &[&str]| names.iter().any(|name| reading.has(name));
                if !reads(&["-t", "-x", "-d"]) || reads(&["--delete"]) {
                    accesses.extend(access().map(Access::Write));
                }
            }
            ValueKind::Script => accesses.extend(script(value).map(Access::Read)),
            ValueKind::Text
            | ValueKind::Command
            | ValueKind::Shell
            | ValueKind::Program
            | ValueKind::Module => {}
        }
    }
}

fn operands(
    sub: &SubCommand,
    reading: &Reading<'_>,
    facts: &Facts,
    exported: bool,
    accesses: &mut Vec<Access>,
) {
    // `sed -i`: an option that writes and names no file writes what is read.
    let in_place = reading
        .seen
        .iter()
        .any(|seen| seen.effect() == Some(Effect::Writes) && seen.kind() != Some(ValueKind::Write));
    for operand in reading.uses() {
        let Some(word) = sub.argv.get(operand.index) else {
            continue;
        };
        // `-` is the input or output that is open already.
        if word.as_static() == Some(b"-") {
            continue;
        }
        let access = |word: Word| file(sub, word, Source::Operand, facts);
        match operand.kind {
            Some(OperandKind::Read) => {
                accesses.extend(access(word.clone()).map(Access::Read));
                if in_place {
                    accesses.extend(access(word.clone()).map(Access::Write));
                }
            }
            Some(OperandKind::Script) => {
                let script = file(sub, word.clone(), Source::Script, facts);
                accesses.extend(script.map(Access::Read));
            }
            Some(OperandKind::Write) => accesses.extend(access(word.clone()).map(Access::Write)),
            Some(OperandKind::Assignment) => {
                let known = word.static_prefix();
                if known.starts_with(b"if=") {
                    accesses.extend(access(without_prefix(word, 3)).map(Access::Read));
                } else if known.starts_with(b"of=") || word.as_static().is_none() {
                    accesses.extend(access(without_prefix(word, 3)).map(Access::Write));
                }
            }
            Some(OperandKind::Variable) => {
                accesses.extend(variable(sub, reading, word, exported));
            }
            Some(OperandKind::Text | OperandKind::Effect | OperandKind::Setting) | None => {}
        }
    }
}

/// `cp FILE FOLDER` writes FOLDER/FILE. Whether the last operand is a folder is not known here, so
/// deny and ask rules see both.
fn into_folder(sub: &SubCommand, reading: &Reading<'_>, facts: &Facts, accesses: &mut Vec<Access>) {
    let name = sub.program().and_then(base);
    if !matches!(name, Some(b"cp" | b"mv" | b"ln" | b"install")) {
        return;
    }
    let mut files: Vec<&Word> = reading
        .operands
        .iter()
        .filter_map(|at| sub.argv.get(*at))
        .collect();
    let option = reading
        .seen
        .iter()
        .find(|seen| seen.kind() == Some(ValueKind::Write))
        .and_then(|seen| seen.value.as_ref());
    let folder = match option {
        Some(folder) => folder.as_static(),
        // `ln FILE` makes a link here.
        None if files.len() < 2 => Some(b".".as_slice()),
        None => files.pop().and_then(Word::as_static),
    };
    let Some(folder) = folder else { return };
    for source in files {
        let Some(name) = source.as_static().and_then(base) else {
            continue;
        };
        let path = Word::text(source.span, [folder, b"/", name].concat());
        accesses.extend(file(sub, path, Source::Operand, facts).map(Access::Write));
    }
}

/// The last part of a path.
pub(super) fn base(path: &[u8]) -> Option<&[u8]> {
    path.rsplit(|byte| *byte == b'/')
        .find(|part| !part.is_empty())
}

/// A variable that a built-in sets: one that is exported, or one the shell obeys.
fn variable(
    sub: &SubCommand,
    reading: &Reading<'_>,
    word: &Word,
    exported: bool,
) -> Option<Access> {
    let known = word.static_prefix();
    let end = known
        .iter()
        .position(|byte| matches!(byte, b'=' | b'+' | b'['));
    let name = known.get(..end.unwrap_or(known.len())).unwrap_or_default();
    let exports = match sub.program() {
        Some(b"export") => true,
        Some(b"declare" | b"typeset" | b"local" | b"readonly") => reading.has("-x"),
        Some(_) | None => false,
    };
    let counts = exports || exported || is_obeyed(name);
    (counts && !name.is_empty()).then(|| Access::Env(name.to_vec()))
}

/// Whether the shell, or every program it starts, does something else when this variable is set.
fn is_obeyed(name: &[u8]) -> bool {
    let prefixes: [&[u8]; 4] = [b"LD_", b"BASH_FUNC_", b"DYLD_", b"GIT_"];
    matches!(
        name,
        b"PATH"
            | b"IFS"
            | b"PS0"
            | b"PS1"
            | b"PS2"
            | b"PS4"
            | b"PROMPT_COMMAND"
            | b"BASH_ENV"
            | b"ENV"
            | b"SHELLOPTS"
            | b"BASHOPTS"
            | b"CDPATH"
            | b"GLOBIGNORE"
            | b"EXECIGNORE"
            | b"BASH_LOADABLES_PATH"
            | b"BASH_XTRACEFD"
            | b"BASH_ALIASES"
            | b"BASH_CMDS"
            | b"GCONV_PATH"
            | b"LOCPATH"
            | b"HOME"
            | b"SHELL"
            | b"POSIXLY_CORRECT"
            | b"HISTFILE"
            | b"INPUTRC"
            | b"HOSTFILE"
            | b"TMPDIR"
            | b"NODE_OPTIONS"
            | b"PYTHONSTARTUP"
            | b"PYTHONPATH"
            | b"PERL5OPT"
            | b"PERL5LIB"
            | b"RUBYOPT"
            | b"PAGER"
            | b"EDITOR"
            | b"VISUAL"
    ) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}
