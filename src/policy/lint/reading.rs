//! The rules of the sources again, one entry for each pattern, with the place of each.

use std::ops::Range;
use std::rc::Rc;

use crate::model::judgement::{Layer, Place, RuleRef};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::Source;
use crate::policy::error::PolicyError;
use crate::policy::kind;
use crate::policy::lex;
use crate::policy::load::{BUILT_IN, LISTS, compiled};
use crate::policy::reader::Reader;
use crate::policy::rule::{Conditions, Rule, Target};

/// One pattern of one rule.
pub(super) struct Entry {
    pub(super) rule: Rc<Rule>,
    /// Which of the rule's patterns.
    pub(super) at: usize,
    /// The pattern as written, with its kind.
    pub(super) text: String,
    pub(super) source: Rc<Source>,
    pub(super) span: Range<usize>,
    /// Whether a person wrote it; built-in rules are there to be compared with.
    pub(super) is_written: bool,
}

impl Entry {
    pub(super) fn target(&self) -> Option<&Target> {
        self.rule.targets.get(self.at)
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.rule.verdict
    }

    /// The pattern for messages.
    pub(super) fn shown(&self) -> String {
        Escaped::from(self.text.trim()).to_string()
    }

    /// Where it stands, for messages about another rule.
    pub(super) fn place(&self) -> String {
        match &self.rule.reference.place {
            Some(place) => format!(
                "{}:{}",
                Escaped::from(place.file.as_str()),
                Reader::new("", &self.source.text).line(self.span.start)
            ),
            None => format!(
                "the built-in rule `{}`",
                Escaped::from(self.rule.reference.id.as_str())
            ),
        }
    }

    /// The pattern without what does not matter to it: blanks and quotes.
    pub(super) fn canonical(&self) -> String {
        match lex::words(&self.text) {
            Ok(words) if !self.text.trim_start().starts_with("re:") => words
                .iter()
                .map(|word| {
                    word.iter()
                        .map(|char| {
                            let mark = if char.literal && b"*?{}~$".contains(&char.byte) {
                                "\\"
                            } else {
                                ""
                            };
                            format!("{mark}{}", char::from(char.byte))
                        })
                        .collect::<String>()
                })
                .collect::<Vec<_>>()
                .join("\u{0}"),
            Ok(_) | Err(_) => self.text.trim().to_owned(),
        }
    }
}

/// Every pattern of every rule, the built-in ones included.
pub(super) fn entries(sources: &[Source]) -> Result<Vec<Entry>, PolicyError> {
    let built_in = Source {
        layer: Layer::BuiltIn,
        name: "built-in".to_owned(),
        text: BUILT_IN.to_owned(),
        trusted: true,
    };
    let mut entries = Vec::new();
    for source in std::iter::once(&built_in).chain(sources) {
        let source = Rc::new(source.clone());
        let mut reader = Reader::new(&source.name, &source.text);
        if let Some(document) = reader.document() {
            if let Some(table) = document
                .get("permissions")
                .and_then(|value| value.get_ref().as_table())
            {
                for (key, verdict) in [
                    ("allow", Verdict::Allow),
                    ("ask", Verdict::Ask),
                    ("deny", Verdict::Deny),
                ] {
                    for text in reader.strings(table, key) {
                        let line = reader.line(text.span.start);
                        if let Ok(target) = kind::one_line(&text.value) {
                            let rule = short(&source, line, verdict, &text.value, target);
                            entries.push(entry(&source, Rc::new(rule), 0, text.value, text.span));
                        }
                    }
                }
            }
            for table in reader.tables(&document, "rule") {
                let Some(rule) = compiled(&source, &mut reader, &table) else {
                    continue;
                };
                let rule = Rc::new(rule);
                let kind = reader.string(table.value, "kind").map(|kind| kind.value);
                let texts: Vec<_> = LISTS
                    .into_iter()
                    .flat_map(|key| reader.strings(table.value, key))
                    .collect();
                for (at, text) in texts.into_iter().enumerate() {
                    let written = match &kind {
                        Some(kind) => format!("{kind}({})", text.value),
                        None => text.value,
                    };
                    entries.push(entry(&source, Rc::clone(&rule), at, written, text.span));
                }
            }
        }
        if !reader.faults.is_empty() {
            return Err(PolicyError::new(reader.faults));
        }
    }
    Ok(entries)
}

fn entry(
    source: &Rc<Source>,
    rule: Rc<Rule>,
    at: usize,
    text: String,
    span: Range<usize>,
) -> Entry {
    Entry {
        rule,
        at,
        text,
        source: Rc::clone(source),
        span,
        is_written: source.layer != Layer::BuiltIn,
    }
}

fn short(source: &Source, line: usize, verdict: Verdict, text: &str, target: Target) -> Rule {
    Rule {
        reference: RuleRef {
            id: format!("{}:{line}", source.layer.word()),
            layer: source.layer,
            place: Some(Place {
                file: source.name.clone(),
                line,
            }),
            text: text.to_owned(),
            why: None,
        },
        verdict,
        targets: vec![target],
        conditions: Conditions::default(),
        advisory: false,
    }
}
