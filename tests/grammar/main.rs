//! The rule grammar, bullet by bullet: each has lines that it covers and lines that it does not, under a
//! test of its name. `tests/policies.rs` goes deeper where a bullet has depths.

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod support;

mod judged;
mod keys;
mod layers;
mod patterns;

use support::Machine;
use tipstaff::policy::Policy;

/// Lines that a bullet is about, each with its answer.
type Lines<'a> = &'a [(&'a str, &'a str)];

/// Checks both sides of a bullet, neither of which may be empty.
fn bullet(policy: &Policy, covers: Lines<'_>, leaves: Lines<'_>) {
    on(&Machine::default(), policy, covers, leaves);
}

fn on(machine: &Machine, policy: &Policy, covers: Lines<'_>, leaves: Lines<'_>) {
    assert!(
        !covers.is_empty() && !leaves.is_empty(),
        "one side is empty"
    );
    let answers = |lines: Lines<'_>| -> Vec<String> {
        lines
            .iter()
            .map(|(_, wanted)| (*wanted).to_owned())
            .collect()
    };
    let same = answers(covers)
        .iter()
        .all(|answer| answers(leaves).contains(answer));
    assert!(!same, "both sides answer alike, so nothing is told");
    let wrong: Vec<String> = covers
        .iter()
        .chain(leaves)
        .map(|(line, wanted)| (line, wanted, machine.answer(policy, line)))
        .filter(|(_, wanted, got)| got != *wanted)
        .map(|(line, wanted, got)| format!("{line:?}: wanted {wanted}, got {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const ALLOW: &str = "allow rule-allow";
const ASK: &str = "ask rule-ask";
const DENY: &str = "deny rule-deny";
const OPEN: &str = "ask unmatched";
const DYNAMIC: &str = "ask dynamic";
const NONE: &str = "allow no-access";
