//! The question: everything an approver is shown, as data.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::access::{Access, PathAccess, Resolved, Source, Survey};
use crate::model::executable::{Executable, Lookup, Trust};
use crate::model::judgement::{AccessJudgement, Judgement, Reason, RuleRef, SubJudgement};
use crate::model::level::Level;
use crate::model::path::AbsolutePath;
use crate::model::profile::Identity;
use crate::model::request::Ids;
use crate::model::script::{Folder, SubCommand};
use crate::model::verdict::Verdict;
use crate::plan::{Plan, Start};

use super::object::{ObjectId, identify};
use super::risk::{self, Authority, Risk, Severity};
use super::words::{Scrub, Shown};

/// What a question is built from.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// The line as it was given; for an argv, the argv quoted.
    pub line: &'a [u8],
    /// What would start.
    pub plan: &'a Plan,
    /// Its sub-commands.
    pub survey: &'a Survey,
    /// Their programs.
    pub resolved: &'a Resolved,
    /// The policy's answer.
    pub judgement: &'a Judgement,
    /// Root of the workspace.
    pub workspace: &'a AbsolutePath,
    /// Why it is asked, and whether only a person may answer.
    pub why: Reason,
    /// Whether only a person may answer.
    pub forced: bool,
    /// The proved level.
    pub level: Level,
    /// What is proved: a line that sums it up, then the details.
    pub proof: &'a [String],
    /// Our own user, for a command that runs as ourselves.
    pub uid: u32,
    /// The caller's own words on why.
    pub claim: Option<&'a str>,
    /// The caller's identifiers.
    pub ids: &'a Ids,
    /// What changed since the same call was approved; empty the first time.
    pub changes: &'a [String],
}

/// A question. Every text in it is scrubbed and escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The object an answer is bound to.
    pub object: ObjectId,
    /// The line as given, a line of it each.
    pub line: Vec<Shown>,
    /// How it starts: executed itself, or read by a shell.
    pub start: Shown,
    /// The folder.
    pub cwd: Shown,
    /// The profile.
    pub profile: &'static str,
    /// The rule that wants this profile.
    pub confined_by: Option<Shown>,
    /// The folders it may write.
    pub writes: Vec<Shown>,
    /// The network.
    pub network: &'static str,
    /// Who it runs as.
    pub identity: Shown,
    /// Names of the variables it gets; values may be secrets.
    pub environment: Vec<Shown>,
    /// Why it is asked.
    pub why: Reason,
    /// Whether only a person may answer.
    pub forced: bool,
    /// The sub-commands, in order.
    pub parts: Vec<Part>,
    /// The gravest severity of any part.
    pub severity: Severity,
    /// The proved level.
    pub level: Level,
    /// What is proved: a line that sums it up, then the details.
    pub proof: Vec<Shown>,
    /// The caller's claim: nobody checked it.
    pub claim: Option<Shown>,
    /// The caller's identifiers, by name.
    pub ids: Vec<(&'static str, Shown)>,
    /// What changed since the same call was approved.
    pub changes: Vec<Shown>,
}

/// One sub-command of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its argv, assignments and redirections.
    pub command: Shown,
    /// The folder it runs in, where it is not the question's.
    pub folder: Option<Shown>,
    /// The number of the part that carries it, from 1.
    pub carried_by: Option<usize>,
    /// What its program is, in words, when it is no file.
    pub program: Option<Shown>,
    /// The file of its program, and the chain of its interpreters.
    pub files: Vec<File>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The deciding rule.
    pub rule: Option<Rule>,
    /// The accesses that are not simply allowed.
    pub accesses: Vec<Shown>,
    /// What would allow it.
    pub remedy: Option<Shown>,
    /// What it does.
    pub risk: Risk,
    /// How far it reaches.
    pub authority: Authority,
    /// How much care it deserves.
    pub severity: Severity,
    /// Why it is that severe.
    pub stakes: &'static str,
    /// Whether its program is known to run workspace code.
    pub runs_workspace_code: bool,
}

/// A file of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// Where it lies, links followed.
    pub path: Shown,
    /// The name it was found by, where that is another.
    pub found_as: Option<Shown>,
    /// Its digest in full.
    pub digest: String,
    /// The digest's first digits.
    pub short: String,
    /// Whether allow rules may cover it, in words.
    pub trust: &'static str,
    /// Whether the run can write it, so that the digest holds for now only.
    pub mutable: bool,
}

/// A rule of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Its id.
    pub id: Shown,
    /// Its layer.
    pub layer: &'static str,
    /// File and line.
    pub place: Option<Shown>,
    /// The rule as written.
    pub text: Shown,
    /// Its own reason.
    pub why: Option<Shown>,
}

