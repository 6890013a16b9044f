//! Gemini CLI: policies in TOML, `[[rule]]` with tool, pattern, decision and priority.
//!
//! There the rule of the highest priority decides; with us the strictest. So an exception that a higher
//! priority makes from a denial is lost, and a question that nothing of lower priority would have answered
//! needs no rule. A command is compared as text inside of JSON: `commandPrefix` ends on a word,
//! `commandRegex` starts at the start of the command. A redirection asks whatever allows the command.

use toml::de::DeTable;

use super::draft::{Draft, Kind, Origin, Spelling, Written};
use super::expression::{self, Branches, Flags, Node};
use super::leading::leading;
use super::translation;
use super::wording::{exact, restrict, split};
use super::{Host, Imported};
use crate::model::verdict::Verdict;
use crate::policy::error::PolicyError;
use crate::policy::reader::{At, Reader};

const SHELL: &str = "run_shell_command";

/// What of a command a rule compares.
enum What {
    All,
    Prefixes(Vec<String>),
    /// An expression from the start of the command.
    Expression(String),
    /// An expression over arguments that are not the command.
    Arguments,
}

struct Given {
    origin: Origin,
    verdict: Verdict,
    priority: i64,
    what: What,
    /// Why it holds only at times.
    limited: Option<&'static str>,
    redirects: bool,
}

pub(super) fn import(name: &str, text: &str) -> Result<Imported, PolicyError> {
    let mut reader = Reader::new(name, text);
    let mut draft = Draft::new(Host::Gemini, name);
    let mut rules = Vec::new();
    if let Some(document) = reader.document() {
        for table in reader.tables(&document, "rule") {
            rules.extend(given(&mut reader, &mut draft, &table));
        }
        for table in reader.tables(&document, "safety_checker") {
            let origin = origin(&reader, &table);
            let why = "a checker is a program of that host, and it may deny anything";
            draft.everything(&origin, Verdict::Deny, why);
        }
    }
    if !reader.faults.is_empty() {
        return Err(PolicyError::new(reader.faults));
    }
    decide(&mut draft, rules);
    Ok(draft.finish())
}

