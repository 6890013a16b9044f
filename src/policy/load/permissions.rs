//! `[permissions]`: one-line rules, and what is switched off.

use toml::de::DeTable;

use super::{Loading, fault, reference};
use crate::model::judgement::Layer;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::error::Fault;
use crate::policy::kind;
use crate::policy::reader::{At, Reader, key_span};
use crate::policy::rule::{Conditions, Rule, Target};
use crate::policy::{Source, keys};

impl Loading {
    pub(super) fn permissions(
        &mut self,
        source: &Source,
        reader: &mut Reader<'_>,
        table: &DeTable<'_>,
    ) {
        reader.keys(table, &keys::PERMISSIONS, &[], "in [permissions]");
        for (key, verdict) in [
            ("allow", Verdict::Allow),
            ("ask", Verdict::Ask),
            ("deny", Verdict::Deny),
        ] {
            for text in reader.strings(table, key) {
                match kind::one_line(&text.value) {
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
        let rule = Rule {
            reference: reference(source, line, None, text.value.clone(), None),
            verdict,
            targets: vec![target],
            conditions: Conditions::default(),
            advisory: source.layer == Layer::BuiltIn,
        };
        self.keep(source, rule);
    }
}