impl Question {
    /// Builds the question. Pure: equal facts give an equal question.
    pub fn new(told: &Told<'_>, scrub: Scrub<'_>) -> Self {
        let plan = told.plan;
        let show = |bytes: &[u8]| Shown::text(bytes, scrub);
        let parts: Vec<Part> = told
            .survey
            .script
            .subcommands
            .iter()
            .enumerate()
            .map(|(index, subcommand)| part(told, index, subcommand, scrub))
            .collect();
        let gravest = parts.iter().map(|part| part.severity).max();
        let opaque = !told.survey.script.opaque.is_empty();
        Self {
            object: identify(plan, told.survey, told.resolved),
            line: told.line.split(|byte| *byte == b'\n').map(show).collect(),
            start: match plan.start {
                Start::Binary { .. } => show(b"executed itself, without a shell"),
                Start::Script { .. } => show(b"executed itself, by its interpreter"),
                Start::Shell => show(format!("read by {}", plan.executable.real).as_bytes()),
            },
            cwd: show(plan.cwd.as_bytes()),
            profile: plan.profile.name.word(),
            confined_by: told
                .judgement
                .confined
                .as_ref()
                .filter(|confined| confined.profile == plan.profile.name)
                .map(|confined| show(confined.rule.id.as_bytes())),
            writes: plan
                .profile
                .write
                .iter()
                .map(|path| show(path.as_bytes()))
                .collect(),
            network: plan.profile.network.word(),
            identity: show(identity(&plan.identity, told.uid).as_bytes()),
            environment: plan
                .environment
                .iter()
                .map(|(name, _)| show(name))
                .collect(),
            why: told.why,
            forced: told.forced,
            // A line nothing was found in is as unknown as one that hides something.
            severity: match gravest {
                Some(severity) if !opaque => severity,
                Some(_) | None => Severity::High,
            },
            parts,
            level: told.level,
            proof: told
                .proof
                .iter()
                .map(|line| show(line.as_bytes()))
                .collect(),
            claim: told.claim.map(|claim| show(claim.as_bytes())),
            ids: ids(told.ids)
                .map(|(name, id)| (name, show(id.as_bytes())))
                .collect(),
            changes: told
                .changes
                .iter()
                .map(|change| show(change.as_bytes()))
                .collect(),
        }
    }

    /// The question for programs, with `left` until it is too late to answer. Every string is escaped
    /// as shown to people: a backslash stands for itself when doubled.
    pub fn to_json(&self, left: Duration) -> Value {
        json!({
            "schema": "tipstaff.question/1",
            "object": self.object.to_string(),
            "digest": self.object.digest(),
            "line": self.line,
            "start": self.start,
            "cwd": self.cwd,
            "profile": self.profile,
            "confined_by": self.confined_by,
            "writes": self.writes,
            "network": self.network,
            "identity": self.identity,
            "environment": self.environment,
            "why": self.why,
            "forced": self.forced,
            "severity": self.severity.word(),
            "subcommands": self.parts.iter().map(Part::to_json).collect::<Vec<_>>(),
            "proof": { "level": self.level, "lines": self.proof },
            "claim": self.claim,
            "ids": self.ids.iter().map(|(name, id)| ((*name).to_owned(), json!(id)))
                .collect::<serde_json::Map<_, _>>(),
            "changed": self.changes,
            "seconds_left": left.as_secs(),
        })
    }
}

impl Part {
    fn to_json(&self) -> Value {
        json!({
            "command": self.command,
            "folder": self.folder,
            "carried_by": self.carried_by,
            "program": self.program,
            "files": self.files,
            "verdict": self.verdict,
            "reason": self.reason,
            "rule": self.rule,
            "accesses": self.accesses,
            "remedy": self.remedy,
            "risk": self.risk.word(),
            "authority": self.authority.word(),
            "severity": self.severity.word(),
            "stakes": self.stakes,
            "runs_workspace_code": self.runs_workspace_code,
        })
    }
}

fn part(told: &Told<'_>, index: usize, subcommand: &SubCommand, scrub: Scrub<'_>) -> Part {
    let show = |bytes: &[u8]| Shown::text(bytes, scrub);
    let lookup = told.resolved.lookups.get(index);
    // A sub-command the policy said nothing of is shown as what it is: not allowed by anything.
    let unjudged = SubJudgement {
        verdict: Verdict::Ask,
        reason: Reason::Unmatched,
        rule: None,
        accesses: Vec::new(),
        remedy: None,
    };
    let judged = told.judgement.subcommands.get(index).unwrap_or(&unjudged);
    let traits = told.survey.traits.get(index).copied().unwrap_or_default();
    let (risk, authority) = risk::classify(
        traits,
        lookup,
        judged,
        told.workspace,
        told.plan.profile.network,
    );
    Part {
        command: Shown::subcommand(subcommand, scrub),
        folder: match &subcommand.folder {
            Folder::Start => None,
            Folder::Moved(folder) => Some(show(folder)),
            Folder::Home(_) | Folder::Unknown => {
                Some(show(b"a folder known only when the shell runs"))
            }
        },
        carried_by: subcommand.carrier.map(|carrier| carrier.saturating_add(1)),
        program: no_file(lookup).map(|words| show(words.as_bytes())),
        files: files(lookup.and_then(Lookup::executable), scrub)
            .into_iter()
            .chain(scripts(told, judged).flat_map(|file| files(Some(file), scrub)))
            .collect(),
        verdict: judged.verdict,
        reason: judged.reason,
        rule: judged.rule.as_ref().map(|one| rule(one, scrub)),
        accesses: judged
            .accesses
            .iter()
            .filter(|one| one.verdict != Verdict::Allow)
            .filter_map(|one| access(one, scrub))
            .collect(),
        remedy: judged.remedy.as_ref().map(|remedy| show(remedy.as_bytes())),
        risk,
        authority,
        severity: risk::severity(risk, authority),
        stakes: risk::stakes(risk, authority),
        runs_workspace_code: traits.runs_workspace_code,
    }
}

