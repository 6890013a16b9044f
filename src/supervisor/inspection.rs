//! Looking at what is in force here without running anything: for `policy`, `audit` and `doctor`.

use crate::audit::Journal;
use crate::layers;
use crate::model::path::AbsolutePath;
use crate::model::profile::Identity;
use crate::policy::Source;
use crate::resolve::workspace::{Forbidden, Workspace, current_folder};

use super::error::Error;
use super::identity::identity;
use super::{Supervisor, record};

impl Supervisor {
    /// Loads every policy layer in force for the present folder; gives their names.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line, column and help.
    pub fn check_layers(&self) -> Result<Vec<Source>, Error> {
        let workspace = self.policy_workspace()?;
        let (sources, _) = self.policy(&workspace)?;
        Ok(sources)
    }

    /// Trusts the project policy of the present folder as it stands; gives its file.
    ///
    /// # Errors
    /// There is none, or it does not load.
    pub fn trust_project(&self) -> Result<AbsolutePath, Error> {
        let workspace = self.policy_workspace()?;
        self.policy(&workspace)?;
        let places = layers::Places::discover(&self.environment, &workspace);
        layers::trust(&places)?;
        Ok(places.project_file)
    }

    /// The workspace of the present folder, or the folder itself where it can be none: looking at a
    /// policy needs no workspace.
    pub(super) fn policy_workspace(&self) -> Result<AbsolutePath, Error> {
        let here = current_folder()?;
        let forbidden = Forbidden::new(self.environment.home(), self.house.own());
        Ok(match Workspace::open(None, &here, &forbidden) {
            Ok(workspace) => workspace.root,
            Err(_) => here,
        })
    }

    /// Who a command would run as here, in words: for `doctor`.
    ///
    /// # Errors
    /// The policy does not load, or names nobody it could run as.
    pub fn identity_here(&self) -> Result<String, Error> {
        let (_, policy) = self.policy(&self.policy_workspace()?)?;
        let settings = policy.settings();
        let who = identity(
            None,
            &self.environment,
            settings.user.as_deref(),
            settings.forbid_root,
        )?;
        let words = record::identity(&who);
        Ok(match who {
            Identity::RootWithoutCapabilities => format!(
                "{words}: it still owns root's files; better name a user with `--user` or `[sandbox] user`"
            ),
            Identity::User { .. } | Identity::Unchanged => words,
        })
    }

    /// Where decisions are recorded, after opening it for writing: for `doctor`.
    ///
    /// # Errors
    /// It cannot be written, so nothing could run.
    pub fn record_here(&self) -> Result<String, Error> {
        Journal::open(&self.house.state)?;
        Ok(self.house.state.to_string())
    }

    /// Our own places: for `audit` and `doctor`.
    pub fn state(&self) -> &AbsolutePath {
        &self.house.state
    }
}
