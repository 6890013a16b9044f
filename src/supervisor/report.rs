//! How a request ended, for people and programs.

use std::time::Duration;

use serde::Serialize;

use crate::approval::{Note, ObjectId, Who};
use crate::launch::{Checked, Process};
use crate::model::judgement::Reason;
use crate::model::outcome::Outcome;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::sandbox::Proof;

use super::guard::Swept;
use super::refused::{RefusalJson, Refused};

/// The end of one request.
#[derive(Debug)]
pub struct Report {
    /// Id of the decision in the record.
    pub id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it ran, or why not.
    pub reason: Reason,
    /// The policy's verdict.
    pub verdict: Verdict,
    /// What the decision was about; `None` when it was denied before anything stood.
    pub object: Option<ObjectId>,
    /// What was proved; `None` when it was denied before anything stood.
    pub proof: Option<Proof>,
    /// Who the command ran, or would have run, as.
    pub identity: String,
    /// Who decided, when somebody was asked.
    pub by: Option<Who>,
    /// What they said with it.
    pub note: Option<Note>,
    /// How what ran was compared with what was judged; `None` when nothing ran.
    pub checked: Option<Checked>,
    /// Descendants that were killed at the end.
    pub killed: Vec<Process>,
    /// Descendants that could not be killed.
    pub survivors: Vec<Process>,
    /// Execs of the command that were refused while it ran.
    pub refused: Refused,
    /// Guarded paths that were put back as they had been.
    pub guarded: Vec<Swept>,
    /// From the start to the end of the command.
    pub duration: Duration,
    /// What the caller is told, when there is something to tell.
    pub(super) message: Option<String>,
}

/// `tipstaff.result/1`
#[derive(Debug, Serialize)]
pub struct ReportJson<'a> {
    schema: &'static str,
    id: &'a str,
    outcome: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    reason: Reason,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a Proof>,
    identity: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a Who>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a Note>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
    killed: Vec<ProcessJson>,
    survivors: Vec<ProcessJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<RefusalJson<'a>>,
    #[serde(skip_serializing_if = "is_none")]
    refused_count: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    guarded: &'a [Swept],
    duration_ms: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ProcessJson {
    pid: i32,
    name: String,
}

impl Report {
    /// The same, with what was put back for runs before this one.
    pub(super) fn after(mut self, recovered: Vec<Swept>) -> Self {
        if !recovered.is_empty() {
            let mut told: Vec<String> = recovered.iter().map(Swept::message).collect();
            told.extend(self.message.take());
            self.message = Some(told.join("\n"));
            self.guarded.splice(0..0, recovered);
        }
        self
    }

    /// Whether the command ran to an end of its own, whatever its status.
    pub fn ran(&self) -> bool {
        match self.outcome {
            Outcome::Exited(_) | Outcome::Signalled(_) => true,
            Outcome::TimedOut | Outcome::Denied(_) | Outcome::NotFound | Outcome::Cancelled => {
                false
            }
        }
    }

    /// What the caller is told: why nothing ran, or what was left behind. `None` when the command ran
    /// and ended on its own, so that not one byte is added to it.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The result as `tipstaff.result/1`.
    pub fn as_json(&self) -> ReportJson<'_> {
        ReportJson {
            schema: "tipstaff.result/1",
            id: &self.id,
            outcome: self.outcome.word(),
            exit_code: self.outcome.exit_code(),
            signal: match self.outcome {
                Outcome::Signalled(signal) => Some(signal),
                Outcome::Exited(_)
                | Outcome::TimedOut
                | Outcome::Denied(_)
                | Outcome::NotFound
                | Outcome::Cancelled => None,
            },
            reason: self.reason,
            verdict: self.verdict,
            object: self.object.map(|object| object.to_string()),
            proof: self.proof.as_ref(),
            identity: &self.identity,
            by: self.by.as_ref(),
            note: self.note.as_ref(),
            checked: self.checked,
            killed: self.killed.iter().map(process).collect(),
            survivors: self.survivors.iter().map(process).collect(),
            refused: self.refused.as_json(),
            refused_count: self.refused.count(),
            guarded: &self.guarded,
            duration_ms: self.duration.as_millis(),
            message: self.message.as_deref(),
        }
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(count: &usize) -> bool {
    *count == 0
}

fn process(process: &Process) -> ProcessJson {
    ProcessJson {
        pid: process.pid,
        name: Escaped::from(process.name.as_str()).to_string(),
    }
}

/// What is said when a run did not end on its own.
pub(super) fn ending(outcome: &Outcome, killed: usize, survivors: &[Process]) -> Option<String> {
    let mut text = match outcome {
        Outcome::TimedOut => {
            "the command ran out of time and was killed with all it had started".to_owned()
        }
        Outcome::Cancelled => "the command was cancelled".to_owned(),
        Outcome::Exited(_) | Outcome::Signalled(_) | Outcome::Denied(_) | Outcome::NotFound => {
            String::new()
        }
    };
    if text.is_empty() && killed > 0 {
        text = format!("{killed} process(es) the command left running were killed");
    }
    if !survivors.is_empty() {
        let names: Vec<String> = survivors
            .iter()
            .map(|process| format!("{} ({})", process.pid, Escaped::from(process.name.as_str())))
            .collect();
        text.push_str(&format!(
            "; still running, though killed: {}",
            names.join(", ")
        ));
    }
    (!text.is_empty()).then_some(text)
}
