//! Attacks on the gate itself: what changes between judging and running never runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::world::{ALLOW_ALL, World, YES};
use crate::harness::{Case, Outcome, case, expect, process};

pub const CASES: &[Case] = &[
    case("argv_race", 1, argv_race),
    case(
        "program_swapped_while_its_exec_waits",
        1,
        swapped_while_waiting,
    ),
    case("memory_of_another_process", 1, memory_of_another),
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
        w.asked(YES)?.line("x=./tool; $x")?.exits(0)?;
        expect(w.ws.join("original").exists(), "the control did not run")?;
        fs::remove_file(w.ws.join("original"))?;
        w.forget_questions()?;
        let ran = w.asked(&second(swap))?.line("x=./tool; $x")?;
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
        let line = "x=./tool; $x; echo \"rc=$?\"";
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

/// With the supervisor gone nothing further starts: an exec that waits fails, and so does any later one.
fn killed_while_waiting(w: &World) -> Outcome {
    let line =
        "x=touch; trap '' TERM HUP; (while :; do $x late; done) 2> /dev/null & $x made; wait";
    let asks = "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then sleep 60; fi; allow";
    let mut started = w.asked(asks)?.start_line(line)?;
    process::until("an exec waits for an answer", || w.times_asked() >= 2)?;
    started.kill()?;
    started.end()?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    for name in ["made", "late"] {
        expect(!w.ws.join(name).exists(), format!("{name} was made"))?;
    }
    w.asked(YES)?.line("x=touch; $x made")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")
}
