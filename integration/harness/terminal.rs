//! A pseudo-terminal with the program under test in its foreground.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;

use super::process::{self, Ran, Started, limit};
use super::{Outcome, fail};

/// The person's side of a terminal.
pub struct Terminal {
    master: File,
    seen: Vec<u8>,
}

/// Starts `command` as the leader of a session whose terminal is new. Its standard error goes to a file
/// or to the terminal.
pub fn start(command: &Command, folder: &std::path::Path) -> Outcome<(Terminal, Started)> {
    let pty = openpty(None, None)?;
    // A program that holds the person's side as well would never see it closed.
    fcntl(&pty.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    // setsid(1) takes its standard input for the controlling terminal, so that no code of ours has to
    // run between fork and exec.
    let mut session = Command::new("setsid");
    session
        .arg("--ctty")
        .arg(command.get_program())
        .args(command.get_args());
    session.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            session.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        session.current_dir(folder);
    }
    session.stdin(Stdio::from(pty.slave));
    let started = process::start(session, folder)?;
    Ok((
        Terminal {
            master: File::from(pty.master),
            seen: Vec::new(),
        },
        started,
    ))
}

impl Terminal {
    /// Reads until the question stands there whole and waits for a key.
    pub fn await_prompt(&mut self, started: &mut Started) -> Outcome {
        let begin = Instant::now();
        while !self.asks() {
            if begin.elapsed() > limit() || !started.running()? {
                return fail(format!(
                    "no question appeared on the terminal; it shows: {}; stderr: {}",
                    self.shown(),
                    started.message()
                ));
            }
            self.read_some()?;
        }
        Ok(())
    }

    /// Reads until a further question stands there.
    pub fn await_news(&mut self, started: &mut Started) -> Outcome {
        self.seen.clear();
        self.await_prompt(started)
    }

    fn asks(&self) -> bool {
        let shown = self.shown();
        shown.contains("then Enter") && shown.trim_end().ends_with('>')
    }

    /// Reads on until the program has ended: one that nobody reads could not say its last words.
    pub fn end(&mut self, mut started: Started) -> Outcome<Ran> {
        let begin = Instant::now();
        while started.running()? && begin.elapsed() < limit() {
            self.read_some()?;
        }
        started.end()
    }

    fn read_some(&mut self) -> Outcome {
        let mut fds = [PollFd::new(self.master.as_fd(), PollFlags::POLLIN)];
        let wait = PollTimeout::try_from(Duration::from_millis(20))?;
        if poll(&mut fds, wait)? == 0 {
            return Ok(());
        }
        let mut bytes = [0u8; 4096];
        // EIO once the other side is closed: there is nothing more to see. pty(7)
        let count = self.master.read(&mut bytes).unwrap_or(0);
        if count == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.seen.extend(bytes.iter().take(count));
        Ok(())
    }

    /// Types `text`.
    pub fn types(&mut self, text: &str) -> Outcome {
        self.master.write_all(text.as_bytes())?;
        Ok(())
    }

    /// Everything shown so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}
