//! Reads TOML tables strictly: every key is known, every type is right, and every mistake of a file is
//! reported at once.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;
use super::suggest::nearest;
use crate::model::text::Escaped;

/// A value and the bytes it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

/// One file being read, with the mistakes found so far.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            faults: Vec::new(),
        }
    }

    /// Notes a mistake.
    pub(super) fn fault(&mut self, span: Range<usize>, message: impl Into<String>, help: &str) {
        let fault = Fault::new(self.file, self.text, span, message.into());
        self.faults.push(if help.is_empty() {
            fault
        } else {
            fault.help(help)
        });
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// The whole document; `None` after a syntax error, which is noted.
    pub(super) fn document(&mut self) -> Option<DeTable<'a>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let end = self.text.len();
            let message = format!("this is no TOML: {}", error.message().replace('\n', ", "));
            self.fault(error.span().unwrap_or(end..end), message, "");
        }
        // What was recovered after a syntax error may not be what was meant.
        errors.is_empty().then(|| table.into_inner())
    }

    /// Notes every key of `table` that is in neither list.
    pub(super) fn keys(
        &mut self,
        table: &DeTable<'_>,
        known: &[&str],
        later: &[&str],
        place: &str,
    ) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let shown = Escaped::from(name);
            if later.contains(&name) {
                let message = format!("`{shown}` {place} is not supported yet");
                self.fault(
                    key.span(),
                    message,
                    "leave it out: a setting that is not enforced is never accepted",
                );
                continue;
            }
            let help = match nearest(name, known.iter().chain(later).copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            let message = format!("unknown key `{shown}` {place}");
            self.fault(key.span(), message, &help);
        }
    }

    fn wrong(&mut self, key: &str, wanted: &str, value: &Spanned<DeValue<'_>>) {
        let message = format!(
            "`{key}` has to be {wanted}, this is {}",
            kind(value.get_ref())
        );
        self.fault(value.span(), message, "");
    }

    /// A string.
    pub(super) fn string(&mut self, table: &DeTable<'_>, key: &str) -> Option<At<String>> {
        let value = table.get(key)?;
        match value.get_ref().as_str() {
            Some(text) => Some(At {
                value: text.to_owned(),
                span: value.span(),
            }),
            None => {
                self.wrong(key, "a string", value);
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, table: &DeTable<'_>, key: &str) -> Option<At<bool>> {
        let value = table.get(key)?;
        match value.get_ref().as_bool() {
            Some(boolean) => Some(At {
                value: boolean,
                span: value.span(),
            }),
            None => {
                self.wrong(key, "true or false", value);
                None
            }
        }
    }

    /// A whole number that is not negative.
    pub(super) fn number(&mut self, table: &DeTable<'_>, key: &str) -> Option<At<u64>> {
        let value = table.get(key)?;
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
        if number.is_none() {
            self.wrong(key, "a whole number that is not negative", value);
        }
        number.map(|number| At {
            value: number,
            span: value.span(),
        })
    }

    /// A list of strings; empty when the key is absent.
    pub(super) fn strings(&mut self, table: &DeTable<'_>, key: &str) -> Vec<At<String>> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, "a list of strings", value);
            return Vec::new();
        };
        let mut strings = Vec::new();
        for item in items.iter() {
            match item.get_ref().as_str() {
                Some(text) => strings.push(At {
                    value: text.to_owned(),
                    span: item.span(),
                }),
                None => self.wrong(key, "a list of strings", item),
            }
        }
        strings
    }

    /// A table.
    pub(super) fn table<'t, 'd>(
        &mut self,
        table: &'t DeTable<'d>,
        key: &str,
    ) -> Option<&'t DeTable<'d>> {
        let value = table.get(key)?;
        let inner = value.get_ref().as_table();
        if inner.is_none() {
            self.wrong(key, "a table", value);
        }
        inner
    }

    /// A list of tables with the place of each.
    pub(super) fn tables<'t, 'd>(
        &mut self,
        table: &'t DeTable<'d>,
        key: &str,
    ) -> Vec<At<&'t DeTable<'d>>> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, "a list of tables, written `[[rule]]`", value);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items.iter() {
            match item.get_ref().as_table() {
                Some(inner) => tables.push(At {
                    value: inner,
                    span: item.span(),
                }),
                None => self.wrong(key, "a list of tables, written `[[rule]]`", item),
            }
        }
        tables
    }

    /// A string read by `FromStr`, whose error says what it has to be.
    pub(super) fn parsed<T>(&mut self, table: &DeTable<'_>, key: &str) -> Option<At<T>>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        let text = self.string(table, key)?;
        match text.value.parse() {
            Ok(value) => Some(At {
                value,
                span: text.span,
            }),
            Err(error) => {
                self.fault(text.span, error.to_string(), "");
                None
            }
        }
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The place of a key, or of the table when it is absent.
pub(super) fn key_span(table: &DeTable<'_>, key: &str, otherwise: &Range<usize>) -> Range<usize> {
    table
        .get_key_value(key)
        .map_or_else(|| otherwise.clone(), |(key, _)| key.span())
}
