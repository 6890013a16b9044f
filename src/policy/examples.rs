//! Examples of a rule, checked when it is loaded: a policy tests itself.

use toml::de::DeTable;

use super::glob::{Match, Purpose};
use super::judge::{Scene, View, command_matches};
use super::pattern::static_argv;
use super::reader::Reader;
use super::rule::{Rule, Target};
use super::survey::survey;
use crate::model::access::{Facts, Resolved};
use crate::model::digest::Digest;
use crate::model::executable::{Executable, FileId, Format, Lookup, Trust};
use crate::model::path::AbsolutePath;
use crate::model::profile::Network;
use crate::model::script::{Context, Dialect, Folder, Script, Span, SubCommand, SyntaxError};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

/// Checks `match` and `no_match` against the rule.
pub(super) fn check(reader: &mut Reader<'_>, table: &DeTable<'_>, rule: &Rule) {
    for (key, wanted) in [("match", true), ("no_match", false)] {
        for example in reader.strings(table, key) {
            match matches(rule, &example.value) {
                None => reader.fault(
                    example.span,
                    format!(
                        "the example `{}` is no list of words",
                        Escaped::from(example.value.as_str())
                    ),
                    "an example is one command, or one path, host or name, quoted as in a shell",
                ),
                Some(found) if found != wanted => reader.fault(
                    example.span,
                    format!(
                        "the example `{}` is {} by its rule",
                        Escaped::from(example.value.as_str()),
                        if found { "matched" } else { "not matched" }
                    ),
                    "correct the rule or the example",
                ),
                Some(_) => {}
            }
        }
    }
}

/// Whether the rule matches the example; `None` when the example cannot be read.
fn matches(rule: &Rule, example: &str) -> Option<bool> {
    let facts = facts()?;
    let purpose = match rule.verdict {
        Verdict::Allow => Purpose::Allow,
        Verdict::Ask | Verdict::Deny => Purpose::Restrict,
    };
    let words = shell_words::split(example)
        .ok()
        .filter(|words| !words.is_empty())?;
    let mut any = false;
    for target in &rule.targets {
        let first = words.first()?;
        let found = match target {
            Target::Command(pattern) => {
                let (survey, resolved) = scene(&words, &facts);
                let scene = Scene::new(&survey, &resolved, &facts);
                let view = View::new(&scene, 0)?;
                command_matches(rule, pattern, &view, purpose) == Match::Yes
            }
            Target::Write(pattern) | Target::Read(pattern) | Target::Delete(pattern) => {
                pattern.matches(&path(first, &facts), &facts)
            }
            Target::Env(glob) => glob.matches(first.as_bytes(), None, purpose),
            Target::Network(host) => {
                let (name, port) = first
                    .rsplit_once(':')
                    .map_or((first.as_str(), None), |(name, port)| (name, Some(port)));
                host.matches(name.as_bytes(), port.map(str::as_bytes), purpose)
            }
            Target::Mcp(tool) => first
                .split_once(':')
                .is_some_and(|(server, name)| tool.matches(server, name, purpose)),
        };
        any |= found;
    }
    Some(any)
}

fn path(text: &str, facts: &Facts) -> AbsolutePath {
    match (text.strip_prefix("~/"), &facts.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => facts.workspace.join(text),
    }
}

/// Made-up places: an example depends on no machine.
pub(super) fn facts() -> Option<Facts> {
    let workspace = AbsolutePath::new("/workspace").ok()?;
    Some(Facts {
        cwd: workspace.clone(),
        workspace,
        home: AbsolutePath::new("/home/user").ok(),
        own: Vec::new(),
        network: Network::Off,
        today: i64::MIN,
    })
}

/// The example as a line of one command whose program is a trusted file.
fn scene(words: &[String], facts: &Facts) -> (crate::model::access::Survey, Resolved) {
    let bytes: Vec<Vec<u8>> = words.iter().map(|word| home(word, facts)).collect();
    let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let script = Script {
        subcommands: vec![SubCommand {
            span: Span::default(),
            context: Context::default(),
            folder: Folder::Start,
            argv: static_argv(&slices),
            assignments: Vec::new(),
            redirections: Vec::new(),
            carrier: None,
        }],
        ..Script::default()
    };
    let survey = survey(script, facts, |_: &[u8], _: Dialect| {
        Err(SyntaxError::Limit("examples"))
    });
    let name = slices.first().copied().unwrap_or_default();
    let found = if name.contains(&b'/') {
        facts.cwd.join_bytes(name)
    } else {
        facts.cwd.join("/usr/bin").join_bytes(name)
    };
    let file = Executable {
        real: found.clone(),
        path: found,
        id: FileId { dev: 0, ino: 0 },
        size: 0,
        digest: Digest([0; 32]),
        format: Format::Elf,
        trust: Trust::Trusted,
    };
    let resolved = Resolved {
        lookups: vec![Lookup::File(Box::new(file))],
        ..Resolved::default()
    };
    (survey, resolved)
}

fn home(word: &str, facts: &Facts) -> Vec<u8> {
    match (word.strip_prefix('~'), &facts.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            [home.as_bytes(), rest.as_bytes()].concat()
        }
        (Some(_) | None, _) => word.as_bytes().to_vec(),
    }
}
