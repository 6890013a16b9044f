//! The corpus of judging: lines that must be stopped, lines that must pass, and what each may cost.
//!
//! `corpus/judging/{stop,pass}/KIND.toml` holds full cases, each judged by the built program in a folder
//! made for it, since links, copies and planted files are part of the question. `corpus/judging/more.toml`
//! holds many short siblings, judged on a table machine. A line let through that must be stopped is an
//! escape, one asked about that must pass a false prompt, a stricter verdict than needed over-blocking.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]
#![allow(clippy::disallowed_methods, reason = "setups and controls run plainly")]
#![allow(clippy::print_stdout, reason = "the counts are for people")]

#[allow(dead_code, reason = "other tests use more of it")]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;
use support::{Machine, policy};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    #[expect(dead_code, reason = "for people")]
    why: String,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    line: String,
    /// The verdict: `allow`, `ask` or `deny`.
    expect: String,
    /// Without any rule but the read-only defaults the verdict is the same.
    #[serde(default)]
    by_defaults_too: bool,
    /// A stricter verdict is over-blocking, not a failure.
    #[serde(default)]
    stricter: bool,
    /// Weaker verdicts that are no escape: the start itself is judged once more.
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    /// Long rules.
    #[serde(default)]
    rules: String,
    /// Whether the read-only defaults hold beside the rules.
    #[serde(default)]
    defaults: bool,
    /// Run with `sh -e` in the workspace first.
    #[serde(default)]
    setup: String,
    /// Programs that have to be found; a stub stands in for an absent one.
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// A folder of the workspace put first in PATH.
    path: Option<String>,
    /// True when what must not happen has happened.
    effect: Option<String>,
    /// The shell the line is meant for, bash without.
    shell: Option<String>,
    /// Whether it takes a terminal to happen.
    #[serde(default)]
    terminal: bool,
}

/// What the cases of one kind came to.
#[derive(Default)]
struct Tally {
    cases: usize,
    escapes: Vec<String>,
    prompts: Vec<String>,
    stricter: usize,
    other: Vec<String>,
}

fn strictness(verdict: &str) -> usize {
    ["allow", "ask", "deny"]
        .iter()
        .position(|known| *known == verdict)
        .unwrap_or_else(|| panic!("`{verdict}` is no verdict"))
}

impl Tally {
    fn add(&mut self, name: &str, wanted: &str, got: &str, stricter: bool, also: &[String]) {
        self.cases += 1;
        if got == wanted || also.iter().any(|one| one == got) {
            return;
        }
        let (is, must) = (strictness(got), strictness(wanted));
        let told = format!("{name}: {got} instead of {wanted}");
        if is < must {
            self.escapes.push(told);
        } else if must == 0 {
            self.prompts.push(told);
        } else if stricter {
            self.stricter += 1;
        } else {
            self.other.push(told);
        }
    }
}

