//! The three answers a policy can give, ordered by strictness.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the policy says of one access, one sub-command or a whole line: `allow < ask < deny`, the
/// strictest over all parts wins.
#[must_use = "a verdict that is not acted on protects nothing"]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// May start without a question; the sandbox stays.
    Allow,
    /// Somebody has to be asked.
    Ask,
    /// Never starts.
    Deny,
}

impl Verdict {
    /// The word used in policies, JSON and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
