//! The built-in allow rules: commands the knowledge proves read-only, and harmless built-ins.

use super::built_in;
use super::view::{View, is_in_workspace};
use crate::model::executable::Lookup;
use crate::model::judgement::RuleRef;
use crate::model::script::Word;
use crate::policy::Policy;
use crate::policy::knowledge::{
    self, CarrierKind, Effect, Inner, OperandKind, Program, Seen, ValueKind,
};
use crate::policy::words::is_many;

pub(super) const ID: &str = "builtin.read-only";
pub(super) const ENV_ID: &str = "builtin.harmless-variables";
pub(super) const TEXT: &str = "commands that are known to change nothing";
pub(super) const ENV_TEXT: &str = "variables that change how output looks and nothing else";

/// The rule, when it covers this command.
pub(super) fn command(policy: &Policy, view: &View<'_>) -> Option<RuleRef> {
    let applies = policy.read_only_defaults && !policy.is_disabled(ID);
    let covered = applies
        && view.is_trusted()
        && !view.is_taken()
        && view.looked_up_name().is_some()
        && view.carried.unknown.is_none()
        && view.carried.suspects.is_empty()
        && match (view.lookup, view.base_name()) {
            (Lookup::Builtin, Some(b"cd")) => changes_folder(view),
            (Lookup::Builtin, Some(b"set")) => sets_options(view),
            (Lookup::Builtin, Some(b"alias" | b"hash")) => view.sub.argv.len() == 1,
            (Lookup::Builtin, Some(b"shopt")) => sets_patterns(view),
            (_, _) => only_reads(view),
        };
    covered.then(|| built_in(ID, TEXT))
}

/// The rule, when it covers setting this variable.
pub(super) fn variable(policy: &Policy, view: &View<'_>, name: &[u8]) -> Option<RuleRef> {
    let harmless = only_looks(name) || starts_nothing(view, name);
    let applies = policy.read_only_defaults && !policy.is_disabled(ENV_ID);
    (harmless && applies).then(|| built_in(ENV_ID, ENV_TEXT))
}

/// `GIT_PAGER=cat`: a variable that names a command, with a value that does nothing.
fn starts_nothing(view: &View<'_>, name: &[u8]) -> bool {
    let mut values = view
        .sub
        .assignments
        .iter()
        .filter(|assignment| assignment.name == name)
        .peekable();
    knowledge::names_command(name)
        && values.peek().is_some()
        && values.all(|assignment| knowledge::is_idle(&assignment.value))
}

fn only_looks(name: &[u8]) -> bool {
    matches!(
        name,
        b"LANG"
            | b"LC_ALL"
            | b"LC_COLLATE"
            | b"LC_CTYPE"
            | b"LC_MESSAGES"
            | b"LC_NUMERIC"
            | b"LC_TIME"
            | b"TZ"
            | b"NO_COLOR"
            | b"FORCE_COLOR"
            | b"CLICOLOR"
            | b"CLICOLOR_FORCE"
            | b"COLUMNS"
            | b"LINES"
            | b"RUST_BACKTRACE"
            | b"RUST_LOG"
            | b"CARGO_TERM_COLOR"
            | b"PY_COLORS"
            | b"PYTHONUNBUFFERED"
            | b"LS_COLORS"
            | b"GREP_COLORS"
            | b"MANWIDTH"
            | b"GIT_TERMINAL_PROMPT"
            | b"GIT_OPTIONAL_LOCKS"
    )
}

/// `PROGRAM --version` and whatever else of the kind its knowledge lists, and nothing besides.
fn tells_of_itself(view: &View<'_>) -> bool {
    let reading = &view.reading;
    let [level] = reading.levels.as_slice() else {
        return false;
    };
    let tells = |seen: &Seen<'_>| {
        let known = matches!(
            seen.effect(),
            Some(Effect::Harmless | Effect::Neutral | Effect::Known)
        );
        known && !seen.has_odd_value() && level.tells_with.iter().any(|option| seen.is(option))
    };
    view.sub.argv.len() == 2
        && matches!(reading.seen.as_slice(), [seen] if tells(seen))
        && reading.unknown_name_at.is_none()
        && reading.loose.is_empty()
        && reading.operands.is_empty()
        && !stands_in(view)
}

/// Whether the file only picks, by what the workspace says, the program that really runs: proxies of
/// rustup, shims of pyenv and its like. Of what they pick nothing is known.
fn stands_in(view: &View<'_>) -> bool {
    let Some(file) = view.lookup.executable() else {
        return false;
    };
    let mut parts = file.path.as_bytes().rsplit(|byte| *byte == b'/');
    let (_, folder, above) = (parts.next(), parts.next(), parts.next());
    file.real.base_name() == b"rustup"
        || folder == Some(b"shims")
        || (folder == Some(b"bin") && above == Some(b".cargo"))
}

/// A carrier that does nothing but start what it shows: that is judged as a sub-command of its own.
fn only_carries(view: &View<'_>, level: &Program) -> bool {
    let Some(carrier) = &level.carrier else {
        return true;
    };
    let idle = carrier.unless.iter().any(|option| view.reading.has(option));
    // Assignments are accesses of what they stand before.
    let shows = |inner: &Inner| match inner {
        Inner::Argv { argv, .. } => !argv.is_empty(),
        Inner::Text { .. } => true,
    };
    let inner = &view.carried.inner;
    let alone =
        view.reading.operands.is_empty() && carrier.alone.as_ref().is_some_and(Vec::is_empty);
    if (idle || alone) && inner.is_empty() {
        return true;
    }
    match carrier.kind {
        CarrierKind::Find => inner.iter().all(shows),
        CarrierKind::Argv | CarrierKind::Shell => !inner.is_empty() && inner.iter().all(shows),
        CarrierKind::Eval
        | CarrierKind::ShellOperands
        | CarrierKind::Runner
        | CarrierKind::Applet
        | CarrierKind::Unknown => false,
    }
}

