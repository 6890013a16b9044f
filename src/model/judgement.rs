//! The policy's answer with its reasons.

use std::fmt;

use serde::Serialize;

use super::access::Access;
use super::profile::ProfileName;
use super::verdict::Verdict;

/// Why something was decided as it was. The list is closed; each code is documented in docs/reasons.md
/// and is part of every JSON answer and record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A policy layer cannot be loaded, so nothing runs.
    PolicyInvalid,
    /// A deny rule matches.
    RuleDeny,
    /// The sandbox is not proved at the level that is needed.
    SandboxUnavailable,
    /// An ask rule matches.
    RuleAsk,
    /// The line holds syntax that cannot be decided before it runs.
    Opaque,
    /// The program, or a word that could change what it does, is known only when the shell runs.
    Dynamic,
    /// No rule matches.
    Unmatched,
    /// The program is not found.
    ProgramNotFound,
    /// The program is found but cannot be identified or run.
    ProgramUnusable,
    /// An allow rule names the program, but the file is not a trusted one.
    ProgramUntrusted,
    /// Allow rules cover every access.
    RuleAllow,
    /// The built-in read-only rules cover every access.
    ReadOnlyDefault,
    /// Nothing is accessed.
    NoAccess,
    /// The approver said yes.
    Approved,
    /// The approver said no.
    Refused,
    /// Somebody would have to be asked and nobody can be.
    NoApprover,
    /// Mode `dont-ask`: what would be asked is refused.
    DontAsk,
    /// Mode `plan`: only what is known to read runs, in the read-only profile.
    PlanMode,
    /// The question was not answered in time.
    Timeout,
    /// The approver failed or answered what cannot be understood.
    ApproverError,
    /// What was judged changed before it could start.
    CallChanged,
    /// The question or the run was cancelled.
    Cancelled,
    /// Mode `bypass`, with a proved sandbox.
    Bypass,
    /// What would run is not the file that is executed: the program behind a dynamic loader, or a file
    /// in memory or without a name.
    ProgramHidden,
}

impl Reason {
    /// Every reason, for the table in the docs and its test.
    pub const ALL: [Self; 24] = [
        Self::PolicyInvalid,
        Self::RuleDeny,
        Self::SandboxUnavailable,
        Self::RuleAsk,
        Self::Opaque,
        Self::Dynamic,
        Self::Unmatched,
        Self::ProgramNotFound,
        Self::ProgramUnusable,
        Self::ProgramUntrusted,
        Self::RuleAllow,
        Self::ReadOnlyDefault,
        Self::NoAccess,
        Self::Approved,
        Self::Refused,
        Self::NoApprover,
        Self::DontAsk,
        Self::PlanMode,
        Self::Timeout,
        Self::ApproverError,
        Self::CallChanged,
        Self::Cancelled,
        Self::Bypass,
        Self::ProgramHidden,
    ];

    /// The stable code of JSON, records and messages.
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// The verdict that judging gives for it. Reasons of later stages count as questions here.
    pub const fn verdict(self) -> Verdict {
        self.row().1
    }

    /// Which of several reasons of equal strictness is told: the one with the greatest weight, which is the
    /// hardest to change.
    pub const fn weight(self) -> u8 {
        self.row().2
    }

