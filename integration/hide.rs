//! `enforce --without landlock|seccomp PROGRAM ARGS…`: a host that lacks one of the two, made by a
//! filter that answers their system calls as a kernel built without them does: ENOSYS.

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
        other => return fail(format!("`{other}` cannot be hidden")),
    };
    let missing = SeccompAction::Errno(u32::try_from(libc::ENOSYS)?);
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        missing,
        std::env::consts::ARCH.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

fn first_argument_is(value: i32) -> Outcome<SeccompRule> {
    let value = u64::try_from(value)?;
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}
