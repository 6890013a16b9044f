//! The relayed pty: the command gets a terminal of its own, never the caller's.
//!
//! With the caller's terminal in its hands a command could type into the shell that comes after it
//! (TIOCSTI), read what a person answers, or draw a question of its own. So a terminal on 0–2 of the
//! command is the slave of a fresh pty (pty(7)), and this end moves bytes between its master and the
//! real terminal while the command runs. Pipes and files pass untouched.
//!
//! The real terminal goes raw only while the relay runs, only if it is where we read, and only while we
//! are its foreground process group; its modes are given back by a guard. When standard input is no
//! terminal its modes stay as they are: its interrupt key still reaches the supervisor.
//!
//! When standard output is no terminal, what comes after us in the pipeline may be a pager that uses the
//! same terminal, sets its modes, and outlives us. Then nothing is set: lines are passed on as typed,
//! as long as the terminal hands out lines. The real terminal echoes them, whatever the command says.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use crate::sys::tty;

mod keys;

use keys::{Keys, Manner};

/// Which of standard input, output and error are terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminals {
    /// 0
    pub input: bool,
    /// 1
    pub output: bool,
    /// 2
    pub error: bool,
}

impl Terminals {
    /// Of this process.
    pub fn of_this_process() -> Self {
        Self {
            input: io::stdin().is_terminal(),
            output: io::stdout().is_terminal(),
            error: io::stderr().is_terminal(),
        }
    }
}

/// Why a terminal cannot be relayed.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// No pty to be had.
    #[error("cannot open a pseudo-terminal for the command; is `/dev/pts` mounted")]
    Pty {
        /// Why.
        source: io::Error,
    },
    /// The real terminal fails.
    #[error("cannot use the terminal on standard {stream}")]
    Terminal {
        /// `input` or `output`.
        stream: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The pty fails.
    #[error("cannot relay the terminal of the command")]
    Relay {
        /// Why.
        source: io::Error,
    },
}

/// Whether bytes may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// They may.
    Open,
    /// Every process has closed the pty, and all it said is written.
    Ended,
}

/// A fresh pty and the real terminal it stands for.
#[derive(Debug)]
pub struct Relay {
    master: PtyMaster,
    slave: Option<OwnedFd>,
    /// Where keys are read, when standard input is a terminal.
    keys: Option<Keys>,
    /// Where output is written.
    screen: File,
    terminals: Terminals,
    to_command: Vec<u8>,
    to_screen: Vec<u8>,
    command_left: bool,
}

/// Bytes kept for a side that does not take them; beyond this the other side is not read.
const MOST: usize = 64 * 1024;

impl Relay {
    /// A relay for the terminals among `terminals`, `None` when there is none. The pty starts with the
    /// modes and the window size of the real terminal. Nothing is touched before [`Relay::run`].
    pub fn open(terminals: Terminals) -> Result<Option<Self>, RelayError> {
        let (keys, screen) = (io::stdin(), (io::stdout(), io::stderr()));
        let output = if terminals.output {
            screen.0.as_fd()
        } else if terminals.error {
            screen.1.as_fd()
        } else if terminals.input {
            // What the line discipline of the pty echoes belongs where the keys are.
            keys.as_fd()
        } else {
            return Ok(None);
        };
        let input = terminals.input.then(|| keys.as_fd());
        Self::between(terminals, input, output).map(Some)
    }

    fn between(
        terminals: Terminals,
        input: Option<BorrowedFd<'_>>,
        output: BorrowedFd<'_>,
    ) -> Result<Self, RelayError> {
        let manner = if terminals.output {
            Manner::Raw
        } else {
            Manner::Lines
        };
        let keys = input.map(|fd| Keys::new(fd, manner)).transpose()?;
        let screen = own(output).map_err(|source| RelayError::Terminal {
            stream: "output",
            source,
        })?;
        let modes = tcgetattr(&screen).map_err(|errno| RelayError::Terminal {
            stream: "output",
            source: errno.into(),
        })?;
        let (master, slave) = pty().map_err(|source| RelayError::Pty { source })?;
        let mut modes = keys.as_ref().map_or(modes, |keys| keys.found.clone());
        if keys.is_some() && manner == Manner::Lines {
            // The real terminal echoes already.
            modes.local_flags.remove(LocalFlags::ECHO);
        }
        tcsetattr(&slave, SetArg::TCSANOW, &modes).map_err(relay)?;
        let relay = Self {
            master,
            slave: Some(slave),
            keys,
            screen,
            terminals,
            to_command: Vec::new(),
            to_screen: Vec::new(),
            command_left: false,
        };
        relay.resize()?;
        Ok(relay)
    }

