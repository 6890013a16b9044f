//! Rules on paths, variables and hosts.

use super::descent::{self, Direction};
use super::read_only;
use super::view::View;
use super::{Answer, is_redirection};
use crate::model::access::{Facts, PathAccess};
use crate::model::judgement::Reason;
use crate::model::path::AbsolutePath;
use crate::model::verdict::Verdict;
use crate::policy::Policy;
use crate::policy::glob::{Match, Purpose};
use crate::policy::path_pattern::PathPattern;
use crate::policy::rule::{Rule, Target};

impl Direction {
    fn rules<'p>(
        self,
        policy: &'p Policy,
        verdict: Verdict,
        paths: &[&AbsolutePath],
        below: bool,
        facts: &Facts,
    ) -> Vec<&'p Rule> {
        match self {
            Self::Write => policy.rules.writes(verdict, paths, below, facts),
            Self::Read => policy.rules.reads(verdict, paths, below, facts),
        }
    }

    const fn pattern(self, target: &Target) -> Option<&PathPattern> {
        match (self, target) {
            (Self::Write, Target::Write(pattern)) | (Self::Read, Target::Read(pattern)) => {
                Some(pattern)
            }
            (
                Self::Write | Self::Read,
                Target::Command(_)
                | Target::Write(_)
                | Target::Read(_)
                | Target::Delete(_)
                | Target::Env(_)
                | Target::Network(_)
                | Target::Mcp(_),
            ) => None,
        }
    }
}

/// The answer for opening a file.
pub(super) fn path(
    policy: &Policy,
    view: &View<'_>,
    access: &PathAccess,
    direction: Direction,
) -> Answer {
    let facts = view.scene.facts;
    // What is done to a folder is done to all that lies in it.
    let below = !is_redirection(access.source) && descent::descends(view, direction);
    let restrict = |rule: &Rule| {
        rule.targets
            .iter()
            .filter_map(|target| direction.pattern(target))
            .map(|pattern| match &access.path {
                // Deny needs the link or its target.
                Some(path) => {
                    let target = view.scene.target(path);
                    if pattern.matches(path, facts) || pattern.matches(target, facts) {
                        Match::Yes
                    } else if below
                        && !rule.advisory
                        && (pattern.may_lie_below(path, facts)
                            || pattern.may_lie_below(target, facts))
                    {
                        Match::Maybe
                    } else {
                        Match::No
                    }
                }
                // An advisory rule looks at what the line shows.
                None if rule.advisory => Match::No,
                None => Match::Maybe,
            })
            .max()
            .unwrap_or(Match::No)
    };
    let ends: Vec<&AbsolutePath> = match &access.path {
        Some(path) => vec![path, view.scene.target(path)],
        None => Vec::new(),
    };
    let candidates = |verdict| direction.rules(policy, verdict, &ends, below, facts);
    if let Some(answer) = restricted(view, candidates, restrict) {
        return answer;
    }
    if direction == Direction::Read || !is_redirection(access.source) {
        return Answer::nothing();
    }
    let straight = access
        .written
        .as_static()
        .is_some_and(|text| view.is_straight(text));
    let Some(path) = access.path.as_ref().filter(|_| straight) else {
        return Answer::ask(Reason::Dynamic);
    };
    // Allow needs the link and its target.
    let candidates = direction.rules(policy, Verdict::Allow, &[path], false, facts);
    let rule = current(view, candidates).find(|rule| {
        rule.targets
            .iter()
            .filter_map(|target| direction.pattern(target))
            .any(|pattern| {
                pattern.matches(path, facts) && pattern.matches(view.scene.target(path), facts)
            })
    });
    rule.map_or_else(
        || Answer::ask(Reason::Unmatched),
        |rule| Answer::by(Reason::RuleAllow, &rule.reference),
    )
}

