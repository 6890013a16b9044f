//! The pipeline: one function tells a request's story from its line to its record.

mod answer;
mod asking;
mod builder;
mod call;
mod cases;
mod deeds;
mod errand;
mod error;
mod follow;
mod ground;
mod guard;
mod house;
mod identity;
mod inspection;
mod keeper;
mod loaders;
mod policies;
mod record;
mod refused;
mod remedies;
mod report;
mod run;

use std::os::fd::AsFd as _;
use std::time::Instant;

pub use answer::{Answer, AnswerJson, place};
pub use builder::Builder;
pub use cases::{Rehearsed, rehearse, today};
pub use deeds::{DeedAnswer, DeedJson, Wanted};
pub use error::{Error, ErrorJson};
pub use policies::{Change, Preview, Target, TriedCommand, TriedLine};
pub use refused::{Refusal, RefusalJson, Refused};
pub use remedies::what_to_do;
pub use report::{Report, ReportJson};

use crate::approval::{self, Approver, Denial, Terminal};
use crate::audit::Journal;
use crate::launch::{Relay, Signals, Terminals};
use crate::model::environment::Environment;
use crate::model::level::Level;
use crate::model::path::AbsolutePath;
use crate::model::request::Request;
use crate::plan::Plan;
use crate::policy;
use crate::sandbox::{self, Opened, Order, Parked, SandboxError, StdioFd, Temporary};
use crate::sys::fail;

use asking::Stop;
use builder::Choice;
use call::{Call, judge};
use follow::{Before, Story};
use ground::Ground;
use house::House;
use run::Run;

/// The level every run needs: without it there is no sandbox to speak of.
const NEEDED: Level = Level::L1;

/// How many changes a call may go through while it is asked about; beyond, whatever changes it has to
/// stop first.
const MOST_CHANGES: usize = 3;

/// Judges, confines, asks, runs and records. Made by [`Supervisor::builder`].
pub struct Supervisor {
    environment: Environment,
    house: House,
    choice: Choice,
    approver: Option<Box<dyn Approver>>,
    command: Option<Vec<String>>,
    terminal: Option<Terminal>,
}

/// What one attempt came to.
enum Attempt {
    /// It ended.
    Done(Box<Report>),
    /// What was judged is not what would start any more; it has to be asked about again.
    Changed(Vec<String>),
    /// The policy in force is another one; the call has to be judged again.
    PolicyChanged(Box<Before>),
}

impl Supervisor {
    /// Sets up a supervisor.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Judges a request and runs nothing.
    ///
    /// # Errors
    /// The request, the policy or the workspace is unusable.
    pub fn check(&self, request: Request) -> Result<Answer, Error> {
        Ok(self.checked(request, |_, _| ())?.0)
    }

    /// The same, with whatever else is made of the call.
    fn checked<T>(
        &self,
        request: Request,
        look: impl FnOnce(&Call, &Ground) -> T,
    ) -> Result<(Answer, T), Error> {
        let ground = self.looked_at(&request)?;
        let call = judge(&request.command, &ground)?;
        let looked = look(&call, &ground);
        let ground = ground.confined(&call.judgement)?;
        let answer = Answer {
            profile: ground.profile.name,
            network: ground.profile.network,
            mode: ground.mode,
            line: call.line,
            survey: call.survey,
            resolved: call.pinned.resolved,
            judgement: call.judgement,
        };
        Ok((answer, looked))
    }

    /// The ground of a request that is only looked at.
    fn looked_at(&self, request: &Request) -> Result<Ground, Error> {
        // No folder is made, but the profile has to name one as a run's would.
        self.ground(request, |_| Ok(temporary_base()?.join("tipstaff-check")))
    }

    /// Runs a request: judged, confined, asked about where the policy says so, started as shown, and
    /// recorded before and after. A denial is a [`Report`], not an error.
    ///
    /// The calling thread has to stay until the run ends, and the process becomes a child subreaper
    /// (prctl(2)), so that what a command leaves behind can be found and killed.
    ///
    /// # Errors
    /// Nothing of the command ran, unless the error is [`Error::Launch`] while it was watched, or the
    /// record of its end could not be written.
    pub fn run(&self, request: Request) -> Result<Report, Error> {
        let signals = Signals::take()?;
        let mut story = Story::default();
        // What a supervisor that was killed could not put back.
        let recovered = guard::recover(&self.house.state)?;
        loop {
            match self.attempt(&request, &signals, &story)? {
                Attempt::Done(report) => return Ok(report.after(recovered)),
                Attempt::Changed(now) => story.changes.extend(now),
                Attempt::PolicyChanged(before) => story.before = Some(*before),
            }
        }
    }

