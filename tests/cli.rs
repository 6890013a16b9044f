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
use std::sync::atomic::{AtomicUsize, Ordering};

/// A scratch home with a workspace in it, taken away at the end.
struct Scratch {
    root: PathBuf,
}

impl Scratch {
    fn new(name: &str) -> Self {
        // Tests run side by side, and two of them may have chosen the same name.
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("tipstaff-cli-{name}-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
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

/// Runtimes hand over pipes, files or sockets; each takes the one line of the result.
#[test]
fn the_status_descriptor_may_be_a_socket() {
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    let scratch = Scratch::new("status");
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let inherited = theirs.as_raw_fd();
    // The shell passes it on under a number that the option can name.
    let line =
        format!("exec 3>&{inherited}; exec \"$0\" run --status-fd 3 --mode plan -c 'touch x'");
    nix::fcntl::fcntl(
        &theirs,
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()),
    )
    .unwrap();
    let output = Command::new("/bin/sh")
        .args(["-c", &line, env!("CARGO_BIN_EXE_tipstaff")])
        .env_clear()
        .env("HOME", scratch.root.join("home"))
        .current_dir(scratch.root.join("ws"))
        .output()
        .unwrap();
    drop(theirs);
    let mut text = String::new();
    ours.read_to_string(&mut text).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(
        result["schema"] == "tipstaff.result/1" || result["schema"] == "tipstaff.error/1",
        "{text}{}",
        stderr(&output)
    );
}

#[test]
fn an_error_is_one_line_of_json_with_the_exit_status_where_json_is_asked_for() {
    let scratch = Scratch::new("errors");
    let none = "/nowhere/policy.toml";
    let lines = |bytes: &[u8]| -> Vec<serde_json::Value> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    for arguments in [
        vec!["run", "--json", "--bogus", "-c", "ls"],
        vec!["run", "--json", "--mode", "yolo", "-c", "ls"],
        vec!["run", "--json"],
        vec!["run", "--json", "--approver", "", "-c", "ls"],
        vec!["run", "--json", "--approver", "'", "-c", "ls"],
        vec!["run", "--json", "--status-fd", "99", "-c", "ls"],
        vec!["run", "--json", "--policy", none, "-c", "ls"],
        vec!["check", "--json", "--bogus", "-c", "ls"],
        vec!["check", "--json", "--policy", none, "-c", "ls"],
        vec!["check", "--json", "-c", ""],
        vec!["explain", "--json", "--policy", none, "-c", "ls"],
        vec!["explain", "--json", "--bogus"],
        vec!["audit", "verify", "--json"],
    ] {
        let output = scratch.run(&arguments);
        // Standard output is the command's in `run`.
        let told = if arguments[0] == "run" {
            assert!(output.stdout.is_empty());
            lines(&output.stderr)
        } else {
            lines(&output.stdout)
        };
        assert_eq!(told.len(), 1, "{arguments:?}: {told:?}");
        assert_eq!(told[0]["schema"], "tipstaff.error/1", "{arguments:?}");
        let code = output.status.code().unwrap();
        assert_eq!(told[0]["exit_code"], code, "{arguments:?}");
        let expected = match arguments[0] {
            "run" => 125,
            // There is no record to verify.
            "audit" => 1,
            _ => 2,
        };
        assert_eq!(code, expected, "{arguments:?}");
    }
}

#[test]
fn the_status_descriptor_is_told_of_usage_errors_and_has_to_be_writable() {
    let scratch = Scratch::new("status");
    let told = scratch.root.join("told");
    let run = |redirection: &str, arguments: &str| {
        std::fs::write(&told, "").unwrap();
        let line = format!("\"$0\" run {arguments} 3{redirection}'{}'", told.display());
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_tipstaff")]);
        command.env("HOME", scratch.root.join("home"));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{arguments}");
        (std::fs::read_to_string(&told).unwrap(), stderr(&output))
    };
    for arguments in [
        "--status-fd 3 --bogus",
        "--status-fd=3",
        "--status-fd 3 -c ''",
    ] {
        let (told, _) = run(">", arguments);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["exit_code"], 125, "{arguments}");
    }
    let (told, message) = run("<", "--status-fd 3 -c true");
    assert_eq!(told, "");
    assert!(message.contains("not open for writing"), "{message}");
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

/// A path rule that nothing enforces is worse than none: the run is refused, and says what to write.
#[test]
fn a_denied_path_that_the_sandbox_does_not_guard_refuses_the_run() {
    let scratch = Scratch::new("guard");
    let file = scratch
        .policy("version = 1\n[permissions]\nallow = [\"touch\"]\ndeny = [\"write(secret)\"]\n");
    let file = file.to_str().unwrap();
    let run = scratch.run(&["run", "--policy", file, "-c", "touch made"]);
    assert_eq!(run.status.code(), Some(125));
    assert!(!scratch.root.join("ws/made").exists());
    let text = stderr(&run);
    assert!(
        text.contains("write(secret)") && text.contains("advisory = true"),
        "{text}"
    );
    // Judging itself goes on.
    assert_eq!(
        scratch
            .run(&["check", "--policy", file, "-c", "touch made"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        scratch
            .run(&["check", "--policy", file, "-c", "true > secret"])
            .status
            .code(),
        Some(1)
    );
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

#[test]
fn check_judges_what_the_caller_would_do_itself() {
    let scratch = Scratch::new("deeds");
    std::os::unix::fs::symlink(scratch.root.join("home"), scratch.root.join("ws/link")).unwrap();
    std::fs::create_dir(scratch.root.join("ws/full")).unwrap();
    let file = scratch.policy(
        "version = 1\n[permissions]\nallow = [\"write(**)\", \"delete(**)\", \"network(a.example:443)\", \"mcp(t:read_*)\"]\nask = [\"delete(full/x)\"]\ndeny = [\"write(keep)\", \"mcp(t:read_all)\"]\n",
    );
    let file = file.to_str().unwrap();
    let check = |kind: &str, object: &str| {
        scratch.run(&["check", "--policy", file, "--kind", kind, "--", object])
    };
    for (kind, object, code) in [
        ("write", "new/file", 0),
        ("write", "-x", 0),
        ("write", "keep", 1),
        // Out of the workspace, through a link.
        ("write", "link/file", 3),
        ("delete", "link", 0),
        ("delete", "link/file", 3),
        ("delete", "keep", 1),
        ("delete", "full", 3),
        ("network", "A.example:443", 0),
        ("network", "a.example:80", 3),
        ("mcp", "t:read_one", 0),
        ("mcp", "t:read_all", 1),
        ("mcp", "t:write", 3),
        ("write", "link/../x", 2),
        ("network", "a.example", 2),
        ("mcp", "read_one", 2),
        ("tool", "x", 2),
    ] {
        let output = check(kind, object);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{kind} {object}: {}",
            stderr(&output)
        );
    }
    let told = String::from_utf8(check("write", "link/file").stdout).unwrap();
    let home = std::fs::canonicalize(scratch.root.join("home")).unwrap();
    assert!(
        told.contains(&format!("leads to {}/file", home.display())),
        "{told}"
    );
    assert!(
        told.contains("change  an allow rule such as `write("),
        "{told}"
    );
    for words in [
        &["check", "--kind", "write"][..],
        &["check", "--kind", "write", "-c", "x"],
        &["check", "--kind", "write", "--", "a", "b"],
    ] {
        assert_eq!(scratch.run(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn jsonl_takes_requests_beside_lines() {
    let scratch = Scratch::new("deeds-jsonl");
    let ws = scratch.root.join("ws");
    let policy = "version = 1\n[permissions]\nallow = [\"mcp(t:x)\", \"touch\"]\n";
    let requests = [
        serde_json::json!({"id": 1, "kind": "mcp", "object": "t:x", "cwd": ws, "policy": policy}),
        serde_json::json!({"id": 2, "kind": "delete", "object": "a", "cwd": ws, "policy": policy}),
        serde_json::json!({"id": 3, "kind": "delete", "cwd": ws}),
        serde_json::json!({"id": 4, "kind": "delete", "object": "a", "line": "ls", "cwd": ws}),
        serde_json::json!({"id": 5, "line": "touch x", "cwd": ws, "policy": policy}),
    ];
    let text: String = requests
        .iter()
        .map(|request| format!("{request}\n"))
        .collect();
    let answers = scratch.jsonl(&text);
    assert_eq!(answers[0]["schema"], "tipstaff.request/1");
    assert_eq!(answers[0]["verdict"], "allow");
    assert_eq!(answers[0]["object"], "t:x");
    assert_eq!(answers[0]["rule"]["text"], "mcp(t:x)");
    assert_eq!(answers[1]["verdict"], "ask");
    assert!(answers[2]["error"].is_string() && answers[3]["error"].is_string());
    assert_eq!(answers[4]["verdict"], "allow");
}

#[test]
fn check_and_explain_name_the_sandbox_a_rule_wants() {
    let scratch = Scratch::new("confined");
    let file = scratch.policy(
        "version = 1\n[[rule]]\nid = \"look\"\nverdict = \"allow\"\ncommands = [\"touch\"]\nsandbox = \"read-only\"\n",
    );
    let file = file.to_str().unwrap();
    let json = |line: &str, more: &[&str]| {
        let words = [&["check", "--json", "--policy", file], more, &["-c", line]].concat();
        let output = scratch.run(&words);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let narrow = json("touch x; mkdir y", &[]);
    assert_eq!(narrow["profile"], "read-only");
    assert_eq!(narrow["confined_by"]["id"], "look");
    let wide = json("mkdir y", &[]);
    assert_eq!(wide["profile"], "workspace");
    assert_eq!(wide.get("confined_by"), None);
    // The same rule covers no run that has a network.
    assert_eq!(json("touch x", &[])["verdict"], "allow");
    let online = json("touch x", &["--network", "full"]);
    assert_eq!(
        (&online["verdict"], &online["network"]),
        (&"ask".into(), &"full".into())
    );
    let told = scratch.run(&["explain", "--policy", file, "-c", "touch x"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(
        told.contains("sandbox  profile read-only by ") && told.contains("look, network off"),
        "{told}"
    );
    let (_, told) = scratch.check(&std::fs::read_to_string(file).unwrap(), "touch x");
    assert!(told.contains("sandbox read-only ("), "{told}");
}
