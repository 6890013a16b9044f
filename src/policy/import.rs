//! Permissions of other hosts, written as a policy that is never wider than they were.
//!
//! An allow rule is taken over only where it can be said at least as narrowly; a rule that asks or denies
//! only ever becomes wider. What that costs is told, rule by rule.

mod claude;
mod codex;
mod draft;
mod expression;
mod gemini;
mod json;
mod leading;
mod paths;
mod starlark;
mod translation;
mod vscode;
mod wording;

use std::fmt;
use std::str::FromStr;

use super::error::PolicyError;
use crate::model::text::Escaped;

/// Whose permissions they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Claude Code: `permissions` of a settings.json.
    Claude,
    /// Codex: a `.rules` file.
    Codex,
    /// Gemini CLI: a policy in TOML.
    Gemini,
    /// VS Code: `chat.tools.terminal.autoApprove` of a settings.json.
    VsCode,
}

/// Why a word is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host whose permissions can be read; hosts are claude, codex, gemini, vscode")]
pub struct BadHost(String);

impl Host {
    /// The word of the command line and of ids.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::VsCode => "vscode",
        }
    }

    /// What people call it.
    const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::VsCode => "VS Code",
        }
    }
}

impl FromStr for Host {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        match text {
            "claude" | "claude-code" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex),
            "gemini" | "gemini-cli" => Ok(Self::Gemini),
            "vscode" | "vs-code" => Ok(Self::VsCode),
            other => Err(BadHost(Escaped::from(other).to_string())),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is said of one rule of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where it stands, from 1.
    pub line: usize,
    /// The rule as it was written.
    pub rule: String,
    /// What became of it.
    pub why: String,
}

/// An imported policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the policy; it loads.
    pub policy: String,
    /// How many rules of the source stand in it.
    pub rules: usize,
    /// What could not be said.
    pub unsaid: Vec<Remark>,
    /// What is stricter than it was.
    pub stricter: Vec<Remark>,
}

/// Reads the permissions of a host. `name` is the file as people know it.
///
/// # Errors
///
/// The text is not what the host would read.
pub fn import(host: Host, name: &str, text: &str) -> Result<Imported, PolicyError> {
    match host {
        Host::Claude => claude::import(name, text),
        Host::Codex => codex::import(name, text),
        Host::Gemini => gemini::import(name, text),
        Host::VsCode => vscode::import(name, text),
    }
}