fn only_reads(view: &View<'_>) -> bool {
    if tells_of_itself(view) {
        return true;
    }
    let reading = &view.reading;
    let Some(level) = reading.level() else {
        return false;
    };
    let carries = !asks_only(view) && !only_carries(view, level);
    let lists = level.lists_with.iter().any(|option| reading.has(option));
    let proved = (level.read_only && (lists || !level.lists_only)) || asks_only(view);
    let options = reading
        .seen
        .iter()
        .all(|seen| match (seen.effect(), seen.kind()) {
            _ if seen.has_odd_value() => false,
            (Some(Effect::Harmless | Effect::Neutral), _) => true,
            // `host:file` is a file elsewhere, and a shell there.
            (Some(_), Some(ValueKind::Archive)) if lists => seen
                .value
                .as_ref()
                .and_then(Word::as_static)
                .is_some_and(|file| !file.contains(&b':')),
            (Some(Effect::Known), Some(ValueKind::Folder)) => seen
                .value
                .as_ref()
                .is_some_and(|folder| is_in_workspace(view, folder)),
            (Some(_) | None, _) => false,
        });
    let operands = reading.uses().iter().all(|operand| match operand.kind {
        Some(OperandKind::Text | OperandKind::Read | OperandKind::Variable) => true,
        Some(OperandKind::Effect | OperandKind::Write) if lists => true,
        Some(OperandKind::Write) => view.sub.argv.get(operand.index).is_some_and(is_sink),
        Some(
            OperandKind::Assignment
            | OperandKind::Effect
            | OperandKind::Setting
            | OperandKind::Script,
        )
        | None => false,
    });
    let turns = (!reading.loose.is_empty() && could_turn(view)) || (!lists && could_multiply(view));
    let needed = level.needs.iter().all(|option| reading.has(option));
    proved && needed && !carries && options && operands && !turns
}

/// Whether what is written there is gone, or seen.
fn is_sink(word: &Word) -> bool {
    matches!(
        word.as_static(),
        Some(b"/dev/null" | b"/dev/stdout" | b"/dev/stderr")
    )
}

/// A word that could become an option.
fn could_turn(view: &View<'_>) -> bool {
    has_changing_operands(view) || view.reading.has_dangerous_options()
}

/// A word that could become one operand more than those that are only read: `uniq ./*`.
fn could_multiply(view: &View<'_>) -> bool {
    has_changing_operands(view)
        && view
            .reading
            .operands
            .iter()
            .filter_map(|at| view.sub.argv.get(*at))
            .any(is_many)
}

fn has_changing_operands(view: &View<'_>) -> bool {
    view.reading.level().is_some_and(|level| {
        level.operands.iter().any(|kind| match kind {
            OperandKind::Write
            | OperandKind::Assignment
            | OperandKind::Effect
            | OperandKind::Setting
            | OperandKind::Script => true,
            OperandKind::Text | OperandKind::Read | OperandKind::Variable => false,
        })
    })
}

/// `command -v NAME`
fn asks_only(view: &View<'_>) -> bool {
    view.base_name() == Some(b"command")
        && matches!(view.lookup, Lookup::Builtin)
        && (view.reading.has("-v") || view.reading.has("-V"))
}

/// `cd FOLDER` inside the workspace.
fn changes_folder(view: &View<'_>) -> bool {
    let reading = &view.reading;
    let harmless = reading
        .seen
        .iter()
        .all(|seen| seen.effect() == Some(Effect::Harmless));
    let [at] = reading.operands.as_slice() else {
        return false;
    };
    let word = view.sub.argv.get(*at);
    harmless
        && word.is_some_and(|word| word.as_static() != Some(b"-") && is_in_workspace(view, word))
}

/// `set -e`, `set -u`, `set -x`, `set -o pipefail` and their bundles. What `set -x` expands, `PS4`, makes a
/// line opaque where it is assigned, and comes from no environment.
fn sets_options(view: &View<'_>) -> bool {
    let words: Option<Vec<&[u8]>> = view.sub.argv.iter().skip(1).map(Word::as_static).collect();
    let Some(words) = words.filter(|words| !words.is_empty()) else {
        return false;
    };
    let mut name_follows = false;
    let fine = words.iter().all(|word| {
        if std::mem::take(&mut name_follows) {
            return matches!(*word, b"pipefail" | b"errexit" | b"nounset" | b"xtrace");
        }
        match word {
            [b'-' | b'+', letters @ ..] if !letters.is_empty() => {
                name_follows = letters.contains(&b'o');
                letters
                    .iter()
                    .all(|letter| matches!(letter, b'e' | b'u' | b'x' | b'o'))
            }
            _ => false,
        }
    });
    fine && !name_follows
}

/// `shopt` with options that the parser calls harmless, or that lists; whatever else makes a line opaque.
fn sets_patterns(view: &View<'_>) -> bool {
    view.sub.argv.iter().all(|word| word.as_static().is_some()) && !view.reading.has("-o")
}
