//! The deciding order: one pure function from facts to a decision.
//!
//! The order is the product. Each step ends the matter or hands on to the next:
//!
//! 1. An invalid policy refuses.
//! 2. A deny rule refuses, before anything is built.
//! 3. A sandbox that is not proved as required refuses. `bypass` and `autopilot` need L2 whatever the
//!    policy says.
//! 4. A forced question skips 6, 7 and 9: it goes to the person, or is refused where none can be asked.
//! 5. Unattended runs have a permission list of their own. *(None exist yet.)*
//! 6. Allow: `bypass`; every access allowed by rule or read-only; a grant of this object; edits in
//!    `accept-edits`. *(Neither grants nor edits yet: both are asked about.)*
//! 7. Permission hooks. *(None exist yet.)*
//! 8. `dont-ask` and `autopilot` refuse.
//! 9. The reviewer of `review` and `audit`. *(None exists yet, and a reviewer that fails asks.)*
//! 10. Nobody to ask: refused. *(Waiting needs the queue, which does not exist yet.)*
//! 11. The approvers ([`super::obtain`]).
//! 12. Objects resolved again; what changed comes back here as a question forced by
//!     [`Forced::Changed`].
//!
//! `plan` is decided after 3: what is known to read runs in the read-only profile, all else is refused.

use crate::model::access::Survey;
use crate::model::judgement::{Judgement, Reason, SubJudgement};
use crate::model::level::Level;
use crate::model::mode::Mode;
use crate::model::profile::ProfileName;
use crate::model::verdict::Verdict;

use super::approver::Nobody;

/// What the policy stage handed on.
#[derive(Clone, Copy, Debug)]
pub enum Policy<'a> {
    /// A layer cannot be loaded, so there is no judgement.
    Invalid,
    /// The line was judged.
    Judged(&'a Judgement),
}

/// What stands around the parked child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// A child is parked and this level is proved of it.
    Proved(Level),
    /// No child is parked, or nothing is proved of it.
    NotProved,
}

/// Whether anybody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// An approver is there.
    Present,
    /// None is, and why.
    Absent(Nobody),
}

/// Whether the policy holds any ask or deny rule, the built-in ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictures {
    /// At least one, so what cannot be read may be what one of them forbids.
    Some,
    /// None.
    None,
}

/// Why a question may be answered by a person alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// An ask rule matches.
    AskRule,
    /// Syntax that an ask or deny rule could match once it is run.
    Opaque,
    /// A program or word, known only at run time, that an ask or deny rule could match.
    Dynamic,
    /// A program that changes the system itself and that no rule allows.
    Privileged,
    /// What was decided before is no longer what would start.
    Changed,
}

impl Forced {
    /// The first thing in `judgement` that forces its question, if any. Only what is to be asked about
    /// can be forced: an allow rule that names a privileged program is the policy's own word.
    ///
    /// Opaque and dynamic parts force while the gate is not proved (below L2): once it judges every
    /// exec of the tree, deny rules meet the real argv there.
    pub fn of(
        judgement: &Judgement,
        survey: &Survey,
        strictures: Strictures,
        sandbox: Sandbox,
    ) -> Option<Self> {
        if judgement.verdict != Verdict::Ask {
            return None;
        }
        let asks = |reason| judgement.reason == reason || any(judgement, reason);
        if asks(Reason::RuleAsk) {
            return Some(Self::AskRule);
        }
        let gated = matches!(sandbox, Sandbox::Proved(level) if level >= Level::L2);
        if strictures == Strictures::Some && !gated {
            if asks(Reason::Opaque) || !survey.script.opaque.is_empty() {
                return Some(Self::Opaque);
            }
            if asks(Reason::Dynamic) {
                return Some(Self::Dynamic);
            }
        }
        survey
            .traits
            .iter()
            .any(|traits| traits.privileged)
            .then_some(Self::Privileged)
    }

    /// What the question names as its cause.
    const fn reason(self, judged: Reason) -> Reason {
        match self {
            Self::AskRule => Reason::RuleAsk,
            Self::Opaque => Reason::Opaque,
            Self::Dynamic => Reason::Dynamic,
            Self::Privileged => judged,
            Self::Changed => Reason::CallChanged,
        }
    }
}

fn any(judgement: &Judgement, reason: Reason) -> bool {
    judgement.subcommands.iter().any(|part| {
        (part.verdict == Verdict::Ask && part.reason == reason)
            || part
                .accesses
                .iter()
                .any(|access| access.verdict == Verdict::Ask && access.reason == reason)
    })
}

/// Every fact that decides.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The policy's answer.
    pub policy: Policy<'a>,
    /// What is proved.
    pub sandbox: Sandbox,
    /// What the policy needs.
    pub needed: Level,
    /// What forces the question.
    pub forced: Option<Forced>,
    /// How much is asked.
    pub mode: Mode,
    /// The profile the child is parked in.
    pub profile: ProfileName,
    /// Who can be asked.
    pub attached: Attached,
}

