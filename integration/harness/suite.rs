//! Runs the cases, each in a process of its own, as root and as an ordinary user, and counts.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::world::World;
use super::{Case, Outcome, Stop, fail};

/// The user of the ordinary half when the suite is started as root: nobody, who owns nothing.
const ORDINARY: u32 = 65534;

/// Exit statuses of a case's process.
const FAILED: i32 = 1;
const SKIPPED: i32 = 77;

/// How long one case may take before it counts as hung. A guard, not an assertion.
const CASE_LIMIT: Duration = Duration::from_secs(240);

/// Who a case runs as, and on what host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    root: bool,
    /// The host gives the program under test no namespaces.
    bare: bool,
}

impl Half {
    const fn word(self) -> &'static str {
        match (self.root, self.bare) {
            (true, false) => "root",
            (true, true) => "root-bare",
            (false, false) => "ordinary",
            (false, true) => "ordinary-bare",
        }
    }

    /// Whether this host gives namespaces to such a user; where a run pins that it does
    /// (`SANDBOX_EXPECT_NAMESPACES`), their absence is a failure and not a skip.
    fn is_possible(self) -> Outcome<bool> {
        if self.bare {
            return Ok(true);
        }
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--pid",
            "--ipc",
            "--net",
            "--fork",
            "--mount-proc",
        ]);
        match (self.root, nix::unistd::geteuid().is_root()) {
            (true, _) => {}
            (false, true) => {
                command.arg("--user").uid(ORDINARY).gid(ORDINARY);
            }
            (false, false) => {
                command.arg("--user");
            }
        }
        let made = command
            .arg("true")
            .stderr(Stdio::null())
            .status()?
            .success();
        if !made && std::env::var_os("SANDBOX_EXPECT_NAMESPACES").is_some() {
            return fail(format!(
                "no namespaces for {}, and they are expected",
                self.word()
            ));
        }
        Ok(made)
    }
}

/// What the suite was asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program under test, instead of ours.
    pub binary: Option<PathBuf>,
    /// Only cases with one of these in their names.
    pub filter: Vec<String>,
    /// Only on a host as it is, not on one without namespaces as well.
    pub once: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Runs `cases` and prints each result; true when none failed. The last line is the tally.
pub fn run(cases: &[Case], options: &Options) -> Outcome<bool> {
    let chosen = |case: &&Case| {
        options.filter.is_empty()
            || options
                .filter
                .iter()
                .any(|word| case.name.contains(word.as_str()))
    };
    let root = nix::unistd::geteuid().is_root();
    let halves = [(true, false), (false, false), (true, true), (false, true)]
        .map(|(root, bare)| Half { root, bare });
    let mut halves: Vec<Half> = halves
        .into_iter()
        .filter(|half| root || !half.root)
        .filter(|half| !(options.once && half.bare))
        .collect();
    if !root {
        println!("skip: the root halves: not started as root");
    }
    for at in (0..halves.len()).rev() {
        if let Some(half) = halves.get(at)
            && !half.is_possible()?
        {
            println!(
                "skip: the {} half: this host gives it no namespaces",
                half.word()
            );
            halves.remove(at);
        }
    }
    let jobs: VecDeque<(Half, Case)> = halves
        .iter()
        .flat_map(|half| cases.iter().filter(chosen).map(|case| (*half, *case)))
        .filter(|(half, case)| !(half.bare && case.apart))
        .collect();
    let stage = Stage::lay_out(options)?;
    let (jobs, tally) = (Mutex::new(jobs), Mutex::new(Tally::default()));
    let workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((half, case)) = next(&jobs) {
                    let outcome = stage.play(half, case);
                    report(half, &case, &outcome, &tally);
                }
            });
        }
    });
    let tally = tally
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let Tally {
        passed,
        failed,
        skipped,
    } = tally;
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(failed == 0)
}

fn next(jobs: &Mutex<VecDeque<(Half, Case)>>) -> Option<(Half, Case)> {
    jobs.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .pop_front()
}

fn report(half: Half, case: &Case, outcome: &Outcome, tally: &Mutex<Tally>) {
    let mut tally = tally
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let title = format!("{} {} (claim {})", half.word(), case.name, case.claim);
    let line = match outcome {
        Ok(()) => {
            tally.passed += 1;
            format!("ok   {title}")
        }
        Err(Stop::Skip(why)) => {
            tally.skipped += 1;
            format!("SKIP {title}: {why}")
        }
        Err(Stop::Fail(why)) => {
            tally.failed += 1;
            format!("FAIL {title}: {why}")
        }
    };
    // One write a line, so that two workers cannot mix theirs.
    writeln!(std::io::stdout(), "{line}").ok();
}

