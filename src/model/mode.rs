//! How much is asked.

use std::fmt;
use std::str::FromStr;

/// The mode of a run. No mode ever takes the sandbox away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Read-only sub-commands only, all else refused.
    Plan,
    /// Allow by rule, ask for the rest.
    #[default]
    Default,
    /// As default, workspace writes allowed.
    AcceptEdits,
    /// accept-edits, then the reviewer.
    Review,
    /// The reviewer for edits too.
    Audit,
    /// What would be asked is refused.
    DontAsk,
    /// What would be asked is refused and listed.
    Autopilot,
    /// Nothing is asked; needs a proved sandbox at L2.
    Bypass,
}

/// Why a word is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a mode; modes are plan, default, accept-edits, review, audit, dont-ask, autopilot, bypass"
)]
pub struct BadMode(pub String);

impl Mode {
    /// The word of options, policies and records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "accept-edits",
            Self::Review => "review",
            Self::Audit => "audit",
            Self::DontAsk => "dont-ask",
            Self::Autopilot => "autopilot",
            Self::Bypass => "bypass",
        }
    }
}

impl FromStr for Mode {
    type Err = BadMode;

    /// Reads our own words and the spellings other hosts use.
    fn from_str(text: &str) -> Result<Self, BadMode> {
        match text {
            "plan" => Ok(Self::Plan),
            "default" => Ok(Self::Default),
            "accept-edits" | "acceptEdits" | "autoedit" => Ok(Self::AcceptEdits),
            "review" | "auto" => Ok(Self::Review),
            "audit" | "full-review" | "fullreview" => Ok(Self::Audit),
            "dont-ask" | "dontAsk" => Ok(Self::DontAsk),
            "autopilot" => Ok(Self::Autopilot),
            "bypass" | "bypassPermissions" => Ok(Self::Bypass),
            other => Err(BadMode(super::text::Escaped::from(other).to_string())),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
