//! The gate's judge: one exec of a running command, from what was read of it to its answer.
//!
//! The order is that of a line. A deny rule refuses whatever started the exec. Then the nearest decision
//! above it that reaches so far covers it; then the line itself, where it names this very command; only
//! what is left is decided anew, by the deciding order of `approval`, and recorded before it starts.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{PipeWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::errno::Errno;

use crate::approval::{self, Attached, Denial, Forced, Inputs, Ruling, Strictures};
use crate::gate::{Answer, Attempt, Cover, Judge, Mismatch, Start, Stopped};
use crate::model::access::Access;
use crate::model::executable::{Executable, LookupError, Trust};
use crate::model::judgement::{Reason, RuleRef};
use crate::model::path::AbsolutePath;
use crate::model::script::{Assignment, Span, Word};
use crate::model::verdict::Verdict;
use crate::plan::{self, Setting};
use crate::resolve::{Eyes, Held, Resolver, Seen};
use crate::sandbox::Proof;

use super::NEEDED;
use super::call::{Call, Started, judge_exec};
use super::errand::Errand;
use super::error::Error;
use super::loaders::Loaders;
use super::record::{self, ExecDecision};
use super::refused::{Refusal, Refused};
use super::run::Run;

mod coverage;

use coverage::called;
pub(super) use coverage::{cover, image};

/// Variables that a shell sets for whatever it starts.
const KEPT_BY_SHELLS: [&[u8]; 4] = [b"_", b"SHLVL", b"PWD", b"OLDPWD"];

/// Decisions that are remembered as recorded; then the memory starts anew.
const REMEMBERED: usize = 4096;

/// Folders whose programs need no look into PATH to be known by their bare names.
const SYSTEM: [&[u8]; 5] = [
    b"/usr/bin",
    b"/bin",
    b"/usr/sbin",
    b"/sbin",
    b"/usr/local/bin",
];

/// What the gate of one run knows.
pub(super) struct Keeper<'a> {
    run: Run<'a>,
    call: &'a Call,
    proof: &'a Proof,
    /// Id of the decision about the command.
    id: String,
    /// Why the command may run.
    granted: Reason,
    attached: Attached,
    resolver: Resolver,
    restricted: Vec<Vec<u8>>,
    /// Variables that the line sets, which were judged with it.
    assigned: BTreeSet<Vec<u8>>,
    loaders: OnceLock<Loaders>,
    errands: Sender<Errand>,
    wake: Mutex<PipeWriter>,
    refused: Mutex<Refused>,
    /// Decisions that are recorded, by a hash whose key is this run's own.
    made: Mutex<HashSet<u64>>,
    marks: RandomState,
}

/// Why an exec does not happen.
enum No {
    /// As it would fail without us.
    Fails(Errno),
    /// By decision.
    Refused(Box<Refusal>),
}

