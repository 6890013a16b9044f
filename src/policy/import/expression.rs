//! Regular expressions of JavaScript, as other hosts write them, turned into ours.
//!
//! Theirs look for a match anywhere in the text of a command. Ours match the whole of an argv, quoted as a
//! shell needs it. For an allow rule the translation is exact or refused; for one that asks or denies it
//! only gets wider: what quoting, expansion or a redirection may take away counts as any text.

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

/// Nesting beyond this is no work of people.
const DEEPEST: usize = 32;

/// Reads an expression.
///
/// # Errors
///
/// What of it is not understood.
pub(super) fn parse(text: &str) -> Result<Branches, &'static str> {
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

/// The expression of an allow rule. `anchored`: the host looks at the start of the text alone.
///
/// # Errors
///
/// What of it cannot be said exactly.
pub(super) fn allow(
    branches: &Branches,
    flags: Flags,
    anchored: bool,
) -> Result<String, &'static str> {
    if flags.sets || flags.sticky || flags.multiline {
        return Err("it has a flag that means something else here");
    }
    let inner = exact(branches, flags)?;
    let start = if anchored { "" } else { r"[\s\S]*" };
    let case = if flags.ignore_case { "(?i)" } else { "" };
    Ok(format!(r"re:{case}{start}(?:{inner})[\s\S]*"))
}

fn exact(branches: &Branches, flags: Flags) -> Result<String, &'static str> {
    let mut texts = Vec::new();
    for branch in branches {
        let mut text = String::new();
        for node in branch {
            text.push_str(&exact_node(node, flags)?);
        }
        texts.push(text);
    }
    Ok(texts.join("|"))
}

fn exact_node(node: &Node, flags: Flags) -> Result<String, &'static str> {
    Ok(match node {
        Node::Char(char) => regex::escape(&char.to_string()),
        Node::Dot if flags.dot_all => r"[\s\S]".to_owned(),
        Node::Dot => r"[^\n\r\u{2028}\u{2029}]".to_owned(),
        Node::Class { negated, items } => class(*negated, items),
        Node::Boundary => r"(?-u:\b)".to_owned(),
        Node::NoBoundary => return Err("it asks that no word ends"),
        Node::Start => r"\A".to_owned(),
        Node::End => r"\z".to_owned(),
        Node::Group(branches) => format!("(?:{})", exact(branches, flags)?),
        Node::Look => return Err("it looks around"),
        Node::Reference => return Err("it refers back"),
        Node::Repeat { node, least, most } => {
            repeat(&format!("(?:{})", exact_node(node, flags)?), *least, *most)
        }
    })
}

fn repeat(inner: &str, least: u32, most: Option<u32>) -> String {
    match most {
        None => format!("{inner}{{{least},}}"),
        Some(most) => format!("{inner}{{{least},{most}}}"),
    }
}

/// A class that matches no more than JavaScript's.
fn class(negated: bool, items: &[Item]) -> String {
    let mut text = String::from(if negated { "[^" } else { "[" });
    let one = |char: char| format!("\\u{{{:x}}}", char as u32);
    for item in items {
        match item {
            Item::Range(first, last) if first == last => text.push_str(&one(*first)),
            Item::Range(first, last) => {
                text.push_str(&format!("{}-{}", one(*first), one(*last)));
            }
            Item::Kind('d') => text.push_str("0-9"),
            Item::Kind('w') => text.push_str("A-Za-z0-9_"),
            Item::Kind('s') if negated => text.push_str(r"\s\u{feff}"),
            Item::Kind('s') => text.push_str(r"\t\n\x0b\x0c\r "),
            Item::Kind('D') => text.push_str("[^0-9]"),
            Item::Kind('W') => text.push_str("[^A-Za-z0-9_]"),
            Item::Kind(_) if negated => text.push_str(r"[^\t\n\x0b\x0c\r ]"),
            Item::Kind(_) => text.push_str(r"[^\s\u{feff}]"),
        }
    }
    if items.is_empty() {
        // `[]` matches nothing, `[^]` anything.
        return if negated { r"[\s\S]" } else { r"[^\s\S]" }.to_owned();
    }
    text.push(']');
    text
}

