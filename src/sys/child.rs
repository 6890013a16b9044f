//! The life of a child between fork and exec: it confines itself, reports, and waits for a word.
//!
//! Everything it uses was laid out before the fork. Between the fork and the exec it makes system calls
//! and nothing else: it allocates nothing, takes no lock and runs no handler, so that forking a threaded
//! process is safe (fork(2), signal-safety(7)).

use std::ffi::{CStr, c_int, c_long};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::Pid;

use super::arguments::Arguments;
use super::raw::{self, call, plain, prctl, word};

mod apart;
mod message;
mod root;

pub use apart::Apart;
use message::{EXEC_FAILED, FAILED, OBSERVED, READY};
pub use message::{Message, Observed, Step};
pub use root::{Bind, Entry, Root, Rule, What};

/// The command that makes a parked child repeat its observations.
pub const OBSERVE: u8 = b'o';
/// The command that makes a parked child execute its program.
pub const EXECUTE: u8 = b'x';

/// Ids to change to: setgroups(2), setresgid(2), setresuid(2).
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// All three user ids.
    pub uid: u32,
    /// All three group ids.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: &'a [u32],
}

/// A resource limit, soft and hard alike. prlimit(2)
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// `RLIMIT_…`
    pub resource: u32,
    /// The value.
    pub value: u64,
}

/// What to execute.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// The file behind a descriptor: execveat(2), AT_EMPTY_PATH.
    Descriptor(BorrowedFd<'a>),
    /// A path: execve(2).
    Path(&'a CStr),
}

/// Everything the child needs, laid out by the parent.
#[derive(Debug)]
pub struct Child<'a> {
    /// Its end of a SOCK_SEQPACKET pair: messages out, one-byte commands in.
    pub control: BorrowedFd<'a>,
    /// Its folder.
    pub folder: BorrowedFd<'a>,
    /// Its descriptors 0, 1 and 2, given as descriptors above 2.
    pub stdio: [BorrowedFd<'a>; 3],
    /// Which of 0, 1 and 2 becomes its controlling terminal.
    pub terminal: Option<i32>,
    /// Ids to change to.
    pub credentials: Option<Credentials<'a>>,
    /// Limits to set.
    pub limits: &'a [Limit],
    /// Namespaces of its own.
    pub apart: Option<Apart<'a>>,
    /// Without [`apart`](Self::apart): whether to move into a network namespace of its own, in which only
    /// the loopback device is up.
    pub own_network: bool,
    /// Its folder by path, for a root of its own, and what it has to be: device and inode, where
    /// that is known.
    pub folder_path: (&'a CStr, Option<(u64, u64)>),
    /// A file of the host that opens before the child is confined and must not after it.
    pub outside: &'a CStr,
    /// A file that opens before the ruleset and must not after it.
    pub witness: &'a CStr,
    /// The Landlock ruleset.
    pub ruleset: BorrowedFd<'a>,
    /// The seccomp program.
    pub filter: &'a [libc::sock_filter],
    /// What to execute in the end.
    pub target: Target<'a>,
    /// Its argv.
    pub argv: &'a Arguments,
    /// Its environment.
    pub envp: &'a Arguments,
}

/// A child just forked.
#[derive(Debug)]
pub struct Forked {
    /// Its number; it stays the child's until it is reaped.
    pub pid: Pid,
    /// A descriptor of it.
    pub pidfd: OwnedFd,
}

/// Forks; the child becomes what `child` says and never returns here. clone(2), CLONE_PIDFD
pub fn fork(child: &Child<'_>) -> Result<Forked, Errno> {
    let parent = nix::unistd::getpid();
    let mut old = SigSet::empty();
    // A handler of the host program must not run in the child; it stays blocked until the child has
    // taken every handler away.
    nix::sys::signal::pthread_sigmask(
        SigmaskHow::SIG_SETMASK,
        Some(&SigSet::all()),
        Some(&mut old),
    )?;
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_PIDFD | libc::SIGCHLD;
    let words = [word(flags), 0, ptr::from_mut(&mut pidfd) as usize, 0, 0, 0];
    // SAFETY: without CLONE_VM the child runs on a copy of this stack, as after fork(2); the kernel
    // writes one int to `pidfd`. clone(2)
    let forked = unsafe { call(libc::SYS_clone, words) };
    if forked == Ok(0) {
        match &child.apart {
            Some(apart) => apart::found(child, apart, parent),
            None => live(child, parent, None),
        }
    }
    let restored = nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&old), None);
    let pid = Pid::from_raw(i32::try_from(forked?).map_err(|_| Errno::ESRCH)?);
    // SAFETY: the kernel has just made this descriptor for us alone. clone(2)
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    restored?;
    Ok(Forked { pid, pidfd })
}

