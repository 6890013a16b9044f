//! The file a program name reaches, and its identity.

use super::digest::Digest;
use super::path::AbsolutePath;

/// Device and inode: which file it is, whatever it is called (inode(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// `st_dev`
    pub dev: u64,
    /// `st_ino`
    pub ino: u64,
}

/// What the kernel or the shell will do with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// A binary the kernel loads itself.
    Elf,
    /// Starts with `#!`: the interpreter runs it (execve(2)).
    Script {
        /// The interpreter, itself resolved and pinned.
        interpreter: Box<Executable>,
        /// The one optional argument of the `#!` line.
        argument: Option<Vec<u8>>,
    },
    /// The `env` of a `#!/usr/bin/env PROGRAM` line: a binary that looks PROGRAM up and becomes it.
    Env {
        /// What it becomes, itself resolved and pinned.
        program: Box<Executable>,
    },
    /// Neither: a shell reads it as a script of its own.
    Text,
}

/// Whether an allow rule may cover the file (trusted file).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nobody but root and the user can change it or any folder above it, and it lies outside every
    /// place the run can write.
    Trusted,
    /// The file or a folder above it belongs to somebody else.
    ForeignOwner,
    /// Others can write the file or a folder above it.
    WritableByOthers,
    /// It lies in the workspace or another write root.
    InWriteRoot,
    /// The same, on a file system that lets a running program be changed, so that not even its digest
    /// says what runs (execve(2), ETXTBSY).
    Changeable,
}

impl Trust {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::ForeignOwner => "it or a folder above it belongs to another user",
            Self::WritableByOthers => "it or a folder above it can be written by others",
            Self::InWriteRoot => "it lies where the run can write",
            Self::Changeable => {
                "it lies where the run can write, and can be changed there even while it runs"
            }
        }
    }
}

/// A resolved program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The path the lookup found: what `argv[0]` programs see, before links are followed.
    pub path: AbsolutePath,
    /// The path after following every link.
    pub real: AbsolutePath,
    /// Which file.
    pub id: FileId,
    /// Size in bytes when hashed.
    pub size: u64,
    /// SHA-256 of the content when pinned.
    pub digest: Digest,
    /// How it is run.
    pub format: Format,
    /// Whether allow rules may cover it.
    pub trust: Trust,
}

impl Executable {
    /// What reads this file or what it becomes: the next program of its chain of interpreters.
    pub fn next(&self) -> Option<&Self> {
        match &self.format {
            Format::Script { interpreter, .. } => Some(interpreter),
            Format::Env { program } => Some(program),
            Format::Elf | Format::Text => None,
        }
    }

    /// The names under which a deny or ask rule knows this file: as found and after links.
    pub fn base_names(&self) -> [&[u8]; 2] {
        [self.path.base_name(), self.real.base_name()]
    }
}

/// Why a program name reaches no usable file. Each is a distinct answer of the shell as well
/// (126 or 127).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No folder of PATH has it, or the path does not exist.
    #[error("`{0}` is not found")]
    NotFound(String),
    /// It is there but cannot be opened for reading, so it cannot be identified.
    #[error("`{0}` cannot be read, so its content cannot be identified")]
    Unreadable(AbsolutePath),
    /// It is a folder.
    #[error("`{0}` is a folder")]
    Directory(AbsolutePath),
    /// It is a file without an execute permission for this user, or no regular file.
    #[error("`{0}` is not executable")]
    NotExecutable(AbsolutePath),
    /// Its `#!` line names an interpreter that cannot be used, or nests too deep.
    #[error("the interpreter of `{script}` cannot be used: {reason}")]
    Interpreter {
        /// The script.
        script: AbsolutePath,
        /// What is wrong with its interpreter.
        reason: String,
    },
}

/// What the program of one sub-command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// No program: a plain assignment or a redirection alone.
    Nothing,
    /// A built-in of the shell that runs the line.
    Builtin,
    /// A function the line defines.
    Function,
    /// A file. Boxed since most of a judgement is not files.
    File(Box<Executable>),
    /// The name is known only when the shell runs.
    Dynamic,
    /// No usable file.
    Failed(LookupError),
}

impl Lookup {
    /// The file, if it is one.
    pub fn executable(&self) -> Option<&Executable> {
        match self {
            Self::File(executable) => Some(executable),
            Self::Nothing | Self::Builtin | Self::Function | Self::Dynamic | Self::Failed(_) => {
                None
            }
        }
    }
}
