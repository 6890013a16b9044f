//! Stage 6: who can be asked, what the deciding order says, and the question itself.

use crate::approval::{
    self, Approval, Approver, Attached, Cause, Denial, External, Forced, Inputs, Nobody, Question,
    Ruling, Strictures, Told, Wait,
};
use crate::launch::Signals;
use crate::model::judgement::Reason;
use crate::plan::Plan;
use crate::sandbox::{Parked, Proof};
use std::os::fd::AsFd as _;

use super::call::Call;
use super::error::Error;
use super::follow::{Changed, Found, Story, Watch};
use super::run::Run;
use super::{NEEDED, Supervisor, ground};

/// What else than the right to start asking comes to.
pub(super) enum Stop {
    /// It may not start.
    Denied(Denial),
    /// The policy in force judges differently by now.
    PolicyChanged(Changed),
}

/// Who can be asked now.
pub(super) enum Desk<'a> {
    /// The one the supervisor was set up with, or its terminal.
    Own(&'a dyn Approver),
    /// A command.
    Named(External),
    /// Nobody.
    Empty(Nobody),
}

impl Desk<'_> {
    pub(super) fn approver(&self) -> Result<&dyn Approver, Nobody> {
        match self {
            Self::Own(approver) => Ok(*approver),
            Self::Named(external) => Ok(external),
            Self::Empty(nobody) => Err(*nobody),
        }
    }

    pub(super) fn attached(&self) -> Attached {
        match self {
            Self::Own(_) | Self::Named(_) => Attached::Present,
            Self::Empty(nobody) => Attached::Absent(*nobody),
        }
    }
}

/// The question about `call`.
pub(super) fn question(
    run: &Run<'_>,
    call: &Call,
    plan: &Plan,
    proof: &Proof,
    changes: &[String],
    (why, forced): (Reason, bool),
) -> Question {
    let scrubber = run.journal.scrubber();
    Question::new(
        &Told {
            line: &call.line,
            plan,
            survey: &call.survey,
            resolved: &call.pinned.resolved,
            judgement: &call.judgement,
            workspace: &run.ground.workspace.root,
            why,
            forced,
            level: proof.level(),
            proof: &proof.lines(),
            uid: ground::uid_of(&run.ground.identity),
            claim: run.request.claim.as_deref(),
            ids: &run.request.ids,
            changes,
        },
        &|text| scrubber.scrub(text).unwrap_or_else(|| text.to_vec()),
    )
}

impl Supervisor {
    /// Who can be asked now.
    pub(super) fn desk(&self, run: &Run<'_>) -> Result<Desk<'_>, Error> {
        let settings = run.ground.policy.settings();
        let command = self
            .command
            .as_ref()
            .or(settings.approvals.command.as_ref());
        Ok(match (&self.approver, command, &self.terminal) {
            (Some(approver), _, _) => Desk::Own(approver.as_ref()),
            (None, Some(command), _) => Desk::Named(External::new(
                command.clone(),
                run.ground.approver_environment(&self.environment),
            )?),
            (None, None, Some(terminal)) => match terminal.attached() {
                Ok(()) => Desk::Own(terminal),
                Err(nobody) => Desk::Empty(nobody),
            },
            (None, None, None) => Desk::Empty(Nobody::NotGiven),
        })
    }

    /// The right to start, or why not.
    pub(super) fn approve(
        &self,
        run: &Run<'_>,
        call: &Call,
        plan: &Plan,
        parked: &Parked,
        story: &Story,
        signals: &Signals,
    ) -> Result<Result<Approval, Stop>, Error> {
        let changes = story.changes.as_slice();
        let desk = self.desk(run)?;
        let proof = parked.proof();
        let standing = approval::Sandbox::Proved(proof.level());
        // The built-in rules alone hold denials, so there always are some.
        let strictures = Strictures::Some;
        let forced = if changes.is_empty() {
            Forced::of(&call.judgement, &call.survey, strictures, standing)
        } else {
            Some(Forced::Changed)
        };
        let inputs = Inputs {
            policy: approval::Policy::Judged(&call.judgement),
            sandbox: standing,
            needed: NEEDED,
            forced,
            mode: run.ground.mode,
            profile: run.ground.profile.name,
            attached: desk.attached(),
        };
        let object = approval::identify(plan, &call.survey, &call.pinned.resolved);
        let (why, forced) = match approval::rule(&inputs, proof, object) {
            Ruling::Granted(approval) => return Ok(Ok(approval)),
            Ruling::Denied(denial) => return Ok(Err(Stop::Denied(denial))),
            Ruling::Ask { why, forced } => (why, forced),
        };
        let question = question(run, call, plan, proof, changes, (why, forced));
        let approver = match desk.approver() {
            Ok(approver) => approver,
            Err(nobody) => return Ok(Err(Stop::Denied(Denial::nobody(nobody)))),
        };
        let timeout = run.ground.policy.settings().approvals.timeout();
        let deadline = story.deadline(timeout);
        let watch = Watch {
            environment: &self.environment,
            choice: &self.choice,
            ground: run.ground,
            call,
        };
        let (said, found) = watch.during(|changed| {
            let wait = Wait {
                deadline,
                cancel: vec![
                    (parked.pidfd(), Cause::ChildDied),
                    (signals.as_fd(), Cause::Signal),
                    (changed, Cause::PolicyChanged),
                ],
            };
            approval::obtain(approver, &question, &wait, proof)
        })?;
        Ok(match (said, found) {
            (Err(denial), _) if !denial.is_withdrawn() => Err(Stop::Denied(denial)),
            (_, Found::Invalid(what)) => Err(Stop::Denied(Denial::policy(what))),
            (Ok(approval), Found::Same) => Ok(approval),
            (Err(denial), Found::Same) => Err(Stop::Denied(denial)),
            (Ok(_) | Err(_), Found::Changed(sources)) => {
                Err(Stop::PolicyChanged(Changed { sources, deadline }))
            }
        })
    }
}
