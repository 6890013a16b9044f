//! Whether what was executed is what was judged, asked of the kernel when it can no longer change.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use nix::unistd::Pid;
use sha2::{Digest as _, Sha256};

use crate::model::digest::Digest;
use crate::model::executable::{Executable, FileId, Format, Trust};
use crate::model::path::AbsolutePath;

/// Why what was executed is not taken for what was judged.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// It is something else.
    #[error("`{path}` is not what was judged: {what}")]
    Changed {
        /// The file.
        path: AbsolutePath,
        /// What differs.
        what: &'static str,
    },
    /// It cannot be looked at.
    #[error("cannot identify what was executed for `{path}`")]
    Unknown {
        /// The file.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
}

/// What was judged.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The file, with its chain of interpreters.
    pub executable: &'a Executable,
    /// The path as it was passed to execve(2), which the interpreter of a script gets.
    pub path: &'a [u8],
    /// The argv.
    pub argv: &'a [Vec<u8>],
    /// The environment as `NAME=value`, where it was judged too.
    pub environment: Option<&'a [Vec<u8>]>,
    /// The descriptor the file was read through.
    pub file: &'a File,
}

impl Judged<'_> {
    /// The files as they are now, before anything is executed: the held one, and for a script the one
    /// its path leads to, since its interpreter will look there.
    pub fn check_files(&self) -> Result<(), Mismatch> {
        let held = self.file.metadata().map_err(|error| self.unknown(error))?;
        if id(&held) != self.executable.id || held.size() != self.executable.size {
            return Err(self.changed("its file"));
        }
        if self.executable.trust != Trust::Trusted {
            self.check_content(self.file, self.executable)?;
        }
        match self.executable.format {
            Format::Elf | Format::Env { .. } => Ok(()),
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
    pub fn check_process(&self, pid: Pid) -> Result<(), Mismatch> {
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
        if let Some(environment) = self.environment {
            let there =
                fs::read(format!("/proc/{pid}/environ")).map_err(|error| self.unknown(error))?;
            if there != joined(environment) {
                return Err(self.changed("its environment"));
            }
        }
        match self.executable.format {
            Format::Elf | Format::Env { .. } => Ok(()),
            // The kernel has read its first line; the interpreter reads the rest later, by path.
            Format::Script { .. } | Format::Text => self.check_files(),
        }
    }

    /// The binary that the kernel loads: the file itself, or the end of its chain of interpreters.
    pub fn binary(&self) -> &Executable {
        binary(self.executable)
    }

    /// The kernel puts the interpreter, its one argument and the script's path before a script's own
    /// arguments, in place of its `argv[0]`. execve(2)
    fn is_argv(&self, line: &[u8]) -> bool {
        match self.executable.format {
            // An empty argv becomes one empty word. execve(2), since Linux 5.18
            Format::Elf | Format::Env { .. } if self.argv.is_empty() => line == b"\0",
            Format::Elf | Format::Env { .. } => line == joined(self.argv),
            Format::Script { .. } | Format::Text => {
                let arguments = self.argv.get(1..).unwrap_or_default();
                let tail = [&[self.path.to_vec()], arguments].concat();
                line.ends_with(&joined(&tail))
            }
        }
    }

    fn check_content(&self, file: &File, expected: &Executable) -> Result<(), Mismatch> {
        let digest = hash(file).map_err(|error| self.unknown(error))?;
        if digest == expected.digest {
            Ok(())
        } else {
            Err(self.changed("its content"))
        }
    }

    fn changed(&self, what: &'static str) -> Mismatch {
        Mismatch::Changed {
            path: self.executable.path.clone(),
            what,
        }
    }

    fn unknown(&self, source: io::Error) -> Mismatch {
        Mismatch::Unknown {
            path: self.executable.path.clone(),
            source,
        }
    }
}

/// Each word with the NUL byte that ends it, as the kernel shows them.
fn joined(words: &[Vec<u8>]) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| word.iter().copied().chain([0]))
        .collect()
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
