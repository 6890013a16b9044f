//! The ends of an attempt: refused, denied, unconfined, or started and watched to its end. Each writes
//! its record before anything else happens.

use std::time::Duration;

use crate::approval::{Approval, Denial, ObjectId};
use crate::audit::Journal;
use crate::launch::{self, Ended, LaunchError, Pump, Relay, Signals};
use crate::model::judgement::Reason;
use crate::model::outcome::Outcome;
use crate::model::request::Request;
use crate::sandbox::{Parked, SandboxError};

use super::Attempt;
use super::call::Call;
use super::error::Error;
use super::ground::Ground;
use super::record::{self, Decision};
use super::report::{Report, ending};

/// How long what the command has said may take to be shown after its end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// One attempt at one request.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub journal: &'a Journal,
    pub request: &'a Request,
    pub ground: &'a Ground,
}

impl Run<'_> {
    /// Ends before anything stands.
    pub fn refuse(&self, call: &Call, outcome: Outcome, message: String) -> Result<Attempt, Error> {
        let reason = match outcome {
            Outcome::Denied(reason) => reason,
            Outcome::NotFound => Reason::ProgramNotFound,
            Outcome::Exited(_) | Outcome::Signalled(_) | Outcome::TimedOut | Outcome::Cancelled => {
                Reason::Cancelled
            }
        };
        let id = self.decided(call, &Decision::refused(reason))?;
        Ok(Attempt::Done(Box::new(self.report(
            call,
            id,
            outcome,
            reason,
            Some(message),
        ))))
    }

    /// Ends because no sandbox stands: recorded as refused, and told as the error it is.
    pub fn unconfined(&self, call: &Call, error: SandboxError) -> Result<Attempt, Error> {
        self.decided(call, &Decision::refused(Reason::SandboxUnavailable))?;
        Err(error.into())
    }

    /// Ends with the sandbox standing and the answer no.
    pub fn deny(
        &self,
        call: &Call,
        parked: &Parked,
        object: ObjectId,
        denial: &Denial,
        waited: Duration,
    ) -> Result<Attempt, Error> {
        let proof = parked.proof();
        let id = self.decided(call, &Decision::denied(denial, proof, object, waited))?;
        let outcome = if denial.reason() == Reason::Cancelled {
            Outcome::Cancelled
        } else {
            Outcome::Denied(denial.reason())
        };
        let mut message = denial.message();
        // Nobody saw the question, so its caller learns what it would have been.
        if denial.by().is_none() && denial.reason() != Reason::Cancelled {
            for question in call.open_questions() {
                message.push('\n');
                message.push_str(&question);
            }
        }
        let report = self.report(call, id, outcome, denial.reason(), Some(message));
        Ok(Attempt::Done(Box::new(Report {
            object: Some(object),
            proof: Some(proof.clone()),
            by: denial.by().cloned(),
            note: denial.note().cloned(),
            ..report
        })))
    }

    /// Starts what was approved and watches it to its end.
    pub fn start(
        &self,
        call: &Call,
        parked: Parked,
        approval: Approval,
        waited: Duration,
        signals: &Signals,
        relay: Option<Relay>,
    ) -> Result<Attempt, Error> {
        let proof = parked.proof().clone();
        let id = self.decided(call, &Decision::granted(&approval, &proof, waited))?;
        let (object, reason, by) = (approval.object(), approval.reason(), approval.by().cloned());
        let (checked, ended) = match self.watch(parked, approval, signals, relay) {
            Ok(ended) => ended,
            Err(error) => {
                record::failed(self.journal, &id, &error.render())?;
                // Something swapped it between the last look and the start: it was killed before its
                // first instruction, so this is a denial like any other change.
                if let Error::Launch(LaunchError::Changed { .. }) = error {
                    let reason = Reason::CallChanged;
                    let message = Denial::changed(error.to_string()).message();
                    let report =
                        self.report(call, id, Outcome::Denied(reason), reason, Some(message));
                    return Ok(Attempt::Done(Box::new(report)));
                }
                return Err(error);
            }
        };
        record::finished(self.journal, &id, &ended)?;
        let message = ending(&ended.outcome, ended.killed.len(), &ended.survivors);
        let report = self.report(call, id, ended.outcome, reason, message);
        Ok(Attempt::Done(Box::new(Report {
            object: Some(object),
            proof: Some(proof),
            by,
            checked: Some(checked),
            killed: ended.killed,
            survivors: ended.survivors,
            duration: ended.duration,
            ..report
        })))
    }

    fn watch(
        &self,
        parked: Parked,
        approval: Approval,
        signals: &Signals,
        mut relay: Option<Relay>,
    ) -> Result<(launch::Checked, Ended), Error> {
        let running = launch::start(parked, approval)?;
        let checked = running.checked();
        if let Some(relay) = &mut relay {
            relay.release();
            relay.run()?;
        }
        let pump = relay.as_mut().map(|relay| relay as &mut dyn Pump);
        let ended = running.wait(signals, self.request.timeout, pump)?;
        if let Some(relay) = relay {
            relay.finish(LAST_WORDS)?;
        }
        Ok((checked, ended))
    }

    fn decided(&self, call: &Call, decision: &Decision<'_>) -> Result<String, Error> {
        record::decided(self.journal, self.request, self.ground, call, decision)
    }

    fn report(
        &self,
        call: &Call,
        id: String,
        outcome: Outcome,
        reason: Reason,
        message: Option<String>,
    ) -> Report {
        Report {
            id,
            outcome,
            reason,
            verdict: call.judgement.verdict,
            object: None,
            proof: None,
            identity: record::identity(&self.ground.identity),
            by: None,
            note: None,
            checked: None,
            killed: Vec::new(),
            survivors: Vec::new(),
            duration: Duration::ZERO,
            message,
        }
    }
}
