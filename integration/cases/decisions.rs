//! Claims 3, 4 and 5: an allow or an approval never lifts the sandbox, bypass needs proof, deny is final.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::world::{ALLOW_ALL, NO, World, YES};
use crate::harness::{Case, Outcome, case, expect};

pub const CASES: &[Case] = &[
    case(
        "allow_by_rule_never_lifts_the_sandbox",
        3,
        allow_never_lifts,
    ),
    case("approval_never_lifts_the_sandbox", 3, approval_never_lifts),
    case("dont_ask_refuses_what_would_be_asked", 3, dont_ask),
    case("bypass_is_refused_below_its_level", 4, bypass_is_refused),
    case("deny_never_starts", 5, deny_never_starts),
    case("deny_by_link_and_copy", 5, deny_by_link_and_copy),
    case("deny_through_carriers", 5, deny_through_carriers),
    case("deny_beats_an_approver_that_says_yes", 5, deny_beats_yes),
    case("refused_by_the_approver", 1, refused_by_the_approver),
    case(
        "approver_finds_nothing_in_the_workspace",
        1,
        approver_finds_nothing_in_the_workspace,
    ),
    case("planted_program_is_not_covered", 1, planted_program),
    case(
        "the_question_shows_what_runs",
        1,
        the_question_shows_what_runs,
    ),
];

fn allow_never_lifts(w: &World) -> Outcome {
    let secret = w.outside_file("secret", "the password")?;
    let line = format!("cat {secret}");
    expect(
        w.shell(&line)?.out == "the password",
        "the control cannot read it",
    )?;
    let ran = w.allowed()?.line(&line)?;
    ran.exits(1)?.says(w.outside_says())?;
    expect(ran.out.is_empty(), format!("the secret came out: {ran}"))
}

fn approval_never_lifts(w: &World) -> Outcome {
    let secret = w.outside_file("secret", "the password")?;
    w.control(&["open-read", &secret])?.ok()?;
    w.attack(&["open-read", &secret])?
        .errno(w.outside_is("EACCES"))?;
    expect(
        w.times_asked() == 1,
        format!("asked {} times", w.times_asked()),
    )
}

fn dont_ask(w: &World) -> Outcome {
    w.asked(YES)?.line("touch control")?.exits(0)?;
    expect(w.ws.join("control").exists(), "the control did not run")?;
    let asked = w.times_asked();
    w.asked(YES)?
        .option("--mode", "dont-ask")
        .line("touch attack")?
        .exits(126)?;
    expect(w.times_asked() == asked, "somebody was asked")?;
    expect(!w.ws.join("attack").exists(), "it ran")
}

/// No level reaches L2 before the gate exists, so no host may run it.
fn bypass_is_refused(w: &World) -> Outcome {
    w.allowed()?.line("touch control")?.exits(0)?;
    expect(w.ws.join("control").exists(), "the control did not run")?;
    let ran = w
        .allowed()?
        .option("--mode", "bypass")
        .line("touch attack")?;
    ran.exits(125)?
        .says("sandbox-unavailable")?
        .says("needs L2")?;
    expect(!w.ws.join("attack").exists(), "it ran")?;
    // A policy cannot say it either.
    let policy = format!("mode = \"bypass\"\n{ALLOW_ALL}");
    w.policy(&policy)?.line("touch attack")?.exits(125)?;
    expect(!w.ws.join("attack").exists(), "it ran")
}

/// Everything is allowed but touch.
const NO_TOUCH: &str =
    "version = 1\n[permissions]\nallow = [\"*\", \"env(*)\", \"write(**)\"]\ndeny = [\"touch\"]\n";

fn runs_without_the_rule(w: &World, line: &str) -> Outcome {
    w.allowed()?.line(line)?.exits(0)?;
    expect(
        w.ws.join("made").exists(),
        format!("the control made nothing: {line}"),
    )?;
    fs::remove_file(w.ws.join("made"))?;
    Ok(())
}

fn never_starts(w: &World, line: &str) -> Outcome {
    let ran = w.policy(NO_TOUCH)?.line(line)?;
    ran.exits(126)?;
    expect(
        !w.ws.join("made").exists(),
        format!("it ran all the same: {line}"),
    )
}

fn deny_never_starts(w: &World) -> Outcome {
    for line in [
        "touch made",
        "true && touch made",
        "\\t'ou'ch made",
        "/usr/bin/touch made",
        "X=1 touch made",
    ] {
        runs_without_the_rule(w, line)?;
        never_starts(w, line)?;
    }
    expect(
        w.audit_text().contains("rule-deny"),
        "the refusal is not recorded",
    )
}

