//! Whether a gate can stand here. A run finds out from its own child; `doctor` has a throw-away child
//! execute this very program, and stops it after the exec and before its first instruction.

use std::os::fd::{AsFd as _, BorrowedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::model::profile::Network;
use crate::sys::child::{EXECUTE, Step};
use crate::sys::notify;

use super::error::{SandboxError, name};
use super::held::HeldChild;
use super::park::{self, Gate};
use super::probe::{opened, throw};

/// The gate of a run on this host: wanted where a throw-away child proved it, otherwise none, with the
/// reason and the remedy.
pub(super) fn tried() -> Gate {
    match try_out() {
        Ok(()) => Gate::Wanted,
        Err(error) => none(&error),
    }
}

/// Whether `error` means that there can be no gate here, so that a child has to do without.
pub(super) fn cannot_stand(error: &SandboxError) -> bool {
    let listener = matches!(error, SandboxError::Step { step, .. } if *step == Step::Listener);
    let traced =
        matches!(error, SandboxError::Unproved { claim, .. } if *claim == super::proof::GATED);
    listener || traced
}

/// No gate, since `error` was in its way.
pub(super) fn none(error: &SandboxError) -> Gate {
    Gate::None(reason(error))
}

fn try_out() -> Result<(), SandboxError> {
    let own = opened("/proc/self/exe", OFlag::O_PATH)?;
    throw(
        Network::Off,
        false,
        &Gate::Wanted,
        Some(own.as_fd()),
        |recipe| {
            let child = park::fork(recipe)?;
            let Some(listener) = park::ready(&child)?.1 else {
                return Err(unproved("the child sent no listener"));
            };
            // It is killed where it stands.
            stopped_after_exec(&child, listener.as_fd())
        },
    )
}

/// The steps of every exec that the gate lets pass.
fn stopped_after_exec(child: &HeldChild, listener: BorrowedFd<'_>) -> Result<(), SandboxError> {
    let pid = child.pid();
    let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options).map_err(SandboxError::prepare("ptrace"))?;
    child
        .command(EXECUTE)
        .map_err(SandboxError::prepare("write"))?;
    let waiting = super::proof::next_exec(listener)?;
    if waiting.tid != pid.as_raw() {
        return Err(unproved("another process waits"));
    }
    notify::proceed(listener, waiting.id).map_err(SandboxError::prepare("ioctl"))?;
    ptrace::interrupt(pid).map_err(SandboxError::prepare("ptrace"))?;
    let stop = first_stop(pid)?;
    if matches!(stop, WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_EXEC)) {
        Ok(())
    } else {
        Err(unproved(&format!(
            "instead of a stop after the exec came {stop:?}"
        )))
    }
}

fn first_stop(pid: Pid) -> Result<WaitStatus, SandboxError> {
    loop {
        match waitpid(pid, Some(WaitPidFlag::__WALL)) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(SandboxError::prepare("waitpid")(errno)),
            Ok(status) => return Ok(status),
        }
    }
}

fn unproved(found: &str) -> SandboxError {
    SandboxError::Unproved {
        claim: super::proof::GATED,
        found: found.to_owned(),
    }
}

/// Why there is none, with what can be done about it.
fn reason(error: &SandboxError) -> String {
    let remedy = match error {
        SandboxError::Step {
            step: Step::Listener,
            source: Errno::EBUSY | Errno::EPERM,
        } => "this process runs inside another supervisor, which answers for execs already",
        SandboxError::Step {
            step: Step::Listener,
            ..
        } => "run Linux 5.19 or newer; in a container, let its seccomp profile pass seccomp(2)",
        SandboxError::Unproved { .. } | SandboxError::Prepare { call: "ptrace", .. } => {
            "set kernel.yama.ptrace_scope to 0 or 1, or let the container trace (SYS_PTRACE)"
        }
        SandboxError::Prepare { .. }
        | SandboxError::Step { .. }
        | SandboxError::Missing { .. }
        | SandboxError::Open { .. }
        | SandboxError::Temporary { .. }
        | SandboxError::Ruleset(_)
        | SandboxError::Filter(_)
        | SandboxError::Profile(_)
        | SandboxError::Nul(_)
        | SandboxError::Gone
        | SandboxError::Terminal(_)
        | SandboxError::NoNamespaces { .. }
        | SandboxError::NoCanary => return told(error),
    };
    format!("{}; {remedy}", told(error))
}

/// The error with its errno.
fn told(error: &SandboxError) -> String {
    match error {
        SandboxError::Step { source, .. } | SandboxError::Prepare { source, .. } => {
            format!("{error} ({})", name(*source))
        }
        SandboxError::Missing { .. }
        | SandboxError::Unproved { .. }
        | SandboxError::Open { .. }
        | SandboxError::Temporary { .. }
        | SandboxError::Ruleset(_)
        | SandboxError::Filter(_)
        | SandboxError::Profile(_)
        | SandboxError::Nul(_)
        | SandboxError::Gone
        | SandboxError::Terminal(_)
        | SandboxError::NoNamespaces { .. }
        | SandboxError::NoCanary => error.to_string(),
    }
}
