//! Judging what a caller wants to do itself: no line, no program, one rule for one deed.

use super::{Answer, OWN_FILES, OWN_TEXT, built_in};
use crate::model::access::Facts;
use crate::model::deed::Deed;
use crate::model::judgement::{DeedJudgement, Layer, Reason};
use crate::model::path::AbsolutePath;
use crate::model::verdict::Verdict;
use crate::policy::Policy;
use crate::policy::glob::{Match, Purpose};
use crate::policy::path_pattern::PathPattern;
use crate::policy::rule::{Rule, Target};

/// What stands where a deed is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Where its path really leads. Of what is deleted the last component is not followed: a link goes, and
    /// not what it points at.
    pub target: Option<AbsolutePath>,
    /// Whether it is a folder.
    pub folder: bool,
}

/// Judges a deed. Total and deterministic, like [`judge`](super::judge).
pub fn judge_deed(policy: &Policy, deed: &Deed, found: &Found, facts: &Facts) -> DeedJudgement {
    let answer = answer(policy, deed, found, facts);
    let remedy = remedy(deed, &answer);
    DeedJudgement {
        verdict: answer.verdict,
        reason: answer.reason,
        rule: answer.rule,
        remedy,
    }
}

fn answer(policy: &Policy, deed: &Deed, found: &Found, facts: &Facts) -> Answer {
    let ends: Vec<&AbsolutePath> = deed.path().into_iter().chain(&found.target).collect();
    if is_ours(deed, &ends, facts) && !policy.is_disabled(OWN_FILES) {
        return Answer::by(Reason::RuleDeny, &built_in(OWN_FILES, OWN_TEXT));
    }
    let mut asks = None;
    let current = |wanted: Verdict| {
        let rules = policy.rules.iter();
        rules.filter(move |rule| rule.verdict == wanted && rule.is_current(facts.today))
    };
    for (verdict, reason) in [
        (Verdict::Deny, Reason::RuleDeny),
        (Verdict::Ask, Reason::RuleAsk),
    ] {
        for rule in current(verdict) {
            match best(rule, |target| restricts(rule, target, deed, found, facts)) {
                Match::Yes if verdict == Verdict::Deny => {
                    return Answer::by(reason, &rule.reference);
                }
                Match::Yes | Match::Maybe => {
                    asks.get_or_insert_with(|| Answer::by(Reason::RuleAsk, &rule.reference));
                }
                Match::No => {}
            }
        }
    }
    if let Some(asks) = asks {
        return asks;
    }
    current(Verdict::Allow)
        .find(|rule| {
            rule.targets
                .iter()
                .any(|target| allows(target, deed, &ends, facts))
        })
        .map_or_else(
            || Answer::ask(Reason::Unmatched),
            |rule| Answer::by(Reason::RuleAllow, &rule.reference),
        )
}

fn best(rule: &Rule, one: impl Fn(&Target) -> Match) -> Match {
    rule.targets.iter().map(one).max().unwrap_or(Match::No)
}

/// Whether a deny or ask rule speaks of the deed. Deleting a file is a write to it, as `rm FILE` is; what is
/// done to a folder is done to all that lies in it.
fn restricts(rule: &Rule, target: &Target, deed: &Deed, found: &Found, facts: &Facts) -> Match {
    let ends = || deed.path().into_iter().chain(&found.target);
    let on = |pattern: &PathPattern| ends().any(|end| pattern.matches(end, facts));
    let below = |pattern: &PathPattern| {
        // The built-in rules on paths are about what is planted there; taking a folder away plants nothing.
        found.folder
            && rule.reference.layer != Layer::BuiltIn
            && ends().any(|end| pattern.may_reach_below(end, facts))
    };
    match (deed, target) {
        (Deed::Write(_), Target::Write(pattern)) => on(pattern).into(),
        (Deed::Delete(_), Target::Delete(pattern) | Target::Write(pattern)) => {
            if on(pattern) {
                Match::Yes
            } else if below(pattern) {
                Match::Maybe
            } else {
                Match::No
            }
        }
        (Deed::Network { host, port }, Target::Network(wanted)) => {
            let port = port.to_string();
            let (host, port) = (host.as_bytes(), Some(port.as_bytes()));
            wanted.matches(host, port, Purpose::Restrict).into()
        }
        (Deed::Mcp { server, tool }, Target::Mcp(wanted)) => {
            wanted.matches(server, tool, Purpose::Restrict).into()
        }
        (
            Deed::Write(_) | Deed::Delete(_) | Deed::Network { .. } | Deed::Mcp { .. },
            Target::Command(_)
            | Target::Write(_)
            | Target::Read(_)
            | Target::Delete(_)
            | Target::Env(_)
            | Target::Network(_)
            | Target::Mcp(_),
        ) => Match::No,
    }
}

/// Whether an allow rule covers the deed: the link and its target, and nothing but its own kind.
fn allows(target: &Target, deed: &Deed, ends: &[&AbsolutePath], facts: &Facts) -> bool {
    match (deed, target) {
        (Deed::Write(_), Target::Write(pattern)) | (Deed::Delete(_), Target::Delete(pattern)) => {
            ends.iter().all(|end| pattern.matches(end, facts))
        }
        (Deed::Network { host, port }, Target::Network(wanted)) => {
            let port = port.to_string();
            let (host, port) = (host.as_bytes(), Some(port.as_bytes()));
            wanted.matches(host, port, Purpose::Allow)
        }
        (Deed::Mcp { server, tool }, Target::Mcp(wanted)) => {
            wanted.matches(server, tool, Purpose::Allow)
        }
        (
            Deed::Write(_) | Deed::Delete(_) | Deed::Network { .. } | Deed::Mcp { .. },
            Target::Command(_)
            | Target::Write(_)
            | Target::Read(_)
            | Target::Delete(_)
            | Target::Env(_)
            | Target::Network(_)
            | Target::Mcp(_),
        ) => false,
    }
}

/// Whether it is done to our own policy, state or binary, or takes a folder away that holds them.
fn is_ours(deed: &Deed, ends: &[&AbsolutePath], facts: &Facts) -> bool {
    let takes_away = matches!(deed, Deed::Delete(_));
    ends.iter().any(|end| {
        facts
            .own
            .iter()
            .any(|own| end.is_within(own) || takes_away && own.is_within(end))
    })
}

/// What a rule writes for exactly this object.
fn pattern(deed: &Deed) -> String {
    match deed {
        Deed::Write(path) | Deed::Delete(path) => {
            shell_words::quote(&String::from_utf8_lossy(path.as_bytes())).into_owned()
        }
        Deed::Network { .. } => deed.object(),
        Deed::Mcp { server, tool } => shell_words::quote(&format!("{server}:{tool}")).into_owned(),
    }
}

fn remedy(deed: &Deed, answer: &Answer) -> Option<String> {
    let rule = answer.rule.as_ref();
    let id = rule.map(|rule| rule.id.as_str());
    match (answer.verdict, id) {
        (Verdict::Allow, _) => None,
        (Verdict::Deny, id) => Some(format!(
            "nothing while the rule `{}` stands: the strictest rule wins",
            id.unwrap_or_default()
        )),
        (Verdict::Ask, Some(id)) => Some(format!(
            "an allow rule cannot outweigh the rule `{id}`, which asks"
        )),
        (Verdict::Ask, None) => {
            let rule = format!("{}({})", deed.kind().word(), pattern(deed));
            Some(format!("an allow rule such as `{rule}`"))
        }
    }
}
