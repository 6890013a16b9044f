//! What a long rule speaks of: `commands`, or a `kind` with its list.

use toml::de::DeTable;

use super::fault;
use crate::policy::kind::{self, Kind};
use crate::policy::reader::{At, Reader, key_span};
use crate::policy::rule::Target;

/// The keys that hold patterns.
pub(in crate::policy) const LISTS: [&str; 5] = ["commands", "paths", "hosts", "names", "tools"];

/// The compiled patterns; empty after a mistake, which is noted.
pub(super) fn targets(reader: &mut Reader<'_>, at: &At<&DeTable<'_>>) -> Vec<Target> {
    let named = reader.string(at.value, "kind");
    let kind = match named.as_ref().map(|named| Kind::named(&named.value)) {
        None => None,
        Some(Ok(kind)) => Some(kind),
        Some(Err(bad)) => {
            let span = named.map_or_else(|| at.span.clone(), |named| named.span);
            fault(reader, &span, bad);
            return Vec::new();
        }
    };
    let Some(list) = list(reader, at, named.as_ref(), kind) else {
        return Vec::new();
    };
    let mut targets = Vec::new();
    for text in reader.strings(at.value, list) {
        let compiled = match kind {
            None => kind::command(text.value.trim()),
            Some(kind) => kind.target(&text.value),
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
    named: Option<&At<String>>,
    kind: Option<Kind>,
) -> Option<&'static str> {
    let table = at.value;
    let list = kind.map_or("commands", Kind::list);
    for other in LISTS {
        if other != list && table.contains_key(other) {
            let message = match named {
                Some(named) => format!(
                    "a rule of the kind `{}` takes `{list}`, not `{other}`",
                    named.value
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
            let help =
                "add `commands = [...]`, or `kind` with `paths`, `hosts`, `names` or `tools`";
            reader.fault(at.span.clone(), format!("the rule has no `{list}`"), help);
        }
        return None;
    }
    Some(list)
}
