//! Probes that tell what a process is and what it was handed.

use std::fs;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use serde_json::Value;

use crate::{Answer, Facts, Probe, errno, number};

pub const PROBES: &[Probe] = &[
    Probe {
        name: "status",
        attempt: status,
    },
    Probe {
        name: "descriptors",
        attempt: descriptors,
    },
    Probe {
        name: "inherited",
        attempt: inherited,
    },
    Probe {
        name: "environ",
        attempt: environ,
    },
    Probe {
        name: "environment",
        attempt: environment,
    },
];

/// `/proc/self/status` and what belongs beside it.
fn status(_: &[String]) -> Answer {
    let mut facts = Facts::new();
    for line in fs::read_to_string("/proc/self/status")
        .map_err(errno)?
        .lines()
    {
        if let Some((key, value)) = line.split_once(':') {
            facts.insert(key.to_owned(), value.trim().into());
        }
    }
    let session = nix::unistd::getsid(None)?;
    facts.insert("session".to_owned(), session.as_raw().into());
    facts.insert("uid".to_owned(), nix::unistd::getuid().as_raw().into());
    facts.insert("euid".to_owned(), nix::unistd::geteuid().as_raw().into());
    facts.insert("gid".to_owned(), nix::unistd::getgid().as_raw().into());
    let groups: Vec<Value> = nix::unistd::getgroups()?
        .iter()
        .map(|group| group.as_raw().into())
        .collect();
    facts.insert("groups".to_owned(), groups.into());
    Ok(facts)
}

/// Every open descriptor but the one that lists them.
fn descriptors(_: &[String]) -> Answer {
    let mut open = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").map_err(errno)? {
        let entry = entry.map_err(errno)?;
        let target = fs::read_link(entry.path()).map_err(errno)?;
        let listing = target.to_string_lossy().contains("/fd");
        if !listing {
            open.push(Value::from(entry.file_name().to_string_lossy()));
        }
    }
    open.sort_by_key(Value::to_string);
    let mut facts = Facts::new();
    facts.insert("open".to_owned(), open.into());
    Ok(facts)
}

/// Whether descriptor N was handed down.
fn inherited(a: &[String]) -> Answer {
    let fd: i32 = number(a, 0)?;
    #[allow(unsafe_code, reason = "the number is the question")]
    // SAFETY: only asked about within this call; a closed one is answered with EBADF. fcntl(2)
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    fcntl(fd, FcntlArg::F_GETFD)?;
    Ok(Facts::new())
}

/// The environment of another process, where secrets tend to be.
fn environ(a: &[String]) -> Answer {
    let pid: i32 = number(a, 0)?;
    let bytes = fs::read(format!("/proc/{pid}/environ")).map_err(errno)?;
    if bytes.is_empty() {
        return Err(Errno::ESRCH);
    }
    let mut facts = Facts::new();
    facts.insert("bytes".to_owned(), bytes.len().into());
    Ok(facts)
}

/// The environment this process was given, by name.
fn environment(_: &[String]) -> Answer {
    Ok(std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into(),
            )
        })
        .collect())
}
