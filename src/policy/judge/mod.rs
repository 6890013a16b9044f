//! The verdict: the strictest over everything a line does.

mod access;
mod command;
mod conditions;
mod confine;
mod deed;
mod descent;
mod forms;
mod own;
mod read_only;
mod remedy;
mod view;

use crate::model::access::{Access, Facts, Resolved, Source, Survey};
use crate::model::judgement::{AccessJudgement, Judgement, Layer, Reason, RuleRef, SubJudgement};
use crate::model::verdict::Verdict;

use super::Policy;

pub use deed::{Found, judge_deed};

pub(super) use command::matches as command_matches;
pub(super) use view::{Scene, View};

/// Judges a line. Total and deterministic: the same inputs give the same answer, in any order of
/// rules.
pub fn judge(policy: &Policy, survey: &Survey, resolved: &Resolved, facts: &Facts) -> Judgement {
    let scene = Scene::new(survey, resolved, facts);
    let mut confined = None;
    let subcommands: Vec<SubJudgement> = (0..survey.script.subcommands.len())
        .filter_map(|index| View::new(&scene, index))
        .map(|view| {
            confine::narrow(policy, &view, &mut confined);
            subcommand(policy, &view)
        })
        .collect();
    let worst = subcommands
        .iter()
        .max_by_key(|sub| (sub.verdict, sub.reason.weight()));
    let (mut verdict, mut reason) = worst.map_or((Verdict::Allow, Reason::NoAccess), |worst| {
        (worst.verdict, worst.reason)
    });
    let opaque = !survey.script.opaque.is_empty() && verdict <= Verdict::Ask;
    if opaque && reason.weight() < Reason::Opaque.weight() {
        (verdict, reason) = (Verdict::Ask, Reason::Opaque);
    }
    Judgement {
        verdict,
        reason,
        subcommands,
        confined,
    }
}

/// One answer with the rule that gave it.
#[derive(Clone, Debug)]
struct Answer {
    verdict: Verdict,
    reason: Reason,
    rule: Option<RuleRef>,
    /// Whether the rule may match or not, and an exec will tell.
    open: bool,
    /// The allow rule that would cover it in a run without a network.
    offline: Option<RuleRef>,
}

impl Answer {
    const fn ask(reason: Reason) -> Self {
        Self {
            verdict: Verdict::Ask,
            reason,
            rule: None,
            open: false,
            offline: None,
        }
    }

    fn offline(rule: &RuleRef) -> Self {
        Self {
            offline: Some(rule.clone()),
            ..Self::ask(Reason::Unmatched)
        }
    }

    const fn nothing() -> Self {
        Self {
            verdict: Verdict::Allow,
            reason: Reason::NoAccess,
            rule: None,
            open: false,
            offline: None,
        }
    }

    fn by(reason: Reason, rule: &RuleRef) -> Self {
        Self {
            verdict: reason.verdict(),
            reason,
            rule: Some(rule.clone()),
            open: false,
            offline: None,
        }
    }

    fn rank(&self) -> (Verdict, u8) {
        (self.verdict, self.reason.weight())
    }
}

/// A rule of the code itself, named so that explanations can tell it and policies can disable it.
fn built_in(id: &str, text: &str) -> RuleRef {
    RuleRef {
        id: id.to_owned(),
        layer: Layer::BuiltIn,
        place: None,
        text: text.to_owned(),
        why: None,
    }
}

/// Ids of the rules that live in code instead of `policies/builtin.toml`.
pub(super) const CODE_RULES: [&str; 3] = [OWN_FILES, read_only::ID, read_only::ENV_ID];
const OWN_FILES: &str = "builtin.own-files";
const OWN_TEXT: &str = "writes to and commands on the policy, state and binary of tipstaff";

/// The same rules with their verdicts, for lists; the last two belong to `read_only_defaults`.
pub(super) fn code_rules() -> [(Verdict, RuleRef); 3] {
    [
        (Verdict::Deny, built_in(OWN_FILES, OWN_TEXT)),
        (Verdict::Allow, built_in(read_only::ID, read_only::TEXT)),
        (
            Verdict::Allow,
            built_in(read_only::ENV_ID, read_only::ENV_TEXT),
        ),
    ]
}

fn subcommand(policy: &Policy, view: &View<'_>) -> SubJudgement {
    let answers: Vec<(Access, Answer)> = view
        .accesses
        .iter()
        .map(|access| (access.clone(), answer(policy, view, access)))
        .collect();
    let worst = answers
        .iter()
        .map(|(_, answer)| answer)
        .max_by_key(|answer| answer.rank())
        .cloned()
        .unwrap_or_else(Answer::nothing);
    let accesses: Vec<AccessJudgement> = answers
        .into_iter()
        .map(|(access, answer)| AccessJudgement {
            remedy: remedy::remedy(view, &access, &answer),
            access,
            verdict: answer.verdict,
            reason: answer.reason,
            rule: answer.rule,
            open: answer.open,
        })
        .collect();
    let remedy = accesses
        .iter()
        .filter(|judged| (judged.verdict, judged.reason.weight()) == worst.rank())
        .find_map(|judged| judged.remedy.clone());
    SubJudgement {
        verdict: worst.verdict,
        reason: worst.reason,
        rule: worst.rule,
        accesses,
        remedy,
    }
}

fn answer(policy: &Policy, view: &View<'_>, access: &Access) -> Answer {
    if own::concerns(view, access) && !policy.is_disabled(OWN_FILES) {
        return Answer::by(Reason::RuleDeny, &built_in(OWN_FILES, OWN_TEXT));
    }
    match access {
        Access::Command => command::answer(policy, view),
        Access::Write(path) => access::path(policy, view, path, descent::Direction::Write),
        Access::Read(path) => access::path(policy, view, path, descent::Direction::Read),
        Access::Env(name) => access::env(policy, view, name),
        Access::Network { host, port } => access::network(policy, view, host, port.as_deref()),
    }
}

/// Whether the shell opens the path itself, so that no command rule covers it.
const fn is_redirection(source: Source) -> bool {
    match source {
        Source::Redirection => true,
        Source::Operand | Source::Script => false,
    }
}
