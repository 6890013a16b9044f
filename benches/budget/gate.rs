//! What the gate costs an exec and a fork, against the same sandbox without it and against a tracer that
//! follows every fork and exec.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use nix::libc;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::{Bench, Failure, Line, interleaved, seconds};

const EXECS: u32 = 200;
const FORKS: u32 = 2000;
const ROUNDS: usize = 15;

/// The option under which this program becomes another one on a host whose listener is taken.
pub const WITHOUT: &str = "--without-listener";
/// The option under which it traces another one.
pub const TRACED: &str = "--traced";

/// An exec: at most 0.35 ms more. What a tracer adds that follows everything and judges nothing is told
/// beside it.
pub fn execs(bench: &Bench) -> Result<Line, Failure> {
    let number = EXECS.to_string();
    let (own, full) = both(bench, &["./probe", "exec-many", "1", &number], EXECS)?;
    Ok(Line {
        what: "an exec behind the gate",
        measured: format!("{own:.3} ms more (bare tracing {full:.3})"),
        budget: "0.35 ms".to_owned(),
        kept: Some(own <= 0.35),
    })
}

/// A fork: at most 5 µs more.
pub fn forks(bench: &Bench) -> Result<Line, Failure> {
    let number = FORKS.to_string();
    let (own, full) = both(bench, &["./probe", "fork-many", &number], FORKS)?;
    let (own, full) = (own * 1000.0, full * 1000.0);
    Ok(Line {
        what: "a fork behind the gate",
        measured: format!("{own:.1} µs more (bare tracing {full:.1})"),
        budget: "5 µs".to_owned(),
        kept: Some(own <= 5.0),
    })
}

/// What the gate adds to each of `times`, and what a tracer adds, in milliseconds.
fn both(bench: &Bench, argv: &[&str], times: u32) -> Result<(f64, f64), Failure> {
    let (gated, plain) = pair(bench, argv)?;
    let (traced, alone) = interleaved(
        ROUNDS,
        || seconds(itself(bench, &[TRACED], argv)?),
        || seconds(placed(bench, argv)),
    )?;
    Ok((each(gated, plain, times), each(traced, alone, times)))
}

/// The probe behind the gate, and in the same sandbox without it.
fn pair(bench: &Bench, argv: &[&str]) -> Result<(Duration, Duration), Failure> {
    let approver = bench.approver()?;
    let options = ["--approver", approver.as_str()];
    interleaved(
        ROUNDS,
        || seconds(bench.tipstaff(&options, argv)),
        || {
            let inner = bench.tipstaff(&options, argv);
            let mut words = vec![inner.get_program().to_owned()];
            words.extend(inner.get_args().map(ToOwned::to_owned));
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(WITHOUT).args(words);
            bench.place(&mut command);
            seconds(command)
        },
    )
}

/// Milliseconds more for each.
fn each(one: Duration, other: Duration, times: u32) -> f64 {
    (one.as_secs_f64() - other.as_secs_f64()) * 1000.0 / f64::from(times)
}

fn placed(bench: &Bench, argv: &[&str]) -> Command {
    let mut words = argv.iter();
    let mut command = Command::new(words.next().unwrap_or(&"true"));
    command.args(words);
    bench.place(&mut command);
    command
}

fn itself(bench: &Bench, options: &[&str], argv: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(options).args(argv);
    bench.place(&mut command);
    Ok(command)
}

/// Becomes PROGRAM ARGS under a filter that says EBUSY to a listener; comes back when that fails.
pub fn without_listener(words: &[std::ffi::OsString]) -> Failure {
    let bit = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(8), 8);
    let filter = bit
        .and_then(|bit| SeccompRule::new(vec![bit]))
        .and_then(|rule| {
            SeccompFilter::new(
                [(libc::SYS_seccomp, vec![rule])].into(),
                SeccompAction::Allow,
                SeccompAction::Errno(libc::EBUSY.unsigned_abs()),
                std::env::consts::ARCH.try_into()?,
            )
        })
        .and_then(BpfProgram::try_from);
    let applied = filter
        .map_err(Failure::from)
        .and_then(|filter| Ok(seccompiler::apply_filter(&filter)?));
    match (applied, words.split_first()) {
        (Err(error), _) => error,
        (Ok(()), Some((program, rest))) => Command::new(program).args(rest).exec().into(),
        (Ok(()), None) => "no program".into(),
    }
}

/// Runs PROGRAM ARGS and stops at every fork, clone, exec and exit of its tree, as a tracer does that judges
/// each exec.
pub fn traced(words: &[std::ffi::OsString]) -> Result<(), Failure> {
    let (program, rest) = words.split_first().ok_or("no program")?;
    let mut shell = Command::new("sh");
    // It waits until it is traced.
    shell.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]);
    let child = shell.arg(program).args(rest).spawn()?;
    let root = Pid::from_raw(i32::try_from(child.id())?);
    waitpid(root, Some(WaitPidFlag::WUNTRACED))?;
    let options = ptrace::Options::PTRACE_O_TRACEFORK
        | ptrace::Options::PTRACE_O_TRACEVFORK
        | ptrace::Options::PTRACE_O_TRACECLONE
        | ptrace::Options::PTRACE_O_TRACEEXEC;
    ptrace::seize(root, options)?;
    nix::sys::signal::kill(root, nix::sys::signal::Signal::SIGCONT)?;
    loop {
        match waitpid(None, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) if pid == root => {
                return Ok(());
            }
            Ok(WaitStatus::Stopped(pid, signal)) => ptrace::cont(pid, signal).unwrap_or(()),
            Ok(status) => {
                if let Some(pid) = status.pid() {
                    // One that is gone needs no leave to go on.
                    ptrace::cont(pid, None).unwrap_or(());
                }
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}
