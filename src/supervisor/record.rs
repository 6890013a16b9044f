//! From a call and what became of it to its two records.

use std::time::Duration;

use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};

use crate::approval::{Approval, Denial, Known, Note, ObjectId, Through, Who};
use crate::audit::{
    self, Bytes, Decided, DecidedPart, Decider, Durability, Finished, Journal, PolicySource,
    RemovedName,
};
use crate::gate::Attempt;
use crate::launch::{self, Ended};
use crate::model::digest::Digest;
use crate::model::judgement::Reason;
use crate::model::outcome::Outcome;
use crate::model::profile::Identity;
use crate::model::request::{Command, Request};
use crate::model::verdict::Verdict;
use crate::sandbox::Proof;

use super::call::Call;
use super::error::Error;
use super::ground::Ground;

/// What was decided in the end.
pub struct Decision<'a> {
    pub verdict: Verdict,
    pub reason: Reason,
    pub proof: Option<&'a Proof>,
    pub object: Option<ObjectId>,
    pub by: Option<&'a Who>,
    pub note: Option<&'a Note>,
    /// How long the question was open.
    pub waited: Duration,
}

impl<'a> Decision<'a> {
    /// A denial before anything was asked or parked.
    pub fn refused(reason: Reason) -> Self {
        Self {
            verdict: Verdict::Deny,
            reason,
            proof: None,
            object: None,
            by: None,
            note: None,
            waited: Duration::ZERO,
        }
    }

    /// A denial with the sandbox standing.
    pub fn denied(
        denial: &'a Denial,
        proof: &'a Proof,
        object: ObjectId,
        waited: Duration,
    ) -> Self {
        Self {
            proof: Some(proof),
            object: Some(object),
            by: denial.by(),
            note: denial.note(),
            waited,
            ..Self::refused(denial.reason())
        }
    }

    /// The right to start.
    pub fn granted(approval: &'a Approval, proof: &'a Proof, waited: Duration) -> Self {
        Self {
            verdict: Verdict::Allow,
            reason: approval.reason(),
            proof: Some(proof),
            object: Some(approval.object()),
            by: approval.by(),
            note: None,
            waited,
        }
    }
}

/// Writes the decision; gives the id that names it. Nothing may start before this has returned.
pub fn decided(
    journal: &Journal,
    request: &Request,
    ground: &Ground,
    call: &Call,
    decision: &Decision<'_>,
) -> Result<String, Error> {
    let id = audit::new_id();
    let record = Decided {
        id: id.clone(),
        command: match &request.command {
            Command::Line(line) => audit::Asked::Line(Bytes(line.clone())),
            Command::Argv(argv) => audit::Asked::Argv(argv.iter().cloned().map(Bytes).collect()),
        },
        ids: request.ids.clone(),
        claim: request.claim.clone().map(|claim| Bytes(claim.into_bytes())),
        cwd: Bytes(ground.cwd.as_bytes().to_vec()),
        workspace: Bytes(ground.workspace.root.as_bytes().to_vec()),
        uid: geteuid().as_raw(),
        identity: identity(&ground.identity),
        mode: ground.mode.word().to_owned(),
        profile: ground.profile.name.word().to_owned(),
        network: ground.profile.network.word().to_owned(),
        level: decision.proof.map(Proof::level),
        proof: decision.proof.map(Proof::lines).unwrap_or_default(),
        policy: ground
            .sources
            .iter()
            .map(|source| PolicySource {
                layer: source.layer,
                name: Bytes(source.name.clone().into_bytes()),
                digest: Digest(Sha256::digest(source.text.as_bytes()).into()),
            })
            .collect(),
        subcommands: parts(call),
        removed: ground
            .fixed
            .removed
            .iter()
            .map(|removed| RemovedName {
                name: Bytes(removed.name.clone()),
                why: removed.why.reason(),
            })
            .collect(),
        verdict: call.judgement.verdict,
        outcome: decision.verdict,
        reason: decision.reason,
        decider: decision.by.map(|who| decider(who, decision)),
    };
    // A person's decision cannot be made again by looking at the policy, so it outlives a power cut.
    let lasts = match decision.by {
        Some(_) => Durability::Power,
        None => Durability::Process,
    };
    journal.decided(&record, lasts)?;
    Ok(id)
}

fn parts(call: &Call) -> Vec<DecidedPart> {
    let subs = call.survey.script.subcommands.iter();
    subs.zip(&call.pinned.resolved.lookups)
        .zip(&call.judgement.subcommands)
        .map(|((sub, lookup), judged)| {
            let executable = lookup.executable();
            DecidedPart {
                argv: sub
                    .argv
                    .iter()
                    .map(|word| word.as_static().map(|text| Bytes(text.to_vec())))
                    .collect(),
                program: executable.map(|file| Bytes(file.real.as_bytes().to_vec())),
                digest: executable.map(|file| file.digest),
                verdict: judged.verdict,
                reason: judged.reason,
                rule: judged.rule.as_ref().map(|rule| rule.id.clone()),
            }
        })
        .collect()
}

