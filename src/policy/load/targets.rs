//! What a long rule speaks of: `commands`, or a `kind` with its list.

use toml::de::DeTable;

use super::fault;
use crate::policy::reader::{At, Reader, key_span};
use crate::policy::rule::{self, Target};

/// The keys that hold patterns.
pub(super) const LISTS: [&str; 4] = ["commands", "paths", "hosts", "names"];

/// The compiled patterns; empty after a mistake, which is noted.
pub(super) fn targets(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>) -> Vec<Target> {
    let kind = reader.string(at.value, "kind");
    let Some(list) = list(reader, at, kind.as_ref()) else {
        return Vec::new();
    };
    let mut targets = Vec::new();
    for text in reader.strings(at.value, list) {
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

/// The one list that a rule of this kind has, with something in it.
fn list(
    reader: &mut Reader<'_>,
    at: &At<&DeTable<'_>>,
    kind: Option<&At<String>>,
) -> Option<&'static str> {
    let table = at.value;
    let list = match kind.map(|kind| kind.value.as_str()) {
        None => "commands",
        Some("write" | "read") => "paths",
        Some("network") => "hosts",
        Some("env") => "names",
        Some(other) => {
            let bad = rule::of_kind(other, "").err();
            let span = kind.map_or_else(|| at.span.clone(), |kind| kind.span.clone());
            if let Some(bad) = bad {
                fault(reader, &span, bad);
            }
            return None;
        }
    };
    for other in LISTS {
        if other != list && table.contains_key(other) {
            let message = match kind {
                Some(kind) => format!(
                    "a rule of the kind `{}` takes `{list}`, not `{other}`",
                    kind.value
                ),
                None => format!("`{other}` needs a `kind`"),
            };
            let help = "one rule speaks of commands, or of one kind with its list";
            reader.fault(key_span(table, other, &at.span), message, help);
            return None;
        }
    }
    if reader.strings(table, list).is_empty() {
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
        return None;
    }
    Some(list)
}