    /// Which of 0–2 of the command the slave replaces.
    pub const fn terminals(&self) -> Terminals {
        self.terminals
    }

    /// The command's terminal. It has to control the command's session (TIOCSCTTY), so that its
    /// interrupt key works.
    pub fn slave(&self) -> Option<BorrowedFd<'_>> {
        self.slave.as_ref().map(AsFd::as_fd)
    }

    /// Closes our copy of the slave, once the child has its own: the end of the command shows only when
    /// nobody holds it any more.
    pub fn release(&mut self) {
        self.slave = None;
    }

    /// Starts to relay: the real terminal goes raw.
    pub fn run(&mut self) -> Result<(), RelayError> {
        self.keys.as_mut().map_or(Ok(()), |keys| {
            keys.running = true;
            keys.follow()
        })
    }

    /// Holds the relay while a question is open: the real terminal has its own modes again, and keys are
    /// not read.
    pub fn hold(&mut self) -> Result<(), RelayError> {
        self.keys.as_mut().map_or(Ok(()), |keys| {
            keys.running = false;
            keys.follow()
        })
    }

    /// Gives the pty the window size of the real terminal; to be called on SIGWINCH.
    pub fn resize(&self) -> Result<(), RelayError> {
        // A terminal without a size, such as a serial line, has none to pass on.
        match tty::size(&self.screen) {
            Ok(size) => {
                tty::set_size(&self.master, &size).map_err(|source| RelayError::Relay { source })
            }
            Err(_) => Ok(()),
        }
    }

    /// The descriptors to wait for, with their events. [`Relay::ready`] is to be called when any is
    /// ready.
    pub fn fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let mut fds = Vec::new();
        if let Some(keys) = &self.keys
            && keys.may_read()
            && self.to_command.len() < MOST
        {
            fds.push((keys.tty.as_fd(), PollFlags::POLLIN));
        }
        if !self.to_screen.is_empty() {
            fds.push((self.screen.as_fd(), PollFlags::POLLOUT));
        }
        let mut master = PollFlags::empty();
        master.set(PollFlags::POLLIN, self.to_screen.len() < MOST);
        master.set(PollFlags::POLLOUT, !self.to_command.is_empty());
        // Without an event asked for poll(2) still reports POLLHUP, and would spin.
        if !self.command_left && !master.is_empty() {
            fds.push((self.master.as_fd(), master));
        }
        fds
    }

    /// Moves what can be moved without waiting.
    pub fn ready(&mut self) -> Result<Flow, RelayError> {
        if let Some(keys) = &mut self.keys {
            keys.follow()?;
            if self.to_command.len() < MOST {
                keys.read(&mut self.to_command, &self.master)?;
            }
        }
        self.say()?;
        self.hear()?;
        self.show()?;
        Ok(self.flow())
    }

    fn flow(&self) -> Flow {
        if self.command_left && self.to_screen.is_empty() {
            Flow::Ended
        } else {
            Flow::Open
        }
    }

    /// Shows all that the command still has to say, for at most `limit`: a survivor may hold the pty,
    /// a stopped terminal may take nothing. Then gives the real terminal back.
    pub fn finish(mut self, limit: Duration) -> Result<(), RelayError> {
        self.release();
        self.to_command.clear();
        if let Some(keys) = &mut self.keys {
            // What is typed now is for whoever comes next. The modes stay until all is shown: the guard
            // gives them back.
            keys.running = false;
        }
        let deadline = Instant::now() + limit;
        loop {
            self.hear()?;
            self.show()?;
            if self.flow() == Flow::Ended {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let timeout = u16::try_from(left.as_millis().saturating_add(1))
                .map_or(PollTimeout::MAX, PollTimeout::from);
            let mut fds: Vec<PollFd<'_>> = self
                .fds()
                .into_iter()
                .map(|(fd, events)| PollFd::new(fd, events))
                .collect();
            match poll(&mut fds, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(relay(errno)),
            }
        }
        Ok(())
    }

    /// Writes keys to the command.
    fn say(&mut self) -> Result<(), RelayError> {
        while !self.to_command.is_empty() && !self.command_left {
            match self.master.write(&self.to_command) {
                Ok(0) => break,
                Ok(count) => drop(self.to_command.drain(..count.min(self.to_command.len()))),
                Err(error) => match judge(&error) {
                    Trouble::Later => break,
                    // Nobody reads them any more; what was said is read below until its end.
                    Trouble::Gone => self.to_command.clear(),
                    Trouble::Real => return Err(RelayError::Relay { source: error }),
                },
            }
        }
        Ok(())
    }

    /// Reads what the command says.
    fn hear(&mut self) -> Result<(), RelayError> {
        let mut buffer = [0; 8192];
        while self.to_screen.len() < MOST && !self.command_left {
            match self.master.read(&mut buffer) {
                Ok(0) => self.command_left = true,
                Ok(count) => self.to_screen.extend(buffer.iter().take(count)),
                Err(error) => match judge(&error) {
                    Trouble::Later => break,
                    // EIO: every slave is closed and nothing is left to read (pty(7)). While we hold
                    // the slave ourselves it cannot be the end.
                    Trouble::Gone => self.command_left = true,
                    Trouble::Real => return Err(RelayError::Relay { source: error }),
                },
            }
        }
        Ok(())
    }

    /// Writes what the command said to the real terminal.
    fn show(&mut self) -> Result<(), RelayError> {
        while !self.to_screen.is_empty() {
            if !is_ready(self.screen.as_fd(), PollFlags::POLLOUT) {
                break;
            }
            // Small pieces: where the terminal could not be opened anew, a write may block for what
            // exceeds its room, and poll(2) promises little.
            let piece = self.to_screen.get(..256).unwrap_or(&self.to_screen);
            match self.screen.write(piece) {
                Ok(0) => break,
                Ok(count) => drop(self.to_screen.drain(..count.min(self.to_screen.len()))),
                Err(error) => match judge(&error) {
                    Trouble::Later => break,
                    // The real terminal hung up: the command runs on, as it would with any terminal
                    // that went away, but there is nowhere to show what it says.
                    Trouble::Gone => self.to_screen.clear(),
                    Trouble::Real => {
                        return Err(RelayError::Terminal {
                            stream: "output",
                            source: error,
                        });
                    }
                },
            }
        }
        Ok(())
    }
}