/// Links and byte-for-byte copies are the same program under other names. They lie in the workspace, so
/// that an approver has to let the controls pass.
fn deny_by_link_and_copy(w: &World) -> Outcome {
    symlink("/usr/bin/touch", w.ws.join("linked"))?;
    fs::copy("/usr/bin/touch", w.ws.join("copied"))?;
    for line in ["./linked made", "./copied made"] {
        w.asked(YES)?.line(line)?.exits(0)?;
        expect(
            w.ws.join("made").exists(),
            format!("the control made nothing: {line}"),
        )?;
        fs::remove_file(w.ws.join("made"))?;
        let approver = w.approver(YES)?;
        w.policy(NO_TOUCH)?
            .option("--approver", &approver)
            .line(line)?
            .exits(126)?;
        expect(
            !w.ws.join("made").exists(),
            format!("it ran all the same: {line}"),
        )?;
    }
    Ok(())
}

fn deny_through_carriers(w: &World) -> Outcome {
    let lines = [
        "sh -c 'touch made'",
        "env touch made",
        "timeout 5 touch made",
        "echo made | xargs touch",
        "find . -maxdepth 0 -exec touch made ';'",
        "echo $(touch made)",
    ];
    for line in lines {
        runs_without_the_rule(w, line)?;
        never_starts(w, line)?;
    }
    Ok(())
}

fn deny_beats_yes(w: &World) -> Outcome {
    w.asked(YES)?.line("touch made")?.exits(0)?;
    fs::remove_file(w.ws.join("made"))?;
    let asked = w.times_asked();
    let approver = w.approver(YES)?;
    let deny = "version = 1\n[permissions]\ndeny = [\"touch\"]\n";
    w.policy(deny)?
        .option("--approver", &approver)
        .line("touch made")?
        .exits(126)?;
    expect(
        w.times_asked() == asked,
        "somebody was asked about what is denied",
    )?;
    expect(!w.ws.join("made").exists(), "it ran")
}

fn refused_by_the_approver(w: &World) -> Outcome {
    w.asked(YES)?.line("touch made")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control did not run")?;
    fs::remove_file(w.ws.join("made"))?;
    let ran = w.asked(NO)?.line("touch made")?;
    ran.exits(126)?.says("not today")?;
    expect(!w.ws.join("made").exists(), "it ran")
}

/// A rule that allows `cat` means the system's cat, not whatever stands in the workspace by that name.
fn planted_program(w: &World) -> Outcome {
    let bin = w.ws.join("bin");
    fs::create_dir(&bin)?;
    fs::copy("/usr/bin/touch", bin.join("cat"))?;
    let allow = "version = 1\n[permissions]\nallow = [\"cat\"]\n";
    w.policy(allow)?.line("cat /dev/null")?.exits(0)?;
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let planted = w.asked(YES)?.env("PATH", &path).line("cat made")?;
    planted.exits(0)?;
    expect(
        w.ws.join("made").exists(),
        "the control did not reach the planted program",
    )?;
    fs::remove_file(w.ws.join("made"))?;
    w.policy(allow)?
        .env("PATH", &path)
        .line("cat made")?
        .exits(126)?;
    w.policy(allow)?.line("./bin/cat made")?.exits(126)?;
    expect(!w.ws.join("made").exists(), "the planted program ran")
}

fn the_question_shows_what_runs(w: &World) -> Outcome {
    w.asked(YES)?
        .line("touch 'made by\u{202e}hand'")?
        .exits(0)?;
    let question: serde_json::Value =
        serde_json::from_slice(&fs::read(w.top.join("question.json"))?)?;
    let text = question.to_string();
    expect(
        text.contains("touch") && text.contains("L1"),
        format!("it tells too little: {text}"),
    )?;
    expect(
        !text.contains('\u{202e}'),
        "a character that reorders its neighbours is shown raw",
    )?;
    expect(
        w.ws.join("made by\u{202e}hand").exists(),
        "what ran is not what was asked for",
    )
}

/// The approver runs outside the sandbox: a program planted in the workspace must not be what it finds
/// under an everyday name, though the command itself may have that folder in its PATH.
fn approver_finds_nothing_in_the_workspace(w: &World) -> Outcome {
    let bin = w.ws.join("node_modules/.bin");
    fs::create_dir_all(&bin)?;
    let path = format!("{}:/usr/bin:/bin", bin.display());
    w.asked(YES)?
        .env("PATH", &path)
        .line("touch made")?
        .exits(0)?;
    let given = fs::read_to_string(w.top.join("approver.path"))?;
    let planted = given
        .trim()
        .split(':')
        .any(|folder| std::path::Path::new(folder).starts_with(&w.ws));
    expect(
        !planted,
        format!("the approver's PATH is `{}`", given.trim()),
    )
}
