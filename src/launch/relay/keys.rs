//! The real terminal as a source of keys, and its modes.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::pty::PtyMaster;
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, cfmakeraw, tcgetattr, tcsetattr,
};
use nix::unistd::{getpgrp, tcgetpgrp};

use super::{RelayError, Trouble, input, is_ready, judge, own};

/// The real terminal as a source of keys.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) tty: File,
    pub(super) found: Termios,
    pub(super) manner: Manner,
    pub(super) raw: bool,
    pub(super) running: bool,
    pub(super) closed: bool,
}

/// How keys are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// One by one, with the terminal in raw mode: the pty does what a terminal does.
    Raw,
    /// By the line, with the terminal as it is.
    Lines,
}

impl Keys {
    pub(super) fn new(fd: BorrowedFd<'_>, manner: Manner) -> Result<Self, RelayError> {
        let tty = own(fd).map_err(input)?;
        let found = tcgetattr(&tty).map_err(|errno| input(errno.into()))?;
        Ok(Self {
            tty,
            found,
            manner,
            raw: false,
            running: false,
            closed: false,
        })
    }

    /// Whether keys are ours to read: only in the foreground, where reading cannot stop us (SIGTTIN).
    pub(super) fn may_read(&self) -> bool {
        self.running
            && !self.closed
            && self.in_foreground()
            && match self.manner {
                Manner::Raw => true,
                // Somebody else of the pipeline took the keyboard when it hands out no lines. One that
                // hung up has no modes, and an end to be read.
                Manner::Lines => tcgetattr(&self.tty)
                    .map_or(true, |modes| modes.local_flags.contains(LocalFlags::ICANON)),
            }
    }

    /// A terminal that controls no session of ours has no foreground to be in (ENOTTY): whoever gave it
    /// to us as standard input meant us to read it. One that hung up (EIO) has to be read to its end.
    fn in_foreground(&self) -> bool {
        match tcgetpgrp(&self.tty) {
            Ok(group) => group == getpgrp(),
            Err(errno) => matches!(errno, Errno::ENOTTY | Errno::EIO),
        }
    }

    /// Puts the modes where they have to be now: raw while running in the foreground, else as found.
    /// In the background nothing is touched: the terminal is somebody else's.
    pub(super) fn follow(&mut self) -> Result<(), RelayError> {
        if self.closed || self.manner == Manner::Lines || !self.in_foreground() {
            return Ok(());
        }
        if self.running == self.raw {
            return Ok(());
        }
        let mut modes = self.found.clone();
        if self.running {
            cfmakeraw(&mut modes);
        }
        match tcsetattr(&self.tty, SetArg::TCSANOW, &modes) {
            // One that hung up has no modes any more.
            Ok(()) | Err(Errno::EIO) => self.raw = self.running,
            Err(errno) => return Err(input(errno.into())),
        }
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        into: &mut Vec<u8>,
        master: &PtyMaster,
    ) -> Result<(), RelayError> {
        if !self.may_read() || !is_ready(self.tty.as_fd(), PollFlags::POLLIN) {
            return Ok(());
        }
        let mut buffer = [0; 4096];
        let gone = match self.tty.read(&mut buffer) {
            Ok(0) => true,
            Ok(count) => {
                into.extend(buffer.iter().take(count));
                false
            }
            Err(error) => match judge(&error) {
                Trouble::Later => false,
                Trouble::Gone => true,
                Trouble::Real => return Err(input(error)),
            },
        };
        if gone {
            self.closed = true;
            into.extend(end_of_file(master));
        }
        Ok(())
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if self.raw && self.in_foreground() {
            // TCSANOW: a stopped terminal must not hold us. One that is gone has no modes.
            tcsetattr(&self.tty, SetArg::TCSANOW, &self.found).ok();
        }
    }
}

/// The key that ends a file in the command's terminal as its modes are now; none where it reads single
/// keys, which have no such thing.
fn end_of_file(master: &PtyMaster) -> Option<u8> {
    let modes = tcgetattr(master).ok()?;
    let key = modes
        .control_chars
        .get(SpecialCharacterIndices::VEOF as usize)?;
    modes
        .local_flags
        .contains(LocalFlags::ICANON)
        .then_some(*key)
}
