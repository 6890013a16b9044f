//! The canonical layout of a policy: keys and tables in the order of the language, comments kept with
//! what they speak of. Rules and the words of lists keep the order they were written in.

use toml_edit::{Array, DocumentMut, Item, RawString, TableLike, Value};

use super::keys;
use crate::model::text::Escaped;

/// A list that is longer on one line is written on several.
const WIDTH: usize = 100;

/// Why a text cannot be laid out; it is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// It is no TOML.
    #[error("this is no TOML: {0}")]
    Syntax(String),
    /// It is TOML and no policy.
    #[error("this is no policy: unknown key `{}`", Escaped::from(.0.as_str()))]
    Foreign(String),
    /// A key holds something else than the language says.
    #[error("`{0}` is not what it should be")]
    Shape(String),
    /// A comment stands where the layout has no place for it.
    #[error("a comment would be lost: {}", Escaped::from(.0.as_str()))]
    Comment(String),
}

/// The text in canonical layout. Laying that out again changes nothing.
///
/// # Errors
///
/// It is no policy, or laying it out would lose a comment.
pub fn laid_out(text: &str) -> Result<String, LayoutError> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        LayoutError::Syntax(error.message().replace('\n', ", "))
    })?;
    if let Some((key, _)) = document
        .iter()
        .find(|(key, _)| !keys::TOP.contains(key) && !keys::TOP_LATER.contains(key))
    {
        return Err(LayoutError::Foreign(key.to_owned()));
    }
    let mut out = Out::default();
    out.head(&document);
    for key in keys::TOP {
        let Some(item) = document.get(key) else {
            continue;
        };
        match key {
            "version" | "mode" => {}
            "rule" => out.rules(&document, item)?,
            _ => {
                let order: &[&str] = match key {
                    "permissions" => &keys::PERMISSIONS,
                    "workspace" => &keys::WORKSPACE,
                    "sandbox" => &keys::SANDBOX,
                    _ => &keys::APPROVALS,
                };
                let table = item
                    .as_table_like()
                    .ok_or_else(|| LayoutError::Shape(key.to_owned()))?;
                out.header(&document, key, item, &format!("[{key}]"));
                out.table(table, order, false);
            }
        }
    }
    for key in keys::TOP_LATER {
        if document.contains_key(key) {
            return Err(LayoutError::Foreign(key.to_owned()));
        }
    }
    out.end(&raw(Some(document.trailing())));
    let written = out.text;
    if let Some(comment) = lost(text, &written) {
        return Err(LayoutError::Comment(comment));
    }
    Ok(written)
}

fn raw(text: Option<&RawString>) -> String {
    text.and_then(RawString::as_str).unwrap_or("").to_owned()
}

fn above_key(table: &dyn TableLike, key: &str) -> String {
    raw(table.key(key).and_then(|key| key.leaf_decor().prefix()))
}

#[derive(Default)]
struct Out {
    text: String,
    /// How many lines above the first thing of the file speak of the file as a whole.
    head: usize,
    /// Which thing that is.
    first: String,
}

/// A comment line, or a blank one.
type Line = Option<String>;

/// The comment and blank lines of a stretch between two things; runs of blank lines become one.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    // What follows the last line end is the indentation of what comes next.
    for line in text.split_inclusive('\n') {
        let line = line.trim();
        if line.starts_with('#') {
            lines.push(Some(line.to_owned()));
        } else if lines.last() != Some(&None) {
            lines.push(None);
        }
    }
    if !text.ends_with('\n')
        && text
            .lines()
            .last()
            .is_some_and(|last| last.trim().is_empty())
    {
        lines.pop_if(|last| last.is_none());
    }
    lines
}

/// The comment on the rest of a line.
fn same_line(text: &str) -> Option<String> {
    let line = text.split('\n').next().unwrap_or("").trim();
    line.starts_with('#').then(|| line.to_owned())
}

impl Out {
    /// `version` and `mode`, and before them what is said of the file as a whole: what a blank line
    /// parts from the first thing of the file.
    fn head(&mut self, document: &DocumentMut) {
        if let Some((key, item)) = document.iter().next() {
            let above = match item {
                Item::Table(table) => raw(table.decor().prefix()),
                Item::ArrayOfTables(tables) => tables
                    .get(0)
                    .map(|table| raw(table.decor().prefix()))
                    .unwrap_or_default(),
                Item::None | Item::Value(_) => above_key(document.as_table(), key),
            };
            let above = lines(&above);
            let blank = above
                .iter()
                .rposition(Option::is_none)
                .map_or(0, |at| at + 1);
            let head = above.get(..blank).unwrap_or_default();
            if head.iter().any(Option::is_some) {
                self.above(trimmed(head));
                self.head = blank;
                key.clone_into(&mut self.first);
            }
        }
        for (number, key) in ["version", "mode"].into_iter().enumerate() {
            if let Some(Item::Value(value)) = document.get(key) {
                let above = self.own_lines(key, lines(&above_key(document.as_table(), key)));
                self.above(if number == 0 { trimmed(&above) } else { &above });
                self.entry(key, value);
            }
        }
    }