fn no_file(lookup: Option<&Lookup>) -> Option<String> {
    match lookup {
        None => Some("its program was not looked up".to_owned()),
        Some(Lookup::Nothing) => Some("no program: the shell itself does it".to_owned()),
        Some(Lookup::Builtin) => Some("built into the shell".to_owned()),
        Some(Lookup::Function) => Some("a function the line defines".to_owned()),
        Some(Lookup::Dynamic) => Some("a program known only when the shell runs".to_owned()),
        Some(Lookup::Failed(error)) => Some(error.to_string()),
        Some(Lookup::File(_)) => None,
    }
}

/// The file and its interpreters, outermost first.
/// The files whose text the program runs.
fn scripts<'a>(
    told: &Told<'a>,
    judged: &'a SubJudgement,
) -> impl Iterator<Item = &'a Executable> + use<'a> {
    let resolved = told.resolved;
    judged.accesses.iter().filter_map(|one| match &one.access {
        Access::Read(file) if file.source == Source::Script => {
            resolved.scripts.get(file.path.as_ref()?)
        }
        Access::Read(_)
        | Access::Command
        | Access::Write(_)
        | Access::Env(_)
        | Access::Network { .. } => None,
    })
}

fn files(executable: Option<&Executable>, scrub: Scrub<'_>) -> Vec<File> {
    std::iter::successors(executable, |file| file.next())
        .map(|file| File {
            path: Shown::text(file.real.as_bytes(), scrub),
            found_as: (file.path != file.real).then(|| Shown::text(file.path.as_bytes(), scrub)),
            digest: file.digest.to_string(),
            short: file.digest.short(),
            trust: file.trust.reason(),
            mutable: matches!(file.trust, Trust::InWriteRoot | Trust::Changeable),
        })
        .collect()
}

fn rule(rule: &RuleRef, scrub: Scrub<'_>) -> Rule {
    let show = |text: &str| Shown::text(text.as_bytes(), scrub);
    Rule {
        id: show(&rule.id),
        layer: rule.layer.word(),
        place: rule
            .place
            .as_ref()
            .map(|place| show(&format!("{}:{}", place.file, place.line))),
        text: show(&rule.text),
        why: rule.why.as_deref().map(show),
    }
}

/// An access in words, `None` for the start of the program itself, which the part already names.
fn access(judged: &AccessJudgement, scrub: Scrub<'_>) -> Option<Shown> {
    let file = |word: &str, access: &PathAccess| match &access.path {
        Some(path) => [word.as_bytes(), b" ", path.as_bytes()].concat(),
        None => format!("{word} a file known only when the shell runs").into_bytes(),
    };
    let what = match &judged.access {
        Access::Command => return None,
        Access::Write(access) => file("writes", access),
        Access::Read(access) => file("reads", access),
        Access::Env(name) => [b"sets the variable ", name.as_slice()].concat(),
        Access::Network { host, port } => [
            b"connects to ",
            host.as_slice(),
            b":",
            port.as_deref().unwrap_or(b"any port"),
        ]
        .concat(),
    };
    let why = format!(
        ": {} ({})",
        judged.verdict,
        judged
            .rule
            .as_ref()
            .map_or(judged.reason.code(), |rule| rule.id.as_str())
    );
    Some(Shown::text(&[what, why.into_bytes()].concat(), scrub))
}

fn identity(identity: &Identity, uid: u32) -> String {
    match identity {
        Identity::Unchanged => format!("uid {uid}, without capabilities"),
        Identity::User { uid, name, .. } => format!("{name} (uid {uid}), without capabilities"),
        Identity::RootWithoutCapabilities => {
            "uid 0 (root), without capabilities; `--user NAME` would run it as somebody else"
                .to_owned()
        }
    }
}

fn ids(ids: &Ids) -> impl Iterator<Item = (&'static str, &str)> {
    [
        ("session", &ids.session),
        ("run", &ids.run),
        ("task", &ids.task),
        ("agent", &ids.agent),
        ("conversation", &ids.conversation),
        ("call", &ids.call),
    ]
    .into_iter()
    .filter_map(|(name, id)| Some((name, id.as_deref()?)))
}
