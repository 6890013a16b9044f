//! Claim 6, fail closed: whatever is broken, nothing runs and the message says what to do.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::world::{ALLOW_ALL, ASK_ALL, World};
use crate::harness::{Case, Outcome, case, expect, fail, process, skip};

pub const CASES: &[Case] = &[
    case("policy_others_can_write", 6, policy_others_can_write),
    case("broken_policies", 6, broken_policies),
    case("vanished_folder", 6, vanished_folder),
    case(
        "workspace_that_holds_our_own_files",
        6,
        workspace_that_holds_our_own,
    ),
    case("system_folder_as_workspace", 6, system_folder_as_workspace),
    case("nul_and_invalid_utf8", 6, nul_and_invalid_utf8),
    case("empty_line", 6, empty_line),
    case("syntax_error", 6, syntax_error),
    case("full_disk_under_the_log", 6, full_disk),
    case("log_that_cannot_be_written", 6, log_that_cannot_be_written),
    case("approver_that_fails", 6, approver_that_fails),
    case("no_landlock", 6, no_landlock),
    case("no_seccomp", 6, no_seccomp),
];

/// Control first: the very same line runs when nothing is broken.
fn control(w: &World) -> Outcome {
    w.allowed()?.line("touch made")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control did not run")?;
    fs::remove_file(w.ws.join("made"))?;
    Ok(())
}

fn nothing_ran(w: &World) -> Outcome {
    expect(!w.ws.join("made").exists(), "it ran")
}

fn policy_others_can_write(w: &World) -> Outcome {
    control(w)?;
    let policy = w.top.join("loose.toml");
    fs::write(&policy, ALLOW_ALL)?;
    fs::set_permissions(&policy, fs::Permissions::from_mode(0o666))?;
    let ran = w.under(&policy).line("touch made")?;
    ran.exits(125)?.says("loose.toml")?;
    nothing_ran(w)
}

fn broken_policies(w: &World) -> Outcome {
    control(w)?;
    let broken = [
        (
            "unknown key",
            "version = 1\n[permissions]\nallows = [\"*\"]\n",
            "allows",
        ),
        (
            "empty pattern",
            "version = 1\n[permissions]\nallow = [\"*\", \"\"]\n",
            "empty",
        ),
        ("no version", "[permissions]\nallow = [\"*\"]\n", "version"),
        ("no TOML", "version = = 1\n", "policy.toml"),
        (
            "unknown mode",
            "version = 1\nmode = \"yolo\"\n[permissions]\nallow = [\"*\"]\n",
            "yolo",
        ),
    ];
    for (what, text, said) in broken {
        let ran = w.policy(text)?.line("touch made")?;
        expect(
            ran.code == Some(125),
            format!("{what}: expected exit 125: {ran}"),
        )?;
        ran.says("policy.toml")?.says(said)?;
        nothing_ran(w)?;
    }
    let ran = w.under(&w.top.join("absent.toml")).line("touch made")?;
    ran.exits(125)?.says("absent.toml")?;
    nothing_ran(w)
}

/// The folder is removed while the caller stands in it.
fn vanished_folder(w: &World) -> Outcome {
    control(w)?;
    let gone = w.ws.join("gone");
    fs::create_dir(&gone)?;
    let policy = w.top.join("policy.toml").display().to_string();
    let line = format!(
        "cd {gone} && rmdir {gone} && exec {binary} run --policy {policy} -c 'touch {made}'",
        gone = gone.display(),
        binary = w.binary.display(),
        made = w.inside("made"),
    );
    let ran = w.shell(&line)?;
    ran.exits(125)?.says("folder")?;
    nothing_ran(w)
}

/// A command that could write the policy, the log or the binary could allow itself the rest.
fn workspace_that_holds_our_own(w: &World) -> Outcome {
    control(w)?;
    for folder in [w.top.clone(), w.top.join("home"), "/".into()] {
        let ran = w.allowed()?.cwd(&folder).line("touch made")?;
        ran.exits(125)?.says("workspace")?;
        expect(!folder.join("made").exists(), "it ran")?;
    }
    Ok(())
}

