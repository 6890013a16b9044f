//! Probes of what a host shares with everybody: metadata, System V objects, terminals.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::pty::{posix_openpt, ptsname_r, unlockpt};

use crate::{Answer, Facts, Probe, argument, errno, number, ok, raw};

pub const PROBES: &[Probe] = &[
    Probe {
        name: "chmod",
        attempt: |a| {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(argument(a, 0)?, mode)
                .map_err(errno)
                .and_then(|()| ok())
        },
    },
    Probe {
        name: "touch-time",
        attempt: touch_time,
    },
    Probe {
        name: "stat",
        attempt: |a| {
            fs::metadata(argument(a, 0)?)
                .map_err(errno)
                .and_then(|_| ok())
        },
    },
    Probe {
        name: "setxattr",
        attempt: set_attribute,
    },
    Probe {
        name: "semaphore-make",
        attempt: |a| semaphore(number(a, 0)?, libc::IPC_CREAT | 0o666).and_then(|_| ok()),
    },
    Probe {
        name: "semaphore-find",
        attempt: |a| semaphore(number(a, 0)?, 0).and_then(|_| ok()),
    },
    Probe {
        name: "semaphore-remove",
        attempt: remove_semaphore,
    },
    Probe {
        name: "open-terminal",
        attempt: open_terminal,
    },
];

/// utimensat(2) by path: no descriptor is opened, so no rule is asked.
fn touch_time(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|_| Errno::EDOM)?;
    let now = nix::sys::time::TimeSpec::from_duration(now);
    nix::sys::stat::utimensat(
        nix::fcntl::AT_FDCWD,
        path,
        &now,
        &now,
        nix::sys::stat::UtimensatFlags::FollowSymlink,
    )?;
    ok()
}

fn set_attribute(a: &[String]) -> Answer {
    let path = std::ffi::CString::new(argument(a, 0)?).map_err(|_| Errno::EDOM)?;
    let name = c"user.tipstaff-enforce";
    raw::call(
        libc::SYS_setxattr,
        &[
            path.as_ptr().addr(),
            name.as_ptr().addr(),
            name.as_ptr().addr(),
            1,
            0,
        ],
    )?;
    ok()
}

/// semget(2) of a set of one.
fn semaphore(key: usize, flags: i32) -> Result<i64, Errno> {
    let flags = usize::try_from(flags).map_err(|_| Errno::EDOM)?;
    raw::call(libc::SYS_semget, &[key, 1, flags])
}

fn remove_semaphore(a: &[String]) -> Answer {
    let id = semaphore(number(a, 0)?, 0)?;
    let id = usize::try_from(id).map_err(|_| Errno::EDOM)?;
    raw::call(libc::SYS_semctl, &[id, 0, 0])?;
    ok()
}

/// A new pseudo-terminal and the name of its other side. pty(7)
fn open_terminal(_: &[String]) -> Answer {
    let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY)?;
    unlockpt(&master)?;
    let name = ptsname_r(&master)?;
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        // Not our controlling terminal, which would take us along when it closes.
        .custom_flags(libc::O_NOCTTY)
        .open(&name)
        .map_err(errno)?;
    let mut facts = Facts::new();
    facts.insert("name".to_owned(), name.into());
    Ok(facts)
}
