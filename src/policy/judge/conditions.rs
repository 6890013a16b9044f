//! The conditions of long rules: options, operands, folders.

use super::view::{View, is_in_workspace};
use crate::model::script::Word;
use crate::policy::glob::{Match, Purpose};
use crate::policy::rule::Conditions;

/// Whether all conditions hold.
pub(super) fn hold(conditions: &Conditions, view: &View<'_>, purpose: Purpose) -> Match {
    let present = |name: &String| presence(name, view, purpose);
    let with = if conditions.with.is_empty() {
        Match::Yes
    } else {
        conditions
            .with
            .iter()
            .map(present)
            .max()
            .unwrap_or(Match::No)
    };
    let with_all = conditions
        .with_all
        .iter()
        .map(present)
        .min()
        .unwrap_or(Match::Yes);
    let without = match conditions
        .without
        .iter()
        .map(|name| absence(name, view))
        .max()
    {
        None | Some(Match::No) => Match::Yes,
        Some(Match::Maybe) => Match::Maybe,
        Some(Match::Yes) => Match::No,
    };
    with.min(with_all)
        .min(without)
        .min(operands(conditions, view))
        .min(folder(conditions, view))
}

/// Whether the option is present.
fn presence(name: &str, view: &View<'_>, purpose: Purpose) -> Match {
    if view.reading.has(name) || letters(name, view) {
        return Match::Yes;
    }
    if abbreviated(name, view) {
        // What the program makes of it is not known; a denial takes it for the option.
        return match purpose {
            Purpose::Restrict => Match::Yes,
            Purpose::Allow => Match::Maybe,
        };
    }
    if view.reading.loose.is_empty() {
        Match::No
    } else {
        Match::Maybe
    }
}

/// The same for `without`: whatever might be the option is taken for it.
fn absence(name: &str, view: &View<'_>) -> Match {
    presence(name, view, Purpose::Restrict)
}

/// `-rf` in a rule: every letter of it is present.
fn letters(name: &str, view: &View<'_>) -> bool {
    let Some(letters) = name.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    letters.chars().count() > 1
        && letters
            .chars()
            .all(|letter| view.reading.has(&format!("-{letter}")))
}

/// An option the knowledge does not have, written shorter than the rule names it.
fn abbreviated(name: &str, view: &View<'_>) -> bool {
    view.reading.seen.iter().any(|seen| {
        seen.spec.is_none()
            && seen.spelling.len() > 2
            && seen.spelling.starts_with(b"--")
            && name.as_bytes().starts_with(&seen.spelling)
    })
}

/// `args = "workspace"`: every operand that names a path lies in the workspace.
fn operands(conditions: &Conditions, view: &View<'_>) -> Match {
    if !conditions.in_workspace {
        return Match::Yes;
    }
    // `cd` alone goes home, `cd -` to a folder the line does not tell.
    if view.base_name() == Some(b"cd") && view.reading.operands.is_empty() {
        let home = view.scene.facts.home.as_ref();
        return home
            .is_some_and(|home| home.is_within(&view.scene.facts.workspace))
            .into();
    }
    let mut all = Match::Yes;
    for use_ in view.reading.uses() {
        let Some(word) = view.sub.argv.get(use_.index) else {
            continue;
        };
        let cd_back = view.base_name() == Some(b"cd") && word.as_static() == Some(b"-");
        let one = if cd_back {
            Match::No
        } else if use_.kind.is_some_and(|kind| !names_path(kind)) {
            continue;
        } else if word.as_static().is_none() {
            Match::Maybe
        } else {
            is_in_workspace(view, word).into()
        };
        all = all.min(one);
    }
    for seen in &view.reading.seen {
        let word = view.sub.argv.get(seen.index).and_then(Word::as_static);
        if seen.spec.is_none()
            && seen.value.is_none()
            && word.is_none_or(|word| word.contains(&b'/'))
        {
            // An option nobody knows, with a path glued to it.
            all = Match::No;
        }
        let Some(value) = &seen.value else { continue };
        let path = match seen.kind() {
            Some(kind) => matches!(
                kind,
                crate::policy::knowledge::ValueKind::Read
                    | crate::policy::knowledge::ValueKind::Write
                    | crate::policy::knowledge::ValueKind::Folder
                    | crate::policy::knowledge::ValueKind::Script
                    | crate::policy::knowledge::ValueKind::Archive
            ),
            // An option nobody knows: a value with a slash is taken for a path.
            None => value.as_static().is_none_or(|text| text.contains(&b'/')),
        };
        if path {
            all = all.min(match value.as_static() {
                Some(_) => is_in_workspace(view, value).into(),
                None => Match::Maybe,
            });
        }
    }
    all
}

const fn names_path(kind: crate::policy::knowledge::OperandKind) -> bool {
    use crate::policy::knowledge::OperandKind;
    match kind {
        OperandKind::Read | OperandKind::Write | OperandKind::Script => true,
        // dd's operands are no plain paths; none of them proves to lie anywhere.
        OperandKind::Assignment => true,
        OperandKind::Text | OperandKind::Effect | OperandKind::Variable | OperandKind::Setting => {
            false
        }
    }
}

fn folder(conditions: &Conditions, view: &View<'_>) -> Match {
    if conditions.cwd.is_empty() {
        return Match::Yes;
    }
    let Some(folder) = &view.folder else {
        return Match::Maybe;
    };
    let facts = view.scene.facts;
    let target = view.scene.target(folder);
    conditions
        .cwd
        .iter()
        .any(|pattern| pattern.matches(folder, facts) && pattern.matches(target, facts))
        .into()
}
