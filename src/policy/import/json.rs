//! JSON with comments and trailing commas, as editors write settings, with the line of every value.

use crate::policy::error::{Fault, PolicyError};

/// Nesting beyond this is no work of people.
const DEEPEST: usize = 64;

/// A value and the line it starts on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Json {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// What it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As written: nobody here counts.
    Number,
    Text(String),
    List(Vec<Json>),
    /// In the order written; a later entry of the same name wins.
    Table(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => {
                let mut entries = entries.iter().rev();
                entries
                    .find(|(name, _)| name == key)
                    .map(|(_, value)| value)
            }
            Value::Null | Value::Bool(_) | Value::Number | Value::Text(_) | Value::List(_) => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number | Value::List(_) | Value::Table(_) => None,
        }
    }

    pub(super) fn bool(&self) -> Option<bool> {
        match &self.value {
            Value::Bool(bool) => Some(*bool),
            Value::Null | Value::Number | Value::Text(_) | Value::List(_) | Value::Table(_) => None,
        }
    }

    pub(super) fn list(&self) -> &[Self] {
        match &self.value {
            Value::List(list) => list,
            Value::Null | Value::Bool(_) | Value::Number | Value::Text(_) | Value::Table(_) => &[],
        }
    }

    pub(super) fn table(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Table(table) => table,
            Value::Null | Value::Bool(_) | Value::Number | Value::Text(_) | Value::List(_) => &[],
        }
    }
}

/// Reads a text.
pub(super) fn read(name: &str, text: &str) -> Result<Json, PolicyError> {
    let mut reader = Reader {
        text,
        at: 0,
        line: 1,
    };
    let value = reader
        .value(0)
        .and_then(|value| reader.end().map(|()| value));
    value.map_err(|message| {
        let end = (reader.at + 1).min(text.len());
        let fault = Fault::new(
            name,
            text,
            reader.at..end,
            format!("this is no JSON: {message}"),
        );
        PolicyError::new(vec![fault])
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        self.line += usize::from(char == '\n');
        Some(char)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text));
        if found {
            self.at += text.len();
        }
        found
    }

    /// Blanks and comments.
    fn blanks(&mut self) -> Result<(), &'static str> {
        loop {
            if self.take("//") {
                while self.peek().is_some_and(|char| char != '\n') {
                    self.next();
                }
            } else if self.take("/*") {
                while !self.take("*/") {
                    self.next().ok_or("a comment is not closed")?;
                }
            } else if self
                .peek()
                .is_some_and(|char| char.is_ascii_whitespace() || char == '\u{feff}')
            {
                self.next();
            } else {
                return Ok(());
            }
        }
    }

    fn end(&mut self) -> Result<(), &'static str> {
        self.blanks()?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err("something follows the value"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, &'static str> {
        if depth > DEEPEST {
            return Err("it is nested too deep");
        }
        self.blanks()?;
        let line = self.line;
        let value = match self.peek() {
            Some('"') => Value::Text(self.string()?),
            Some('[') => {
                self.next();
                let mut list = Vec::new();
                while !self.closes(']', !list.is_empty())? {
                    list.push(self.value(depth + 1)?);
                }
                Value::List(list)
            }
            Some('{') => {
                self.next();
                let mut table = Vec::new();
                while !self.closes('}', !table.is_empty())? {
                    let key = self.string()?;
                    self.blanks()?;
                    if !self.take(":") {
                        return Err("a colon is missing");
                    }
                    table.push((key, self.value(depth + 1)?));
                }
                Value::Table(table)
            }
            Some('-' | '0'..='9') => {
                while self
                    .peek()
                    .is_some_and(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
                {
                    self.next();
                }
                Value::Number
            }
            Some(_) if self.take("true") => Value::Bool(true),
            Some(_) if self.take("false") => Value::Bool(false),
            Some(_) if self.take("null") => Value::Null,
            Some(_) => return Err("a value is expected"),
            None => return Err("it ends too early"),
        };
        Ok(Json { line, value })
    }

    /// Whether the list ends here; else stands before its next element. The last comma may be there.
    fn closes(&mut self, close: char, some: bool) -> Result<bool, &'static str> {
        self.blanks()?;
        if some && self.peek() != Some(close) {
            if !self.take(",") {
                return Err("a comma is missing");
            }
            self.blanks()?;
        }
        let ends = self.peek() == Some(close);
        if ends {
            self.next();
        }
        Ok(ends)
    }

    fn string(&mut self) -> Result<String, &'static str> {
        if self.next() != Some('"') {
            return Err("a text in quotes is expected");
        }
        let mut text = String::new();
        loop {
            match self.next().ok_or("a text is not closed")? {
                '"' => return Ok(text),
                '\n' => return Err("a text runs over the end of its line"),
                '\\' => text.push(self.escape()?),
                char => text.push(char),
            }
        }
    }

    fn escape(&mut self) -> Result<char, &'static str> {
        Ok(match self.next().ok_or("a text is not closed")? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let high = self.unit()?;
                let low = if (0xd800..0xdc00).contains(&high) && self.take("\\u") {
                    Some(self.unit()?)
                } else {
                    None
                };
                let units = [Some(high), low];
                let mut decoded = char::decode_utf16(units.into_iter().flatten());
                match decoded.next() {
                    Some(Ok(char)) => char,
                    Some(Err(_)) | None => return Err("an escape names no character"),
                }
            }
            char @ ('"' | '\\' | '/') => char,
            _ => return Err("an escape is not known"),
        })
    }

    fn unit(&mut self) -> Result<u16, &'static str> {
        let digits: String = (0..4).filter_map(|_| self.next()).collect();
        u16::from_str_radix(&digits, 16).map_err(|_| "an escape names no character")
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, read};

    #[test]
    fn settings_of_editors_are_read() {
        let text =
            "// top\n{\n  \"a\": [1, true, null,], /* x */\n  \"b\": {\"c\": \"\\u00e9\\n\"},\n}";
        let json = read("s.json", text).unwrap();
        assert_eq!(json.get("b").unwrap().line, 4);
        assert_eq!(json.get("b").unwrap().get("c").unwrap().text(), Some("é\n"));
        assert_eq!(json.get("a").unwrap().list().len(), 3);
        assert_eq!(json.get("a").unwrap().list()[2].value, Value::Null);
    }

    #[test]
    fn what_is_no_json_has_its_place() {
        for (text, place) in [
            ("{\n \"a\" 1}", "2:6"),
            ("[1 2]", "1:4"),
            ("{\"a\": \"x", "1:9"),
            ("[] x", "1:4"),
            ("/* x", "1:5"),
        ] {
            let error = read("s.json", text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("s.json:{place}:")),
                "{text}: {error}"
            );
        }
    }
}
