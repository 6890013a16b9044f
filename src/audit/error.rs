//! What can go wrong with the log. Whatever it is, nothing may run: the decision is not recorded.

use std::io;

use crate::model::path::AbsolutePath;

/// Why a record cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The state folder cannot be made or opened.
    #[error("cannot open the state folder `{path}`")]
    Folder {
        /// The folder.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// The folder or a file in it is not ours alone.
    #[error("`{path}` is refused: {why}")]
    Refused {
        /// The folder or file.
        path: AbsolutePath,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no log yet.
    #[error("there is no audit log at `{path}`")]
    Missing {
        /// Where it would be.
        path: AbsolutePath,
    },
    /// A file of the log cannot be opened or read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// The log cannot be locked against other writers.
    #[error("cannot lock the audit log `{path}`")]
    Lock {
        /// The log.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// The record cannot be written; the log is as it was before.
    #[error("cannot write to the audit log `{path}`")]
    Write {
        /// The log.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// The record cannot be made durable.
    #[error("cannot sync the audit log `{path}` to disk")]
    Sync {
        /// The log.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// The log was moved or deleted while it was open.
    #[error("the audit log `{path}` was moved or replaced")]
    Replaced {
        /// The log.
        path: AbsolutePath,
    },
    /// The last record of the log was changed: nothing can follow it.
    #[error("the last record of the audit log `{path}` is damaged: {fault}")]
    Damaged {
        /// The log.
        path: AbsolutePath,
        /// What is wrong.
        fault: super::Fault,
    },
    /// The key for secrets cannot be read or made.
    #[error("cannot get the key `{path}` that hides secrets in the log")]
    Key {
        /// The key.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// The record has no JSON form.
    #[error("cannot put a record for `{path}` into JSON")]
    Encode {
        /// The log.
        path: AbsolutePath,
        /// Why.
        source: serde_json::Error,
    },
}

impl AuditError {
    /// What the caller can do.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Folder { .. } => {
                "make the state folder writable for you, or name another one with XDG_STATE_HOME; the first run makes it"
            }
            Self::Refused { .. } => {
                "the state folder and its files must be yours, no links, and not writable by others"
            }
            Self::Missing { .. } => "it is made by the first `tipstaff run`",
            Self::Read { .. } | Self::Lock { .. } => {
                "check the permissions of the state folder; nothing runs without its record"
            }
            Self::Key { source, .. } if source.kind() == io::ErrorKind::InvalidData => {
                "move the key away to get a new one; old hashes then match no more"
            }
            Self::Write { source, .. } | Self::Sync { source, .. } | Self::Key { source, .. } => {
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) {
                    "free space on that disk; nothing runs without its record"
                } else if source.kind() == io::ErrorKind::FileTooLarge {
                    "raise the file size limit (ulimit -f) or move the log away"
                } else {
                    "check that disk and its permissions; nothing runs without its record"
                }
            }
            Self::Replaced { .. } => {
                "run the command again; it will open the log that is there now"
            }
            Self::Damaged { .. } => {
                "run `tipstaff audit verify`, keep the log as evidence, and move it away"
            }
            Self::Encode { .. } => "this is a fault of tipstaff; please report it",
        }
    }
}
