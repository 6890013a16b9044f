//! `TEST --without WHAT PROGRAM ARGS…`: a host that lacks something, made by a filter that answers its
//! system calls as such a host does. `landlock` and `seccomp`: ENOSYS, a kernel built without them.
//! `namespaces`: EPERM, user namespaces off. `listener`: EBUSY, inside another supervisor. `ptrace`: EPERM,
//! Yama or a container. `answers`: ENOTTY, a listener that hands nothing out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// The first word that makes a test program this.
pub const MODE: &str = "--without";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

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
        Err(error) => error.to_string(),
    };
    eprintln!("{MODE}: {why}");
    ExitCode::from(99)
}

fn filter(what: &str) -> Outcome<BpfProgram> {
    let (calls, errno) = match what {
        "landlock" => (
            BTreeMap::from([
                (libc::SYS_landlock_create_ruleset, Vec::new()),
                (libc::SYS_landlock_add_rule, Vec::new()),
                (libc::SYS_landlock_restrict_self, Vec::new()),
            ]),
            libc::ENOSYS,
        ),
        "seccomp" => (
            BTreeMap::from([
                (libc::SYS_seccomp, Vec::new()),
                (
                    libc::SYS_prctl,
                    vec![argument_is(0, libc::PR_SET_SECCOMP.try_into()?)?],
                ),
            ]),
            libc::ENOSYS,
        ),
        // A network namespace alone stays: the loopback setting does without the others.
        "namespaces" => (
            BTreeMap::from([(libc::SYS_unshare, vec![has_bit(0, MOUNT_NAMESPACE)?])]),
            libc::EPERM,
        ),
        "listener" => (
            BTreeMap::from([(libc::SYS_seccomp, vec![has_bit(1, NEW_LISTENER)?])]),
            libc::EBUSY,
        ),
        "ptrace" => (
            BTreeMap::from([(libc::SYS_ptrace, Vec::new())]),
            libc::EPERM,
        ),
        "answers" => (
            BTreeMap::from([(libc::SYS_ioctl, vec![argument_is(1, NOTIF_RECV)?])]),
            libc::ENOTTY,
        ),
        other => return Err(format!("`{other}` cannot be hidden").into()),
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

/// `CLONE_NEWNS`
const MOUNT_NAMESPACE: u64 = 0x0002_0000;
/// `SECCOMP_FILTER_FLAG_NEW_LISTENER`
const NEW_LISTENER: u64 = 1 << 3;
/// `SECCOMP_IOCTL_NOTIF_RECV`
const NOTIF_RECV: u64 = 0xc050_2100;

fn argument_is(argument: u8, value: u64) -> Outcome<SeccompRule> {
    rule(argument, SeccompCmpOp::Eq, value)
}

fn has_bit(argument: u8, bit: u64) -> Outcome<SeccompRule> {
    rule(argument, SeccompCmpOp::MaskedEq(bit), bit)
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Outcome<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}
