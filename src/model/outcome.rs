//! How a run ended.

use super::judgement::Reason;

/// The end of one request. `exit_code` is the contract of README.md; `--status-fd` and `--json` say
/// which of these it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command ran and exited.
    Exited(u8),
    /// The command ran and was killed by this signal (signal(7)).
    Signalled(i32),
    /// The command ran longer than its limit; its tree was killed.
    TimedOut,
    /// Denied: nothing started.
    Denied(Reason),
    /// The program of a direct start does not exist: nothing started.
    NotFound,
    /// Stopped by the person or by a signal to the supervisor.
    Cancelled,
}

impl Outcome {
    /// The exit status tipstaff reports.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Exited(code) => *code,
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(255),
            Self::TimedOut => 124,
            Self::Denied(Reason::SandboxUnavailable | Reason::PolicyInvalid) => 125,
            Self::Denied(_) => 126,
            Self::NotFound => 127,
            Self::Cancelled => 130,
        }
    }

    /// The stable word of JSON and records.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signalled(_) => "signalled",
            Self::TimedOut => "timed-out",
            Self::Denied(_) => "denied",
            Self::NotFound => "not-found",
            Self::Cancelled => "cancelled",
        }
    }
}
