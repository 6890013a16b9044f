//! The part of Starlark that Codex rules are written in: calls with literal arguments. Whatever else stands
//! in a file is told apart and left alone.

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    List(Vec<Literal>),
    None,
    /// `True`, `False`, a number.
    Other,
}

/// One statement at the top of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Where it starts, from 1.
    pub(super) line: usize,
    /// Its text, on one line.
    pub(super) text: String,
    pub(super) what: What,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// `name(a, key = b)`
    Call {
        name: String,
        positional: Vec<Literal>,
        named: Vec<(String, Literal)>,
    },
    /// A text or `pass`: it does nothing.
    Nothing,
    /// Anything else.
    Unknown,
}

/// The statements of a file.
pub(super) fn statements(text: &str) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        depth: 0,
    };
    loop {
        let (start, line, tokens) = lexer.statement();
        if tokens.is_empty() {
            return statements;
        }
        let text = text.get(start..lexer.at).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        statements.push(Statement {
            line,
            text,
            what: parse(&tokens),
        });
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Number,
    Mark(char),
    /// Something no literal holds.
    Strange,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    depth: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        self.line += usize::from(char == '\n');
        Some(char)
    }

    fn starts(&self, text: &str) -> bool {
        self.text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text))
    }

    /// The tokens up to the end of a statement: a line end outside of brackets, after which nothing is
    /// indented. Where it starts, in bytes and lines.
    fn statement(&mut self) -> (usize, usize, Vec<Token>) {
        let mut tokens = Vec::new();
        let (mut start, mut line) = (self.at, self.line);
        self.depth = 0;
        while let Some(char) = self.peek() {
            if tokens.is_empty() {
                (start, line) = (self.at, self.line);
            }
            match char {
                '#' => {
                    while self.peek().is_some_and(|char| char != '\n') {
                        self.next();
                    }
                }
                '\n' | ';' if self.depth == 0 => {
                    self.next();
                    let indented = self.peek().is_some_and(|next| next == ' ' || next == '\t');
                    if !tokens.is_empty() && (char == ';' || !indented) {
                        return (start, line, tokens);
                    }
                    if !tokens.is_empty() && self.rest_of_line() {
                        // A block belongs to what stands before it.
                        tokens.push(Token::Strange);
                    }
                }
                char if char.is_whitespace() => {
                    self.next();
                }
                '\\' if self.starts("\\\n") || self.starts("\\\r\n") => {
                    self.next();
                    while self.next().is_some_and(|char| char != '\n') {}
                }
                _ => tokens.push(self.token(char)),
            }
        }
        (start, line, tokens)
    }

    /// Whether anything but a comment stands on the rest of the line.
    fn rest_of_line(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let rest = rest.split('\n').next().unwrap_or_default().trim();
        !rest.is_empty() && !rest.starts_with('#')
    }

    fn token(&mut self, char: char) -> Token {
        match char {
            '"' | '\'' => self.string(false),
            'r' if self.starts("r\"") || self.starts("r'") => {
                self.next();
                self.string(true)
            }
            '0'..='9' => {
                while self.peek().is_some_and(|char| char.is_ascii_alphanumeric()) {
                    self.next();
                }
                Token::Number
            }
            char if char.is_alphabetic() || char == '_' => {
                let start = self.at;
                while self
                    .peek()
                    .is_some_and(|char| char.is_alphanumeric() || char == '_')
                {
                    self.next();
                }
                let name = self.text.get(start..self.at).unwrap_or_default().to_owned();
                // `f"…"`, `b"…"`
                if matches!(self.peek(), Some('"' | '\'')) {
                    self.string(false);
                    return Token::Strange;
                }
                Token::Name(name)
            }
            '(' | '[' | '{' => {
                self.next();
                self.depth += 1;
                Token::Mark(char)
            }
            ')' | ']' | '}' => {
                self.next();
                self.depth = self.depth.saturating_sub(1);
                Token::Mark(char)
            }
            ',' | '=' | '-' => {
                self.next();
                if self.starts("=") {
                    self.next();
                    return Token::Strange;
                }
                Token::Mark(char)
            }
            _ => {
                self.next();
                Token::Strange
            }
        }
    }

    /// A text in quotes, one or three of them.
    fn string(&mut self, raw: bool) -> Token {
        let Some(quote) = self.next() else {
            return Token::Strange;
        };
        let two: String = std::iter::repeat_n(quote, 2).collect();
        let long = self.starts(&two);
        if long {
            self.at += two.len();
        }
        let close: String = std::iter::repeat_n(quote, if long { 3 } else { 1 }).collect();
        let mut text = String::new();
        loop {
            if self.starts(&close) {
                self.at += close.len();
                return Token::Text(text);
            }
            match self.next() {
                None => return Token::Strange,
                Some('\n') if !long => return Token::Strange,
                Some('\\') if raw => {
                    text.push('\\');
                    text.extend(self.next());
                }
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('\n') => {}
                    Some(char @ ('\\' | '\'' | '"')) => text.push(char),
                    Some('x') => match self.hex(2) {
                        Some(char) => text.push(char),
                        None => return Token::Strange,
                    },
                    Some('u') => match self.hex(4) {
                        Some(char) => text.push(char),
                        None => return Token::Strange,
                    },
                    Some(_) | None => return Token::Strange,
                },
                Some(char) => text.push(char),
            }
        }
    }

    fn hex(&mut self, count: usize) -> Option<char> {
        let digits: String = (0..count).filter_map(|_| self.next()).collect();
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    }
}

