//! The question on a terminal: what a key does, and that an interrupted one starts nothing.

use nix::sys::signal::Signal;

use crate::harness::process::Started;
use crate::harness::terminal::Terminal;
use crate::harness::world::{ASK_ALL, World};
use crate::harness::{Case, Outcome, case, expect, terminal};

pub const CASES: &[Case] = &[
    case("answered_on_the_terminal", 1, answered_on_the_terminal),
    case("exec_answered_on_the_terminal", 1, exec_answered),
    case("typed_before_the_question_counts_nothing", 1, typed_before),
    case("resized_window_answers_nothing", 1, resized_window),
    case(
        "interrupt_during_the_question",
        6,
        interrupt_during_the_question,
    ),
    case("terminal_closed_during_the_question", 6, terminal_closed),
    case("nobody_to_ask", 6, nobody_to_ask),
];

/// Its name stands in the question and nowhere before it.
const LINE: &str = "touch made-by-hand";

fn answered_on_the_terminal(w: &World) -> Outcome {
    for (keys, code, made) in [
        ("y\n", 0, true),
        ("n not today\n", 126, false),
        ("x\n", 130, false),
    ] {
        let run = w.policy(ASK_ALL)?;
        let (mut terminal, mut started) = terminal::start(&run.command(&["-c", LINE]), &w.logs())?;
        terminal.await_prompt(&mut started)?;
        expect(
            !w.ws.join("made-by-hand").exists(),
            "it ran before it was asked about",
        )?;
        terminal.types(keys)?;
        terminal.end(started)?.exits(code)?;
        let there = w.ws.join("made-by-hand").exists();
        expect(
            there == made,
            format!("after `{}` the file is there: {there}", keys.trim()),
        )?;
        std::fs::remove_file(w.ws.join("made-by-hand")).ok();
    }
    Ok(())
}

/// The command runs already when it turns out what it wants to start; the terminal is the person's again
/// while they are asked.
fn exec_answered(w: &World) -> Outcome {
    let line = "x=$(printf touch); $x made-by-hand";
    for (keys, code, made) in [("y\n", 0, true), ("n\n", 126, false), ("x\n", 130, false)] {
        let run = w.policy(ASK_ALL)?;
        let (mut terminal, mut started) = terminal::start(&run.command(&["-c", line]), &w.logs())?;
        terminal.await_prompt(&mut started)?;
        terminal.types("y\n")?;
        terminal.await_news(&mut started)?;
        expect(
            !w.ws.join("made-by-hand").exists(),
            "it ran before it was asked about",
        )?;
        terminal.types(keys)?;
        terminal.end(started)?.exits(code)?;
        let there = w.ws.join("made-by-hand").exists();
        expect(
            there == made,
            format!("after `{}` the file is there: {there}", keys.trim()),
        )?;
        std::fs::remove_file(w.ws.join("made-by-hand")).ok();
    }
    Ok(())
}

/// A yes that was in the terminal's buffer answers no question the person has seen.
fn typed_before(w: &World) -> Outcome {
    let run = w
        .policy(ASK_ALL)?
        .prefix(&["sh", "-c", "sleep 0.3; exec \"$@\"", "sh"]);
    let (mut terminal, mut started) = terminal::start(&run.command(&["-c", LINE]), &w.logs())?;
    terminal.types("y\n")?;
    terminal.await_prompt(&mut started)?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    expect(
        started.running()?,
        format!("it did not wait for an answer: {}", terminal.shown()),
    )?;
    expect(!w.ws.join("made-by-hand").exists(), "the early yes counted")?;
    terminal.types("n\n")?;
    terminal.end(started)?.exits(126)?;
    expect(!w.ws.join("made-by-hand").exists(), "it ran")
}

fn interrupt_during_the_question(w: &World) -> Outcome {
    for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        cancelled(w, |_, started| started.signal(signal))?;
    }
    // The same from the keyboard: Ctrl-C and Ctrl-\.
    for key in ["\u{3}", "\u{1c}"] {
        cancelled(w, |terminal, _| terminal.types(key))?;
    }
    Ok(())
}

/// Asks, lets `stop` happen, and demands that nothing ran or is left, and that the record says so.
fn cancelled(w: &World, stop: impl FnOnce(&mut Terminal, &mut Started) -> Outcome) -> Outcome {
    let before = w.audit_text().matches("\"cancelled\"").count();
    let run = w.policy(ASK_ALL)?;
    let (mut terminal, mut started) = terminal::start(&run.command(&["-c", LINE]), &w.logs())?;
    terminal.await_prompt(&mut started)?;
    stop(&mut terminal, &mut started)?;
    terminal.end(started)?.exits(130)?;
    expect(!w.ws.join("made-by-hand").exists(), "it ran")?;
    expect(
        w.alive().is_empty(),
        format!("still alive: {:?}", w.alive()),
    )?;
    expect(
        w.audit_text().matches("\"cancelled\"").count() > before,
        "the cancellation is not recorded",
    )
}

/// A window that is resized while the question stands there is no answer.
fn resized_window(w: &World) -> Outcome {
    let run = w.policy(ASK_ALL)?;
    let (mut terminal, mut started) = terminal::start(&run.command(&["-c", LINE]), &w.logs())?;
    terminal.await_prompt(&mut started)?;
    started.signal(Signal::SIGWINCH)?;
    std::thread::sleep(std::time::Duration::from_millis(200));
    expect(
        started.running()?,
        format!("the question was cancelled: {}", started.message()),
    )?;
    terminal.types("y\n")?;
    terminal.end(started)?.exits(0)?;
    expect(w.ws.join("made-by-hand").exists(), "it did not run")
}

fn terminal_closed(w: &World) -> Outcome {
    let run = w.policy(ASK_ALL)?;
    let (mut terminal, mut started) = terminal::start(&run.command(&["-c", LINE]), &w.logs())?;
    terminal.await_prompt(&mut started)?;
    drop(terminal);
    started.end()?.exits(130)?;
    expect(!w.ws.join("made-by-hand").exists(), "it ran")?;
    expect(
        w.alive().is_empty(),
        format!("still alive: {:?}", w.alive()),
    )
}

/// No terminal, no approver: refused, with what to do.
fn nobody_to_ask(w: &World) -> Outcome {
    w.asked("allow")?.line(LINE)?.exits(0)?;
    std::fs::remove_file(w.ws.join("made-by-hand"))?;
    // setsid: no terminal of the tester's own is borrowed.
    let ran = w.policy(ASK_ALL)?.prefix(&["setsid", "-w"]).line(LINE)?;
    ran.exits(126)?.says("no-approver")?.says("--approver")?;
    expect(!w.ws.join("made-by-hand").exists(), "it ran")
}
