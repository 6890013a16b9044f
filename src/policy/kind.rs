//! One rule as text: `kind(PATTERN)`, or a bare command pattern.

use super::lex::{self, Bad};
use super::path_pattern::PathPattern;
use super::pattern::{CommandPattern, glob};
use super::rule::{Host, Target, Tool};
use crate::model::text::Escaped;

/// What a rule can speak of beside commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    Read,
    Delete,
    Env,
    Network,
    Mcp,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Write,
        Self::Read,
        Self::Delete,
        Self::Env,
        Self::Network,
        Self::Mcp,
    ];

    /// The kind called `name`.
    pub(super) fn named(name: &str) -> Result<Self, Bad> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.word() == name)
            .ok_or_else(|| {
                Bad::new(
                    format!("`{}` is no kind of rule", Escaped::from(name)),
                    "kinds are write, read, delete, env, network, mcp; a command is written without parentheses",
                )
            })
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Delete => "delete",
            Self::Env => "env",
            Self::Network => "network",
            Self::Mcp => "mcp",
        }
    }

    /// The key that holds its patterns in a long rule.
    pub(super) const fn list(self) -> &'static str {
        match self {
            Self::Write | Self::Read | Self::Delete => "paths",
            Self::Env => "names",
            Self::Network => "hosts",
            Self::Mcp => "tools",
        }
    }

    /// Compiles a pattern of this kind.
    pub(super) fn target(self, pattern: &str) -> Result<Target, Bad> {
        let words = lex::words(pattern)?;
        let [word] = words.as_slice() else {
            return Err(Bad::new(
                format!("`{}(…)` takes exactly one word", self.word()),
                "quote blanks; write one rule for each pattern",
            ));
        };
        match self {
            Self::Write => PathPattern::new(word).map(Target::Write),
            Self::Read => PathPattern::new(word).map(Target::Read),
            Self::Delete => PathPattern::new(word).map(Target::Delete),
            Self::Env => variable(word),
            Self::Network => host(word).map(Target::Network),
            Self::Mcp => tool(word).map(Target::Mcp),
        }
    }
}

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
        Some((kind, pattern)) => Kind::named(kind)?.target(pattern),
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

fn variable(word: &[lex::Char]) -> Result<Target, Bad> {
    let name = lex::text(word);
    if name.is_empty() || name.contains('=') {
        return Err(Bad::new(
            "`env(…)` takes the name of a variable",
            "values are not looked at; write `env(NAME)`",
        ));
    }
    glob(word).map(Target::Env)
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

fn tool(word: &[lex::Char]) -> Result<Tool, Bad> {
    let help = "write `mcp(SERVER:TOOL)`, for example `mcp(tickets:read_*)`";
    let colon = word.iter().position(|char| char.byte == b':');
    let parts = colon.and_then(|at| Some((word.get(..at)?, word.get(at.saturating_add(1)..)?)));
    match parts {
        Some((server, name)) if !server.is_empty() && !name.is_empty() => Ok(Tool {
            // Names are no paths: a wildcard stands for any of their characters.
            server: glob(server)?.across_slashes(),
            name: glob(name)?.across_slashes(),
        }),
        Some(_) | None => Err(Bad::new("this is no tool of a server", help)),
    }
}
