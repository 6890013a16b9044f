//! How long and under which conditions an answer is waited for.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::approver::ApproverError;

/// What ends a question.
#[derive(Clone, Debug)]
pub struct Wait<'a> {
    /// When it is too late. The clock belongs to the request: it runs from when it was made, whoever
    /// takes the question when.
    pub deadline: Instant,
    /// Descriptors that cancel the question when they become readable: the pidfd of the parked child
    /// (pidfd_open(2)), a descriptor of signals (signalfd(2)). Nothing is read from them.
    pub cancel: Vec<(BorrowedFd<'a>, Cause)>,
}

/// Why a question was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// tipstaff got a signal.
    Signal,
    /// The parked child died: there is nothing left to start.
    ChildDied,
    /// The policy in force is another one by now, and judges differently.
    PolicyChanged,
}

impl Cause {
    /// The cause in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Signal => "tipstaff was told to stop",
            Self::ChildDied => "the parked command died",
            Self::PolicyChanged => "the policy changed",
        }
    }
}

/// What happened first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// Something can be done with a descriptor; the events of each, in the order given.
    Ready(Vec<PollFlags>),
    /// The moment given has come.
    Elapsed,
}

impl Wait<'_> {
    /// Time until the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether an answer still counts now.
    pub fn still_open(&self) -> Result<(), ApproverError> {
        self.poll(&[], Instant::now()).map(|_| ())
    }

    /// Waits for any of `own` or for `until`. Cancelling and the deadline come before both.
    pub(super) fn poll(
        &self,
        own: &[(BorrowedFd<'_>, PollFlags)],
        until: Instant,
    ) -> Result<Woken, ApproverError> {
        let mut fds: Vec<PollFd<'_>> = self
            .cancel
            .iter()
            .map(|(fd, _)| PollFd::new(*fd, PollFlags::POLLIN))
            .chain(own.iter().map(|(fd, events)| PollFd::new(*fd, *events)))
            .collect();
        let stop = until.min(self.deadline);
        loop {
            let count = match poll(&mut fds, timeout(stop)) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(errno) => {
                    return Err(ApproverError::Wait {
                        source: io::Error::from(errno),
                    });
                }
            };
            let events = |fd: &PollFd<'_>| fd.revents().unwrap_or(PollFlags::POLLERR);
            let fired = fds
                .iter()
                .zip(&self.cancel)
                .find(|(fd, _)| !events(fd).is_empty());
            if let Some((_, (_, cause))) = fired {
                return Err(ApproverError::Cancelled(*cause));
            }
            let now = Instant::now();
            if now >= self.deadline {
                return Err(ApproverError::Timeout);
            }
            if count > 0 {
                return Ok(Woken::Ready(
                    fds.iter().skip(self.cancel.len()).map(events).collect(),
                ));
            }
            if now >= until {
                return Ok(Woken::Elapsed);
            }
        }
    }
}

/// Milliseconds until `stop`, rounded up so that it has passed when poll(2) returns; capped at a
/// minute, after which the caller looks at the clock again.
fn timeout(stop: Instant) -> PollTimeout {
    let left = stop.saturating_duration_since(Instant::now());
    let millis = left.as_nanos().div_ceil(1_000_000).min(60_000);
    u16::try_from(millis).map_or(PollTimeout::MAX, PollTimeout::from)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;
    use std::time::{Duration, Instant};

    use nix::poll::PollFlags;

    use super::{Cause, Wait, Woken};
    use crate::approval::approver::ApproverError;

    fn wait(time: Duration) -> Wait<'static> {
        Wait {
            deadline: Instant::now() + time,
            cancel: Vec::new(),
        }
    }

    #[test]
    fn cancelling_comes_before_an_answer() {
        let (child, mut died) = std::io::pipe().unwrap();
        let (answer, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"y").unwrap();
        let mut wait = wait(Duration::from_secs(60));
        wait.cancel.push((child.as_fd(), Cause::ChildDied));
        let own = [(answer.as_fd(), PollFlags::POLLIN)];
        let far = Instant::now() + Duration::from_secs(60);
        assert!(matches!(
            wait.poll(&own, far),
            Ok(Woken::Ready(events)) if events == [PollFlags::POLLIN]
        ));
        died.write_all(b"x").unwrap();
        assert!(matches!(
            wait.poll(&own, far),
            Err(ApproverError::Cancelled(Cause::ChildDied))
        ));
    }

    #[test]
    fn the_deadline_comes_before_an_answer() {
        let (answer, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"y").unwrap();
        let wait = wait(Duration::ZERO);
        let own = [(answer.as_fd(), PollFlags::POLLIN)];
        assert!(matches!(
            wait.poll(&own, Instant::now() + Duration::from_secs(60)),
            Err(ApproverError::Timeout)
        ));
        assert!(matches!(wait.still_open(), Err(ApproverError::Timeout)));
    }

    #[test]
    fn a_moment_can_be_waited_for() {
        let wait = wait(Duration::from_secs(60));
        assert_eq!(wait.poll(&[], Instant::now()).unwrap(), Woken::Elapsed);
        assert!(wait.still_open().is_ok());
    }
}
