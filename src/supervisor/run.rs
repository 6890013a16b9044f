//! The ends of an attempt: refused, denied, unconfined, or started and watched to its end. Each writes
//! its record before anything else happens.

use std::os::fd::OwnedFd;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::approval::{Approval, Denial, ObjectId};
use crate::audit::Journal;
use crate::gate::{Cover, Gate, Image, Images, Mismatch};
use crate::launch::{self, Ended, LaunchError, Pump, Relay, Running, Signals};
use crate::model::judgement::Reason;
use crate::model::outcome::Outcome;
use crate::model::request::Request;
use crate::model::verdict::Verdict;
use crate::plan::Start;
use crate::sandbox::{Parked, Proof, SandboxError};

use super::call::Call;
use super::errand::Counter;
use super::error::Error;
use super::ground::Ground;
use super::guard::{Note, Swept};
use super::keeper::{Keeper, Keeping, cover, image};
use super::record::{self, Decision};
use super::refused::Refused;
use super::report::{Report, ending};
use super::{Attempt, Supervisor};

/// How long what the command has said may take to be shown after its end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// One attempt at one request.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub journal: &'a Journal,
    pub request: &'a Request,
    pub ground: &'a Ground,
}

/// What a run is watched with.
struct Watching<'a> {
    supervisor: &'a Supervisor,
    call: &'a Call,
    proof: &'a Proof,
    id: &'a str,
    signals: &'a Signals,
}

/// What became of it.
struct Watched {
    checked: launch::Checked,
    ended: Ended,
    refused: Refused,
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
    #[expect(clippy::too_many_arguments, reason = "everything a start uses up")]
    pub fn start(
        &self,
        supervisor: &Supervisor,
        call: &Call,
        parked: Parked,
        approval: Approval,
        waited: Duration,
        signals: &Signals,
        relay: Option<Relay>,
    ) -> Result<Attempt, Error> {
        let proof = parked.proof().clone();
        let note = Note::take(
            &supervisor.house.state,
            &self.ground.workspace.root,
            self.ground.data_folder.as_ref(),
            if proof.is_apart() {
                &self.ground.profile.guarded
            } else {
                &[]
            },
        )?;
        let id = self.decided(call, &Decision::granted(&approval, &proof, waited))?;
        let (object, reason, by) = (approval.object(), approval.reason(), approval.by().cloned());
        let watched = self.watch(
            &Watching {
                supervisor,
                call,
                proof: &proof,
                id: &id,
                signals,
            },
            parked,
            approval,
            relay,
        );
        let guarded = note.sweep();
        let Watched {
            checked,
            ended,
            refused,
        } = match watched {
            Ok(watched) => watched,
            Err(error) => {
                record::failed(self.journal, &id, &error.render())?;
                // Something swapped it between the last look and the start: it was killed before its
                // first instruction, so this is a denial like any other change.
                if let Error::Launch(LaunchError::Changed(Mismatch::Changed { .. })) = error {
                    let reason = Reason::CallChanged;
                    let message = Denial::changed(error.to_string()).message();
                    let report =
                        self.report(call, id, Outcome::Denied(reason), reason, Some(message));
                    return Ok(Attempt::Done(Box::new(report)));
                }
                return Err(error);
            }
        };
        record::finished(self.journal, &id, &ended, refused.count())?;
        let told = ending(&ended.outcome, ended.killed.len(), &ended.survivors);
        let told = refused.message().into_iter().chain(told);
        let (guarded, told) = match guarded {
            Ok(guarded) => {
                let swept: Vec<String> = guarded.iter().map(Swept::message).collect();
                (guarded, told.chain(swept).collect::<Vec<_>>())
            }
            // The note is kept, so the next run tries again.
            Err(error) => {
                let error = Error::from(error).render();
                (Vec::new(), told.chain([error]).collect())
            }
        };
        let message = (!told.is_empty()).then(|| told.join("\n"));
        let report = self.report(call, id, ended.outcome, reason, message);
        Ok(Attempt::Done(Box::new(Report {
            object: Some(object),
            proof: Some(proof),
            by,
            checked: Some(checked),
            killed: ended.killed,
            survivors: ended.survivors,
            refused,
            guarded,
            duration: ended.duration,
            ..report
        })))
    }

