//! Whether what was executed is what was judged, asked of the kernel when it can no longer change.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use nix::unistd::Pid;
use sha2::{Digest as _, Sha256};

use crate::model::digest::Digest;
use crate::model::executable::{Executable, FileId, Format, Trust};

use super::error::LaunchError;

/// What was judged: the file, its argv, and the descriptor it was read through.
pub(super) struct Judged<'a> {
    pub(super) executable: &'a Executable,
    pub(super) argv: &'a [Vec<u8>],
    pub(super) file: &'a File,
}

impl Judged<'_> {
    /// The files as they are now, before anything is executed: the held one, and for a script the one
    /// its path leads to, since its interpreter will look there.
    pub(super) fn check_files(&self) -> Result<(), LaunchError> {
        let held = self.file.metadata().map_err(|error| self.unknown(error))?;
        if id(&held) != self.executable.id || held.size() != self.executable.size {
            return Err(self.changed("its file"));
        }
        if self.executable.trust != Trust::Trusted {
            self.check_content(self.file, self.executable)?;
        }
        match self.executable.format {
            Format::Elf => Ok(()),
            Format::Script { .. } | Format::Text => {
                let there = fs::metadata(self.executable.path.as_path())
                    .map_err(|error| self.unknown(error))?;
                if id(&there) == self.executable.id {
                    Ok(())
                } else {
                    Err(self.changed("the file its path leads to"))
                }
            }
        }
    }

    /// What `pid` executes, at the stop before its first instruction: the binary, its content where
    /// anybody but root or the user could have changed it (a running binary cannot be written, execve(2)
    /// ETXTBSY), and its argv.
    pub(super) fn check_process(&self, pid: Pid) -> Result<(), LaunchError> {
        let exe = File::open(format!("/proc/{pid}/exe")).map_err(|error| self.unknown(error))?;
        let metadata = exe.metadata().map_err(|error| self.unknown(error))?;
        let binary = binary(self.executable);
        if id(&metadata) != binary.id || metadata.size() != binary.size {
            return Err(self.changed("the binary the kernel loaded"));
        }
        if binary.trust != Trust::Trusted {
            self.check_content(&exe, binary)?;
        }
        let line = fs::read(format!("/proc/{pid}/cmdline")).map_err(|error| self.unknown(error))?;
        if !self.is_argv(&line) {
            return Err(self.changed("its arguments"));
        }
        match self.executable.format {
            Format::Elf => Ok(()),
            // The kernel has read its first line; the interpreter reads the rest later, by path.
            Format::Script { .. } | Format::Text => self.check_files(),
        }
    }

    /// The kernel puts the interpreter, its one argument and the script's path before a script's own
    /// arguments, in place of its `argv[0]`. execve(2)
    fn is_argv(&self, line: &[u8]) -> bool {
        let joined = |words: &[&[u8]]| -> Vec<u8> {
            words
                .iter()
                .flat_map(|word| [word, b"\0".as_slice()].concat())
                .collect()
        };
        let own: Vec<&[u8]> = self.argv.iter().map(Vec::as_slice).collect();
        match self.executable.format {
            Format::Elf => line == joined(&own),
            Format::Script { .. } | Format::Text => {
                let path = [self.executable.path.as_bytes()];
                let arguments = own.get(1..).unwrap_or_default();
                line.ends_with(&joined(&[path.as_slice(), arguments].concat()))
            }
        }
    }

    fn check_content(&self, file: &File, expected: &Executable) -> Result<(), LaunchError> {
        let digest = hash(file).map_err(|error| self.unknown(error))?;
        if digest == expected.digest {
            Ok(())
        } else {
            Err(self.changed("its content"))
        }
    }

    fn changed(&self, what: &'static str) -> LaunchError {
        LaunchError::Changed {
            path: self.executable.path.clone(),
            what,
        }
    }

    fn unknown(&self, source: io::Error) -> LaunchError {
        LaunchError::Identify {
            path: self.executable.path.clone(),
            source,
        }
    }
}

/// The binary that the kernel loads for `executable`: itself, or the end of its chain of interpreters.
fn binary(executable: &Executable) -> &Executable {
    let mut executable = executable;
    while let Format::Script { interpreter, .. } = &executable.format {
        executable = interpreter;
    }
    executable
}

fn id(metadata: &fs::Metadata) -> FileId {
    FileId {
        dev: metadata.dev(),
        ino: metadata.ino(),
    }
}

/// SHA-256 of the whole content, whatever the descriptor's own offset.
fn hash(file: &File) -> io::Result<Digest> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0u8; 256 * 1024];
    let mut offset = 0u64;
    loop {
        match file.read_at(&mut piece, offset) {
            Ok(0) => return Ok(Digest(hasher.finalize().into())),
            Ok(length) => {
                hasher.update(piece.get(..length).unwrap_or_default());
                offset += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