/// Uid 0 owns what lies there, capabilities or not: as a workspace it could be written.
fn system_folder_as_workspace(w: &World) -> Outcome {
    control(w)?;
    for folder in [
        "/proc/sys",
        "/etc",
        "/etc/ssl",
        "/usr",
        "/usr/bin",
        "/dev",
        "/var",
    ] {
        let run = w.allowed()?.cwd(Path::new(folder));
        let ran = run.line("exit 7")?;
        ran.exits(125)?.says("cannot be a workspace")?;
    }
    Ok(())
}

fn nul_and_invalid_utf8(w: &World) -> Outcome {
    control(w)?;
    let run = w.allowed()?;
    // Any byte but NUL may stand in an argument; it is passed as it is.
    let ran = process::start(
        run.command(&[
            OsStr::new("--"),
            OsStr::new("touch"),
            OsStr::from_bytes(b"bad\xff\xfename"),
        ]),
        &w.logs(),
    )?
    .end()?;
    ran.exits(0)?;
    expect(
        w.ws.join(OsStr::from_bytes(b"bad\xff\xfename")).exists(),
        "the bytes were changed",
    )?;
    let ran = process::start(
        run.command(&[OsStr::new("-c"), OsStr::from_bytes(b"touch 'li\xffne'")]),
        &w.logs(),
    )?;
    ran.end()?.exits(0)?;
    expect(
        w.ws.join(OsStr::from_bytes(b"li\xffne")).exists(),
        "the bytes of the line were changed",
    )?;
    expect(
        !w.audit_text().contains('\u{fffd}'),
        "the record replaced bytes it could not show",
    )?;
    // No argument of a process can hold NUL; a line of `check --jsonl` can.
    let input = w.top.join("input.jsonl");
    fs::write(
        &input,
        "{\"id\":\"nul\",\"line\":\"touch\\u0000made\"}\nnot JSON\n{\"id\":\"after\",\"line\":\"true\"}\n",
    )?;
    let ran = w.shell(&format!(
        "{} check --jsonl < {}",
        w.binary.display(),
        input.display()
    ))?;
    let answers: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    expect(
        answers.len() == 3,
        format!("expected one answer a line: {ran}"),
    )?;
    let verdict = |index: usize| {
        answers
            .get(index)
            .and_then(|answer| answer.get("verdict"))
            .cloned()
    };
    expect(
        verdict(0) != Some("allow".into()),
        format!("NUL was allowed: {ran}"),
    )?;
    expect(
        verdict(2) == Some("allow".into()),
        format!("the line after a bad one was lost: {ran}"),
    )
}

/// A caller that sends nothing has lost its line on the way: that is an error, not success.
fn empty_line(w: &World) -> Outcome {
    control(w)?;
    for line in ["", "   ", "\n"] {
        let ran = w.allowed()?.line(line)?;
        ran.exits(125)?.says("empty")?;
    }
    Ok(())
}

fn syntax_error(w: &World) -> Outcome {
    control(w)?;
    let ran = w
        .allowed()?
        .prefix(&["setsid", "-w"])
        .line("touch made; fi (")?;
    expect(
        matches!(ran.code, Some(125 | 126)),
        format!("expected a refusal: {ran}"),
    )?;
    nothing_ran(w)
}

