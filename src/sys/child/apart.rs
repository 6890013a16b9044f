//! Namespaces of its own for a tree of processes, and its first process.
//!
//! ```text
//! parent ── founder ──┬── first    process 1 of the new namespace: mounts the root, then only reaps
//!                     └── command  the child that confines itself and waits
//! ```
//!
//! Both are made with CLONE_PARENT, so that both are children of the parent: it waits for them, traces
//! them and kills them as any other. When the first process dies, the kernel kills the whole tree.
//! pid_namespaces(7)

use std::ffi::{c_int, c_long};
use std::os::fd::AsRawFd as _;
use std::{mem, ptr};

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

use super::message::{PLACED, UNPLACED};
use super::root::{self, Root};
use super::{Child, Step};
use crate::sys::loopback;
use crate::sys::raw::{call, plain, prctl, word};

/// What a tree has to itself.
#[derive(Debug)]
pub struct Apart<'a> {
    /// Its root.
    pub root: &'a Root,
    /// Whether it has a network namespace, in which only the loopback device is up.
    pub network: bool,
    /// Whether a user namespace may be made for it where the host gives no other way: the command then
    /// keeps the caller's ids and can take no other.
    pub user: bool,
}

/// The founder, from its first to its last instruction. Never returns.
pub(super) fn found(child: &Child<'_>, apart: &Apart<'_>, parent: Pid) -> ! {
    let mut first = 0;
    let message = match enter(child, apart, parent, &mut first) {
        Ok(command) => [PLACED, first, command, 0, 0, 0, 0],
        Err((step, errno)) => [UNPLACED, step as i32, errno as i32, first, 0, 0, 0],
    };
    super::say(child.control.as_raw_fd(), message);
    exit()
}

/// Makes the namespaces, their first process and the command; the number of the command. `first` gets
/// the number of the first process as soon as there is one, since the parent has to reap it.
fn enter(
    child: &Child<'_>,
    apart: &Apart<'_>,
    parent: Pid,
    first: &mut c_int,
) -> Result<c_int, (Step, Errno)> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    stay_with_parent(child.control.as_raw_fd()).map_err(at(Step::ParentDeath))?;
    // What it sees and reaches before it is set apart.
    let before = super::observe(child, parent);
    unshare(apart).map_err(at(Step::Namespaces))?;
    if apart.network {
        loopback::up().map_err(at(Step::Network))?;
    }
    let [reader, writer] = pipe().map_err(at(Step::Namespaces))?;
    *first = clone().map_err(at(Step::Namespaces))?;
    if *first == 0 {
        be_first(child, apart, writer);
    }
    plain(libc::SYS_close, [word(writer), 0, 0, 0, 0, 0]).map_err(at(Step::Root))?;
    settled(reader)?;
    let command = clone().map_err(at(Step::Namespaces))?;
    if command == 0 {
        super::live(child, parent, Some(before));
    }
    Ok(command)
}

/// Without a user namespace where the caller may, with one where the host allows that to anybody.
/// unshare(2), user_namespaces(7)
fn unshare(apart: &Apart<'_>) -> Result<(), Errno> {
    let (uid, gid) = (
        plain(libc::SYS_getuid, [0; 6])?,
        plain(libc::SYS_getgid, [0; 6])?,
    );
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if apart.network {
        flags |= libc::CLONE_NEWNET;
    }
    match plain(libc::SYS_unshare, [word(flags), 0, 0, 0, 0, 0]) {
        Err(Errno::EPERM) if apart.user => {}
        done => return done.map(|_| ()),
    }
    let flags = flags | libc::CLONE_NEWUSER;
    plain(libc::SYS_unshare, [word(flags), 0, 0, 0, 0, 0])?;
    loopback::map_ids(uid, gid)?;
    // Gaining the namespace's capabilities cleared it.
    prctl(libc::PR_SET_PDEATHSIG, word(libc::SIGKILL), 0).map(|_| ())
}

