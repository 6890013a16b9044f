//! Adds a one-line rule to a policy text and takes rules out of it. Whatever else the text holds, its
//! comments and its order included, stays byte for byte.

use toml_edit::{Array, Document, DocumentMut, Item, RawString, Table, Value};

use super::keys;
use super::suggest::nearest;
use crate::model::judgement::Layer;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

/// Why a text cannot be changed as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is no TOML.
    #[error("the policy is no TOML: {0}")]
    Syntax(String),
    /// A key holds something else than the language says.
    #[error("`{0}` of the policy is not what it should be")]
    Shape(&'static str),
    /// There is no such rule.
    #[error("there is no rule `{}` in it", Escaped::from(.wanted.as_str()))]
    Absent {
        /// The rule or id asked for.
        wanted: String,
        /// The nearest there is.
        near: Option<String>,
    },
    /// Several rules are meant.
    #[error("`{}` names several rules: {}", Escaped::from(.wanted.as_str()), Escaped::from(.found.join(", ").as_str()))]
    Several {
        /// The rule or id asked for.
        wanted: String,
        /// What it names.
        found: Vec<String>,
    },
}

impl EditError {
    /// What to do.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Syntax(_) | Self::Shape(_) => {
                Some("`tipstaff policy check FILE` says what is wrong".to_owned())
            }
            Self::Absent { near, .. } => near
                .as_ref()
                .map(|near| format!("did you mean `{}`?", Escaped::from(near.as_str()))),
            Self::Several { .. } => {
                Some("write the rule itself, with `--verdict` if it stands in two lists".to_owned())
            }
        }
    }
}

/// A rule that was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// What it said.
    pub verdict: String,
    /// Its text, or its id.
    pub text: String,
}

fn document(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| EditError::Syntax(error.message().replace('\n', ", ")))
}

const fn list_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// The text with `rule` at the end of its list; `None` when it stands there already. An empty text
/// becomes a policy.
///
/// # Errors
///
/// The text is no TOML, or `[permissions]` is no table.
pub fn add(text: &str, verdict: Verdict, rule: &str) -> Result<Option<String>, EditError> {
    let start = if text.trim().is_empty() {
        format!("{text}version = 1\n")
    } else {
        text.to_owned()
    };
    let mut document: DocumentMut = document(&start)?.into_mut();
    if !document.contains_key("permissions") {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        // Before the other tables, where the language has it.
        table.set_position(Some(-1));
        document.insert("permissions", Item::Table(table));
    }
    let permissions = document
        .get_mut("permissions")
        .and_then(Item::as_table_like_mut)
        .ok_or(EditError::Shape("permissions"))?;
    let key = list_of(verdict);
    if !permissions.contains_key(key) {
        permissions.insert(key, Item::Value(Value::Array(Array::new())));
    }
    let list = permissions
        .get_mut(key)
        .and_then(Item::as_array_mut)
        .ok_or(EditError::Shape(key))?;
    let same = |value: &Value| value.as_str().is_some_and(|text| text.trim() == rule);
    if list.iter().any(same) {
        return Ok(None);
    }
    push(list, rule);
    Ok(Some(document.to_string()))
}

fn raw(text: Option<&RawString>) -> String {
    text.and_then(RawString::as_str).unwrap_or("").to_owned()
}

/// Adds an element in the manner of the list: on a line of its own where the last one has one. What
/// stands behind the last one, such as a comment on its line, stays there.
fn push(list: &mut Array, rule: &str) {
    let mut value = Value::from(rule);
    let count = list.len();
    let mut behind = raw(Some(list.trailing()));
    let indent = match list.get_mut(count.wrapping_sub(1)) {
        None => {
            let own_lines = behind.contains('\n');
            own_lines.then(|| "\n    ".to_owned())
        }
        Some(last) => {
            let before = raw(last.decor().prefix());
            if !list.trailing_comma()
                && let Some(last) = list.get_mut(count.wrapping_sub(1))
            {
                behind = raw(last.decor().suffix()) + &behind;
                last.decor_mut().set_suffix("");
            }
            before
                .rfind('\n')
                .map(|at| before.get(at..).unwrap_or("\n    ").to_owned())
        }
    };
    match indent {
        Some(indent) => {
            value
                .decor_mut()
                .set_prefix(format!("{}{indent}", behind.trim_end()));
            list.push_formatted(value);
            list.set_trailing_comma(true);
            list.set_trailing("\n");
        }
        // A comment without a line end before the bracket cannot be: the list is on one line.
        None => {
            value
                .decor_mut()
                .set_prefix(if count == 0 { "" } else { " " });
            list.push_formatted(value);
            list.set_trailing_comma(false);
            list.set_trailing("");
        }
    }
}

