//! Regular expressions of JavaScript, as other hosts write them, read into their parts.

/// One part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Char(char),
    Dot,
    Class {
        negated: bool,
        items: Vec<Item>,
    },
    Boundary,
    NoBoundary,
    Start,
    End,
    Group(Branches),
    /// `(?=…)`, `(?!…)`, `(?<=…)`, `(?<!…)`
    Look,
    /// `\1`, `\k<name>`
    Reference,
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
    },
}

/// A member of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Range(char, char),
    /// `d`, `w`, `s` and their opposites.
    Kind(char),
}

/// `a|b`
pub(super) type Branches = Vec<Vec<Node>>;

/// Flags that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    pub(super) dot_all: bool,
    pub(super) sticky: bool,
    pub(super) sets: bool,
}

impl Flags {
    pub(super) fn of(text: &str) -> Self {
        Self {
            ignore_case: text.contains('i'),
            multiline: text.contains('m'),
            dot_all: text.contains('s'),
            sticky: text.contains('y'),
            sets: text.contains('v'),
        }
    }
}

/// Longer expressions are no work of people.
const LONGEST: usize = 4096;
/// Nesting beyond this is no work of people.
const DEEPEST: usize = 32;

/// Reads an expression.
///
/// # Errors
///
/// What of it is not understood.
pub(super) fn parse(text: &str) -> Result<Branches, &'static str> {
    if text.len() > LONGEST {
        return Err("it is too long");
    }
    let mut parser = Parser {
        chars: text.chars().collect(),
        at: 0,
    };
    let branches = parser.branches(0)?;
    if parser.peek().is_some() {
        return Err("a parenthesis is not opened");
    }
    Ok(branches)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += 1;
        Some(char)
    }

    fn take(&mut self, text: &str) -> bool {
        let matches = text
            .chars()
            .enumerate()
            .all(|(offset, char)| self.chars.get(self.at + offset) == Some(&char));
        if matches {
            self.at += text.chars().count();
        }
        matches
    }

    fn branches(&mut self, depth: usize) -> Result<Branches, &'static str> {
        if depth > DEEPEST {
            return Err("it is nested too deep");
        }
        let mut branches = vec![Vec::new()];
        loop {
            match self.peek() {
                None | Some(')') => return Ok(branches),
                Some('|') => {
                    self.at += 1;
                    branches.push(Vec::new());
                }
                Some(_) => {
                    let node = self.atom(depth)?;
                    let node = self.repeated(node)?;
                    if let Some(branch) = branches.last_mut() {
                        branch.push(node);
                    }
                }
            }
        }
    }

    fn atom(&mut self, depth: usize) -> Result<Node, &'static str> {
        Ok(match self.next() {
            Some('^') => Node::Start,
            Some('$') => Node::End,
            Some('.') => Node::Dot,
            Some('[') => self.class()?,
            Some('(') => self.group(depth)?,
            Some('\\') => self.escape()?,
            Some('*' | '+' | '?') => return Err("a repetition has nothing to repeat"),
            Some(char) => Node::Char(char),
            None => return Err("it ends too early"),
        })
    }

    fn group(&mut self, depth: usize) -> Result<Node, &'static str> {
        let looks = ["?=", "?!", "?<=", "?<!"]
            .into_iter()
            .any(|mark| self.take(mark));
        if !looks && !self.take("?:") && self.take("?<") {
            while self.next().ok_or("a name is not closed")? != '>' {}
        } else if !looks && self.peek() == Some('?') {
            return Err("a group of this kind is not known");
        }
        let branches = self.branches(depth + 1)?;
        if self.next() != Some(')') {
            return Err("a parenthesis is not closed");
        }
        Ok(if looks {
            Node::Look
        } else {
            Node::Group(branches)
        })
    }

    fn escape(&mut self) -> Result<Node, &'static str> {
        let char = self.next().ok_or("it ends in a backslash")?;
        Ok(match char {
            'b' => Node::Boundary,
            'B' => Node::NoBoundary,
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => Node::Class {
                negated: false,
                items: vec![Item::Kind(char)],
            },
            '1'..='9' => Node::Reference,
            'k' => return Err("a named reference is not known"),
            other => Node::Char(self.escaped(other)?),
        })
    }

    /// The character of an escape that stands for one.
    fn escaped(&mut self, char: char) -> Result<char, &'static str> {
        Ok(match char {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' => '\0',
            'x' => self.hex(2)?,
            'u' if self.take("{") => {
                let mut digits = String::new();
                loop {
                    match self.next().ok_or("an escape is not closed")? {
                        '}' => break,
                        digit => digits.push(digit),
                    }
                }
                number(&digits)?
            }
            'u' => self.hex(4)?,
            'c' | 'p' | 'P' => return Err("an escape of this kind is not known"),
            other => other,
        })
    }

    fn hex(&mut self, count: usize) -> Result<char, &'static str> {
        let digits: String = (0..count).filter_map(|_| self.next()).collect();
        number(&digits)
    }

    fn class(&mut self) -> Result<Node, &'static str> {
        let negated = self.take("^");
        let mut items = Vec::new();
        loop {
            let first = match self.next().ok_or("a class is not closed")? {
                ']' => return Ok(Node::Class { negated, items }),
                '\\' => match self.next().ok_or("it ends in a backslash")? {
                    kind @ ('d' | 'D' | 'w' | 'W' | 's' | 'S') => {
                        items.push(Item::Kind(kind));
                        continue;
                    }
                    'b' => '\u{8}',
                    char => self.escaped(char)?,
                },
                char => char,
            };
            let range = self.peek() == Some('-')
                && self.chars.get(self.at + 1).is_some_and(|next| *next != ']');
            if !range {
                items.push(Item::Range(first, first));
                continue;
            }
            self.at += 1;
            let last = match self.next().ok_or("a class is not closed")? {
                '\\' => match self.next().ok_or("it ends in a backslash")? {
                    'd' | 'D' | 'w' | 'W' | 's' | 'S' => return Err("a range ends in a class"),
                    char => self.escaped(char)?,
                },
                char => char,
            };
            if last < first {
                return Err("a range is out of order");
            }
            items.push(Item::Range(first, last));
        }
    }

    fn repeated(&mut self, node: Node) -> Result<Node, &'static str> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.bounds() {
                Some(bounds) => bounds,
                None => return Ok(node),
            },
            Some(_) | None => return Ok(node),
        };
        self.at += 1;
        // Lazy or not, the same texts match.
        self.take("?");
        if matches!(self.peek(), Some('*' | '+')) {
            return Err("a repetition is repeated");
        }
        Ok(Node::Repeat {
            node: Box::new(node),
            least,
            most,
        })
    }

    /// `{2}`, `{2,}`, `{2,3}`, up to its closing brace; any other brace is a character.
    fn bounds(&mut self) -> Option<(u32, Option<u32>)> {
        let rest: String = self.chars.get(self.at + 1..)?.iter().collect();
        let (inside, _) = rest.split_once('}')?;
        let bounds = match inside.split_once(',') {
            None => {
                let count = inside.parse().ok()?;
                (count, Some(count))
            }
            Some((least, "")) => (least.parse().ok()?, None),
            Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
        };
        self.at += inside.chars().count() + 1;
        Some(bounds)
    }
}

fn number(digits: &str) -> Result<char, &'static str> {
    u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
        .ok_or("an escape names no character")
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["(", ")", "a**", "[", "*", r"\k<a>", "a|(b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