/// The answer for setting a variable.
pub(super) fn env(policy: &Policy, view: &View<'_>, name: &[u8]) -> Answer {
    let matches = |rule: &Rule, purpose: Purpose| {
        rule.targets.iter().any(|target| match target {
            Target::Env(glob) => glob.matches(name, None, purpose),
            Target::Command(_)
            | Target::Write(_)
            | Target::Read(_)
            | Target::Delete(_)
            | Target::Network(_)
            | Target::Mcp(_) => false,
        })
    };
    let candidates = |verdict| policy.rules.variables(verdict, name);
    let restrict = |rule: &Rule| matches(rule, Purpose::Restrict).into();
    if let Some(answer) = restricted(view, candidates, restrict) {
        return answer;
    }
    let allowed =
        current(view, candidates(Verdict::Allow)).find(|rule| matches(rule, Purpose::Allow));
    if let Some(rule) = allowed {
        return Answer::by(Reason::RuleAllow, &rule.reference);
    }
    read_only::variable(policy, view, name).map_or_else(
        || Answer::ask(Reason::Unmatched),
        |rule| Answer::by(Reason::ReadOnlyDefault, &rule),
    )
}

/// The answer for opening a connection.
pub(super) fn network(
    policy: &Policy,
    view: &View<'_>,
    host: &[u8],
    port: Option<&[u8]>,
) -> Answer {
    let matches = |rule: &Rule, purpose: Purpose| {
        rule.targets.iter().any(|target| match target {
            Target::Network(wanted) => wanted.matches(host, port, purpose),
            Target::Command(_)
            | Target::Write(_)
            | Target::Read(_)
            | Target::Delete(_)
            | Target::Env(_)
            | Target::Mcp(_) => false,
        })
    };
    // A host or port that is not known may be any.
    let restrict = |rule: &Rule| {
        let speaks = rule.targets.iter().any(|target| match target {
            Target::Network(_) => true,
            Target::Command(_)
            | Target::Write(_)
            | Target::Read(_)
            | Target::Delete(_)
            | Target::Env(_)
            | Target::Mcp(_) => false,
        });
        match matches(rule, Purpose::Restrict) {
            true => Match::Yes,
            false if port.is_none() && speaks => Match::Maybe,
            false => Match::No,
        }
    };
    let name = host.to_ascii_lowercase();
    let candidates = |verdict| policy.rules.hosts(verdict, &name, port.is_none());
    if let Some(answer) = restricted(view, candidates, restrict) {
        return answer;
    }
    if port.is_none() {
        return Answer::ask(Reason::Dynamic);
    }
    current(view, candidates(Verdict::Allow))
        .find(|rule| matches(rule, Purpose::Allow))
        .map_or_else(
            || Answer::ask(Reason::Unmatched),
            |rule| Answer::by(Reason::RuleAllow, &rule.reference),
        )
}

/// Those of the rules that have not expired.
fn current<'p>(view: &View<'_>, rules: Vec<&'p Rule>) -> impl Iterator<Item = &'p Rule> {
    let today = view.scene.facts.today;
    rules.into_iter().filter(move |rule| rule.is_current(today))
}

/// The strictest deny or ask rule among the candidates of each verdict. A rule that may match, depending
/// on what the shell puts in, asks.
fn restricted<'p>(
    view: &View<'_>,
    candidates: impl Fn(Verdict) -> Vec<&'p Rule>,
    matches: impl Fn(&Rule) -> Match,
) -> Option<Answer> {
    let mut found = None;
    for (verdict, reason) in [
        (Verdict::Deny, Reason::RuleDeny),
        (Verdict::Ask, Reason::RuleAsk),
    ] {
        for rule in current(view, candidates(verdict)) {
            let answer = match matches(rule) {
                Match::Yes => Answer::by(reason, &rule.reference),
                Match::Maybe => Answer::by(Reason::RuleAsk, &rule.reference),
                Match::No => continue,
            };
            if answer.verdict == Verdict::Deny {
                return Some(answer);
            }
            found.get_or_insert(answer);
        }
    }
    found
}
