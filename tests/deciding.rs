//! The deciding order as a table: mode × judgement × approver × proof, every expectation written out.
#![cfg(test)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tipstaff::approval::{
    ApproverError, Attached, Cause, Decision, Denial, Forced, Inputs, Nobody, Policy, Sandbox,
    Strictures, Wait, decide, profile_for,
};
use tipstaff::model::access::{Access, Survey, Traits};
use tipstaff::model::judgement::{AccessJudgement, Judgement, Reason, SubJudgement};
use tipstaff::model::level::Level;
use tipstaff::model::mode::Mode;
use tipstaff::model::profile::ProfileName;
use tipstaff::model::script::{Context, Folder, Opaque, Script, Span, SubCommand, Word};
use tipstaff::model::verdict::Verdict;

/// The columns deny, ask, allow, unmatched, opaque. `+` allows, `-` refuses, `?` asks, `!` asks a person
/// and nobody else.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str, [&str; 5])] = &[
    // mode          proof   approver   deny          ask                     allow                   unmatched               opaque
    ("default",      "L1",   "present", ["-rule-deny", "!rule-ask",            "+rule-allow",          "?unmatched",           "!opaque"]),
    ("default",      "L1",   "absent",  ["-rule-deny", "-no-approver",         "+rule-allow",          "-no-approver",         "-no-approver"]),
    ("default",      "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("default",      "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("default",      "L2",   "present", ["-rule-deny", "!rule-ask",            "+rule-allow",          "?unmatched",           "?opaque"]),

    ("dont-ask",     "L1",   "present", ["-rule-deny", "-dont-ask",            "+rule-allow",          "-dont-ask",            "-dont-ask"]),
    ("dont-ask",     "L1",   "absent",  ["-rule-deny", "-dont-ask",            "+rule-allow",          "-dont-ask",            "-dont-ask"]),
    ("dont-ask",     "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("dont-ask",     "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),

    ("bypass",       "L1",   "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("bypass",       "L1",   "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("bypass",       "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("bypass",       "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("bypass",       "L2",   "present", ["-rule-deny", "!rule-ask",            "+bypass",              "+bypass",              "+bypass"]),
    ("bypass",       "L2",   "absent",  ["-rule-deny", "-no-approver",         "+bypass",              "+bypass",              "+bypass"]),

    ("autopilot",    "L1",   "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("autopilot",    "L1",   "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("autopilot",    "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("autopilot",    "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("autopilot",    "L2",   "present", ["-rule-deny", "-dont-ask",            "+rule-allow",          "-dont-ask",            "-dont-ask"]),

    ("plan",         "L1",   "present", ["-rule-deny", "-plan-mode",           "-plan-mode",           "-plan-mode",           "-plan-mode"]),
    ("plan",         "L1",   "absent",  ["-rule-deny", "-plan-mode",           "-plan-mode",           "-plan-mode",           "-plan-mode"]),
    ("plan",         "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("plan",         "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),

    ("accept-edits", "L1",   "present", ["-rule-deny", "!rule-ask",            "+rule-allow",          "?unmatched",           "!opaque"]),
    ("accept-edits", "L1",   "absent",  ["-rule-deny", "-no-approver",         "+rule-allow",          "-no-approver",         "-no-approver"]),
    ("accept-edits", "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("accept-edits", "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),

    ("review",       "L1",   "present", ["-rule-deny", "!rule-ask",            "+rule-allow",          "?unmatched",           "!opaque"]),
    ("review",       "L1",   "absent",  ["-rule-deny", "-no-approver",         "+rule-allow",          "-no-approver",         "-no-approver"]),
    ("review",       "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("review",       "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),

    ("audit",        "L1",   "present", ["-rule-deny", "!rule-ask",            "+rule-allow",          "?unmatched",           "!opaque"]),
    ("audit",        "L1",   "absent",  ["-rule-deny", "-no-approver",         "+rule-allow",          "-no-approver",         "-no-approver"]),
    ("audit",        "none", "present", ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
    ("audit",        "none", "absent",  ["-rule-deny", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable", "-sandbox-unavailable"]),
];

const COLUMNS: [(Verdict, Reason); 5] = [
    (Verdict::Deny, Reason::RuleDeny),
    (Verdict::Ask, Reason::RuleAsk),
    (Verdict::Allow, Reason::RuleAllow),
    (Verdict::Ask, Reason::Unmatched),
    (Verdict::Ask, Reason::Opaque),
];

fn part(verdict: Verdict, reason: Reason) -> SubJudgement {
    SubJudgement {
        verdict,
        reason,
        rule: None,
        accesses: vec![AccessJudgement {
            access: Access::Command,
            verdict,
            reason,
            rule: None,
            open: false,
            remedy: None,
        }],
        remedy: None,
    }
}

fn judgement(verdict: Verdict, reason: Reason) -> Judgement {
    Judgement {
        verdict,
        reason,
        subcommands: vec![part(verdict, reason)],
        confined: None,
    }
}

fn survey(program: &str) -> Survey {
    Survey {
        script: Script {
            subcommands: vec![SubCommand {
                span: Span::default(),
                context: Context::default(),
                folder: Folder::Start,
                argv: vec![Word::text(Span::default(), program)],
                assignments: Vec::new(),
                redirections: Vec::new(),
                carrier: None,
            }],
            ..Script::default()
        },
        accesses: vec![vec![Access::Command]],
        traits: vec![Traits {
            privileged: program == "/usr/bin/mount",
            runs_workspace_code: false,
        }],
    }
}

fn inputs<'a>(judgement: &'a Judgement, mode: &str, proof: &str, approver: &str) -> Inputs<'a> {
    let mode: Mode = mode.parse().unwrap();
    let sandbox = match proof {
        "none" => Sandbox::NotProved,
        "L1" => Sandbox::Proved(Level::L1),
        "L2" => Sandbox::Proved(Level::L2),
        other => panic!("{other}"),
    };
    Inputs {
        policy: Policy::Judged(judgement),
        sandbox,
        needed: Level::L1,
        forced: Forced::of(judgement, &survey("prog"), Strictures::Some, sandbox),
        mode,
        profile: profile_for(mode, ProfileName::Workspace),
        attached: match approver {
            "present" => Attached::Present,
            _ => Attached::Absent(Nobody::NoTerminal),
        },
    }
}

fn words(decision: Decision) -> String {
    match decision {
        Decision::Allow(reason) => format!("+{reason}"),
        Decision::Refuse(reason) => format!("-{reason}"),
        Decision::Ask { why, forced: false } => format!("?{why}"),
        Decision::Ask { why, forced: true } => format!("!{why}"),
    }
}

#[test]
fn the_table_holds() {
    for (mode, proof, approver, expected) in TABLE {
        for ((verdict, reason), expected) in COLUMNS.into_iter().zip(expected) {
            let judgement = judgement(verdict, reason);
            let decision = decide(&inputs(&judgement, mode, proof, approver));
            assert_eq!(
                words(decision),
                *expected,
                "{mode}, proof {proof}, approver {approver}, {verdict} {reason}"
            );
        }
    }
}

#[test]
fn the_table_is_complete() {
    let rows: BTreeSet<_> = TABLE.iter().map(|row| (row.0, row.1, row.2)).collect();
    assert_eq!(rows.len(), TABLE.len(), "a row stands twice");
    for mode in [
        "plan",
        "default",
        "accept-edits",
        "review",
        "audit",
        "dont-ask",
        "autopilot",
        "bypass",
    ] {
        for proof in ["none", "L1"] {
            for approver in ["present", "absent"] {
                assert!(
                    rows.contains(&(mode, proof, approver)),
                    "{mode} {proof} {approver}"
                );
            }
        }
    }
}

/// What the table's columns do not hold: judgements of other reasons, the rest of the order.
#[rustfmt::skip]
const MORE: &[(Verdict, Reason, &str, &str, &str)] = &[
    // verdict       reason                      mode        approver   expected
    (Verdict::Ask,   Reason::Dynamic,            "default",  "present", "!dynamic"),
    (Verdict::Ask,   Reason::ProgramNotFound,    "default",  "present", "?program-not-found"),
    (Verdict::Ask,   Reason::ProgramUnusable,    "default",  "present", "?program-unusable"),
    (Verdict::Ask,   Reason::ProgramUntrusted,   "default",  "present", "?program-untrusted"),
    (Verdict::Ask,   Reason::ProgramUntrusted,   "dont-ask", "present", "-dont-ask"),
    (Verdict::Deny,  Reason::ProgramUnusable,    "default",  "present", "-program-unusable"),
    (Verdict::Allow, Reason::ReadOnlyDefault,    "default",  "absent",  "+read-only-default"),
    (Verdict::Allow, Reason::ReadOnlyDefault,    "dont-ask", "absent",  "+read-only-default"),
    (Verdict::Allow, Reason::ReadOnlyDefault,    "plan",     "absent",  "+read-only-default"),
    (Verdict::Allow, Reason::NoAccess,           "default",  "absent",  "+no-access"),
    (Verdict::Allow, Reason::NoAccess,           "plan",     "absent",  "+no-access"),
];

#[test]
fn every_judgement_is_decided() {
    for (verdict, reason, mode, approver, expected) in MORE {
        let judgement = judgement(*verdict, *reason);
        let decision = decide(&inputs(&judgement, mode, "L1", approver));
        assert_eq!(
            words(decision),
            *expected,
            "{verdict} {reason} {mode} {approver}"
        );
    }
}

#[test]
fn an_invalid_policy_comes_before_everything() {
    let judgement = judgement(Verdict::Deny, Reason::RuleDeny);
    for (mode, proof, approver, _) in TABLE {
        let inputs = Inputs {
            policy: Policy::Invalid,
            ..inputs(&judgement, mode, proof, approver)
        };
        assert_eq!(words(decide(&inputs)), "-policy-invalid");
    }
}

#[test]
fn a_policy_that_needs_more_is_not_served_with_less() {
    let judgement = judgement(Verdict::Allow, Reason::RuleAllow);
    let with = |needed, sandbox| {
        words(decide(&Inputs {
            needed,
            sandbox,
            ..inputs(&judgement, "default", "L1", "present")
        }))
    };
    assert_eq!(
        with(Level::L1, Sandbox::Proved(Level::L0)),
        "-sandbox-unavailable"
    );
    assert_eq!(
        with(Level::L3, Sandbox::Proved(Level::L2)),
        "-sandbox-unavailable"
    );
    assert_eq!(with(Level::L3, Sandbox::Proved(Level::L3)), "+rule-allow");
    // No need does not make nothing a proof.
    assert_eq!(with(Level::L0, Sandbox::NotProved), "-sandbox-unavailable");
}

#[test]
fn plan_runs_in_the_read_only_profile_alone() {
    let judgement = judgement(Verdict::Allow, Reason::ReadOnlyDefault);
    let inputs = Inputs {
        profile: ProfileName::Workspace,
        ..inputs(&judgement, "plan", "L1", "present")
    };
    assert_eq!(words(decide(&inputs)), "-plan-mode");
}

#[test]
fn plan_looks_at_every_part() {
    let mut judgement = judgement(Verdict::Allow, Reason::ReadOnlyDefault);
    judgement
        .subcommands
        .push(part(Verdict::Allow, Reason::RuleAllow));
    let decision = decide(&inputs(&judgement, "plan", "L1", "present"));
    assert_eq!(words(decision), "-plan-mode");
}

#[test]
fn a_changed_call_is_always_asked_about() {
    let judgement = judgement(Verdict::Allow, Reason::RuleAllow);
    for (mode, proof, approver, expected) in [
        ("default", "L1", "present", "!call-changed"),
        ("default", "L1", "absent", "-call-changed"),
        ("dont-ask", "L1", "present", "-call-changed"),
        ("bypass", "L2", "present", "!call-changed"),
        ("bypass", "L2", "absent", "-call-changed"),
        ("plan", "L1", "present", "-plan-mode"),
    ] {
        let inputs = Inputs {
            forced: Some(Forced::Changed),
            ..inputs(&judgement, mode, proof, approver)
        };
        assert_eq!(
            words(decide(&inputs)),
            expected,
            "{mode} {proof} {approver}"
        );
    }
}

#[test]
fn what_forces_a_question_is_found_in_every_part() {
    let l1 = Sandbox::Proved(Level::L1);
    let l2 = Sandbox::Proved(Level::L2);
    let plain = survey("prog");
    let mut line = judgement(Verdict::Ask, Reason::Unmatched);
    assert_eq!(Forced::of(&line, &plain, Strictures::Some, l1), None);

    // The line's own reason is another part's.
    line.subcommands.push(part(Verdict::Ask, Reason::Dynamic));
    assert_eq!(
        Forced::of(&line, &plain, Strictures::Some, l1),
        Some(Forced::Dynamic)
    );
    assert_eq!(Forced::of(&line, &plain, Strictures::None, l1), None);
    assert_eq!(Forced::of(&line, &plain, Strictures::Some, l2), None);

    let mut opaque = survey("prog");
    opaque.script.opaque.push(Opaque {
        span: Span::default(),
        reason: "a test",
    });
    assert_eq!(
        Forced::of(&line, &opaque, Strictures::Some, l1),
        Some(Forced::Opaque)
    );
    assert_eq!(
        Forced::of(&line, &opaque, Strictures::Some, Sandbox::NotProved),
        Some(Forced::Opaque)
    );

    // An access below the part's own reason.
    let mut access = part(Verdict::Ask, Reason::Unmatched);
    access
        .accesses
        .push(part(Verdict::Ask, Reason::RuleAsk).accesses.remove(0));
    line.subcommands.push(access);
    assert_eq!(
        Forced::of(&line, &opaque, Strictures::None, l2),
        Some(Forced::AskRule)
    );

    // A rule that may match an argv not known yet: the gate will meet the real one.
    let mut open = judgement(Verdict::Ask, Reason::RuleAsk);
    for part in &mut open.subcommands {
        for access in &mut part.accesses {
            access.open = true;
        }
    }
    assert_eq!(
        Forced::of(&open, &plain, Strictures::Some, l1),
        Some(Forced::AskRule)
    );
    assert_eq!(Forced::of(&open, &plain, Strictures::Some, l2), None);
    open.subcommands.push(part(Verdict::Ask, Reason::RuleAsk));
    assert_eq!(
        Forced::of(&open, &plain, Strictures::Some, l2),
        Some(Forced::AskRule)
    );

    let unmatched = judgement(Verdict::Ask, Reason::Unmatched);
    let mount = survey("/usr/bin/mount");
    assert_eq!(
        Forced::of(&unmatched, &mount, Strictures::None, l2),
        Some(Forced::Privileged)
    );
    let allowed = judgement(Verdict::Allow, Reason::RuleAllow);
    assert_eq!(Forced::of(&allowed, &mount, Strictures::Some, l1), None);
    let inputs = Inputs {
        forced: Some(Forced::Privileged),
        ..inputs(&unmatched, "bypass", "L2", "present")
    };
    assert_eq!(words(decide(&inputs)), "!unmatched");
}

#[test]
fn each_failure_to_ask_has_its_reason() {
    for (error, reason) in [
        (
            ApproverError::Nobody(Nobody::Background),
            Reason::NoApprover,
        ),
        (ApproverError::Timeout, Reason::Timeout),
        (ApproverError::Cancelled(Cause::Signal), Reason::Cancelled),
        (
            ApproverError::Cancelled(Cause::ChildDied),
            Reason::Cancelled,
        ),
        (ApproverError::Closed, Reason::Cancelled),
        (ApproverError::Panicked, Reason::ApproverError),
        (
            ApproverError::CommandPath("x".to_owned()),
            Reason::ApproverError,
        ),
    ] {
        assert_eq!(error.reason(), reason);
    }
    let over = Wait {
        deadline: Instant::now(),
        cancel: Vec::new(),
    };
    assert_eq!(over.left(), Duration::ZERO);
    assert_eq!(over.still_open().unwrap_err().reason(), Reason::Timeout);
}

/// Every code is decided by a row of this file, but for the two that are answers: those need a proof,
/// and stand in the tests of the stage.
#[test]
fn every_reason_is_covered() {
    let table = TABLE.iter().flat_map(|row| row.3);
    let more = MORE.iter().map(|row| row.4);
    let elsewhere = [
        "-policy-invalid",
        "!call-changed",
        "-timeout",
        "-cancelled",
        "-approver-error",
        "-refused",
        "+approved",
        "-program-hidden",
    ];
    let covered: BTreeSet<&str> = table
        .chain(more)
        .chain(elsewhere)
        .map(|word| &word[1..])
        .collect();
    let all: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(covered, all);
}

#[test]
fn every_denial_says_what_to_do() {
    for reason in Reason::ALL {
        let message = Denial::of(reason).message();
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 2, "{message}");
        assert!(
            lines[0].starts_with(&format!("not run: {reason}: ")),
            "{message}"
        );
    }
}

#[test]
fn the_page_of_reasons_lists_each_once_and_no_other() {
    let page = include_str!("../docs/reasons.md");
    let (codes, _) = page.split_once("## What each mode decides").unwrap();
    let listed: Vec<&str> = codes
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(code, _)| code)
        .collect();
    let all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(listed, all);
}
