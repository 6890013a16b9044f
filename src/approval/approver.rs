//! Who answers, what an answer is, and how asking fails.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::Serialize;

use crate::model::judgement::Reason;
use crate::model::text::Escaped;

use super::object::ObjectId;
use super::question::Question;
use super::wait::{Cause, Wait};

/// Somebody or something that answers questions.
pub trait Approver {
    /// Puts `question` and waits for the answer, no longer than `wait` allows. Anything but a clear
    /// answer is an error, and every error denies.
    fn ask(&self, question: &Question, wait: &Wait<'_>) -> Result<Answer, ApproverError>;
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The object it is about; one about any other object is refused.
    pub object: ObjectId,
    /// What was decided.
    pub choice: Choice,
    /// By whom.
    pub by: Who,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Start it, this once.
    Once,
    /// Do not start it.
    Deny {
        /// The person's words to the caller.
        note: Option<Note>,
    },
    /// Do not start it, and end what asked for it.
    Stop,
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Who {
    /// The name, escaped.
    pub name: String,
    /// How the name is known.
    pub known: Known,
    /// Through what the answer came.
    pub through: Through,
}

/// How the name of an approver is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// It is the user tipstaff itself runs as, at the terminal that controls its session.
    Session,
    /// The approver says so.
    Asserted,
}

/// Through what an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Through {
    /// The controlling terminal.
    Terminal,
    /// An external command.
    Command,
    /// A function of the program that uses the library.
    Callback,
}

/// Words of an approver for the caller: escaped, on one line, at most [`Note::MOST`] characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Note(String);

impl Note {
    /// Characters that are kept; what follows is counted.
    pub const MOST: usize = 1000;

    /// The note in `text`, `None` when there is nothing in it.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let kept: String = text.chars().take(Self::MOST).collect();
        let more = text.chars().skip(Self::MOST).count();
        let mut note = Escaped(kept.as_bytes()).to_string();
        if more > 0 {
            note.push_str(&format!(" [{more} more characters]"));
        }
        Some(Self(note))
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nobody {
    /// There is no controlling terminal (tty(4)).
    NoTerminal,
    /// There is one, but it cannot be opened.
    TerminalUnusable,
    /// tipstaff runs in the background of its terminal: what is typed is meant for somebody else.
    Background,
    /// The program that uses the library gave no approver.
    NotGiven,
}

impl Nobody {
    /// The cause in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoTerminal => "there is no controlling terminal",
            Self::TerminalUnusable => "the controlling terminal cannot be opened",
            Self::Background => "tipstaff runs in the background of its terminal",
            Self::NotGiven => "no approver was given",
        }
    }

    /// What to do about it.
    pub const fn help(self) -> &'static str {
        match self {
            Self::NoTerminal | Self::TerminalUnusable | Self::Background => {
                "run it in the foreground of a terminal, name an approver with `--approver COMMAND` or `[approvals] command`, or add an allow rule to the policy"
            }
            Self::NotGiven => "give the supervisor an approver, or add an allow rule to the policy",
        }
    }
}

/// Why there is no answer. Each of these denies.
#[derive(Debug, thiserror::Error)]
pub enum ApproverError {
    /// Nobody can be asked.
    #[error("nobody can be asked: {}", .0.reason())]
    Nobody(Nobody),
    /// Time is up.
    #[error("the question was not answered in time")]
    Timeout,
    /// The question no longer matters.
    #[error("the question was cancelled: {}", .0.reason())]
    Cancelled(Cause),
    /// The person left.
    #[error("the terminal was closed during the question")]
    Closed,
    /// The terminal fails.
    #[error("cannot use the terminal `{}`", .path.display())]
    Terminal {
        /// The terminal.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Waiting itself fails.
    #[error("cannot wait for an answer")]
    Wait {
        /// Why.
        source: io::Error,
    },
    /// The command has no absolute path.
    #[error("the approver command `{0}` is not named by an absolute path")]
    CommandPath(String),
    /// The command cannot be started or talked to.
    #[error("cannot run the approver command `{command}`")]
    Command {
        /// Its program.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// The command failed.
    #[error("the approver command `{command}` ended with {status}{said}")]
    Failed {
        /// Its program.
        command: String,
        /// How it ended, in words.
        status: String,
        /// The end of what it wrote to its standard error, escaped; empty or `: …`.
        said: String,
    },
    /// The command's answer is too long.
    #[error("the approver command `{command}` answered with more than {most} bytes")]
    TooLong {
        /// Its program.
        command: String,
        /// The limit.
        most: usize,
    },
    /// The command's answer is none.
    #[error("the approver command `{command}` gave no answer that can be understood: {reason}")]
    Malformed {
        /// Its program.
        command: String,
        /// What is wrong, escaped.
        reason: String,
    },
    /// The answer is about something else.
    #[error("the answer is about {answered}, the question was about {asked}")]
    WrongObject {
        /// The object of the question.
        asked: ObjectId,
        /// What the answer names, escaped.
        answered: String,
    },
    /// The callback panicked.
    #[error("the approver callback panicked")]
    Panicked,
}

impl ApproverError {
    /// The reason of the denial.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Nobody(_) => Reason::NoApprover,
            Self::Timeout => Reason::Timeout,
            Self::Cancelled(_) | Self::Closed => Reason::Cancelled,
            Self::Terminal { .. }
            | Self::Wait { .. }
            | Self::CommandPath(_)
            | Self::Command { .. }
            | Self::Failed { .. }
            | Self::TooLong { .. }
            | Self::Malformed { .. }
            | Self::WrongObject { .. }
            | Self::Panicked => Reason::ApproverError,
        }
    }
}
