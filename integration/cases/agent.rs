//! Two hundred lines as an agent types them: in bypass nothing is asked and nothing denied starts, in the
//! default mode exactly the committed questions are asked, and nothing denied starts either.

use std::fs;

use crate::harness::world::World;
use crate::harness::{Case, Outcome, case, expect, fail};

pub const CASES: &[Case] = &[
    case("agent_lines_in_bypass", 4, in_bypass),
    case("agent_lines_ask_what_is_committed", 1, by_default),
];

const LINES: &str = include_str!("../agent/lines.txt");
const POLICY: &str = include_str!("../agent/policy.toml");
const QUESTIONS: &str = include_str!("../agent/questions.txt");

/// The lines with their marks.
fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    LINES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
}

/// Answers yes, and keeps every question.
const KEEPS: &str = "cp question.json \"question-$(wc -l < asked.log).json\"; allow";

/// Runs the lines; gives what was asked about, with the line it was asked for.
fn run(w: &World, mode: &str) -> Outcome<Vec<String>> {
    let approver = w.approver(KEEPS)?;
    let mut asked = Vec::new();
    let mut before = w.times_asked();
    for (number, (marks, line)) in lines().enumerate() {
        let number = number + 1;
        let run = w.policy(POLICY)?;
        let run = run.option("--approver", &approver).option("--mode", mode);
        let ran = run.line(line)?;
        if marks.contains('x') {
            let reached = ran.code == Some(126) || ran.err.contains("rule-deny");
            expect(reached, format!("line {number} was let through: {ran}"))?;
        } else {
            let refused = ran.code == Some(125) || ran.err.contains("did not start");
            expect(!refused, format!("line {number} was held up: {ran}"))?;
        }
        for question in before + 1..=w.times_asked() {
            asked.push(format!("{number} {}", about(w, question)?));
        }
        before = w.times_asked();
    }
    let denied: Vec<_> = fs::read_dir(&w.ws)?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("denied-"))
        .collect();
    expect(denied.is_empty(), format!("it started: {denied:?}"))?;
    // Control: the lines do what they are there for.
    expect(w.ws.join("build/out").exists(), "the build made nothing")?;
    expect(
        w.ws.join("made-by-name").exists(),
        "a dynamic name made nothing",
    )?;
    Ok(asked)
}

/// What a question is about, on one line.
fn about(w: &World, number: usize) -> Outcome<String> {
    let bytes = fs::read(w.top.join(format!("question-{number}.json")))?;
    let question: serde_json::Value = serde_json::from_slice(&bytes)?;
    let Some(lines) = question.get("line").and_then(serde_json::Value::as_array) else {
        return fail(format!("a question without a line: {question}"));
    };
    let lines: Vec<&str> = lines.iter().filter_map(serde_json::Value::as_str).collect();
    Ok(lines.join(" ").replace(&w.ws.display().to_string(), "WS"))
}

fn in_bypass(w: &World) -> Outcome {
    let asked = run(w, "bypass")?;
    expect(asked.is_empty(), format!("asked: {asked:#?}"))
}

fn by_default(w: &World) -> Outcome {
    let asked = run(w, "default")?;
    if let Some(path) = std::env::var_os("ENFORCE_BLESS") {
        fs::write(path, asked.join("\n") + "\n")?;
        return Ok(());
    }
    let committed: Vec<&str> = QUESTIONS.lines().collect();
    for (place, (asked, committed)) in asked.iter().zip(&committed).enumerate() {
        expect(
            asked == committed,
            format!(
                "question {}: `{asked}`, committed is `{committed}`",
                place + 1
            ),
        )?;
    }
    expect(
        asked.len() == committed.len(),
        format!(
            "{} questions, {} are committed",
            asked.len(),
            committed.len()
        ),
    )
}
