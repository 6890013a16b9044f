//! Cases of a policy: each line judged on the made-up machine of its file, and compared with what the
//! case says.

use crate::approval::{self, Attached, Decision, Forced, Inputs, Sandbox, Strictures};
use crate::model::access::{Facts, Survey};
use crate::model::environment::Environment;
use crate::model::executable::Trust;
use crate::model::judgement::{Judgement, Reason, RuleRef};
use crate::model::level::Level;
use crate::model::mode::Mode;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Network, ProfileName};
use crate::model::request::Command;
use crate::model::verdict::Verdict;
use crate::policy::{self, Case, CaseFile, Coverage, Judged, Policy};
use crate::resolve::environment::{Fixing, fix};
use crate::resolve::made_up::{Entry, MadeUp};
use crate::shell;

use super::Supervisor;
use super::call::read;
use super::error::Error;
use super::{NEEDED, ground};

/// What came of one case.
#[derive(Clone, Debug)]
pub struct Rehearsed {
    /// The verdict, in the case's mode if it names one.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The rules that decided.
    pub rules: Vec<RuleRef>,
    /// What would change it, of the first part that is not allowed.
    pub remedy: Option<String>,
    /// What of the case's expectations does not hold.
    pub wrong: Vec<&'static str>,
}

impl Supervisor {
    /// The policy in force for the present folder, and the names of its files.
    ///
    /// # Errors
    /// A layer does not load.
    pub fn policy_here(&self) -> Result<(Vec<policy::Source>, Policy), Error> {
        self.policy(&self.policy_workspace()?)
    }
}

/// Judges every case of a file under a policy.
///
/// # Errors
/// A line is empty.
pub fn rehearse(
    file: &CaseFile,
    policy: &Policy,
    coverage: &mut Coverage,
) -> Result<Vec<Rehearsed>, Error> {
    let stage = Stage::new(file);
    file.cases
        .iter()
        .map(|case| stage.case(case, policy, coverage))
        .collect()
}

/// Days since 1970-01-01: rules that expire are judged as of today.
pub fn today() -> i64 {
    ground::today()
}

struct Stage {
    facts: Facts,
    machine: MadeUp,
}

impl Stage {
    fn new(file: &CaseFile) -> Self {
        let made = &file.machine;
        let mut given = Environment::default();
        for (name, value) in &made.environment {
            given.set(name.as_str(), value.as_str());
        }
        given.set("HOME", made.home.as_bytes());
        let temporary = made.workspace.join("/tmp");
        let fixed = fix(
            &given,
            &Fixing {
                temporary: &temporary,
                account: None,
                keep: &[],
            },
        );
        let own = made.home.join(".config/tipstaff");
        Self {
            facts: Facts {
                workspace: made.workspace.clone(),
                cwd: made.workspace.clone(),
                home: fixed.environment.home(),
                own: vec![own, made.home.join(".local/state/tipstaff")],
                today: ground::today(),
                network: Network::Off,
            },
            machine: MadeUp {
                workspace: made.workspace.clone(),
                cwd: made.workspace.clone(),
                path: fixed.environment.path_folders(),
                absent: made.absent.clone(),
                entries: entries(file),
            },
        }
    }

    fn case(
        &self,
        case: &Case,
        policy: &Policy,
        coverage: &mut Coverage,
    ) -> Result<Rehearsed, Error> {
        let facts = Facts {
            cwd: case.cwd.clone(),
            ..self.facts.clone()
        };
        let machine = MadeUp {
            cwd: case.cwd.clone(),
            ..self.machine.clone()
        };
        let command = match &case.judged {
            Judged::Line(line) => Command::Line(line.clone().into_bytes()),
            Judged::Argv(words) => {
                Command::Argv(words.iter().map(|word| word.clone().into_bytes()).collect())
            }
        };
        let (_, script) = read(&command)?;
        let survey = policy::survey(script, &facts, shell::parse);
        let resolved = machine.resolve(&survey, &policy.restricted_names());
        let judgement = policy::judge(policy, &survey, &resolved, &facts);
        coverage.note(&judgement);
        Ok(compared(case, &judgement, &survey))
    }
}

fn entries(file: &CaseFile) -> Vec<Entry> {
    let workspace = &file.machine.workspace;
    let trust = |real: &AbsolutePath, trusted: Option<bool>| match trusted {
        Some(true) => Trust::Trusted,
        Some(false) | None if real.is_within(workspace) => Trust::InWriteRoot,
        Some(false) => Trust::WritableByOthers,
        None => Trust::Trusted,
    };
    file.machine
        .programs
        .iter()
        .map(|made| {
            let real = made.real.clone().unwrap_or_else(|| made.path.clone());
            Entry {
                trust: trust(&real, made.trusted),
                path: made.path.clone(),
                real,
                digest: made.digest,
            }
        })
        .collect()
}

fn compared(case: &Case, judgement: &Judgement, survey: &Survey) -> Rehearsed {
    let (verdict, reason) = match case.mode {
        Some(mode) => in_mode(mode, judgement, survey),
        None => (judgement.verdict, judgement.reason),
    };
    let deciding = judgement
        .subcommands
        .iter()
        .filter(|sub| sub.verdict == judgement.verdict);
    let mut rules: Vec<RuleRef> = Vec::new();
    for rule in deciding.filter_map(|sub| sub.rule.as_ref()) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    let mut wrong = Vec::new();
    if verdict != case.expect {
        wrong.push("verdict");
    }
    let named = |wanted: &String| {
        rules
            .iter()
            .any(|rule| rule.id == *wanted || rule.text == *wanted)
    };
    if case.rule.as_ref().is_some_and(|wanted| !named(wanted)) {
        wrong.push("rule");
    }
    if case
        .reason
        .as_ref()
        .is_some_and(|code| code != reason.code())
    {
        wrong.push("reason");
    }
    let remedy = judgement
        .subcommands
        .iter()
        .filter(|sub| sub.verdict != Verdict::Allow)
        .find_map(|sub| sub.remedy.clone());
    Rehearsed {
        verdict,
        reason,
        rules,
        remedy,
        wrong,
    }
}

/// What comes of a judgement in a mode where the sandbox stands and somebody can be asked.
pub(super) fn in_mode(mode: Mode, judgement: &Judgement, survey: &Survey) -> (Verdict, Reason) {
    let sandbox = Sandbox::Proved(Level::L2);
    let inputs = Inputs {
        policy: approval::Policy::Judged(judgement),
        sandbox,
        needed: NEEDED,
        forced: Forced::of(judgement, survey, Strictures::Some, sandbox),
        mode,
        profile: approval::profile_for(mode, ProfileName::Workspace),
        attached: Attached::Present,
    };
    match approval::decide(&inputs) {
        Decision::Allow(reason) => (Verdict::Allow, reason),
        Decision::Refuse(reason) => (Verdict::Deny, reason),
        Decision::Ask { why, .. } => (Verdict::Ask, why),
    }
}