/// Where a rule stands.
enum At {
    List { key: &'static str, index: usize },
    Rule { index: usize },
}

struct Entry {
    at: At,
    verdict: String,
    /// The text of a one-line rule, or the id of a long one.
    name: String,
    /// Its id in lists where it has none of its own: `LAYER:LINE`.
    id: String,
}

/// The text without the rule that `wanted` names: the text of a one-line rule, an id, or `LAYER:LINE` as
/// lists show it. `verdict` narrows it to the rules that say so.
///
/// # Errors
///
/// There is no such rule, or several are meant.
pub fn remove(
    text: &str,
    layer: Layer,
    wanted: &str,
    verdict: Option<Verdict>,
) -> Result<(String, Removed), EditError> {
    let parsed = document(text)?;
    let entries = entries(&parsed, text, layer);
    let says = |entry: &&Entry| verdict.is_none_or(|verdict| list_of(verdict) == entry.verdict);
    let named: Vec<&Entry> = entries
        .iter()
        .filter(says)
        .filter(|entry| entry.name.trim() == wanted.trim() || entry.id == wanted)
        .collect();
    let Some(first) = named.first() else {
        let names = entries.iter().map(|entry| entry.name.as_str());
        return Err(EditError::Absent {
            wanted: wanted.to_owned(),
            near: nearest(wanted, names).map(str::to_owned),
        });
    };
    // The same rule twice in one list is one rule.
    let one = |entry: &&Entry| entry.name == first.name && entry.verdict == first.verdict;
    if !named.iter().all(one) {
        return Err(EditError::Several {
            wanted: wanted.to_owned(),
            found: named
                .iter()
                .map(|entry| format!("{} `{}`", entry.verdict, entry.name))
                .collect(),
        });
    }
    let removed = Removed {
        verdict: first.verdict.clone(),
        text: first.name.clone(),
    };
    let changed = match first.at {
        At::Rule { index } => without_rule(&parsed, text, index)?,
        At::List { key, .. } => {
            let mut indices: Vec<usize> = named
                .iter()
                .filter_map(|entry| match entry.at {
                    At::List { index, .. } => Some(index),
                    At::Rule { .. } => None,
                })
                .collect();
            indices.sort_unstable();
            let mut document = parsed.into_mut();
            let list = document
                .get_mut("permissions")
                .and_then(Item::as_table_like_mut)
                .and_then(|permissions| permissions.get_mut(key))
                .and_then(Item::as_array_mut)
                .ok_or(EditError::Shape(key))?;
            for index in indices.into_iter().rev() {
                take(list, index);
            }
            document.to_string()
        }
    };
    Ok((changed, removed))
}

fn entries(document: &Document<&str>, text: &str, layer: Layer) -> Vec<Entry> {
    let line = |at: usize| {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    };
    let id = |at: Option<usize>| format!("{}:{}", layer.word(), at.map_or(0, line));
    let mut entries = Vec::new();
    let permissions = document.as_table().get("permissions");
    for key in keys::PERMISSIONS.into_iter().take(3) {
        let list = permissions
            .and_then(Item::as_table_like)
            .and_then(|permissions| permissions.get(key))
            .and_then(Item::as_array);
        for (index, value) in list.into_iter().flatten().enumerate() {
            entries.push(Entry {
                at: At::List { key, index },
                verdict: key.to_owned(),
                name: value.as_str().unwrap_or("").to_owned(),
                id: id(value.span().map(|span| span.start)),
            });
        }
    }
    let rules = document.as_table().get("rule");
    for (index, rule) in rules
        .and_then(Item::as_array_of_tables)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let text = |key: &str| rule.get(key).and_then(Item::as_str).map(str::to_owned);
        let place = id(rule.span().map(|span| span.start));
        entries.push(Entry {
            at: At::Rule { index },
            verdict: text("verdict").unwrap_or_default(),
            name: text("id").unwrap_or_else(|| place.clone()),
            id: place,
        });
    }
    entries
}

