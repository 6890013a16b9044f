//! The part of a proof that is about the gate: an exec of the child waits for us, and gets our answer.

use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use super::Fact;
use crate::sandbox::error::{SandboxError, name};
use crate::sys::notify;

/// The claim of the gate.
pub(in crate::sandbox) const GATED: &str =
    "every exec waits for the supervisor and can be stopped after it";

/// What the supervisor answers to the exec that proves the gate; nothing else in its way says so.
const ANSWER: Errno = Errno::ECANCELED;

/// The supervisor's own answer, which the kernel gave the child, proves the listener; that the child was
/// traced while it waited proves that what it executes can be stopped.
pub(super) fn gated(
    before: Result<(), Errno>,
    after: Result<(), Errno>,
) -> Result<Fact, SandboxError> {
    match (before, after) {
        (Err(before), Err(ANSWER)) if before != ANSWER => Ok(Fact {
            claim: GATED,
            evidence: format!(
                "an attempt to execute: {} before, now {}, as the supervisor answered",
                name(before),
                name(ANSWER)
            ),
        }),
        (_, after) => Err(SandboxError::Unproved {
            claim: GATED,
            found: format!("an attempt to execute came to {after:?}"),
        }),
    }
}

/// `SYS_execve` as the kernel reports it.
pub(super) const EXEC: u64 = libc::SYS_execve.cast_unsigned();

/// How long the kernel may take to hand an exec over that it has seen already.
const PATIENCE: u16 = 10_000;

/// Answers the one exec of a child that proves the gate.
pub(super) fn answer_exec(listener: BorrowedFd<'_>, child: Pid) -> Result<(), SandboxError> {
    let waiting = next_exec(listener)?;
    if waiting.tid != child.as_raw() || waiting.number != libc::SYS_execve {
        return Err(SandboxError::Unproved {
            claim: GATED,
            found: format!("call {} of process {} waits", waiting.number, waiting.tid),
        });
    }
    notify::fail(listener, waiting.id, ANSWER).map_err(unanswered)
}

/// The kernel hands no exec over, or takes no answer: there can be no gate. seccomp_unotify(2)
fn unanswered(errno: Errno) -> SandboxError {
    SandboxError::Unproved {
        claim: GATED,
        found: format!("the listener answers {}", name(errno)),
    }
}

/// The exec that has to wait at `listener` now.
pub(in crate::sandbox) fn next_exec(
    listener: BorrowedFd<'_>,
) -> Result<notify::Waiting, SandboxError> {
    let mut ready = [PollFd::new(listener, PollFlags::POLLIN)];
    loop {
        match poll(&mut ready, PollTimeout::from(PATIENCE)) {
            Ok(0) => {
                return Err(SandboxError::Unproved {
                    claim: GATED,
                    found: "an exec does not wait".into(),
                });
            }
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(SandboxError::prepare("poll")(errno)),
        }
    }
    notify::receive(listener).map_err(unanswered)
}
