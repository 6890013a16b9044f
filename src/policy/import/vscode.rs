//! VS Code: `chat.tools.terminal.autoApprove`, an object of commands and expressions.
//!
//! An entry is compared with the text of every sub-command, or with the whole line where it says so. `false`
//! asks and wins over `true`; without either it asks. What the editor brings along holds as well, unless
//! the file names the same key or switches it off.

use super::draft::{Draft, Kind, Origin, Spelling, Written};
use super::expression::{self, Flags};
use super::json::{self, Json, Value};
use super::leading::{bounded, bounded_programs, leading};
use super::translation;
use super::wording::{exact, split};
use super::{Host, Imported};
use crate::model::verdict::Verdict;
use crate::policy::error::PolicyError;

const ENTRIES: [&str; 2] = [
    "chat.tools.terminal.autoApprove",
    "chat.agent.terminal.autoApprove",
];
const ENABLED: &str = "chat.tools.terminal.enableAutoApprove";
const NO_DEFAULTS: &str = "chat.tools.terminal.ignoreDefaultAutoApproveRules";

/// Programs that the editor asks about by itself.
const ASKED: [&str; 14] = [
    "rm", "rmdir", "dd", "kill", "ps", "top", "curl", "wget", "chmod", "chown", "jq", "xargs",
    "eval", "sed",
];
/// Options that it asks about: program and sub-command, options.
const OPTIONS: [(&str, &[&str]); 8] = [
    (
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls",
        ],
    ),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["-o", "-S", "--output", "--buffer-size"]),
    ("tree", &["-o"]),
    ("date", &["-s", "--set"]),
    ("column", &["-c", "--output-width"]),
    ("git {log,show,diff}", &["--output"]),
    (
        "git branch",
        &[
            "-d", "-D", "-m", "-M", "--delete", "--force", "--move", "-f", "-c", "-C", "--copy",
        ],
    ),
];

pub(super) fn import(name: &str, text: &str) -> Result<Imported, PolicyError> {
    let settings = json::read(name, text)?;
    let mut draft = Draft::new(Host::VsCode, name);
    let off = settings.get(ENABLED).and_then(Json::bool) == Some(false);
    let mut named: Vec<&str> = Vec::new();
    for key in ENTRIES {
        let Some(entries) = settings.get(key) else {
            continue;
        };
        for (at, (pattern, value)) in entries.table().iter().enumerate() {
            // The last of several of one name counts.
            let later = entries.table().iter().skip(at + 1);
            if later.clone().any(|(other, _)| other == pattern) {
                continue;
            }
            named.push(pattern);
            entry(&mut draft, pattern, value, off);
        }
    }
    let defaults = settings.get(NO_DEFAULTS).and_then(Json::bool) != Some(true);
    if defaults && draft.has(Verdict::Allow) {
        brought_along(&mut draft, &named);
    }
    Ok(draft.finish())
}

/// What an entry says: approve, and whether of the whole line.
fn said(value: &Json) -> Option<(bool, bool)> {
    match &value.value {
        Value::Bool(approve) => Some((*approve, false)),
        Value::Table(_) => {
            let approve = value.get("approve")?.bool()?;
            let line = value.get("matchCommandLine").and_then(Json::bool);
            Some((approve, line == Some(true)))
        }
        Value::Null | Value::Number | Value::Text(_) | Value::List(_) => None,
    }
}

fn entry(draft: &mut Draft, pattern: &str, value: &Json, off: bool) {
    let Some((approve, whole_line)) = said(value) else {
        return;
    };
    let origin = Origin {
        line: value.line,
        text: format!(
            "{pattern}: {approve}{}",
            if whole_line { ", matchCommandLine" } else { "" }
        ),
    };
    match (approve, whole_line) {
        (true, _) if off => draft.unsaid(&origin, "automatic approval is switched off there"),
        (true, true) => draft.unsaid(
            &origin,
            "it approves whole lines; here every command of a line needs a rule",
        ),
        (true, false) => allow(draft, &origin, pattern),
        (false, _) => ask(draft, &origin, pattern, whole_line),
    }
}

