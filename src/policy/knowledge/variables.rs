//! Variables whose value is a command that some program starts: pagers, editors, askpass helpers.

use super::carried::{Carried, Inner, POSIX_OR_BASH};
use super::grammar::OperandKind;
use super::reading::Reading;
use crate::model::script::{SubCommand, Word};
use crate::policy::words::without_prefix;

/// Notes what the variables of `sub` name, as an option of the same meaning would: those that stand
/// before the command, and those that a built-in sets.
pub(super) fn variables(sub: &SubCommand, reading: &Reading<'_>, carried: &mut Carried) {
    if sub.argv.is_empty() {
        return;
    }
    for assignment in &sub.assignments {
        if names_command(&assignment.name) {
            value(&assignment.value, carried);
        }
    }
    let set = reading
        .uses()
        .into_iter()
        .filter(|operand| operand.kind == Some(OperandKind::Variable))
        .filter_map(|operand| sub.argv.get(operand.index));
    for word in set {
        let known = word.static_prefix();
        if let Some(equals) = known.iter().position(|byte| *byte == b'=')
            && known.get(..equals).is_some_and(names_command)
        {
            value(&without_prefix(word, equals + 1), carried);
        }
    }
}

fn value(value: &Word, carried: &mut Carried) {
    if is_idle(value) {
        return;
    }
    if value.as_static().is_none() {
        carried.dynamic("the program a variable names is known only when it runs");
    }
    carried.inner.push(Inner::Text {
        text: value.clone(),
        dialects: POSIX_OR_BASH,
    });
}

/// Whether a value of such a variable starts nothing, or a program that only passes text on.
pub(crate) fn is_idle(value: &Word) -> bool {
    matches!(value.as_static(), Some(b"" | b"cat" | b"true" | b":"))
}

/// Whether some program starts the value of this variable. git(1), man(1), less(1), ssh(1), cargo
pub(crate) fn names_command(name: &[u8]) -> bool {
    let ends: [&[u8]; 4] = [b"_PAGER", b"_EDITOR", b"_ASKPASS", b"_WRAPPER"];
    matches!(
        name,
        b"PAGER"
            | b"MANPAGER"
            | b"EDITOR"
            | b"VISUAL"
            | b"BROWSER"
            | b"FCEDIT"
            | b"GIT_SSH"
            | b"GIT_SSH_COMMAND"
            | b"GIT_PROXY_COMMAND"
            | b"GIT_EXTERNAL_DIFF"
            | b"LESSOPEN"
            | b"LESSCLOSE"
            | b"RSYNC_RSH"
            | b"CVS_RSH"
    ) || ends.iter().any(|end| name.ends_with(end))
}
