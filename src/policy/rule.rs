//! A compiled rule.

use super::glob::Glob;
use super::lex::{self, Bad};
use super::path_pattern::PathPattern;
use super::pattern::{CommandPattern, glob};
use crate::model::access::Facts;
use crate::model::judgement::{Layer, RuleRef};
use crate::model::profile::{Network, Profile};
use crate::model::verdict::Verdict;

/// What a rule speaks of.
#[derive(Debug)]
pub(super) enum Target {
    Command(CommandPattern),
    Write(PathPattern),
    Read(PathPattern),
    Env(Glob),
    Network(Host),
}

/// A host with an optional port.
#[derive(Debug)]
pub(super) struct Host {
    name: Glob,
    port: Option<String>,
}

impl Host {
    /// Its name and port, when the name holds no wildcard.
    pub(super) fn literal(&self) -> Option<(Vec<u8>, Option<String>)> {
        Some((self.name.literal()?, self.port.clone()))
    }

    pub(super) fn matches(
        &self,
        host: &[u8],
        port: Option<&[u8]>,
        purpose: super::glob::Purpose,
    ) -> bool {
        let port_matches = match (&self.port, port) {
            (None, _) => true,
            (Some(wanted), Some(port)) => wanted.as_bytes() == port,
            (Some(_), None) => false,
        };
        port_matches && self.name.matches(&host.to_ascii_lowercase(), None, purpose)
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
                Target::Write(_) | Target::Read(_) | Target::Env(_) | Target::Network(_) => {
                    Vec::new()
                }
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
                Target::Write(path) => !path.is_apart_from(writable(), facts),
                Target::Read(path) => !path.is_apart_from(readable(), facts),
                Target::Network(_) => profile.network != Network::Off,
                Target::Command(_) | Target::Env(_) => false,
            })
    }
}

/// The kinds of a one-line rule.
const KINDS: [&str; 4] = ["write", "read", "env", "network"];
/// Kinds of the grammar that arrive with the gate and the servers.
const LATER: [&str; 2] = ["delete", "mcp"];

/// Compiles `kind(PATTERN)` or a bare command pattern.
pub(super) fn one_line(text: &str) -> Result<Target, Bad> {
    let trimmed = text.trim();
    let called = trimmed
        .strip_suffix(')')
        .and_then(|text| text.split_once('('))
        .filter(|(kind, _)| {
            !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
        });
    match called {
        Some((kind, pattern)) => of_kind(kind, pattern),
        None => command(trimmed),
    }
}

/// Compiles a command pattern. An unquoted parenthesis can only be a slip: no argument holds one.
pub(super) fn command(text: &str) -> Result<Target, Bad> {
    let pattern = CommandPattern::new(text)?;
    if !text.starts_with("re:") {
        let words = lex::words(text)?;
        let stray = |char: &lex::Char| !char.literal && matches!(char.byte, b'(' | b')');
        if words.iter().flatten().any(stray) {
            return Err(Bad::new(
                "a parenthesis is an operator of the shell",
                "quote it, or write `kind(PATTERN)` alone",
            ));
        }
    }
    Ok(Target::Command(pattern))
}

/// Compiles the pattern of a kind.
pub(super) fn of_kind(kind: &str, pattern: &str) -> Result<Target, Bad> {
    if LATER.contains(&kind) {
        return Err(Bad::new(
            format!("rules of the kind `{kind}` are not supported yet"),
            "leave the rule out: what is not enforced is never accepted",
        ));
    }
    if !KINDS.contains(&kind) {
        return Err(Bad::new(
            format!("`{kind}` is no kind of rule"),
            "kinds are write, read, env, network; a command is written without parentheses",
        ));
    }
    let words = lex::words(pattern)?;
    let [word] = words.as_slice() else {
        return Err(Bad::new(
            format!("`{kind}(…)` takes exactly one word"),
            "quote blanks; write one rule for each pattern",
        ));
    };
    match kind {
        "write" => PathPattern::new(word).map(Target::Write),
        "read" => PathPattern::new(word).map(Target::Read),
        "env" => {
            let name = lex::text(word);
            if name.is_empty() || name.contains('=') {
                return Err(Bad::new(
                    "`env(…)` takes the name of a variable",
                    "values are not looked at; write `env(NAME)`",
                ));
            }
            glob(word).map(Target::Env)
        }
        _ => host(word).map(Target::Network),
    }
}

fn host(word: &[lex::Char]) -> Result<Host, Bad> {
    let help = "write `network(HOST)` or `network(HOST:PORT)`, an IPv6 address in brackets";
    let text = lex::text(word);
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest
                .split_once(']')
                .ok_or_else(|| Bad::new("the bracket of the address is not closed", help))?;
            (name, port.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text.as_str(), None),
        },
    };
    let number = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if name.is_empty() || !number || name.contains('/') {
        return Err(Bad::new("this is no host", help));
    }
    // Host names are compared without regard to case (RFC 4343).
    let lower = lex::words(&name.to_ascii_lowercase())?;
    let name = match lower.as_slice() {
        [word] => glob(word)?,
        _ => return Err(Bad::new("this is no host", help)),
    };
    Ok(Host {
        name,
        port: port.map(str::to_owned),
    })
}
