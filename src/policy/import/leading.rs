//! The words an expression starts with: `^git (status|log)\b` is better said in words than as one.

use super::expression::{Branches, Item, Node};
use super::translation::is_kept;
use super::wording::{Sym, Wording, exact, quote, restrict, split};

/// More alternatives than this are left to an expression.
const MOST: usize = 24;

/// What follows the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nothing: the whole command is spelled.
    Nothing,
    /// The end of a word of letters, then anything.
    Boundary,
    /// Anything.
    Open,
}

/// What every match starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leading {
    texts: Vec<String>,
    end: End,
    /// Whether the expression asks for nothing beyond.
    complete: bool,
}

/// The leading words of an expression that starts at the start of the text.
pub(super) fn leading(branches: &Branches, anchored: bool) -> Option<Leading> {
    let [branch] = branches.as_slice() else {
        return None;
    };
    let mut nodes = branch.as_slice();
    match nodes.first() {
        Some(Node::Start) => nodes = nodes.get(1..).unwrap_or_default(),
        Some(_) if anchored => {}
        Some(_) | None => return None,
    }
    let mut texts = vec![String::new()];
    let mut end = End::Open;
    let mut complete = true;
    for (at, node) in nodes.iter().enumerate() {
        match node {
            Node::Char(char) if is_kept(*char) || *char == ' ' => {
                texts.iter_mut().for_each(|text| text.push(*char));
            }
            node if is_blank(node) => texts.iter_mut().for_each(|text| text.push(' ')),
            Node::Group(branches) => match alternatives(branches) {
                Some(all) if all.len() * texts.len() <= MOST => {
                    texts = texts
                        .iter()
                        .flat_map(|text| all.iter().map(move |more| format!("{text}{more}")))
                        .collect();
                }
                Some(_) | None => {
                    complete = false;
                    break;
                }
            },
            Node::Boundary => {
                // Before a blank it says nothing more.
                if nodes.get(at + 1).is_some_and(is_blank) {
                    continue;
                }
                end = End::Boundary;
                complete = at + 1 == nodes.len();
                break;
            }
            Node::End => {
                end = End::Nothing;
                complete = at + 1 == nodes.len();
                break;
            }
            Node::Char(_)
            | Node::Dot
            | Node::Class { .. }
            | Node::NoBoundary
            | Node::Start
            | Node::Look
            | Node::Reference
            | Node::Repeat { .. } => {
                // `.*` at the end asks for nothing.
                complete = at + 1 == nodes.len() && is_anything(node);
                break;
            }
        }
    }
    let named = texts.iter().all(|text| !text.trim().is_empty());
    named.then_some(Leading {
        texts,
        end,
        complete,
    })
}

fn is_blank(node: &Node) -> bool {
    match node {
        Node::Char(' ') => true,
        Node::Class { negated, items } => !negated && items.as_slice() == [Item::Kind('s')],
        Node::Repeat { node, least, .. } => *least > 0 && is_blank(node),
        Node::Char(_)
        | Node::Dot
        | Node::Boundary
        | Node::NoBoundary
        | Node::Start
        | Node::End
        | Node::Group(_)
        | Node::Look
        | Node::Reference => false,
    }
}

fn is_anything(node: &Node) -> bool {
    matches!(node, Node::Repeat { node, least: 0, most: None } if **node == Node::Dot)
}

/// The texts of a group that holds nothing but texts.
fn alternatives(branches: &Branches) -> Option<Vec<String>> {
    branches
        .iter()
        .map(|branch| {
            branch
                .iter()
                .map(|node| match node {
                    Node::Char(char) if is_kept(*char) || *char == ' ' => Some(*char),
                    node if is_blank(node) => Some(' '),
                    Node::Char(_)
                    | Node::Dot
                    | Node::Class { .. }
                    | Node::Boundary
                    | Node::NoBoundary
                    | Node::Start
                    | Node::End
                    | Node::Group(_)
                    | Node::Look
                    | Node::Reference
                    | Node::Repeat { .. } => None,
                })
                .collect()
        })
        .collect()
}

