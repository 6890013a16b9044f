//! What a caller wants done.

use std::time::Duration;

use super::environment::Environment;
use super::mode::Mode;
use super::path::AbsolutePath;
use super::profile::{Network, ProfileName};

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A shell line: `tipstaff run -c LINE`.
    Line(Vec<u8>),
    /// An argv that needs no shell: `tipstaff run -- ARGV…`.
    Argv(Vec<Vec<u8>>),
}

/// Identifiers the caller gives so that decisions can be bound and found; all optional, all untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Ids {
    /// One conversation with the caller's user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// One run of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// One task of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation the call stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The caller's id of this very call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// One request: kind `command`.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to run.
    pub command: Command,
    /// The folder to run in; the caller's own when `None`.
    pub cwd: Option<AbsolutePath>,
    /// Root of the workspace; found from the folder when `None`.
    pub workspace: Option<AbsolutePath>,
    /// The caller's environment; what is passed on is fixed from it.
    pub environment: Environment,
    /// The profile; the policy's when `None`.
    pub profile: Option<ProfileName>,
    /// The network; the policy's when `None`.
    pub network: Option<Network>,
    /// The mode; the policy's when `None`.
    pub mode: Option<Mode>,
    /// User to run as when started as root.
    pub user: Option<String>,
    /// Wall-clock limit of the command; time spent in a question is not charged.
    pub timeout: Option<Duration>,
    /// Identifiers.
    pub ids: Ids,
    /// The caller's own words on why; shown as a claim.
    pub claim: Option<String>,
}

impl Request {
    /// A request with every setting at its default.
    pub fn new(command: Command, environment: Environment) -> Self {
        Self {
            command,
            cwd: None,
            workspace: None,
            environment,
            profile: None,
            network: None,
            mode: None,
            user: None,
            timeout: None,
            ids: Ids::default(),
            claim: None,
        }
    }
}
