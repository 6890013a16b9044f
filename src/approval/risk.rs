//! Risk, authority and severity: how a question tells at a glance what is at stake.
//!
//! | risk \ authority | workspace | outside | network | escalation |
//! |---|---|---|---|---|
//! | read | low | medium | medium | high |
//! | write | medium | high | high | high |
//! | privileged, forbidden, unknown | high | high | high | high |
//!
//! Risk is `unknown` unless the built-in read-only rules cover the sub-command or the shell itself does
//! all of it: what an unjudged program does is not guessed from its name.

use crate::model::access::Access;
use crate::model::executable::Lookup;
use crate::model::judgement::{Reason, SubJudgement};
use crate::model::path::AbsolutePath;
use crate::model::profile::Network;
use crate::model::verdict::Verdict;

/// What a sub-command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Changes the system itself.
    Privileged,
    /// Is denied.
    Forbidden,
    /// Not known.
    Unknown,
}

/// How far it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The workspace.
    Workspace,
    /// Files outside of it.
    Outside,
    /// Other hosts.
    Network,
    /// More rights than the caller has.
    Escalation,
}

/// How much care the answer deserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// All of it.
    High,
}

impl Risk {
    /// The word of questions and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Privileged => "privileged",
            Self::Forbidden => "forbidden",
            Self::Unknown => "unknown",
        }
    }
}

impl Authority {
    /// The word of questions and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Outside => "outside",
            Self::Network => "network",
            Self::Escalation => "escalation",
        }
    }
}