fn parse(tokens: &[Token]) -> What {
    match tokens {
        [Token::Text(_)] => What::Nothing,
        [Token::Name(name)] if name == "pass" => What::Nothing,
        [
            Token::Name(name),
            Token::Mark('('),
            inner @ ..,
            Token::Mark(')'),
        ] => match arguments(inner) {
            Some((positional, named)) => What::Call {
                name: name.clone(),
                positional,
                named,
            },
            None => What::Unknown,
        },
        _ => What::Unknown,
    }
}

type Arguments = (Vec<Literal>, Vec<(String, Literal)>);

fn arguments(mut tokens: &[Token]) -> Option<Arguments> {
    let mut positional = Vec::new();
    let mut named: Vec<(String, Literal)> = Vec::new();
    while !tokens.is_empty() {
        let name = match tokens {
            [Token::Name(name), Token::Mark('='), rest @ ..] => {
                tokens = rest;
                Some(name.clone())
            }
            _ => None,
        };
        let (value, rest) = literal(tokens, 0)?;
        match name {
            Some(name) if named.iter().any(|(other, _)| *other == name) => return None,
            Some(name) => named.push((name, value)),
            None if named.is_empty() => positional.push(value),
            None => return None,
        }
        tokens = match rest {
            [] => rest,
            [Token::Mark(','), rest @ ..] => rest,
            _ => return None,
        };
    }
    Some((positional, named))
}

fn literal(tokens: &[Token], depth: usize) -> Option<(Literal, &[Token])> {
    if depth > 16 {
        return None;
    }
    match tokens {
        // Texts side by side are one in Python, and an error here.
        [Token::Text(_), Token::Text(_), ..] => None,
        [Token::Text(text), rest @ ..] => Some((Literal::Text(text.clone()), rest)),
        [Token::Number, rest @ ..] => Some((Literal::Other, rest)),
        [Token::Mark('-'), Token::Number, rest @ ..] => Some((Literal::Other, rest)),
        [Token::Name(name), rest @ ..] => match name.as_str() {
            "None" => Some((Literal::None, rest)),
            "True" | "False" => Some((Literal::Other, rest)),
            _ => None,
        },
        [Token::Mark('['), rest @ ..] => list(rest, depth),
        _ => None,
    }
}

fn list(mut tokens: &[Token], depth: usize) -> Option<(Literal, &[Token])> {
    let mut items = Vec::new();
    loop {
        if let [Token::Mark(']'), rest @ ..] = tokens {
            return Some((Literal::List(items), rest));
        }
        let (item, rest) = literal(tokens, depth + 1)?;
        items.push(item);
        tokens = match rest {
            [Token::Mark(','), rest @ ..] => rest,
            [Token::Mark(']'), ..] => rest,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Literal, What, statements};

    #[test]
    fn calls_with_literals_are_read() {
        let text = "# top\nprefix_rule(\n    pattern = [\"git\", ['push', \"fetch\"]],  # x\n    decision = \"prompt\",\n)\n\n\"\"\"words\"\"\"\nf(r'\\d', 1, None)\n";
        let read = statements(text);
        assert_eq!(read.len(), 3);
        assert_eq!((read[0].line, read[1].line, read[2].line), (2, 7, 8));
        let What::Call { name, named, .. } = &read[0].what else {
            unreachable!("{:?}", read[0]);
        };
        assert_eq!(name, "prefix_rule");
        assert_eq!(
            named[1],
            ("decision".into(), Literal::Text("prompt".into()))
        );
        assert_eq!(read[1].what, What::Nothing);
    }

    #[test]
    fn anything_else_is_told_apart() {
        for text in [
            "x = [1]",
            "for p in [\"a\"]:\n    prefix_rule(pattern=[p])\n",
            "prefix_rule(pattern=[\"a\"] + X)",
            "prefix_rule(pattern=X)",
            "prefix_rule(pattern=[f\"a\"])",
            "prefix_rule(pattern=[\"a\"",
            "prefix_rule(pattern=[\"a\"], pattern=[\"b\"])",
            "[prefix_rule(pattern=[p]) for p in [\"a\"]]",
            "prefix_rule(**x)",
            "a.b(\"x\")",
        ] {
            let read = statements(text);
            assert_eq!(read.len(), 1, "{text}: {read:?}");
            assert_eq!(read[0].what, What::Unknown, "{text}");
        }
    }
}
