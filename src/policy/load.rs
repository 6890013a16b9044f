//! Loads the layers. Strict: whatever is not understood is an error, and one error refuses all.

mod conditions;
mod long_rule;
mod permissions;
mod targets;

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeTable;

use super::error::{Fault, PolicyError};
use super::index::Rules;
use super::keys;
use super::lex::Bad;
use super::listing::Standing;
use super::reader::Reader;
use super::rule::Rule;
use super::settings::{Given, Settings};
use super::suggest::nearest;
use super::{Policy, Source, judge};
use crate::model::judgement::{Layer, Place, RuleRef};
use crate::model::verdict::Verdict;

const BUILT_IN: &str = include_str!("../../policies/builtin.toml");
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

    /// A rule that does not count is kept aside, to be listed.
    fn keep(&mut self, source: &Source, rule: Rule) {
        if rule.verdict == Verdict::Allow && !source.trusted {
            self.aside.push((rule, Standing::Untrusted));
        } else {
            self.rules.push(rule);
        }
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
        let confining = rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.conditions.sandbox.is_some())
            .map(|(at, _)| at)
            .collect();
        Ok(Policy {
            rules: Rules::new(rules),
            confining,
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

/// How explanations name the rule at `line` of a source. One without an id is called by its place.
fn reference(
    source: &Source,
    line: usize,
    id: Option<String>,
    text: String,
    why: Option<String>,
) -> RuleRef {
    let built_in = source.layer == Layer::BuiltIn;
    RuleRef {
        id: id.unwrap_or_else(|| format!("{}:{line}", source.layer.word())),
        layer: source.layer,
        place: (!built_in).then(|| Place {
            file: source.name.clone(),
            line,
        }),
        text,
        why,
    }
}
