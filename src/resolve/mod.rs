//! Stage 2: each program of a line to a file and its identity, held open.
//!
//! The environment is fixed first ([`environment`]), the workspace is opened once ([`workspace`]).
//! [`Resolver::pin`] then finds what each sub-command would start, under the PATH and folder of the run
//! and with the rights of the user it runs as: opened once, hashed from the held descriptor, its
//! interpreters followed, its trust judged from every folder and link on the way. After the answer of a
//! person [`Pinned::changes`] takes all of it again and names what is no longer the same.

mod builtins;
mod change;
mod copies;
mod digests;
pub mod environment;
mod follow;
mod identity;
mod lookup;
pub mod made_up;
mod pin;
mod seen;
mod shebang;
mod subject;
mod target;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod trust;
pub mod workspace;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::model::environment::Environment;
use crate::model::executable::Executable;
use crate::model::path::AbsolutePath;

pub use builtins::is_bash_builtin;
pub use change::Change;
pub use pin::Pinned;
pub use seen::{Eyes, Seen};

use digests::Digests;
use follow::follow;
use subject::Subject;

/// A program and the open descriptor (`O_RDONLY`, `O_CLOEXEC`) it was identified from.
#[derive(Debug)]
pub struct Held {
    /// Its identity.
    pub executable: Executable,
    /// The very file that was hashed. Its offset is at the start.
    pub file: OwnedFd,
}

/// Finds programs as the shell of one run would.
#[derive(Clone, Debug)]
pub struct Resolver {
    path: Vec<AbsolutePath>,
    cwd: AbsolutePath,
    write_roots: Vec<AbsolutePath>,
    subject: Subject,
    digests: Arc<Digests>,
    /// Whether a digest that is known may stand for a trusted file, unread.
    reuse: bool,
}

/// Why a survey cannot be resolved at all. What is wrong with a single program is a value
/// ([`crate::model::executable::LookupError`]), not an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The folder the line would start in is gone or is no folder.
    #[error("the folder `{0}` the command would run in does not exist any more")]
    FolderGone(AbsolutePath),
    /// Two spellings of one path, `x` and `link/../x`, lead to different files, and neither is the
    /// plain one: rules could not tell which of them is meant.
    #[error("`{path}` is spelled in two ways that lead to `{one}` and `{other}`")]
    Ambiguous {
        /// The path both spellings clean to.
        path: AbsolutePath,
        /// Where one leads.
        one: AbsolutePath,
        /// Where the other leads.
        other: AbsolutePath,
    },
}

impl ResolveError {
    /// What the caller can do.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::FolderGone(_) => "change to a folder that exists, or name one with `--cwd`",
            Self::Ambiguous { .. } => "write the path without `..`",
        }
    }
}

impl Resolver {
    /// A resolver for one run: its fixed environment, the folder it starts in, every folder it may
    /// write, and the uid it runs as.
    pub fn new(
        environment: &Environment,
        cwd: &AbsolutePath,
        write_roots: &[AbsolutePath],
        uid: u32,
    ) -> Self {
        // A root given through a link is the folder the link leads to, and the link itself as well.
        let real = |path: &AbsolutePath| follow(path, b"").real;
        let mut roots: Vec<AbsolutePath> = write_roots.iter().map(real).collect();
        roots.extend_from_slice(write_roots);
        Self {
            path: environment.path_folders(),
            cwd: cwd.clone(),
            write_roots: roots,
            subject: Subject::new(uid),
            digests: Arc::default(),
            reuse: false,
        }
    }

    /// The same resolver for execs of the tree, of which there are many: a trusted file is not read again
    /// while everything statx(2) tells of it stays the same. Nobody can write such a file without showing
    /// in its times; of one that the run can write nothing is remembered.
    pub fn reusing(&self) -> Self {
        Self {
            reuse: true,
            ..self.clone()
        }
    }
}

/// Where `path` really leads, every link followed; a path that does not exist leads to its real parent
/// and its own name.
pub fn real(path: &AbsolutePath) -> AbsolutePath {
    follow(path, b"").real
}
