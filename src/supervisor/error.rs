//! Why the supervisor could not decide. A denial is not an error: it is an answer.

use serde::Serialize;

use crate::approval::ApproverError;
use crate::audit::AuditError;
use crate::launch::{LaunchError, RelayError};
use crate::layers::LayerError;
use crate::model::judgement::RuleRef;
use crate::model::text::Escaped;
use crate::policy::PolicyError;
use crate::resolve::ResolveError;
use crate::resolve::workspace::WorkspaceError;
use crate::sandbox::SandboxError;

use super::answer::place;
use super::guard::GuardError;

/// What stopped the supervisor. Nothing of the command has run, except where launching or recording its
/// end failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's own mistake.
    #[error("{0}")]
    Usage(String),
    /// The line or argv is empty.
    #[error("the command is empty: there is nothing to run")]
    Empty,
    /// No place for the record.
    #[error("neither XDG_STATE_HOME nor HOME names a folder for the record and the policy")]
    NoHome,
    /// The policy forbids uid 0.
    #[error("the policy forbids running commands as root")]
    RootForbidden,
    /// The mode is not built yet.
    #[error("the workspace `{0}` lies outside of what the policy allows ([workspace] within)")]
    WorkspaceOutside(String),
    /// A rule promises what the sandbox of this version cannot keep.
    #[error("{} cannot be enforced by the sandbox at this level: {}", place(.0), Escaped::from(.0.text.as_str()))]
    Unenforceable(Box<RuleRef>),
    /// No shell to read the line.
    #[error("no usable bash: {0}")]
    NoShell(String),
    /// A policy file cannot be read or may not be trusted.
    #[error(transparent)]
    Layers(#[from] LayerError),
    /// A policy does not load.
    #[error("the policy does not load")]
    Policy(#[from] PolicyError),
    /// The policy files cannot be followed while a question is open.
    #[error("cannot follow the policy files")]
    Follow(#[source] std::io::Error),
    /// The gate cannot be set up, so the command was killed at its start.
    #[error("cannot set up the gate for what the command starts")]
    Gate(#[source] std::io::Error),
    /// Guarded paths cannot be noted, so nothing was started.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The survey cannot be resolved.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The sandbox does not stand.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// An approver cannot be set up.
    #[error(transparent)]
    Approver(#[from] ApproverError),
    /// The terminal cannot be relayed.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// The command could not be started or watched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The record cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// `tipstaff.error/1`
#[derive(Debug, Serialize)]
pub struct ErrorJson {
    schema: &'static str,
    outcome: &'static str,
    exit_code: u8,
    kind: &'static str,
    error: String,
}

impl Error {
    /// A mistake of the caller.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// What to do about it.
    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Usage(_)
            | Self::Policy(_)
            | Self::Follow(_)
            | Self::Gate(_)
            | Self::Guard(_)
            | Self::Sandbox(_)
            | Self::Approver(_)
            | Self::Relay(_)
            | Self::Launch(_) => return None,
            Self::Empty => "give a line with -c or an argv after --",
            Self::NoHome => "set HOME or XDG_STATE_HOME",
            Self::RootForbidden => "name a user with --user, or run tipstaff as an ordinary user",
            Self::WorkspaceOutside(_) => {
                "run from a folder the policy allows, or name one with --workspace"
            }
            Self::Unenforceable(_) => {
                "add `advisory = true` to a long rule if judging alone is enough"
            }
            Self::NoShell(_) => "install bash in /bin or /usr/bin, readable and executable",
            Self::Layers(error) => return Some(error.help()),
            Self::Workspace(error) => error.help(),
            Self::Resolve(error) => error.help(),
            Self::Audit(error) => error.help(),
        };
        Some(text.to_owned())
    }

    /// The stage that failed.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) | Self::Empty | Self::NoHome | Self::RootForbidden => "usage",
            Self::Layers(_)
            | Self::Policy(_)
            | Self::Unenforceable(_)
            | Self::WorkspaceOutside(_) => "policy-invalid",
            Self::NoShell(_) | Self::Workspace(_) | Self::Resolve(_) => "resolve",
            Self::Sandbox(_) => "sandbox-unavailable",
            Self::Approver(_) | Self::Follow(_) => "approver-error",
            Self::Relay(_) | Self::Launch(_) | Self::Gate(_) | Self::Guard(_) => "launch",
            Self::Audit(_) => "audit",
        }
    }

    /// The whole message: what failed, each cause below it, and the remedy.
    pub fn render(&self) -> String {
        if let Self::Policy(error) = self {
            return error.render();
        }
        let mut text = format!("tipstaff: {}\n", chain(self));
        if let Some(help) = self.help() {
            text.push_str(&format!("  help: {help}\n"));
        }
        text
    }

    /// The error for programs, with the exit status it ends the verb with.
    pub fn as_json(&self, exit_code: u8) -> ErrorJson {
        ErrorJson {
            schema: "tipstaff.error/1",
            outcome: "error",
            exit_code,
            kind: self.kind(),
            error: self.render().trim_end().to_owned(),
        }
    }
}

/// An error and its causes on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // A transparent variant is its own cause.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