/// What a keeper is made of.
pub(super) struct Keeping<'a> {
    pub run: Run<'a>,
    pub call: &'a Call,
    pub proof: &'a Proof,
    pub id: String,
    pub granted: Reason,
    pub attached: Attached,
    pub errands: Sender<Errand>,
    pub wake: PipeWriter,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(keeping: Keeping<'a>) -> Self {
        let Keeping {
            run,
            call,
            proof,
            id,
            granted,
            attached,
            errands,
            wake,
        } = keeping;
        let assigned = call.survey.accesses.iter().flatten();
        Self {
            run,
            call,
            proof,
            id,
            granted,
            attached,
            resolver: run.ground.resolver.reusing(),
            restricted: run.ground.policy.restricted_names(),
            assigned: assigned
                .filter_map(|access| match access {
                    Access::Env(name) => Some(name.clone()),
                    Access::Command
                    | Access::Write(_)
                    | Access::Read(_)
                    | Access::Network { .. } => None,
                })
                .collect(),
            loaders: OnceLock::new(),
            errands,
            wake: Mutex::new(wake),
            refused: Mutex::new(Refused::default()),
            made: Mutex::new(HashSet::new()),
            marks: RandomState::new(),
        }
    }

    /// What was refused.
    pub(super) fn into_refused(self) -> Refused {
        self.refused
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, attempt: &Attempt) -> Result<Start, No> {
        let folder = folder(&attempt.cwd);
        let held = self.find(attempt, folder.as_ref())?;
        let executable = held.executable.clone();
        let file = held
            .file
            .try_clone()
            .map_err(|_| No::Fails(Errno::ENFILE))?;
        if self.is_loader(&executable) {
            let refusal = Refusal::of(attempt, Reason::ProgramHidden)
                .about(&executable)
                .because("a dynamic loader runs whatever file it is given".into());
            return Err(No::Refused(Box::new(refusal)));
        }
        let call = self.judged(attempt, held, folder.as_ref())?;
        if call.judgement.verdict == Verdict::Deny {
            let refusal = Refusal::of(attempt, call.judgement.reason)
                .about(&executable)
                .by_rule(denying(&call));
            return Err(No::Refused(Box::new(refusal)));
        }
        let parent = attempt.image.as_deref();
        let cover = match self.covered(attempt, parent, &executable, &call, folder.as_ref()) {
            Some(cover) => cover,
            None => self.anew(attempt, &executable, call, folder)?,
        };
        Ok(Start {
            image: image(parent, &executable, attempt.named(), &attempt.argv, cover),
            executable,
            file: File::from(file),
        })
    }

    fn find(&self, attempt: &Attempt, folder: Option<&AbsolutePath>) -> Result<Held, No> {
        // Almost always it is a plain path. Whatever is not found by it is looked at more closely.
        let plain = attempt.given.starts_with(b"/")
            || (!attempt.given.is_empty() && attempt.base.ends_with("/cwd"));
        if plain && let Ok(held) = self.resolver.executed_at(&attempt.given, folder) {
            return Ok(held);
        }
        let path = self.seen(attempt)?;
        self.resolver
            .executed(&path, folder)
            .map_err(|error| unusable(attempt, error))
    }

    fn seen(&self, attempt: &Attempt) -> Result<AbsolutePath, No> {
        let eyes = Eyes {
            tid: attempt.tid,
            pid: attempt.pid,
            base: &attempt.base,
        };
        match self.resolver.seen(&attempt.given, eyes) {
            Seen::At(path) => Ok(path),
            Seen::Missing(errno) => Err(No::Fails(errno)),
            Seen::Nameless => Err(No::Refused(Box::new(
                Refusal::of(attempt, Reason::ProgramHidden)
                    .because("its file is in memory alone, or was deleted".into()),
            ))),
        }
    }

    fn is_loader(&self, executable: &Executable) -> bool {
        if Loaders::names(executable) {
            return true;
        }
        executable.trust != Trust::Trusted
            && self
                .loaders
                .get_or_init(|| Loaders::find(&self.resolver))
                .has(executable)
    }

    /// The exec under the name of its file, and under the name it is called by where that is another: a
    /// program of many names acts by the one it is called.
    fn judged(
        &self,
        attempt: &Attempt,
        held: Held,
        folder: Option<&AbsolutePath>,
    ) -> Result<Call, No> {
        let executable = held.executable.clone();
        let assignments = self.assignments(&attempt.environment);
        let judge = |name: Vec<u8>, held: Held| {
            let arguments = attempt.argv.iter().skip(1).cloned();
            let argv: Vec<Vec<u8>> = std::iter::once(name).chain(arguments).collect();
            let started = Started {
                argv: &argv,
                folder,
                assignments: assignments.clone(),
                held,
            };
            judge_exec(started, self.run.ground, &self.resolver, &self.restricted).map_err(
                |error| {
                    let refusal = Refusal::of(attempt, Reason::ProgramUnusable)
                        .about(&executable)
                        .because(error.to_string());
                    No::Refused(Box::new(refusal))
                },
            )
        };
        // Rules know what lies in a system folder by its name as well.
        let system = executable
            .path
            .parent()
            .is_some_and(|folder| SYSTEM.contains(&folder.as_bytes()));
        let base = executable.path.base_name();
        let name = if !system && self.resolver.is_found_as(base, &executable) {
            base
        } else {
            executable.path.as_bytes()
        };
        let called = called(&attempt.argv);
        if called.is_empty() || called == base {
            return judge(name.to_vec(), held);
        }
        let copy = Held {
            executable: executable.clone(),
            file: held
                .file
                .try_clone()
                .map_err(|_| No::Fails(Errno::ENFILE))?,
        };
        let by_call = judge(called.to_vec(), copy)?;
        // A name that leads to this very file in PATH is what the program goes by.
        if by_call.judgement.verdict == Verdict::Deny
            || self.resolver.is_found_as(called, &executable)
        {
            return Ok(by_call);
        }
        let mut by_file = judge(name.to_vec(), held)?;
        if by_file.judgement.verdict < by_call.judgement.verdict {
            // What it does under a name of its own choosing no rule has allowed.
            by_file.judgement.verdict = by_call.judgement.verdict;
            by_file.judgement.reason = by_call.judgement.reason;
        }
        Ok(by_file)
    }

    /// Variables that differ from those of the command and that neither a shell nor the line sets.
    fn assignments(&self, environment: &[Vec<u8>]) -> Vec<Assignment> {
        let own = &self.run.ground.fixed.environment;
        environment
            .iter()
            .filter_map(|entry| {
                let equals = entry.iter().position(|byte| *byte == b'=')?;
                let (name, value) = entry.split_at_checked(equals)?;
                let value = value.get(1..).unwrap_or_default();
                let known = own.get(name) == Some(value)
                    || KEPT_BY_SHELLS.contains(&name)
                    || self.assigned.contains(name);
                (!known).then(|| Assignment {
                    name: name.to_vec(),
                    value: Word::text(Span::default(), value),
                })
            })
            .collect()
    }

    /// Decides about the exec as about a line of its own.
    fn anew(
        &self,
        attempt: &Attempt,
        executable: &Executable,
        call: Call,
        folder: Option<AbsolutePath>,
    ) -> Result<Cover, No> {
        let ground = self.run.ground;
        let standing = approval::Sandbox::Proved(self.proof.level());
        let inputs = Inputs {
            policy: approval::Policy::Judged(&call.judgement),
            sandbox: standing,
            needed: NEEDED,
            forced: Forced::of(&call.judgement, &call.survey, Strictures::Some, standing),
            mode: ground.mode,
            profile: ground.profile.name,
            attached: self.attached,
        };
        let setting = Setting {
            environment: attempt
                .environment
                .iter()
                .map(|entry| split(entry))
                .collect(),
            cwd: folder.unwrap_or_else(|| ground.cwd.clone()),
            profile: ground.profile.clone(),
            temporary: ground.temporary.clone(),
            identity: ground.identity.clone(),
        };
        let plan = plan::running(executable.clone(), attempt.argv.clone(), setting);
        let object = approval::identify(&plan, &call.survey, &call.pinned.resolved);
        let verdict = call.judgement.verdict;
        let sub = call.survey.script.subcommands.first().cloned();
        let (said, waited) = match approval::rule(&inputs, self.proof, object) {
            Ruling::Granted(approval) => (Ok(approval), None),
            Ruling::Denied(denial) => (Err(denial), None),
            Ruling::Ask { why, forced } => self.ask(attempt, call, plan, (why, forced)),
        };
        let refusal = |denial: &Denial| {
            Refusal::of(attempt, denial.reason())
                .about(executable)
                .judged(verdict)
                .said(denial, waited)
        };
        let approval = said.map_err(|denial| No::Refused(Box::new(refusal(&denial))))?;
        let decision = ExecDecision {
            verdict,
            outcome: Verdict::Allow,
            reason: approval.reason(),
            by: approval.by(),
            note: None,
            object: Some(object),
            waited: waited.unwrap_or_default(),
            program: executable.real.as_bytes(),
            digest: Some(executable.digest),
            rule: None,
            detail: None,
        };
        if let Err(error) = self.record(attempt, &decision) {
            // What is not recorded does not start.
            let refusal = Refusal::of(attempt, Reason::SandboxUnavailable)
                .about(executable)
                .because(error.to_string());
            return Err(No::Refused(Box::new(refusal)));
        }
        // Used up here: one approval, one start.
        let reason = approval.reason();
        drop(approval);
        Ok(sub.map_or(Cover::Nothing, |sub| cover(&sub, reason)))
    }

    /// Has the thread that runs the command ask; the exec waits in the kernel meanwhile.
    fn ask(
        &self,
        attempt: &Attempt,
        call: Call,
        plan: plan::Plan,
        why: (Reason, bool),
    ) -> (
        Result<approval::Approval, Denial>,
        Option<std::time::Duration>,
    ) {
        let cancelled = || (Err(Denial::of(Reason::Cancelled)), None);
        let Ok(process) = attempt.process().try_clone_to_owned() else {
            return cancelled();
        };
        let (reply, answer) = channel();
        let errand = Errand {
            call,
            plan,
            why,
            lineage: attempt
                .image
                .as_ref()
                .map(|image| image.lineage.clone())
                .unwrap_or_default(),
            process,
            reply,
        };
        let sent = self.errands.send(errand).is_ok() && {
            let mut wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
            wake.write_all(&[1]).is_ok()
        };
        if !sent {
            return cancelled();
        }
        match answer.recv() {
            Ok((said, waited)) => (said, Some(waited)),
            // The run is over.
            Err(_) => cancelled(),
        }
    }

    /// Records a decision, once for a run that makes it again and again: a person's each time.
    fn record(&self, attempt: &Attempt, decision: &ExecDecision<'_>) -> Result<(), Error> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = self.marks.hash_one((
            &attempt.argv,
            decision.program,
            decision.digest.map(|digest| digest.0),
            decision.reason.code(),
            decision.rule,
        ));
        if made.contains(&mark) && decision.by.is_none() {
            return Ok(());
        }
        record::exec(self.run.journal, &self.id, attempt, decision)?;
        if made.len() >= REMEMBERED {
            made.clear();
        }
        made.insert(mark);
        Ok(())
    }

    fn refuse(&self, attempt: &Attempt, refusal: Refusal) {
        // It does not run whether this can be written or not.
        self.record(attempt, &refusal.decision()).ok();
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.add(refusal);
    }
}