/// Dies when the parent does. A parent that died before this call shows in the line to it: process ids
/// tell nothing across namespaces. prctl(2), PR_SET_PDEATHSIG
pub(super) fn stay_with_parent(control: c_int) -> Result<(), Errno> {
    prctl(libc::PR_SET_PDEATHSIG, word(libc::SIGKILL), 0)?;
    let mut line = libc::pollfd {
        fd: control,
        events: 0,
        revents: 0,
    };
    let now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let words = [
        ptr::from_mut(&mut line) as usize,
        1,
        ptr::from_ref(&now) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads one `pollfd` and one `timespec` and writes to the first; no mask. ppoll(2)
    unsafe { call(libc::SYS_ppoll, words) }?;
    if line.revents & libc::POLLHUP == 0 {
        Ok(())
    } else {
        Err(Errno::ESRCH)
    }
}

/// The first process: mounts the root, tells the founder, and reaps orphans until it is killed.
fn be_first(child: &Child<'_>, apart: &Apart<'_>, founder: c_int) -> ! {
    let ended = settle(child, apart);
    let told = match ended {
        Ok(()) => tell(founder, [0, 0]),
        Err((step, errno)) => tell(founder, [step as i32, errno as i32]),
    };
    let alone = told.and_then(|()| super::close_range(0, c_int::MAX));
    if ended.is_err() || alone.is_err() {
        exit();
    }
    loop {
        // Every signal is blocked: it sleeps until it is killed. ppoll(2) of nothing
        plain(libc::SYS_ppoll, [0; 6]).ok();
    }
}

/// It gives up as much as the command does: it holds a copy of the parent's memory, and lives as long as
/// the tree.
fn settle(child: &Child<'_>, apart: &Apart<'_>) -> Result<(), (Step, Errno)> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    stay_with_parent(child.control.as_raw_fd()).map_err(at(Step::ParentDeath))?;
    plain(libc::SYS_setsid, [0; 6]).map_err(at(Step::Session))?;
    // Whatever the caller's: others than the owner have to get through.
    plain(libc::SYS_umask, [0; 6]).map_err(at(Step::Root))?;
    root::enter(apart.root).map_err(at(Step::Root))?;
    super::ignore_children();
    super::drop_bounding_set().map_err(at(Step::Capabilities))?;
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map_err(at(Step::NoNewPrivs))?;
    super::drop_capabilities().map_err(at(Step::Capabilities))?;
    prctl(libc::PR_SET_DUMPABLE, 0, 0).map_err(at(Step::Capabilities))?;
    super::set_filter(child.filter).map_err(at(Step::Filter))
}

/// Tells the founder which step failed with which errno, or zeros.
fn tell(founder: c_int, outcome: [i32; 2]) -> Result<(), Errno> {
    let words = [
        word(founder),
        outcome.as_ptr() as usize,
        mem::size_of_val(&outcome),
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads the bytes of `outcome`. write(2)
    unsafe { call(libc::SYS_write, words) }.map(|_| ())
}

/// clone(2) with CLONE_PARENT: a brother.
fn clone() -> Result<c_int, Errno> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: without CLONE_VM the child runs on a copy of this stack, as after fork(2). clone(2)
    let made: c_long = unsafe { call(libc::SYS_clone, [word(flags), 0, 0, 0, 0, 0]) }?;
    c_int::try_from(made).map_err(|_| Errno::ESRCH)
}

fn pipe() -> Result<[c_int; 2], Errno> {
    let mut ends: [c_int; 2] = [-1; 2];
    let words = [
        ends.as_mut_ptr() as usize,
        word(libc::O_CLOEXEC),
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes two ints to `ends`. pipe2(2)
    unsafe { call(libc::SYS_pipe2, words) }?;
    Ok(ends)
}

/// Waits until the first process has settled; when it dies, its end of the pipe closes.
fn settled(reader: c_int) -> Result<(), (Step, Errno)> {
    let mut outcome = [0i32; 2];
    let words = [
        word(reader),
        outcome.as_mut_ptr() as usize,
        mem::size_of_val(&outcome),
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most the bytes of `outcome`. read(2)
    let told = unsafe { call(libc::SYS_read, words) };
    plain(libc::SYS_close, [word(reader), 0, 0, 0, 0, 0]).ok();
    let [step, errno] = outcome;
    match told {
        Err(errno) => Err((Step::Root, errno)),
        Ok(0) => Err((Step::Root, Errno::ECHILD)),
        Ok(_) if step == 0 => Ok(()),
        Ok(_) => Err((Step::of(step).unwrap_or(Step::Root), Errno::from_raw(errno))),
    }
}

fn exit() -> ! {
    loop {
        plain(libc::SYS_exit_group, [125, 0, 0, 0, 0, 0]).ok();
    }
}
