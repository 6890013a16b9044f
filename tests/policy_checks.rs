//! `policy test`, `policy lint` and `policy import` at the command line, and what lint finds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the program under test is started plainly"
)]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tipstaff::model::access::Facts;
use tipstaff::model::judgement::Layer;
use tipstaff::model::path::AbsolutePath;
use tipstaff::policy::{Finding, Here, LINT_CODES, Source, lint};

fn at(path: &str) -> AbsolutePath {
    AbsolutePath::new(path).unwrap()
}

fn found(text: &str) -> Vec<Finding> {
    let source = Source {
        layer: Layer::User,
        name: "policy.toml".to_owned(),
        text: format!("version = 1\n{text}"),
        trusted: true,
    };
    let here = Here {
        facts: Facts {
            network: tipstaff::model::profile::Network::Off,
            workspace: at("/ws"),
            cwd: at("/ws"),
            home: Some(at("/home/me")),
            own: vec![at("/home/me/.config/tipstaff")],
            today: 20_000,
        },
        write_roots: vec![at("/tmp")],
        programs: Some(["git", "make", "rm", "touch"].map(str::to_owned).into()),
    };
    match lint(&[source], &here) {
        Ok(findings) => findings,
        Err(error) => unreachable!("{}", error.render()),
    }
}

fn codes(text: &str) -> Vec<&'static str> {
    let found = found(text);
    let warnings = found.iter().filter(|finding| finding.warning);
    warnings.map(|finding| finding.code).collect()
}

/// `allow = […]`
fn allowing(rule: &str) -> String {
    format!("[permissions]\nallow = [{rule:?}]\n")
}

#[test]
fn every_code_is_found_where_it_should_be() {
    let long = |rest: &str| format!("[[rule]]\nverdict = \"allow\"\n{rest}\n");
    let mut seen = BTreeSet::new();
    for (code, text) in [
        ("any-program", allowing("*")),
        ("any-program", allowing("re:.*")),
        ("shell", allowing("bash")),
        ("shell", allowing("sh -c *")),
        ("interpreter", allowing("python")),
        ("interpreter", allowing("python3.12")),
        ("interpreter", allowing("perl -e *")),
        ("carrier", allowing("env")),
        ("carrier", allowing("xargs")),
        ("carrier", allowing("npx")),
        ("executing-options", allowing("find")),
        (
            "executing-options",
            long("commands = [\"find\"]\nwithout = [\"-exec\"]"),
        ),
        ("write-anywhere", allowing("write(/**)")),
        ("sensitive-path", allowing("write(~/.ssh/**)")),
        ("sensitive-path", allowing("write(~/bin/*)")),
        ("own-state", allowing("write(~/.config/tipstaff/**)")),
        ("variable", allowing("env(LD_*)")),
        ("any-host", allowing("network(*)")),
        ("any-tool", allowing("mcp(*:*)")),
        ("writable-target", allowing("./gradlew build")),
        ("writable-target", allowing("/tmp/tool")),
        ("writable-target", allowing("/ws/bin/tool x")),
        ("loose-regex", allowing("re:git log.*")),
        ("loose-regex", allowing("re:.*-lint( .*)?")),
        ("no-effect", allowing("read(docs/**)")),
        (
            "expired",
            long("commands = [\"make\"]\nexpires = \"2020-01-31\""),
        ),
        (
            "duplicate",
            "[permissions]\nallow = [\"git fetch\", \"git  'fetch'\"]\n".to_owned(),
        ),
        (
            "duplicate",
            "[permissions]\ndeny = [\"rm\"]\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\n"
                .to_owned(),
        ),
        (
            "contradiction",
            "[permissions]\nallow = [\"git push\"]\ndeny = [\"git push\"]\n".to_owned(),
        ),
        (
            "shadowed",
            "[permissions]\nallow = [\"git push origin\"]\ndeny = [\"git push\"]\n".to_owned(),
        ),
        (
            "shadowed",
            "[permissions]\nallow = [\"git\"]\nask = [\"*\"]\n".to_owned(),
        ),
        (
            "shadowed",
            "[permissions]\nask = [\"git push -f\"]\ndeny = [\"git {push,pull}\"]\n".to_owned(),
        ),
        ("shadowed", allowing("sudo make")),
        (
            "shadowed",
            "[permissions]\nallow = [\"write(out/a/**)\"]\nask = [\"write(out/**)\"]\n".to_owned(),
        ),
        (
            "shadowed",
            "[permissions]\nallow = [\"env(CI)\"]\ndeny = [\"env(*)\"]\n".to_owned(),
        ),
        (
            "shadowed",
            "[permissions]\nallow = [\"./gradlew build\"]\ndeny = [\"gradlew\"]\n".to_owned(),
        ),
        (
            "unreachable",
            "[permissions]\nallow = [\"git\", \"git fetch\"]\n".to_owned(),
        ),
        (
            "unreachable",
            "[permissions]\nallow = [\"git {add,rm}\", \"git add .\"]\n".to_owned(),
        ),
        (
            "unreachable",
            "[permissions]\ndeny = [\"git push ** -f\", \"git push\"]\n".to_owned(),
        ),
        (
            "unreachable",
            "[permissions]\nallow = [\"write(**)\", \"write(out/x)\"]\n".to_owned(),
        ),
    ] {
        let got = codes(&text);
        assert!(got.contains(&code), "{code}: {got:?}\n{text}");
        seen.insert(code);
    }
    let all: BTreeSet<&str> = LINT_CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(
        seen, all,
        "every code is documented and every documented one is found"
    );
}

