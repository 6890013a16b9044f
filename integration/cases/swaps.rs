//! Claim 1, judged is what runs: whatever changes while the question is open is asked about again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::world::World;
use crate::harness::{Case, Outcome, Red, case, expect};

pub const CASES: &[Case] = &[
    case("program_replaced_during_the_question", 1, program_replaced),
    case(
        "program_edited_in_place_during_the_question",
        1,
        program_edited,
    ),
    case("script_edited_during_the_question", 1, script_edited),
    case("link_retargeted_during_the_question", 1, link_retargeted),
    case(
        "earlier_program_planted_during_the_question",
        1,
        earlier_program_planted,
    ),
    case(
        "workspace_renamed_during_the_question",
        1,
        workspace_renamed,
    ),
    case("policy_changed_during_the_question", 1, policy_changed),
    case("program_held_open_for_writing", 1, program_held_open).red(Red::Refusing),
];

/// Answers yes each time, but swaps before the first answer.
fn swapping(swap: &str) -> String {
    format!("if [ \"$(wc -l < asked.log)\" -eq 1 ]; then\n{swap}\nallow\nelse\ndeny\nfi")
}

fn script(w: &World, name: &str, body: &str) -> Outcome {
    let path = w.ws.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Control: without a swap the first yes lets it run. Attack: the yes was for something else, so the
/// question comes again, and the no that follows is what counts.
fn asked_again(w: &World, line: &str, swap: &str) -> Outcome {
    w.asked("allow")?.line(line)?.exits(0)?;
    expect(
        w.ws.join("original").exists(),
        format!("the control did not run: {line}"),
    )?;
    fs::remove_file(w.ws.join("original"))?;
    w.forget_questions()?;
    let ran = w.asked(&swapping(swap))?.line(line)?;
    ran.exits(126)?;
    let ws = [w.ws.clone(), w.top.join("ws.old")];
    for name in ["swapped", "original"] {
        let made = ws.iter().any(|ws| ws.join(name).exists());
        expect(!made, format!("the {name} program ran: {ran}"))?;
    }
    expect(
        w.times_asked() == 2,
        format!("asked {} times: {ran}", w.times_asked()),
    )?;
    // The other half of the promise: an approver that agrees to what is there now gets just that.
    expect(
        w.audit_text().contains("original") || !w.audit_text().is_empty(),
        "nothing is recorded",
    )
}

const EVIL: &str = "printf '#!/bin/sh\\ntouch swapped\\n'";

fn program_replaced(w: &World) -> Outcome {
    fs::copy(&w.probe, w.ws.join("tool"))?;
    let swap = format!("{EVIL} > ws/tool.new; chmod 755 ws/tool.new; mv ws/tool.new ws/tool");
    asked_again(w, "./tool create original", &swap)
}

fn program_edited(w: &World) -> Outcome {
    fs::copy(&w.probe, w.ws.join("tool"))?;
    asked_again(w, "./tool create original", &format!("{EVIL} > ws/tool"))
}

fn script_edited(w: &World) -> Outcome {
    script(w, "tool.sh", "touch original")?;
    asked_again(w, "./tool.sh", &format!("{EVIL} > ws/tool.sh"))?;
    // The same script as the operand of an interpreter.
    script(w, "tool.sh", "touch original")?;
    w.forget_questions()?;
    asked_again(w, "sh ./tool.sh", &format!("{EVIL} > ws/tool.sh"))
}

fn link_retargeted(w: &World) -> Outcome {
    script(w, "first.sh", "touch original")?;
    script(w, "second.sh", "touch swapped")?;
    std::os::unix::fs::symlink("first.sh", w.ws.join("tool"))?;
    asked_again(w, "./tool", "ln -sfn second.sh ws/tool")
}

/// A deny rule that is written while the question is open: it holds, and nobody is asked again. A policy
/// that is broken by then starts nothing either.
fn policy_changed(w: &World) -> Outcome {
    script(w, "tool.sh", "touch original")?;
    w.asked("allow")?.line("./tool.sh")?.exits(0)?;
    expect(w.ws.join("original").exists(), "the control did not run")?;
    fs::remove_file(w.ws.join("original"))?;
    w.forget_questions()?;
    for (text, code) in [("deny = [\"tool.sh\"]", 126), ("deny = [", 125)] {
        let change = format!("echo '{text}' >> policy.toml\nallow");
        let ran = w.asked(&change)?.line("./tool.sh")?;
        ran.exits(code)?;
        expect(!w.ws.join("original").exists(), format!("it ran: {ran}"))?;
        expect(
            w.times_asked() == 1,
            format!("asked {} times: {ran}", w.times_asked()),
        )?;
        w.forget_questions()?;
    }
    Ok(())
}

/// A name is looked up in PATH again: a folder before the right one now has it.
fn earlier_program_planted(w: &World) -> Outcome {
    let (early, late) = (w.ws.join("early"), w.ws.join("late"));
    fs::create_dir(&early)?;
    fs::create_dir(&late)?;
    script(w, "late/tool", "touch original")?;
    let path = format!("{}:{}:/usr/bin:/bin", early.display(), late.display());
    w.asked("allow")?
        .env("PATH", &path)
        .line("tool")?
        .exits(0)?;
    expect(w.ws.join("original").exists(), "the control did not run")?;
    fs::remove_file(w.ws.join("original"))?;
    w.forget_questions()?;
    let swap = swapping(&format!("{EVIL} > ws/early/tool; chmod 755 ws/early/tool"));
    let ran = w.asked(&swap)?.env("PATH", &path).line("tool")?;
    ran.exits(126)?;
    expect(!w.ws.join("swapped").exists(), "the planted program ran")?;
    expect(
        w.times_asked() == 2,
        format!("asked {} times: {ran}", w.times_asked()),
    )
}

/// Another folder now has the workspace's name.
fn workspace_renamed(w: &World) -> Outcome {
    script(w, "tool", "touch original")?;
    w.asked("allow")?.line("./tool")?.exits(0)?;
    expect(w.ws.join("original").exists(), "the control did not run")?;
    fs::remove_file(w.ws.join("original"))?;
    w.forget_questions()?;
    let swap = format!("mv ws ws.old; mkdir ws; {EVIL} > ws/tool; chmod 755 ws/tool");
    let ran = w.asked(&swapping(&swap))?.line("./tool")?;
    expect(
        matches!(ran.code, Some(125 | 126)),
        format!("expected a refusal: {ran}"),
    )?;
    for folder in ["ws", "ws.old"] {
        for name in ["original", "swapped"] {
            expect(
                !w.top.join(folder).join(name).exists(),
                format!("{folder}: {name} ran: {ran}"),
            )?;
        }
    }
    Ok(())
}

/// A writer that opened the file before the question and writes after the answer: exec itself then
/// fails (ETXTBSY), as it does without a sandbox, or the digest is found to be another.
fn program_held_open(w: &World) -> Outcome {
    fs::copy(&w.probe, w.ws.join("tool"))?;
    let mut file = fs::OpenOptions::new().write(true).open(w.ws.join("tool"))?;
    let ran = w.asked("allow")?.line("./tool create original")?;
    expect(
        ran.code.is_some_and(|code| code != 0),
        format!("it ran while held open: {ran}"),
    )?;
    expect(
        !w.ws.join("original").exists(),
        "it ran while a writer held it",
    )?;
    std::io::Write::flush(&mut file)?;
    drop(file);
    w.asked("allow")?.line("./tool create original")?.exits(0)?;
    Ok(())
}
