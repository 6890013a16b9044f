//! What the program knowledge claims, shown by the examples it carries.

#![allow(clippy::panic, reason = "a test may panic")]

#[allow(dead_code, reason = "other tests use more of it")]
mod support;

use support::{Machine, policy};
use tipstaff::approval::SEVERITIES;
use tipstaff::model::access::Traits;
use tipstaff::model::script::Dialect;
use tipstaff::policy::{Program, program_files, survey};
use tipstaff::shell;

fn programs() -> impl Iterator<Item = (&'static str, Program)> {
    program_files().into_iter().flat_map(|file| {
        let programs = file
            .programs()
            .unwrap_or_else(|error| panic!("{}: {error}", file.name));
        programs
            .into_iter()
            .map(move |program| (file.name, program))
    })
}

#[test]
fn every_example_is_judged_as_it_says() {
    let machine = Machine::default();
    let defaults = policy("");
    let mut wrong = Vec::new();
    for (file, program) in programs() {
        let examples = &program.examples;
        let classes = [
            ("read_only", &examples.read_only, true),
            ("acts", &examples.acts, false),
            ("unknown", &examples.unknown, false),
        ];
        for (class, lines, allowed) in classes {
            for line in lines {
                let answer = machine.answer(&defaults, line);
                if answer.starts_with("allow ") != allowed {
                    wrong.push(format!("{file}: {class}: `{line}`: {answer}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is known of the program of a line that holds one.
fn traits(line: &str) -> Traits {
    let script = shell::parse(line.as_bytes(), Dialect::Bash)
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    let survey = survey(script, &Machine::default().facts, shell::parse);
    survey.traits.first().copied().unwrap_or_default()
}

#[test]
fn what_changes_the_system_is_known_and_listing_is_not_it() {
    let changes = [
        "sudo ls",
        "su",
        "doas ls",
        "pkexec ls",
        "run0 ls",
        "/usr/bin/mount a b",
        "umount a",
        "chroot a",
        "pivot_root a b",
        "nsenter ls",
        "unshare ls",
        "setpriv ls",
        "capsh",
        "setcap x f",
        "chown a f",
        "mknod p p",
        "losetup a",
        "fdisk a",
        "parted a",
        "insmod a",
        "rmmod a",
        "modprobe a",
        "kexec a",
        "sysctl -w a=b",
        "systemctl restart a",
        "iptables -F",
        "nft list",
        "useradd a",
        "userdel a",
        "usermod a",
        "passwd",
        "visudo",
        "crontab f",
        "bpftool a",
        "dpkg -i f",
        "apt install a",
    ];
    for line in changes {
        assert!(traits(line).privileged, "{line}");
    }
    for line in [
        "ls",
        "systemctl status a",
        "dpkg -l",
        "crontab -l",
        "apt list",
        "sysctl -a",
    ] {
        assert!(!traits(line).privileged, "{line}");
    }
}

#[test]
fn what_runs_code_of_the_workspace_is_known() {
    for line in [
        "make",
        "gmake",
        "ninja",
        "cmake --build .",
        "meson test",
        "npm test",
        "npx x",
        "yarn",
        "pnpm i",
        "bun run x",
        "deno test",
        "cargo build",
        "pytest",
        "tox",
        "nox",
        "pip install .",
        "poetry install",
        "uv run x",
        "go test",
        "gradle",
        "mvn test",
        "ant",
        "rake",
        "bundle exec x",
        "composer install",
        "mix test",
        "sbt",
        "bazel build x",
        "just",
        "pre-commit run",
    ] {
        assert!(traits(line).runs_workspace_code, "{line}");
    }
    for line in ["ls", "git status", "pip list"] {
        assert!(!traits(line).runs_workspace_code, "{line}");
    }
}

/// The rows of the page and the table, in the same order.
#[test]
fn the_page_on_severity_shows_the_table() {
    let page = include_str!("../docs/risk.md");
    let shown: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .collect();
    let table: Vec<String> = SEVERITIES
        .iter()
        .map(|(risk, authority, severity, why)| {
            format!(
                "| {} | {} | {} | {why} |",
                risk.word(),
                authority.word(),
                severity.word()
            )
        })
        .collect();
    assert_eq!(shown, table);
}

/// The same keys and claims hold for the program the page on knowledge ends with.
#[test]
fn the_page_on_knowledge_shows_a_program_that_loads() {
    let page = include_str!("../docs/knowledge.md");
    let text = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap_or_default();
    let file = tipstaff::policy::ProgramFile {
        name: "knowledge.md",
        names: &[],
        text: Box::leak(text.to_owned().into_boxed_str()),
    };
    let programs = file.programs().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(programs.len(), 1);
    for program in programs {
        assert!(lacks(&program).is_empty());
    }
}

/// The classes of examples a program lacks.
fn lacks(program: &Program) -> Vec<String> {
    let examples = &program.examples;
    let mut lacks = Vec::new();
    let mut want = |wanted: bool, lines: &[String], class: &str| {
        if wanted && lines.is_empty() {
            lacks.push(class.to_owned());
        }
    };
    want(program.can_be_read_only(), &examples.read_only, "read_only");
    want(true, &examples.acts, "acts");
    want(program.has_options(), &examples.unknown, "unknown");
    for path in read_only_paths(program) {
        let shown = examples.read_only.iter().any(|line| {
            let mut words = line.split(' ');
            path.iter()
                .all(|names| words.any(|word| names.iter().any(|name| name == word)))
        });
        if !shown {
            lacks.push(format!(
                "read_only of `{}`",
                path.into_iter()
                    .flatten()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" ")
            ));
        }
    }
    lacks
}

/// The names of each sub-command that only reads, outermost first.
fn read_only_paths(program: &Program) -> Vec<Vec<&Vec<String>>> {
    let mut paths = Vec::new();
    for sub in &program.subcommands {
        if sub.read_only {
            paths.push(vec![&sub.names]);
        }
        for mut below in read_only_paths(sub) {
            below.insert(0, &sub.names);
            paths.push(below);
        }
    }
    paths
}

#[test]
fn every_program_shows_what_is_claimed_of_it() {
    let mut wrong = Vec::new();
    for (file, program) in programs() {
        let name = program.names.join(" ");
        for class in lacks(&program) {
            wrong.push(format!("{file}: `{name}` has no example of {class}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
