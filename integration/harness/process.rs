//! Running a program to its end, within a limit.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Outcome, expect, fail};

/// How long a single program may take before the test calls it hung: 30 seconds, or `ENFORCE_LIMIT`. A
/// guard, not an assertion.
pub fn limit() -> Duration {
    let chosen = std::env::var("ENFORCE_LIMIT")
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(chosen.unwrap_or(30))
}

/// What a program did.
#[derive(Debug)]
pub struct Ran {
    /// The program, for messages.
    pub what: String,
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to its standard output.
    pub out: String,
    /// What it wrote to its standard error.
    pub err: String,
}

impl Ran {
    /// Fails unless it exited with `code`.
    pub fn exits(&self, code: i32) -> Outcome<&Self> {
        expect(
            self.code == Some(code),
            format!("expected exit {code}: {self}"),
        )?;
        Ok(self)
    }

    /// Fails unless `text` stands in what it wrote to standard error.
    pub fn says(&self, text: &str) -> Outcome<&Self> {
        expect(
            self.err.contains(text),
            format!("expected `{text}` in the message: {self}"),
        )?;
        Ok(self)
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} -> exit {:?} signal {:?}\n      stdout: {}\n      stderr: {}",
            self.what,
            self.code,
            self.signal,
            self.out.trim(),
            self.err.trim().replace('\n', "\n              ")
        )
    }
}

/// A program that is still running, with its output in files so that nothing it leaves behind can hold
/// a pipe open.
pub struct Started {
    what: String,
    child: Child,
    out: PathBuf,
    err: PathBuf,
    begin: Instant,
}

impl Started {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(i32::MAX)
    }

    /// True while it has not been seen to end.
    pub fn running(&mut self) -> Outcome<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// What it has written to standard error so far.
    pub fn message(&self) -> String {
        text(&self.err)
    }

    /// SIGKILL, which nothing can catch.
    pub fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        Ok(())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) -> Outcome {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid()), signal)?;
        Ok(())
    }

    /// Waits for its end; kills it at the limit.
    pub fn end(self) -> Outcome<Ran> {
        self.end_within(limit())
    }

    /// As `end` with a limit of its own.
    pub fn end_within(mut self, limit: Duration) -> Outcome<Ran> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Ran {
                    what: self.what,
                    code: status.code(),
                    signal: status.signal(),
                    out: text(&self.out),
                    err: text(&self.err),
                });
            }
            if self.begin.elapsed() > limit {
                self.child.kill()?;
                self.child.wait()?;
                return fail(format!(
                    "`{}` was not back after {limit:?}; stderr: {}",
                    self.what,
                    text(&self.err)
                ));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn text(path: &Path) -> String {
    fs::read(path).map_or_else(
        |error| format!("(unreadable: {error})"),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// Starts `command` with its output in `folder`.
pub fn start(mut command: Command, folder: &Path) -> Outcome<Started> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (out, err) = (
        folder.join(format!("out.{number}")),
        folder.join(format!("err.{number}")),
    );
    command
        .stdout(Stdio::from(File::create(&out)?))
        .stderr(Stdio::from(File::create(&err)?));
    let what = shown(&command);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return fail(format!("`{what}` cannot be started: {error}")),
    };
    Ok(Started {
        what,
        child,
        out,
        err,
        begin: Instant::now(),
    })
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Waits until `holds` answers true; fails with `what` after the limit.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) -> Outcome {
    let begin = Instant::now();
    while !holds() {
        expect(
            begin.elapsed() < limit(),
            format!("waited in vain until {what}"),
        )?;
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
