//! ptrace(2) beyond what nix wraps: what a stopped task is doing at a system call.

use std::mem::{self, MaybeUninit};

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

use super::raw;

/// `PTRACE_GET_SYSCALL_INFO`
const GET_SYSCALL_INFO: i32 = 0x420e;
/// `PTRACE_SYSCALL_INFO_ENTRY`
const ENTRY: u8 = 1;
/// `PTRACE_SYSCALL_INFO_EXIT`
const EXIT: u8 = 2;

/// `struct ptrace_syscall_info`; the union at its end is eight words whose first is the number of the
/// call or its result.
#[repr(C)]
struct Info {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction: u64,
    stack: u64,
    words: [u64; 8],
}

/// Where a task stands that stopped because of `PTRACE_SYSCALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Before the call of this number.
    Entry(u64),
    /// After a call: its result, a negative one being an errno.
    Exit(i64),
    /// Elsewhere.
    Other,
}

/// What the stopped task `pid` is doing. ptrace(2), PTRACE_GET_SYSCALL_INFO
pub fn stop(pid: Pid) -> Result<Stop, Errno> {
    let mut info = MaybeUninit::<Info>::zeroed();
    let words = [
        raw::word(GET_SYSCALL_INFO),
        raw::word(pid.as_raw()),
        mem::size_of::<Info>(),
        info.as_mut_ptr() as usize,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most the size given, which is that of `info`. ptrace(2)
    unsafe { raw::call(libc::SYS_ptrace, words) }?;
    // SAFETY: zeroed above, and every bit pattern is a valid `Info` of integers.
    let info = unsafe { info.assume_init() };
    let [first, ..] = info.words;
    Ok(match info.op {
        ENTRY => Stop::Entry(first),
        EXIT => Stop::Exit(first.cast_signed()),
        _ => Stop::Other,
    })
}
