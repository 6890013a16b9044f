//! Real commands, started and watched to their end on the running kernel.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use nix::errno::Errno;

use super::{Checked, Ended, LaunchError, Running, Signals, start};
use crate::approval::Approval;
use crate::model::executable::{FileId, Format, Trust};
use crate::model::outcome::Outcome;
use crate::sandbox::sample::{Sample, executable};
use crate::sandbox::{Parked, StdioFd};

fn shell(line: &str) -> Sample {
    Sample::new("/bin/sh", &["sh", "-c", line])
}

fn begin(parked: Parked) -> Result<Running, LaunchError> {
    start(parked, Approval::for_tests())
}

fn run(sample: Sample, limit: Option<Duration>) -> Ended {
    let (_kept, parked) = sample.park().unwrap();
    begin(parked)
        .unwrap()
        .wait(&Signals::take().unwrap(), limit, None)
        .unwrap()
}

/// What the command writes to its standard output.
fn output(mut sample: Sample) -> (Ended, String) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let [zero, _, two] = sample.stdio;
    sample.stdio = [zero, StdioFd::Given(OwnedFd::from(writer)), two];
    let ended = run(sample, None);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (ended, text)
}

#[test]
fn exits_and_signals_are_told_apart() {
    assert_eq!(run(shell("exit 7"), None).outcome, Outcome::Exited(7));
    assert_eq!(
        run(shell("kill -9 $$"), None).outcome,
        Outcome::Signalled(9)
    );
    assert_eq!(
        run(Sample::new("/usr/bin/true", &["other-name"]), None).outcome,
        Outcome::Exited(0)
    );
}

#[test]
fn argv_and_folder_arrive() {
    let sample = Sample::new(
        "/bin/sh",
        &["my-shell", "-c", "echo $0 $1 $PWD", "zero", "one two"],
    );
    let folder = sample.workspace.path().to_string();
    let (_, text) = output(sample);
    assert_eq!(text, format!("zero one two {folder}\n"));
}

#[test]
fn no_descriptor_but_three_is_open() {
    let (_, text) = output(shell("echo /proc/self/fd/*"));
    // The shell's own listing opens one more.
    assert_eq!(
        text.trim(),
        "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3"
    );
}

#[test]
fn it_writes_inside_and_not_outside() {
    let (ended, text) = output(shell(
        "echo x > inside && cat inside && ! (: > /usr/tipstaff-outside) 2>/dev/null",
    ));
    assert_eq!((ended.outcome, text.as_str()), (Outcome::Exited(0), "x\n"));
    assert!(!std::path::Path::new("/usr/tipstaff-outside").exists());
}

#[test]
fn the_limit_kills_the_whole_tree() {
    let line = "setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &) ; sleep 300";
    let ended = run(shell(line), Some(Duration::from_millis(400)));
    assert_eq!(ended.outcome, Outcome::TimedOut);
    assert!(ended.survivors.is_empty());
    assert!(ended.killed.len() >= 4, "{ended:?}");
    for process in &ended.killed {
        let stat = fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
        assert_ne!(stat.trim(), process.name);
    }
}

#[test]
fn what_it_leaves_behind_is_killed() {
    let ended = run(shell("setsid sleep 300 & sleep 300 & exit 3"), None);
    assert_eq!(ended.outcome, Outcome::Exited(3));
    assert_eq!(
        (ended.killed.len(), ended.survivors.len()),
        (2, 0),
        "{ended:?}"
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a child that is none of ours is what this test needs"
)]
fn children_of_the_host_program_live_on() {
    let mut own = std::process::Command::new("/bin/sleep")
        .arg("300")
        .spawn()
        .unwrap();
    run(shell("sleep 300 & exit 0"), None);
    assert!(own.try_wait().unwrap().is_none());
    own.kill().unwrap();
    own.wait().unwrap();
}

#[test]
fn another_file_never_runs() {
    let mut sample = Sample::new("/usr/bin/true", &["true"]);
    sample.executable.id = FileId { dev: 1, ino: 1 };
    let (_kept, parked) = sample.park().unwrap();
    assert!(matches!(begin(parked), Err(LaunchError::Changed { .. })));
}

#[test]
fn other_content_never_runs() {
    let mut sample = Sample::new("/usr/bin/true", &["true"]);
    // Judged as a file that others could change, so its content is compared: all zero is not it.
    sample.executable.trust = Trust::WritableByOthers;
    let (_kept, parked) = sample.park().unwrap();
    assert!(matches!(
        begin(parked),
        Err(LaunchError::Changed {
            what: "its content",
            ..
        })
    ));
}

#[test]
fn a_script_runs_by_its_path_and_a_swapped_one_does_not() {
    let script = |swap: bool| {
        let mut sample = Sample::new("/usr/bin/true", &["name", "a b"]);
        let path = sample.workspace.path().join("script");
        let make = |text: &str| {
            fs::write(path.as_path(), text).unwrap();
            fs::set_permissions(path.as_path(), Permissions::from_mode(0o755)).unwrap();
        };
        make("#!/bin/sh -e\necho \"$0 $1\"\n");
        let interpreter = Box::new(executable("/bin/sh", Format::Elf));
        let format = Format::Script {
            interpreter,
            argument: Some(b"-e".to_vec()),
        };
        sample.executable = executable(&path.to_string(), format);
        let (mut reader, writer) = std::io::pipe().unwrap();
        let [zero, _, two] = sample.stdio;
        sample.stdio = [zero, StdioFd::Given(OwnedFd::from(writer)), two];
        let (_kept, parked) = sample.park().unwrap();
        if swap {
            fs::rename(path.as_path(), path.join("../aside").as_path()).unwrap();
            make("#!/bin/sh -e\necho swapped\n");
        }
        let outcome = begin(parked).map(|running| {
            running
                .wait(&Signals::take().unwrap(), None, None)
                .unwrap()
                .outcome
        });
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        (outcome, text, path)
    };
    let (outcome, text, path) = script(false);
    assert_eq!(
        (outcome.unwrap(), text),
        (Outcome::Exited(0), format!("{path} a b\n"))
    );
    let (outcome, text, _) = script(true);
    assert!(matches!(outcome, Err(LaunchError::Changed { .. })));
    assert_eq!(text, "");
}

fn refused(sample: Sample) -> Errno {
    let (_kept, parked) = sample.park().unwrap();
    match begin(parked) {
        Err(LaunchError::Exec { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_exec_reports_its_errno() {
    let mut sample = Sample::new("/usr/bin/true", &["text"]);
    let path = sample.workspace.path().join("text");
    fs::write(path.as_path(), "no program\n").unwrap();
    fs::set_permissions(path.as_path(), Permissions::from_mode(0o755)).unwrap();
    sample.executable = executable(&path.to_string(), Format::Text);
    assert_eq!(refused(sample), Errno::ENOEXEC);
    let mut sample = Sample::new("/usr/bin/true", &["true"]);
    // One argument beyond MAX_ARG_STRLEN. execve(2)
    sample.argv.push(vec![b'x'; 200_000]);
    assert_eq!(refused(sample), Errno::E2BIG);
}

#[test]
fn where_tracing_works_the_exec_is_stopped() {
    let (_kept, parked) = Sample::new("/usr/bin/true", &["true"]).park().unwrap();
    let kernel = parked.proof().witness() == crate::sandbox::Witness::Kernel;
    let running = begin(parked).unwrap();
    assert_eq!(running.checked() == Checked::AtExec, kernel);
}