#[test]
fn what_is_meant_is_not_found() {
    for text in [
        "[permissions]\nallow = [\"git fetch\", \"make\", \"write(./out/**)\", \"env(RUST_LOG)\"]\n",
        "[permissions]\nallow = [\"git\"]\ndeny = [\"git push\"]\n",
        "[permissions]\nallow = [\"git push\"]\ndeny = [\"git push ** --force\"]\n",
        "[permissions]\nallow = [\"git fetch\"]\ndeny = [\"git fetchall\", \"rm\"]\n",
        "[permissions]\nallow = [\"= make\"]\nask = [\"make install\"]\n",
        "[permissions]\nallow = [\"re:git (log|show)( .*)?\"]\n",
        "[permissions]\nallow = [\"/opt/tool/bin/run\"]\n",
        "[permissions]\nallow = [\"write(out/**)\"]\ndeny = [\"write(out/keep)\"]\n",
        // A condition may leave something for the other rule.
        "[permissions]\nallow = [\"git push\"]\n[[rule]]\nverdict = \"deny\"\ncommands = [\"git push\"]\nwith = [\"-f\"]\n",
        "[permissions]\nallow = [\"rm\"]\n[[rule]]\nverdict = \"ask\"\ncommands = [\"rm\"]\ncwd = [\"src\"]\n",
        "[permissions]\nallow = [\"make\"]\n[[rule]]\nverdict = \"deny\"\ncommands = [\"make\"]\nexpires = \"2020-01-31\"\n",
        "[[rule]]\nverdict = \"allow\"\ncommands = [\"find\"]\nwithout = [\"-exec\", \"-execdir\", \"-ok\", \"-okdir\", \"-delete\", \"-fprint\", \"-fprintf\", \"-fls\"]\n",
    ] {
        let got = codes(text);
        let expired_only = got.iter().all(|code| *code == "expired");
        assert!(expired_only, "{got:?}\n{text}");
    }
}

#[test]
fn a_finding_has_its_place_and_an_absent_program_is_a_note() {
    let found = found("[permissions]\nallow = [\"make\",\n  \"gitt log\", \"bash\"]\n");
    let places: Vec<_> = found
        .iter()
        .map(|one| (one.code, one.fault.line, one.fault.column, one.warning))
        .collect();
    assert_eq!(
        places,
        [
            ("absent-program", 4, 3, false),
            ("absent-program", 4, 15, false),
            ("shell", 4, 15, true)
        ]
    );
    assert!(
        found[2].render(false).contains("warning[shell]"),
        "{}",
        found[2].render(false)
    );
    assert!(!found[2].render(false).contains('\x1b') && found[2].render(true).contains('\x1b'));
}

