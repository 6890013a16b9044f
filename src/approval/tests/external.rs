use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use super::{LONG, wait};
use crate::approval::{Answer, Wait};
use crate::approval::{
    Approver, ApproverError, Cause, Choice, External, Known, Note, Through, sample,
};
use crate::model::environment::Environment;
use crate::model::judgement::Reason;

/// Asks a shell script; `$object` is the object of the question it was given.
fn ask(script: &str, wait: &Wait<'_>) -> Result<Answer, ApproverError> {
    let line = format!(r#"object=$(sed -n 's/.*"object":"\(#[0-9a-f]*\)".*/\1/p'); {script}"#);
    let environment = Environment::from_iter([(b"PATH".to_vec(), b"/usr/bin:/bin".to_vec())]);
    let argv = ["/bin/sh", "-c", &line].map(str::to_owned).to_vec();
    External::new(argv, environment)
        .unwrap()
        .ask(&sample::question(), wait)
}

fn failure(script: &str) -> ApproverError {
    let error = ask(script, &wait(LONG)).unwrap_err();
    assert_eq!(error.reason(), Reason::ApproverError, "{error}");
    error
}

#[test]
fn allow_and_deny_are_read() {
    let answer = ask(
        r#"printf '{"object":"%s","decision":"allow","by":"bot"}' "$object""#,
        &wait(LONG),
    )
    .unwrap();
    assert_eq!(answer.choice, Choice::Once);
    assert_eq!(answer.object, sample::question().object);
    assert_eq!(answer.by.name, "bot");
    assert_eq!(answer.by.known, Known::Asserted);
    assert_eq!(answer.by.through, Through::Command);

    let answer = ask(
        r#"printf '{"object":"%s","decision":"deny","note":"no\\u001b[2J"}' "$object""#,
        &wait(LONG),
    )
    .unwrap();
    assert_eq!(
        answer.choice,
        Choice::Deny {
            note: Note::new("no\u{1b}[2J")
        }
    );
}

#[test]
fn whatever_is_no_clear_answer_denies() {
    for script in [
        "true",
        "echo",
        "echo yes",
        r#"echo "{}""#,
        r#"printf '{"object":"%s"}' "$object""#,
        r#"printf '{"object":"%s","decision":"maybe"}' "$object""#,
        r#"printf '{"object":"%s","decision":"Allow"}' "$object""#,
        r#"printf '{"object":"%s","decision":"allow","always":true}' "$object""#,
        r#"printf '{"object":"%s","decision":"deny","decision":"allow"}' "$object""#,
        r#"printf '{"object":"%s","decision":"allow"} {}' "$object""#,
        r#"printf '{"object":"%s","decision":"allow"' "$object""#,
        r#"printf '{"object":"%s","decision":"allow","by":"\377"}' "$object""#,
    ] {
        assert!(
            matches!(failure(script), ApproverError::Malformed { .. }),
            "{script}"
        );
    }
    for object in ["#000000000000", "#", ""] {
        let script = format!(r#"printf '{{"object":"{object}","decision":"allow"}}'"#);
        assert!(matches!(
            failure(&script),
            ApproverError::WrongObject { .. }
        ));
    }
}

#[test]
fn a_failing_command_denies_whatever_it_said() {
    let yes = r#"printf '{"object":"%s","decision":"allow"}' "$object""#;
    let error = failure(&format!("{yes}; echo 'broken\u{7}' >&2; exit 3"));
    assert_eq!(
        error.to_string(),
        r"the approver command `/bin/sh` ended with exit status 3: broken\x07"
    );
    let error = failure(&format!("{yes}; kill -SEGV $$"));
    assert_eq!(
        error.to_string(),
        "the approver command `/bin/sh` ended with signal 11"
    );
    assert!(matches!(
        failure("head -c 70000 /dev/zero"),
        ApproverError::TooLong { .. }
    ));
    let missing = External::new(
        vec!["/nonexistent/approver".to_owned()],
        Environment::default(),
    )
    .unwrap()
    .ask(&sample::question(), &wait(LONG));
    assert!(matches!(missing, Err(ApproverError::Command { .. })));
}

#[test]
fn a_command_is_named_by_an_absolute_path() {
    for argv in [vec![], vec!["approver".to_owned()], vec!["./a".to_owned()]] {
        assert!(matches!(
            External::new(argv, Environment::default()),
            Err(ApproverError::CommandPath(_))
        ));
    }
}

#[test]
fn time_ends_it() {
    let error = ask("sleep 1000", &wait(Duration::from_millis(50))).unwrap_err();
    assert_eq!(error.reason(), Reason::Timeout);
}

#[test]
fn nothing_it_started_outlives_the_question() {
    let file = std::env::temp_dir().join(format!("tipstaff-external-{}", std::process::id()));
    let script = format!("sleep 1000 & echo $! >{}; wait", file.display());
    let (cancelled, cancel) = std::io::pipe().unwrap();
    let mut wait = wait(LONG);
    wait.cancel.push((cancelled.as_fd(), Cause::Signal));
    let (error, pid) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&script, &wait).unwrap_err());
        let pid = loop {
            match std::fs::read_to_string(&file) {
                Ok(pid) if pid.ends_with('\n') => break pid,
                Ok(_) | Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        drop(cancel);
        (asking.join().unwrap(), pid)
    });
    std::fs::remove_file(&file).unwrap();
    assert_eq!(error.reason(), Reason::Cancelled);
    // A killed process needs a moment to die; a sleeping one lives on.
    let alive = || {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    let deadline = Instant::now() + LONG;
    while alive() {
        assert!(Instant::now() < deadline, "it outlives the question");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_child_that_holds_the_output_does_not_hold_the_answer() {
    let answer = ask(
        r#"sleep 1000 & printf '{"object":"%s","decision":"allow"}' "$object""#,
        &wait(LONG),
    )
    .unwrap();
    assert_eq!(answer.choice, Choice::Once);
}

#[test]
fn only_the_fixed_environment_is_passed() {
    let answer = ask(
        r#"printf '{"object":"%s","decision":"deny","note":"%s"}' "$object" "$(pwd):$HOME:$PATH""#,
        &wait(LONG),
    )
    .unwrap();
    assert_eq!(
        answer.choice,
        Choice::Deny {
            note: Note::new("/::/usr/bin:/bin")
        }
    );
}