fn origin(reader: &Reader<'_>, at: &At<&DeTable<'_>>) -> Origin {
    let shown = |key: &str| {
        let value = at.value.get(key)?.get_ref();
        Some(match value.as_str() {
            Some(text) => format!("{key} = {text}"),
            None => {
                let items = value.as_array()?.iter();
                let texts: Vec<&str> = items.filter_map(|item| item.get_ref().as_str()).collect();
                format!("{key} = [{}]", texts.join(", "))
            }
        })
    };
    let keys = [
        "toolName",
        "mcpName",
        "commandPrefix",
        "commandRegex",
        "argsPattern",
        "decision",
    ];
    Origin {
        line: reader.line(at.span.start),
        text: keys
            .into_iter()
            .filter_map(shown)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// A text or a list of them.
fn texts(reader: &mut Reader<'_>, table: &DeTable<'_>, key: &str) -> Vec<String> {
    let one = table.get(key).and_then(|value| value.get_ref().as_str());
    match one {
        Some(text) => vec![text.to_owned()],
        None => {
            let list = reader.strings(table, key);
            list.into_iter().map(|text| text.value).collect()
        }
    }
}

fn given(reader: &mut Reader<'_>, draft: &mut Draft, at: &At<&DeTable<'_>>) -> Option<Given> {
    let table = at.value;
    let origin = origin(reader, at);
    let decision = reader.string(table, "decision");
    let verdict = match decision.as_ref().map(|text| text.value.as_str()) {
        Some("allow") => Verdict::Allow,
        Some("ask_user") => Verdict::Ask,
        Some("deny") => Verdict::Deny,
        Some(_) | None => {
            reader.fault(
                decision.map_or_else(|| at.span.clone(), |text| text.span),
                "the decision is none of allow, deny, ask_user",
                "Gemini CLI refuses a file with such a rule",
            );
            return None;
        }
    };
    let priority = table
        .get("priority")
        .and_then(|value| value.get_ref().as_integer())
        .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
    let Some(priority) = priority.filter(|priority| (0..=999).contains(priority)) else {
        reader.fault(
            at.span.clone(),
            "`priority` is no number from 0 to 999",
            "Gemini CLI refuses a file with such a rule",
        );
        return None;
    };
    let tools = texts(reader, table, "toolName");
    let is_shell = |tool: &String| tool == SHELL || tool == "*" || tool == "ShellTool";
    let server = table.contains_key("mcpName");
    if server || !tools.iter().any(is_shell) {
        draft.unsaid(
            &origin,
            "it speaks of another tool than the shell; tipstaff judges commands",
        );
        return None;
    }
    let prefixes = texts(reader, table, "commandPrefix");
    let regex = reader.string(table, "commandRegex");
    let arguments = reader.string(table, "argsPattern");
    let what = match (prefixes.is_empty(), regex, arguments) {
        (false, None, None) => What::Prefixes(prefixes),
        (true, Some(regex), None) => What::Expression(regex.value),
        (true, None, Some(arguments)) => match arguments.value.strip_prefix("\"command\":\"") {
            Some(rest) => What::Expression(rest.to_owned()),
            None => What::Arguments,
        },
        (true, None, None) => What::All,
        (_, _, _) => {
            reader.fault(
                at.span.clone(),
                "commandPrefix, commandRegex and argsPattern exclude each other",
                "Gemini CLI refuses such a rule",
            );
            return None;
        }
    };
    Some(Given {
        limited: limited(reader, table),
        redirects: reader
            .boolean(table, "allowRedirection")
            .is_some_and(|redirects| redirects.value),
        origin,
        verdict,
        priority,
        what,
    })
}

fn limited(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<&'static str> {
    let modes = texts(reader, table, "modes");
    if !modes.is_empty() && !modes.iter().any(|mode| mode == "default") {
        return Some("it holds in other modes than the default one alone");
    }
    if table.contains_key("subagent") {
        return Some("it holds for one subagent alone");
    }
    if table.contains_key("toolAnnotations") {
        return Some("it holds for tools that say something of themselves");
    }
    if table.contains_key("interactive") {
        return Some("it holds with or without a person alone");
    }
    None
}

fn decide(draft: &mut Draft, rules: Vec<Given>) {
    // The question or denial of everything that outranks the most.
    let ceiling = rules
        .iter()
        .filter(|rule| {
            rule.verdict != Verdict::Allow
                && rule.limited.is_none()
                && matches!(rule.what, What::All)
        })
        .map(|rule| (rule.priority, rule.origin.line))
        .max();
    let mut lowest = None;
    for rule in rules.iter().filter(|rule| rule.verdict == Verdict::Allow) {
        match ceiling {
            Some((priority, line)) if rule.priority < priority => draft.unsaid(
                &rule.origin,
                format!("it never decides there: the rule of line {line} outranks it"),
            ),
            Some(_) | None => {
                if allow(draft, rule) {
                    lowest = lowest.min(Some(rule.priority)).or(Some(rule.priority));
                }
            }
        }
    }
    for rule in rules.iter().filter(|rule| rule.verdict != Verdict::Allow) {
        if rule.verdict == Verdict::Ask && lowest.is_none_or(|lowest| lowest > rule.priority) {
            // Nothing of its priority or below allows: what it asks about asks anyway.
            continue;
        }
        let outranked = rules
            .iter()
            .any(|other| other.verdict < rule.verdict && other.priority > rule.priority);
        if outranked {
            draft.stricter(
                &rule.origin,
                match (rule.verdict, &rule.what) {
                    (Verdict::Deny, What::All) => {
                        "rules of a higher priority are exceptions from it there; here nothing is: for a list of what may run leave it out and set `mode = \"dont-ask\"`"
                    }
                    (Verdict::Allow | Verdict::Ask | Verdict::Deny, _) => {
                        "it wins over what a higher priority says there: the strictest rule decides"
                    }
                },
            );
        }
        restricted(draft, rule);
    }
}

/// Takes an allow rule over; whether anything of it could be.
fn allow(draft: &mut Draft, rule: &Given) -> bool {
    if let Some(why) = rule.limited {
        draft.unsaid(&rule.origin, why);
        return false;
    }
    let patterns = match &rule.what {
        What::All => {
            draft.unsaid(&rule.origin, "it would allow every program");
            return false;
        }
        What::Arguments => Err("it compares arguments beside the command"),
        What::Prefixes(prefixes) => prefixes.iter().map(|text| prefix(text)).collect(),
        What::Expression(text) => expression::parse(text).and_then(|branches| allowed(&branches)),
    };
    match patterns {
        Ok(patterns) => {
            if rule.redirects {
                draft.stricter(
                    &rule.origin,
                    "a redirection asks, though it is allowed there",
                );
            }
            let before = draft.has(Verdict::Allow);
            draft.rule(
                &rule.origin,
                Written::new(Verdict::Allow, Kind::Command, patterns).spelled(Spelling::Line),
            );
            before || draft.has(Verdict::Allow)
        }
        Err(why) => {
            draft.unsaid(&rule.origin, why);
            false
        }
    }
}

fn prefix(text: &str) -> Result<String, &'static str> {
    if text.ends_with([' ', '\t']) {
        return Err("it ends in a blank, and so asks for two of them there");
    }
    Ok(exact(&split(text, false))?.join(" "))
}

/// The patterns of an expression that allows.
fn allowed(branches: &Branches) -> Result<Vec<String>, &'static str> {
    if has(branches, &|node| matches!(node, Node::Start)) {
        return Err("`^` stands inside of JSON there, where it never matches");
    }
    if has(branches, &|node| matches!(node, Node::Char('"' | '\\'))) {
        return Err("a quote or backslash is written otherwise in JSON");
    }
    let mut branches = branches.clone();
    for branch in &mut branches {
        // `$` is the end of the JSON text: only `.*` reaches it.
        if let [
            ..,
            Node::Repeat {
                node,
                least: 0,
                most: None,
            },
            Node::End,
        ] = branch.as_slice()
            && **node == Node::Dot
        {
            branch.pop();
        }
    }
    if has(&branches, &|node| matches!(node, Node::End)) {
        return Err("`$` is the end of the JSON there, which no command reaches");
    }
    if let Some(patterns) = leading(&branches, true).and_then(|leading| leading.allow()) {
        return Ok(patterns);
    }
    translation::allow(&branches, Flags::default(), true).map(|pattern| vec![pattern])
}

