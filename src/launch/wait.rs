//! Watching a command to its end: its exit, its limit, signals to the supervisor, its terminal.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::killpg;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use crate::model::outcome::Outcome;
use crate::sys::fail;

use super::error::LaunchError;
use super::relay::Relay;
use super::signals::Signals;
use super::start::Running;
use super::tree::{Felled, Process};

/// Something that moves bytes while the command runs: the relay of its terminal.
pub trait Pump {
    /// What to wait for, with its events.
    fn fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)>;
    /// Moves what can be moved without waiting. A terminal that fails is a terminal that is gone; the
    /// command goes on without it.
    fn ready(&mut self) -> Turn;
    /// Our own terminal has another size (SIGWINCH).
    fn resized(&mut self);
}

/// What came of one turn of a pump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Time that somebody took to answer, which is not the command's.
    pub uncharged: Duration,
    /// Whether the command is to be ended.
    pub stop: bool,
}

impl Pump for Relay {
    fn fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        Self::fds(self)
    }

    fn ready(&mut self) -> Turn {
        // A terminal that fails is a terminal that is gone; the end of the command shows elsewhere.
        Self::ready(self).ok();
        Turn::default()
    }

    fn resized(&mut self) {
        Self::resize(self).ok();
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its outcome.
    pub outcome: Outcome,
    /// Descendants that were killed, at the limit or after the command's own end.
    pub killed: Vec<Process>,
    /// Descendants that could not be killed.
    pub survivors: Vec<Process>,
    /// From the word to start until the end of the command.
    pub duration: Duration,
}

/// How long the command has after a signal was passed on to it.
pub const GRACE: Duration = Duration::from_secs(5);

/// Why the command is being ended by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Limit,
    Signal,
}

impl Running {
    /// Waits until the command ends, or ends it: at `limit` its whole tree is killed. SIGINT, SIGQUIT,
    /// SIGTERM or SIGHUP to the calling thread is passed on to the command's group; when it has not ended
    /// after [`GRACE`], or at a second signal, its tree is killed; either way the outcome is `Cancelled`.
    /// What the command leaves running is killed after its own end.
    pub fn wait(
        mut self,
        signals: &Signals,
        limit: Option<Duration>,
        pump: Option<&mut dyn Pump>,
    ) -> Result<Ended, LaunchError> {
        fail::point("command-running");
        let watched = self.watch(signals, limit, pump);
        let (cause, felled) = match watched {
            Ok(None) => (None, None),
            Ok(Some(cause)) => (Some(cause), Some(self.tree.fell())),
            Err(error) => {
                self.tree.fell();
                return Err(error);
            }
        };
        let status = self.reap()?;
        let duration = self.started.elapsed();
        fail::point("command-ended");
        let mut felled = felled.unwrap_or_default();
        let Felled { killed, survivors } = self.tree.fell();
        self.felled = true;
        felled.killed.extend(killed);
        felled.survivors = survivors;
        Ok(Ended {
            outcome: match cause {
                Some(Cause::Limit) => Outcome::TimedOut,
                Some(Cause::Signal) => Outcome::Cancelled,
                None => status,
            },
            killed: felled.killed,
            survivors: felled.survivors,
            duration,
        })
    }

    /// Until the command has ended, `None`, or has to be; `Some(Signal)` also when it ended after one.
    fn watch(
        &self,
        signals: &Signals,
        limit: Option<Duration>,
        mut pump: Option<&mut dyn Pump>,
    ) -> Result<Option<Cause>, LaunchError> {
        let mut limit = limit.map(|limit| self.started + limit);
        let mut grace: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if limit.is_some_and(|limit| now >= limit) {
                return Ok(Some(Cause::Limit));
            }
            if grace.is_some_and(|grace| now >= grace) {
                return Ok(Some(Cause::Signal));
            }
            let next = limit.into_iter().chain(grace).min();
            let mut fds = vec![
                PollFd::new(self.child.pidfd(), PollFlags::POLLIN),
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(signals.resize_fd(), PollFlags::POLLIN),
            ];
            if let Some(pump) = &pump {
                let more = pump.fds();
                fds.extend(more.into_iter().map(|(fd, events)| PollFd::new(fd, events)));
            }
            match poll(&mut fds, patience(next, now)) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(LaunchError::watch("poll")(errno)),
            }
            let is_ready = |place: usize| {
                fds.get(place)
                    .and_then(PollFd::any)
                    .is_some_and(|ready| ready)
            };
            let ended = is_ready(0);
            drop(fds);
            let resized = signals.was_resized();
            if let Some(pump) = pump.as_mut() {
                if resized {
                    pump.resized();
                }
                let turn = pump.ready();
                limit = limit.map(|limit| limit + turn.uncharged);
                if turn.stop {
                    return Ok(Some(Cause::Signal));
                }
            }
            if ended {
                return Ok(grace.map(|_| Cause::Signal));
            }
            while let Some(signal) = signals.next_stop() {
                if grace.is_some() {
                    return Ok(Some(Cause::Signal));
                }
                // The command is not reaped yet, so its group is still its own.
                killpg(self.child.pid(), signal).ok();
                grace = Some(Instant::now() + GRACE);
            }
        }
    }

    /// Takes the status of the command, which has ended or been killed.
    fn reap(&mut self) -> Result<Outcome, LaunchError> {
        loop {
            match waitpid(self.child.pid(), Some(WaitPidFlag::__WALL)) {
                Ok(WaitStatus::Exited(_, code)) => {
                    self.child.set_ended();
                    return Ok(Outcome::Exited(
                        u8::try_from(code & 0xff).unwrap_or(u8::MAX),
                    ));
                }
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    self.child.set_ended();
                    return Ok(Outcome::Signalled(signal as i32));
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(LaunchError::watch("waitpid")(errno)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing outlives the value that stands for it, on any way out.
        if !self.felled {
            self.tree.fell();
        }
    }
}

/// The time to the next deadline, rounded up so that it has passed when poll returns.
fn patience(next: Option<Instant>, now: Instant) -> PollTimeout {
    next.map_or(PollTimeout::NONE, |next| {
        let left = next.saturating_duration_since(now) + Duration::from_millis(1);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    })
}
