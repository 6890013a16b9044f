//! Signals to the supervisor, taken as they come instead of by default.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::error::LaunchError;

/// SIGINT, SIGTERM, SIGHUP and SIGWINCH to the calling thread, taken by signalfd(2) as long as this
/// value lives. Taken before anything is built, so that a signal at any moment ends the request in
/// order: nothing is left standing, and the record says so.
///
/// A host program with threads that leave these signals unblocked gets them there instead.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
    old: SigSet,
}

impl Signals {
    /// Takes the signals.
    pub fn take() -> Result<Self, LaunchError> {
        let taken: SigSet = [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGWINCH,
        ]
        .into_iter()
        .collect();
        let mut old = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&taken), Some(&mut old))
            .map_err(LaunchError::watch("pthread_sigmask"))?;
        let fd = SignalFd::with_flags(&taken, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(LaunchError::watch("signalfd"))?;
        Ok(Self { fd, old })
    }

    /// The next signal that came, if any.
    pub(super) fn next(&self) -> Option<Signal> {
        let info = self.fd.read_signal().ok()??;
        Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A signal that came in the very end is not left to kill the supervisor before its record is
        // written: it is taken here.
        while self.next().is_some() {}
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.old), None).ok();
    }
}
