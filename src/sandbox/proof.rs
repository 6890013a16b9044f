//! What is known of a parked child without asking it.
//!
//! The kernel tells through `/proc/PID/status` which privileges it has and that a filter is on. For the
//! file, signal and network rules no such line exists, so the child tries what must fail and the parent
//! watches the kernel's own answer through ptrace(2). Each attempt worked before the child was confined,
//! which is what makes its failure a proof of the confinement.

use std::fmt;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::Serialize;

use crate::model::level::Level;
use crate::model::profile::{Identity, Network};
use crate::sys::child::{Message, OBSERVE, Observed};
use crate::sys::trace::{self, Stop};

use super::blueprint::{Landlock, SCOPES};
use super::error::{SandboxError, name};
use super::held::HeldChild;
use super::park::Gate;

mod gated;
mod namespaces;
mod status;

use gated::{EXEC, answer_exec, gated};
pub(super) use gated::{GATED, next_exec};
use status::Status;

/// The claim of a root of its own.
const ABSENT: &str = "files outside the profile are absent";

/// Who says that the rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// The kernel: its answers to the child's attempts were read by ptrace(2).
    Kernel,
    /// The child, since it may not be traced here (Yama, a container). It runs our own code still, but
    /// it is the one being judged.
    SelfReported,
}

/// One thing that was found to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What holds.
    pub claim: &'static str,
    /// What was seen.
    pub evidence: String,
}

/// The proof that a child stands confined. Only [`park`](super::park) makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    level: Level,
    witness: Witness,
    landlock: i32,
    facts: Vec<Fact>,
    notes: Vec<String>,
}

impl Proof {
    /// A proof for tests of later stages, of nothing.
    #[cfg(test)]
    pub(crate) const fn for_tests(level: Level) -> Self {
        Self {
            level,
            witness: Witness::SelfReported,
            landlock: 0,
            facts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The level that is proved.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether it stands in namespaces of its own, with the mounts of its profile.
    pub fn is_apart(&self) -> bool {
        self.facts.iter().any(|fact| fact.claim == ABSENT)
    }

    /// Who says so.
    pub fn witness(&self) -> Witness {
        self.witness
    }

    /// The Landlock ABI in force.
    pub fn landlock(&self) -> i32 {
        self.landlock
    }

    /// What was found to hold.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The proof for people: one line that says it all, then one for each fact and note.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        lines.extend(
            self.facts
                .iter()
                .map(|fact| format!("{}: {}", fact.claim, fact.evidence)),
        );
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let witness = match self.witness {
            Witness::Kernel => "proved by the kernel",
            Witness::SelfReported => "self-reported, since ptrace is refused here",
        };
        write!(
            f,
            "{} {witness}: Landlock ABI {}, {} facts hold",
            self.level,
            self.landlock,
            self.facts.len()
        )
    }
}

/// What the proof has to cover.
pub(super) struct Claims<'a> {
    pub(super) landlock: Landlock,
    pub(super) network: Network,
    pub(super) identity: &'a Identity,
    /// Whether it has a network namespace.
    pub(super) own_network: bool,
    /// What the child could do before it was confined.
    pub(super) before: Observed,
    /// Why it has no namespaces, where it was to have them.
    pub(super) fallen: Option<&'a SandboxError>,
    /// Whether its execs have to wait for the supervisor.
    pub(super) gate: &'a Gate,
    /// Where they wait.
    pub(super) listener: Option<BorrowedFd<'a>>,
}

