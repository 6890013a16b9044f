//! What is recorded: everything a decision was made from, so that it can be made again.
//!
//! Untrusted text is [`Bytes`]; words of closed lists are the model's own types. Secrets are looked for
//! in every string but the fields that hold such words, ids and digests (listed in `scrub`): nothing
//! that comes from outside may be put into one of those.

use serde::Serialize;

use super::bytes::Bytes;
use crate::model::digest::Digest;
use crate::model::judgement::{Layer, Reason};
use crate::model::level::Level;
use crate::model::request::Ids;
use crate::model::verdict::Verdict;

/// A new id: UUID version 7, so that ids sort by time (RFC 9562).
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// A decision, written before its effect.
#[derive(Clone, Debug, Serialize)]
pub struct Decided {
    /// From [`new_id`]; the `finished` record names it.
    pub id: String,
    /// What was wanted.
    pub command: Asked,
    /// The caller's ids.
    pub ids: Ids,
    /// The caller's own words on why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Bytes>,
    /// The folder.
    pub cwd: Bytes,
    /// Root of the workspace.
    pub workspace: Bytes,
    /// The uid that asked.
    pub uid: u32,
    /// Who the command runs as, in words.
    pub identity: String,
    /// The mode's word.
    pub mode: String,
    /// The profile's word.
    pub profile: String,
    /// The network's word.
    pub network: String,
    /// The level that was proved; `None` when nothing was parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The proof, line by line.
    pub proof: Vec<String>,
    /// The policy, source by source.
    pub policy: Vec<PolicySource>,
    /// What the line would start.
    pub subcommands: Vec<DecidedPart>,
    /// Names of variables the command does not get, with the reason.
    pub removed: Vec<RemovedName>,
    /// The policy's verdict on the whole.
    pub verdict: Verdict,
    /// What was decided, in the end: `allow` runs, anything else does not.
    #[serde(rename = "final")]
    pub outcome: Verdict,
    /// Why.
    pub reason: Reason,
    /// Who decided, when somebody was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decider: Option<Decider>,
}

/// The command as it was asked for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// A shell line.
    Line(Bytes),
    /// An argv.
    Argv(Vec<Bytes>),
}

/// One policy source.
#[derive(Clone, Debug, Serialize)]
pub struct PolicySource {
    /// Its layer.
    pub layer: Layer,
    /// The file as it was named.
    pub name: Bytes,
    /// SHA-256 of the bytes that were parsed.
    pub digest: Digest,
}

/// One sub-command and its judgement.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedPart {
    /// Its words; `None` for one that only the shell knows.
    pub argv: Vec<Option<Bytes>>,
    /// The file it starts, links followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Bytes>,
    /// SHA-256 of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The id of the deciding rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// A variable that was taken out of the environment. Its value is nowhere.
#[derive(Clone, Debug, Serialize)]
pub struct RemovedName {
    /// The variable.
    pub name: Bytes,
    /// Why.
    pub why: &'static str,
}

/// Who decided.
#[derive(Clone, Debug, Serialize)]
pub struct Decider {
    /// The name.
    pub name: Bytes,
    /// How it is known: asserted, peer credentials, token, terminal.
    pub known: String,
    /// Through what: terminal, command, callback.
    pub through: String,
    /// What was said with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Bytes>,
    /// The object that was shown: `#` and 12 hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// How long the question was open, in milliseconds.
    pub waited_ms: u64,
}

/// A decision about one exec of a running command: what no rule of the line, and no program above it,
/// covered already. Written before the exec; a refused or a killed one is written as well.
#[derive(Clone, Debug, Serialize)]
pub struct Exec {
    /// From [`new_id`].
    pub id: String,
    /// Id of the decision about the command.
    pub run: String,
    /// The process.
    pub pid: i32,
    /// Its argv, or the first words of a very long one.
    pub argv: Vec<Bytes>,
    /// How many words more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_words: usize,
    /// The file, links followed; the path as given where there is none.
    pub program: Bytes,
    /// SHA-256 of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The programs that led to it, the outermost first.
    pub lineage: Vec<Bytes>,
    /// The policy's verdict.
    pub verdict: Verdict,
    /// What was decided, in the end: `allow` runs, anything else does not.
    #[serde(rename = "final")]
    pub outcome: Verdict,
    /// Why.
    pub reason: Reason,
    /// The id of the deciding rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What exactly, where the reason alone does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Bytes>,
    /// Who decided, when somebody was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decider: Option<Decider>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How a decided run ended.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
    /// Id of the decision.
    pub id: String,
    /// The outcome's word.
    pub outcome: String,
    /// The exit status that was reported.
    pub exit_code: u8,
    /// The signal that killed the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Processes that were killed at the end.
    pub killed: Vec<Process>,
    /// Processes that outlived it.
    pub survivors: Vec<Process>,
    /// How many execs were refused while it ran, repeated ones each.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: usize,
    /// From start to end, in milliseconds.
    pub duration_ms: u64,
    /// What failed, when the supervisor itself did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Bytes>,
}

/// A process of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Its pid.
    pub pid: i32,
    /// Its name, as it calls itself.
    pub name: Bytes,
}
