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

/// What waitpid(2) tells of a traced task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Stopped after an exec, before the first instruction of the new program. PTRACE_EVENT_EXEC
    Executed,
    /// Stopped where it was interrupted, or with its whole group. PTRACE_EVENT_STOP
    Halted,
    /// Stopped with a signal that it has not got yet, by number: real-time signals have no name.
    Signal(i32),
    /// Stopped for another reason.
    Other,
    /// It has ended.
    Ended,
}

/// Waits for the next word of any task that this very thread traces. The end of a process that is also a
/// child of this process is told and left: it is for whoever started it to take. waitid(2), __WNOTHREAD
pub fn told() -> Result<(Pid, Told), Errno> {
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD;
    let mut seen = Seen::default();
    let words = [
        raw::word(libc::P_ALL.cast_signed()),
        0,
        std::ptr::from_mut(&mut seen) as usize,
        raw::word(flags),
        0,
        0,
    ];
    loop {
        // SAFETY: the kernel writes a `siginfo_t`, which is 128 bytes on every architecture; a null
        // rusage is not written. waitid(2)
        match unsafe { raw::call(libc::SYS_waitid, words) } {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) => break,
        }
    }
    let pid = Pid::from_raw(seen.pid);
    let ended = matches!(
        seen.code,
        libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED
    );
    if ended && is_own_child(pid) {
        return Ok((pid, Told::Ended));
    }
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD;
    let words = [
        raw::word(pid.as_raw()),
        std::ptr::from_mut(&mut status) as usize,
        raw::word(flags),
        0,
        0,
        0,
    ];
    loop {
        // SAFETY: the kernel writes one int to `status`; a null rusage is not written. wait4(2)
        match unsafe { raw::call(libc::SYS_wait4, words) } {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) => return Ok((pid, read(status))),
        }
    }
}

/// The part of `siginfo_t` that waitid(2) fills in. sigaction(2)
#[derive(Default)]
#[repr(C)]
struct Seen {
    signal: i32,
    errno: i32,
    code: i32,
    pad: i32,
    pid: i32,
    rest: [i32; 27],
}

/// Whether a process that has ended is a child of this process; a thread of one is not.
fn is_own_child(pid: Pid) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
        return false;
    };
    let number = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok())
    };
    number("Tgid:") == Some(pid.as_raw()) && number("PPid:") == Some(nix::unistd::getpid().as_raw())
}

/// Takes a wait status apart. ptrace(2)
fn read(status: i32) -> Told {
    if !libc::WIFSTOPPED(status) {
        return Told::Ended;
    }
    match (status >> 16, libc::WSTOPSIG(status)) {
        (libc::PTRACE_EVENT_EXEC, _) => Told::Executed,
        (libc::PTRACE_EVENT_STOP, _) => Told::Halted,
        (0, signal) => Told::Signal(signal),
        (_, _) => Told::Other,
    }
}

/// Lets a stopped task go on, with `signal` or, by 0, without. PTRACE_CONT
pub fn go_on(pid: Pid, signal: i32) -> Result<(), Errno> {
    let words = [
        raw::word(PTRACE_CONT),
        raw::word(pid.as_raw()),
        0,
        raw::word(signal),
        0,
        0,
    ];
    raw::plain(libc::SYS_ptrace, words).map(|_| ())
}

/// `PTRACE_CONT`
const PTRACE_CONT: i32 = 7;

#[cfg(test)]
mod tests {
    use super::{Told, read};

    #[test]
    fn statuses_are_told_apart() {
        let stopped = |event: i32, signal: i32| (event << 16) | (signal << 8) | 0x7f;
        assert_eq!(read(stopped(4, 5)), Told::Executed);
        assert_eq!(read(stopped(128, 5)), Told::Halted);
        assert_eq!(read(stopped(128, 19)), Told::Halted);
        assert_eq!(read(stopped(0, 34)), Told::Signal(34));
        assert_eq!(read(stopped(1, 5)), Told::Other);
        assert_eq!(read(0x0700), Told::Ended);
        assert_eq!(read(9), Told::Ended);
    }
}
