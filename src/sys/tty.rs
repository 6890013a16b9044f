//! Terminal calls that no safe crate offers (tty_ioctl(2)).
#![allow(
    unsafe_code,
    reason = "the ioctl numbers below are declared here with their argument types"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use nix::libc;

/// Size of a terminal window in characters and pixels.
pub type Size = libc::winsize;

mod call {
    use nix::libc;

    nix::ioctl_read_bad!(get_size, libc::TIOCGWINSZ, libc::winsize);
    nix::ioctl_write_ptr_bad!(set_size, libc::TIOCSWINSZ, libc::winsize);
}

/// The window size of the terminal `fd` (TIOCGWINSZ).
pub fn size(fd: impl AsFd) -> io::Result<Size> {
    let mut size = Size {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the kernel writes one `winsize` through the pointer, which is ours for the call.
    // TIOCGWINSZ(2const)
    unsafe { call::get_size(fd.as_fd().as_raw_fd(), &raw mut size) }?;
    Ok(size)
}

/// Sets the window size of the terminal `fd`; the kernel tells its foreground group by SIGWINCH
/// (TIOCSWINSZ).
pub fn set_size(fd: impl AsFd, size: &Size) -> io::Result<()> {
    // SAFETY: the kernel reads one `winsize` through the pointer, which outlives the call.
    // TIOCSWINSZ(2const)
    unsafe { call::set_size(fd.as_fd().as_raw_fd(), size) }?;
    Ok(())
}
