//! Probes of how one program becomes another.
#![allow(
    clippy::disallowed_methods,
    reason = "this program stands for whatever a command may run, and starts programs as that would"
)]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{execv, execveat};

use crate::{Answer, Facts, Probe, argument, errno, number, ok, raw};

pub const PROBES: &[Probe] = &[
    Probe {
        name: "exec",
        attempt: exec,
    },
    Probe {
        name: "exec-thread",
        attempt: exec_thread,
    },
    Probe {
        name: "exec-spawn",
        attempt: exec_spawn,
    },
    Probe {
        name: "exec-fd",
        attempt: exec_fd,
    },
    Probe {
        name: "exec-proc-fd",
        attempt: exec_proc_fd,
    },
    Probe {
        name: "exec-memfd",
        attempt: exec_memfd,
    },
    Probe {
        name: "exec-deleted",
        attempt: exec_deleted,
    },
    Probe {
        name: "exec-race",
        attempt: exec_race,
    },
    Probe {
        name: "exec-big",
        attempt: exec_big,
    },
    Probe {
        name: "exec-many",
        attempt: exec_many,
    },
    Probe {
        name: "fork-many",
        attempt: fork_many,
    },
    Probe {
        name: "exec-under-timer",
        attempt: exec_under_timer,
    },
    Probe {
        name: "exec-called",
        attempt: exec_called,
    },
    Probe {
        name: "exec-forged",
        attempt: exec_forged,
    },
    Probe {
        name: "memory-of",
        attempt: memory_of,
    },
];

fn word(text: &str) -> Result<CString, Errno> {
    CString::new(text).map_err(|_| Errno::EDOM)
}

/// PROGRAM and its arguments, the program's own name first.
fn words(a: &[String]) -> Result<(CString, Vec<CString>), Errno> {
    let argv = a
        .iter()
        .map(|text| word(text))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((argv.first().cloned().ok_or(Errno::EDOM)?, argv))
}

/// execve(2) of PROGRAM ARGS; comes back only when it fails.
fn exec(a: &[String]) -> Answer {
    let (path, argv) = words(a)?;
    execv(&path, &argv).map(|never| match never {})
}

/// The same by another thread than the first.
fn exec_thread(a: &[String]) -> Answer {
    let a = a.to_vec();
    std::thread::spawn(move || exec(&a))
        .join()
        .unwrap_or(Err(Errno::EDOM))
}

/// posix_spawn(3) of PROGRAM ARGS.
fn exec_spawn(a: &[String]) -> Answer {
    let status = Command::new(argument(a, 0)?)
        .args(a.get(1..).unwrap_or_default())
        .status()
        .map_err(errno)?;
    let mut facts = Facts::new();
    facts.insert("code".to_owned(), status.code().into());
    Ok(facts)
}

/// execve(2) of PATH under the name NAME, with the arguments that follow.
fn exec_called(a: &[String]) -> Answer {
    let (_, argv) = words(a.get(1..).unwrap_or_default())?;
    execv(&word(argument(a, 0)?)?, &argv).map(|never| match never {})
}