/// What is to be done.
#[must_use = "a decision that is not acted on protects nothing"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Start it.
    Allow(Reason),
    /// Nothing starts.
    Refuse(Reason),
    /// Ask the approver.
    Ask {
        /// Why it is asked about.
        why: Reason,
        /// Whether only a person may answer it.
        forced: bool,
    },
}

/// The level a run in `mode` needs when the policy needs `needed`.
pub fn level_for(mode: Mode, needed: Level) -> Level {
    match mode {
        Mode::Bypass | Mode::Autopilot => needed.max(Level::L2),
        Mode::Plan
        | Mode::Default
        | Mode::AcceptEdits
        | Mode::Review
        | Mode::Audit
        | Mode::DontAsk => needed,
    }
}

/// The profile a run in `mode` gets when `asked` was asked for.
pub const fn profile_for(mode: Mode, asked: ProfileName) -> ProfileName {
    match mode {
        Mode::Plan => ProfileName::ReadOnly,
        Mode::Default
        | Mode::AcceptEdits
        | Mode::Review
        | Mode::Audit
        | Mode::DontAsk
        | Mode::Autopilot
        | Mode::Bypass => asked,
    }
}

/// Steps 1 and 2, which need no sandbox: the judgement to go on with, or why nothing is even built.
pub fn before_sandbox(policy: Policy<'_>) -> Result<&Judgement, Reason> {
    match policy {
        Policy::Invalid => Err(Reason::PolicyInvalid),
        Policy::Judged(judgement) => match judgement.verdict {
            Verdict::Deny => Err(judgement.reason),
            Verdict::Allow | Verdict::Ask => Ok(judgement),
        },
    }
}

/// Decides, in the order of this module's page.
pub fn decide(inputs: &Inputs<'_>) -> Decision {
    // 1, 2
    let judgement = match before_sandbox(inputs.policy) {
        Ok(judgement) => judgement,
        Err(reason) => return Decision::Refuse(reason),
    };
    // 3
    match inputs.sandbox {
        Sandbox::Proved(level) if level >= level_for(inputs.mode, inputs.needed) => {}
        Sandbox::Proved(_) | Sandbox::NotProved => {
            return Decision::Refuse(Reason::SandboxUnavailable);
        }
    }
    if inputs.mode == Mode::Plan {
        return plan(inputs, judgement);
    }
    // 4
    if let Some(forced) = inputs.forced {
        return forced_question(inputs, forced, judgement.reason);
    }
    // 6
    if inputs.mode == Mode::Bypass {
        return Decision::Allow(Reason::Bypass);
    }
    if judgement.verdict == Verdict::Allow {
        return Decision::Allow(judgement.reason);
    }
    // 8, 9
    match inputs.mode {
        Mode::DontAsk | Mode::Autopilot => return Decision::Refuse(Reason::DontAsk),
        Mode::Plan
        | Mode::Default
        | Mode::AcceptEdits
        | Mode::Review
        | Mode::Audit
        | Mode::Bypass => {}
    }
    // 10, 11
    match inputs.attached {
        Attached::Absent(_) => Decision::Refuse(Reason::NoApprover),
        Attached::Present => Decision::Ask {
            why: judgement.reason,
            forced: false,
        },
    }
}

/// Step 4. Where nobody may be asked, a change is named as such: it is news, the mode is not.
fn forced_question(inputs: &Inputs<'_>, forced: Forced, judged: Reason) -> Decision {
    let unasked = match inputs.mode {
        Mode::DontAsk | Mode::Autopilot => Some(Reason::DontAsk),
        Mode::Plan
        | Mode::Default
        | Mode::AcceptEdits
        | Mode::Review
        | Mode::Audit
        | Mode::Bypass => match inputs.attached {
            Attached::Absent(_) => Some(Reason::NoApprover),
            Attached::Present => None,
        },
    };
    match unasked {
        Some(_) if forced == Forced::Changed => Decision::Refuse(Reason::CallChanged),
        Some(reason) => Decision::Refuse(reason),
        None => Decision::Ask {
            why: forced.reason(judged),
            forced: true,
        },
    }
}

/// Mode `plan`: the whole line is known to read, and it runs where nothing can be written.
fn plan(inputs: &Inputs<'_>, judgement: &Judgement) -> Decision {
    let reads = judgement.verdict == Verdict::Allow
        && inputs.forced.is_none()
        && inputs.profile == ProfileName::ReadOnly
        && judgement.subcommands.iter().all(only_reads);
    if reads {
        Decision::Allow(judgement.reason)
    } else {
        Decision::Refuse(Reason::PlanMode)
    }
}

fn only_reads(part: &SubJudgement) -> bool {
    matches!(part.reason, Reason::ReadOnlyDefault | Reason::NoAccess)
        && part
            .accesses
            .iter()
            .all(|access| matches!(access.reason, Reason::ReadOnlyDefault | Reason::NoAccess))
}
