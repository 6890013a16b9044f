//! Guarded paths: what programs outside the sandbox execute or obey is as it was when a run is over.
//!
//! Before a command starts, what stands at the guarded paths is noted and the note is kept on disk. After
//! its end everything that appeared or changed there is taken to a quarantine and what was there is put
//! back. A supervisor that was killed leaves its note behind; the next one sweeps for it. So nothing has to
//! exist before a run for it to be guarded, and nothing is made that would have to be taken away.

mod git;
mod note;
mod place;
mod settings;
mod tree;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;

pub(super) use git::data_folder;
pub(super) use note::{Note, recover, standing};

/// The table `policies/guarded.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    paths: Vec<String>,
    git: Vec<String>,
    skip: Vec<String>,
    settings: settings::Allowed,
}

/// Why guarded paths cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The built-in table does not parse: a mistake of the build, which the tests would have found.
    #[error("the built-in table of guarded paths is broken")]
    Table(#[from] toml::de::Error),
    /// What stands at guarded paths cannot be noted.
    #[error("cannot note what stands at the guarded paths in `{folder}`")]
    Look {
        /// The workspace or git folder.
        folder: AbsolutePath,
        /// Why.
        source: std::io::Error,
    },
    /// The note cannot be written or read.
    #[error("cannot keep the note of guarded paths `{}`", Escaped(path.as_os_str().as_encoded_bytes()))]
    Keep {
        /// The note.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// One guarded path that a run had changed and that is as it was again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// The path, escaped.
    pub path: String,
    /// What the run had done, in words.
    pub what: String,
    /// Where what it had left is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl Swept {
    /// For people.
    pub(super) fn message(&self) -> String {
        let kept = self
            .kept
            .as_ref()
            .map(|kept| format!("; kept as `{kept}`"))
            .unwrap_or_default();
        format!("guarded path `{}`: {}{kept}", self.path, self.what)
    }
}

fn table() -> Result<Table, toml::de::Error> {
    toml::from_str(include_str!("../../../policies/guarded.toml"))
}
