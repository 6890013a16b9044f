//! Attacks on the gate itself: what changes between judging and running never runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::world::{ALLOW_ALL, World, YES};
use crate::harness::{Case, Outcome, case, expect, process, skip};

pub const CASES: &[Case] = &[
    case("argv_race", 1, argv_race),
    case(
        "program_swapped_while_its_exec_waits",
        1,
        swapped_while_waiting,
    ),
    case("memory_of_another_process", 1, memory_of_another),
    case("digest_that_no_time_betrays", 5, forged_digest),
    case("overlay_that_freezes_nothing", 1, overlay),
    case(
        "supervisor_killed_while_an_exec_waits",
        6,
        killed_while_waiting,
    ),
];

/// How often the race is run: 200 times, or `ENFORCE_RACES`. Without the comparison after the exec one in
/// eight is lost.
fn races() -> u32 {
    let chosen = std::env::var("ENFORCE_RACES").ok();
    chosen.and_then(|times| times.parse().ok()).unwrap_or(200)
}

/// Races of one run of the program under test.
const PIECE: u32 = 100;

/// One thread executes a path that another flips between an allowed and a denied program. Control: both
/// run. Attack: the denied one never does.
fn argv_race(w: &World) -> Outcome {
    for (from, to) in [("/bin/true", "ragood"), ("/bin/false", "raevil")] {
        fs::copy(from, w.ws.join(to))?;
    }
    let count = |tried: &crate::harness::world::Tried, name: &str| -> Outcome<u64> {
        Ok(tried.fact(name)?.as_u64().unwrap_or(u64::MAX))
    };
    let control = w.control(&["exec-race", "200"])?;
    control.ok()?;
    expect(
        count(&control, "evil")? > 0,
        "the control never lost the race",
    )?;
    let approver = w.approver(YES)?;
    let policy = format!("{ALLOW_ALL}deny = [\"raevil\"]\n");
    let run = w.policy(&policy)?.option("--approver", &approver);
    for _ in 0..races().div_ceil(PIECE) {
        let tried = run.attack(&["exec-race", &PIECE.to_string()])?;
        tried.ok()?.is("evil", "0")?;
        expect(
            count(&tried, "good")? > 0,
            "the allowed program never ran either",
        )?;
    }
    Ok(())
}

