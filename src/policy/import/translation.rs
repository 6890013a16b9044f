//! Expressions of JavaScript said as ours.
//!
//! Theirs look for a match anywhere in the text of a command. Ours match the whole of an argv, quoted as a
//! shell needs it. For an allow rule the translation is exact or refused; for one that asks or denies it
//! only gets wider: what quoting, expansion or a redirection may take away counts as any text.

use super::expression::{Branches, Flags, Item, Node};

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
    use super::{allow, restrict};
    use crate::policy::import::expression::{Flags, parse};

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
}