impl Severity {
    /// The word of questions and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The table of this module's page.
pub const fn severity(risk: Risk, authority: Authority) -> Severity {
    match (risk, authority) {
        (Risk::Read, Authority::Workspace) => Severity::Low,
        (Risk::Read, Authority::Outside | Authority::Network)
        | (Risk::Write, Authority::Workspace) => Severity::Medium,
        (Risk::Read, Authority::Escalation)
        | (Risk::Write, Authority::Outside | Authority::Network | Authority::Escalation)
        | (Risk::Privileged | Risk::Forbidden | Risk::Unknown, _) => Severity::High,
    }
}

/// Classifies one sub-command named `program`, seen from `workspace`, that runs with `network`. An
/// unknown program reaches as far as its sandbox lets it.
pub fn classify(
    program: Option<&[u8]>,
    lookup: Option<&Lookup>,
    judged: &SubJudgement,
    workspace: &AbsolutePath,
    network: Network,
) -> (Risk, Authority) {
    let privileged = program.is_some_and(is_privileged);
    let writes = judged
        .accesses
        .iter()
        .any(|one| matches!(one.access, Access::Write(_)));
    let known = matches!(lookup, Some(Lookup::Builtin | Lookup::Nothing))
        || judged.reason == Reason::ReadOnlyDefault
        || judged.accesses.iter().any(|one| {
            matches!(one.access, Access::Command) && one.reason == Reason::ReadOnlyDefault
        });
    let risk = if judged.verdict == Verdict::Deny {
        Risk::Forbidden
    } else if privileged {
        Risk::Privileged
    } else if !known {
        Risk::Unknown
    } else if writes {
        Risk::Write
    } else {
        Risk::Read
    };
    let unbound = risk == Risk::Unknown && network != Network::Off;
    let authority = match authority(privileged, judged, workspace) {
        Authority::Workspace | Authority::Outside if unbound => Authority::Network,
        found @ (Authority::Workspace
        | Authority::Outside
        | Authority::Network
        | Authority::Escalation) => found,
    };
    (risk, authority)
}

fn authority(privileged: bool, judged: &SubJudgement, workspace: &AbsolutePath) -> Authority {
    let accesses = || judged.accesses.iter().map(|one| &one.access);
    if privileged {
        Authority::Escalation
    } else if accesses().any(|one| matches!(one, Access::Network { .. })) {
        Authority::Network
    } else if accesses().any(|one| leaves(one, workspace)) {
        Authority::Outside
    } else {
        Authority::Workspace
    }
}

/// Whether the access opens a file outside the workspace, or one that is not known.
fn leaves(access: &Access, workspace: &AbsolutePath) -> bool {
    match access {
        Access::Write(file) | Access::Read(file) => !file
            .path
            .as_ref()
            .is_some_and(|path| path.is_within(workspace)),
        Access::Command | Access::Env(_) | Access::Network { .. } => false,
    }
}

/// Programs that change the system itself. In the sandbox they have no right to; the question still
/// says what was tried, and no mode answers it for the person.
const PRIVILEGED: [&[u8]; 34] = [
    b"sudo",
    b"su",
    b"doas",
    b"pkexec",
    b"run0",
    b"mount",
    b"umount",
    b"chroot",
    b"pivot_root",
    b"nsenter",
    b"unshare",
    b"setpriv",
    b"capsh",
    b"setcap",
    b"chown",
    b"mknod",
    b"losetup",
    b"fdisk",
    b"parted",
    b"insmod",
    b"rmmod",
    b"modprobe",
    b"kexec",
    b"sysctl",
    b"systemctl",
    b"iptables",
    b"nft",
    b"useradd",
    b"userdel",
    b"usermod",
    b"passwd",
    b"visudo",
    b"crontab",
    b"bpftool",
];

/// Whether `program`, a name or path as written, changes the system itself.
pub fn is_privileged(program: &[u8]) -> bool {
    PRIVILEGED.contains(&base_name(program))
}

/// Programs known to run code that lies in the workspace: allowing them allows that code.
const RUNNERS: [&[u8]; 31] = [
    b"make",
    b"gmake",
    b"ninja",
    b"cmake",
    b"meson",
    b"npm",
    b"npx",
    b"yarn",
    b"pnpm",
    b"bun",
    b"deno",
    b"cargo",
    b"pytest",
    b"tox",
    b"nox",
    b"pip",
    b"poetry",
    b"uv",
    b"go",
    b"gradle",
    b"gradlew",
    b"mvn",
    b"ant",
    b"rake",
    b"bundle",
    b"composer",
    b"mix",
    b"sbt",
    b"bazel",
    b"just",
    b"pre-commit",
];

/// Whether `program`, a name or path as written, is known to run workspace code.
pub fn runs_workspace_code(program: &[u8]) -> bool {
    RUNNERS.contains(&base_name(program))
}

fn base_name(program: &[u8]) -> &[u8] {
    program
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::{Authority, Risk, Severity, classify, severity};
    use crate::approval::sample::{judged, path};
    use crate::model::access::{Access, PathAccess, Source};
    use crate::model::executable::Lookup;
    use crate::model::judgement::{AccessJudgement, Reason, SubJudgement};
    use crate::model::profile::Network;
    use crate::model::script::{Span, Word};
    use crate::model::verdict::Verdict;

    fn classified(program: &str, judged: &SubJudgement, network: Network) -> (Risk, Authority) {
        let program = Some(program.as_bytes());
        classify(
            program,
            Some(&Lookup::Dynamic),
            judged,
            &path("/ws"),
            network,
        )
    }

    #[test]
    fn what_is_not_known_is_high() {
        let unmatched = judged(Verdict::Ask, Reason::Unmatched);
        let (risk, authority) = classified("rm", &unmatched, Network::Off);
        assert_eq!((risk, authority), (Risk::Unknown, Authority::Workspace));
        assert_eq!(severity(risk, authority), Severity::High);
        assert_eq!(
            classified("rm", &unmatched, Network::Loopback),
            (Risk::Unknown, Authority::Network)
        );
        assert_eq!(
            classified("/sbin/mount", &unmatched, Network::Full),
            (Risk::Privileged, Authority::Escalation)
        );
        let denied = judged(Verdict::Deny, Reason::RuleDeny);
        assert_eq!(
            classified("sudo", &denied, Network::Off),
            (Risk::Forbidden, Authority::Escalation)
        );
    }

    #[test]
    fn a_known_reader_is_as_grave_as_its_redirections() {
        let mut reads = judged(Verdict::Ask, Reason::Unmatched);
        reads.accesses = judged(Verdict::Allow, Reason::ReadOnlyDefault).accesses;
        let (risk, authority) = classified("cat", &reads, Network::Full);
        assert_eq!((risk, authority), (Risk::Read, Authority::Workspace));
        assert_eq!(severity(risk, authority), Severity::Low);
        for (target, expected) in [
            (Some(path("/ws/out")), Severity::Medium),
            (Some(path("/etc/out")), Severity::High),
            (None, Severity::High),
        ] {
            let mut writes = reads.clone();
            writes.accesses.push(AccessJudgement {
                access: Access::Write(PathAccess {
                    written: Word::text(Span::default(), "out"),
                    path: target,
                    source: Source::Redirection,
                }),
                verdict: Verdict::Ask,
                reason: Reason::Unmatched,
                rule: None,
                remedy: None,
            });
            let (risk, authority) = classified("cat", &writes, Network::Off);
            assert_eq!(severity(risk, authority), expected);
        }
    }
}
