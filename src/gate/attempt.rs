//! One exec as it waits: who makes it, and what it points at.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

use crate::sys::notify::{self, Waiting};
use crate::sys::process;

use super::image::{Image, Images, Print};
use super::memory::Memory;

/// An exec that waits to be judged. What it holds was read while it waited and may be another by the time
/// the kernel looks: only the stop after the exec tells.
#[derive(Debug)]
pub struct Attempt {
    /// The thread that makes it.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
    /// Becomes readable when the process ends.
    pub process: OwnedFd,
    /// The path as passed to execve(2); empty for a descriptor alone.
    pub given: Vec<u8>,
    /// The folder of a relative path, or the file itself where the path is empty: below `/proc`, where
    /// the kernel's own links lead to it.
    pub base: String,
    /// The folder the thread stands in, as the kernel shows it.
    pub cwd: Vec<u8>,
    /// The argv.
    pub argv: Vec<Vec<u8>>,
    /// The environment, each entry as it stands.
    pub environment: Vec<Vec<u8>>,
    /// The program that makes it, where it is known.
    pub image: Option<Arc<Image>>,
}

impl Attempt {
    /// Reads the exec that waits at `listener`; the error is what execve(2) should say.
    pub(super) fn read(
        listener: BorrowedFd<'_>,
        waiting: &Waiting,
        images: &Images,
    ) -> Result<Self, Errno> {
        let tid = waiting.tid;
        let [first, second, third, fourth, fifth, _] = waiting.arguments;
        let at = waiting.number == libc::SYS_execveat;
        let (folder, path, argv, environment, flags) = if at {
            (descriptor(first), second, third, fourth, fifth)
        } else {
            (libc::AT_FDCWD, first, second, third, 0)
        };
        let mut memory = Memory::open(tid)?;
        let (pid, process) = process_of(tid)?;
        // From here on all that was opened by number is the waiting task's.
        if !notify::is_waiting(listener, waiting.id) {
            return Err(Errno::ESRCH);
        }
        let given = memory.path(path)?;
        let empty = libc::AT_EMPTY_PATH.cast_unsigned();
        if given.is_empty() && flags & u64::from(empty) == 0 {
            return Err(Errno::ENOENT);
        }
        let base = if folder == libc::AT_FDCWD {
            format!("/proc/{tid}/cwd")
        } else {
            format!("/proc/{tid}/fd/{folder}")
        };
        let cwd = std::fs::read_link(format!("/proc/{tid}/cwd"))
            .map_err(|error| error.raw_os_error().map_or(Errno::EACCES, Errno::from_raw))?;
        let image = Print::of(tid).and_then(|print| images.find(&print));
        Ok(Self {
            tid,
            pid,
            process,
            base,
            cwd: cwd.into_os_string().into_vec(),
            argv: memory.strings(argv)?,
            environment: memory.strings(environment)?,
            given,
            image,
        })
    }

    /// The process by descriptor.
    pub fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// The path as the kernel hands it to the interpreter of a script. execveat(2)
    pub fn named(&self) -> Vec<u8> {
        let by_descriptor = self
            .base
            .rsplit_once("/fd/")
            .filter(|_| !self.given.starts_with(b"/"));
        match by_descriptor {
            None => self.given.clone(),
            Some((_, number)) if self.given.is_empty() => format!("/dev/fd/{number}").into_bytes(),
            Some((_, number)) => [format!("/dev/fd/{number}/").as_bytes(), &self.given].concat(),
        }
    }
}

/// A descriptor number, of which the kernel reads the low half.
fn descriptor(word: u64) -> i32 {
    let [a, b, c, d, ..] = word.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// The process of a thread, held by descriptor. Only its first thread has one by that number.
fn process_of(tid: i32) -> Result<(i32, OwnedFd), Errno> {
    if let Ok(process) = process::open(Pid::from_raw(tid)) {
        return Ok((tid, process));
    }
    let status =
        std::fs::read_to_string(format!("/proc/{tid}/status")).map_err(|_| Errno::ESRCH)?;
    let pid = status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        .ok_or(Errno::ESRCH)?;
    Ok((pid, process::open(Pid::from_raw(pid))?))
}
