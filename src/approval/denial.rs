//! A denial, and what its caller is told.

use std::error::Error as _;

use crate::model::judgement::Reason;
use crate::model::level::Level;

use super::approver::{ApproverError, Nobody, Note, Who};
use super::render::why;
use super::wait::Cause;

/// Why something may not start.
#[must_use = "a denial that is not acted on protects nothing"]
#[derive(Debug)]
pub struct Denial {
    reason: Reason,
    by: Option<Who>,
    note: Option<Note>,
    // Boxed: a denial is returned by value, and most have none.
    failure: Option<Box<ApproverError>>,
    /// What exactly, where the reason alone does not tell.
    detail: Option<String>,
}

impl Denial {
    /// Denied by rule or mode.
    pub const fn of(reason: Reason) -> Self {
        Self {
            reason,
            by: None,
            note: None,
            failure: None,
            detail: None,
        }
    }

    /// What was judged is not what would start any more, and `what` says why.
    pub fn changed(what: String) -> Self {
        Self {
            detail: Some(what),
            ..Self::of(Reason::CallChanged)
        }
    }

    /// The policy in force cannot be used any more, and `what` says why.
    pub fn policy(what: String) -> Self {
        Self {
            detail: Some(what),
            ..Self::of(Reason::PolicyInvalid)
        }
    }

    /// The sandbox is proved at `proved`, which is less than what is needed.
    pub(super) fn short_of(needed: Level, proved: Level) -> Self {
        Self {
            detail: Some(format!(
                "needs {needed}, and the sandbox is proved at {proved}"
            )),
            ..Self::of(Reason::SandboxUnavailable)
        }
    }

    /// Nobody can be asked.
    pub fn nobody(nobody: Nobody) -> Self {
        Self::failed(ApproverError::Nobody(nobody))
    }

    pub(super) fn failed(failure: ApproverError) -> Self {
        Self {
            reason: failure.reason(),
            by: None,
            note: None,
            failure: Some(Box::new(failure)),
            detail: None,
        }
    }

    pub(super) const fn said(reason: Reason, by: Who, note: Option<Note>) -> Self {
        Self {
            reason,
            by: Some(by),
            note,
            failure: None,
            detail: None,
        }
    }

    /// The code.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Who said no.
    pub const fn by(&self) -> Option<&Who> {
        self.by.as_ref()
    }

    /// What they said.
    pub const fn note(&self) -> Option<&Note> {
        self.note.as_ref()
    }

    /// Whether it is none at all: the question was withdrawn because the policy changed.
    pub fn is_withdrawn(&self) -> bool {
        match self.failure() {
            Some(ApproverError::Cancelled(cause)) => *cause == Cause::PolicyChanged,
            Some(_) | None => false,
        }
    }

    /// How asking failed.
    pub fn failure(&self) -> Option<&ApproverError> {
        self.failure.as_deref()
    }

    /// What the caller is told, in fixed wording: the first line says what happened and why, the second
    /// what to do. A note stands in quotes, as the words of whoever gave it.
    pub fn message(&self) -> String {
        let cause = match &self.failure {
            Some(failure) => match failure.source() {
                Some(source) => format!("{failure}: {source}"),
                None => failure.to_string(),
            },
            None => self
                .detail
                .clone()
                .unwrap_or_else(|| why(self.reason).to_owned()),
        };
        let by = self
            .by
            .as_ref()
            .map_or(String::new(), |who| format!(" ({})", who.name));
        let note = self
            .note
            .as_ref()
            .map_or(String::new(), |note| format!("\nnote: \"{note}\""));
        format!(
            "not run: {}: {cause}{by}{note}\n{}",
            self.reason,
            self.advice()
        )
    }

    /// What to do now.
    fn advice(&self) -> &'static str {
        match self.reason {
            Reason::RuleDeny | Reason::Refused => {
                "This decision is final. Do not retry it, and do not reach the same effect another way."
            }
            Reason::Cancelled => {
                "The person stopped this. Do not retry it or work around it; wait for new instructions."
            }
            Reason::Timeout => {
                "Nobody decided, so it is denied. Do not work around it; ask again when somebody is there."
            }
            Reason::NoApprover => match self.failure() {
                Some(ApproverError::Nobody(nobody)) => nobody.help(),
                Some(_) | None => Nobody::NotGiven.help(),
            },
            Reason::DontAsk => {
                "Do not work around it. A person can add an allow rule, or choose a mode that asks."
            }
            Reason::PlanMode => {
                "Do not work around it. Propose the change instead; a person can leave mode plan."
            }
            Reason::ApproverError => {
                "Nobody decided, so it is denied. Do not work around it; the approver has to be repaired."
            }
            Reason::CallChanged => {
                "Do not retry until what changed the program has ended; it will be asked about anew."
            }
            Reason::SandboxUnavailable => {
                "`tipstaff doctor` names what is missing and how to get it."
            }
            Reason::PolicyInvalid => "`tipstaff policy check` names file, line and remedy.",
            Reason::ProgramNotFound | Reason::ProgramUnusable => {
                "Name a program that exists and can be read and executed."
            }
            Reason::RuleAsk
            | Reason::Opaque
            | Reason::Dynamic
            | Reason::Unmatched
            | Reason::ProgramUntrusted
            | Reason::RuleAllow
            | Reason::ReadOnlyDefault
            | Reason::NoAccess
            | Reason::Approved
            | Reason::Bypass
            | Reason::ProgramHidden => {
                "Do not work around it. `tipstaff explain` shows what would change the verdict."
            }
        }
    }
}
