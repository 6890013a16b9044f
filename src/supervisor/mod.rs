//! The pipeline: one function tells a request's story from its line to its record.

mod answer;
mod call;
mod error;
mod ground;
mod house;
mod identity;
mod record;
mod report;
mod run;

use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Instant;

pub use answer::{Answer, AnswerJson};
pub use error::{Error, ErrorJson};
pub use report::{Report, ReportJson};

use crate::approval::{
    self, Approval, Approver, Attached, Cause, Denial, External, Forced, Inputs, Nobody, Question,
    Ruling, Strictures, Terminal, Told, Wait,
};
use crate::audit::Journal;
use crate::launch::{Relay, Signals, Terminals};
use crate::layers;
use crate::model::environment::Environment;
use crate::model::judgement::Layer;
use crate::model::level::Level;
use crate::model::path::AbsolutePath;
use crate::model::profile::Identity;
use crate::model::request::Request;
use crate::plan::Plan;
use crate::policy::{self, Source};
use crate::sandbox::{self, Opened, Order, Parked, SandboxError, StdioFd, Temporary};
use crate::sys::fail;

use call::{Call, judge};
use house::House;
use run::Run;

/// The level every run needs: without it there is no sandbox to speak of.
const NEEDED: Level = Level::L1;

/// How many changes a call may go through while it is asked about; beyond, whatever changes it has to
/// stop first.
const MOST_CHANGES: usize = 3;

/// Which policies are in force beside the built-in and managed ones.
#[derive(Clone, Debug)]
enum Choice {
    /// The user's and the project's.
    Layers,
    /// This file instead.
    File(PathBuf),
    /// This text instead.
    Text(Source),
}

/// Judges, confines, asks, runs and records. Made by [`Supervisor::builder`].
pub struct Supervisor {
    environment: Environment,
    house: House,
    choice: Choice,
    approver: Option<Box<dyn Approver>>,
    command: Option<Vec<String>>,
    terminal: Option<Terminal>,
}

/// Sets up a [`Supervisor`].
#[derive(Default)]
pub struct Builder {
    environment: Environment,
    state: Option<AbsolutePath>,
    choice: Option<Choice>,
    approver: Option<Box<dyn Approver>>,
    command: Option<Vec<String>>,
    terminal: Option<Terminal>,
}

impl Builder {
    /// The supervisor's own environment: it says where policy and record lie (HOME, XDG folders).
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// The folder of records, trust and keys, instead of the one the environment names.
    pub fn state(mut self, folder: AbsolutePath) -> Self {
        self.state = Some(folder);
        self
    }

    /// A policy file that replaces the user and project layers.
    pub fn policy_file(mut self, file: PathBuf) -> Self {
        self.choice = Some(Choice::File(file));
        self
    }

    /// Policy text that replaces the user and project layers; `name` is what messages call it.
    pub fn policy_text(mut self, name: &str, text: String) -> Self {
        let source = Source {
            layer: Layer::Flag,
            name: name.to_owned(),
            text,
            trusted: true,
        };
        self.choice = Some(Choice::Text(source));
        self
    }

    /// Who answers questions, before anybody the policy names.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Box::new(approver));
        self
    }

    /// The command that answers questions, before the one the policy names: program and arguments.
    pub fn approver_command(mut self, argv: Vec<String>) -> Self {
        self.command = Some(argv);
        self
    }

    /// The terminal to ask at when neither the caller nor the policy names an approver.
    pub fn terminal(mut self, terminal: Terminal) -> Self {
        self.terminal = Some(terminal);
        self
    }

    /// The supervisor.
    ///
    /// # Errors
    /// [`Error::NoHome`] when nothing says where record and policy lie.
    pub fn build(self) -> Result<Supervisor, Error> {
        let mut house = House::find(&self.environment)?;
        if let Some(state) = self.state {
            house.state = state;
        }
        Ok(Supervisor {
            environment: self.environment,
            house,
            choice: self.choice.unwrap_or(Choice::Layers),
            approver: self.approver,
            command: self.command,
            terminal: self.terminal,
        })
    }
}

