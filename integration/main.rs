//! The enforcement tests: what docs/SECURITY.md claims, tried on the real kernel. See README.md beside
//! this file.
//!
//! usage: enforce [--binary PATH] [--self-test] [NAME…]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test runner prints, and starts the programs it tests"
)]

mod cases;
mod harness;
#[path = "support/hide.rs"]
mod hide;

use std::path::PathBuf;
use std::process::ExitCode;

use harness::suite::{self, Options};
use harness::{Case, Stop, case, fail, selftest};

const USAGE: &str = "usage: enforce [--binary PATH] [--self-test] [--once] [--list] [NAME…]
  NAME           run only the cases whose names contain it
  --binary PATH  the program under test (or TIPSTAFF_BINARY)
  --self-test    show that a failing case, a program that always refuses and one that never
                 confines turn the run red
  --once         leave out the halves on a host without namespaces
  --list         print claim and name of each case
  SANDBOX_EXPECT_ABI=N, SANDBOX_EXPECT_NAMESPACES=1, TIPSTAFF_EXPECT_LEVEL=LN in the environment: less
                 is a failure, not a skip";

/// Fails by design: without it nobody would know that a failure is counted.
const PLANTED: [Case; 1] = [case("planted", 1, |_| {
    fail("planted, to see the run turn red")
})];

fn main() -> ExitCode {
    let mut options = Options {
        binary: std::env::var_os("TIPSTAFF_BINARY").map(PathBuf::from),
        filter: Vec::new(),
        once: false,
    };
    let all: Vec<Case> = cases::ALL.concat();
    let mut words = std::env::args_os().skip(1);
    let mut own_test = false;
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--case") => {
                let (Some(name), Some(top), Some(tools), Some(host)) =
                    (words.next(), words.next(), words.next(), words.next())
                else {
                    return usage();
                };
                let found = all.iter().chain(&PLANTED).find(|case| name == case.name);
                let Some(case) = found else {
                    return usage();
                };
                let code =
                    suite::play_here(case, top.into(), &PathBuf::from(tools), host == "bare");
                return ExitCode::from(u8::try_from(code).unwrap_or(1));
            }
            Some("--binary") => match words.next() {
                Some(path) => options.binary = Some(path.into()),
                None => return usage(),
            },
            Some(hide::MODE) => return hide::run(words),
            Some("--once") => options.once = true,
            Some("--self-test") => own_test = true,
            Some("--planted") => return verdict(suite::run(&PLANTED, &options)),
            Some("--list") => {
                for case in &all {
                    println!("{} {}", case.claim, case.name);
                }
                return ExitCode::SUCCESS;
            }
            Some(name) if !name.starts_with('-') => options.filter.push(name.to_owned()),
            Some(_) | None => return usage(),
        }
    }
    if own_test {
        return verdict(selftest::run(&all));
    }
    verdict(suite::run(&all, &options))
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn verdict(outcome: Result<bool, Stop>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(Stop::Fail(why) | Stop::Skip(why)) => {
            eprintln!("enforce: {why}");
            ExitCode::from(2)
        }
    }
}
