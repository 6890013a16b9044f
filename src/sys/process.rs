//! Processes by descriptor.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::raw;

/// A descriptor of the process `pid`, which keeps meaning that process when the number is used again.
/// pidfd_open(2)
pub fn open(pid: Pid) -> Result<OwnedFd, Errno> {
    let fd = raw::plain(
        libc::SYS_pidfd_open,
        [raw::word(pid.as_raw()), 0, 0, 0, 0, 0],
    )?;
    let fd = i32::try_from(fd).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just made this descriptor for us alone. pidfd_open(2)
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends `signal` to the very process `pidfd` was opened for; `None` only asks whether it could be.
/// pidfd_send_signal(2)
pub fn signal(pidfd: BorrowedFd<'_>, signal: Option<Signal>) -> Result<(), Errno> {
    let number = signal.map_or(0, |signal| signal as i32);
    raw::plain(
        libc::SYS_pidfd_send_signal,
        [raw::word(pidfd.as_raw_fd()), raw::word(number), 0, 0, 0, 0],
    )
    .map(|_| ())
}

/// A copy of `fd` numbered `least` or higher, which closes on exec. fcntl(2), F_DUPFD_CLOEXEC
pub fn copy_above(fd: BorrowedFd<'_>, least: i32) -> Result<OwnedFd, Errno> {
    let number = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(least))?;
    // SAFETY: the kernel has just made this descriptor for us alone. fcntl(2)
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// A copy of our descriptor `number`, whatever it is open on, which closes on exec: for numbers that a
/// caller names. EBADF when it is not open. fcntl(2), F_DUPFD_CLOEXEC
pub fn copy_of(number: i32) -> Result<OwnedFd, Errno> {
    let copy = raw::plain(
        libc::SYS_fcntl,
        [
            raw::word(number),
            raw::word(libc::F_DUPFD_CLOEXEC),
            3,
            0,
            0,
            0,
        ],
    )?;
    let copy = i32::try_from(copy).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just made this descriptor for us alone. fcntl(2)
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