/// Prints one line a kind and fails on every escape, false prompt or other wrong verdict.
fn settle(tallies: &BTreeMap<String, Tally>) {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (kind, tally) in tallies {
        println!(
            "{kind}: {} judged, {} escapes, {} false prompts, {} over-blocked",
            tally.cases,
            tally.escapes.len(),
            tally.prompts.len(),
            tally.stricter
        );
        cases += tally.cases;
        wrong.extend(tally.escapes.iter().map(|one| format!("escape: {one}")));
        wrong.extend(
            tally
                .prompts
                .iter()
                .map(|one| format!("false prompt: {one}")),
        );
        wrong.extend(tally.other.iter().cloned());
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/judging")
}

fn kinds() -> Vec<(String, Kind)> {
    let mut kinds = Vec::new();
    for class in ["stop", "pass"] {
        let mut files: Vec<PathBuf> = fs::read_dir(corpus().join(class))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let kind = toml::from_str(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            kinds.push((format!("{class}/{name}"), kind));
        }
    }
    kinds
}

/// A workspace of its own for one case, with a home, a temporary folder and stubs beside it.
struct Scratch {
    top: PathBuf,
    stubs: PathBuf,
}

/// Whether this user can make a trusted file: somebody who owns no folder cannot.
fn has_a_place() -> bool {
    let tried = format!(
        "judging/tried-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let there = fs::create_dir_all(Path::new(env!("CARGO_TARGET_TMPDIR")).join(tried));
    let why = there.as_ref().err().map(ToString::to_string);
    if let Some(why) = why {
        println!("skip: no trusted file can be made here: {why}");
    }
    there.is_ok()
}

impl Scratch {
    /// Stubs have to be trusted files, so they lie outside of anything a run may write.
    fn new(id: &str) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("judging");
        let here = format!("judging-{}-{id}", std::process::id());
        let scratch = Self {
            top: std::env::temp_dir().join(&here),
            stubs: base.join(here),
        };
        for folder in ["ws", "home", "tmp"] {
            fs::create_dir_all(scratch.top.join(folder)).unwrap();
        }
        fs::create_dir_all(&scratch.stubs).unwrap();
        scratch
    }

    fn ws(&self) -> PathBuf {
        self.top.join("ws")
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>, case: &Case) -> Command {
        let mut path = format!("/usr/local/bin:/usr/bin:/bin:{}", self.stubs.display());
        if let Some(first) = &case.path {
            path = format!("{}:{path}", self.ws().join(first).display());
        }
        let home = self.top.join("home");
        let mut command = Command::new(program);
        command
            .env_clear()
            .current_dir(self.ws())
            .env("HOME", &home)
            .env("TMPDIR", self.top.join("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("PATH", path);
        for (name, value) in &case.env {
            command.env(name, value.replace("$HOME", &home.to_string_lossy()));
        }
        command
    }

    fn prepare(&self, case: &Case) {
        if !case.setup.is_empty() {
            let mut command = self.command("/bin/sh", case);
            let done = command.args(["-e", "-c", &case.setup]).output().unwrap();
            assert!(done.status.success(), "{}: setup: {done:?}", case.id);
        }
        for name in &case.needs {
            let found = ["/usr/local/bin", "/usr/bin", "/bin"]
                .iter()
                .any(|folder| Path::new(folder).join(name).exists());
            if !found {
                let stub = self.stubs.join(name);
                fs::write(&stub, "#!/bin/sh\nexit 0\n").unwrap();
                fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for folder in [&self.top, &self.stubs] {
            // What is left of a scratch folder harms nobody.
            fs::remove_dir_all(folder).ok();
        }
    }
}

fn policy_of(case: &Case, by_defaults: bool) -> String {
    if by_defaults {
        return "version = 1\n[permissions]\nread_only_defaults = true\n".to_owned();
    }
    let list = |rules: &[String]| serde_json::to_string(rules).unwrap();
    format!(
        "version = 1\n[permissions]\nread_only_defaults = {}\nallow = {}\nask = {}\ndeny = {}\n\n{}",
        case.defaults,
        list(&case.allow),
        list(&case.ask),
        list(&case.deny),
        case.rules
    )
}

fn judged(case: &Case, by_defaults: bool) -> String {
    let scratch = Scratch::new(&case.id);
    scratch.prepare(case);
    let request = serde_json::json!({
        "id": case.id,
        "line": case.line,
        "cwd": scratch.ws(),
        "policy": policy_of(case, by_defaults),
    });
    let mut command = scratch.command(env!("CARGO_BIN_EXE_tipstaff"), case);
    let mut child = command
        .args(["check", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {output:?}", case.id));
    answer["verdict"]
        .as_str()
        .unwrap_or_else(|| panic!("{}: {answer}", case.id))
        .to_owned()
}

#[test]
fn what_must_be_stopped_is_and_what_must_pass_does() {
    if !has_a_place() {
        return;
    }
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut names = std::collections::BTreeSet::new();
    for (kind, cases) in kinds() {
        let tally = tallies.entry(kind).or_default();
        for case in &cases.case {
            assert!(names.insert(case.id.clone()), "{} stands twice", case.id);
            let runs = std::iter::once(false).chain(case.by_defaults_too.then_some(true));
            for by_defaults in runs {
                let got = judged(case, by_defaults);
                let name = format!("{} ({by_defaults}): {}", case.id, case.line);
                tally.add(&name, &case.expect, &got, case.stricter, &case.also);
            }
        }
    }
    settle(&tallies);
}

/// Siblings of the cases: many lines under one policy, judged without a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct More {
    group: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    kind: String,
    expect: String,
    #[serde(default)]
    stricter: bool,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    defaults: bool,
    lines: Vec<String>,
}

#[test]
fn siblings_of_the_cases_are_judged_alike() {
    let text = fs::read_to_string(corpus().join("more.toml")).unwrap();
    let more: More = toml::from_str(&text).unwrap();
    let machine = Machine::default();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut count = 0;
    for group in &more.group {
        let list = |rules: &[String]| serde_json::to_string(rules).unwrap();
        let rules = policy(&format!(
            "[permissions]\nread_only_defaults = {}\nallow = {}\nask = {}\ndeny = {}\n",
            group.defaults,
            list(&group.allow),
            list(&group.ask),
            list(&group.deny)
        ));
        let tally = tallies.entry(group.kind.clone()).or_default();
        for line in &group.lines {
            let answer = machine.answer(&rules, line);
            let got = answer.split(' ').next().unwrap_or_default();
            tally.add(
                &format!("`{line}` ({answer})"),
                &group.expect,
                got,
                group.stricter,
                &[],
            );
            count += 1;
        }
    }
    settle(&tallies);
    assert!(count >= 300, "only {count} siblings");
}

/// Runs `line` with nobody to stop it, where it can harm nobody: mounts, processes and network of its own.
fn unconfined(scratch: &Scratch, case: &Case, line: &str) -> Output {
    let mut command = scratch.command("timeout", case);
    command.args(["--kill-after=1", "20", "unshare"]);
    if !nix::unistd::Uid::effective().is_root() {
        command.arg("-Ur");
    }
    // The loopback is up, as it is outside; what the line left running has a moment where its effect does.
    let slow = case
        .effect
        .as_deref()
        .is_some_and(|effect| effect.starts_with("sleep"));
    let ready = format!(
        "ip link set lo up 2>/dev/null; \"$@\"; status=$?; sleep {}; exit $status",
        if slow { "0.5" } else { "0" }
    );
    let shell = case.shell.as_deref().unwrap_or("bash");
    command.args(["-mpfn", "--mount-proc", "sh", "-c", &ready, "sh"]);
    if case.terminal {
        let quoted = shell_words::join([shell, "-c", line]);
        command
            .env("TERM", "xterm")
            .args(["script", "-qec", &quoted, "/dev/null"]);
    } else {
        command.args([shell, "-c", line]);
    }
    command.stdin(Stdio::null()).output().unwrap()
}

/// A case of something that cannot happen would prove nothing: without a supervisor it does.
#[test]
fn what_must_be_stopped_would_happen() {
    if !has_a_place() {
        return;
    }
    let mut none = Vec::new();
    let mut ran = 0;
    for (_, cases) in kinds() {
        for case in &cases.case {
            let Some(effect) = &case.effect else { continue };
            let absent = |name: &String| {
                !["/usr/local/bin", "/usr/bin", "/bin"]
                    .iter()
                    .any(|folder| Path::new(folder).join(name).exists())
            };
            // A stub does nothing.
            if case.needs.iter().any(absent) || case.shell.as_ref().is_some_and(absent) {
                continue;
            }
            let scratch = Scratch::new(&format!("{}-control", case.id));
            scratch.prepare(case);
            if ran == 0 && !unconfined(&scratch, case, "true").status.success() {
                println!("no namespaces here: controls are not run");
                return;
            }
            let out = unconfined(&scratch, case, &case.line);
            let mut check = scratch.command("sh", case);
            for (name, stream) in [("OUT", &out.stdout), ("ERR", &out.stderr)] {
                let told = scratch.top.join(name);
                fs::write(&told, stream).unwrap();
                check.env(name, told);
            }
            check.args(["-c", effect]);
            ran += 1;
            if !check.output().unwrap().status.success() {
                none.push(format!("{}: {}: {out:?}", case.id, case.line));
            }
        }
    }
    println!("{ran} controls");
    assert!(none.is_empty(), "no effect:\n{}", none.join("\n"));
    assert!(ran > 50, "only {ran} controls");
}
