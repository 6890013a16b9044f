//! A call for the tests of this stage: `git status && ./build.sh x`.

use std::collections::BTreeMap;

use crate::model::access::{Access, Resolved, Survey};
use crate::model::digest::Digest;
use crate::model::environment::Environment;
use crate::model::executable::{Executable, FileId, Format, Lookup, Trust};
use crate::model::judgement::{
    AccessJudgement, Judgement, Layer, Place, Reason, RuleRef, SubJudgement,
};
use crate::model::level::Level;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Network, Profile, ProfileName};
use crate::model::request::Ids;
use crate::model::script::{Context, Folder, Script, Span, SubCommand, Word};
use crate::model::verdict::Verdict;
use crate::plan::{Plan, Start};

use super::question::{Question, Told};

pub(super) fn keep(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

pub(super) fn path(text: &str) -> AbsolutePath {
    AbsolutePath::new(text).unwrap()
}

fn file(at: &str, digest: u8, format: Format, trust: Trust) -> Executable {
    Executable {
        path: path(at),
        real: path(at),
        id: FileId { dev: 1, ino: 2 },
        size: 3,
        digest: Digest([digest; 32]),
        format,
        trust,
    }
}

pub(super) fn script_lookup(interpreter_digest: u8) -> Lookup {
    let interpreter = file("/bin/sh", interpreter_digest, Format::Elf, Trust::Trusted);
    Lookup::File(Box::new(file(
        "/ws/build.sh",
        0xbb,
        Format::Script {
            interpreter: Box::new(interpreter),
            argument: None,
        },
        Trust::InWriteRoot,
    )))
}

fn subcommand(argv: &[&str]) -> SubCommand {
    SubCommand {
        span: Span::default(),
        context: Context::default(),
        folder: Folder::Start,
        argv: argv
            .iter()
            .map(|word| Word::text(Span::default(), *word))
            .collect(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        carrier: None,
    }
}

pub(super) fn call() -> (Plan, Survey, Resolved) {
    let plan = Plan {
        start: Start::Shell,
        executable: file("/usr/bin/bash", 0xcc, Format::Elf, Trust::Trusted),
        argv: vec![b"bash".to_vec(), b"-c".to_vec(), LINE.to_vec()],
        environment: Environment::from_iter([
            (b"PATH".to_vec(), b"/bin".to_vec()),
            (b"TMPDIR".to_vec(), b"/tmp/private".to_vec()),
        ]),
        cwd: path("/ws"),
        profile: Profile {
            name: ProfileName::Workspace,
            read: vec![path("/usr")],
            devices: vec![path("/dev/null")],
            write: vec![path("/ws"), path("/tmp/private")],
            guarded: Vec::new(),
            network: Network::Off,
        },
        temporary: path("/tmp/private"),
        identity: Identity::Unchanged,
    };
    let survey = Survey {
        script: Script {
            subcommands: vec![
                subcommand(&["git", "status"]),
                subcommand(&["./build.sh", "x"]),
            ],
            ..Script::default()
        },
        accesses: vec![vec![Access::Command], vec![Access::Command]],
        traits: Vec::new(),
    };
    let git = file("/usr/bin/git", 0xaa, Format::Elf, Trust::Trusted);
    let resolved = Resolved {
        lookups: vec![Lookup::File(Box::new(git)), script_lookup(0xdd)],
        targets: BTreeMap::new(),
        ..Resolved::default()
    };
    (plan, survey, resolved)
}

pub(super) const LINE: &[u8] = b"git status && ./build.sh x";

pub(super) fn judged(verdict: Verdict, reason: Reason) -> SubJudgement {
    SubJudgement {
        verdict,
        reason,
        rule: None,
        accesses: vec![AccessJudgement {
            access: Access::Command,
            verdict,
            reason,
            rule: None,
            open: false,
            remedy: None,
        }],
        remedy: None,
    }
}

pub(super) fn judgement() -> Judgement {
    let mut asked = judged(Verdict::Ask, Reason::RuleAsk);
    asked.rule = Some(RuleRef {
        id: "user:7".to_owned(),
        layer: Layer::User,
        place: Some(Place {
            file: "/home/u/policy.toml".to_owned(),
            line: 7,
        }),
        text: "./build.sh *".to_owned(),
        why: Some("builds run project code".to_owned()),
    });
    Judgement {
        verdict: Verdict::Ask,
        reason: Reason::RuleAsk,
        subcommands: vec![judged(Verdict::Allow, Reason::ReadOnlyDefault), asked],
        confined: None,
    }
}

/// The question of the call, for `line` and with `claim`.
pub(super) fn question_of(line: &[u8], claim: Option<&str>, changes: &[String]) -> Question {
    let (plan, survey, resolved) = call();
    Question::new(
        &Told {
            line,
            plan: &plan,
            survey: &survey,
            resolved: &resolved,
            judgement: &judgement(),
            workspace: &path("/ws"),
            why: Reason::RuleAsk,
            forced: true,
            level: Level::L1,
            proof: &[
                "confined, seen by the kernel".to_owned(),
                "writes: open outside refused".to_owned(),
            ],
            uid: 1000,
            claim,
            ids: &Ids {
                agent: Some("builder".to_owned()),
                ..Ids::default()
            },
            changes,
        },
        &keep,
    )
}

pub(super) fn question() -> Question {
    question_of(LINE, None, &[])
}