/// The expression of a rule that asks or denies: it matches at least what the host's does.
pub(super) fn restrict(branches: &Branches, flags: Flags, anchored: bool) -> String {
    let case = if flags.ignore_case { "i" } else { "" };
    let start = if anchored { "" } else { ".*" };
    format!("re:(?s{case}){start}(?:{}).*", wide(branches, flags))
}

fn wide(branches: &Branches, flags: Flags) -> String {
    let texts: Vec<String> = branches
        .iter()
        .map(|branch| branch.iter().map(|node| wide_node(node, flags)).collect())
        .collect();
    texts.join("|")
}

/// Characters that a shell leaves alone wherever they stand.
pub(super) fn is_kept(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_-./:=+,@%".contains(char) || !char.is_ascii()
}

fn wide_node(node: &Node, flags: Flags) -> String {
    const ANY: &str = ".*";
    // Blanks between words become one, and a quote may stand beside it.
    const BLANKS: &str = r"['\s]*";
    match node {
        Node::Char(char) if char.is_whitespace() => BLANKS.to_owned(),
        Node::Char(char) if is_kept(*char) => regex::escape(&char.to_string()),
        Node::Char(_) | Node::Dot | Node::Reference => ANY.to_owned(),
        Node::Class { negated, items } => wide_class(*negated, items),
        Node::Start if !flags.multiline => r"\A".to_owned(),
        Node::Start | Node::End | Node::Boundary | Node::NoBoundary | Node::Look => String::new(),
        Node::Group(branches) => format!("(?:{})", wide(branches, flags)),
        Node::Repeat { node, least, most } => {
            let inner = wide_node(node, flags);
            if inner.is_empty() || inner == ANY || inner == BLANKS {
                inner
            } else {
                repeat(&format!("(?:{inner})"), *least, *most)
            }
        }
    }
}

fn wide_class(negated: bool, items: &[Item]) -> String {
    let kept = |item: &Item| match item {
        Item::Range(first, last) => {
            // A range is kept when all of it is letters or digits.
            (first == last && is_kept(*first))
                || (first.is_ascii_alphanumeric()
                    && last.is_ascii_alphanumeric()
                    && first.is_ascii_digit() == last.is_ascii_digit()
                    && first.is_ascii_lowercase() == last.is_ascii_lowercase())
        }
        Item::Kind(kind) => matches!(kind, 'd' | 'w'),
    };
    if items == [Item::Kind('s')] && !negated {
        return r"['\s]*".to_owned();
    }
    if negated || items.is_empty() || !items.iter().all(kept) {
        return ".*".to_owned();
    }
    class(false, items)
}

#[cfg(test)]
mod tests {
    use super::{Flags, allow, parse, restrict};

    fn matches(rule: &str, text: &str) -> bool {
        let text_of = rule.strip_prefix("re:").unwrap();
        regex::Regex::new(&format!(r"\A(?:{text_of})\z"))
            .unwrap()
            .is_match(text)
    }

    #[test]
    fn an_allowance_is_exact() {
        let rule = |text: &str| allow(&parse(text).unwrap(), Flags::default(), false).unwrap();
        assert!(matches(&rule(r"^git (status|show\b.*)$"), "git show x"));
        assert!(!matches(&rule(r"^git (status|show\b.*)$"), "git statusx"));
        assert!(matches(&rule(r"^npm run [a-z:]+$"), "npm run a:b"));
        assert!(!matches(&rule(r"^npm run [a-z:]+$"), "npm run A"));
        assert!(matches(&rule("make"), "gmake x"));
        for text in ["^(?!rm)", r"(a)\1", r"a\B"] {
            assert!(
                allow(&parse(text).unwrap(), Flags::default(), false).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_restriction_is_wide() {
        let rule = |text: &str| restrict(&parse(text).unwrap(), Flags::default(), false);
        assert!(matches(&rule(r"^rm\b"), "rm x"));
        assert!(!matches(&rule(r"^rm\b"), "git rm"));
        assert!(matches(&rule(r"push\s{2,}\+main"), "git push '+main'"));
        assert!(matches(&rule(r"(?!x)--force"), "git push --force"));
        assert!(matches(&rule(r#""secret""#), "echo secret"));
        assert!(!matches(&rule(r"--force"), "git push"));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["(", ")", "a**", "[", "*", r"\k<a>", "a|(b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