/// Whether some part of the expression is like this.
fn has(branches: &Branches, like: &dyn Fn(&Node) -> bool) -> bool {
    branches.iter().flatten().any(|node| {
        like(node)
            || match node {
                Node::Group(inner) => has(inner, like),
                Node::Repeat { node, .. } => has(&vec![vec![(**node).clone()]], like),
                Node::Char(_)
                | Node::Dot
                | Node::Class { .. }
                | Node::Boundary
                | Node::NoBoundary
                | Node::Start
                | Node::End
                | Node::Look
                | Node::Reference => false,
            }
    })
}

fn restricted(draft: &mut Draft, rule: &Given) {
    if let Some(why) = rule.limited {
        draft.stricter(&rule.origin, format!("{why} there; here it always does"));
    }
    let patterns = match &rule.what {
        What::All => vec!["*".to_owned()],
        What::Arguments => {
            let why = "it compares arguments beside the command";
            draft.everything(&rule.origin, rule.verdict, why);
            return;
        }
        What::Prefixes(prefixes) => {
            let wide: Vec<_> = prefixes
                .iter()
                .map(|text| restrict(&split(text, false), false))
                .collect();
            if let Some(why) = wide.iter().find_map(|wide| wide.wider) {
                draft.stricter(&rule.origin, format!("it reaches further: {why}"));
            }
            wide.into_iter().map(|wide| wide.pattern).collect()
        }
        What::Expression(text) => match expression::parse(text) {
            Ok(branches) => wide(draft, rule, &branches),
            Err(why) => {
                draft.everything(&rule.origin, rule.verdict, why);
                return;
            }
        },
    };
    draft.rule(
        &rule.origin,
        Written::new(rule.verdict, Kind::Command, patterns),
    );
}

fn wide(draft: &mut Draft, rule: &Given, branches: &Branches) -> Vec<String> {
    let mut branches = branches.clone();
    for branch in &mut branches {
        branch.retain(|node| !matches!(node, Node::Start | Node::End));
    }
    match leading(&branches, true) {
        Some(leading) => {
            if leading.is_wider() {
                draft.stricter(
                    &rule.origin,
                    "it reaches further: only the words it starts with are compared",
                );
            }
            leading.restrict()
        }
        None => {
            draft.stricter(
                &rule.origin,
                "it reaches further: a line with a word that only the shell knows asks",
            );
            vec![translation::restrict(&branches, Flags::default(), true)]
        }
    }
}
