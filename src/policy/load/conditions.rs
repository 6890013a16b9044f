//! When and how a long rule applies.

use toml::de::DeTable;

use super::fault;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::path_pattern::PathPattern;
use crate::policy::reader::{At, Reader, key_span};
use crate::policy::rule::{AsWritten, Conditions, Target};
use crate::policy::{date, lex};

/// Keys that say something of a command, and nothing of a path, host or name.
const OF_COMMANDS: [&str; 8] = [
    "with",
    "with_all",
    "without",
    "args",
    "cwd",
    "as_written",
    "sandbox",
    "network",
];

/// Reads every condition; mistakes are noted.
pub(super) fn conditions(
    reader: &mut Reader<'_>,
    at: &At<&DeTable<'_>>,
    verdict: Option<Verdict>,
    targets: &[Target],
) -> Conditions {
    let mut conditions = Conditions::default();
    options(reader, at, &mut conditions);
    places(reader, at, &mut conditions);
    conditions.as_written = as_written(reader, at.value, verdict);
    expires(reader, at, &mut conditions);
    confinement(reader, at, verdict, &mut conditions);
    of_commands(reader, at, targets);
    conditions
}

/// `with`, `with_all`, `without`.
fn options(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>, conditions: &mut Conditions) {
    let table = at.value;
    for (key, list) in [
        ("with", &mut conditions.with),
        ("with_all", &mut conditions.with_all),
        ("without", &mut conditions.without),
    ] {
        for option in reader.strings(table, key) {
            let known = option.value.starts_with(['-', '+'])
                && option.value.len() > 1
                && option.value != "--"
                && !option.value.contains([' ', '=']);
            if known {
                list.push(option.value);
            } else {
                let help = "write an option as it is spelled, without a value: `-f`, `--force`";
                reader.fault(option.span, format!("`{key}` takes options"), help);
            }
        }
    }
    let empty = |key: &str| {
        table
            .get(key)
            .and_then(|value| value.get_ref().as_array())
            .is_some_and(|list| list.iter().next().is_none())
    };
    if empty("with") {
        let help = "name an option, or leave `with` out";
        reader.fault(
            key_span(table, "with", &at.span),
            "`with` is empty, so the rule can never match",
            help,
        );
    }
    let clash = conditions
        .without
        .iter()
        .find(|option| {
            conditions.with_all.contains(option)
                || (conditions.with.len() == 1 && conditions.with.contains(option))
        })
        .cloned();
    if let Some(option) = clash {
        let option = Escaped::from(option.as_str());
        reader.fault(
            key_span(table, "without", &at.span),
            format!("the rule wants `{option}` and excludes it, so it can never match"),
            "leave one of the two out",
        );
    }
}

/// `args` and `cwd`.
fn places(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>, conditions: &mut Conditions) {
    if let Some(args) = reader.string(at.value, "args") {
        if args.value == "workspace" {
            conditions.in_workspace = true;
        } else {
            reader.fault(
                args.span,
                "`args` has one value",
                "write `args = \"workspace\"`",
            );
        }
    }
    for folder in reader.strings(at.value, "cwd") {
        let pattern = lex::words(&folder.value).and_then(|words| match words.as_slice() {
            [word] => PathPattern::new(word),
            _ => Err(lex::Bad::new(
                "a folder pattern is one word",
                "quote blanks; \".\" is the workspace root",
            )),
        });
        match pattern {
            Ok(pattern) => conditions.cwd.push(pattern),
            Err(bad) => fault(reader, &folder.span, bad),
        }
    }
}

fn expires(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>, conditions: &mut Conditions) {
    if let Some(expires) = reader.string(at.value, "expires") {
        match date::days(&expires.value) {
            Some(day) => conditions.expires = Some(day),
            None => reader.fault(
                expires.span,
                "this is no date",
                "write the last day it applies, for example `expires = \"2027-01-31\"`",
            ),
        }
    }
}

/// `sandbox` and `network`, where they can have an effect.
fn confinement(
    reader: &mut Reader<'_>,
    at: &At<&DeTable<'_>>,
    verdict: Option<Verdict>,
    conditions: &mut Conditions,
) {
    if let Some(profile) = reader.parsed(at.value, "sandbox") {
        conditions.sandbox = Some(profile.value);
        if verdict == Some(Verdict::Deny) {
            reader.fault(
                key_span(at.value, "sandbox", &at.span),
                "a deny rule starts nothing, so it has no `sandbox`",
                "leave it out",
            );
        }
    }
    if let Some(network) = reader.boolean(at.value, "network") {
        conditions.network = network.value;
        if matches!(verdict, Some(Verdict::Ask | Verdict::Deny)) {
            reader.fault(
                key_span(at.value, "network", &at.span),
                "`network` says what an allow rule covers",
                "leave it out: ask and deny rules apply with and without a network",
            );
        }
    }
}

/// Notes what a rule on paths, hosts or names cannot say.
fn of_commands(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>, targets: &[Target]) {
    let command = targets.iter().any(|target| match target {
        Target::Command(_) => true,
        Target::Write(_)
        | Target::Read(_)
        | Target::Delete(_)
        | Target::Env(_)
        | Target::Network(_)
        | Target::Mcp(_) => false,
    });
    if command || targets.is_empty() {
        return;
    }
    for key in OF_COMMANDS {
        if at.value.contains_key(key) {
            reader.fault(
                key_span(at.value, key, &at.span),
                format!("`{key}` is for rules on commands"),
                "leave it out, or write `commands` instead of `kind`",
            );
        }
    }
}

fn as_written(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    verdict: Option<Verdict>,
) -> Option<AsWritten> {
    let given = reader.string(table, "as_written")?;
    if verdict != Some(Verdict::Allow) {
        reader.fault(
            given.span,
            "`as_written` is for allow rules",
            "leave it out: an ask or deny rule reaches every spelling",
        );
        return None;
    }
    match given.value.as_str() {
        "command" => Some(AsWritten::Command),
        "line" => Some(AsWritten::Line),
        _ => {
            reader.fault(
                given.span,
                "`as_written` is \"command\" or \"line\"",
                "\"command\" holds the command to its spelling, \"line\" the whole line to simple commands",
            );
            None
        }
    }
}