/// The child, from its first to its last instruction of ours. `founded`: what its founder observed,
/// where it has namespaces of its own.
fn live(child: &Child<'_>, parent: Pid, founded: Option<Observed>) -> ! {
    let control = child.control.as_raw_fd();
    let ended = match confine(child, parent, founded) {
        Err((step, errno)) => [FAILED, step as i32, errno as i32, 0, 0, 0, 0],
        Ok(before) => {
            let [a, b, c, d, e] = before.numbers();
            say(control, [READY, a, b, c, d, e, 0]);
            let errno = serve(child, parent, control);
            [EXEC_FAILED, errno as i32, 0, 0, 0, 0, 0]
        }
    };
    say(control, ended);
    loop {
        plain(libc::SYS_exit_group, [125, 0, 0, 0, 0, 0]).ok();
    }
}

/// Every step of the confinement, in the one order that works; each needs those before it or would be
/// refused by those after it.
fn confine(
    child: &Child<'_>,
    parent: Pid,
    founded: Option<Observed>,
) -> Result<Observed, (Step, Errno)> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    let control = child.control.as_raw_fd();

    reset_signals();
    plain(libc::SYS_setsid, [0; 6]).map_err(at(Step::Session))?;

    // Before anything is given up: it needs CAP_SYS_ADMIN, or makes a user namespace, which resets
    // securebits, bounding set and parent-death signal. user_namespaces(7)
    if child.own_network && child.apart.is_none() {
        super::loopback::enter().map_err(at(Step::Network))?;
    }

    // These two need CAP_SETPCAP, which the change of ids takes away.
    drop_bounding_set().map_err(at(Step::Capabilities))?;
    if let Some(credentials) = child.credentials {
        change_ids(&credentials).map_err(at(Step::Ids))?;
    }

    // After the change of ids, which clears it.
    apart::stay_with_parent(control).map_err(at(Step::ParentDeath))?;

    go_to_folder(child).map_err(at(Step::Folder))?;
    set_stdio(child).map_err(at(Step::Stdio))?;
    close_rest(child).map_err(at(Step::Descriptors))?;
    for limit in child.limits {
        set_limit(*limit).map_err(at(Step::Limits))?;
    }
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map_err(at(Step::NoNewPrivs))?;

    // The control of every later observation: what is refused afterwards worked here, or before the
    // tree was set apart.
    let here = observe(child, parent);
    let before = founded.map_or(here, |founded| Observed {
        witness: here.witness,
        ..founded
    });

    let ruleset = child.ruleset.as_raw_fd();
    if let Some(apart) = &child.apart {
        root::allow(ruleset, &apart.root.rules).map_err(at(Step::Landlock))?;
    }
    plain(
        libc::SYS_landlock_restrict_self,
        [word(ruleset), 0, 0, 0, 0, 0],
    )
    .map_err(at(Step::Landlock))?;
    plain(libc::SYS_close, [word(ruleset), 0, 0, 0, 0, 0]).map_err(at(Step::Landlock))?;
    drop_capabilities().map_err(at(Step::Capabilities))?;
    set_filter(child.filter).map_err(at(Step::Filter))?;
    Ok(before)
}

/// Waits for commands until the exec, whose errno it returns when it fails, or until the parent is gone.
fn serve(child: &Child<'_>, parent: Pid, control: RawFd) -> Errno {
    loop {
        let mut command = 0u8;
        let words = [
            word(control),
            ptr::from_mut(&mut command) as usize,
            1,
            0,
            0,
            0,
        ];
        // SAFETY: the kernel writes at most one byte, to `command`. read(2)
        match unsafe { call(libc::SYS_read, words) } {
            Err(Errno::EINTR) => {}
            Err(errno) => return errno,
            Ok(0) => return Errno::EPIPE,
            Ok(_) if command == OBSERVE => {
                let [a, b, c, d, e] = observe(child, parent).numbers();
                say(control, [OBSERVED, a, b, c, d, e, 0]);
            }
            Ok(_) if command == EXECUTE => return execute(child),
            Ok(_) => return Errno::EBADMSG,
        }
    }
}