/// A state folder on a file system of 64 KiB that is filled up. Decisions that still fit may be written,
/// and their commands run; the first that does not fit must stop its command.
fn full_disk(w: &World) -> Outcome {
    control(w)?;
    let state = w.state.display();
    let binary = w.binary.display();
    let policy = w.top.join("policy.toml");
    let ws = w.ws.display();
    let run = format!(
        "{binary} run --policy {} --workspace {ws} -c \"touch made-$i\"",
        policy.display()
    );
    let line = format!(
        "mount -t tmpfs -o size=64k,mode=777 tmpfs {state} || exit 77
         drop() {{ setpriv --ambient-caps -all --inh-caps -all \"$@\"; }}
         i=0; drop {run} || exit 1
         test -e made-0 || exit 2
         cat /dev/zero >> {state}/fill 2> /dev/null
         i=1
         while [ $i -lt 60 ]; do
             drop {run}; code=$?
             if test -e made-$i; then
                 grep -q made-$i {state}/tipstaff/audit.jsonl || exit 3
             else
                 break
             fi
             i=$((i+1))
         done
         exit $code"
    );
    let mut command = w.plain("unshare");
    if !w.root() {
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    // The rights that mounting needs are dropped again before the program under test starts.
    command.args(["--mount", "sh", "-c", &line]);
    let ran =
        process::start(command, &w.logs())?.end_within(std::time::Duration::from_secs(120))?;
    if ran.err.contains("unshare: ") || ran.code == Some(77) {
        return skip(format!(
            "no file system can be mounted here: {}",
            ran.err.trim()
        ));
    }
    ran.exits(125)?.says("No space left on device")?;
    Ok(())
}

fn log_that_cannot_be_written(w: &World) -> Outcome {
    control(w)?;
    let folder = w.state.join("tipstaff");
    fs::rename(&folder, w.top.join("old-state"))?;
    // A file where the folder should be stops root as well.
    fs::write(&folder, "")?;
    let ran = w.allowed()?.line("touch made")?;
    ran.exits(125)?;
    nothing_ran(w)
}

fn approver_that_fails(w: &World) -> Outcome {
    w.asked("allow")?.line("touch made")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control did not run")?;
    fs::remove_file(w.ws.join("made"))?;
    let answers = [
        ("exits with an error", "allow; exit 3"),
        ("is killed", "allow; kill -9 $$"),
        ("says nothing", "true"),
        ("says something else", "echo yes"),
        ("says two things", "allow; deny"),
        (
            "answers another question",
            "echo '{\"object\":\"#000000000000\",\"decision\":\"allow\"}'",
        ),
    ];
    for (what, script) in answers {
        let ran = w.asked(script)?.line("touch made")?;
        expect(
            ran.code == Some(126),
            format!("approver {what}: expected exit 126: {ran}"),
        )?;
        ran.says("approver-error")?;
        nothing_ran(w)?;
    }
    let ran = w
        .policy(ASK_ALL)?
        .option("--approver", "/no/such/approver")
        .line("touch made")?;
    expect(
        matches!(ran.code, Some(125 | 126)),
        format!("expected a refusal: {ran}"),
    )?;
    nothing_ran(w)
}

/// The harness starts the program under test behind a filter of its own that answers ENOSYS.
fn without(w: &World, what: &str, named: &str, remedy: &str) -> Outcome {
    control(w)?;
    let hide = std::env::current_exe()?.display().to_string();
    let prefix = [hide.as_str(), "--without", what];
    // The filter itself must not be what stops the command.
    let mut plain = w.plain(&hide);
    plain.args(["--without", what, "./probe", "status"]);
    let probe = process::start(plain, &w.logs())?.end()?;
    probe.exits(0)?;
    let attempts = [
        w.allowed()?.prefix(&prefix),
        w.allowed()?.option("--mode", "bypass").prefix(&prefix),
        w.asked("allow")?.prefix(&prefix),
    ];
    let mut answers = Vec::new();
    for attempt in attempts {
        let ran = attempt.line("touch made")?;
        nothing_ran(w)?;
        answers.push(ran);
    }
    for ran in &answers {
        ran.exits(125)?;
    }
    let Some(first) = answers.first() else {
        return fail("nothing was tried");
    };
    first.says(named)?.says(remedy)?;
    expect(
        w.times_asked() == 0,
        "somebody was asked about what cannot be confined",
    )?;
    let doctor = {
        let mut command = w.plain(&hide);
        command
            .args(["--without", what])
            .arg(&w.binary)
            .arg("doctor");
        process::start(command, &w.logs())?.end()?
    };
    expect(
        doctor.code != Some(0),
        format!("doctor is content: {doctor}"),
    )
}

fn no_landlock(w: &World) -> Outcome {
    without(w, "landlock", "Landlock", "Linux 6.2 or newer")
}

fn no_seccomp(w: &World) -> Outcome {
    if !w.apart {
        return skip("the namespaces are hidden by a seccomp filter here");
    }
    without(w, "seccomp", "seccomp", "CONFIG_SECCOMP_FILTER")
}