/// Takes an element out of a list. A comment on its own line stays; one behind the element, on the same
/// line, is about it and goes with it.
fn take(list: &mut Array, index: usize) {
    let prefix = list
        .get(index)
        .map(|value| raw(value.decor().prefix()))
        .unwrap_or_default();
    let last = index + 1 == list.len();
    let suffix = list
        .get(index)
        .map(|value| raw(value.decor().suffix()))
        .unwrap_or_default();
    list.remove(index);
    let behind = match list.get(index) {
        Some(next) => raw(next.decor().prefix()),
        None => suffix + &raw(Some(list.trailing())),
    };
    let (same_line, own) = split_line(&prefix);
    let (_, rest) = split_line(&behind);
    let mut kept = same_line.to_owned();
    if own.contains('#') {
        kept.push_str(own.trim_end());
    }
    kept.push_str(match (rest.is_empty(), last) {
        (false, _) => rest,
        // A line end has to follow a comment, and a list on lines stays one.
        (true, false) => own,
        (true, true) if kept.contains('#') => "\n",
        (true, true) => "",
    });
    if list.is_empty() && !kept.contains('#') {
        kept.clear();
    }
    if list.is_empty() {
        list.set_trailing_comma(false);
    }
    match list.get_mut(index) {
        Some(next) => next.decor_mut().set_prefix(kept),
        None => {
            if !list.trailing_comma() && !kept.contains('\n') {
                kept.clear();
            }
            list.set_trailing(kept);
        }
    }
}

/// The text up to the first line end, and from there on.
fn split_line(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(text.len()))
}

