//! The raw system call: the only unsafe code of the probe.
#![allow(
    unsafe_code,
    reason = "a probe has to reach calls, pointers and ABIs that no safe wrapper would let through"
)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::signal::{SigAction, Signal, sigaction};
use nix::unistd::{ForkResult, Pid, fork};

/// Makes system call `number` with up to six arguments. Pointers among them are either null or point
/// into a buffer the caller keeps alive across the call.
pub fn call(number: libc::c_long, arguments: &[usize]) -> Result<i64, Errno> {
    let at = |index: usize| arguments.get(index).copied().unwrap_or(0);
    let (a, b, c, d, e, f) = (at(0), at(1), at(2), at(3), at(4), at(5));
    // SAFETY: null pointers are answered with EFAULT; every other pointer is valid by this function's
    // contract; no call made here writes through an argument it was not given. syscall(2)
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    Errno::result(answer)
}

/// Clones this process with `flags`; the child leaves at once.
pub fn clone_with(flags: libc::c_int) -> Result<i64, Errno> {
    let flags = usize::try_from(flags | libc::SIGCHLD).map_err(|_| Errno::EDOM)?;
    let pid = call(libc::SYS_clone, &[flags])?;
    if pid == 0 {
        // SAFETY: takes no pointer and runs no handler of the forked copy. _exit(2)
        unsafe { libc::_exit(0) };
    }
    Ok(pid)
}

/// Forks; the child does `what` and leaves with what it returns.
pub fn fork_into(what: fn() -> i32) -> Result<Pid, Errno> {
    // SAFETY: the probe has one thread whenever it forks. fork(2)
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let code = what();
            // SAFETY: takes no pointer and runs no handler of the forked copy. _exit(2)
            unsafe { libc::_exit(code) }
        }
    }
}

/// A shared, writable mapping of a file.
pub struct Mapping {
    start: std::ptr::NonNull<u8>,
    length: usize,
}

impl Mapping {
    /// Maps the first `length` bytes.
    pub fn of(file: &std::fs::File, length: usize) -> Result<Self, Errno> {
        let size = std::num::NonZeroUsize::new(length).ok_or(Errno::EDOM)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh mapping at a place of the kernel's choice. mmap(2)
        let start = unsafe { mmap(None, size, access, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(Self {
            start: start.cast(),
            length,
        })
    }

    /// Writes one byte, which makes its page dirty.
    pub fn put(&mut self, at: usize, byte: u8) -> Result<(), Errno> {
        if at >= self.length {
            return Err(Errno::EDOM);
        }
        // SAFETY: inside the mapping, by the check above.
        let place = unsafe { self.start.add(at) };
        // SAFETY: the mapping is writable and lives as long as `self`.
        unsafe { place.write_volatile(byte) };
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole of the mapping, which nothing refers to any more. munmap(2)
        unsafe { munmap(self.start.cast(), self.length) }.ok();
    }
}

/// Sets what a signal does.
pub fn set_action(signal: Signal, action: &SigAction) -> Result<(), Errno> {
    // SAFETY: the handlers of this program do nothing. sigaction(2)
    unsafe { sigaction(signal, action) }.map(|_| ())
}

/// SIGALRM every so many microseconds; 0 ends it. setitimer(2)
pub fn set_timer(every: i64) -> Result<(), Errno> {
    let period = [0i64, every, 0, every];
    call(libc::SYS_setitimer, &[0, period.as_ptr() as usize, 0]).map(|_| ())
}

/// getpid(2) through the 32-bit entry of a 64-bit kernel; number 20 in that table.
#[cfg(target_arch = "x86_64")]
pub fn int80_getpid() -> i64 {
    let answer: u32;
    // SAFETY: getpid takes no argument and touches no memory; rax alone changes, r8 to r11 are clobbered
    // by the entry code. (arch/x86/entry/entry_64_compat.S)
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inout("eax") 20u32 => answer,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            options(nostack)
        );
    }
    i64::from(answer)
}
