//! A child that is ours until it is handed on: dropped, it is killed and reaped.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, write};

use crate::sys::child::{self, Child, Forked, Message};
use crate::sys::process;

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
    control: OwnedFd,
    ended: bool,
    _thread: PhantomData<*const ()>,
}

impl HeldChild {
    /// Forks it. Nobody sees it before it is listed as live, so that no other run of this process takes
    /// it for an orphan.
    pub(super) fn fork(child: &Child<'_>, control: OwnedFd) -> Result<Self, Errno> {
        let mut live = locked();
        let forked = child::fork(child)?;
        live.insert(forked.pid.as_raw());
        Ok(Self {
            forked,
            control,
            ended: false,
            _thread: PhantomData,
        })
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
        Ok(self.receive()?.0)
    }

    /// The next message with the descriptor that came with it.
    pub(super) fn receive(&self) -> Result<(Option<Message>, Option<OwnedFd>), Errno> {
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
        match child::receive(self.control.as_fd()) {
            Err(Errno::ECONNRESET) => Ok((None, None)),
            answer => answer,
        }
    }

    /// Says that somebody has reaped it, so that its number may mean another process.
    pub fn set_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for HeldChild {
    fn drop(&mut self) {
        locked().remove(&self.forked.pid.as_raw());
        if self.ended {
            return;
        }
        process::signal(self.pidfd(), Some(Signal::SIGKILL)).ok();
        // A killed child that is traced is reported as well; only its end counts.
        while waitpid(self.forked.pid, Some(WaitPidFlag::__WALL))
            .is_ok_and(|status| status.pid().is_some() && !has_ended(status))
        {}
    }
}

fn has_ended(status: nix::sys::wait::WaitStatus) -> bool {
    use nix::sys::wait::WaitStatus;
    matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..))
}
