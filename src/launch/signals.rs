//! Signals to the supervisor, taken as they come instead of by default.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::error::LaunchError;

/// SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGWINCH to the calling thread, taken by signalfd(2) as long as this
/// value lives. Taken before anything is built, so that a signal at any moment ends the request in
/// order: nothing is left standing, and the record says so.
///
/// A host program with threads that leave these signals unblocked gets them there instead.
#[derive(Debug)]
pub struct Signals {
    stop: SignalFd,
    resize: SignalFd,
    old: SigSet,
}

impl Signals {
    /// Takes the signals.
    pub fn take() -> Result<Self, LaunchError> {
        // SIGQUIT too: by default it would leave the terminal raw and the cancellation unrecorded.
        let stop: SigSet = [
            Signal::SIGINT,
            Signal::SIGQUIT,
            Signal::SIGTERM,
            Signal::SIGHUP,
        ]
        .into_iter()
        .collect();
        let resize: SigSet = [Signal::SIGWINCH].into_iter().collect();
        let both: SigSet = stop.iter().chain(resize.iter()).collect();
        let mut old = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&both), Some(&mut old))
            .map_err(LaunchError::watch("pthread_sigmask"))?;
        let open = |set: &SigSet| {
            SignalFd::with_flags(set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
                .map_err(LaunchError::watch("signalfd"))
        };
        Ok(Self {
            stop: open(&stop)?,
            resize: open(&resize)?,
            old,
        })
    }

    /// The next signal that says to stop, if any came.
    pub(super) fn next_stop(&self) -> Option<Signal> {
        next(&self.stop)
    }

    /// Whether the terminal was resized since this was last asked.
    pub(super) fn was_resized(&self) -> bool {
        let mut resized = false;
        while next(&self.resize).is_some() {
            resized = true;
        }
        resized
    }

    /// Readable when the terminal was resized.
    pub(super) fn resize_fd(&self) -> BorrowedFd<'_> {
        self.resize.as_fd()
    }
}

fn next(fd: &SignalFd) -> Option<Signal> {
    let info = fd.read_signal().ok()??;
    Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()
}

impl AsFd for Signals {
    /// Readable when a signal says to stop.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A signal that came in the very end is not left to kill the supervisor before its record is
        // written: it is taken here.
        while self.next_stop().is_some() {}
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.old), None).ok();
    }
}
