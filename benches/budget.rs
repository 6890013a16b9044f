//! What a run costs, by ratio in one run: `cargo bench`, or `cargo bench -- --enforce` to fail when a
//! budget is broken.
//!
//! Interleaved (A B A B …) so that a busy machine slows both sides; medians, so that a single stall
//! tells nothing. docs/performance.md holds figures with their commands.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and starts the programs it measures"
)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

#[path = "budget/gate.rs"]
mod gate;

type Failure = Box<dyn std::error::Error>;

const ROUNDS: usize = 101;
const OPENS: &str = "200000";
const OPEN_ROUNDS: usize = 7;
const TIPSTAFF: &str = env!("CARGO_BIN_EXE_tipstaff");

/// One line of the table.
struct Line {
    what: &'static str,
    measured: String,
    budget: String,
    kept: Option<bool>,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "--landlock-only") {
        return control(&words);
    }
    let rest = words.get(1..).unwrap_or_default();
    match words.first().and_then(|word| word.to_str()) {
        Some(gate::WITHOUT) => {
            eprintln!("bench: {}", gate::without_listener(rest));
            return ExitCode::from(2);
        }
        Some(gate::TRACED) => {
            return match gate::traced(rest) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("bench: {error}");
                    ExitCode::from(2)
                }
            };
        }
        Some(_) | None => {}
    }
    let strict = words.iter().any(|word| word == "--enforce");
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("bench: {error}");
            return ExitCode::from(2);
        }
    };
    type Measure = fn(&Bench) -> Result<Line, Failure>;
    let measures: [(&'static str, Measure); 7] = [
        ("whole process against bwrap", Bench::against_bwrap),
        ("peak memory of the supervisor", Bench::memory),
        ("stripped binary", Bench::size),
        ("crates in the binary", Bench::crates),
        ("opening 200,000 files against Landlock alone", Bench::opens),
        ("an exec behind the gate", gate::execs),
        ("a fork behind the gate", gate::forks),
    ];
    let mut broken = 0;
    println!("{:<46} {:<44} {:<16} kept", "what", "measured", "budget");
    for (what, measure) in measures {
        let line = measure(&bench).unwrap_or_else(|error| Line {
            what,
            measured: format!("not measured: {error}"),
            budget: String::new(),
            kept: None,
        });
        let kept = match line.kept {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "?",
        };
        broken += usize::from(line.kept != Some(true));
        println!(
            "{:<46} {:<44} {:<16} {kept}",
            line.what, line.measured, line.budget
        );
    }
    fs::remove_dir_all(&bench.top).ok();
    if strict && broken > 0 {
        eprintln!("bench: {broken} of the budgets are broken or were not measured");
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

/// A workspace, a policy, a state folder.
struct Bench {
    top: PathBuf,
    ws: PathBuf,
    probe: PathBuf,
    binary: PathBuf,
}

impl Bench {
    fn new() -> Result<Self, Failure> {
        let top = std::env::temp_dir().join(format!("bench-{}", std::process::id()));
        let ws = top.join("ws");
        fs::create_dir_all(&ws)?;
        let policy = "version = 1\n[permissions]\nallow = [\"*\", \"env(*)\", \"write(**)\"]\n";
        fs::write(top.join("policy.toml"), policy)?;
        let build = Path::new(TIPSTAFF).parent().ok_or("no build folder")?;
        let probe = build.join("examples/probe");
        if !probe.exists() {
            return Err(
                "the probe is not built: run `cargo build --release --example probe`".into(),
            );
        }
        fs::copy(&probe, ws.join("probe"))?;
        fs::write(ws.join("file"), "x")?;
        // A copy, so that a workspace above the build folder cannot be said to hold the binary.
        let binary = top.join("tipstaff");
        // What is installed is built without the tests' dependencies, whose features would grow it.
        let installed = std::env::var_os("TIPSTAFF_BINARY").unwrap_or_else(|| TIPSTAFF.into());
        fs::copy(installed, &binary)?;
        Ok(Self {
            probe: ws.join("probe"),
            top,
            ws,
            binary,
        })
    }

    /// `tipstaff run` of ARGV, allowed by rule.
    fn tipstaff(&self, options: &[&str], argv: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg("run")
            .arg("--policy")
            .arg(self.top.join("policy.toml"))
            .args(options);
        command
            .arg("--workspace")
            .arg(&self.ws)
            .arg("--")
            .args(argv);
        self.place(&mut command);
        command
    }

    fn place(&self, command: &mut Command) {
        command
            .current_dir(&self.ws)
            .env("XDG_STATE_HOME", self.top.join("state"));
        command
            .env("HOME", self.top.join("home"))
            .env("TMPDIR", &self.top);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    fn against_bwrap(&self) -> Result<Line, Failure> {
        let ours = || self.tipstaff(&[], &["/bin/true"]);
        let theirs = || {
            let words = "--ro-bind / / --unshare-all --dev /dev --proc /proc /bin/true";
            let mut command = Command::new("bwrap");
            command.args(words.split(' '));
            self.place(&mut command);
            command
        };
        let (a, b) = interleaved(ROUNDS, || timed(ours()), || timed(theirs()))?;
        let ratio = a.as_secs_f64() / b.as_secs_f64();
        Ok(Line {
            what: "whole process against bwrap",
            measured: format!("{a:.2?} against {b:.2?}: {ratio:.2} times"),
            budget: "1.5 times".to_owned(),
            kept: Some(ratio <= 1.5),
        })
    }

    /// The largest resident set among the children waited for so far; bwrap and `true` are smaller than
    /// we are, and cargo has not run yet.
    fn memory(&self) -> Result<Line, Failure> {
        for _ in 0..5 {
            ensure(&self.tipstaff(&[], &["/bin/true"]).output()?)?;
        }
        let megabytes = max_rss() as f64 / 1024.0;
        Ok(Line {
            what: "peak memory of the supervisor",
            measured: format!("{megabytes:.1} MB"),
            budget: "10 MB".to_owned(),
            kept: Some(megabytes < 10.0),
        })
    }

    fn size(&self) -> Result<Line, Failure> {
        let megabytes = fs::metadata(&self.binary)?.len() as f64 / 1_000_000.0;
        Ok(Line {
            what: "stripped binary",
            measured: format!("{megabytes:.2} MB"),
            budget: "4 MB".to_owned(),
            kept: Some(megabytes < 4.0),
        })
    }

    fn crates(&self) -> Result<Line, Failure> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args([
            "tree",
            "--offline",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        let done = command.output()?;
        ensure(&done)?;
        let text = String::from_utf8(done.stdout)?;
        let names: std::collections::BTreeSet<&str> = text
            .lines()
            .map(|line| line.trim_end_matches(" (*)"))
            .filter(|line| !line.is_empty())
            .collect();
        Ok(Line {
            what: "crates in the binary",
            measured: names.len().to_string(),
            budget: "80".to_owned(),
            kept: Some(names.len() < 80),
        })
    }

    /// The probe lies in the workspace, so no rule covers it; somebody has to say yes.
    fn approver(&self) -> Result<String, Failure> {
        let approver = self.top.join("approver");
        let script = "#!/bin/sh\nobject=$(grep -o '\"object\":\"[^\"]*\"' | head -n 1)\nprintf '{%s,\"decision\":\"allow\"}\\n' \"$object\"\n";
        fs::write(&approver, script)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&approver, mode)?;
        Ok(approver.display().to_string())
    }

    fn opens(&self) -> Result<Line, Failure> {
        let file = self.ws.join("file").display().to_string();
        let approver = self.approver()?;
        let argv = ["./probe", "open-many", &file, OPENS];
        let inside = || seconds(self.tipstaff(&["--approver", &approver], &argv));
        let outside = || {
            let mut command = Command::new(std::env::current_exe()?);
            command
                .arg("--landlock-only")
                .arg(&self.ws)
                .arg(&self.probe);
            command.args(argv.get(1..).unwrap_or_default());
            self.place(&mut command);
            seconds(command)
        };
        let (a, b) = interleaved(OPEN_ROUNDS, inside, outside)?;
        let ratio = a.as_secs_f64() / b.as_secs_f64();
        Ok(Line {
            what: "opening 200,000 files against Landlock alone",
            measured: format!("{a:.2?} against {b:.2?}: {ratio:.3} times"),
            budget: "1.05 times".to_owned(),
            kept: Some(ratio <= 1.05),
        })
    }
}

/// The control of the last measure: the same probe under a Landlock domain with the same handled rights
/// and nothing else around it.
fn control(words: &[OsString]) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let (Some(ws), Some(program)) = (words.get(1), words.get(2)) else {
        return ExitCode::from(2);
    };
    if let Err(error) = restrict(Path::new(ws)) {
        eprintln!("bench: {error}");
        return ExitCode::from(2);
    }
    let error = Command::new(program)
        .args(words.get(3..).unwrap_or_default())
        .exec();
    eprintln!("bench: {error}");
    ExitCode::from(2)
}

fn restrict(ws: &Path) -> Result<(), Failure> {
    use landlock::{
        ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _,
    };
    let all = AccessFs::from_all(ABI::V5);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new(ws)?, all))?;
    for folder in ["/usr", "/lib", "/lib64", "/etc", "/proc", "/dev"] {
        if Path::new(folder).exists() {
            rules = rules.add_rule(PathBeneath::new(
                PathFd::new(folder)?,
                AccessFs::from_read(ABI::V5),
            ))?;
        }
    }
    rules.restrict_self()?;
    Ok(())
}

