//! Why a command did not start, or could not be watched to its end.

use nix::errno::Errno;

use crate::gate::Mismatch;
use crate::model::path::AbsolutePath;

/// Why nothing of the command has run, but for [`LaunchError::Watch`].
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel refused to execute the file.
    #[error("cannot execute `{path}`")]
    Exec {
        /// The file.
        path: AbsolutePath,
        /// ENOENT, EACCES, ENOEXEC, ETXTBSY, E2BIG, … execve(2)
        source: Errno,
    },
    /// What would have run is not what was judged; it was killed before its first instruction.
    #[error(transparent)]
    Changed(#[from] Mismatch),
    /// The parked child ended before it could start.
    #[error("the parked child ended before it could start")]
    Gone,
    /// A system call failed before the start.
    #[error("cannot start the command: {call} fails")]
    Start {
        /// The call.
        call: &'static str,
        /// Its errno.
        source: Errno,
    },
    /// A system call failed while the command ran; its tree was killed.
    #[error("cannot watch the command: {call} fails")]
    Watch {
        /// The call.
        call: &'static str,
        /// Its errno.
        source: Errno,
    },
}

impl LaunchError {
    pub(super) fn start(call: &'static str) -> impl Fn(Errno) -> Self {
        move |source| Self::Start { call, source }
    }

    pub(super) fn watch(call: &'static str) -> impl Fn(Errno) -> Self {
        move |source| Self::Watch { call, source }
    }
}
