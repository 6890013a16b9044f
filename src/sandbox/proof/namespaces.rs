//! Namespaces of a child, read from outside. proc_pid_ns(5)

use std::path::PathBuf;

use nix::errno::Errno;
use nix::unistd::Pid;

use super::Fact;
use crate::sandbox::error::SandboxError;
use crate::sandbox::held::HeldChild;

const CLAIM: &str = "namespaces of its own";

/// Every namespace the child was to have is another than ours, and its first process is alive.
pub(super) fn own(child: &HeldChild, network: bool) -> Result<Fact, SandboxError> {
    let kinds = ["mnt", "pid", "ipc"]
        .into_iter()
        .chain(network.then_some("net"));
    let mut seen = Vec::new();
    for kind in kinds {
        if link(&child.pid().to_string(), kind)? == link("self", kind)? {
            return Err(unproved(format!("it shares {kind} with the supervisor")));
        }
        seen.push(kind);
    }
    match child.first() {
        Some(first)
            if numbers(first)
                .as_deref()
                .is_some_and(|inner| inner.ends_with("\t1")) => {}
        Some(_) | None => return Err(unproved("its first process is gone".into())),
    }
    Ok(Fact {
        claim: CLAIM,
        evidence: format!("{}, under a first process that ends them", seen.join(", ")),
    })
}

fn unproved(found: String) -> SandboxError {
    SandboxError::Unproved {
        claim: CLAIM,
        found,
    }
}

fn link(process: &str, kind: &str) -> Result<PathBuf, SandboxError> {
    std::fs::read_link(format!("/proc/{process}/ns/{kind}")).map_err(|error| {
        let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
        SandboxError::prepare("readlink of /proc/PID/ns")(errno)
    })
}

/// The numbers of a process, from our namespace to its own. proc_pid_status(5), NSpid
fn numbers(pid: Pid) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(line.trim_end().to_owned())
}
