//! `[[rule]]`: a rule with an id, a reason, conditions and examples.

use toml::de::DeTable;

use super::conditions::conditions;
use super::targets::{LISTS, targets};
use super::{Loading, reference};
use crate::model::judgement::Layer;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::reader::{At, Reader};
use crate::policy::rule::Rule;
use crate::policy::{Source, examples, keys};

impl Loading {
    pub(super) fn long_rule(
        &mut self,
        source: &Source,
        reader: &mut Reader<'_>,
        at: &At<&DeTable<'_>>,
    ) {
        let before = reader.faults.len();
        let Some(rule) = compiled(source, reader, at) else {
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
}

/// Compiles a `[[rule]]`; `None` when it is wrong, which is noted.
pub(in crate::policy) fn compiled(
    source: &Source,
    reader: &mut Reader<'_>,
    at: &At<&DeTable<'_>>,
) -> Option<Rule> {
    let table = at.value;
    let before = reader.faults.len();
    let line = reader.line(at.span.start);
    reader.keys(table, &keys::RULE, &[], "in [[rule]]");
    let id = reader.string(table, "id");
    if let Some(id) = id.as_ref().filter(|id| !is_id(&id.value)) {
        let help = "use letters, digits, `-`, `_` and `.`";
        reader.fault(id.span.clone(), "this is no id", help);
    }
    let verdict = verdict(reader, at);
    let targets = targets(reader, at);
    let conditions = conditions(reader, at, verdict, &targets);
    let advisory = reader
        .boolean(table, "advisory")
        .is_some_and(|advisory| advisory.value);
    let why = reader.string(table, "why").map(|why| why.value);
    let text = described(reader, table);
    if reader.faults.len() > before {
        return None;
    }
    Some(Rule {
        reference: reference(source, line, id.map(|id| id.value), text, why),
        verdict: verdict?,
        targets,
        conditions,
        advisory,
    })
}

fn verdict(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>) -> Option<Verdict> {
    let Some(verdict) = reader.string(at.value, "verdict") else {
        if !at.value.contains_key("verdict") {
            let help = "add `verdict = \"allow\"`, `\"ask\"` or `\"deny\"`";
            reader.fault(at.span.clone(), "the rule has no `verdict`", help);
        }
        return None;
    };
    match verdict.value.as_str() {
        "allow" => Some(Verdict::Allow),
        "ask" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => {
            let help = "verdicts are allow, ask, deny";
            reader.fault(verdict.span, "this is no verdict", help);
            None
        }
    }
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
    for key in LISTS {
        for text in reader.strings(table, key) {
            texts.push(match &kind {
                Some(kind) => format!("{kind}({})", text.value),
                None => text.value,
            });
        }
    }
    texts.join(", ")
}
