//! The loop of `fuzz/` without nightly: mutants of mutants of the corpus for as long as one likes.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tipstaff::model::script::{Dialect, Script};
use tipstaff::shell::parse;

use super::support::rng::Rng;
use super::{Options, corpus, mutate, show};

/// Texts kept for further mutation.
const POOL: usize = 4096;

/// A panic or an overflow ends the process, so each text is printed before one that breaks a promise.
pub fn run(options: &Options, time: Duration) -> ExitCode {
    let mut rng = Rng::new(options.seed);
    let lines = corpus::lines();
    let mut pool = lines.clone();
    let (begin, mut parsed) = (Instant::now(), 0_u64);
    while begin.elapsed() < time {
        for _ in 0..1000 {
            let (one, other) = (rng.below(pool.len()), rng.below(pool.len()));
            // Mutants of mutants shrink; fresh lines keep the loop where the grammar is.
            let base = if rng.once_in(2) {
                &lines[rng.below(lines.len())]
            } else {
                &pool[one]
            };
            let mut text = mutate::mutate(&mut rng, base, &pool[other]);
            text.truncate(8192);
            for dialect in [Dialect::Bash, Dialect::Posix] {
                parsed += 1;
                if let Ok(script) = parse(&text, dialect)
                    && let Some(broken) = broken(&script, text.len())
                {
                    println!("FAIL {broken}: {}", show(&text));
                    return ExitCode::FAILURE;
                }
            }
            if pool.len() < POOL {
                pool.push(text);
            } else if rng.once_in(8) {
                pool[one] = text;
            }
        }
    }
    println!(
        "ok   {parsed} parses in {:.0?}: no panic, no broken promise",
        begin.elapsed()
    );
    ExitCode::SUCCESS
}

/// What everybody who reads a script relies on.
fn broken(script: &Script, length: usize) -> Option<&'static str> {
    let inside = |start: usize, end: usize| start <= end && end <= length;
    if !script
        .subcommands
        .iter()
        .all(|sub| inside(sub.span.start, sub.span.end))
    {
        return Some("a sub-command outside the line");
    }
    if !script
        .opaque
        .iter()
        .all(|opaque| inside(opaque.span.start, opaque.span.end))
    {
        return Some("an opaque mark outside the line");
    }
    let count = script.subcommands.len();
    if script
        .subcommands
        .iter()
        .any(|sub| sub.carrier.is_some_and(|carrier| carrier >= count))
    {
        return Some("a carrier that is none");
    }
    let argv = script.subcommands.first().and_then(|sub| sub.static_argv());
    let plain = count == 1 && argv.is_some_and(|argv| !argv.is_empty()) && script.opaque.is_empty();
    (script.single && !plain).then_some("a single command that is none")
}
