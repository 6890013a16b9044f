//! `enforce --without landlock|seccomp|namespaces PROGRAM ARGS…`: a host that lacks one of them, made by a
//! filter that answers their system calls as a kernel built without them does, or as one that gives
//! namespaces to nobody.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::harness::{Outcome, Stop, fail};

/// Becomes PROGRAM; comes back only when that fails.
pub fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let (what, program) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let why = match filter(&what.to_string_lossy())
        .and_then(|filter| Ok(seccompiler::apply_filter(&filter)?))
    {
        Ok(()) => format!("cannot start: {}", Command::new(program).args(words).exec()),
        Err(Stop::Fail(why) | Stop::Skip(why)) => why,
    };
    eprintln!("enforce --without: {why}");
    ExitCode::from(99)
}

fn filter(what: &str) -> Outcome<BpfProgram> {
    let calls = match what {
        "landlock" => BTreeMap::from([
            (libc::SYS_landlock_create_ruleset, Vec::new()),
            (libc::SYS_landlock_add_rule, Vec::new()),
            (libc::SYS_landlock_restrict_self, Vec::new()),
        ]),
        "seccomp" => BTreeMap::from([
            (libc::SYS_seccomp, Vec::new()),
            (
                libc::SYS_prctl,
                vec![first_argument_is(libc::PR_SET_SECCOMP)?],
            ),
        ]),
        // A network namespace alone stays: the loopback setting does without the others.
        "namespaces" => BTreeMap::from([(libc::SYS_unshare, vec![mount_namespace()?])]),
        other => return fail(format!("`{other}` cannot be hidden")),
    };
    let errno = if what == "namespaces" {
        libc::EPERM
    } else {
        libc::ENOSYS
    };
    let missing = SeccompAction::Errno(u32::try_from(errno)?);
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        missing,
        std::env::consts::ARCH.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

fn mount_namespace() -> Outcome<SeccompRule> {
    let flag = u64::try_from(libc::CLONE_NEWNS)?;
    let operator = SeccompCmpOp::MaskedEq(flag);
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, flag)?;
    Ok(SeccompRule::new(vec![condition])?)
}

fn first_argument_is(value: i32) -> Outcome<SeccompRule> {
    let value = u64::try_from(value)?;
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}