/// A home and a workspace, taken away at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("tipstaff-checks-{name}-{}", std::process::id()));
        std::fs::create_dir_all(root.join("ws/.git")).unwrap();
        for folder in ["", "ws"] {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(root.join(folder), mode).unwrap();
        }
        Self(root)
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.0.join("ws").join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }

    fn policy(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run("policy", arguments)
    }

    fn run(&self, verb: &str, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_tipstaff"))
            .env_clear()
            .env("HOME", self.0.join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm")
            .current_dir(self.0.join("ws"))
            .stdin(Stdio::null())
            .arg(verb)
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let (code, out, err) = self.policy(arguments);
        let value = serde_json::from_str(&out);
        (
            code,
            value.unwrap_or_else(|error| unreachable!("{error}: {out}{err}")),
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

const POLICY: &str = "version = 1\n[permissions]\nallow = [\"make\", \"touch\"]\n\n[[rule]]\nid = \"no-push\"\nverdict = \"deny\"\ncommands = [\"git push\"]\nwhy = \"not from here\"\n";
const CASES: &str = "[[case]]\nline = \"make all\"\nexpect = \"allow\"\n\n[[case]]\nline = \"git push\"\nexpect = \"deny\"\nrule = \"no-push\"\n";

#[test]
fn cases_are_judged_and_the_exit_status_says_how() {
    let place = Place::new("cases");
    place.write("policy.toml", POLICY);
    place.write("good.toml", CASES);
    let run = |arguments: &[&str]| {
        place.policy(&[&["test", "--policy", "policy.toml"], arguments].concat())
    };
    let (code, out, err) = run(&["good.toml"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(
        out.contains("ok    good.toml: 2 of 2 cases as expected"),
        "{out}"
    );
    assert!(
        out.contains("not hit  ") && out.contains("allow touch"),
        "{out}"
    );
    assert!(
        out.ends_with("2 of 2 cases as expected; 2 of 3 rules decided one\n"),
        "{out}"
    );
    assert!(!out.contains('\x1b'), "no colour into a pipe");
    assert_eq!(run(&["--cover", "good.toml"]).0, 1);

    place.write(
        "bad.toml",
        &CASES
            .replace("\"allow\"", "\"ask\"")
            .replace("no-push", "other"),
    );
    let (code, out, _) = run(&["bad.toml"]);
    assert_eq!(code, 1);
    for said in [
        "FAIL  bad.toml: 0 of 2 cases as expected",
        "bad.toml:1: make all",
        "expected  ask",
        "got       allow (rule-allow)",
        "expected  deny by `other`",
        "policy.toml:5 no-push: git push",
        "because not from here",
    ] {
        assert!(out.contains(said), "{said}\n{out}");
    }
    let (code, said) = place.json(&["test", "--policy", "policy.toml", "--json", "bad.toml"]);
    assert_eq!((code, &said["failed"]), (1, &Value::from(2)));
    assert_eq!(said["schema"], "tipstaff.policy-test/1");
    assert_eq!(said["cases"][1]["wrong"], serde_json::json!(["rule"]));
    assert_eq!(said["not_hit"][0]["text"], "touch");
}

#[test]
fn a_file_of_cases_is_read_strictly() {
    let place = Place::new("strict");
    place.write("policy.toml", POLICY);
    for (text, said) in [
        ("", "the file holds no case"),
        ("[[case]]\nline = \"x\"\n", "the case says no verdict"),
        ("[[case]]\nexpect = \"ask\"\n", "the case needs one command"),
        (
            "[[case]]\nline = \"x\"\nargv = [\"x\"]\nexpect = \"ask\"\n",
            "the case needs one command",
        ),
        (
            "[[case]]\nline = \"x\"\nexpect = \"yes\"\n",
            "the case says no verdict",
        ),
        (
            "[[case]]\nlin = \"x\"\nexpect = \"ask\"\n",
            "did you mean `line`?",
        ),
        (
            "[[case]]\nline = \"x\"\nexpect = \"ask\"\nreason = \"because\"\n",
            "`because` is no reason code",
        ),
        (
            "[[case]]\nline = \"x\"\nexpect = \"ask\"\nmode = \"yolo\"\n",
            "not a mode",
        ),
        ("[[program]]\ntrusted = true\n", "the program has no `path`"),
        (
            "[[case]]\nline = \"\"\nexpect = \"ask\"\n",
            "the case needs one command",
        ),
    ] {
        place.write("cases.toml", text);
        let (code, out, err) = place.policy(&["test", "--policy", "policy.toml", "cases.toml"]);
        assert_eq!((code, out.as_str()), (2, ""), "{text}");
        assert!(err.contains(said), "{said}\n{err}");
    }
    assert_eq!(
        place
            .policy(&["test", "--policy", "policy.toml", "nowhere.toml"])
            .0,
        2
    );
    assert_eq!(
        place
            .policy(&["test", "--policy", "nowhere.toml", "cases.toml"])
            .0,
        2
    );
}

#[test]
fn the_machine_of_the_cases_is_made_up() {
    let place = Place::new("made-up");
    place.write(
        "policy.toml",
        "version = 1\n[permissions]\nallow = [\"tool\", \"make\"]\ndeny = [\"evil\"]\n",
    );
    place.write(
        "policy.test.toml",
        r#"
        policy = "policy.toml"
        workspace = "/srv/app"
        home = "/home/someone"
        cwd = "sub"
        absent = ["make"]
        [environment]
        PATH = "/opt/bin:/usr/bin"
        [[program]]
        path = "/opt/bin/tool"
        trusted = false
        [[program]]
        path = "/srv/app/sub/copy"
        digest = "sha256:0505050505050505050505050505050505050505050505050505050505050505"
        [[program]]
        path = "/usr/bin/evil"
        digest = "sha256:0505050505050505050505050505050505050505050505050505050505050505"
        [[case]]
        line = "tool"
        expect = "ask"
        reason = "program-untrusted"
        [[case]]
        line = "make"
        expect = "ask"
        reason = "program-not-found"
        [[case]]
        line = "./copy"
        expect = "deny"
        rule = "evil"
        [[case]]
        line = "cat ~/x > /dev/null"
        expect = "allow"
        [[case]]
        line = "cd .. && ls"
        expect = "allow"
        [[case]]
        line = "cd ../.. && ls"
        expect = "ask"
        [[case]]
        line = "touch x"
        mode = "dont-ask"
        expect = "deny"
        reason = "dont-ask"
        [[case]]
        line = "ls"
        mode = "plan"
        expect = "allow"
        [[case]]
        argv = ["tool", "a; b"]
        expect = "ask"
        "#,
    );
    let (code, out, err) = place.policy(&["test", "policy.test.toml"]);
    assert_eq!(code, 0, "{out}{err}");
    // Beside the policy in force, the file needs no name.
    std::fs::create_dir_all(place.0.join("home/.config/tipstaff")).unwrap();
    for folder in ["home", "home/.config", "home/.config/tipstaff"] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.0.join(folder), mode).unwrap();
    }
    place.write("../home/.config/tipstaff/policy.toml", POLICY);
    let (code, _, err) = place.policy(&["test"]);
    assert!(
        code == 2 && err.contains("there is no file of cases"),
        "{err}"
    );
    place.write("../home/.config/tipstaff/policy.test.toml", CASES);
    assert_eq!(place.policy(&["test"]).0, 0);
}

#[test]
fn lint_says_where_and_what_in_both_forms() {
    let place = Place::new("lint");
    place.write(
        "policy.toml",
        "version = 1\n[permissions]\nallow = [\"bash\", \"true\"]\n",
    );
    place.write(
        "fine.toml",
        "version = 1\n[permissions]\nallow = [\"cat\"]\n",
    );
    let (code, out, _) = place.policy(&["lint", "policy.toml", "fine.toml"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("warning[shell]") && out.contains("policy.toml:3:10"),
        "{out}"
    );
    assert!(out.ends_with("1 found\n"), "{out}");
    let (code, said) = place.json(&["lint", "--json", "policy.toml"]);
    assert_eq!(
        (code, &said["findings"][0]["code"]),
        (1, &Value::from("shell"))
    );
    assert_eq!(said["findings"][0]["line"], 3);
    let (code, out, _) = place.policy(&["lint", "fine.toml"]);
    assert_eq!((code, out.as_str()), (0, "nothing found\n"));
    place.write("broken.toml", "version = 2\n");
    assert_eq!(place.policy(&["lint", "broken.toml"]).0, 2);
}

#[test]
fn an_import_goes_to_standard_output_and_its_losses_to_standard_error() {
    let place = Place::new("import");
    let settings = r#"{"permissions": {"allow": ["Bash(make *)", "Bash(\u001b[2Jx *)", "WebSearch"], "deny": ["Bash(rm*x)"]}}"#;
    place.write("settings.json", settings);
    let (code, out, err) = place.policy(&["import", "claude", "settings.json"]);
    assert_eq!(code, 0, "{err}");
    place.write("policy.toml", &out);
    assert_eq!(place.policy(&["check", "policy.toml"]).0, 0, "{out}");
    assert_eq!(
        place.policy(&["fmt", "--check", "policy.toml"]).0,
        0,
        "{out}"
    );
    assert!(
        err.contains("WebSearch") && err.contains("1 became stricter"),
        "{err}"
    );
    assert!(
        !out.contains('\x1b') && !err.contains('\x1b'),
        "what others wrote is escaped"
    );
    let (code, said) = place.json(&["import", "--json", "claude", "settings.json"]);
    assert_eq!(
        (code, &said["schema"]),
        (0, &Value::from("tipstaff.policy-import/1"))
    );
    assert_eq!(said["policy"], out);
    assert_eq!(said["stricter"].as_array().unwrap().len(), 1);
    place.write("settings.json", "{\"permissions\": [}");
    let (code, out, err) = place.policy(&["import", "claude", "settings.json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("settings.json:1:"), "{err}");
    assert_eq!(place.policy(&["import", "nobody", "settings.json"]).0, 2);
    assert_eq!(place.policy(&["import", "codex", "nowhere"]).0, 2);
}

/// Whatever the verdict, there is something a person can do, and it is said of every access.
#[test]
fn explain_says_what_would_change_every_verdict() {
    let place = Place::new("explain");
    place.write(
        "policy.toml",
        "version = 1\n[permissions]\nallow = [\"touch\", \"xargs\", \"write(out/**)\", \"tool\"]\nask = [\"git push\"]\ndeny = [\"rm\"]\n",
    );
    place.write("tool", "#!/bin/sh\n");
    let mut reasons = BTreeSet::new();
    for line in [
        "touch a > out/log 2> elsewhere",
        "ls; git push; rm -rf x; sudo id",
        "nowhere-at-all; ./tool; $x; x=1",
        "LD_PRELOAD=x touch y < in",
        "mkdir z && cat a | xargs $tool",
        "touch() { ls; }; touch x",
        "cat < /dev/tcp/example.org/80",
        "# nothing",
    ] {
        let (code, out, err) = place.run(
            "explain",
            &["--json", "--policy", "policy.toml", "-c", line],
        );
        assert_eq!(code, 0, "{line}: {err}");
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(said["schema"], "tipstaff.explain/1");
        let told = |value: &Value| value["change"].as_str().is_some_and(|text| text.len() > 10);
        for sub in said["subcommands"].as_array().unwrap() {
            assert!(told(sub), "{line}: {sub}");
            reasons.insert(sub["reason"].as_str().unwrap().to_owned());
            for access in sub["accesses"].as_array().unwrap() {
                assert!(told(access), "{line}: {access}");
                reasons.insert(access["reason"].as_str().unwrap().to_owned());
            }
        }
        for opaque in said["opaque"].as_array().unwrap() {
            assert!(told(opaque), "{line}: {opaque}");
        }
        assert!(told(&said["mode"]), "{line}: {said}");
        let (_, text, _) = place.run("explain", &["--policy", "policy.toml", "-c", line]);
        let count = |label: &str| {
            text.lines()
                .filter(|text| text.trim_start().starts_with(label))
                .count()
        };
        assert!(count("change ") >= count("access "), "{text}");
    }
    for reason in [
        "rule-allow",
        "rule-ask",
        "rule-deny",
        "unmatched",
        "dynamic",
        "program-not-found",
        "no-access",
        "read-only-default",
    ] {
        assert!(reasons.contains(reason), "{reason}: {reasons:?}");
    }
    for (mode, said) in [
        (
            "dont-ask",
            "mode     dont-ask: deny (dont-ask): add an allow rule",
        ),
        (
            "plan",
            "mode     plan: deny (plan-mode): propose the change",
        ),
    ] {
        let (_, text, _) = place.run("explain", &["--mode", mode, "-c", "mkdir x"]);
        assert!(text.contains(said), "{said}\n{text}");
    }
}

#[test]
fn every_verb_answers_programs() {
    let place = Place::new("json");
    place.write("policy.toml", POLICY);
    let schema = |arguments: &[&str]| place.json(arguments).1["schema"].clone();
    assert_eq!(
        schema(&["check", "--json", "policy.toml"]),
        "tipstaff.policy-check/1"
    );
    assert_eq!(
        schema(&["fmt", "--json", "--check", "policy.toml"]),
        "tipstaff.policy-fmt/1"
    );
    let add = ["add", "--json", "--dry-run", "--file", "policy.toml", "ls"];
    assert_eq!(schema(&add), "tipstaff.policy-change/1");
    let remove = ["remove", "--json", "--file", "policy.toml", "make"];
    let (code, said) = place.json(&remove);
    assert_eq!((code, &said["done"]), (0, &Value::from("removed")));
    assert_eq!(schema(&["list", "--json"]), "tipstaff.policy-list/1");
    assert_eq!(schema(&["try", "--json", "ls"]), "tipstaff.policy-try/1");
    assert_eq!(schema(&["trust", "--json"]), "tipstaff.error/1");
    std::fs::create_dir_all(place.0.join("ws/.tipstaff")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.0.join("ws/.tipstaff"), mode).unwrap();
    place.write(".tipstaff/policy.toml", "version = 1\n");
    assert_eq!(schema(&["trust", "--json"]), "tipstaff.policy-trust/1");
    place.write("policy.toml", "version = 1\nmoed = \"plan\"\n");
    let (code, said) = place.json(&["check", "--json", "policy.toml"]);
    assert_eq!(code, 2);
    assert_eq!(said["faults"][0]["line"], 2);
    assert_eq!(
        place
            .json(&["add", "--json", "--file", "policy.toml", "ls"])
            .0,
        2
    );
    assert!(place.policy(&["schema", "--json"]).1.starts_with('{'));
}