/// Proves the child, or says what does not hold.
pub(super) fn read(child: &HeldChild, claims: &Claims<'_>) -> Result<Proof, SandboxError> {
    let status = Status::read(child.pid())?;
    let (witness, after) = match watch(child, claims.listener)? {
        Some(seen) => (Witness::Kernel, seen),
        None if claims.listener.is_some() => {
            return Err(SandboxError::Unproved {
                claim: GATED,
                found: "the child may not be traced".into(),
            });
        }
        None => (Witness::SelfReported, ask(child)?),
    };
    let mut facts = status.facts()?;
    let mut notes = Vec::new();
    facts.push(refused(
        "files outside the profile cannot be opened",
        "a file anybody may read: opened before",
        claims.before.witness,
        after.witness,
        Errno::EACCES,
    )?);
    let apart = child.first().is_some();
    if apart {
        facts.push(refused(
            ABSENT,
            "a file of the host: opened before",
            claims.before.outside,
            after.outside,
            Errno::ENOENT,
        )?);
        facts.push(namespaces::own(child, claims.own_network)?);
    }
    if let Some(fallen) = claims.fallen {
        notes.push(fallen.to_string());
    }
    match claims.network {
        Network::Off => facts.push(refused(
            "no network",
            // An outer sandbox may have refused it already; what counts is that it is refused now.
            match claims.before.socket {
                Ok(()) => "an internet socket: made before",
                Err(_) => "an internet socket: refused to the supervisor too",
            },
            Ok(()),
            after.socket,
            Errno::EACCES,
        )?),
        Network::Loopback => notes.push("network: a namespace of its own, loopback only".into()),
        Network::Full => notes.push("network: everything the host can reach".into()),
    }
    match (claims.landlock.abi >= SCOPES, claims.before.signal) {
        (_, Ok(())) if apart && after.signal == Err(Errno::ESRCH) => facts.push(refused(
            "no signal to processes outside",
            "signal 0 to the supervisor: sent before",
            claims.before.signal,
            after.signal,
            Errno::ESRCH,
        )?),
        (true, Ok(())) => facts.push(refused(
            "no signal to processes outside",
            "signal 0 to the supervisor: sent before",
            claims.before.signal,
            after.signal,
            Errno::EPERM,
        )?),
        (true, Err(_)) => notes.push("signals: refused by Landlock, and by the other user".into()),
        (false, _) => notes.push(format!(
            "signals: Landlock ABI {} refuses none, processes of the same user can be signalled",
            claims.landlock.abi
        )),
    }
    facts.push(filtered(
        claims.before.unshare,
        after.unshare,
        &status,
        1 + u64::from(claims.listener.is_some()),
    )?);
    let level = match (claims.gate, claims.listener) {
        (Gate::Wanted, Some(_)) => {
            facts.push(gated(claims.before.exec, after.exec)?);
            if apart { Level::L3 } else { Level::L2 }
        }
        (Gate::Wanted, None) => {
            return Err(SandboxError::Unproved {
                claim: GATED,
                found: "the child sent no listener".into(),
            });
        }
        (Gate::None(why), _) => {
            notes.push(format!("execs of the command are not judged: {why}"));
            Level::L1
        }
    };
    match claims.identity {
        Identity::Unchanged => {}
        Identity::User { uid, .. } => facts.push(status.runs_as(*uid)?),
        Identity::RootWithoutCapabilities => {
            facts.push(status.runs_as(0)?);
            notes.push("runs as uid 0 without any capability; name a user with --user".into());
        }
    }
    Ok(Proof {
        level,
        witness,
        landlock: claims.landlock.abi,
        facts,
        notes,
    })
}

/// An attempt that worked before and is refused now, with the errno that tells who refused it.
fn refused(
    claim: &'static str,
    attempt: &str,
    before: Result<(), Errno>,
    after: Result<(), Errno>,
    expected: Errno,
) -> Result<Fact, SandboxError> {
    let unproved = |found| Err(SandboxError::Unproved { claim, found });
    match (before, after) {
        (Ok(()), Err(errno)) if errno == expected => Ok(Fact {
            claim,
            evidence: format!("{attempt}, now {}", name(errno)),
        }),
        (Err(errno), _) => unproved(format!(
            "the attempt failed before the sandbox stood ({})",
            name(errno)
        )),
        (Ok(()), Ok(())) => unproved(format!("{attempt}, and still")),
        (Ok(()), Err(errno)) => unproved(format!("{attempt}, now {}", name(errno))),
    }
}

/// The filter is ours when it refuses what nothing else refuses; inside another sandbox that refuses it
/// too, our `own` filters more than this process has must do.
fn filtered(
    before: Result<(), Errno>,
    after: Result<(), Errno>,
    status: &Status,
    own: u64,
) -> Result<Fact, SandboxError> {
    let claim = "system calls filtered";
    let Err(errno) = before else {
        return refused(
            claim,
            "unshare of nothing: worked before",
            before,
            after,
            Errno::EPERM,
        );
    };
    let outer = Status::read(nix::unistd::getpid())?;
    if outer.filters.is_some() && status.filters == outer.filters.map(|outer| outer + own) {
        return Ok(Fact {
            claim,
            evidence: format!(
                "{own} filter(s) on top of those of the supervisor ({})",
                name(errno)
            ),
        });
    }
    Err(SandboxError::Unproved {
        claim,
        found: format!(
            "{:?} filters where the supervisor has {:?}",
            status.filters, outer.filters
        ),
    })
}

/// Asks the child what it observes.
fn ask(child: &HeldChild) -> Result<Observed, SandboxError> {
    child
        .command(OBSERVE)
        .map_err(SandboxError::prepare("write"))?;
    answer(child)
}