impl Judge for Keeper<'_> {
    fn judge(&self, attempt: &Attempt) -> Answer {
        match self.decide(attempt) {
            Ok(start) => Answer::Start(Box::new(start)),
            Err(No::Fails(errno)) => Answer::Fail(errno),
            Err(No::Refused(refusal)) => {
                let over = refusal.is_for_the_end();
                self.refuse(attempt, *refusal);
                if over {
                    Answer::Leave
                } else {
                    Answer::Fail(Errno::EACCES)
                }
            }
        }
    }

    fn stopped(&self, attempt: &Attempt, why: &Stopped) {
        let reason = match why {
            Stopped::Mismatch(Mismatch::Changed { .. } | Mismatch::Unknown { .. }) => {
                Reason::CallChanged
            }
            Stopped::Untraceable(_) => Reason::SandboxUnavailable,
        };
        self.refuse(
            attempt,
            Refusal::of(attempt, reason).because(why.to_string()),
        );
    }
}

/// The rule behind a denial.
fn denying(call: &Call) -> Option<RuleRef> {
    call.judgement
        .subcommands
        .iter()
        .find(|sub| sub.verdict == Verdict::Deny)
        .and_then(|sub| sub.rule.clone())
}

/// A file that is not there fails as it would by itself; one that cannot be identified is refused.
fn unusable(attempt: &Attempt, error: LookupError) -> No {
    match error {
        LookupError::NotFound(_) => No::Fails(Errno::ENOENT),
        LookupError::Directory(_) | LookupError::NotExecutable(_) => No::Fails(Errno::EACCES),
        LookupError::Unreadable(_) | LookupError::Interpreter { .. } => No::Refused(Box::new(
            Refusal::of(attempt, Reason::ProgramUnusable).because(error.to_string()),
        )),
    }
}

/// A folder by the name the kernel shows; none for one that was deleted, which has this added to it.
fn folder(cwd: &[u8]) -> Option<AbsolutePath> {
    if cwd.ends_with(b" (deleted)") {
        return None;
    }
    AbsolutePath::new(std::ffi::OsStr::from_bytes(cwd)).ok()
}

fn split(entry: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let equals = entry.iter().position(|byte| *byte == b'=');
    let (name, value) = entry
        .split_at_checked(equals.unwrap_or(entry.len()))
        .unwrap_or((entry, b""));
    (name.to_vec(), value.get(1..).unwrap_or_default().to_vec())
}