fn decider(who: &Who, decision: &Decision<'_>) -> Decider {
    Decider {
        name: Bytes(who.name.clone().into_bytes()),
        known: match who.known {
            Known::Session => "terminal",
            Known::Asserted => "asserted",
        }
        .to_owned(),
        through: match who.through {
            Through::Terminal => "terminal",
            Through::Command => "command",
            Through::Callback => "callback",
        }
        .to_owned(),
        note: decision
            .note
            .map(|note| Bytes(note.as_str().as_bytes().to_vec())),
        object: decision.object.map(|object| object.to_string()),
        waited_ms: milliseconds(decision.waited),
    }
}

/// What was decided about an exec of a running command.
pub struct ExecDecision<'a> {
    pub verdict: Verdict,
    pub outcome: Verdict,
    pub reason: Reason,
    pub by: Option<&'a Who>,
    pub note: Option<&'a Note>,
    pub object: Option<ObjectId>,
    pub waited: Duration,
    pub program: &'a [u8],
    pub digest: Option<Digest>,
    pub rule: Option<&'a str>,
    pub detail: Option<&'a str>,
}

/// Bytes of an argv that a record holds; a longer one is cut at a word, and says so.
const MOST_WORDS: usize = 128 * 1024;

/// Writes a decision about an exec. It may not start before this has returned.
pub fn exec(
    journal: &Journal,
    run: &str,
    attempt: &Attempt,
    decision: &ExecDecision<'_>,
) -> Result<(), Error> {
    let mut room = MOST_WORDS;
    let argv: Vec<Bytes> = attempt
        .argv
        .iter()
        .map_while(|word| {
            room = room.checked_sub(word.len() + 1)?;
            Some(Bytes(word.clone()))
        })
        .collect();
    let lineage = attempt.image.iter().flat_map(|image| &image.lineage);
    let record = audit::Exec {
        id: audit::new_id(),
        run: run.to_owned(),
        pid: attempt.pid,
        more_words: attempt.argv.len() - argv.len(),
        argv,
        program: Bytes(decision.program.to_vec()),
        digest: decision.digest,
        lineage: lineage
            .map(|path| Bytes(path.as_bytes().to_vec()))
            .collect(),
        verdict: decision.verdict,
        outcome: decision.outcome,
        reason: decision.reason,
        rule: decision.rule.map(str::to_owned),
        detail: decision
            .detail
            .map(|detail| Bytes(detail.as_bytes().to_vec())),
        decider: decision.by.map(|who| {
            let answer = Decision {
                verdict: decision.outcome,
                reason: decision.reason,
                proof: None,
                object: decision.object,
                by: decision.by,
                note: decision.note,
                waited: decision.waited,
            };
            decider(who, &answer)
        }),
    };
    let lasts = match decision.by {
        Some(_) => Durability::Power,
        None => Durability::Process,
    };
    journal.exec(&record, lasts)?;
    Ok(())
}

/// Writes how a decided run ended.
pub fn finished(journal: &Journal, id: &str, ended: &Ended, refused: usize) -> Result<(), Error> {
    let signal = match &ended.outcome {
        Outcome::Signalled(signal) => Some(*signal),
        Outcome::Exited(_)
        | Outcome::TimedOut
        | Outcome::Denied(_)
        | Outcome::NotFound
        | Outcome::Cancelled => None,
    };
    journal.finished(&Finished {
        id: id.to_owned(),
        outcome: ended.outcome.word().to_owned(),
        exit_code: ended.outcome.exit_code(),
        signal,
        killed: ended.killed.iter().map(process).collect(),
        survivors: ended.survivors.iter().map(process).collect(),
        refused,
        duration_ms: milliseconds(ended.duration),
        error: None,
    })?;
    Ok(())
}

/// Writes that a decided run could not be started or watched.
pub fn failed(journal: &Journal, id: &str, error: &str) -> Result<(), Error> {
    journal.finished(&Finished {
        id: id.to_owned(),
        outcome: "failed".to_owned(),
        exit_code: 125,
        signal: None,
        killed: Vec::new(),
        survivors: Vec::new(),
        refused: 0,
        duration_ms: 0,
        error: Some(Bytes(error.as_bytes().to_vec())),
    })?;
    Ok(())
}

fn process(process: &launch::Process) -> audit::Process {
    audit::Process {
        pid: process.pid,
        name: Bytes(process.name.clone().into_bytes()),
    }
}

/// The identity in words, for records and results.
pub fn identity(identity: &Identity) -> String {
    match identity {
        Identity::Unchanged => format!("uid {}", geteuid()),
        Identity::User { uid, name, .. } => format!("{name} (uid {uid})"),
        Identity::RootWithoutCapabilities => "uid 0 without capabilities".to_owned(),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
