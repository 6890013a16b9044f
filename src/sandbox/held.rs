//! A child that is ours until it is handed on: dropped, it is killed and reaped.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, read, write};

use crate::sys::child::{self, Child, Forked, Message};
use crate::sys::process;

use super::error::SandboxError;

/// How long a child may take for a step that has no reason to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Process ids of the children that are held in this process, which are their sessions too.
static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The sessions of every child that is held in this process now, parked or running.
pub fn live() -> BTreeSet<i32> {
    locked().clone()
}

fn locked() -> MutexGuard<'static, BTreeSet<i32>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A confined child and the line to it. It stays on the thread that forked it: its death signal and its
/// tracing hang on that thread. prctl(2) PR_SET_PDEATHSIG, ptrace(2)
#[derive(Debug)]
pub struct HeldChild {
    forked: Forked,
    /// Process 1 of its namespaces: when it dies, so does everything in them.
    first: Option<Forked>,
    control: OwnedFd,
    /// A message that came before the child was known.
    early: Cell<Option<Message>>,
    ended: bool,
    _thread: PhantomData<*const ()>,
}

impl HeldChild {
    /// Forks it. Nobody sees it before it is listed as live, so that no other run of this process takes
    /// it for an orphan.
    pub(super) fn fork(child: &Child<'_>, control: OwnedFd) -> Result<Self, SandboxError> {
        let mut live = locked();
        let forked = child::fork(child).map_err(SandboxError::prepare("clone"))?;
        let mut held = Self {
            forked,
            first: None,
            control,
            early: Cell::new(None),
            ended: false,
            _thread: PhantomData,
        };
        let placed = match &child.apart {
            Some(_) => held.take_place(),
            None => Ok(()),
        };
        live.insert(held.pid().as_raw());
        // A value that is dropped takes itself off the list.
        drop(live);
        placed.map(|()| held)
    }

    /// The process that was forked only makes the namespaces and the child in them: takes both over from
    /// it and reaps it.
    fn take_place(&mut self) -> Result<(), SandboxError> {
        loop {
            match self.receive().map_err(SandboxError::prepare("read"))? {
                Some(Message::Placed(first, command)) => {
                    self.first = Some(opened(first)?);
                    end(&std::mem::replace(&mut self.forked, opened(command)?));
                    return Ok(());
                }
                Some(Message::Unplaced(step, errno, first)) => {
                    self.first = first.map(opened).transpose()?;
                    return Err(SandboxError::step(step, errno));
                }
                // The child may be quicker than who made it.
                Some(early @ (Message::Ready(_) | Message::Failed(..))) => {
                    self.early.set(Some(early))
                }
                Some(Message::Observed(_) | Message::ExecFailed(_)) | None => {
                    return Err(SandboxError::Gone);
                }
            }
        }
    }

    /// The first process of its namespaces, where it has its own.
    pub fn first(&self) -> Option<Pid> {
        self.first.as_ref().map(|first| first.pid)
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.forked.pid
    }

    /// Its descriptor; readable once it has ended. pidfd_open(2)
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.forked.pidfd.as_fd()
    }

    /// Sends a one-byte command.
    pub fn command(&self, command: u8) -> Result<(), Errno> {
        write(&self.control, &[command]).map(|_| ())
    }

    /// The next message; `None` when it has ended, or says what no child says.
    pub fn message(&self) -> Result<Option<Message>, Errno> {
        match self.early.take() {
            Some(early) => Ok(Some(early)),
            None => self.receive(),
        }
    }

    fn receive(&self) -> Result<Option<Message>, Errno> {
        let patience = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
        let mut ready = [PollFd::new(self.control.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut ready, patience) {
                Ok(0) => return Err(Errno::ETIMEDOUT),
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        let mut bytes = [0u8; Message::BYTES];
        match read(&self.control, &mut bytes) {
            Ok(length) => Ok(bytes.get(..length).and_then(Message::read)),
            Err(Errno::ECONNRESET) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Says that somebody has reaped it, so that its number may mean another process.
    pub fn set_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for HeldChild {
    fn drop(&mut self) {
        if !self.ended {
            end(&self.forked);
        }
        if let Some(first) = &self.first {
            end(first);
        }
        locked().remove(&self.forked.pid.as_raw());
    }
}

/// A child of ours that is not reaped yet, by its number.
fn opened(pid: i32) -> Result<Forked, SandboxError> {
    let pid = Pid::from_raw(pid);
    let pidfd = process::open(pid).map_err(SandboxError::prepare("pidfd_open"))?;
    Ok(Forked { pid, pidfd })
}

/// Kills and reaps a child.
fn end(child: &Forked) {
    process::signal(child.pidfd.as_fd(), Some(Signal::SIGKILL)).ok();
    // A killed child that is traced is reported as well; only its end counts.
    while waitpid(child.pid, Some(WaitPidFlag::__WALL))
        .is_ok_and(|status| status.pid().is_some() && !has_ended(status))
    {}
}

fn has_ended(status: nix::sys::wait::WaitStatus) -> bool {
    use nix::sys::wait::WaitStatus;
    matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..))
}