    /// The seven stages, once.
    fn attempt(
        &self,
        request: &Request,
        signals: &Signals,
        story: &Story,
    ) -> Result<Attempt, Error> {
        let mut temporary = None;
        let ground = self.ground(request, |identity| {
            let made = temporary.insert(Temporary::create(&temporary_base()?, identity)?);
            Ok(made.path().clone())
        })?;
        fail::point("policy-loaded");
        let mut call = judge(&request.command, &ground)?;
        let ground = ground.confined(&call.judgement)?.guarded()?;
        if let Some(rule) = policy::unenforceable(&ground.policy, &ground.profile, &ground.facts)
            .into_iter()
            .next()
        {
            return Err(Error::Unenforceable(Box::new(rule)));
        }
        let journal = Journal::open(&self.house.state)?.hiding(&ground.fixed.secrets);
        let run = Run {
            journal: &journal,
            request,
            ground: &ground,
        };

        if let Some(ended) = self.under_new_policy(&run, &call, story, signals)? {
            return Ok(ended);
        }
        if let Some((outcome, message)) = call.refused() {
            return run.refuse(&call, outcome, message);
        }
        let plan = call.plan(&ground)?;
        let relay = Relay::open(Terminals::of_this_process())?;
        let parked = match self.park(&run, &call, &plan, temporary, relay.as_ref()) {
            Ok(parked) => parked,
            Err(error) => return run.unconfined(&call, error),
        };
        let object = approval::identify(&plan, &call.survey, &call.pinned.resolved);
        let asked = Instant::now();
        let approval = match self.approve(&run, &call, &plan, &parked, story, signals)? {
            Ok(approval) => approval,
            Err(Stop::Denied(denial)) => {
                return run.deny(&call, &parked, object, &denial, asked.elapsed());
            }
            Err(Stop::PolicyChanged(changed)) => {
                return Ok(Attempt::PolicyChanged(Box::new(Before::of(
                    &ground, &call, changed,
                ))));
            }
        };
        let waited = asked.elapsed();
        // The policy was followed while the question was open (`follow`).
        let now = call.changes(&ground);
        fail::point("identities-again");
        if !now.is_empty() && story.changes.len() < MOST_CHANGES {
            return Ok(Attempt::Changed(now));
        }
        if let Some(what) = now.into_iter().next().or_else(|| ground.moved()) {
            let denial = Denial::changed(what);
            return run.deny(&call, &parked, object, &denial, waited);
        }
        run.start(self, &call, parked, approval, waited, signals, relay)
    }

    /// Stage 5: the child stands confined and proved.
    fn park(
        &self,
        run: &Run<'_>,
        call: &Call,
        plan: &Plan,
        temporary: Option<Temporary>,
        relay: Option<&Relay>,
    ) -> Result<Parked, SandboxError> {
        let (Some(target), Some(temporary)) = (call.target(plan), temporary) else {
            return Err(SandboxError::Gone);
        };
        let others: Vec<_> = call.held().map(|held| held.file.as_fd()).collect();
        sandbox::park(Order {
            plan,
            program: target.file.as_fd(),
            others: &others,
            workspace: Opened {
                path: &run.ground.workspace.root,
                folder: run.ground.workspace.dir(),
            },
            cwd: run.ground.cwd_folder(),
            temporary,
            stdio: stdio(relay)?,
            gate: sandbox::Gate::Wanted,
        })
    }
}

/// The command's descriptors: a terminal becomes the relayed one, all else passes untouched.
fn stdio(relay: Option<&Relay>) -> Result<[StdioFd; 3], SandboxError> {
    let Some((relay, slave)) = relay.and_then(|relay| Some((relay, relay.slave()?))) else {
        return Ok([StdioFd::Inherit, StdioFd::Inherit, StdioFd::Inherit]);
    };
    let place = |relayed: bool| -> Result<StdioFd, SandboxError> {
        if relayed {
            let copy = slave.try_clone_to_owned().map_err(SandboxError::terminal)?;
            Ok(StdioFd::Terminal(copy))
        } else {
            Ok(StdioFd::Inherit)
        }
    };
    let terminals = relay.terminals();
    Ok([
        place(terminals.input)?,
        place(terminals.output)?,
        place(terminals.error)?,
    ])
}

/// Where private temporary folders are made.
fn temporary_base() -> Result<AbsolutePath, Error> {
    AbsolutePath::new(std::env::temp_dir())
        .map_err(|error| Error::usage(format!("TMPDIR: {error}")))
}
