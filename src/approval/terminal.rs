//! A person at the controlling terminal.
//!
//! The terminal is `/dev/tty`, never standard input: what the caller feeds us is not a person. It is
//! used only in its foreground process group. A key counts with Enter alone and only when typed after
//! the question was drawn *and* the keyboard was quiet for a moment: what is typed or pasted while the
//! question appears was meant for something else, and the end of such a word may be a `y` of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::PollFlags;
use nix::sys::termios::{
    FlushArg, InputFlags, LocalFlags, OutputFlags, SetArg, Termios, tcflush, tcgetattr, tcsetattr,
};
use nix::unistd::{Uid, User, getpgrp, tcgetpgrp};

use crate::model::text::Escaped;
use crate::sys::tty;

use super::approver::{Answer, Approver, ApproverError, Choice, Known, Nobody, Through, Who};
use super::keys::{Key, read_key};
use super::question::Question;
use super::render::{Detail, Paint, render, spoken, wrap};
use super::wait::{Wait, Woken};

/// The controlling terminal of the process (tty(4)).
#[derive(Clone, Debug)]
pub struct Terminal {
    path: PathBuf,
    paint: Paint,
    quiet: Duration,
    in_foreground: fn(BorrowedFd<'_>) -> Result<bool, Errno>,
}

/// How long the keyboard has to be quiet before a key counts: longer than the gap between two keys of
/// somebody who types a word, shorter than it takes to read a question.
const QUIET: Duration = Duration::from_millis(400);

impl Terminal {
    /// The terminal that controls this process.
    pub fn new(paint: Paint) -> Self {
        Self {
            path: PathBuf::from("/dev/tty"),
            paint,
            quiet: QUIET,
            in_foreground,
        }
    }

    /// A pty that controls nothing, for tests.
    #[cfg(test)]
    pub(super) fn for_tests(path: PathBuf, quiet: Duration) -> Self {
        Self {
            path,
            paint: Paint::Plain,
            quiet,
            in_foreground: |_| Ok(true),
        }
    }

    /// Whether a person can be asked here now.
    pub fn attached(&self) -> Result<(), Nobody> {
        self.open().map(|_| ())
    }

    fn open(&self) -> Result<File, Nobody> {
        let tty = OpenOptions::new()
            .read(true)
            .write(true)
            // Non-blocking: neither a stopped output nor a line that somebody else took may hold us
            // past the deadline. This is an open file description of our own.
            .custom_flags((OFlag::O_NOCTTY | OFlag::O_NONBLOCK).bits())
            .open(&self.path)
            .map_err(|error| match error.raw_os_error() {
                // tty(4): ENXIO without a controlling terminal; ENOENT where there is no /dev.
                Some(nix::libc::ENXIO | nix::libc::ENOENT) => Nobody::NoTerminal,
                _ => Nobody::TerminalUnusable,
            })?;
        match (self.in_foreground)(tty.as_fd()) {
            Ok(true) => Ok(tty),
            Ok(false) => Err(Nobody::Background),
            Err(_) => Err(Nobody::TerminalUnusable),
        }
    }
}

fn in_foreground(tty: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(tcgetpgrp(tty)? == getpgrp())
}

impl Approver for Terminal {
    fn ask(&self, question: &Question, wait: &Wait<'_>) -> Result<Answer, ApproverError> {
        let tty = self.open().map_err(ApproverError::Nobody)?;
        let mut screen = Screen::new(tty, self, wait)?;
        let answer = screen.converse(question);
        screen.farewell(&answer);
        answer
    }
}

/// The terminal during one question. Its modes are given back when dropped.
struct Screen<'a> {
    tty: File,
    terminal: &'a Terminal,
    wait: &'a Wait<'a>,
    found: Termios,
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // TCSANOW: waiting for the output to drain could block for ever on a stopped terminal. A
        // terminal that is gone has no modes to restore.
        tcsetattr(&self.tty, SetArg::TCSANOW, &self.found).ok();
    }
}

impl<'a> Screen<'a> {
    fn new(tty: File, terminal: &'a Terminal, wait: &'a Wait<'a>) -> Result<Self, ApproverError> {
        let found = tcgetattr(&tty).map_err(|errno| failed(&terminal.path, errno.into()))?;
        Ok(Self {
            tty,
            terminal,
            wait,
            found,
        })
    }

    /// Shows the question until there is an answer.
    fn converse(&mut self, question: &Question) -> Result<Answer, ApproverError> {
        self.draw(question, Detail::Brief)?;
        loop {
            self.settle()?;
            self.prompt(question)?;
            let choice = match read_key(&self.line()?) {
                Key::Once => Choice::Once,
                Key::Deny(note) => Choice::Deny { note },
                Key::Stop => Choice::Stop,
                Key::View => {
                    self.draw(question, Detail::Full)?;
                    continue;
                }
                Key::Redraw => {
                    self.draw(question, Detail::Brief)?;
                    continue;
                }
                Key::Unknown(typed) => {
                    let typed = Escaped(&typed);
                    self.write(&format!("  `{typed}` is no answer; nothing was decided.\n"))?;
                    continue;
                }
            };
            return Ok(Answer {
                object: question.object,
                choice,
                by: person(),
            });
        }
    }

    fn draw(&mut self, question: &Question, detail: Detail) -> Result<(), ApproverError> {
        let text = render(question, detail, self.width(), self.terminal.paint);
        self.write(&text)
    }