    fn watch(
        &self,
        watching: &Watching<'_>,
        parked: Parked,
        approval: Approval,
        mut relay: Option<Relay>,
    ) -> Result<Watched, Error> {
        let images = Images::default();
        let image = self.root(watching.call, &parked, approval.reason());
        let granted = approval.reason();
        let mut running = launch::start(parked, approval, &images, image)?;
        let checked = running.checked();
        if let Some(relay) = &mut relay {
            relay.release();
            relay.run()?;
        }
        let (ended, relay, refused) = match running.take_listener() {
            None => {
                let pump = relay.as_mut().map(|relay| relay as &mut dyn Pump);
                let ended = running.wait(watching.signals, self.request.timeout, pump)?;
                (ended, relay, Refused::default())
            }
            Some(listener) => {
                self.behind_gate(watching, granted, running, (listener, &images), relay)?
            }
        };
        if let Some(relay) = relay {
            relay.finish(LAST_WORDS)?;
        }
        Ok(Watched {
            checked,
            ended,
            refused,
        })
    }

    /// Watches a command whose execs wait at `listener`, and answers for them.
    fn behind_gate(
        &self,
        watching: &Watching<'_>,
        granted: Reason,
        running: Running,
        (listener, images): (OwnedFd, &Images),
        relay: Option<Relay>,
    ) -> Result<(Ended, Option<Relay>, Refused), Error> {
        let pipe = || std::io::pipe().map_err(Error::Gate);
        let (close, open) = pipe()?;
        let (woken, wake) = pipe()?;
        let (sender, errands) = channel();
        let keeper = Keeper::new(Keeping {
            run: *self,
            call: watching.call,
            proof: watching.proof,
            id: watching.id.to_owned(),
            granted,
            attached: watching.supervisor.desk(self)?.attached(),
            errands: sender,
            wake,
        });
        let command = running.pidfd().try_clone_to_owned().map_err(Error::Gate)?;
        let mut counter = Counter {
            supervisor: watching.supervisor,
            run: *self,
            proof: watching.proof,
            signals: watching.signals,
            command,
            relay,
            errands,
            wake: woken,
        };
        let gate = Gate::new(listener, close, &keeper, images);
        let (ended, relay) = std::thread::scope(|scope| {
            gate.serve(scope);
            let ended = running.wait(watching.signals, self.request.timeout, Some(&mut counter));
            // Whoever still waits for an answer gets none, and no further exec is taken.
            let Counter { relay, .. } = counter;
            drop(open);
            (ended, relay)
        });
        drop(gate);
        Ok((ended?, relay, keeper.into_refused()))
    }

    /// The program that the run starts with, and what the decision about the line covers of it.
    fn root(&self, call: &Call, parked: &Parked, granted: Reason) -> Image {
        let executable = parked.executable();
        let sub = match parked.how() {
            Start::Binary { subcommand } | Start::Script { subcommand } => *subcommand,
            Start::Shell => {
                let named = executable.path.as_bytes().to_vec();
                return image(None, executable, named, parked.argv(), Cover::Nothing);
            }
        };
        let judged = call.judgement.subcommands.get(sub);
        let reason = judged
            .filter(|judged| judged.verdict == Verdict::Allow)
            .map_or(granted, |judged| judged.reason);
        let sub = call.survey.script.subcommands.get(sub);
        let reach = sub.map_or(Cover::Nothing, |sub| cover(sub, reason));
        let named = executable.path.as_bytes().to_vec();
        image(None, executable, named, parked.argv(), reach)
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
            refused: Refused::default(),
            guarded: Vec::new(),
            duration: Duration::ZERO,
            message,
        }
    }
}