/// The text without the `[[rule]]` and the comment that stands directly above it.
fn without_rule(document: &Document<&str>, text: &str, index: usize) -> Result<String, EditError> {
    let table = document
        .as_table()
        .get("rule")
        .and_then(Item::as_array_of_tables)
        .and_then(|rules| rules.get(index))
        .ok_or(EditError::Shape("rule"))?;
    let header = table.span().ok_or(EditError::Shape("rule"))?;
    let end = table
        .iter()
        .filter_map(|(_, item)| item.span())
        .map(|span| span.end)
        .chain([header.end])
        .max()
        .unwrap_or(header.end);
    let mut start = line_start(text, header.start);
    // Comment lines without a blank line between belong to the rule.
    while let Some(above) = start.checked_sub(1).map(|at| line_start(text, at)) {
        let line = text.get(above..start).unwrap_or_default().trim();
        if !line.starts_with('#') {
            break;
        }
        start = above;
    }
    let behind = text.get(end..).unwrap_or_default();
    let line_end = behind.find('\n').map_or(text.len(), |at| end + at + 1);
    let before = text.get(..start).unwrap_or_default();
    let mut after = text.get(line_end..).unwrap_or_default();
    if before.is_empty() || before.ends_with("\n\n") || after.is_empty() {
        after = after.trim_start_matches(['\n', '\r']);
    }
    let mut whole = format!("{before}{after}");
    if after.is_empty() {
        whole.truncate(before.trim_end().len());
        whole.push('\n');
    }
    Ok(whole)
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::{EditError, Removed, add, remove};
    use crate::model::judgement::Layer;
    use crate::model::verdict::Verdict;

    fn added(text: &str, rule: &str) -> String {
        add(text, Verdict::Allow, rule).unwrap().unwrap()
    }

    fn removed(text: &str, wanted: &str) -> String {
        remove(text, Layer::User, wanted, None).unwrap().0
    }

    #[test]
    fn adding_starts_a_policy_and_keeps_the_manner_of_a_list() {
        assert_eq!(
            added("", "git log"),
            "version = 1\n\n[permissions]\nallow = [\"git log\"]\n"
        );
        for (before, after) in [
            ("allow = [\"a\"]", "allow = [\"a\", \"x y\"]"),
            ("allow = []", "allow = [\"x y\"]"),
            ("allow = [ \"a\" ]", "allow = [ \"a\", \"x y\"]"),
            (
                "allow = [\n  \"a\",\n]",
                "allow = [\n  \"a\",\n  \"x y\",\n]",
            ),
            (
                "allow = [\n  \"a\"\n]",
                "allow = [\n  \"a\",\n  \"x y\",\n]",
            ),
            (
                "allow = [\n  \"a\", # of a\n  # above\n]",
                "allow = [\n  \"a\", # of a\n  # above\n  \"x y\",\n]",
            ),
            (
                "allow = [\n  \"a\" # of a\n]",
                "allow = [\n  \"a\", # of a\n  \"x y\",\n]",
            ),
            (
                "deny = [\"z\"] # z",
                "deny = [\"z\"] # z\nallow = [\"x y\"]",
            ),
        ] {
            let head = "# mine\nversion = 1\n[permissions] # here\n";
            let tail = "\n# end\n[sandbox]\nnetwork = 'off'\n";
            assert_eq!(
                added(&format!("{head}{before}{tail}"), "x y"),
                format!("{head}{after}{tail}")
            );
        }
        assert_eq!(
            added("version = 1\n\n# long\n[[rule]]\nid = \"r\"\n", "x"),
            "version = 1\n\n[permissions]\nallow = [\"x\"]\n\n# long\n[[rule]]\nid = \"r\"\n"
        );
        assert_eq!(
            added("version = 1\npermissions = { allow = [\"a\"] }\n", "x"),
            "version = 1\npermissions = { allow = [\"a\", \"x\"] }\n"
        );
        assert_eq!(
            added("version = 1\npermissions.allow = [\"a\"]\n", "x"),
            "version = 1\npermissions.allow = [\"a\", \"x\"]\n"
        );
        let there = "version = 1\n[permissions]\nallow = [\"a\"]\n";
        assert_eq!(add(there, Verdict::Allow, "a"), Ok(None));
        assert_eq!(
            add(
                "version = 1\n[permissions]\nallow = 3\n",
                Verdict::Allow,
                "a"
            ),
            Err(EditError::Shape("allow"))
        );
    }

    #[test]
    fn removing_takes_the_rule_and_what_is_said_of_it() {
        for (before, wanted, after) in [
            ("[\"a\", \"b\", \"c\"]", "a", "[\"b\", \"c\"]"),
            ("[\"a\", \"b\", \"c\"]", "b", "[\"a\", \"c\"]"),
            ("[\"a\", \"b\", \"c\"]", "c", "[\"a\", \"b\"]"),
            ("[\"a\"]", "a", "[]"),
            ("[\n  \"a\",\n]", "a", "[]"),
            ("[\n  \"a\",\n  \"b\",\n]", "b", "[\n  \"a\",\n]"),
            ("[\n  \"a\",\n  \"b\"\n]", "b", "[\n  \"a\"\n]"),
            (
                "[\n  \"a\", # of a\n  \"b\", # of b\n  \"c\", # of c\n]",
                "b",
                "[\n  \"a\", # of a\n  \"c\", # of c\n]",
            ),
            (
                "[\n  \"a\", # of a\n  \"b\", # of b\n]",
                "b",
                "[\n  \"a\", # of a\n]",
            ),
            (
                "[\n  # group\n  \"a\", # of a\n  \"b\",\n]",
                "a",
                "[\n  # group\n  \"b\",\n]",
            ),
            ("[\n  # group\n  \"a\",\n]", "a", "[\n  # group\n]"),
        ] {
            let head = "version = 1\n[permissions]\nask = [\"q\"]\nallow = ";
            assert_eq!(
                removed(&format!("{head}{before} # tail\n"), wanted),
                format!("{head}{after} # tail\n"),
                "{before}"
            );
        }
    }

    const LONG: &str = "version = 1\n\n# group\n\n# of r1\n[[rule]] # here\nid = \"r1\"\nverdict = \"ask\"\ncommands = [\"a\"] # a\n\n# of r2\n[[rule]]\nverdict = \"deny\"\ncommands = [\n  \"b\",\n]\n\n# of s\n[sandbox]\nnetwork = \"off\"\n";

    #[test]
    fn long_rules_go_by_id_or_line() {
        assert_eq!(
            removed(LONG, "r1"),
            "version = 1\n\n# group\n\n# of r2\n[[rule]]\nverdict = \"deny\"\ncommands = [\n  \"b\",\n]\n\n# of s\n[sandbox]\nnetwork = \"off\"\n"
        );
        assert_eq!(
            removed(LONG, "user:12"),
            "version = 1\n\n# group\n\n# of r1\n[[rule]] # here\nid = \"r1\"\nverdict = \"ask\"\ncommands = [\"a\"] # a\n\n# of s\n[sandbox]\nnetwork = \"off\"\n"
        );
        let last = "version = 1\n[[rule]]\nid = \"r\"\nverdict = \"ask\"\ncommands = [\"a\"]";
        assert_eq!(removed(last, "r"), "version = 1\n");
    }

    #[test]
    fn what_is_absent_or_meant_twice_is_an_error() {
        let text = "version = 1\n[permissions]\nallow = [\"git log\", \"x\"]\nask = [\"x\"]\n";
        assert_eq!(
            remove(text, Layer::User, "git lgo", None),
            Err(EditError::Absent {
                wanted: "git lgo".to_owned(),
                near: Some("git log".to_owned()),
            })
        );
        assert!(matches!(
            remove(text, Layer::User, "x", None),
            Err(EditError::Several { .. })
        ));
        assert!(matches!(
            remove(text, Layer::User, "user:3", None),
            Err(EditError::Several { .. })
        ));
        assert_eq!(
            remove(text, Layer::User, "x", Some(Verdict::Ask))
                .unwrap()
                .1,
            Removed {
                verdict: "ask".to_owned(),
                text: "x".to_owned(),
            }
        );
        assert!(matches!(
            remove("version = ", Layer::User, "x", None),
            Err(EditError::Syntax(_))
        ));
    }
}