/// What one attempt came to.
enum Attempt {
    /// It ended.
    Done(Box<Report>),
    /// What was judged is not what would start any more; it has to be asked about again.
    Changed(Vec<String>),
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
        let ground = self.ground(&request, |_| temporary_base())?;
        let call = judge(&request.command, &ground)?;
        Ok(Answer {
            line: call.line,
            survey: call.survey,
            resolved: call.pinned.resolved,
            judgement: call.judgement,
        })
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
        let mut changes = Vec::new();
        loop {
            match self.attempt(&request, &signals, &changes)? {
                Attempt::Done(report) => return Ok(*report),
                Attempt::Changed(now) => changes.extend(now),
            }
        }
    }

    /// The seven stages, once.
    fn attempt(
        &self,
        request: &Request,
        signals: &Signals,
        changes: &[String],
    ) -> Result<Attempt, Error> {
        let mut temporary = None;
        let ground = self.ground(request, |identity| {
            let made = temporary.insert(Temporary::create(&temporary_base()?, identity)?);
            Ok(made.path().clone())
        })?;
        if let Some(rule) = policy::unenforceable(&ground.policy, ground.profile.network)
            .into_iter()
            .next()
        {
            return Err(Error::Unenforceable(Box::new(rule)));
        }
        fail::point("policy-loaded");
        let journal = Journal::open(&self.house.state)?.hiding(&ground.fixed.secrets);
        let run = Run {
            journal: &journal,
            request,
            ground: &ground,
        };

        let mut call = judge(&request.command, &ground)?;
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
        let approval = match self.approve(&run, &call, &plan, &parked, changes, signals)? {
            Ok(approval) => approval,
            Err(denial) => return run.deny(&call, &parked, object, &denial, asked.elapsed()),
        };
        let waited = asked.elapsed();
        let now = call.changes(&ground);
        fail::point("identities-again");
        if !now.is_empty() && changes.len() < MOST_CHANGES {
            return Ok(Attempt::Changed(now));
        }
        if let Some(what) = now.into_iter().next().or_else(|| ground.moved()) {
            let denial = Denial::changed(what);
            return run.deny(&call, &parked, object, &denial, waited);
        }
        run.start(&call, parked, approval, waited, signals, relay)
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
        })
    }

    /// Stage 6: the right to start, or why not.
    fn approve(
        &self,
        run: &Run<'_>,
        call: &Call,
        plan: &Plan,
        parked: &Parked,
        changes: &[String],
        signals: &Signals,
    ) -> Result<Result<Approval, Denial>, Error> {
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
            Ruling::Denied(denial) => return Ok(Err(denial)),
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
        let wait = Wait {
            deadline: Instant::now() + settings.approvals.timeout(),
            cancel: vec![
                (parked.pidfd(), Cause::ChildDied),
                (signals.as_fd(), Cause::Signal),
            ],
        };
        Ok(match approver {
            Ok(approver) => approval::obtain(approver, &question, &wait, proof),
            Err(nobody) => Err(Denial::nobody(nobody)),
        })
    }

    /// Loads every policy layer in force for the present folder; gives their names.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line, column and help.
    pub fn check_layers(&self) -> Result<Vec<Source>, Error> {
        let workspace = self.policy_workspace()?;
        let (sources, _) = self.policy(&workspace)?;
        Ok(sources)
    }

    /// Trusts the project policy of the present folder as it stands; gives its file.
    ///
    /// # Errors
    /// There is none, or it does not load.
    pub fn trust_project(&self) -> Result<AbsolutePath, Error> {
        let workspace = self.policy_workspace()?;
        self.policy(&workspace)?;
        let places = layers::Places::discover(&self.environment, &workspace);
        layers::trust(&places)?;
        Ok(places.project_file)
    }

    /// The workspace of the present folder, or the folder itself where it can be none: looking at a
    /// policy needs no workspace.
    fn policy_workspace(&self) -> Result<AbsolutePath, Error> {
        let here = crate::resolve::workspace::current_folder()?;
        let forbidden =
            crate::resolve::workspace::Forbidden::new(self.environment.home(), self.house.own());
        Ok(
            match crate::resolve::workspace::Workspace::open(None, &here, &forbidden) {
                Ok(workspace) => workspace.root,
                Err(_) => here,
            },
        )
    }

    /// Who a command would run as here, in words: for `doctor`.
    ///
    /// # Errors
    /// The policy does not load, or names nobody it could run as.
    pub fn identity_here(&self) -> Result<String, Error> {
        let (_, policy) = self.policy(&self.policy_workspace()?)?;
        let settings = policy.settings();
        let who = identity::identity(
            None,
            &self.environment,
            settings.user.as_deref(),
            settings.forbid_root,
        )?;
        let words = record::identity(&who);
        Ok(match who {
            Identity::RootWithoutCapabilities => format!(
                "{words}: it still owns root's files; better name a user with `--user` or `[sandbox] user`"
            ),
            Identity::User { .. } | Identity::Unchanged => words,
        })
    }

    /// Where decisions are recorded, after opening it for writing: for `doctor`.
    ///
    /// # Errors
    /// It cannot be written, so nothing could run.
    pub fn record_here(&self) -> Result<String, Error> {
        Journal::open(&self.house.state)?;
        Ok(self.house.state.to_string())
    }

    /// Our own places: for `audit` and `doctor`.
    pub fn state(&self) -> &AbsolutePath {
        &self.house.state
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
