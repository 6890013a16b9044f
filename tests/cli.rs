//! The command line on any machine: judging verbs, exit codes, messages. Nothing here needs a kernel
//! feature; what runs under the sandbox is tested in integration/.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the program under test is started plainly"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A scratch home with a workspace in it, taken away at the end.
struct Scratch {
    root: PathBuf,
}

impl Scratch {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("tipstaff-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(root.join("home")).unwrap();
        std::fs::create_dir_all(root.join("ws")).unwrap();
        Self { root }
    }

    fn policy(&self, text: &str) -> PathBuf {
        let file = self.root.join("policy.toml");
        std::fs::write(&file, text).unwrap();
        file
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tipstaff"));
        command
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.root.join("ws"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    fn check(&self, policy: &str, line: &str) -> (i32, String) {
        let file = self.policy(policy);
        let output = self.run(&["check", "--policy", file.to_str().unwrap(), "-c", line]);
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }

    fn jsonl(&self, requests: &str) -> Vec<serde_json::Value> {
        let mut child = self
            .command()
            .args(["check", "--jsonl"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(requests.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).ok();
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn check_exits_by_verdict() {
    let scratch = Scratch::new("verdict");
    let policy = "version = 1\n[permissions]\nallow = [\"touch\"]\ndeny = [\"rm -rf\"]\n";
    assert_eq!(scratch.check(policy, "touch x").0, 0);
    assert_eq!(scratch.check(policy, "touch x && rm -rf /").0, 1);
    assert_eq!(scratch.check(policy, "touch x && mkdir y").0, 3);
}

#[test]
fn check_json_names_program_digest_rule_and_span() {
    let scratch = Scratch::new("json");
    let file = scratch.policy("version = 1\n[permissions]\nallow = [\"touch\"]\n");
    let output = scratch.run(&[
        "check",
        "--json",
        "--policy",
        file.to_str().unwrap(),
        "-c",
        "touch 'a b'",
    ]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["schema"], "tipstaff.check/1");
    assert_eq!(answer["verdict"], "allow");
    assert_eq!(answer["reason"], "rule-allow");
    let sub = &answer["subcommands"][0];
    assert_eq!(sub["argv"], serde_json::json!(["touch", "a b"]));
    assert!(
        sub["program"].as_str().unwrap().ends_with("/touch"),
        "{sub}"
    );
    assert!(sub["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(sub["rule"]["place"]["line"], 3);
    assert_eq!(sub["span"], serde_json::json!({"start": 0, "end": 11}));
    assert_eq!(sub["dynamic"], serde_json::json!([]));
}

#[test]
fn jsonl_answers_every_line_whatever_it_is() {
    let scratch = Scratch::new("jsonl");
    let ws = scratch.root.join("ws");
    let good = serde_json::json!({
        "id": "one", "line": "touch x", "cwd": ws,
        "policy": "version = 1\n[permissions]\nallow = [\"touch\"]\n",
    });
    let broken_policy = serde_json::json!({
        "id": 2, "line": "touch x", "cwd": ws, "policy": "version = 1\n[permisions]\n",
    });
    let requests = format!(
        "{good}\nnot json\n{{\"id\":\"three\"}}\n\n{broken_policy}\n{{\"id\":\"nul\",\"line\":\"a\\u0000b\"}}\n{{\"id\":\"gone\",\"line\":\"ls\",\"cwd\":\"/nowhere/at/all\"}}\n[1]\n{good}"
    );
    let answers = scratch.jsonl(&requests);
    assert_eq!(answers.len(), 9, "{answers:#?}");
    assert_eq!(answers[0]["id"], "one");
    assert_eq!(answers[0]["verdict"], "allow");
    for (index, id) in [(2, "three"), (5, "nul"), (6, "gone")] {
        assert_eq!(answers[index]["id"], id);
        assert!(answers[index]["error"].is_string(), "{}", answers[index]);
    }
    assert!(
        answers[4]["error"].as_str().unwrap().contains("permisions"),
        "{}",
        answers[4]
    );
    assert_eq!(answers[8], answers[0]);
    assert!(
        answers
            .iter()
            .all(|answer| answer["schema"] == "tipstaff.check/1")
    );
}

#[test]
fn a_broken_policy_is_named_with_line_and_column() {
    let scratch = Scratch::new("broken");
    let file = scratch.policy("version = 1\n[permissions]\nalow = [\"ls\"]\n");
    let file = file.to_str().unwrap();
    let output = scratch.run(&["policy", "check", file]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("policy.toml:3:1"), "{text}");
    assert!(text.contains("allow"), "a near miss is suggested: {text}");
    assert_eq!(
        scratch
            .run(&["check", "--policy", file, "-c", "ls"])
            .status
            .code(),
        Some(2)
    );
    let run = scratch.run(&["run", "--policy", file, "-c", "touch ran"]);
    assert_eq!(run.status.code(), Some(125));
    assert!(!scratch.root.join("ws/ran").exists());
}

#[test]
fn usage_errors_of_running_verbs_leave_two_to_the_command() {
    let scratch = Scratch::new("usage");
    assert_eq!(
        scratch.run(&["run", "--no-such-option"]).status.code(),
        Some(125)
    );
    assert_eq!(scratch.run(&["run"]).status.code(), Some(125));
    assert_eq!(scratch.run(&["sh"]).status.code(), Some(125));
    assert_eq!(scratch.run(&["check"]).status.code(), Some(2));
    assert_eq!(
        scratch
            .run(&["run", "--mode", "yolo", "-c", "ls"])
            .status
            .code(),
        Some(125)
    );
    assert_eq!(scratch.run(&["--help"]).status.code(), Some(0));
    assert_eq!(scratch.run(&["run", "--help"]).status.code(), Some(0));
    assert_eq!(scratch.run(&["--version"]).status.code(), Some(0));
}

#[test]
fn an_empty_line_is_refused_with_its_name() {
    let scratch = Scratch::new("empty");
    for line in ["", "  ", "\n\t\n"] {
        let output = scratch.run(&["run", "-c", line]);
        assert_eq!(output.status.code(), Some(125), "{line:?}");
        assert!(stderr(&output).contains("empty"), "{}", stderr(&output));
        assert_eq!(scratch.run(&["check", "-c", line]).status.code(), Some(2));
    }
}

#[test]
fn explain_shows_file_rule_and_what_would_change_it() {
    let scratch = Scratch::new("explain");
    let file = scratch.policy("version = 1\n[permissions]\ndeny = [\"rm -rf\"]\n");
    let output = scratch.run(&[
        "explain",
        "--policy",
        file.to_str().unwrap(),
        "-c",
        "rm -rf x; mkdir \"$Y\"; ls",
    ]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for needle in [
        "deny",
        "policy.toml:3",
        "sha256:",
        "/rm",
        "unmatched",
        "change",
        "read-only-default",
    ] {
        assert!(text.contains(needle), "`{needle}` is missing in:\n{text}");
    }
}

#[test]
fn control_characters_of_a_line_never_reach_the_terminal() {
    let scratch = Scratch::new("escape");
    let output = scratch.run(&["explain", "-c", "touch $'\\e[2J' '\u{1b}[2J' '\u{202e}x'"]);
    let bytes = [output.stdout, output.stderr].concat();
    assert!(!bytes.contains(&0x1b));
    assert!(!String::from_utf8(bytes).unwrap().contains('\u{202e}'));
}

/// What a person does wrong first, and the words that help.
#[test]
fn first_mistakes_are_answered_with_what_to_do() {
    let scratch = Scratch::new("first");
    for (arguments, code, help) in [
        (
            &["run", "ls -la"][..],
            125,
            "tipstaff run [OPTIONS] -c <LINE>",
        ),
        (&["run"], 125, "tipstaff run [OPTIONS] -- <ARGV>..."),
        (&["check", "ls"], 2, "tipstaff check [OPTIONS] --jsonl"),
        (&["run", "--status-fd", "99", "-c", "ls"], 125, "99>FILE"),
        (
            &["check", "--policy", "nowhere.toml", "-c", "ls"],
            2,
            "name a file that exists",
        ),
        (&["policy", "trust"], 2, "go to the folder of the project"),
        (&["run", "--mode", "dontask", "-c", "ls"], 125, "dont-ask"),
    ] {
        let output = scratch.run(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(help), "{arguments:?}: {said}");
    }
}

#[test]
fn an_untrusted_project_policy_is_told_as_such() {
    let scratch = Scratch::new("untrusted");
    let folder = scratch.root.join("ws/.tipstaff");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "version = 1\n[permissions]\nallow = [\"touch\"]\n";
    std::fs::write(folder.join("policy.toml"), text).unwrap();
    let told = |arguments: &[&str]| {
        let output = scratch.run(arguments);
        String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output)
    };
    assert!(told(&["policy", "check"]).contains("not trusted"));
    assert!(told(&["check", "-c", "touch x"]).starts_with("ask"));
    assert!(told(&["policy", "trust"]).contains("trusted as it stands"));
    assert!(!told(&["policy", "check"]).contains("not trusted"));
    assert!(told(&["check", "-c", "touch x"]).starts_with("allow"));
}

#[test]
fn a_line_that_cannot_be_understood_says_where() {
    let scratch = Scratch::new("opaque");
    let output = scratch.run(&["check", "-c", "echo 'x"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("unclosed single quote"), "{said}");
}