    /// The lines above a thing that speak of it.
    fn own_lines(&mut self, key: &str, lines: Vec<Line>) -> Vec<Line> {
        if self.head > 0 && self.first == key {
            let head = std::mem::take(&mut self.head);
            return lines.get(head..).unwrap_or_default().to_vec();
        }
        lines
    }

    fn above(&mut self, lines: &[Line]) {
        for line in lines {
            if let Some(comment) = line {
                self.text.push_str(comment);
            }
            self.text.push('\n');
        }
    }

    fn header(&mut self, document: &DocumentMut, key: &str, item: &Item, header: &str) {
        let (above, behind) = match item {
            Item::Table(table) => (raw(table.decor().prefix()), raw(table.decor().suffix())),
            Item::Value(_) | Item::ArrayOfTables(_) | Item::None => (
                above_key(document.as_table(), key),
                item.as_value()
                    .map(|value| raw(value.decor().suffix()))
                    .unwrap_or_default(),
            ),
        };
        self.headed_by(key, &above, header, &behind);
    }

    fn headed_by(&mut self, key: &str, above: &str, header: &str, behind: &str) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        let above = self.own_lines(key, lines(above));
        self.above(trimmed(&above));
        self.text.push_str(header);
        if let Some(comment) = same_line(behind) {
            self.text.push(' ');
            self.text.push_str(&comment);
        }
        self.text.push('\n');
    }

    fn rules(&mut self, document: &DocumentMut, item: &Item) -> Result<(), LayoutError> {
        match item {
            Item::ArrayOfTables(tables) => {
                for table in tables.iter() {
                    let above = raw(table.decor().prefix());
                    let behind = raw(table.decor().suffix());
                    self.headed_by("rule", &above, "[[rule]]", &behind);
                    self.table(table, &keys::RULE, false);
                }
                Ok(())
            }
            Item::Value(Value::Array(list)) => {
                let mut above = above_key(document.as_table(), "rule");
                for value in list.iter() {
                    let table = value
                        .as_inline_table()
                        .ok_or_else(|| LayoutError::Shape("rule".to_owned()))?;
                    above.push_str(&raw(value.decor().prefix()));
                    self.headed_by("rule", &above, "[[rule]]", "");
                    self.table(table, &keys::RULE, true);
                    above.clear();
                }
                Ok(())
            }
            Item::None | Item::Value(_) | Item::Table(_) => {
                Err(LayoutError::Shape("rule".to_owned()))
            }
        }
    }

    /// The keys of a table in their order, unknown ones last.
    fn table(&mut self, table: &dyn TableLike, order: &[&str], inline: bool) {
        let mut entries: Vec<(usize, &str, &Item)> = table
            .iter()
            .map(|(key, item)| {
                let at = order.iter().position(|known| *known == key);
                (at.unwrap_or(order.len()), key, item)
            })
            .collect();
        entries.sort_by_key(|(at, _, _)| *at);
        for (number, (_, key, item)) in entries.into_iter().enumerate() {
            let Some(value) = item.as_value() else {
                continue;
            };
            let above = lines(&above_key(table, key));
            let above = if number == 0 { trimmed(&above) } else { &above };
            if !inline || above.iter().any(Option::is_some) {
                self.above(above);
            }
            self.entry(key, value);
        }
    }

    fn entry(&mut self, key: &str, value: &Value) {
        let start = format!("{} = ", toml_edit::Key::new(key).display_repr());
        self.text.push_str(&start);
        match value {
            Value::Array(list) => self.list(list, start.len()),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::InlineTable(_) => self.text.push_str(&bare(value)),
        }
        if let Some(comment) = same_line(&raw(value.decor().suffix())) {
            self.text.push(' ');
            self.text.push_str(&comment);
        }
        self.text.push('\n');
    }

    fn list(&mut self, list: &Array, indent: usize) {
        let rows = Rows::of(list);
        let line = format!(
            "[{}]",
            rows.rows
                .iter()
                .map(|row| row.text.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        );
        if !rows.on_lines && indent + line.len() <= WIDTH {
            self.text.push_str(&line);
            return;
        }
        self.text.push_str("[\n");
        let indented = |out: &mut String, lines: &[Line]| {
            for line in lines {
                if let Some(comment) = line {
                    out.push_str("    ");
                    out.push_str(comment);
                }
                out.push('\n');
            }
        };
        for row in &rows.rows {
            indented(&mut self.text, &row.above);
            self.text.push_str("    ");
            self.text.push_str(&row.text);
            self.text.push(',');
            if let Some(comment) = &row.behind {
                self.text.push(' ');
                self.text.push_str(comment);
            }
            self.text.push('\n');
        }
        indented(&mut self.text, &rows.tail);
        self.text.push(']');
    }

    fn end(&mut self, trailing: &str) {
        let lines = lines(trailing);
        let lines = trimmed(&lines);
        if !lines.is_empty() {
            if !self.text.is_empty() && trailing.trim_start_matches('\r').starts_with('\n') {
                self.text.push('\n');
            }
            self.above(lines);
        }
        let length = self.text.trim_end().len();
        self.text.truncate(length);
        self.text.push('\n');
    }
}