impl Leading {
    /// The patterns of an allow rule, when words say all of it; never wider.
    pub(super) fn allow(&self) -> Option<Vec<String>> {
        if !self.complete {
            return None;
        }
        self.texts
            .iter()
            .map(|text| {
                let words = exact(&split(text, false)).ok()?.join(" ");
                Some(match self.end {
                    End::Nothing if !text.ends_with(' ') => format!("= {words}"),
                    End::Nothing => return None,
                    // A blank at the end asks for one more word.
                    End::Boundary | End::Open if text.ends_with(' ') => {
                        format!("{words} {{?**,/**}}")
                    }
                    End::Boundary | End::Open => words,
                })
            })
            .collect()
    }

    /// The patterns of a rule that asks or denies; never narrower.
    pub(super) fn restrict(&self) -> Vec<String> {
        self.texts
            .iter()
            .map(|text| restricting(text, self.end))
            .collect()
    }

    /// Whether they say more than the expression does.
    pub(super) fn is_wider(&self) -> bool {
        !self.complete
    }
}

/// The same for several programs at once.
pub(super) fn bounded_programs(names: &[&str]) -> Vec<String> {
    ["", "-**", ".**", "+**"]
        .map(|after| {
            let all: Vec<String> = names.iter().map(|name| format!("{name}{after}")).collect();
            format!("{{{}}}", all.join(","))
        })
        .to_vec()
}

/// A text that words have to start with. At the end of a word of letters a longer one may stand whose next
/// character is no letter: `rm` and `rm-all`, not `rmdir`.
pub(super) fn bounded(text: &str) -> String {
    restricting(text, End::Boundary)
}

fn restricting(text: &str, end: End) -> String {
    let mut wording = split(text, false);
    let ended = text.ends_with(' ') || wording.cut.is_some();
    let letters = text
        .chars()
        .last()
        .is_some_and(|last| last.is_ascii_alphanumeric() || last == '_');
    match end {
        End::Nothing if !ended => restrict(&wording, true).pattern,
        End::Nothing | End::Boundary | End::Open if ended => restrict(&wording, false).pattern,
        End::Boundary if letters => ending(&wording),
        End::Nothing | End::Boundary | End::Open => {
            if let Some(last) = wording.words.last_mut() {
                last.push(Sym::Any);
            }
            restrict(&wording, false).pattern
        }
    }
}

/// The words, with the last one as it is or followed by something that is no letter.
fn ending(wording: &Wording) -> String {
    // Of a program's name; an argument may go on with more.
    const AFTER: &str = "-.+";
    let pattern = restrict(wording, false).pattern;
    let (before, last) = match pattern.rsplit_once(' ') {
        Some((before, last)) => (Some(before), last),
        None => (None, pattern.as_str()),
    };
    if last.contains([',', '\'', '*', '/']) || last != quote(last) {
        return pattern;
    }
    let mut all = vec![last.to_owned()];
    all.extend(AFTER.chars().map(|next| format!("{last}{next}**")));
    if before.is_some() {
        all.extend(["/", "=", ":", "@", "%"].map(|next| format!("{last}{next}**")));
    }
    let all = format!("{{{}}}", all.join(","));
    match before {
        Some(before) => format!("{before} {all}"),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::leading;
    use crate::policy::import::expression::parse;

    #[test]
    fn words_are_found() {
        let allow = |text: &str| {
            leading(&parse(text).unwrap(), false)
                .and_then(|leading| leading.allow())
                .map(|patterns| patterns.join("; "))
        };
        for (text, wanted) in [
            (r"^git status\b", Some("git status")),
            (r"^git (status|log)$", Some("= git status; = git log")),
            (r"^npm\s+test", Some("npm test")),
            (r"^git (status|show\b.*)$", None),
            (r"^ls -[a-z]+", None),
            ("make", None),
            (r"^cargo .*", Some("cargo {?**,/**}")),
        ] {
            assert_eq!(allow(text).as_deref(), wanted, "{text}");
        }
        let deny = |text: &str| {
            leading(&parse(text).unwrap(), false)
                .unwrap()
                .restrict()
                .join("; ")
        };
        assert_eq!(deny(r"^git push .*--force"), "git push");
        assert_eq!(deny(r"^rm"), "rm**");
        assert!(deny(r"^rm\b").starts_with("{rm,rm-**,"));
    }
}
