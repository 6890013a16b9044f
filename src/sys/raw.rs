//! System calls as numbers and words: no allocation, no lock, no panic, so that a forked child of a
//! threaded process may use them (signal-safety(7)).

use std::ffi::{c_int, c_long};

use nix::errno::Errno;
use nix::libc;

/// The system call `nr` with up to six words. The result is the kernel's, an error its errno.
///
/// # Safety
/// A word that the call takes for an address must point at memory that is valid, and long enough, for
/// what the call does with it until it returns.
pub(super) unsafe fn call(nr: c_long, words: [usize; 6]) -> Result<c_long, Errno> {
    let [a, b, c, d, e, f] = words;
    // SAFETY: the caller vouches for every word that is an address. syscall(2)
    Errno::result(unsafe { libc::syscall(nr, a, b, c, d, e, f) })
}

/// A system call none of whose words is an address, or whose addresses are null on purpose.
pub(super) fn plain(nr: c_long, words: [usize; 6]) -> Result<c_long, Errno> {
    // SAFETY: this module's callers pass numbers and null only, never the address of an object.
    unsafe { call(nr, words) }
}

/// A descriptor or other int as the kernel reads it: sign-extended, of which it takes the low half.
pub(super) const fn word(int: c_int) -> usize {
    int as isize as usize
}

/// prctl(2) with numbers only.
pub(super) fn prctl(option: c_int, a: usize, b: usize) -> Result<c_long, Errno> {
    plain(libc::SYS_prctl, [word(option), a, b, 0, 0, 0])
}
