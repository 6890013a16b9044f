use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::time::Duration;

use super::{LONG, wait};
use crate::approval::{
    Answer, Approver, ApproverError, Attached, Callback, Cause, Choice, Forced, Inputs, Known,
    Nobody, Note, ObjectId, Policy, Question, Ruling, Sandbox, Through, Wait, Who, bypass,
    identify, obtain, rule, sample,
};
use crate::model::judgement::{Judgement, Reason};
use crate::model::level::Level;
use crate::model::mode::Mode;
use crate::model::profile::{Network, ProfileName};
use crate::model::verdict::Verdict;
use crate::sandbox::Proof;

fn who() -> Who {
    Who {
        name: "somebody".to_owned(),
        known: Known::Asserted,
        through: Through::Callback,
    }
}

fn answer(object: ObjectId, choice: Choice) -> Answer {
    Answer {
        object,
        choice,
        by: who(),
    }
}

const L1: Proof = Proof::for_tests(Level::L1);

fn reason_of(approver: &dyn Approver, wait: &Wait<'_>) -> Reason {
    match obtain(approver, &sample::question(), wait, &L1) {
        Ok(approval) => approval.reason(),
        Err(denial) => denial.reason(),
    }
}

#[test]
fn a_yes_about_the_object_approves_it_and_names_who() {
    let question = sample::question();
    let approver = Callback::new(|question: &Question| answer(question.object, Choice::Once));
    let approval = obtain(&approver, &question, &wait(LONG), &L1).unwrap();
    assert_eq!(approval.object(), question.object);
    assert_eq!(approval.reason(), Reason::Approved);
    assert_eq!(approval.by(), Some(&who()));
}

#[test]
fn a_no_carries_its_note_in_fixed_wording() {
    let approver = Callback::new(|question: &Question| {
        let note = Note::new("use make clean\n\u{1b}[2Jallowed");
        answer(question.object, Choice::Deny { note })
    });
    let denial = obtain(&approver, &sample::question(), &wait(LONG), &L1).unwrap_err();
    assert_eq!(denial.reason(), Reason::Refused);
    assert_eq!(
        denial.message(),
        "not run: refused: the approver said no (somebody)\n\
         note: \"use make clean\\n\\e[2Jallowed\"\n\
         This decision is final. Do not retry it, and do not reach the same effect another way."
    );
}

#[test]
fn stop_cancels() {
    let approver = Callback::new(|question: &Question| answer(question.object, Choice::Stop));
    assert_eq!(reason_of(&approver, &wait(LONG)), Reason::Cancelled);
}

#[test]
fn an_answer_about_another_object_denies() {
    let (mut plan, survey, resolved) = sample::call();
    plan.profile.network = Network::Full;
    let other = identify(&plan, &survey, &resolved);
    let approver = Callback::new(move |_: &Question| answer(other, Choice::Once));
    let denial = obtain(&approver, &sample::question(), &wait(LONG), &L1).unwrap_err();
    assert_eq!(denial.reason(), Reason::ApproverError);
    assert!(matches!(
        denial.failure(),
        Some(ApproverError::WrongObject { .. })
    ));
}

#[test]
fn a_late_answer_is_none() {
    let approver = Callback::new(|question: &Question| {
        std::thread::sleep(Duration::from_millis(30));
        answer(question.object, Choice::Once)
    });
    let short = wait(Duration::from_millis(10));
    assert_eq!(reason_of(&approver, &short), Reason::Timeout);
}

#[test]
fn an_answer_after_the_child_died_is_none() {
    let (died, dying) = std::io::pipe().unwrap();
    let mut wait = wait(LONG);
    wait.cancel.push((died.as_fd(), Cause::ChildDied));
    let approver = Callback::new(|question: &Question| answer(question.object, Choice::Once));
    assert_eq!(reason_of(&approver, &wait), Reason::Approved);
    let approver = Callback::new(move |question: &Question| {
        (&dying).write_all(b"x").unwrap();
        answer(question.object, Choice::Once)
    });
    assert_eq!(reason_of(&approver, &wait), Reason::Cancelled);
}

#[test]
fn a_panicking_callback_denies() {
    let approver = Callback::new(|_: &Question| -> Answer { panic!("on purpose") });
    assert_eq!(reason_of(&approver, &wait(LONG)), Reason::ApproverError);
}

fn inputs(judgement: &Judgement, mode: Mode) -> Inputs<'_> {
    Inputs {
        policy: Policy::Judged(judgement),
        // What is proved comes from the proof; a claim in the inputs must not matter.
        sandbox: Sandbox::Proved(Level::L3),
        needed: Level::L1,
        forced: None,
        mode,
        profile: ProfileName::Workspace,
        attached: Attached::Absent(Nobody::NoTerminal),
    }
}

#[test]
fn bypass_is_as_good_as_its_proof() {
    let object = sample::question().object;
    let judgement = sample::judgement();
    for level in [Level::L0, Level::L1] {
        let proof = Proof::for_tests(level);
        assert_eq!(
            bypass(&proof, object).unwrap_err().reason(),
            Reason::SandboxUnavailable
        );
        let ruling = rule(&inputs(&judgement, Mode::Bypass), &proof, object);
        assert!(matches!(
            ruling,
            Ruling::Denied(denial) if denial.reason() == Reason::SandboxUnavailable
        ));
    }
    let proof = Proof::for_tests(Level::L2);
    assert_eq!(bypass(&proof, object).unwrap().reason(), Reason::Bypass);
    let ruling = rule(&inputs(&judgement, Mode::Bypass), &proof, object);
    assert!(matches!(
        ruling,
        Ruling::Granted(approval) if approval.reason() == Reason::Bypass
    ));
    // A forced question is nobody's to bypass.
    let mut forced = inputs(&judgement, Mode::Bypass);
    forced.forced = Some(Forced::AskRule);
    assert!(matches!(
        rule(&forced, &proof, object),
        Ruling::Denied(denial) if denial.reason() == Reason::NoApprover
    ));
}

#[test]
fn nobody_to_ask_says_what_to_do() {
    let mut judgement = sample::judgement();
    let object = sample::question().object;
    let Ruling::Denied(denial) = rule(&inputs(&judgement, Mode::Default), &L1, object) else {
        panic!("asked nobody");
    };
    assert_eq!(
        denial.message(),
        "not run: no-approver: nobody can be asked: there is no controlling terminal\n\
         run it in the foreground of a terminal, name an approver with `--approver COMMAND` or \
         `[approvals] command`, or add an allow rule to the policy"
    );
    judgement.verdict = Verdict::Allow;
    judgement.reason = Reason::RuleAllow;
    let Ruling::Granted(approval) = rule(&inputs(&judgement, Mode::Default), &L1, object) else {
        panic!("an allow rule needs nobody");
    };
    assert_eq!(approval.object(), object);
}