/// Tries what the confinement is to refuse; harmless where it is not refused.
fn observe(child: &Child<'_>, parent: Pid) -> Observed {
    let outside = opens(child.outside);
    let witness = opens(child.witness);
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    let socket = closed(plain(
        libc::SYS_socket,
        [word(libc::AF_INET), word(kind), 0, 0, 0, 0],
    ));
    let signal = plain(libc::SYS_kill, [word(parent.as_raw()), 0, 0, 0, 0, 0]).map(|_| ());
    // Changes nothing and always succeeds, unless a filter refuses it. unshare(2)
    let unshare = plain(libc::SYS_unshare, [0; 6]).map(|_| ());
    Observed {
        outside,
        witness,
        socket,
        signal,
        unshare,
    }
}

fn opens(path: &CStr) -> Result<(), Errno> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let words = [
        word(libc::AT_FDCWD),
        path.as_ptr() as usize,
        word(flags),
        0,
        0,
        0,
    ];
    // SAFETY: the path is a NUL-terminated string that outlives the call. openat(2)
    closed(unsafe { call(libc::SYS_openat, words) })
}

/// By its descriptor; in a root of its own by its path, and only when the very folder stands there.
fn go_to_folder(child: &Child<'_>) -> Result<(), Errno> {
    if child.apart.is_some() {
        let (path, id) = child.folder_path;
        return root::change_folder(path, id);
    }
    let folder = child.folder.as_raw_fd();
    plain(libc::SYS_fchdir, [word(folder), 0, 0, 0, 0, 0]).map(|_| ())
}

/// Closes what was opened; only whether it opened matters.
fn closed(opened: Result<c_long, Errno>) -> Result<(), Errno> {
    let fd = opened?;
    plain(
        libc::SYS_close,
        [fd.cast_unsigned() as usize, 0, 0, 0, 0, 0],
    )
    .map(|_| ())
}