/// `/pattern/flags`
fn expression_of(pattern: &str) -> Option<(&str, &str)> {
    let (body, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    let known = flags.chars().all(|flag| "dgimsuvy".contains(flag));
    (known && !body.is_empty()).then_some((body, flags))
}

fn allow(draft: &mut Draft, origin: &Origin, pattern: &str) {
    let patterns = match expression_of(pattern) {
        Some((body, flags)) => allowed(body, Flags::of(flags)),
        None => literal(pattern),
    };
    match patterns {
        Ok(patterns) => draft.rule(
            origin,
            Written::new(Verdict::Allow, Kind::Command, patterns).spelled(Spelling::Command),
        ),
        Err(why) => draft.unsaid(origin, why),
    }
}

fn allowed(body: &str, flags: Flags) -> Result<Vec<String>, &'static str> {
    let branches = expression::parse(body)?;
    let plain = Flags {
        dot_all: flags.dot_all,
        ..Flags::default()
    };
    if flags == plain
        && let Some(patterns) = leading(&branches, false).and_then(|leading| leading.allow())
    {
        return Ok(patterns);
    }
    translation::allow(&branches, flags, false).map(|pattern| vec![pattern])
}

/// A text that a command starts with. Its last word may be longer there; here it is that word.
fn literal(pattern: &str) -> Result<Vec<String>, &'static str> {
    if pattern.is_empty() {
        return Err("the entry is empty, which that editor ignores");
    }
    let ends = pattern
        .chars()
        .last()
        .is_some_and(|last| last.is_ascii_alphanumeric() || last == '_');
    if !ends {
        return Err("its last character ends no word, so a longer word has to follow there");
    }
    let wording = split(pattern, false);
    let words = exact(&wording)?;
    let program = words.first().map_or("", String::as_str);
    let rest = words.get(1..).unwrap_or_default().join(" ");
    // `bin/test.sh` is `./bin/test.sh` as well.
    let program = if program.contains('/') && !program.starts_with(['/', '.', '~']) {
        format!("./{program}")
    } else {
        program.to_owned()
    };
    Ok(vec![format!("{program} {rest}").trim_end().to_owned()])
}

fn ask(draft: &mut Draft, origin: &Origin, pattern: &str, whole_line: bool) {
    if pattern.is_empty() {
        return;
    }
    let Some((body, flags)) = expression_of(pattern) else {
        if whole_line {
            draft.stricter(
                origin,
                "it asks wherever the command stands in a line, not only at its start",
            );
        }
        let rule = Written::new(Verdict::Ask, Kind::Command, vec![bounded(pattern)]);
        draft.rule(origin, rule);
        return;
    };
    let flags = Flags::of(flags);
    let branches = match expression::parse(body) {
        Ok(branches) => branches,
        // An expression that the editor cannot read either never matches there.
        Err(why) => {
            draft.everything(origin, Verdict::Ask, why);
            return;
        }
    };
    if whole_line {
        // What it looks for may be an operator, or run over two commands.
        let why = "it compares the whole line, and rules compare commands";
        draft.everything(origin, Verdict::Ask, why);
        return;
    }
    let patterns = match leading(&branches, false) {
        Some(leading) if flags == Flags::default() => {
            if leading.is_wider() {
                draft.stricter(
                    origin,
                    "it reaches further: only the words it starts with are compared",
                );
            }
            leading.restrict()
        }
        Some(_) | None => {
            draft.stricter(
                origin,
                "it reaches further: a line with a word that only the shell knows asks",
            );
            vec![translation::restrict(&branches, flags, false)]
        }
    };
    draft.rule(origin, Written::new(Verdict::Ask, Kind::Command, patterns));
}

/// What the editor asks about by itself.
fn brought_along(draft: &mut Draft, named: &[&str]) {
    let origin = |text: &str| Origin {
        line: 1,
        text: format!("what the editor asks about by itself: {text}"),
    };
    let programs: Vec<&str> = ASKED
        .into_iter()
        .filter(|name| !named.contains(name) || *name == "sed")
        .collect();
    if programs.len() > 1 {
        draft.rule(
            &origin("programs"),
            Written::new(Verdict::Ask, Kind::Command, bounded_programs(&programs)),
        );
    }
    for (command, options) in OPTIONS {
        let mut written = Written::new(Verdict::Ask, Kind::Command, vec![command.to_owned()]);
        written.with = options.to_vec();
        draft.rule(&origin(command), written);
    }
}
