//! Risk, authority and severity: how a question tells at a glance what is at stake.
//!
//! `TABLE` holds every pair; the facts it is asked with come from the program knowledge and the judgement.
//!
//! Risk is `unknown` unless the built-in read-only rules cover the sub-command or the shell itself does
//! all of it: what an unjudged program does is not guessed from its name.

use crate::model::access::{Access, Traits};
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

/// Every pair with its severity and the reason in words; `docs/risk.md` shows the same table.
pub const TABLE: [(Risk, Authority, Severity, &str); 20] = [
    (
        Risk::Read,
        Authority::Workspace,
        Severity::Low,
        "it reads what the run may read anyway",
    ),
    (
        Risk::Read,
        Authority::Outside,
        Severity::Medium,
        "it reads files that are not of the workspace",
    ),
    (
        Risk::Read,
        Authority::Network,
        Severity::Medium,
        "what it asks for, another host learns",
    ),
    (
        Risk::Read,
        Authority::Escalation,
        Severity::High,
        "it reads with rights the caller does not have",
    ),
    (
        Risk::Write,
        Authority::Workspace,
        Severity::Medium,
        "it changes files of the workspace, which can be restored",
    ),
    (
        Risk::Write,
        Authority::Outside,
        Severity::High,
        "it changes files that others rely on",
    ),
    (
        Risk::Write,
        Authority::Network,
        Severity::High,
        "what it sends cannot be taken back",
    ),
    (
        Risk::Write,
        Authority::Escalation,
        Severity::High,
        "it writes with rights the caller does not have",
    ),
    (
        Risk::Privileged,
        Authority::Workspace,
        Severity::High,
        "it is made to change the system itself",
    ),
    (
        Risk::Privileged,
        Authority::Outside,
        Severity::High,
        "it is made to change the system itself",
    ),
    (
        Risk::Privileged,
        Authority::Network,
        Severity::High,
        "it is made to change the system itself",
    ),
    (
        Risk::Privileged,
        Authority::Escalation,
        Severity::High,
        "it is made to change the system itself",
    ),
    (
        Risk::Forbidden,
        Authority::Workspace,
        Severity::High,
        "a rule denies it",
    ),
    (
        Risk::Forbidden,
        Authority::Outside,
        Severity::High,
        "a rule denies it",
    ),
    (
        Risk::Forbidden,
        Authority::Network,
        Severity::High,
        "a rule denies it",
    ),
    (
        Risk::Forbidden,
        Authority::Escalation,
        Severity::High,
        "a rule denies it",
    ),
    (
        Risk::Unknown,
        Authority::Workspace,
        Severity::High,
        "what it does is not known; the sandbox alone bounds it",
    ),
    (
        Risk::Unknown,
        Authority::Outside,
        Severity::High,
        "what it does is not known, and it reaches beyond the workspace",
    ),
    (
        Risk::Unknown,
        Authority::Network,
        Severity::High,
        "what it does is not known, and it may speak to other hosts",
    ),
    (
        Risk::Unknown,
        Authority::Escalation,
        Severity::High,
        "what it does is not known, and it asks for more rights",
    ),
];

fn row(risk: Risk, authority: Authority) -> Option<(Severity, &'static str)> {
    TABLE
        .iter()
        .find(|row| row.0 == risk && row.1 == authority)
        .map(|row| (row.2, row.3))
}

/// How much care the answer deserves. A pair without a row, which a test forbids, is high.
pub fn severity(risk: Risk, authority: Authority) -> Severity {
    row(risk, authority).map_or(Severity::High, |row| row.0)
}

/// Why it deserves that, in words.
pub fn stakes(risk: Risk, authority: Authority) -> &'static str {
    row(risk, authority).map_or("nothing is known of it", |row| row.1)
}

/// Classifies one sub-command, seen from `workspace`, that runs with `network`. An
/// unknown program reaches as far as its sandbox lets it.
pub fn classify(
    traits: Traits,
    lookup: Option<&Lookup>,
    judged: &SubJudgement,
    workspace: &AbsolutePath,
    network: Network,
) -> (Risk, Authority) {
    let privileged = traits.privileged;
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

#[cfg(test)]
mod tests {
    use super::{Authority, Risk, Severity, TABLE, classify, severity};
    use crate::approval::sample::{judged, path};
    use crate::model::access::{Access, PathAccess, Source, Traits};
    use crate::model::executable::Lookup;
    use crate::model::judgement::{AccessJudgement, Reason, SubJudgement};
    use crate::model::profile::Network;
    use crate::model::script::{Span, Word};
    use crate::model::verdict::Verdict;

    fn classified(program: &str, judged: &SubJudgement, network: Network) -> (Risk, Authority) {
        let traits = Traits {
            privileged: program != "rm" && program != "cat",
            runs_workspace_code: false,
        };
        classify(
            traits,
            Some(&Lookup::Dynamic),
            judged,
            &path("/ws"),
            network,
        )
    }

    #[test]
    fn every_pair_has_one_row() {
        for (at, row) in TABLE.iter().enumerate() {
            let same =
                |other: &&(Risk, Authority, Severity, &str)| other.0 == row.0 && other.1 == row.1;
            assert_eq!(TABLE.iter().filter(same).count(), 1, "row {at}");
        }
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
                open: false,
                remedy: None,
            });
            let (risk, authority) = classified("cat", &writes, Network::Off);
            assert_eq!(severity(risk, authority), expected);
        }
    }
}
