//! Probes of the file system.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;

use nix::errno::Errno;
use nix::libc;

use crate::{Answer, Facts, Probe, argument, errno, number, ok, raw};

pub const PROBES: &[Probe] = &[
    Probe {
        name: "open-read",
        attempt: open_read,
    },
    Probe {
        name: "open-write",
        attempt: open_write,
    },
    Probe {
        name: "list",
        attempt: list,
    },
    Probe {
        name: "create",
        attempt: create,
    },
    Probe {
        name: "mkdir",
        attempt: |a| {
            fs::create_dir(argument(a, 0)?)
                .map_err(errno)
                .and_then(|()| ok())
        },
    },
    Probe {
        name: "rename",
        attempt: |a| {
            fs::rename(argument(a, 0)?, argument(a, 1)?)
                .map_err(errno)
                .and_then(|()| ok())
        },
    },
    Probe {
        name: "unlink",
        attempt: |a| {
            fs::remove_file(argument(a, 0)?)
                .map_err(errno)
                .and_then(|()| ok())
        },
    },
    Probe {
        name: "link",
        attempt: |a| {
            fs::hard_link(argument(a, 0)?, argument(a, 1)?)
                .map_err(errno)
                .and_then(|()| ok())
        },
    },
    Probe {
        name: "symlink",
        attempt: |a| {
            std::os::unix::fs::symlink(argument(a, 0)?, argument(a, 1)?)
                .map_err(errno)
                .and_then(|()| ok())
        },
    },
    Probe {
        name: "truncate",
        attempt: |a| nix::unistd::truncate(argument(a, 0)?, 0).and_then(|()| ok()),
    },
    Probe {
        name: "exec",
        attempt: exec,
    },
    Probe {
        name: "chmod-suid",
        attempt: chmod_suid,
    },
    Probe {
        name: "fchmod-suid",
        attempt: fchmod_suid,
    },
    Probe {
        name: "fchmodat2-suid",
        attempt: fchmodat2_suid,
    },
    Probe {
        name: "create-suid",
        attempt: create_suid,
    },
    Probe {
        name: "openat2-suid",
        attempt: openat2_suid,
    },
    Probe {
        name: "mknod-device",
        attempt: mknod_device,
    },
    Probe {
        name: "open-many",
        attempt: open_many,
    },
];

fn open_read(a: &[String]) -> Answer {
    let mut file = fs::File::open(argument(a, 0)?).map_err(errno)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(errno)?;
    let mut facts = Facts::new();
    facts.insert("text".to_owned(), String::from_utf8_lossy(&text).into());
    Ok(facts)
}

fn open_write(a: &[String]) -> Answer {
    let mut file = OpenOptions::new()
        .append(true)
        .open(argument(a, 0)?)
        .map_err(errno)?;
    file.write_all(b"probe was here\n").map_err(errno)?;
    ok()
}

fn list(a: &[String]) -> Answer {
    let mut names = Vec::new();
    for entry in fs::read_dir(argument(a, 0)?).map_err(errno)? {
        let name = entry.map_err(errno)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    let mut facts = Facts::new();
    facts.insert("names".to_owned(), names.into());
    Ok(facts)
}

fn create(a: &[String]) -> Answer {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(argument(a, 0)?)
        .map_err(errno)?;
    ok()
}

/// Replaces this program; comes back only when that fails.
fn exec(a: &[String]) -> Answer {
    #[allow(
        clippy::disallowed_methods,
        reason = "the probe stands for an untrusted program"
    )]
    let mut command = std::process::Command::new(argument(a, 0)?);
    command.args(a.get(1..).unwrap_or_default());
    Err(errno(command.exec()))
}

/// Whether the set-user-ID bit of `path` really is on, since a call may succeed and drop it.
fn suid_answer(path: &str) -> Answer {
    let mode = fs::metadata(path).map_err(errno)?.mode();
    let mut facts = Facts::new();
    facts.insert("suid".to_owned(), (mode & 0o4000 != 0).into());
    Ok(facts)
}

fn chmod_suid(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o4755)).map_err(errno)?;
    suid_answer(path)
}

fn fchmod_suid(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let file = fs::File::open(path).map_err(errno)?;
    file.set_permissions(fs::Permissions::from_mode(0o4755))
        .map_err(errno)?;
    suid_answer(path)
}

/// `fchmodat2(2)`, number 452 on every architecture, newer than the C library's own table.
fn fchmodat2_suid(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let text = std::ffi::CString::new(path).map_err(|_| Errno::EDOM)?;
    let here = usize::MAX - 99; // AT_FDCWD, -100
    raw::call(452, &[here, text.as_ptr().addr(), 0o4755, 0])?;
    suid_answer(path)
}

fn create_suid(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o4755)
        .open(path)
        .map_err(errno)?;
    file.write_all(b"#!/bin/sh\n").map_err(errno)?;
    suid_answer(path)
}

/// `openat2(2)` takes its mode behind a pointer, where no filter can look.
fn openat2_suid(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let text = std::ffi::CString::new(path).map_err(|_| Errno::EDOM)?;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    let how: [u64; 3] = [u64::from(flags.unsigned_abs()), 0o4755, 0];
    let here = usize::MAX - 99;
    raw::call(
        libc::SYS_openat2,
        &[
            here,
            text.as_ptr().addr(),
            how.as_ptr().addr(),
            std::mem::size_of_val(&how),
        ],
    )?;
    let mut file = OpenOptions::new().append(true).open(path).map_err(errno)?;
    file.write_all(b"#!/bin/sh\n").map_err(errno)?;
    suid_answer(path)
}

/// A null path: EFAULT once the mode was let through, wherever and as whomever it is tried.
fn mknod_device(_: &[String]) -> Answer {
    let here = usize::MAX - 99;
    let mode = usize::try_from(libc::S_IFCHR | 0o666).map_err(|_| Errno::EDOM)?;
    raw::call(libc::SYS_mknodat, &[here, 0, mode, 0x103])?;
    ok()
}

/// Opens and closes a file many times: the load of the benchmark, not an attack.
fn open_many(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let count: u64 = number(a, 1)?;
    let begin = std::time::Instant::now();
    for _ in 0..count {
        fs::File::open(path).map_err(errno)?;
    }
    let mut facts = Facts::new();
    facts.insert("seconds".to_owned(), begin.elapsed().as_secs_f64().into());
    Ok(facts)
}
