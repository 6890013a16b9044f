//! From parked to running: the word is given, and what the kernel then executes is checked before its
//! first instruction.

use std::fs::File;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::approval::Approval;
use crate::model::path::AbsolutePath;
use crate::sandbox::{HeldChild, Parked, Parts, Temporary};
use crate::sys::child::{EXECUTE, Message};
use crate::sys::fail;

use super::error::LaunchError;
use super::identity::Judged;
use super::tree::Tree;

/// How sure it is that what runs is what was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checked {
    /// Stopped after the exec and compared before its first instruction.
    AtExec,
    /// Files compared just before the exec, since the process may not be traced here. A binary is
    /// executed by the descriptor that was compared; a script or its content may change in between.
    BeforeExec,
}

/// A command that runs what was judged. Dropped, its tree is killed.
#[derive(Debug)]
pub struct Running {
    pub(super) child: HeldChild,
    pub(super) tree: Tree,
    pub(super) started: Instant,
    pub(super) checked: Checked,
    /// Whether the tree is known to be dead.
    pub(super) felled: bool,
    // After the child, so that nothing writes it any more when it is removed.
    _temporary: Temporary,
}

impl Running {
    /// How what runs was compared with what was judged.
    pub fn checked(&self) -> Checked {
        self.checked
    }

    /// The process id of the command.
    pub fn pid(&self) -> i32 {
        self.child.pid().as_raw()
    }
}

/// Gives a parked child the word. What it executes is compared with what was judged: file, content
/// where others could have changed it, arguments; when anything differs it is killed before its first
/// instruction. An exec that fails reports its errno.
pub fn start(parked: Parked, approval: Approval) -> Result<Running, LaunchError> {
    // Used up here: one approval, one start.
    drop(approval);
    let Parts {
        child,
        executable,
        argv,
        program,
        temporary,
        ..
    } = parked.into_parts();
    let file = File::from(program);
    let judged = Judged {
        executable: &executable,
        argv: &argv,
        file: &file,
    };
    judged.check_files()?;
    let tree = Tree::of(child.pid(), child.first());
    let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
    let checked = match ptrace::seize(child.pid(), options) {
        Ok(()) => Checked::AtExec,
        Err(Errno::EPERM | Errno::EACCES | Errno::ENOSYS) => Checked::BeforeExec,
        Err(errno) => return Err(gone(errno, "ptrace")),
    };
    let started = Instant::now();
    child
        .command(EXECUTE)
        .map_err(|errno| gone(errno, "write"))?;
    fail::point("child-released");
    match checked {
        Checked::AtExec => {
            stop_at_exec(&child, &executable.path)?;
            judged.check_process(child.pid())?;
            fail::point("exec-verified");
            ptrace::detach(child.pid(), None).map_err(|errno| gone(errno, "ptrace"))?;
        }
        Checked::BeforeExec => {
            // The line to the child closes on exec.
            match child.message().map_err(LaunchError::start("read"))? {
                None => {}
                Some(message) => return Err(said(message, &executable.path)),
            }
            // Nothing is asked of the process any more: it runs, and may have ended or executed another
            // program by now.
            fail::point("exec-verified");
        }
    }
    Ok(Running {
        child,
        tree,
        started,
        checked,
        felled: false,
        _temporary: temporary,
    })
}

/// Waits for the stop after a successful exec.
fn stop_at_exec(child: &HeldChild, path: &AbsolutePath) -> Result<(), LaunchError> {
    loop {
        match waitpid(child.pid(), Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceEvent(_, _, event)) if is_exec(event) => return Ok(()),
            Ok(WaitStatus::PtraceEvent(..) | WaitStatus::PtraceSyscall(_)) => {
                go_on(child.pid(), None)?;
            }
            Ok(WaitStatus::Stopped(_, signal)) => go_on(child.pid(), Some(signal))?,
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => {
                return Err(match child.message() {
                    Ok(Some(message)) => said(message, path),
                    Ok(None) | Err(_) => LaunchError::Gone,
                });
            }
            Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(LaunchError::start("waitpid")(errno)),
        }
    }
}

fn is_exec(event: i32) -> bool {
    event == nix::libc::PTRACE_EVENT_EXEC
}

fn go_on(pid: Pid, signal: Option<Signal>) -> Result<(), LaunchError> {
    ptrace::cont(pid, signal).map_err(|errno| gone(errno, "ptrace"))
}

fn said(message: Message, path: &AbsolutePath) -> LaunchError {
    match message {
        Message::ExecFailed(source) => LaunchError::Exec {
            path: path.clone(),
            source,
        },
        Message::Failed(..)
        | Message::Ready(_)
        | Message::Observed(_)
        | Message::Placed(..)
        | Message::Unplaced(..) => LaunchError::Gone,
    }
}

/// A call about the child failed: because it is gone, or otherwise.
fn gone(errno: Errno, call: &'static str) -> LaunchError {
    if matches!(errno, Errno::ESRCH | Errno::EPIPE | Errno::ECONNRESET) {
        LaunchError::Gone
    } else {
        LaunchError::start(call)(errno)
    }
}
