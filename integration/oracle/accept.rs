//! Acceptance: what bash and dash take for a script, and what the parser does.
//!
//! A text the shell rejects and we accept is mostly harmless: the shell runs nothing of it but the lines
//! before the mistake, which were predicted. (After a mistake inside `$(…)` bash 5.2 goes on with the
//! next line; the soundness run watches that.) A text the shell accepts and we reject costs a question.
//! Neither may grow: each count has a bound.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tipstaff::model::script::Dialect;
use tipstaff::shell::parse;

use super::support::halves;
use super::support::rng::Rng;
use super::{Options, Report, corpus, mutate, show};

/// Of a thousand mutants: how many the shell rejects and we accept, and the other way round.
const OVER_ACCEPTS: f64 = 2.0;
const OVER_REJECTS: f64 = 8.0;
/// Of a thousand scripts of the system. A script that turns on extended patterns on its first line is
/// rejected by `bash -n` too, so nothing is left to excuse.
const SCRIPTS: f64 = 2.0;

/// A seed whose mutants everybody has seen.
const FIXED: u64 = 20_000;

/// One argument of exec holds 128 KiB, execve(2); a mutant stays well below.
const LONGEST: usize = 16 << 10;

const SHELLS: [(&str, Dialect); 2] = [("bash", Dialect::Bash), ("dash", Dialect::Posix)];

/// How often both agree, and where they do not.
#[derive(Default)]
struct Count {
    asked: usize,
    accepted: usize,
    over_accepts: Vec<Vec<u8>>,
    over_rejects: Vec<Vec<u8>>,
}

impl Count {
    fn add(&mut self, text: &[u8], shell: bool, ours: bool) {
        self.asked += 1;
        self.accepted += usize::from(shell);
        match (shell, ours) {
            (false, true) => self.over_accepts.push(text.to_vec()),
            (true, false) => self.over_rejects.push(text.to_vec()),
            (true, true) | (false, false) => {}
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.asked += other.asked;
        self.accepted += other.accepted;
        self.over_accepts.extend(other.over_accepts);
        self.over_rejects.extend(other.over_rejects);
        self
    }
}

pub fn run(options: &Options, report: &mut Report) {
    for (shell, dialect) in SHELLS {
        if !answers(shell) {
            report.skip(&format!("acceptance by {shell}"), "not installed");
            continue;
        }
        scripts(options, report, shell, dialect);
        let half = options.mutants.div_ceil(2);
        for (kind, seed) in [("fixed", FIXED), ("fresh", options.seed)] {
            let mutants = mutants(seed, half);
            let count = ask(&mutants, |text| {
                let mut command = Command::new(shell);
                command
                    .args(["-n", "-c", "--"])
                    .arg(std::ffi::OsStr::from_bytes(text));
                (verdict(command), parse(text, dialect).is_ok())
            });
            let name = format!("{shell}: mutants of the {kind} seed {seed}");
            judge(options, report, &name, &count, [OVER_ACCEPTS, OVER_REJECTS]);
        }
    }
}

fn scripts(options: &Options, report: &mut Report, shell: &str, dialect: Dialect) {
    let found = corpus::scripts();
    let paths: Vec<(&Path, &[u8])> = found
        .iter()
        .map(|script| (script.path.as_path(), script.text.as_slice()))
        .collect();
    let count = halves(&paths, |part| {
        let mut count = Count::default();
        for (path, text) in part {
            let mut command = Command::new(shell);
            command.arg("-n").arg("--").arg(path);
            let name = path.as_os_str().as_bytes();
            count.add(name, verdict(command), parse(text, dialect).is_ok());
        }
        count
    })
    .into_iter()
    .fold(Count::default(), Count::merge);
    let name = format!("{shell}: scripts of this system");
    judge(options, report, &name, &count, [SCRIPTS, SCRIPTS]);
}

/// `count` distinct mutants of corpus lines and of pieces of scripts.
fn mutants(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let (lines, scripts) = (corpus::lines(), corpus::scripts());
    let mut made = BTreeSet::new();
    while made.len() < count {
        let line = lines[rng.below(lines.len())].clone();
        let (text, other) = if rng.once_in(2) && !scripts.is_empty() {
            let script = &scripts[rng.below(scripts.len())].text;
            (mutate::window(&mut rng, script), line)
        } else {
            (line, lines[rng.below(lines.len())].clone())
        };
        let mutant = mutate::mutate(&mut rng, &text, &other);
        if mutant.len() < LONGEST {
            made.insert(mutant);
        }
    }
    made.into_iter().collect()
}

fn ask(texts: &[Vec<u8>], both: impl Fn(&[u8]) -> (bool, bool) + Sync) -> Count {
    halves(texts, |part| {
        let mut count = Count::default();
        for text in part {
            let (shell, ours) = both(text);
            count.add(text, shell, ours);
        }
        count
    })
    .into_iter()
    .fold(Count::default(), Count::merge)
}

fn judge(options: &Options, report: &mut Report, name: &str, count: &Count, bounds: [f64; 2]) {
    let [accepts, rejects] = [&count.over_accepts, &count.over_rejects].map(Vec::len);
    println!(
        "     {name}: {} asked, {} accepted by the shell; accepted by us alone {accepts}, rejected by us alone {rejects}",
        count.asked, count.accepted
    );
    for (what, texts) in [
        ("accepted by us alone", &count.over_accepts),
        ("rejected by us alone", &count.over_rejects),
    ] {
        for text in texts.iter().take(options.show) {
            println!("     {what}: {}", show(text));
        }
    }
    for (what, number, bound) in [
        ("accepted by us alone", accepts, bounds[0]),
        ("rejected by us alone", rejects, bounds[1]),
    ] {
        let rate = number as f64 * 1000.0 / count.asked.max(1) as f64;
        let said = format!("{rate:.2} in a thousand, at most {bound} wanted");
        report.check(&format!("{name}: {what}"), rate <= bound, &said);
    }
}

/// Whether the shell reads the script to its end. A crash is no acceptance; nor is a malformed `[[ … ]]`,
/// which bash reports and drops with the rest of its line, though its status is 0.
fn verdict(mut command: Command) -> bool {
    command
        .env("LC_ALL", "C.UTF-8")
        .env_remove("BASH_ENV")
        .env_remove("ENV")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.output().is_ok_and(|done| {
        let said = String::from_utf8_lossy(&done.stderr);
        done.status.success() && !said.contains("syntax error") && !said.contains("conditional")
    })
}

fn answers(shell: &str) -> bool {
    let mut command = Command::new(shell);
    command.args(["-n", "-c", "--", ":"]);
    verdict(command)
}
