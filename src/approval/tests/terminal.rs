use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use super::{LONG, wait};
use crate::approval::{
    Answer, Approver, ApproverError, Cause, Choice, Known, Note, Question, Terminal, Through, Wait,
    sample,
};
use crate::model::judgement::Reason;

/// For a person who types only what is asked for.
const BRIEF: Duration = Duration::from_millis(20);

/// A person at a pty.
struct Person {
    hands: PtyMaster,
    tty: OwnedFd,
    path: PathBuf,
    seen: String,
}

impl Person {
    fn new() -> Self {
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let hands = posix_openpt(flags).unwrap();
        grantpt(&hands).unwrap();
        unlockpt(&hands).unwrap();
        let path = PathBuf::from(ptsname_r(&hands).unwrap());
        let tty = File::options().read(true).write(true).open(&path).unwrap();
        Self {
            hands,
            tty: tty.into(),
            path,
            seen: String::new(),
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.hands.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads on until `text` was seen, and forgets all up to it.
    fn see(&mut self, text: &str) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            assert!(
                Instant::now() < deadline,
                "never saw {text:?}: {}",
                self.seen
            );
            let mut buffer = [0; 4096];
            match self.hands.read(&mut buffer) {
                Ok(count) => self
                    .seen
                    .push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn modes(&self) -> Termios {
        tcgetattr(&self.tty).unwrap()
    }
}

/// Asks while `person` does something; what the person had to say about it.
fn asked<T>(
    quiet: Duration,
    question: &Question,
    wait: &Wait<'_>,
    mut person: Person,
    act: impl FnOnce(&mut Person) -> T,
) -> (Result<Answer, ApproverError>, Person, T) {
    let terminal = Terminal::for_tests(person.path.clone(), quiet);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| terminal.ask(question, wait));
        let told = act(&mut person);
        (asking.join().unwrap(), person, told)
    })
}

fn prompt(question: &Question) -> String {
    format!("{}> ", question.object)
}

#[test]
fn a_key_with_enter_answers_and_the_modes_are_restored() {
    let question = sample::question();
    for (typed, choice) in [
        ("y\n", Choice::Once),
        ("y\r", Choice::Once),
        ("n\n", Choice::Deny { note: None }),
        (
            "n keep it\n",
            Choice::Deny {
                note: Note::new("keep it"),
            },
        ),
        ("x\n", Choice::Stop),
    ] {
        let person = Person::new();
        // As another program may have left it.
        let mut strange = person.modes();
        strange
            .local_flags
            .remove(LocalFlags::ICANON | LocalFlags::ECHO);
        tcsetattr(&person.tty, SetArg::TCSANOW, &strange).unwrap();
        let (answer, person, ()) = asked(BRIEF, &question, &wait(LONG), person, |person| {
            person.see(&prompt(&question));
            person.type_in(typed);
        });
        let answer = answer.unwrap();
        assert_eq!(answer.choice, choice);
        assert_eq!(answer.object, question.object);
        assert_eq!(answer.by.known, Known::Session);
        assert_eq!(answer.by.through, Through::Terminal);
        assert_eq!(person.modes(), strange);
    }
}

#[test]
fn nothing_typed_before_the_question_counts() {
    let question = sample::question();
    let mut person = Person::new();
    person.type_in("y\ny\ny");
    let (answer, _, ()) = asked(
        Duration::from_secs(2),
        &question,
        &wait(LONG),
        person,
        |person| {
            // A word typed on while the question appears; its end alone would be a key.
            person.see("may this run?");
            person.type_in("happ");
            std::thread::sleep(Duration::from_millis(50));
            person.type_in("y\n");
            person.see(&prompt(&question));
            person.type_in("n\n");
        },
    );
    assert_eq!(answer.unwrap().choice, Choice::Deny { note: None });
}

#[test]
fn editing_and_other_keys_answer_nothing() {
    let question = sample::question();
    let (answer, _, ()) = asked(BRIEF, &question, &wait(LONG), Person::new(), |person| {
        person.see(&prompt(&question));
        // Rubbed out: an empty line redraws.
        person.type_in("y\x7f\n");
        person.see("may this run?");
        person.see(&prompt(&question));
        person.type_in("any y\x1b[A\n");
        person.see(r"`any y\e[A` is no answer");
        // What is pasted after a wrong line is gone with it.
        person.type_in("y\n");
        person.see(&prompt(&question));
        person.type_in("v\n");
        person.see(&question.object.digest().to_string());
        person.see(&prompt(&question));
        person.type_in("n\n");
    });
    assert_eq!(answer.unwrap().choice, Choice::Deny { note: None });
}

#[test]
fn the_end_of_the_terminal_cancels() {
    let question = sample::question();
    let (answer, _, ()) = asked(BRIEF, &question, &wait(LONG), Person::new(), |person| {
        person.see(&prompt(&question));
        person.type_in("\x04");
    });
    assert!(matches!(answer, Err(ApproverError::Closed)));

    // Half a line and an end-of-file key are no Enter.
    let (answer, _, ()) = asked(BRIEF, &question, &wait(LONG), Person::new(), |person| {
        person.see(&prompt(&question));
        person.type_in("y\x04\x04");
    });
    assert!(matches!(answer, Err(ApproverError::Closed)));

    let person = Person::new();
    let terminal = Terminal::for_tests(person.path.clone(), BRIEF);
    let error = std::thread::scope(|scope| {
        let asking = scope.spawn(|| terminal.ask(&question, &wait(LONG)));
        let mut person = person;
        person.see(&prompt(&question));
        person.type_in("y");
        drop(person);
        asking.join().unwrap()
    })
    .unwrap_err();
    assert_eq!(error.reason(), Reason::Cancelled);
}

#[test]
fn a_signal_or_the_death_of_the_child_cancels() {
    let question = sample::question();
    for cause in [Cause::Signal, Cause::ChildDied] {
        let (fired, fire) = std::io::pipe().unwrap();
        let mut wait = wait(LONG);
        wait.cancel.push((fired.as_fd(), cause));
        let person = Person::new();
        let found = person.modes();
        let (answer, mut person, ()) = asked(BRIEF, &question, &wait, person, |person| {
            person.see(&prompt(&question));
            // A pidfd and a pipe both become ready for good.
            drop(fire);
        });
        assert!(matches!(answer, Err(ApproverError::Cancelled(why)) if why == cause));
        person.see("nothing was run");
        assert_eq!(person.modes(), found);
    }
}

#[test]
fn time_runs_out_even_on_a_keyboard_that_is_never_quiet() {
    let question = sample::question();
    let short = wait(Duration::from_millis(300));
    let (answer, mut person, ()) = asked(LONG, &question, &short, Person::new(), |person| {
        while !short.left().is_zero() {
            person.type_in("y\n");
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(matches!(answer, Err(ApproverError::Timeout)));
    assert!(!person.see("nothing was run").contains(&prompt(&question)));
}

#[test]
fn without_a_terminal_nobody_can_be_asked() {
    let none = Terminal::for_tests(PathBuf::from("/nonexistent/tty"), BRIEF);
    let error = none.ask(&sample::question(), &wait(LONG)).unwrap_err();
    assert_eq!(error.reason(), Reason::NoApprover);
    assert!(none.attached().is_err());
}