/// Sends one message; a parent that is gone cannot be told.
fn say(control: RawFd, message: [i32; message::LENGTH]) {
    let words = [
        word(control),
        message.as_ptr() as usize,
        size_of_val(&message),
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads exactly the bytes of `message`. write(2)
    unsafe { call(libc::SYS_write, words) }.ok();
}

/// Every signal to its default action and none blocked: handlers belong to the host program, and an
/// ignored signal would stay ignored across the exec. sigaction(2)
fn reset_signals() {
    let default = [0u64; 4];
    for signal in 1..=64 {
        let words = [word(signal), default.as_ptr() as usize, 0, 8, 0, 0];
        // SAFETY: all zero bytes are a `struct kernel_sigaction` with SIG_DFL, no flags, no mask, on
        // x86-64 and aarch64 alike; it is read, never written. SIGKILL and SIGSTOP are refused.
        unsafe { call(libc::SYS_rt_sigaction, words) }.ok();
    }
    let none = 0u64;
    let words = [
        word(libc::SIG_SETMASK),
        ptr::from_ref(&none) as usize,
        0,
        8,
        0,
        0,
    ];
    // SAFETY: the kernel reads eight bytes from `none`. rt_sigprocmask(2)
    unsafe { call(libc::SYS_rt_sigprocmask, words) }.ok();
}

/// Orphans that end are reaped by the kernel. sigaction(2), SIGCHLD
fn ignore_children() {
    let ignore: [usize; 4] = [libc::SIG_IGN, 0, 0, 0];
    let words = [word(libc::SIGCHLD), ignore.as_ptr() as usize, 0, 8, 0, 0];
    // SAFETY: a `struct kernel_sigaction` whose handler is SIG_IGN, without flags or mask; it is read.
    unsafe { call(libc::SYS_rt_sigaction, words) }.ok();
}

/// Empties the bounding set and locks the bits that give uid 0 its capabilities, where CAP_SETPCAP is
/// held; without it there is nothing to take away that no_new_privs does not. capabilities(7)
fn drop_bounding_set() -> Result<(), Errno> {
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability, 0) {
            Ok(_) => {}
            Err(Errno::EPERM) => return Ok(()),
            // Past the last capability of this kernel.
            Err(Errno::EINVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    let bits = libc::SECBIT_NOROOT
        | libc::SECBIT_NOROOT_LOCKED
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    prctl(libc::PR_SET_SECUREBITS, word(bits), 0).map(|_| ())
}

/// Groups first: the right to change them goes with the user id.
fn change_ids(to: &Credentials<'_>) -> Result<(), Errno> {
    let words = [to.groups.len(), to.groups.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel reads as many group ids as the slice has. setgroups(2)
    unsafe { call(libc::SYS_setgroups, words) }?;
    let (uid, gid) = (to.uid as usize, to.gid as usize);
    plain(libc::SYS_setresgid, [gid, gid, gid, 0, 0, 0])?;
    plain(libc::SYS_setresuid, [uid, uid, uid, 0, 0, 0]).map(|_| ())
}

/// Puts 0, 1 and 2 in place; every source lies above 2, so none is overwritten before its turn.
fn set_stdio(child: &Child<'_>) -> Result<(), Errno> {
    for (number, source) in (0..).zip(&child.stdio) {
        plain(
            libc::SYS_dup3,
            [word(source.as_raw_fd()), word(number), 0, 0, 0, 0],
        )?;
    }
    if let Some(number) = child.terminal {
        // tty_ioctl(4), TIOCSCTTY: the new session has no terminal yet.
        plain(
            libc::SYS_ioctl,
            [word(number), libc::TIOCSCTTY as usize, 0, 0, 0, 0],
        )?;
    }
    Ok(())
}

/// Closes every descriptor above 2 but the few still needed, all of which close on exec. close_range(2)
fn close_rest(child: &Child<'_>) -> Result<(), Errno> {
    let control = child.control.as_raw_fd();
    let target = match child.target {
        Target::Descriptor(fd) => fd.as_raw_fd(),
        Target::Path(_) => control,
    };
    let mut kept = [control, target, child.ruleset.as_raw_fd()];
    kept.sort_unstable();
    let mut from = 3;
    for fd in kept {
        if fd > from {
            close_range(from, fd - 1)?;
        }
        from = from.max(fd + 1);
    }
    close_range(from, c_int::MAX)
}

fn close_range(from: c_int, to: c_int) -> Result<(), Errno> {
    plain(libc::SYS_close_range, [word(from), word(to), 0, 0, 0, 0]).map(|_| ())
}

fn set_limit(limit: Limit) -> Result<(), Errno> {
    let value = [limit.value, limit.value];
    let words = [0, limit.resource as usize, value.as_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel reads a `struct rlimit64`, two words, from `value`. prlimit(2)
    unsafe { call(libc::SYS_prlimit64, words) }.map(|_| ())
}

/// Ambient, effective, permitted and inheritable sets to nothing. capset(2)
fn drop_capabilities() -> Result<(), Errno> {
    prctl(
        libc::PR_CAP_AMBIENT,
        word(libc::PR_CAP_AMBIENT_CLEAR_ALL),
        0,
    )?;
    // _LINUX_CAPABILITY_VERSION_3, and 0 for the caller itself.
    let header = [0x2008_0522u32, 0];
    let sets = [0u32; 6];
    let words = [header.as_ptr() as usize, sets.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: version 3 reads a header of two words and two sets of three words; it writes the header
    // only when the version is unknown, which this one is not. capset(2)
    unsafe { call(libc::SYS_capset, words) }.map(|_| ())
}

/// SECCOMP_SET_MODE_FILTER; no_new_privs is set, so no privilege is needed. seccomp(2)
fn set_filter(filter: &[libc::sock_filter]) -> Result<(), Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::EINVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    let words = [
        libc::SECCOMP_SET_MODE_FILTER as usize,
        0,
        ptr::from_ref(&program) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel copies `len` instructions from the slice and writes none. seccomp(2)
    unsafe { call(libc::SYS_seccomp, words) }.map(|_| ())
}

/// Executes the target; returns only when that fails.
fn execute(child: &Child<'_>) -> Errno {
    let (argv, envp) = (child.argv.as_ptr() as usize, child.envp.as_ptr() as usize);
    let failed = match child.target {
        Target::Descriptor(fd) => {
            let empty = c"".as_ptr() as usize;
            let flags = word(libc::AT_EMPTY_PATH);
            let words = [word(fd.as_raw_fd()), empty, argv, envp, flags, 0];
            // SAFETY: both arrays are null-terminated and outlive the call. execveat(2)
            unsafe { call(libc::SYS_execveat, words) }
        }
        Target::Path(path) => {
            let words = [path.as_ptr() as usize, argv, envp, 0, 0, 0];
            // SAFETY: the path is NUL-terminated and both arrays null-terminated. execve(2)
            unsafe { raw::call(libc::SYS_execve, words) }
        }
    };
    failed.err().unwrap_or(Errno::ENOEXEC)
}
