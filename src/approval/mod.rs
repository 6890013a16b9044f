//! Approval: from a judgement and a proof to the right to start, or a denial.
//!
//! [`decide`] holds the deciding order. Where it says to ask, [`obtain`] puts the [`Question`] to an
//! [`Approver`]: a person at the [`Terminal`], an [`External`] command, or a [`Callback`] of the program
//! that uses the library. Only this stage makes an [`Approval`], and never without the [`Proof`] of a
//! sandbox that already stands.
#![forbid(unsafe_code)]

mod approver;
mod callback;
mod decide;
mod denial;
mod external;
mod keys;
mod object;
mod question;
mod render;
mod risk;
#[cfg(test)]
mod sample;
mod terminal;
mod wait;
mod words;

pub use approver::{Answer, Approver, ApproverError, Choice, Known, Nobody, Note, Through, Who};
pub use callback::Callback;
pub use decide::{
    Attached, Decision, Forced, Inputs, Policy, Sandbox, Strictures, before_sandbox, decide,
    level_for, profile_for,
};
pub use denial::Denial;
pub use external::External;
pub use object::{ObjectId, identify};
pub use question::{File, Part, Question, Rule, Told};
pub use render::{Detail, Paint, render, spoken, why};
pub use risk::{Authority, Risk, Severity, TABLE as SEVERITIES};
pub use terminal::Terminal;
pub use wait::{Cause, Wait};
pub use words::{Scrub, Shown};

use crate::model::judgement::Reason;
use crate::model::level::Level;
use crate::sandbox::Proof;
use crate::sys::fail;

/// The right to start one object, once. Nothing outside of this stage can make one.
#[must_use = "an approval is used up by the start it was given for"]
#[derive(Debug, PartialEq, Eq)]
pub struct Approval {
    object: ObjectId,
    reason: Reason,
    by: Option<Who>,
}

impl Approval {
    /// An approval for tests of later stages, of nothing.
    #[cfg(test)]
    pub(crate) const fn for_tests() -> Self {
        Self {
            object: ObjectId::for_tests(),
            reason: Reason::Approved,
            by: None,
        }
    }

    /// What may start.
    pub const fn object(&self) -> ObjectId {
        self.object
    }

    /// Why.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Who said so, where somebody did.
    pub const fn by(&self) -> Option<&Who> {
        self.by.as_ref()
    }
}

/// The approval of mode `bypass`: nothing is asked, and only because a sandbox at L2 or above is proved.
pub fn bypass(proof: &Proof, object: ObjectId) -> Result<Approval, Denial> {
    if proof.level() < Level::L2 {
        return Err(Denial::short_of(Level::L2, proof.level()));
    }
    Ok(Approval {
        object,
        reason: Reason::Bypass,
        by: None,
    })
}

/// What follows from the facts without asking.
#[must_use = "an answer that is not acted on protects nothing"]
#[derive(Debug)]
pub enum Ruling {
    /// It may start.
    Granted(Approval),
    /// It may not.
    Denied(Denial),
    /// Somebody has to be asked.
    Ask {
        /// Why.
        why: Reason,
        /// Whether only a person may answer.
        forced: bool,
    },
}

/// Decides about `object` with the sandbox of `proof` standing. What is proved is taken from the proof,
/// whatever `inputs` say.
pub fn rule(inputs: &Inputs<'_>, proof: &Proof, object: ObjectId) -> Ruling {
    let inputs = Inputs {
        sandbox: Sandbox::Proved(proof.level()),
        ..*inputs
    };
    match decide(&inputs) {
        Decision::Allow(Reason::Bypass) => match bypass(proof, object) {
            Ok(approval) => Ruling::Granted(approval),
            Err(denial) => Ruling::Denied(denial),
        },
        Decision::Allow(reason) => Ruling::Granted(Approval {
            object,
            reason,
            by: None,
        }),
        Decision::Refuse(Reason::SandboxUnavailable) => {
            let needed = level_for(inputs.mode, inputs.needed);
            Ruling::Denied(Denial::short_of(needed, proof.level()))
        }
        Decision::Refuse(reason) => Ruling::Denied(match inputs.attached {
            Attached::Absent(nobody) if reason == Reason::NoApprover => Denial::nobody(nobody),
            Attached::Absent(_) | Attached::Present => Denial::of(reason),
        }),
        Decision::Ask { why, forced } => Ruling::Ask { why, forced },
    }
}

/// Asks `approver`, with the sandbox of `proof` standing. One clear yes about this very object, in time,
/// approves it; everything else denies.
pub fn obtain(
    approver: &dyn Approver,
    question: &Question,
    wait: &Wait<'_>,
    _proof: &Proof,
) -> Result<Approval, Denial> {
    let answer = ask(approver, question, wait).map_err(Denial::failed)?;
    match answer.choice {
        Choice::Once => Ok(Approval {
            object: question.object,
            reason: Reason::Approved,
            by: Some(answer.by),
        }),
        Choice::Deny { note } => Err(Denial::said(Reason::Refused, answer.by, note)),
        Choice::Stop => Err(Denial::said(Reason::Cancelled, answer.by, None)),
    }
}

/// Puts the question, and refuses an answer that is late or about another object, whoever gave it.
fn ask(
    approver: &dyn Approver,
    question: &Question,
    wait: &Wait<'_>,
) -> Result<Answer, ApproverError> {
    fail::point("question-open");
    wait.still_open()?;
    let answer = approver.ask(question, wait)?;
    wait.still_open()?;
    if answer.object != question.object {
        return Err(ApproverError::WrongObject {
            asked: question.object,
            answered: answer.object.to_string(),
        });
    }
    fail::point("answer-taken");
    Ok(answer)
}

#[cfg(test)]
mod tests;