    /// The one table of reasons: code, verdict, weight.
    const fn row(self) -> (&'static str, Verdict, u8) {
        match self {
            Self::RuleDeny => ("rule-deny", Verdict::Deny, 10),
            Self::RuleAsk => ("rule-ask", Verdict::Ask, 9),
            Self::Opaque => ("opaque", Verdict::Ask, 8),
            Self::Dynamic => ("dynamic", Verdict::Ask, 7),
            Self::ProgramNotFound => ("program-not-found", Verdict::Ask, 6),
            Self::ProgramUnusable => ("program-unusable", Verdict::Ask, 5),
            Self::ProgramUntrusted => ("program-untrusted", Verdict::Ask, 4),
            Self::Unmatched => ("unmatched", Verdict::Ask, 3),
            Self::RuleAllow => ("rule-allow", Verdict::Allow, 2),
            Self::ReadOnlyDefault => ("read-only-default", Verdict::Allow, 1),
            Self::NoAccess => ("no-access", Verdict::Ask, 0),
            Self::PolicyInvalid => ("policy-invalid", Verdict::Ask, 0),
            Self::SandboxUnavailable => ("sandbox-unavailable", Verdict::Ask, 0),
            Self::Approved => ("approved", Verdict::Ask, 0),
            Self::Refused => ("refused", Verdict::Ask, 0),
            Self::NoApprover => ("no-approver", Verdict::Ask, 0),
            Self::DontAsk => ("dont-ask", Verdict::Ask, 0),
            Self::PlanMode => ("plan-mode", Verdict::Ask, 0),
            Self::Timeout => ("timeout", Verdict::Ask, 0),
            Self::ApproverError => ("approver-error", Verdict::Ask, 0),
            Self::CallChanged => ("call-changed", Verdict::Ask, 0),
            Self::Cancelled => ("cancelled", Verdict::Ask, 0),
            Self::Bypass => ("bypass", Verdict::Ask, 0),
            Self::ProgramHidden => ("program-hidden", Verdict::Ask, 0),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Where a policy comes from. The order is the order of the layers; they add up, the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Compiled in.
    BuiltIn,
    /// `/etc/tipstaff/policy.d/*.toml`
    Managed,
    /// `policy.toml` of the user.
    User,
    /// `.tipstaff/policy.toml` of the workspace.
    Project,
    /// Given for one session.
    Session,
    /// Given on the command line.
    Flag,
}

impl Layer {
    /// The word of JSON and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
            Self::Flag => "flag",
        }
    }
}

/// The rule that decided, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// The rule's `id`, or one made of its layer and place.
    pub id: String,
    /// Its layer.
    pub layer: Layer,
    /// File and line, `None` for built-in rules.
    pub place: Option<Place>,
    /// The rule as written.
    pub text: String,
    /// Its `why`.
    pub why: Option<String>,
}

impl RuleRef {
    /// What people know it by: the id it was given, or its text when the id only says where it stands.
    pub fn called(&self) -> &str {
        let placed = self
            .place
            .as_ref()
            .is_some_and(|place| self.id == format!("{}:{}", self.layer.word(), place.line));
        if placed { &self.text } else { &self.id }
    }
}

/// A line of a policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
}

/// The verdict on one access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessJudgement {
    /// What is accessed.
    pub access: Access,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The deciding rule.
    pub rule: Option<RuleRef>,
    /// Whether the rule may match or not, depending on what the shell puts in, and the program will be
    /// executed: a gate decides it then by the real argv.
    pub open: bool,
    /// What would make this access allowed, in words, or why nothing can; `None` when it is.
    pub remedy: Option<String>,
}

/// The verdict on one sub-command: the strictest of its accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubJudgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The deciding rule.
    pub rule: Option<RuleRef>,
    /// Each access with its own verdict.
    pub accesses: Vec<AccessJudgement>,
    /// What would make this sub-command allowed, in words, or why nothing can.
    pub remedy: Option<String>,
}

/// The verdict on a deed of the caller's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeedJudgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The deciding rule.
    pub rule: Option<RuleRef>,
    /// What would make it allowed, in words, or why nothing can.
    pub remedy: Option<String>,
}

/// A narrower sandbox that a rule wants the line to run in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The profile.
    pub profile: ProfileName,
    /// The rule that says so.
    pub rule: RuleRef,
}

/// The verdict on a line: the strictest of its sub-commands and of the line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// Each sub-command, same indices as the survey.
    pub subcommands: Vec<SubJudgement>,
    /// The narrowest profile that any rule wants for any sub-command; `None` leaves the run's own.
    pub confined: Option<Confined>,
}

impl Judgement {
    /// The profile of a run that would otherwise have `ceiling`: rules narrow it, and none widens it.
    pub fn profile(&self, ceiling: ProfileName) -> ProfileName {
        self.confined
            .as_ref()
            .map_or(ceiling, |confined| confined.profile.min(ceiling))
    }
}