/// A new pty: the master non-blocking, both closed on exec.
fn pty() -> io::Result<(PtyMaster, OwnedFd)> {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let master = posix_openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(ptsname_r(&master)?)?;
    Ok((master, slave.into()))
}

/// The terminal `fd` as an open file description of our own, so that it can be non-blocking without
/// changing it for the processes that share the caller's. Where it may not be opened anew (after su(1),
/// say), a copy of the descriptor that may block.
fn own(fd: BorrowedFd<'_>) -> io::Result<File> {
    use std::os::fd::AsRawFd as _;
    let anew = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags((OFlag::O_NOCTTY | OFlag::O_NONBLOCK).bits())
        .open(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    match anew {
        Ok(file) => Ok(file),
        Err(_) => fd.try_clone_to_owned().map(File::from),
    }
}

fn is_ready(fd: BorrowedFd<'_>, events: PollFlags) -> bool {
    let mut fds = [PollFd::new(fd, events)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
}

enum Trouble {
    /// Not now.
    Later,
    /// The other side is gone.
    Gone,
    /// Anything else.
    Real,
}

fn judge(error: &io::Error) -> Trouble {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted, _) => Trouble::Later,
        (io::ErrorKind::BrokenPipe, _) | (_, Some(nix::libc::EIO)) => Trouble::Gone,
        _ => Trouble::Real,
    }
}

fn relay(errno: Errno) -> RelayError {
    RelayError::Relay {
        source: errno.into(),
    }
}

fn input(source: io::Error) -> RelayError {
    RelayError::Terminal {
        stream: "input",
        source,
    }
}

#[cfg(test)]
mod tests;
