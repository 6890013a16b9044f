//! From start to end: exit statuses, limits, and nobody left behind.

use std::time::Duration;

use crate::harness::world::{World, YES};
use crate::harness::{Case, Outcome, Red, case, expect};

pub const CASES: &[Case] = &[
    case("exit_status_passes_through", 1, exit_status_passes_through).red(Red::Refusing),
    case("output_passes_untouched", 1, output_passes_untouched).red(Red::Refusing),
    case("argv_passes_unchanged", 1, argv_passes_unchanged).red(Red::Refusing),
    case(
        "timeout_kills_a_child_that_left_its_session",
        2,
        timeout_kills_the_tree,
    ),
    case("leftovers_are_killed", 2, leftovers_are_killed),
    case("a_child_that_forks_away_is_found", 2, forking_away),
    case("missing_program", 6, missing_program),
];

fn exit_status_passes_through(w: &World) -> Outcome {
    let run = w.allowed()?;
    run.line("true")?.exits(0)?;
    run.line("exit 7")?.exits(7)?;
    run.line("false")?.exits(1)?;
    run.argv(&["false"])?.exits(1)?;
    // A shell that kills itself is reported as shells report it.
    run.line("kill -TERM $$")?.exits(143)?;
    Ok(())
}

/// On allow not one byte is added.
fn output_passes_untouched(w: &World) -> Outcome {
    let ran = w.allowed()?.line("printf 'a\\0b'; printf e >&2")?;
    ran.exits(0)?;
    expect(
        ran.out == "a\0b" && ran.err == "e",
        format!("output changed: {ran}"),
    )
}

fn argv_passes_unchanged(w: &World) -> Outcome {
    let ran = w
        .allowed()?
        .argv(&["printf", "%s|", "-n", "", "a b", "$HOME", "\n", "*", "ünï"])?;
    ran.exits(0)?;
    expect(
        ran.out == "-n||a b|$HOME|\n|*|ünï|",
        format!("argv changed: {ran}"),
    )
}

/// Both lines make a file late, from a child that left session and parent.
const LATE: &str = "setsid -f sh -c 'sleep 2; echo late > late' > /dev/null 2>&1 < /dev/null";

fn no_late_file(w: &World) -> Outcome {
    expect(
        w.alive().is_empty(),
        format!("still alive: {:?}", w.alive()),
    )?;
    std::thread::sleep(Duration::from_millis(2300));
    expect(
        !w.ws.join("late").exists(),
        "the child lived on and wrote its file",
    )
}

fn control_is_late(w: &World, line: &str) -> Outcome {
    w.shell(line)?;
    crate::harness::process::until("the control's file appears", || w.ws.join("late").exists())?;
    std::fs::remove_file(w.ws.join("late"))?;
    Ok(())
}

fn timeout_kills_the_tree(w: &World) -> Outcome {
    control_is_late(w, &format!("{LATE}; sleep 0.1"))?;
    let ran = w
        .allowed()?
        .option("--timeout", "1s")
        .line(&format!("{LATE}; sleep 20"))?;
    ran.exits(124)?;
    no_late_file(w)
}

fn leftovers_are_killed(w: &World) -> Outcome {
    control_is_late(w, LATE)?;
    w.allowed()?.line(&format!("{LATE}; true"))?.exits(0)?;
    no_late_file(w)
}

/// Forks, leaves its parent and forks again, so that no list of children taken once holds it.
fn forking_away(w: &World) -> Outcome {
    // On a busy machine the run itself takes seconds, so its children wait longer than the control's.
    let line = |seconds: u8| {
        format!(
            "hop() {{ i=0; while [ $i -lt 40 ]; do i=$((i+1)); ( ( sleep {seconds}; echo late > late ) & ) ; \
             sleep 0.05; done; }}; ( hop & ) > /dev/null 2>&1 < /dev/null; sleep 0.3"
        )
    };
    control_is_late(w, &line(2))?;
    crate::harness::process::until("the control has ended", || w.alive().is_empty())?;
    std::fs::remove_file(w.ws.join("late")).ok();
    w.asked(YES)?.line(&line(120))?.exits(0)?;
    no_late_file(w)
}

fn missing_program(w: &World) -> Outcome {
    let run = w.asked(YES)?;
    let ran = run.argv(&["no-such-program"])?;
    ran.exits(127)?.says("no-such-program")?;
    expect(
        w.audit_text().contains("no-such-program"),
        "the refusal is not recorded",
    )
}
