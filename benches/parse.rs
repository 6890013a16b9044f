//! What parsing and judging cost: `cargo bench --bench parse`, or with `-- --enforce` to fail when a budget
//! is broken.
//!
//! Best of many rounds: the least disturbed one tells what the code costs. docs/performance.md holds
//! figures with their commands.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and starts the program it measures"
)]

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod support;

use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use support::Machine;
use tipstaff::model::script::Dialect;
use tipstaff::policy::Policy;
use tipstaff::shell::parse;

/// The everyday line of the budgets.
const LINE: &str = "cd foo && git status | head -5 2>&1";
const ROUNDS: usize = 40;
const STARTS: usize = 101;

struct Row {
    what: &'static str,
    measured: String,
    budget: &'static str,
    kept: bool,
}

fn main() -> ExitCode {
    let strict = std::env::args().any(|word| word == "--enforce");
    let rows = [
        parsing(),
        length(),
        judging(),
        more_rules(),
        judged_length(),
        whole(),
    ];
    println!("{:<50} {:<44} {:<16} kept", "what", "measured", "budget");
    for row in &rows {
        let kept = if row.kept { "yes" } else { "NO" };
        println!(
            "{:<50} {:<44} {:<16} {kept}",
            row.what, row.measured, row.budget
        );
    }
    let broken = rows.iter().filter(|row| !row.kept).count();
    if strict && broken > 0 {
        eprintln!("bench: {broken} of the budgets are broken");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The least time one call takes, over rounds of so many calls.
fn best(calls: u32, mut call: impl FnMut()) -> Duration {
    call();
    (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            (0..calls).for_each(|_| call());
            begin.elapsed() / calls
        })
        .min()
        .unwrap_or_default()
}

fn ratio(larger: Duration, smaller: Duration) -> f64 {
    larger.as_secs_f64() / smaller.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn parse_time(line: &[u8], calls: u32) -> Duration {
    best(calls, || {
        drop(black_box(parse(black_box(line), Dialect::Bash)))
    })
}

fn parsing() -> Row {
    let time = parse_time(LINE.as_bytes(), 2000);
    Row {
        what: "parse of an everyday line",
        measured: format!("{time:.2?}"),
        budget: "3 µs",
        kept: time < Duration::from_micros(3),
    }
}

/// A line of about so many bytes.
fn line(length: usize) -> String {
    let piece =
        "git log --format='%h %s' \"$x\" | sed -e s/a/b/ > out.txt && echo {a,b} $(id -u); ";
    piece.repeat(length / piece.len())
}

/// Twice the line, twice the time, with room for what caches do.
fn length() -> Row {
    let (half, whole) = (
        parse_time(line(50_000).as_bytes(), 1),
        parse_time(line(100_000).as_bytes(), 1),
    );
    let ratio = ratio(whole, half);
    Row {
        what: "parse of 100 kB against 50 kB",
        measured: format!("{whole:.2?} against {half:.2?}: {ratio:.2} times"),
        budget: "2.3 times",
        kept: ratio < 2.3,
    }
}

/// A policy of `count` rules, most of them about something else.
fn policy(count: usize) -> Policy {
    let mut allow = vec!["git status *".to_owned(), "head *".to_owned()];
    let (mut ask, mut deny) = (Vec::new(), Vec::new());
    for index in 0..count.saturating_sub(2) {
        match index % 100 {
            0..=4 => ask.push(format!("git verb{index} *")),
            5..=24 => deny.push(format!("tool{index} *")),
            25..=29 => deny.push(format!("write(/srv/data{index}/**)")),
            30..=34 => ask.push(format!("read(/srv/keys{index}/*.pem)")),
            35 => deny.push(format!("env(VARIABLE{index})")),
            36 => deny.push(format!("network(host{index}.example)")),
            37 => ask.push(format!("/opt/tool{index}/bin/run")),
            38 => ask.push(format!("re:tool{index} (run|test) .*")),
            39 => deny.push(format!("tool{index}* --force")),
            _ => allow.push(format!("tool{index} run *")),
        }
    }
    let words = |rules: &[String]| {
        rules
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\", \"")
    };
    support::policy(&format!(
        "[permissions]\nallow = [\"{}\"]\nask = [\"{}\"]\ndeny = [\"{}\"]\n",
        words(&allow),
        words(&ask),
        words(&deny)
    ))
}

fn judge_time(rules: usize) -> Duration {
    let (machine, policy) = (Machine::default(), policy(rules));
    best(50, || {
        drop(black_box(machine.judge(&policy, black_box(LINE))))
    })
}

fn judging() -> Row {
    let time = judge_time(1000);
    Row {
        what: "parse and judge, 1,000 rules, warm identities",
        measured: format!("{time:.2?}"),
        budget: "50 µs",
        kept: time < Duration::from_micros(50),
    }
}

fn more_rules() -> Row {
    let (few, many) = (judge_time(1000), judge_time(10_000));
    let ratio = ratio(many, few);
    Row {
        what: "10,000 rules against 1,000",
        measured: format!("{many:.2?} against {few:.2?}: {ratio:.2} times"),
        budget: "1.5 times",
        kept: ratio <= 1.5,
    }
}

/// The whole way to the verdict grows with the line and not faster.
fn judged_length() -> Row {
    let (machine, policy) = (Machine::default(), policy(100));
    let time = |length| {
        let line = line(length);
        best(1, || {
            drop(black_box(machine.judge(&policy, black_box(&line))))
        })
    };
    let (half, whole) = (time(50_000), time(100_000));
    let ratio = ratio(whole, half);
    Row {
        what: "parse and judge of 100 kB against 50 kB",
        measured: format!("{whole:.2?} against {half:.2?}: {ratio:.2} times"),
        budget: "2.3 times",
        kept: ratio < 2.3,
    }
}

/// `tipstaff check` of the everyday line, from start to exit; the median, since a start is never quiet.
fn whole() -> Row {
    let mut row = Row {
        what: "whole process of `check`",
        measured: String::new(),
        budget: "10 ms",
        kept: false,
    };
    match starts() {
        Ok(time) => {
            row.measured = format!("{time:.2?}");
            row.kept = time < Duration::from_millis(10);
        }
        Err(error) => row.measured = format!("not measured: {error}"),
    }
    row
}

fn starts() -> Result<Duration, Box<dyn std::error::Error>> {
    // A copy of the program, so that it lies outside the workspace wherever this was built.
    let top = std::env::temp_dir().join(format!("bench-parse-{}", std::process::id()));
    let (ws, program) = (top.join("ws"), top.join("tipstaff"));
    std::fs::create_dir_all(ws.join("foo"))?;
    std::fs::copy(env!("CARGO_BIN_EXE_tipstaff"), &program)?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let done = Command::new(&program)
            .args(["check", "-c", LINE])
            .current_dir(&ws)
            .env("HOME", top.join("home"))
            .env("XDG_STATE_HOME", top.join("state"))
            .stdin(Stdio::null())
            .output()?;
        times.push(begin.elapsed());
        // 0 allow, 1 deny, 3 ask: anything else judged nothing.
        if !matches!(done.status.code(), Some(0 | 1 | 3)) {
            return Err(String::from_utf8_lossy(&done.stderr).trim().into());
        }
    }
    std::fs::remove_dir_all(&top)?;
    times.sort_unstable();
    times
        .get(STARTS / 2)
        .copied()
        .ok_or_else(|| "no start".into())
}