    fn prompt(&mut self, question: &Question) -> Result<(), ApproverError> {
        let keys = format!(
            "y once   n [note] deny   v view   x stop   (then Enter; {} left)",
            spoken(self.wait.left())
        );
        let mut text = String::from("\n");
        for line in wrap(&keys, self.width().saturating_sub(2)) {
            text.push_str("  ");
            text.push_str(line.trim());
            text.push('\n');
        }
        text.push_str(&format!("{}> ", question.object));
        self.write(&text)
    }

    /// A last line that tells what became of the question, as far as the terminal still takes one.
    fn farewell(&mut self, answer: &Result<Answer, ApproverError>) {
        let text = match answer {
            Ok(answer) => match answer.choice {
                Choice::Once => return,
                Choice::Deny { .. } => "denied; nothing was run\n".to_owned(),
                Choice::Stop => "stopped; nothing was run\n".to_owned(),
            },
            Err(error) => format!("\n{error}; nothing was run\n"),
        };
        // The answer stands whether or not it can be shown.
        self.tty.write_all(text.as_bytes()).ok();
    }

    fn width(&self) -> usize {
        match tty::size(&self.tty) {
            Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
            // Unknown: what every terminal has (a serial line tells nothing).
            Ok(_) | Err(_) => 80,
        }
    }

    /// Drops what was typed so far and whatever comes until the keyboard is quiet, then takes lines.
    fn settle(&mut self) -> Result<(), ApproverError> {
        let mut keys = self.found.clone();
        keys.local_flags.insert(LocalFlags::ISIG);
        keys.local_flags
            .remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ECHONL);
        self.modes(&keys)?;
        loop {
            self.forget()?;
            match self.poll(PollFlags::POLLIN, Instant::now() + self.terminal.quiet)? {
                Woken::Ready(_) => {}
                Woken::Elapsed => break,
            }
        }
        let mut lines = keys;
        lines
            .input_flags
            .insert(InputFlags::ICRNL | InputFlags::IXON);
        lines
            .input_flags
            .remove(InputFlags::IGNCR | InputFlags::INLCR);
        lines
            .output_flags
            .insert(OutputFlags::OPOST | OutputFlags::ONLCR);
        lines.local_flags.insert(
            LocalFlags::ICANON
                | LocalFlags::ECHO
                | LocalFlags::ECHOE
                | LocalFlags::ECHOK
                | LocalFlags::ECHOCTL,
        );
        self.modes(&lines)?;
        self.forget()
    }

    /// Drops what was typed, half a line too: tcflush(3) empties the kernel's line editor.
    fn forget(&self) -> Result<(), ApproverError> {
        tcflush(&self.tty, FlushArg::TCIFLUSH).map_err(|errno| self.failed(errno.into()))
    }

    fn modes(&self, modes: &Termios) -> Result<(), ApproverError> {
        tcsetattr(&self.tty, SetArg::TCSANOW, modes).map_err(|errno| self.failed(errno.into()))
    }

    /// One line as typed, its newline included. The kernel hands lines out one by one; an end-of-file
    /// key in the middle of one hands out a part without newline, which does not count until Enter.
    fn line(&mut self) -> Result<Vec<u8>, ApproverError> {
        let mut line = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            self.poll(PollFlags::POLLIN, self.wait.deadline)?;
            match self.tty.read(&mut buffer) {
                // The end-of-file key at the start of a line, or a terminal that is gone.
                Ok(0) => return Err(ApproverError::Closed),
                Ok(count) => line.extend(buffer.iter().take(count)),
                Err(error) if is_later(&error) => {}
                Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => {
                    return Err(ApproverError::Closed);
                }
                Err(error) => return Err(self.failed(error)),
            }
            if line.ends_with(b"\n") {
                return Ok(line);
            }
        }
    }

    fn write(&mut self, text: &str) -> Result<(), ApproverError> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match self.tty.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if is_later(&error) => {
                    self.poll(PollFlags::POLLOUT, self.wait.deadline)?;
                }
                Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => {
                    return Err(ApproverError::Closed);
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    fn poll(&self, events: PollFlags, until: Instant) -> Result<Woken, ApproverError> {
        let woken = self.wait.poll(&[(self.tty.as_fd(), events)], until)?;
        match &woken {
            Woken::Ready(events) if events.iter().any(|one| gone(*one)) => {
                Err(ApproverError::Closed)
            }
            Woken::Ready(_) | Woken::Elapsed => Ok(woken),
        }
    }

    fn failed(&self, source: io::Error) -> ApproverError {
        failed(&self.terminal.path, source)
    }
}

/// A terminal that hung up answers nothing more; what it said before is not what it would say now.
fn gone(events: PollFlags) -> bool {
    events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)
}

fn failed(path: &Path, source: io::Error) -> ApproverError {
    ApproverError::Terminal {
        path: path.to_path_buf(),
        source,
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Who sits at the terminal: the user we run as, since nobody else may open it.
fn person() -> Who {
    let uid = Uid::current();
    let name = match User::from_uid(uid) {
        Ok(Some(user)) => Escaped::from(user.name.as_str()).to_string(),
        Ok(None) | Err(_) => format!("uid {uid}"),
    };
    Who {
        name,
        known: Known::Session,
        through: Through::Terminal,
    }
}
