//! Loads the layers. Strict: whatever is not understood is an error, and one error refuses all.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeTable;

use super::date;
use super::error::{Fault, PolicyError};
use super::examples;
use super::keys;
use super::lex::{self, Bad};
use super::listing::Standing;
use super::path_pattern::PathPattern;
use super::reader::{At, Reader, key_span};
use super::rule::{self, AsWritten, Conditions, Rule, Target};
use super::settings::{Given, Settings};
use super::suggest::nearest;
use super::{Policy, Source, judge};
use crate::model::judgement::{Layer, Place, RuleRef};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

pub(super) const BUILT_IN: &str = include_str!("../../policies/builtin.toml");
const BUILT_IN_NAME: &str = "policies/builtin.toml";

/// Reads every source and adds the built-in layer.
///
/// # Errors
///
/// Every mistake of every text; no rule of any of them applies then.
pub fn load(sources: &[Source]) -> Result<Policy, PolicyError> {
    let built_in = Source {
        layer: Layer::BuiltIn,
        name: BUILT_IN_NAME.to_owned(),
        text: BUILT_IN.to_owned(),
        trusted: true,
    };
    let mut sorted: Vec<&Source> = std::iter::once(&built_in).chain(sources).collect();
    sorted.sort_by_key(|source| source.layer);
    let mut loading = Loading::default();
    for source in sorted {
        loading.source(source);
    }
    loading.finish()
}

#[derive(Default)]
struct Loading {
    rules: Vec<Rule>,
    aside: Vec<(Rule, Standing)>,
    ids: BTreeMap<String, String>,
    settings: Settings,
    read_only_defaults: Option<bool>,
    disabled: Vec<String>,
    /// Ids to disable with a fault to report if there is no such rule.
    wanted: Vec<(String, Fault)>,
    faults: Vec<Fault>,
}

impl Loading {
    fn source(&mut self, source: &Source) {
        let mut reader = Reader::new(&source.name, &source.text);
        if let Some(document) = reader.document() {
            self.document(source, &mut reader, &document);
        }
        let mut faults = reader.faults;
        faults.sort_by_key(|fault| (fault.line, fault.column));
        self.faults.append(&mut faults);
    }

    fn document(&mut self, source: &Source, reader: &mut Reader<'_>, document: &DeTable<'_>) {
        let project = source.layer == Layer::Project;
        if project {
            for key in document.keys() {
                let name: &str = key.get_ref();
                if keys::TOP.contains(&name) && !keys::PROJECT.contains(&name) {
                    reader.fault(
                        key.span(),
                        format!("a project policy cannot hold `{name}`"),
                        "a project holds [permissions] and [[rule]] alone; put this into the user policy",
                    );
                }
            }
        }
        reader.keys(document, &keys::TOP, &keys::TOP_LATER, "at the top");
        match reader.number(document, "version") {
            Some(version) if version.value != 1 => reader.fault(
                version.span,
                format!("version {} is not known", version.value),
                "this tipstaff reads `version = 1`",
            ),
            None if !document.contains_key("version") => {
                reader.fault(
                    0..0,
                    "`version` is missing",
                    "start the file with `version = 1`",
                );
            }
            Some(_) | None => {}
        }
        if let Some(permissions) = reader.table(document, "permissions") {
            self.permissions(source, reader, permissions);
        }
        for table in reader.tables(document, "rule") {
            self.long_rule(source, reader, &table);
        }
        if !project {
            Given::read(reader, document, source.layer).apply(&mut self.settings);
        }
    }

    fn permissions(&mut self, source: &Source, reader: &mut Reader<'_>, table: &DeTable<'_>) {
        reader.keys(table, &keys::PERMISSIONS, &[], "in [permissions]");
        for (key, verdict) in [
            ("allow", Verdict::Allow),
            ("ask", Verdict::Ask),
            ("deny", Verdict::Deny),
        ] {
            for text in reader.strings(table, key) {
                match rule::one_line(&text.value) {
                    Ok(target) => self.one_line(source, reader, verdict, &text, target),
                    Err(bad) => fault(reader, &text.span, bad),
                }
            }
        }
        if let Some(defaults) = reader.boolean(table, "read_only_defaults") {
            // Any layer may switch them off; an untrusted project may not switch them on, and nobody
            // can undo another layer's `false`.
            if !(defaults.value && source.layer == Layer::Project) {
                let before = self.read_only_defaults.unwrap_or(true);
                self.read_only_defaults = Some(before && defaults.value);
            }
        }
        let disable = reader.strings(table, "disable");
        let may = matches!(source.layer, Layer::Managed | Layer::User | Layer::Flag);
        if !may && let Some(first) = disable.first() {
            reader.fault(
                key_span(table, "disable", &first.span),
                "only a managed or user policy can disable built-in rules",
                "ask the user to disable it in the user policy",
            );
            return;
        }
        for id in disable {
            let shown = Escaped::from(id.value.as_str()).to_string();
            let message = format!("there is no built-in rule `{shown}`");
            let fault = Fault::new(reader.file, reader.text, id.span, message);
            self.wanted.push((id.value, fault));
        }
    }