/// Without blank lines at the start.
fn trimmed(lines: &[Line]) -> &[Line] {
    let start = lines
        .iter()
        .position(Option::is_some)
        .unwrap_or(lines.len());
    lines.get(start..).unwrap_or_default()
}

fn bare(value: &Value) -> String {
    let mut value = value.clone();
    value.decor_mut().clear();
    value.to_string()
}

/// A list taken apart.
struct Rows {
    rows: Vec<Row>,
    tail: Vec<Line>,
    /// It was written on several lines, which is kept: comments need them, and lists that grow read
    /// better.
    on_lines: bool,
}

struct Row {
    above: Vec<Line>,
    text: String,
    behind: Option<String>,
}

impl Rows {
    fn of(list: &Array) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut on_lines = false;
        let mut carried: Vec<Line> = Vec::new();
        let split = |text: &str| {
            let (line, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
            let rest = rest.strip_prefix('\n').unwrap_or(rest);
            (same_line(line), lines(rest))
        };
        for value in list.iter() {
            let prefix = raw(value.decor().prefix());
            let suffix = raw(value.decor().suffix());
            on_lines |= prefix.contains('\n') || suffix.contains('\n');
            let (before, mut above) = split(&prefix);
            // Behind the last element, when no comma follows it.
            above.splice(0..0, std::mem::take(&mut carried));
            match (before, rows.last_mut()) {
                (Some(comment), Some(row)) if row.behind.is_none() => row.behind = Some(comment),
                (Some(comment), _) => above.insert(0, Some(comment)),
                (None, _) => {}
            }
            if rows.is_empty() {
                above = trimmed(&above).to_vec();
            }
            let behind;
            (behind, carried) = split(&suffix);
            rows.push(Row {
                above,
                text: bare(value),
                behind,
            });
        }
        let trailing = raw(Some(list.trailing()));
        on_lines |= trailing.contains('\n') && !rows.is_empty();
        let (before, mut tail) = split(&trailing);
        tail.splice(0..0, carried);
        match (before, rows.last_mut()) {
            (Some(comment), Some(row)) if row.behind.is_none() => row.behind = Some(comment),
            (Some(comment), _) => tail.insert(0, Some(comment)),
            (None, _) => {}
        }
        while tail.pop_if(|last| last.is_none()).is_some() {}
        if rows.is_empty() {
            tail = trimmed(&tail).to_vec();
        }
        on_lines |= !tail.is_empty();
        Self {
            rows,
            tail,
            on_lines,
        }
    }
}

/// A comment of `before` that `after` does not hold.
fn lost(before: &str, after: &str) -> Option<String> {
    let mut left = all_comments(after);
    all_comments(before).into_iter().find(|comment| {
        match left.iter().position(|other| other == comment) {
            Some(at) => {
                left.swap_remove(at);
                false
            }
            None => true,
        }
    })
}

/// Every comment of a TOML text: what follows a `#` that stands in no string.
fn all_comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['#', '"', '\'']) {
        let (_, from) = rest.split_at(at);
        let length = if from.starts_with('#') {
            let line = from.split('\n').next().unwrap_or(from);
            found.push(line.trim().to_owned());
            line.len()
        } else {
            string_length(from)
        };
        rest = from.get(length.max(1)..).unwrap_or_default();
    }
    found
}

/// Bytes of the string that `text` starts with, quotes included.
fn string_length(text: &str) -> usize {
    let long = ["\"\"\"", "'''"]
        .into_iter()
        .find(|quote| text.starts_with(quote));
    let quote = long.unwrap_or(if text.starts_with('"') { "\"" } else { "'" });
    let escapes = quote.starts_with('"');
    let mut at = quote.len();
    while let Some(left) = text.get(at..).filter(|left| !left.is_empty()) {
        if left.starts_with(quote) {
            return at + quote.len();
        }
        let mut chars = left.chars();
        at += chars.next().map_or(1, char::len_utf8);
        if escapes && left.starts_with('\\') {
            at += chars.next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}
