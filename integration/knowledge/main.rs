//! The program knowledge against what really happens: its examples are run and watched, and what is
//! predicted of generated lines is compared with what bash starts. See README.md beside this file.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test runner prints, starts the programs it asks, and may fail loudly"
)]

mod control;
mod data;
mod generate;
#[path = "../support/hide.rs"]
mod hide;
mod lines;
mod observe;
mod play;
#[path = "../support/mod.rs"]
mod support;
mod trace;
mod tree;
mod watch;

use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: watched [OPTION…] [PART…]
  PART             examples, lines; all of them unless some are named
  --seed N         the seed of the fresh half of the lines; a new one unless given, and printed
  --lines N        lines really run (5000)
  --program NAME   only the examples of this program; may be repeated
  --show N         complaints printed with each example (5)
  TIPSTAFF_EXPECT_PROGRAMS=N in the environment: fewer known programs than N here, or no way to run
  them, is a failure, not a skip";

/// What a run was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    seed: u64,
    lines: usize,
    show: usize,
    names: Vec<String>,
    parts: Vec<String>,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    /// Counts and prints one check.
    pub fn check(&mut self, name: &str, kept: bool, said: &str) {
        if kept {
            self.passed += 1;
            println!("ok   {name}: {said}");
        } else {
            self.failed += 1;
            println!("FAIL {name}: {said}");
        }
    }

    /// A number that must not be below what `TIPSTAFF_EXPECT_PROGRAMS` says, where it says something.
    pub fn enough(&mut self, name: &str, here: usize) {
        let Some(wanted) = std::env::var_os("TIPSTAFF_EXPECT_PROGRAMS") else {
            return println!("     {name}: {here}; nothing says how many there have to be");
        };
        let number = wanted
            .to_str()
            .and_then(|wanted| wanted.parse::<usize>().ok());
        let kept = number.is_some_and(|wanted| here >= wanted);
        self.check(
            name,
            kept,
            &format!("{here}, at least {} wanted", wanted.display()),
        );
    }

    /// Counts and prints what cannot be checked here: a failure where the programs are expected.
    pub fn absent(&mut self, name: &str, why: &str) {
        if std::env::var_os("TIPSTAFF_EXPECT_PROGRAMS").is_some() {
            return self.check(name, false, why);
        }
        self.skipped += 1;
        println!("SKIP {name}: {why}");
    }
}

type Part = fn(&Options, &mut Report);
const PARTS: [(&str, Part); 2] = [("examples", observe::run), ("lines", lines::run)];

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(watch::MODE) => return watch::serve(),
        Some(watch::APPROVER) => return watch::approve(),
        Some(play::MODE) => return play::serve(),
        Some(hide::MODE) => return hide::run(std::env::args_os().skip(2)),
        Some(_) | None => {}
    }
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("seed {} (repeat with --seed {0})", options.seed);
    let mut report = Report::default();
    for (name, part) in PARTS {
        if options.parts.is_empty() || options.parts.iter().any(|part| part == name) {
            let begin = Instant::now();
            part(&options, &mut report);
            println!("     {name} took {:.0?}", begin.elapsed());
        }
    }
    let Report {
        passed,
        failed,
        skipped,
    } = report;
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    ExitCode::from(u8::from(failed > 0))
}

fn options(mut words: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options {
        seed: support::rng::fresh(),
        lines: 5000,
        show: 5,
        names: Vec::new(),
        parts: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse::<u64>().ok();
        let size = |number: u64| usize::try_from(number).ok();
        match word.as_str() {
            "--seed" => options.seed = number()?,
            "--lines" => options.lines = size(number()?)?,
            "--show" => options.show = size(number()?)?,
            "--program" => options.names.push(words.next()?),
            name if PARTS.iter().any(|(part, _)| *part == name) => options.parts.push(word),
            _ => return None,
        }
    }
    Some(options)
}

/// The probe that cargo built beside this program.
pub fn probe() -> std::io::Result<String> {
    let own = std::env::current_exe()?;
    let build = own.parent().and_then(std::path::Path::parent);
    let probe = build.map(|build| build.join("examples/probe"));
    match probe.filter(|probe| probe.exists()) {
        Some(probe) => Ok(probe.display().to_string()),
        None => Err(std::io::Error::other(
            "the probe is not built: run `cargo build --example probe`",
        )),
    }
}