    fn one_line(
        &mut self,
        source: &Source,
        reader: &Reader<'_>,
        verdict: Verdict,
        text: &At<String>,
        target: Target,
    ) {
        let line = reader.line(text.span.start);
        let built_in = source.layer == Layer::BuiltIn;
        let rule = Rule {
            reference: RuleRef {
                id: format!("{}:{line}", source.layer.word()),
                layer: source.layer,
                place: (!built_in).then(|| Place {
                    file: source.name.clone(),
                    line,
                }),
                text: text.value.clone(),
                why: None,
            },
            verdict,
            targets: vec![target],
            conditions: Conditions::default(),
            advisory: built_in,
        };
        self.keep(source, rule);
    }

    /// A rule that does not count is kept aside, to be listed.
    fn keep(&mut self, source: &Source, rule: Rule) {
        if rule.verdict == Verdict::Allow && !source.trusted {
            self.aside.push((rule, Standing::Untrusted));
        } else {
            self.rules.push(rule);
        }
    }

    fn long_rule(&mut self, source: &Source, reader: &mut Reader<'_>, at: &At<&DeTable<'_>>) {
        let before = reader.faults.len();
        let Some(rule) = long_rule(source, reader, at) else {
            return;
        };
        if let Some(id) = reader.string(at.value, "id") {
            let here = format!("{}:{}", source.name, reader.line(id.span.start));
            if let Some(first) = self.ids.get(&id.value) {
                reader.fault(
                    id.span,
                    format!(
                        "the id `{}` is taken by the rule at {}",
                        Escaped::from(id.value.as_str()),
                        Escaped::from(first.as_str())
                    ),
                    "give every rule an id of its own",
                );
            } else {
                self.ids.insert(id.value, here);
            }
        }
        // Examples of a rule that is wrong itself would only repeat the mistake. The built-in ones are
        // checked by a test instead of by every run.
        if reader.faults.len() == before && source.layer != Layer::BuiltIn {
            examples::check(reader, at.value, &rule);
        }
        self.keep(source, rule);
    }

    fn finish(mut self) -> Result<Policy, PolicyError> {
        let built_in: Vec<&str> = self
            .rules
            .iter()
            .filter(|rule| rule.reference.layer == Layer::BuiltIn)
            .map(|rule| rule.reference.id.as_str())
            .chain(judge::CODE_RULES)
            .collect();
        for (id, fault) in self.wanted {
            if built_in.contains(&id.as_str()) {
                self.disabled.push(id);
            } else {
                let help = match nearest(&id, built_in.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the built-in rules are {}", built_in.join(", ")),
                };
                self.faults.push(fault.help(help));
            }
        }
        if !self.faults.is_empty() {
            return Err(PolicyError::new(self.faults));
        }
        let disabled = self.disabled;
        let (rules, off): (Vec<Rule>, Vec<Rule>) = self.rules.into_iter().partition(|rule| {
            rule.reference.layer != Layer::BuiltIn || !disabled.contains(&rule.reference.id)
        });
        let mut aside = self.aside;
        aside.extend(off.into_iter().map(|rule| (rule, Standing::Disabled)));
        Ok(Policy {
            rules,
            aside,
            settings: self.settings,
            read_only_defaults: self.read_only_defaults.unwrap_or(true),
            disabled,
        })
    }
}

fn fault(reader: &mut Reader<'_>, span: &Range<usize>, bad: Bad) {
    reader.fault(span.clone(), bad.message, bad.help);
}

/// Compiles a `[[rule]]`; `None` when it is wrong, which is noted.
pub(super) fn long_rule(
    source: &Source,
    reader: &mut Reader<'_>,
    at: &At<&DeTable<'_>>,
) -> Option<Rule> {
    let table = at.value;
    let before = reader.faults.len();
    let line = reader.line(at.span.start);
    reader.keys(table, &keys::RULE, &keys::RULE_LATER, "in [[rule]]");
    let id = reader.string(table, "id");
    if let Some(id) = id.as_ref().filter(|id| !is_id(&id.value)) {
        let help = "use letters, digits, `-`, `_` and `.`";
        reader.fault(id.span.clone(), "this is no id", help);
    }
    let verdict = reader.string(table, "verdict");
    let verdict = match verdict.as_ref().map(|verdict| verdict.value.as_str()) {
        Some("allow") => Some(Verdict::Allow),
        Some("ask") => Some(Verdict::Ask),
        Some("deny") => Some(Verdict::Deny),
        Some(_) => {
            let span = verdict.map_or_else(|| at.span.clone(), |verdict| verdict.span);
            reader.fault(span, "this is no verdict", "verdicts are allow, ask, deny");
            None
        }
        None => {
            if !table.contains_key("verdict") {
                let help = "add `verdict = \"allow\"`, `\"ask\"` or `\"deny\"`";
                reader.fault(at.span.clone(), "the rule has no `verdict`", help);
            }
            None
        }
    };
    let targets = targets(reader, at);
    let conditions = conditions(reader, at, &targets);
    let advisory = reader
        .boolean(table, "advisory")
        .is_some_and(|advisory| advisory.value);
    let why = reader.string(table, "why").map(|why| why.value);
    let text = described(reader, table);
    if reader.faults.len() > before {
        return None;
    }
    let built_in = source.layer == Layer::BuiltIn;
    Some(Rule {
        reference: RuleRef {
            id: id.map_or_else(|| format!("{}:{line}", source.layer.word()), |id| id.value),
            layer: source.layer,
            place: (!built_in).then(|| Place {
                file: source.name.clone(),
                line,
            }),
            text,
            why,
        },
        verdict: verdict?,
        targets,
        conditions,
        advisory,
    })
}

fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// The patterns of a long rule as one text, for explanations.
fn described(reader: &mut Reader<'_>, table: &DeTable<'_>) -> String {
    let kind = reader.string(table, "kind").map(|kind| kind.value);
    let mut texts = Vec::new();
    for key in ["commands", "paths", "hosts", "names"] {
        for text in reader.strings(table, key) {
            texts.push(match &kind {
                Some(kind) => format!("{kind}({})", text.value),
                None => text.value,
            });
        }
    }
    texts.join(", ")
}

/// `commands`, or `kind` with its list.
fn targets(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>) -> Vec<Target> {
    let table = at.value;
    let kind = reader.string(table, "kind");
    let list = match kind.as_ref().map(|kind| kind.value.as_str()) {
        None => "commands",
        Some("write" | "read") => "paths",
        Some("network") => "hosts",
        Some("env") => "names",
        Some(other) => {
            let bad = rule::of_kind(other, "").err();
            let span = kind
                .as_ref()
                .map_or_else(|| at.span.clone(), |kind| kind.span.clone());
            if let Some(bad) = bad {
                fault(reader, &span, bad);
            }
            return Vec::new();
        }
    };
    for other in ["commands", "paths", "hosts", "names"] {
        if other != list && table.contains_key(other) {
            let message = match &kind {
                Some(kind) => format!(
                    "a rule of the kind `{}` takes `{list}`, not `{other}`",
                    kind.value
                ),
                None => format!("`{other}` needs a `kind`"),
            };
            let help = "one rule speaks of commands, or of one kind with its list";
            reader.fault(key_span(table, other, &at.span), message, help);
            return Vec::new();
        }
    }
    let texts = reader.strings(table, list);
    if texts.is_empty() {
        if table.contains_key(list) {
            let help = "name at least one pattern, or remove the rule";
            reader.fault(
                key_span(table, list, &at.span),
                format!("`{list}` is empty, so the rule can never match"),
                help,
            );
        } else {
            let help = "add `commands = [...]`, or `kind` with `paths`, `hosts` or `names`";
            reader.fault(at.span.clone(), format!("the rule has no `{list}`"), help);
        }
    }
    let mut targets = Vec::new();
    for text in texts {
        let compiled = match &kind {
            None => rule::command(text.value.trim()),
            Some(kind) => rule::of_kind(&kind.value, &text.value),
        };
        match compiled {
            Ok(target) => targets.push(target),
            Err(bad) => fault(reader, &text.span, bad),
        }
    }
    targets
}

fn conditions(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>, targets: &[Target]) -> Conditions {
    let table = at.value;
    let mut conditions = Conditions::default();
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
    if let Some(args) = reader.string(table, "args") {
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
    for folder in reader.strings(table, "cwd") {
        let pattern = lex::words(&folder.value).and_then(|words| match words.as_slice() {
            [word] => PathPattern::new(word),
            _ => Err(Bad::new(
                "a folder pattern is one word",
                "quote blanks; \".\" is the workspace root",
            )),
        });
        match pattern {
            Ok(pattern) => conditions.cwd.push(pattern),
            Err(bad) => fault(reader, &folder.span, bad),
        }
    }
    conditions.as_written = as_written(reader, table);
    if let Some(expires) = reader.string(table, "expires") {
        match date::days(&expires.value) {
            Some(day) => conditions.expires = Some(day),
            None => reader.fault(
                expires.span,
                "this is no date",
                "write the last day it applies, for example `expires = \"2027-01-31\"`",
            ),
        }
    }
    let command = targets.iter().any(|target| match target {
        Target::Command(_) => true,
        Target::Write(_) | Target::Read(_) | Target::Env(_) | Target::Network(_) => false,
    });
    if !command && !targets.is_empty() {
        for key in ["with", "with_all", "without", "args", "cwd", "as_written"] {
            if table.contains_key(key) {
                reader.fault(
                    key_span(table, key, &at.span),
                    format!("`{key}` is for rules on commands"),
                    "leave it out, or write `commands` instead of `kind`",
                );
            }
        }
    }
    conditions
}

fn as_written(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<AsWritten> {
    let given = reader.string(table, "as_written")?;
    let allows = table
        .get("verdict")
        .and_then(|verdict| verdict.get_ref().as_str())
        == Some("allow");
    if !allows {
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
