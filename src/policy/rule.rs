//! A compiled rule.

use super::glob::{Glob, Purpose};
use super::path_pattern::PathPattern;
use super::pattern::CommandPattern;
use crate::model::access::Facts;
use crate::model::judgement::{Layer, RuleRef};
use crate::model::profile::{Network, Profile, ProfileName};
use crate::model::verdict::Verdict;

/// What a rule speaks of.
#[derive(Debug)]
pub(super) enum Target {
    Command(CommandPattern),
    Write(PathPattern),
    Read(PathPattern),
    Delete(PathPattern),
    Env(Glob),
    Network(Host),
    Mcp(Tool),
}

/// A host with an optional port.
#[derive(Debug)]
pub(super) struct Host {
    /// In lower case.
    pub(super) name: Glob,
    pub(super) port: Option<String>,
}

impl Host {
    /// Its name, in lower case.
    pub(super) const fn name(&self) -> &Glob {
        &self.name
    }

    /// Its name and port, when the name holds no wildcard.
    pub(super) fn literal(&self) -> Option<(Vec<u8>, Option<String>)> {
        Some((self.name.literal()?.to_vec(), self.port.clone()))
    }

    pub(super) fn matches(&self, host: &[u8], port: Option<&[u8]>, purpose: Purpose) -> bool {
        let port_matches = match (&self.port, port) {
            (None, _) => true,
            (Some(wanted), Some(port)) => wanted.as_bytes() == port,
            (Some(_), None) => false,
        };
        port_matches && self.name.matches(&host.to_ascii_lowercase(), None, purpose)
    }
}

/// A tool of a server.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) server: Glob,
    pub(super) name: Glob,
}

impl Tool {
    pub(super) fn matches(&self, server: &str, name: &str, purpose: Purpose) -> bool {
        self.server.matches(server.as_bytes(), None, purpose)
            && self.name.matches(name.as_bytes(), None, purpose)
    }
}

/// How close a line has to keep to what an allow rule spells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AsWritten {
    /// The command: by its bare name, no option before its sub-command, in the line's own list.
    Command,
    /// The line as well: simple commands in a list, no redirection, no expansion.
    Line,
}

/// Where and how a command rule applies.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Any of these options is present.
    pub(super) with: Vec<String>,
    /// All of these are present.
    pub(super) with_all: Vec<String>,
    /// None of these is present.
    pub(super) without: Vec<String>,
    /// Every operand that names a path lies in the workspace.
    pub(super) in_workspace: bool,
    /// The folders it applies in; empty means everywhere.
    pub(super) cwd: Vec<PathPattern>,
    /// An allow rule that reaches no other spelling.
    pub(super) as_written: Option<AsWritten>,
    /// The last day it applies.
    pub(super) expires: Option<i64>,
    /// The profile it runs in, where that is narrower than the run's own.
    pub(super) sandbox: Option<ProfileName>,
    /// Whether it covers a run that reaches other hosts.
    pub(super) network: bool,
}

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) reference: RuleRef,
    pub(super) verdict: Verdict,
    pub(super) targets: Vec<Target>,
    pub(super) conditions: Conditions,
    /// The rule is applied to what lines show and promises nothing beyond.
    pub(super) advisory: bool,
}

impl Rule {
    /// Whether the rule still applies on this day.
    pub(super) fn is_current(&self, today: i64) -> bool {
        self.conditions.expires.is_none_or(|last| today <= last)
    }

    /// The programs its command patterns name without a wildcard.
    pub(super) fn program_names(&self) -> Vec<Vec<u8>> {
        self.targets
            .iter()
            .flat_map(|target| match target {
                Target::Command(pattern) => pattern.program_names(),
                Target::Write(_)
                | Target::Read(_)
                | Target::Delete(_)
                | Target::Env(_)
                | Target::Network(_)
                | Target::Mcp(_) => Vec::new(),
            })
            .collect()
    }

    /// Whether the rule denies something that programs of this profile could do all the same, by means
    /// no command line shows. What lies outside of all a profile reads or writes is out of reach; a run
    /// without any network keeps every network rule.
    pub(super) fn needs_guard(&self, profile: &Profile, facts: &Facts) -> bool {
        let writable = || profile.write.iter().chain(&profile.devices);
        let readable = || writable().chain(&profile.read);
        self.verdict == Verdict::Deny
            && !self.advisory
            && self.reference.layer != Layer::BuiltIn
            && self.targets.iter().any(|target| match target {
                Target::Write(path) | Target::Delete(path) => {
                    !path.is_apart_from(writable(), facts)
                }
                Target::Read(path) => !path.is_apart_from(readable(), facts),
                Target::Network(_) => profile.network != Network::Off,
                // Tools run outside of the sandbox, at the hands of whoever asks about them.
                Target::Command(_) | Target::Env(_) | Target::Mcp(_) => false,
            })
    }
}
