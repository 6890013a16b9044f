//! Live rules: what is written into a policy while a question is open counts for that question.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::process::{self, Ran};
use crate::harness::world::{ASK_ALL, World};
use crate::harness::{Case, Outcome, case, expect};

pub const CASES: &[Case] = &[
    case("live_deny_ends_the_open_question", 5, deny_ends),
    case(
        "live_deny_beats_an_answer_on_its_heels",
        5,
        deny_beats_answer,
    ),
    case("live_allow_counts_once_it_stands_still", 1, allow_counts),
    case(
        "live_allow_taken_back_at_once_counts_nothing",
        1,
        allow_taken_back,
    ),
    case(
        "live_comment_leaves_the_question_open",
        1,
        comment_is_nothing,
    ),
    case("live_ask_is_asked_again", 1, asked_again),
    case("live_narrower_run_is_set_up_anew", 2, narrower_run),
    case("live_narrower_rule_is_set_up_anew", 2, narrower_rule),
    case("live_broken_policy_refuses", 6, broken),
    case("live_vanished_layer_refuses", 6, vanished),
];

const LINE: &str = "touch made";

/// The policy allowing `LINE`.
const ALLOWS: &str = "version = 1\n[permissions]\nallow = [\"touch\"]\n";
/// The policy denying it.
const DENIES: &str = "version = 1\n[permissions]\ndeny = [\"touch\"]\n";

/// Writes `text` as an editor does: beside the policy, then over it.
fn writes(text: &str) -> String {
    format!("printf '%s' '{text}' > p.new && chmod 600 p.new && mv p.new policy.toml")
}

/// Longer than any of this takes: an approver that is not cancelled gives the wrong answer.
const WAITS: &str = "sleep 60";

fn run(w: &World, script: &str) -> Outcome<Ran> {
    // Without the script's change the answer decides: the control.
    w.asked("allow")?.line(LINE)?.exits(0)?;
    w.asked("deny")?.line(LINE)?.exits(126)?.says("refused")?;
    fs::remove_file(w.ws.join("made"))?;
    w.forget_questions()?;
    w.asked(script)?.line(LINE)
}

fn asked(w: &World, times: usize) -> Outcome {
    expect(
        w.times_asked() == times,
        format!("asked {} times, not {times}", w.times_asked()),
    )
}

fn made(w: &World, wanted: bool) -> Outcome {
    let there = w.ws.join("made").exists();
    expect(there == wanted, format!("the file is there: {there}"))
}

fn deny_ends(w: &World) -> Outcome {
    let script = format!("{}\n{WAITS}\nallow", writes(DENIES));
    run(w, &script)?.exits(126)?.says("rule-deny")?;
    made(w, false)?;
    asked(w, 1)?;
    expect(
        w.audit_text().contains("rule-deny"),
        "the denial is not recorded",
    )
}

fn deny_beats_answer(w: &World) -> Outcome {
    let script = format!("{}\nallow", writes(DENIES));
    run(w, &script)?.exits(126)?.says("rule-deny")?;
    made(w, false)
}

fn allow_counts(w: &World) -> Outcome {
    let script = format!("{}\n{WAITS}\ndeny", writes(ALLOWS));
    run(w, &script)?.exits(0)?;
    made(w, true)?;
    asked(w, 1)?;
    expect(
        w.audit_text().contains("rule-allow"),
        "it did not run by the rule",
    )
}

fn allow_taken_back(w: &World) -> Outcome {
    let script = format!(
        "for n in 1 2 3 4; do {}; sleep 0.6; {}; sleep 0.4; done\ndeny",
        writes(ALLOWS),
        writes(ASK_ALL)
    );
    run(w, &script)?.exits(126)?.says("refused")?;
    made(w, false)?;
    asked(w, 1)
}

fn comment_is_nothing(w: &World) -> Outcome {
    let text = format!("# moved down\n{ASK_ALL}deny = [\"no-such-program\"]\n");
    let script = format!("{}\nsleep 3\nallow", writes(&text));
    run(w, &script)?.exits(0)?;
    made(w, true)?;
    asked(w, 1)
}

fn asked_again(w: &World) -> Outcome {
    let text = format!("{ASK_ALL}ask = [\"touch\"]\n");
    let script = format!(
        "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then allow; exit; fi\n{}\n{WAITS}\ndeny",
        writes(&text)
    );
    run(w, &script)?.exits(0)?;
    made(w, true)?;
    asked(w, 2)?;
    let question = fs::read_to_string(w.top.join("question.json"))?;
    expect(
        question.contains("rule-ask"),
        format!("the second question is the first: {question}"),
    )
}

/// The parked child has the old profile; what starts has the new one.
fn narrower_run(w: &World) -> Outcome {
    let text = format!("{ASK_ALL}[sandbox]\nprofile = \"read-only\"\n");
    let script = format!(
        "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then allow; exit; fi\n{}\n{WAITS}\ndeny",
        writes(&text)
    );
    run(w, &script)?.exits(1)?.says(w.read_only_says())?;
    made(w, false)?;
    asked(w, 2)
}

/// The same for a rule on the command that is asked about.
fn narrower_rule(w: &World) -> Outcome {
    let text = format!(
        "{ASK_ALL}[[rule]]\nverdict = \"ask\"\ncommands = [\"touch\"]\nsandbox = \"read-only\"\n"
    );
    let script = format!(
        "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then allow; exit; fi\n{}\n{WAITS}\ndeny",
        writes(&text)
    );
    run(w, &script)?.exits(1)?.says(w.read_only_says())?;
    made(w, false)?;
    asked(w, 2)
}

fn broken(w: &World) -> Outcome {
    for text in [
        "version = 1\nmoed = \"plan\"\n",
        "version = 1\n[permissions\n",
        "",
    ] {
        let script = format!("{}\n{WAITS}\nallow", writes(text));
        run(w, &script)?.exits(125)?.says("policy-invalid")?;
        made(w, false)?;
        asked(w, 1)?;
    }
    Ok(())
}

fn vanished(w: &World) -> Outcome {
    run(w, &format!("rm policy.toml\n{WAITS}\nallow"))?
        .exits(125)?
        .says("policy-invalid")?;
    made(w, false)?;
    // A layer of the user, without which there still would be a policy: one that allows more.
    let folder = w.top.join("home/.config/tipstaff");
    fs::create_dir_all(&folder)?;
    let file = folder.join("policy.toml");
    fs::write(&file, ASK_ALL)?;
    for path in [&folder, &w.top.join("home/.config"), &w.top.join("home")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    let approver = w.approver(&format!("rm '{}'\n{WAITS}\nallow", file.display()))?;
    let mut command = w.plain(&w.binary);
    command.args(["run", "--approver", &approver, "-c", LINE]);
    let ran = process::start(command, &w.logs())?.end()?;
    ran.exits(125)?.says("policy-invalid")?.says("is gone")?;
    made(w, false)
}