fn answer(child: &HeldChild) -> Result<Observed, SandboxError> {
    match child.message().map_err(SandboxError::prepare("read"))? {
        Some(Message::Observed(observed)) => Ok(observed),
        Some(
            Message::Failed(..)
            | Message::Ready(_)
            | Message::ExecFailed(_)
            | Message::Placed(..)
            | Message::Unplaced(..),
        )
        | None => Err(SandboxError::Gone),
    }
}

/// The kernel's answers to the child's attempts; `None` when it may not be traced.
fn watch(
    child: &HeldChild,
    listener: Option<BorrowedFd<'_>>,
) -> Result<Option<Observed>, SandboxError> {
    let pid = child.pid();
    let failed = SandboxError::prepare("ptrace");
    let options = ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL;
    match ptrace::seize(pid, options) {
        Ok(()) => {}
        Err(Errno::EPERM | Errno::EACCES | Errno::ENOSYS) => return Ok(None),
        Err(errno) => return Err(failed(errno)),
    }
    ptrace::interrupt(pid).map_err(&failed)?;
    let mut signal = next_stop(pid)?.1;
    child
        .command(OBSERVE)
        .map_err(SandboxError::prepare("write"))?;
    let mut seen = Seen::default();
    let mut entered = None;
    loop {
        ptrace::syscall(pid, signal).map_err(&failed)?;
        if let (Some(listener), Some(EXEC)) = (listener, entered) {
            answer_exec(listener, pid)?;
        }
        let (at_call, passed) = next_stop(pid)?;
        signal = passed;
        if !at_call {
            continue;
        }
        match trace::stop(pid).map_err(&failed)? {
            Stop::Entry(number) if number == libc::SYS_write.cast_unsigned() => break,
            Stop::Entry(number) => entered = Some(number),
            Stop::Exit(result) => seen.note(entered.take(), result),
            Stop::Other => {}
        }
    }
    ptrace::detach(pid, signal).map_err(&failed)?;
    let said = answer(child)?;
    let Some(observed) = seen.all() else {
        return Err(SandboxError::Unproved {
            claim: "the child repeats its attempts",
            found: "the kernel saw fewer".into(),
        });
    };
    if observed == said {
        Ok(Some(observed))
    } else {
        Err(SandboxError::Unproved {
            claim: "the child reports what the kernel answered",
            found: format!("it said {said:?} where the kernel answered {observed:?}"),
        })
    }
}

/// The results of the attempts, in the order in which they are made.
#[derive(Default)]
struct Seen {
    exec: Option<i64>,
    outside: Option<i64>,
    witness: Option<i64>,
    socket: Option<i64>,
    signal: Option<i64>,
    unshare: Option<i64>,
}

impl Seen {
    fn note(&mut self, number: Option<u64>, result: i64) {
        let slots = [
            (libc::SYS_openat, &mut self.outside),
            (libc::SYS_openat, &mut self.witness),
            (libc::SYS_socket, &mut self.socket),
            (libc::SYS_kill, &mut self.signal),
            (libc::SYS_unshare, &mut self.unshare),
            (libc::SYS_execve, &mut self.exec),
        ];
        let free = slots
            .into_iter()
            .find(|(call, slot)| number == Some(call.cast_unsigned()) && slot.is_none());
        if let Some((_, slot)) = free {
            *slot = Some(result);
        }
    }

    fn all(&self) -> Option<Observed> {
        let result = |seen: Option<i64>| {
            let seen = seen?;
            Some(match i32::try_from(-seen) {
                Ok(errno) if seen < 0 => Err(Errno::from_raw(errno)),
                Ok(_) | Err(_) => Ok(()),
            })
        };
        Some(Observed {
            outside: result(self.outside)?,
            witness: result(self.witness)?,
            socket: result(self.socket)?,
            signal: result(self.signal)?,
            unshare: result(self.unshare)?,
            exec: result(self.exec)?,
        })
    }
}

/// Waits for the next stop: whether it is at a system call, and the signal to pass on.
fn next_stop(pid: Pid) -> Result<(bool, Option<Signal>), SandboxError> {
    loop {
        match waitpid(pid, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceSyscall(_)) => return Ok((true, None)),
            Ok(WaitStatus::PtraceEvent(..)) => return Ok((false, None)),
            Ok(WaitStatus::Stopped(_, signal)) => return Ok((false, Some(signal))),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => {
                return Err(SandboxError::Gone);
            }
            Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(SandboxError::prepare("waitpid")(errno)),
        }
    }
}

#[cfg(test)]
mod tests;
