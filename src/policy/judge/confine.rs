//! `sandbox` and `network` of rules: the run a rule wants, and the run it covers.

use super::command;
use super::view::View;
use crate::model::judgement::Confined;
use crate::model::verdict::Verdict;
use crate::policy::Policy;
use crate::policy::glob::{Match, Purpose};
use crate::policy::rule::{Rule, Target};

/// Lowers `narrowest` to the profile of every allow and ask rule that speaks of the sub-command. All of
/// them count, not only the one that decides, so that neither order nor a further rule widens a run.
pub(super) fn narrow(policy: &Policy, view: &View<'_>, narrowest: &mut Option<Confined>) {
    let rules = policy.rules.confining();
    for rule in rules.filter(|rule| rule.is_current(view.scene.facts.today)) {
        let Some(profile) = rule.conditions.sandbox else {
            continue;
        };
        let narrower = narrowest
            .as_ref()
            .is_none_or(|known| profile < known.profile);
        if narrower && speaks(rule, view) {
            *narrowest = Some(Confined {
                profile,
                rule: rule.reference.clone(),
            });
        }
    }
}

/// Whether the rule is one on this sub-command. An ask rule that may be one counts, as it asks.
fn speaks(rule: &Rule, view: &View<'_>) -> bool {
    let (purpose, enough) = match rule.verdict {
        Verdict::Allow => (Purpose::Allow, Match::Yes),
        Verdict::Ask | Verdict::Deny => (Purpose::Restrict, Match::Maybe),
    };
    rule.targets.iter().any(|target| match target {
        Target::Command(pattern) => command::matches(rule, pattern, view, purpose) >= enough,
        Target::Write(_)
        | Target::Read(_)
        | Target::Delete(_)
        | Target::Env(_)
        | Target::Network(_)
        | Target::Mcp(_) => false,
    })
}
