//! Every read-only example, run for real: it has to do its work, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Deserialize;
use tipstaff::model::access::{Access, Facts, Survey};
use tipstaff::model::path::AbsolutePath;
use tipstaff::model::script::{Dialect, SubCommand};
use tipstaff::policy::survey;
use tipstaff::shell::parse;

use super::data::{self, Program};
use super::support::fence::{Fence, Rights, Stage};
use super::support::halves;
use super::trace::Kind;
use super::watch::{self, Job, Seen};
use super::{Options, Report, control};

/// What is known to be right though it looks wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    #[serde(default)]
    act: Vec<ActException>,
    #[serde(default)]
    exit: Vec<ExitException>,
    #[serde(default)]
    idle: Vec<IdleException>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdleException {
    program: String,
    says: String,
    #[expect(dead_code, reason = "told to readers")]
    why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActException {
    programs: Vec<String>,
    on: String,
    #[expect(dead_code, reason = "told to readers")]
    why: String,
}

impl ActException {
    fn key(&self) -> String {
        format!("act {} {}", self.programs.join(" "), self.on)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExitException {
    example: String,
    code: i32,
    #[expect(dead_code, reason = "told to readers")]
    why: String,
}

/// Before the name of an example that could not do its work on this host.
const IDLE: &str = "idle ";

/// What is judged by.
pub struct Bench {
    pub programs: Vec<Program>,
    pub path: String,
    installed: BTreeMap<String, PathBuf>,
    exceptions: Exceptions,
}

impl Bench {
    fn new() -> Result<Self, String> {
        let programs = data::programs()?;
        let path = data::search_path();
        let installed = data::installed(&programs, &path);
        let exceptions = toml::from_str(include_str!("exceptions.toml"))
            .map_err(|error| format!("exceptions.toml: {error}"))?;
        Ok(Self {
            programs,
            path,
            installed,
            exceptions,
        })
    }

    /// The job of a line, or the program it needs that is not here.
    pub fn job(&self, line: &str) -> Result<Job, String> {
        let survey = surveyed(line)?;
        for name in names(&survey) {
            let is_here = self.installed.contains_key(&name)
                || data::is_built_in(&name)
                || name.contains('/')
                || data::find(&name, &self.path).is_some();
            if !is_here {
                return Err(name);
            }
        }
        let needs = survey
            .accesses
            .iter()
            .flatten()
            .filter_map(needed)
            .collect();
        Ok(Job {
            line: line.to_owned(),
            needs,
            path: self.path.clone(),
            meanwhile: None,
        })
    }

    /// What is wrong with what was seen; `used` gathers the exceptions that were needed.
    pub fn complaints(&self, line: &str, seen: &Seen, used: &mut BTreeSet<String>) -> Vec<String> {
        let mut wrong = Vec::new();
        let Ok(survey) = surveyed(line) else {
            return vec!["cannot be parsed".to_owned()];
        };
        let names = names(&survey);
        let by_shell = !survey.script.single || names.iter().any(|name| data::runs_in_shell(name));
        let shell = by_shell.then(|| "bash".to_owned());
        let allowed: BTreeSet<String> = names
            .iter()
            .cloned()
            .chain(shell)
            .chain(self.helpers(&names))
            .collect();
        let files: BTreeSet<PathBuf> = allowed
            .iter()
            .filter_map(|name| data::find(name, &self.path))
            .filter_map(|file| fs::canonicalize(file).ok())
            .collect();
        for act in &seen.acts {
            let expected = act.kind == Kind::Start
                && (allowed.contains(act.on.rsplit('/').next().unwrap_or_default())
                    || fs::canonicalize(&act.on).is_ok_and(|file| files.contains(&file)));
            if !expected && !self.excepted(&names, &act.on, used) {
                wrong.push(format!("{:?}: {} {}", act.kind, act.call, act.on));
            }
        }
        for path in &seen.changed {
            if !self.excepted(&names, path, used) {
                wrong.push(format!("left changed: {path}"));
            }
        }
        wrong.extend(self.idle(line, seen, used));
        wrong.dedup();
        wrong
    }

    /// Why a run proves nothing.
    fn idle(&self, line: &str, seen: &Seen, used: &mut BTreeSet<String>) -> Option<String> {
        if !seen.traced {
            return Some(format!("was not watched: {}", brief(&seen.stderr)));
        }
        if !["L1", "L2", "L3"]
            .iter()
            .any(|level| seen.status.contains(&format!("\"level\":\"{level}\"")))
        {
            return Some(format!("was not confined: {}", seen.status.trim()));
        }
        let code = seen.code?;
        let declared = self
            .exceptions
            .exit
            .iter()
            .find(|exit| exit.example == line);
        if let Some(exit) = declared {
            used.insert(format!("exit {}", exit.example));
            return (exit.code != code).then(|| format!("exit {code}, not {}", exit.code));
        }
        let names = surveyed(line)
            .map(|survey| names(&survey))
            .unwrap_or_default();
        let excused = self
            .exceptions
            .idle
            .iter()
            .find(|idle| names.contains(&idle.program) && seen.stderr.contains(&idle.says));
        if let Some(idle) = excused {
            used.insert(format!("{IDLE}{} {} in {line}", idle.program, idle.says));
            return None;
        }
        let quiet = seen.stderr.trim().is_empty();
        let fine = code == 0 || code == 1 && quiet;
        if !fine || is_usage(&seen.stderr) {
            return Some(format!(
                "did not do its work: exit {code}: {}",
                brief(&seen.stderr)
            ));
        }
        None
    }

    fn helpers(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let named = |program: &&Program| program.names.iter().any(|name| names.contains(name));
        self.programs
            .iter()
            .filter(named)
            .flat_map(|program| program.helpers.clone())
            .collect()
    }

    fn excepted(&self, names: &BTreeSet<String>, on: &str, used: &mut BTreeSet<String>) -> bool {
        let found = self.exceptions.act.iter().find(|except| {
            except
                .programs
                .iter()
                .any(|program| names.contains(program))
                && ends_like(on, &except.on)
        });
        if let Some(except) = found {
            used.insert(except.key());
        }
        found.is_some()
    }

    /// How many known programs the examples that were run name.
    fn exercised(&self, judged: &[Judged]) -> usize {
        let named: BTreeSet<String> = judged
            .iter()
            .filter_map(|one| surveyed(&one.line).ok())
            .flat_map(|survey| names(&survey))
            .collect();
        let known = self.programs.iter().flat_map(|program| &program.names);
        known.filter(|name| named.contains(*name)).count()
    }

    /// Exceptions that no example needed, of programs that are here.
    fn stale(&self, used: &BTreeSet<String>) -> Vec<String> {
        let acts = self.exceptions.act.iter().filter(|except| {
            except
                .programs
                .iter()
                .any(|program| self.installed.contains_key(program))
        });
        let acts = acts.map(|except| except.key());
        let exits = self
            .exceptions
            .exit
            .iter()
            .filter(|exit| self.job(&exit.example).is_ok());
        let exits = exits.map(|exit| format!("exit {}", exit.example));
        acts.chain(exits)
            .filter(|key| !used.contains(key))
            .collect()
    }
}

/// The program names of a line, those inside carriers included.
fn names(survey: &Survey) -> BTreeSet<String> {
    let programs = survey
        .script
        .subcommands
        .iter()
        .filter_map(SubCommand::program);
    programs
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

fn surveyed(line: &str) -> Result<Survey, String> {
    let folder = |path: &str| AbsolutePath::new(path).map_err(|error| error.to_string());
    let facts = Facts {
        network: tipstaff::model::profile::Network::Off,
        workspace: folder(watch::WORKSPACE)?,
        cwd: folder(watch::WORKSPACE)?,
        home: folder(watch::HOME).ok(),
        own: Vec::new(),
        today: 0,
    };
    let script = parse(line.as_bytes(), Dialect::Bash).map_err(|error| error.to_string())?;
    Ok(survey(script, &facts, parse))
}

/// A path below the workspace that is opened; a folder keeps its slash.
fn needed(access: &Access) -> Option<String> {
    let (Access::Read(opened) | Access::Write(opened)) = access else {
        return None;
    };
    let path = opened
        .path
        .as_ref()?
        .as_path()
        .strip_prefix(watch::WORKSPACE)
        .ok()?;
    // It would be a file where git means a revision.
    if matches!(opened.written.as_static(), Some(b"HEAD")) {
        return None;
    }
    let slash = opened
        .written
        .as_static()
        .is_some_and(|word| word.ends_with(b"/"));
    let path = path.to_str().filter(|path| !path.is_empty())?;
    Some(format!("{path}{}", if slash { "/" } else { "" }))
}

fn ends_like(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    let mut parts = pattern.rsplit('*');
    let last = parts.next().unwrap_or_default();
    let Some(before) = rest.strip_suffix(last) else {
        return false;
    };
    rest = before;
    parts.all(|part| match rest.rfind(part) {
        Some(at) => {
            rest = rest.get(..at).unwrap_or_default();
            true
        }
        None => false,
    })
}

/// The words in which programs say that they did not understand.
fn is_usage(stderr: &str) -> bool {
    let text = stderr.to_lowercase();
    [
        "usage:",
        "unrecognized",
        "invalid option",
        "unknown option",
        "unknown command",
        "no such option",
        "unknown flag",
        "unknown argument",
        "no such file or directory",
        "cannot access",
        "unexpected argument",
    ]
    .iter()
    .any(|word| text.contains(word))
}

fn brief(text: &str) -> String {
    let line: String = text.trim().chars().take(300).collect();
    line.escape_debug().to_string()
}

/// A stage for examples.
pub fn stage() -> io::Result<Stage> {
    let tipstaff = env!("CARGO_BIN_EXE_tipstaff");
    let probe = super::probe()?;
    Stage::new(&Fence {
        mode: watch::MODE,
        setup: watch::SETUP,
        programs: &[tipstaff, &probe],
        rights: Rights::Kept,
    })
}

/// Asks a stage.
pub fn see(stage: &mut Stage, job: &Job) -> io::Result<Seen> {
    let message = serde_json::to_vec(job)?;
    Ok(serde_json::from_slice(&stage.ask(&message)?)?)
}

/// One example and what is wrong with it.
struct Judged {
    program: String,
    line: String,
    wrong: Vec<String>,
}

pub fn run(options: &Options, report: &mut Report) {
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(error) => return report.check("the knowledge can be read", false, &error),
    };
    count(&bench, report);
    if data::find("strace", &bench.path).is_none() {
        return report.absent("examples", "strace is not installed");
    }
    let stage = match stage() {
        Ok(stage) => stage,
        Err(error) => {
            let why = format!("no namespace to run examples in: {error}");
            return report.absent("examples", &why);
        }
    };
    control::run(&bench, stage, report);
    examples(&bench, options, report);
}

/// How many known programs are here.
fn count(bench: &Bench, report: &mut Report) {
    let (here, known) = (
        bench.installed.len(),
        bench
            .programs
            .iter()
            .map(|program| program.names.len())
            .sum::<usize>(),
    );
    println!("     {here} of {known} known programs are installed");
    report.enough("known programs that are installed", here);
}

fn examples(bench: &Bench, options: &Options, report: &mut Report) {
    let mut jobs = Vec::new();
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    let mut unread = Vec::new();
    for program in &bench.programs {
        let name = program.names.first().cloned().unwrap_or_default();
        if !options.names.is_empty()
            && !program
                .names
                .iter()
                .any(|name| options.names.contains(name))
        {
            continue;
        }
        for line in &program.read_only {
            match bench.job(line) {
                Ok(job) => jobs.push((name.clone(), job)),
                Err(absent) => *skipped.entry(absent).or_default() += 1,
            }
            if surveyed(line).is_err() {
                unread.push(line.clone());
            }
        }
    }
    let answers = halves(&jobs, |part| play(bench, part));
    let mut used = BTreeSet::new();
    let mut judged: Vec<Judged> = Vec::new();
    for answer in answers {
        match answer {
            Ok((some, needed)) => {
                judged.extend(some);
                used.extend(needed);
            }
            Err(error) => report.check("examples", false, &format!("a stage broke: {error}")),
        }
    }
    let mut programs: BTreeMap<&str, (usize, Vec<&Judged>)> = BTreeMap::new();
    for one in &judged {
        let (total, wrong) = programs.entry(&one.program).or_default();
        *total += 1;
        if !one.wrong.is_empty() {
            wrong.push(one);
        }
    }
    for (program, (total, wrong)) in &programs {
        let said = format!("{total} read-only examples, {} wrong", wrong.len());
        report.check(&format!("examples of {program}"), wrong.is_empty(), &said);
        for one in wrong {
            println!("     {}", one.line);
            for complaint in one.wrong.iter().take(options.show) {
                println!("         {complaint}");
            }
        }
    }
    for (name, number) in &skipped {
        println!("     skip: {number} examples need `{name}`, which is not installed");
    }
    let whole = options.names.is_empty();
    let idle = used.iter().filter(|key| key.starts_with(IDLE)).count();
    let stale = if whole {
        bench.stale(&used)
    } else {
        Vec::new()
    };
    report.check(
        "examples: every exception is needed",
        stale.is_empty(),
        &format!("{} used, not needed: {stale:?}", used.len() - idle),
    );
    let exercised = bench.exercised(&judged);
    report.enough("programs whose examples were run", exercised);
    let wrong = judged.iter().filter(|one| !one.wrong.is_empty()).count();
    report.check(
        "examples: read-only ones wrote, connected and started nothing beyond what is known",
        wrong == 0 && !judged.is_empty() && unread.is_empty(),
        &format!(
            "{} run confined, of {} programs, {wrong} wrong, {idle} could not do their work on this host; {} skipped",
            judged.len(), exercised, skipped.values().sum::<usize>()
        ),
    );
}

type Played = (Vec<Judged>, BTreeSet<String>);

fn play(bench: &Bench, jobs: &[(String, Job)]) -> io::Result<Played> {
    let (mut stage, mut judged, mut used) = (stage()?, Vec::new(), BTreeSet::new());
    for (program, job) in jobs {
        let seen = see(&mut stage, job)?;
        judged.push(Judged {
            program: program.clone(),
            line: job.line.clone(),
            wrong: bench.complaints(&job.line, &seen, &mut used),
        });
    }
    Ok((judged, used))
}
