//! The parser against its oracles: the shells themselves, other parsers, and hostile bytes. See
//! README.md beside this file.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test runner prints, starts the programs it asks, and may fail loudly"
)]

mod accept;
mod bait;
mod corpus;
mod drive;
mod fuzz;
mod generate;
mod given;
mod hostile;
mod mutate;
mod second;
mod sound;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod support;
mod trace;

use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: oracle [OPTION…] [PART…]
  PART             accept, sound, second, hostile; all of them unless some are named
  --seed N         the seed of the fresh half; a new one unless given, and printed
  --mutants N      lines asked of each shell (20000)
  --lines N        lines really run (10000)
  --bytes N        texts of random bytes (20000)
  --show N         disagreements printed with each count (3)
  --fuzz SECONDS   nothing but mutating and parsing, for so long";

/// What a run was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    seed: u64,
    mutants: usize,
    lines: usize,
    bytes: usize,
    show: usize,
    fuzz: Option<Duration>,
    parts: Vec<String>,
}

/// Where this is set, nothing may be skipped.
const PINNED: &str = "TIPSTAFF_EXPECT_ORACLE";

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

    /// Counts and prints what could not be checked here.
    pub fn skip(&mut self, name: &str, why: &str) {
        if std::env::var_os(PINNED).is_some() {
            return self.check(name, false, &format!("{why}, but {PINNED} is set"));
        }
        self.skipped += 1;
        println!("SKIP {name}: {why}");
    }
}

type Part = fn(&Options, &mut Report);
const PARTS: [(&str, Part); 4] = [
    ("hostile", hostile::run),
    ("accept", accept::run),
    ("second", second::run),
    ("sound", sound::run),
];

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == drive::MODE)
    {
        return drive::serve();
    }
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("seed {} (repeat with --seed {0})", options.seed);
    if let Some(time) = options.fuzz {
        return fuzz::run(&options, time);
    }
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
        mutants: 20_000,
        lines: 10_000,
        bytes: 20_000,
        show: 3,
        fuzz: None,
        parts: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse::<u64>().ok();
        let size = |number: u64| usize::try_from(number).ok();
        match word.as_str() {
            "--seed" => options.seed = number()?,
            "--mutants" => options.mutants = size(number()?)?,
            "--lines" => options.lines = size(number()?)?,
            "--bytes" => options.bytes = size(number()?)?,
            "--show" => options.show = size(number()?)?,
            "--fuzz" => options.fuzz = Some(Duration::from_secs(number()?)),
            name if !name.starts_with('-') => options.parts.push(name.to_owned()),
            _ => return None,
        }
    }
    Some(options)
}

/// A text on one line of output, cut where it is long.
pub fn show(text: &[u8]) -> String {
    let escaped = text.escape_ascii().to_string();
    match escaped.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &escaped[..at]),
        None => escaped,
    }
}