/// The person looks at one file; by the time they say yes another stands there, or its bytes are others.
fn swapped_while_waiting(w: &World) -> Outcome {
    let put = |name: &str, made: &str| -> Outcome {
        let path = w.ws.join(name);
        fs::write(&path, format!("#!/bin/sh\n: > {made}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    };
    let second =
        |swap: &str| format!("if [ \"$(wc -l < asked.log)\" -eq 2 ]; then {swap}; fi; allow");
    for swap in [
        "cp ws/evil ws/new; chmod 755 ws/new; mv ws/new ws/tool",
        "cat ws/evil > ws/tool",
    ] {
        put("tool", "original")?;
        put("evil", "swapped")?;
        w.asked(YES)?.line("x=$(printf ./tool); $x")?.exits(0)?;
        expect(w.ws.join("original").exists(), "the control did not run")?;
        fs::remove_file(w.ws.join("original"))?;
        w.forget_questions()?;
        let ran = w.asked(&second(swap))?.line("x=$(printf ./tool); $x")?;
        for name in ["original", "swapped"] {
            expect(
                !w.ws.join(name).exists(),
                format!("the {name} program ran after `{swap}`: {ran}"),
            )?;
        }
        ran.says("call-changed")?;
        w.forget_questions()?;
    }
    // A binary, edited in place and replaced.
    for swap in [
        "cp /bin/false ws/new; chmod 755 ws/new; mv ws/new ws/tool",
        "cat /bin/false > ws/tool",
    ] {
        fs::copy("/bin/true", w.ws.join("tool"))?;
        let line = "x=$(printf ./tool); $x; echo \"rc=$?\"";
        let control = w.asked(YES)?.line(line)?;
        expect(
            control.out.contains("rc=0"),
            format!("the control: {control}"),
        )?;
        w.forget_questions()?;
        let ran = w.asked(&second(swap))?.line(line)?;
        expect(
            !ran.out.contains("rc=0") && !ran.out.contains("rc=1\n"),
            format!("one of the two ran after `{swap}`: {ran}"),
        )?;
        ran.says("call-changed")?;
        w.forget_questions()?;
    }
    Ok(())
}

/// A sibling could rewrite what was just compared.
fn memory_of_another(w: &World) -> Outcome {
    let control = w.shell("sleep 5 & ./probe memory-of $!; kill $!")?;
    let open = |text: &str| -> Option<Value> {
        serde_json::from_str::<Value>(text.trim())
            .ok()?
            .get("errno")
            .cloned()
    };
    // Without a sandbox the memory opens, and nothing is mapped at 0.
    expect(
        open(&control.out) == Some("EIO".into()),
        format!("the control: {control}"),
    )?;
    let ran = w
        .asked(YES)?
        .line("sleep 5 & ./probe memory-of $!; kill $!")?;
    expect(
        open(&ran.out) == Some("EACCES".into()),
        format!("expected EACCES: {ran}"),
    )
}

/// The bytes change and nothing that stat(2) tells does: a digest that was remembered would lie.
fn forged_digest(w: &World) -> Outcome {
    let mut tool = fs::read("/bin/true")?;
    tool.push(0);
    let mut forged = tool.clone();
    if let Some(last) = forged.last_mut() {
        *last = 1;
    }
    let lay = || -> Outcome {
        fs::write(w.ws.join("tool"), &tool)?;
        fs::set_permissions(w.ws.join("tool"), fs::Permissions::from_mode(0o755))?;
        Ok(())
    };
    lay()?;
    fs::write(w.ws.join("forged"), &forged)?;
    let sum = w.shell("sha256sum forged")?;
    let digest = sum.out.split_whitespace().next().unwrap_or_default();
    // Control: what was forged starts, and ends well.
    let control = w.asked(YES)?.argv(&["./probe", "exec-forged", "./tool"])?;
    if control.out.contains("ESTALE") {
        return skip("this file system moves the times of a dirty page");
    }
    control.exits(0)?;
    expect(control.out.is_empty(), format!("the control: {control}"))?;
    lay()?;
    let approver = w.approver(YES)?;
    let policy = format!("{ALLOW_ALL}deny = [\"sha256:{digest}\"]\n");
    let run = w.policy(&policy)?.option("--approver", &approver);
    run.attack(&["exec-forged", "./tool"])?.errno("EACCES")?;
    Ok(())
}

/// On overlayfs a program that is mapped for writing can be executed, and changed after it was compared:
/// its digest allows nothing there.
fn overlay(w: &World) -> Outcome {
    if !w.root() {
        return skip("only root can mount an overlay");
    }
    let ws = w.ws.display().to_string();
    let policy =
        |digest: &str| format!("version = 1\n[permissions]\nallow = [\"sha256:{digest}\"]\n");
    fs::copy("/bin/true", w.ws.join("tool"))?;
    let sum = w.shell("sha256sum tool")?;
    let digest = sum
        .out
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    w.policy(&policy(&digest))?.line("./tool")?.exits(0)?;
    let file = w.top.join("policy.toml").display().to_string();
    let line = format!(
        "mount -t tmpfs tmpfs /mnt && mkdir /mnt/lower /mnt/upper /mnt/work && cp {ws}/tool /mnt/lower && \
         mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work overlay {ws} && \
         touch {ws}/tool && cd {ws} && {} run --policy {file} --workspace {ws} -c ./tool",
        w.binary.display()
    );
    let mut fenced = w.plain("unshare");
    fenced.args(["--mount", "sh", "-c", &line]);
    let ran = process::start(fenced, &w.logs())?.end()?;
    if ran.err.contains("mount:") {
        return skip(format!("no overlay here: {}", ran.err.trim()));
    }
    ran.exits(126)?.says("unmatched")?;
    Ok(())
}

/// With the supervisor gone nothing further starts: an exec that waits fails, and so does any later one.
fn killed_while_waiting(w: &World) -> Outcome {
    let line = "x=$(printf touch); trap '' TERM HUP; (while :; do $x late; done) 2> /dev/null & $x made; wait";
    let asks = "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then sleep 60; fi; allow";
    let mut started = w.asked(asks)?.start_line(line)?;
    process::until("an exec waits for an answer", || w.times_asked() >= 2)?;
    started.kill()?;
    started.end()?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    // What the command had started lives on in its sandbox, as SECURITY.md says; not after this case.
    for pid in w.alive() {
        let pid = nix::unistd::Pid::from_raw(pid);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).ok();
    }
    for name in ["made", "late"] {
        expect(!w.ws.join(name).exists(), format!("{name} was made"))?;
    }
    w.asked(YES)?.line("x=$(printf touch); $x made")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")
}
