//! Stage 6: who can be asked, what the deciding order says, and the question itself.

use crate::approval::{
    self, Approval, Approver, Attached, Cause, Denial, External, Forced, Inputs, Nobody, Question,
    Ruling, Strictures, Told, Wait,
};
use crate::launch::Signals;
use crate::plan::Plan;
use crate::sandbox::Parked;
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

impl Supervisor {
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
        let settings = run.ground.policy.settings();
        let command = self
            .command
            .as_ref()
            .or(settings.approvals.command.as_ref());
        let named = match (&self.approver, command) {
            (Some(_), _) | (None, None) => None,
            (None, Some(command)) => Some(External::new(
                command.clone(),
                run.ground.approver_environment(&self.environment),
            )?),
        };
        let approver: Result<&dyn Approver, Nobody> = match (&self.approver, &named, &self.terminal)
        {
            (Some(approver), _, _) => Ok(approver.as_ref()),
            (None, Some(external), _) => Ok(external),
            (None, None, Some(terminal)) => terminal.attached().map(|()| terminal as &dyn Approver),
            (None, None, None) => Err(Nobody::NotGiven),
        };
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
            attached: match &approver {
                Ok(_) => Attached::Present,
                Err(nobody) => Attached::Absent(*nobody),
            },
        };
        let object = approval::identify(plan, &call.survey, &call.pinned.resolved);
        let (why, forced) = match approval::rule(&inputs, proof, object) {
            Ruling::Granted(approval) => return Ok(Ok(approval)),
            Ruling::Denied(denial) => return Ok(Err(Stop::Denied(denial))),
            Ruling::Ask { why, forced } => (why, forced),
        };
        let scrubber = run.journal.scrubber();
        let question = Question::new(
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
        );
        let approver = match approver {
            Ok(approver) => approver,
            Err(nobody) => return Ok(Err(Stop::Denied(Denial::nobody(nobody)))),
        };
        let deadline = story.deadline(settings.approvals.timeout());
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