fn ensure(done: &std::process::Output) -> Result<(), Failure> {
    if done.status.success() {
        return Ok(());
    }
    Err(format!(
        "{}: {}",
        done.status,
        String::from_utf8_lossy(&done.stderr).trim()
    )
    .into())
}

/// How long the whole process takes.
fn timed(mut command: Command) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let done = command.output()?;
    let took = begin.elapsed();
    ensure(&done)?;
    Ok(took)
}

/// How long the probe says its loop took.
fn seconds(mut command: Command) -> Result<Duration, Failure> {
    let done = command.output()?;
    ensure(&done)?;
    let answer: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    let seconds = answer
        .get("seconds")
        .and_then(serde_json::Value::as_f64)
        .ok_or("no time")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Medians of `a` and `b`, run in turn.
fn interleaved(
    rounds: usize,
    a: impl Fn() -> Result<Duration, Failure>,
    b: impl Fn() -> Result<Duration, Failure>,
) -> Result<(Duration, Duration), Failure> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    // Once each for the caches.
    a()?;
    b()?;
    for _ in 0..rounds {
        left.push(a()?);
        right.push(b()?);
    }
    Ok((median(left)?, median(right)?))
}

fn median(mut times: Vec<Duration>) -> Result<Duration, Failure> {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .copied()
        .ok_or_else(|| "nothing was measured".into())
}

/// Peak resident set of the largest child waited for so far, in KiB. getrusage(2)
fn max_rss() -> i64 {
    nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)
        .map_or(0, |usage| usage.max_rss())
}