/// execveat(2) by descriptor alone.
fn exec_fd(a: &[String]) -> Answer {
    let (path, argv) = words(a)?;
    let file = open(
        path.as_c_str(),
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    run_fd(&file, &argv)
}

fn run_fd(file: &impl std::os::fd::AsFd, argv: &[CString]) -> Answer {
    let environment: [&std::ffi::CStr; 0] = [];
    let flags = AtFlags::AT_EMPTY_PATH;
    execveat(file, c"", argv, &environment, flags).map(|never| match never {})
}

/// execve(2) of `/proc/self/fd/N`.
fn exec_proc_fd(a: &[String]) -> Answer {
    let (path, argv) = words(a)?;
    let file = open(
        path.as_c_str(),
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    let link = word(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    execv(&link, &argv).map(|never| match never {})
}

/// A copy of PROGRAM in memory alone.
fn exec_memfd(a: &[String]) -> Answer {
    let (_, argv) = words(a)?;
    let bytes = fs::read(argument(a, 0)?).map_err(errno)?;
    let memory = memfd_create(c"copy", MFdFlags::MFD_CLOEXEC)?;
    File::from(memory.try_clone().map_err(errno)?)
        .write_all(&bytes)
        .map_err(errno)?;
    run_fd(&memory, &argv)
}

/// A copy of PROGRAM that is deleted before it is executed.
fn exec_deleted(a: &[String]) -> Answer {
    let (_, argv) = words(a)?;
    fs::copy(argument(a, 0)?, "deleted-copy").map_err(errno)?;
    fs::set_permissions("deleted-copy", fs::Permissions::from_mode(0o755)).map_err(errno)?;
    let file = open(
        "deleted-copy",
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    fs::remove_file("deleted-copy").map_err(errno)?;
    run_fd(&file, &argv)
}

/// The path of a race: `./ra` and four letters that another thread keeps changing.
static PATH: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];

/// exec-race N: N times, one thread executes a path that another flips between `./ragood`, which exits
/// with 0, and `./raevil`, which exits with 1; tells how often which of the two ran.
fn exec_race(a: &[String]) -> Answer {
    let times: u32 = number(a, 0)?;
    let (mut good, mut evil, mut killed) = (0, 0, 0);
    for _ in 0..times {
        let child = raw::fork_into(race)?;
        let status = waitpid(child, None)?;
        if matches!(status, WaitStatus::Exited(_, 0)) {
            good += 1;
        } else if matches!(status, WaitStatus::Exited(_, 1)) {
            evil += 1;
        } else if matches!(status, WaitStatus::Signaled(_, Signal::SIGKILL, _)) {
            killed += 1;
        } else {
            return Err(Errno::EDOM);
        }
    }
    let mut facts = Facts::new();
    for (name, count) in [("good", good), ("evil", evil), ("killed", killed)] {
        facts.insert(name.to_owned(), count.into());
    }
    Ok(facts)
}

fn race() -> i32 {
    let put = |at: usize, text: &[u8; 4]| {
        if let Some(word) = PATH.get(at) {
            word.store(u32::from_ne_bytes(*text), Ordering::Relaxed);
        }
    };
    put(0, b"./ra");
    put(1, b"good");
    std::thread::spawn(move || {
        loop {
            for text in [b"good", b"evil"] {
                put(1, text);
                for _ in 0..100 {
                    std::hint::spin_loop();
                }
            }
        }
    });
    std::thread::sleep(std::time::Duration::from_micros(300));
    let argv = [c"prog".as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null::<libc::c_char>()];
    // Most attempts are refused, since the path was the other one when it was read.
    for _ in 0..100_000 {
        let arguments = [
            PATH.as_ptr() as usize,
            argv.as_ptr() as usize,
            environment.as_ptr() as usize,
        ];
        raw::call(libc::SYS_execve, &arguments).ok();
    }
    9
}

/// exec-big BYTES: executes `true` with an argument list of this size.
fn exec_big(a: &[String]) -> Answer {
    let bytes: usize = number(a, 0)?;
    let each = "x".repeat(100_000);
    let status = Command::new("/bin/true")
        .args(std::iter::repeat_n(each.as_str(), bytes / each.len()))
        .arg("x".repeat(bytes % each.len()))
        .env_clear()
        .status()
        .map_err(errno)?;
    if status.success() {
        ok()
    } else {
        Err(Errno::EDOM)
    }
}

/// exec-many THREADS TIMES: each thread spawns `true` so often; tells how many came back well.
fn exec_many(a: &[String]) -> Answer {
    let (threads, times): (u32, u32) = (number(a, 0)?, number(a, 1)?);
    let spawn = move || {
        (0..times)
            .filter(|_| {
                Command::new("/bin/true")
                    .status()
                    .is_ok_and(|status| status.success())
            })
            .count()
    };
    let begin = std::time::Instant::now();
    let workers: Vec<_> = (0..threads).map(|_| std::thread::spawn(spawn)).collect();
    let well: usize = workers
        .into_iter()
        .map(|worker| worker.join().unwrap_or(0))
        .sum();
    let mut facts = Facts::new();
    facts.insert("well".to_owned(), well.into());
    facts.insert("seconds".to_owned(), begin.elapsed().as_secs_f64().into());
    Ok(facts)
}

/// fork-many TIMES: forks a child that leaves at once.
fn fork_many(a: &[String]) -> Answer {
    let times: u32 = number(a, 0)?;
    let begin = std::time::Instant::now();
    for _ in 0..times {
        waitpid(raw::fork_into(|| 0)?, None)?;
    }
    let mut facts = Facts::new();
    facts.insert("seconds".to_owned(), begin.elapsed().as_secs_f64().into());
    Ok(facts)
}

extern "C" fn nothing(_: libc::c_int) {}

/// exec-under-timer TIMES: tries a program that does not exist while a signal comes 2,000 times a second;
/// every attempt has to say ENOENT.
fn exec_under_timer(a: &[String]) -> Answer {
    let times: u32 = number(a, 0)?;
    let action = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    raw::set_action(Signal::SIGALRM, &action)?;
    raw::set_timer(500)?;
    let argv = [c"absent".as_ptr(), std::ptr::null()];
    let mut facts = Facts::new();
    let mut other = 0;
    for _ in 0..times {
        let arguments = [c"/absent".as_ptr() as usize, argv.as_ptr() as usize, 0];
        if raw::call(libc::SYS_execve, &arguments) != Err(Errno::ENOENT) {
            other += 1;
        }
    }
    raw::set_timer(0)?;
    facts.insert("other".to_owned(), other.into());
    Ok(facts)
}

/// exec-forged TOOL: changes the last byte of TOOL through a page that was mapped and dirty before it was
/// looked at, so that nothing stat(2) tells of it changes, and executes it.
fn exec_forged(a: &[String]) -> Answer {
    let path = argument(a, 0)?;
    let file = File::options()
        .read(true)
        .write(true)
        .open(path)
        .map_err(errno)?;
    let length = usize::try_from(file.metadata().map_err(errno)?.len()).map_err(|_| Errno::EDOM)?;
    let mut mapping = raw::Mapping::of(&file, length)?;
    drop(file);
    mapping.put(length - 1, 0)?;
    // Looked at while nothing has changed yet; it cannot start, since it is mapped for writing.
    let busy = exec(a.get(..1).unwrap_or_default());
    if busy.as_ref().err() != Some(&Errno::ETXTBSY) {
        return busy;
    }
    let before = fs::metadata(path).map_err(errno)?;
    mapping.put(length - 1, 1)?;
    drop(mapping);
    let after = fs::metadata(path).map_err(errno)?;
    use std::os::unix::fs::MetadataExt as _;
    let shown = |file: &fs::Metadata| (file.mtime_nsec(), file.ctime_nsec(), file.len());
    if shown(&before) != shown(&after) {
        // This file system moves the times all the same: nothing to forge.
        return Err(Errno::ESTALE);
    }
    exec(a.get(..1).unwrap_or_default())
}

/// memory-of PID: writes to the memory of another process.
fn memory_of(a: &[String]) -> Answer {
    let pid: i32 = number(a, 0)?;
    let memory = File::options()
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .map_err(errno)?;
    memory.write_at(b"x", 0).map_err(errno)?;
    ok()
}
