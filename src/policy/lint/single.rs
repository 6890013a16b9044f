//! What one rule shows alone.

use super::{ABSENT, Finding, Here, finding};
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::danger;
use crate::policy::date;
use crate::policy::pattern::{Arguments, CommandPattern, ProgramPattern};
use crate::policy::rule::Target;

use super::reading::Entry;

pub(super) fn look(entry: &Entry, here: &Here, findings: &mut Vec<Finding>) {
    let Some(target) = entry.target() else { return };
    let shown = entry.shown();
    if let Some(last) = entry.rule.conditions.expires
        && last < here.facts.today
    {
        let day = date::text(last).unwrap_or_default();
        findings.push(finding(
            entry,
            "expired",
            format!("the rule applied until {day}; it decides nothing any more"),
            "remove it, or give it another day",
        ));
    }
    if let Some(names) = &here.programs {
        absent(entry, target, names, findings);
    }
    if entry.verdict() != Verdict::Allow {
        return;
    }
    if let Some(found) = danger::of(target, &entry.rule.conditions) {
        findings.push(finding(
            entry,
            found.code.word(),
            format!("allow `{shown}`: {}", found.why),
            found.narrower,
        ));
    }
    match target {
        Target::Command(pattern) => {
            writable(entry, pattern, here, findings);
            if let Arguments::Regex(_) = pattern.arguments {
                loose(entry, findings);
            }
        }
        Target::Read(_) => findings.push(finding(
            entry,
            "no-effect",
            format!("allow `{shown}`: reading a file needs no allow rule"),
            "remove it; ask and deny rules on reading have an effect",
        )),
        Target::Write(_)
        | Target::Delete(_)
        | Target::Env(_)
        | Target::Network(_)
        | Target::Mcp(_) => {}
    }
}

/// A program that is nowhere here.
fn absent(
    entry: &Entry,
    target: &Target,
    names: &std::collections::BTreeSet<String>,
    findings: &mut Vec<Finding>,
) {
    let Target::Command(pattern) = target else {
        return;
    };
    let programs = pattern.program_names();
    let here = |name: &Vec<u8>| std::str::from_utf8(name).is_ok_and(|name| names.contains(name));
    // `{podman,docker}` is written for several machines.
    if programs.is_empty() || programs.iter().any(here) {
        return;
    }
    let shown: Vec<String> = programs
        .iter()
        .map(|name| format!("`{}`", Escaped(name)))
        .collect();
    findings.push(finding(
        entry,
        ABSENT.0,
        format!("there is no program {} here", shown.join(" or ")),
        "nothing, when the policy is for another machine",
    ));
}

/// A rule by path covers whatever the file becomes.
fn writable(entry: &Entry, pattern: &CommandPattern, here: &Here, findings: &mut Vec<Finding>) {
    let ProgramPattern::Path(path) = &pattern.program else {
        return;
    };
    let facts = &here.facts;
    let probes = |root: &AbsolutePath| {
        path.matches(root, facts) || !path.is_apart_from(std::iter::once(root), facts)
    };
    let root = if path.is_in_workspace_by_text() || probes(&facts.workspace) {
        Some("the workspace".to_owned())
    } else {
        here.write_roots
            .iter()
            .find(|root| probes(root))
            .map(ToString::to_string)
    };
    if let Some(root) = root {
        findings.push(finding(
            entry,
            "writable-target",
            format!(
                "allow `{}`: the program lies in {root}, so a run can put another one in its place",
                entry.shown()
            ),
            "name its content, `sha256:…` (`sha256sum FILE`), or a program that lies elsewhere; it still runs confined",
        ));
    }
}

/// `re:git log.*` matches `git logs`; `re:.* --version` any program.
fn loose(entry: &Entry, findings: &mut Vec<Finding>) {
    let text = entry.text.trim();
    let regex = text.strip_prefix("re:").unwrap_or(text).trim();
    let program = regex.split([' ', '\\']).next().unwrap_or_default();
    let open = |part: &str| part.contains(".*") || part.contains(".+") || part.contains("[^");
    let word = |before: &str| {
        before
            .chars()
            .last()
            .is_some_and(|last| last.is_alphanumeric() || matches!(last, ')' | ']' | '-' | '_'))
    };
    let tail = regex.trim_end_matches(')');
    let open_end = [".*", ".+"]
        .into_iter()
        .filter_map(|open| tail.strip_suffix(open))
        .any(word);
    let message = if open(program) {
        "the program is left open: the expression matches whatever is called so"
    } else if open_end {
        "the last word is left open: the expression matches longer words as well"
    } else {
        return;
    };
    findings.push(finding(
        entry,
        "loose-regex",
        format!("allow `{}`: {message}", entry.shown()),
        "write the program out and end on a word: `re:git log( .*)?`",
    ));
}