/// The probe that cargo built beside this program.
pub fn probe() -> Outcome<PathBuf> {
    let own = std::env::current_exe()?;
    let build = own.parent().and_then(Path::parent);
    let probe = build.map(|build| build.join("examples/probe"));
    match probe.filter(|probe| probe.exists()) {
        Some(probe) => Ok(probe),
        None => fail("the probe is not built: run `cargo build --example probe`"),
    }
}

/// The folder all cases of one run play in.
struct Stage {
    top: PathBuf,
    tools: PathBuf,
}

impl Stage {
    /// Copies the programs to where an ordinary user reaches them, whatever folder they were built in.
    fn lay_out(options: &Options) -> Outcome<Self> {
        // In a process namespace of its own every run has the same number, and what a run without a
        // sandbox leaves running may keep its folder from being removed.
        let moment = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() % 1_000_000);
        let name = format!("enforce-{}-{moment}", std::process::id());
        let top = std::env::temp_dir().join(name);
        let tools = top.join("tools");
        fs::create_dir_all(&tools)?;
        for folder in [&top, &tools] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        let own = std::env::current_exe()?;
        let ours = PathBuf::from(env!("CARGO_BIN_EXE_tipstaff"));
        let probe = probe()?;
        let binary = options.binary.as_ref().unwrap_or(&ours);
        for (from, name) in [(binary, "tipstaff"), (&own, "enforce"), (&probe, "probe")] {
            let to = tools.join(name);
            if let Err(error) = fs::copy(from, &to) {
                return fail(format!("cannot copy `{}`: {error}", from.display()));
            }
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
        }
        // The same program on a host that gives it no namespaces, at the same process id.
        let bare = tools.join("bare");
        fs::create_dir(&bare)?;
        let at = tools.display();
        let script =
            format!("#!/bin/sh\nexec {at}/enforce --without namespaces {at}/tipstaff \"$@\"\n");
        fs::write(bare.join("tipstaff"), script)?;
        for path in [&bare, &bare.join("tipstaff")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        let stage = Self { top, tools };
        if nix::unistd::geteuid().is_root() {
            stage.prepare_suid()?;
        }
        Ok(stage)
    }

    /// A set-user-ID root program, where nobody but the ordinary half reaches it.
    fn prepare_suid(&self) -> Outcome {
        use std::os::unix::fs::chown;
        let (suid, ws) = (self.tools.join("suid"), self.tools.join("suid/ws"));
        fs::create_dir_all(&ws)?;
        chown(&suid, Some(0), Some(ORDINARY))?;
        fs::set_permissions(&suid, fs::Permissions::from_mode(0o750))?;
        chown(&ws, Some(ORDINARY), Some(ORDINARY))?;
        let program = ws.join("probe");
        fs::copy(self.tools.join("probe"), &program)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755))?;
        Ok(())
    }

    /// One case in a process of its own.
    fn play(&self, half: Half, case: Case) -> Outcome {
        let home = self.top.join(half.word());
        let world = home.join(case.name);
        fs::create_dir_all(&world)?;
        let mut command = Command::new(self.tools.join("enforce"));
        command
            .arg("--case")
            .arg(case.name)
            .arg(&world)
            .arg(&self.tools)
            .arg(if half.bare { "bare" } else { "apart" })
            .current_dir(&world);
        if !half.root && nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&world, Some(ORDINARY), Some(ORDINARY))?;
            // Drops the supplementary groups as well. std::os::unix::process::CommandExt::uid
            command.uid(ORDINARY).gid(ORDINARY);
        }
        let said = self.top.join(format!("{}-{}.said", half.word(), case.name));
        command
            .stdin(Stdio::null())
            .stdout(File::create(&said)?)
            .stderr(File::create(&said)?);
        let mut child = command.spawn()?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begin.elapsed() > CASE_LIMIT {
                child.kill()?;
                child.wait()?;
                return fail(format!("hung for {CASE_LIMIT:?}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let said = fs::read_to_string(&said)
            .unwrap_or_default()
            .trim()
            .to_owned();
        match status.code() {
            Some(0) => {
                fs::remove_dir_all(&world).ok();
                Ok(())
            }
            Some(SKIPPED) => Err(Stop::Skip(said)),
            _ => fail(format!("{said} [{status}]")),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.top).ok();
    }
}

/// The inner half: this process is one case.
pub fn play_here(case: &Case, top: PathBuf, tools: &Path, bare: bool) -> i32 {
    let outcome = World::new(top, tools, bare).and_then(|world| (case.run)(&world));
    match outcome {
        Ok(()) => 0,
        Err(Stop::Skip(why)) => {
            println!("{why}");
            SKIPPED
        }
        Err(Stop::Fail(why)) => {
            println!("{why}");
            FAILED
        }
    }
}
