//! Brace expansion, as bash does it: on the text of a word, before anything else.
//!
//! Bash does not match braces in pairs. From an opening brace it takes the first `}` at level zero
//! that has a `,` or `..` before it, so `{a}b,c}` is `a}b c`. Whatever depends on the exact source
//! text (quoted commas, `$` that meets other letters, odd sequences) is left undecided.

use super::cursor::continues_name;
use super::word::Part;
use super::{limit, sequence};

/// What becomes of a word.
pub(super) enum Expansion {
    /// It holds no brace expression.
    Unchanged,
    /// These words, in order.
    Words(Vec<Vec<Part>>),
    /// Too many words, or a case this module does not decide.
    Undecided,
}

/// A byte of a word, or something that stays whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atom {
    Byte(u8),
    Quoted(u8),
    /// A quote begins; it keeps an empty word alive.
    Mark,
    /// The part with this number.
    Dynamic(usize),
}

/// Whether any brace expression can be in a word.
pub(super) fn may_expand(parts: &[Part]) -> bool {
    parts
        .iter()
        .any(|part| matches!(part, Part::Text { bytes, quoted: false } if bytes.contains(&b'{')))
}

/// Expands a word; `budget` is what all words of the line may still yield.
pub(super) fn expand(parts: &[Part], budget: &mut usize) -> Expansion {
    let atoms = atoms(parts);
    let steps = atoms.len().saturating_mul(64).saturating_add(10_000);
    let mut expander = Expander {
        steps,
        budget,
        found: false,
    };
    let words = expander.expand(&atoms, 0);
    let found = expander.found;
    // An unquoted `$` can meet a name only now: `{$,x}HOME`. The flag tells of source text that
    // bash would read otherwise than atom by atom.
    let risky = parts.iter().any(|part| match part {
        Part::Text { bytes, quoted } => !quoted && bytes.contains(&b'$'),
        Part::Dynamic { braces, .. } => *braces,
    });
    if words.is_some() && !found && !risky {
        return Expansion::Unchanged;
    }
    match words {
        Some(words) if !risky => {
            let anonymous = Renamed::new(&atoms);
            let kept = words.iter().filter(|word| !word.is_empty());
            Expansion::Words(kept.map(|word| anonymous.parts(word, parts)).collect())
        }
        Some(_) | None => Expansion::Undecided,
    }
}

fn atoms(parts: &[Part]) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Text {
                bytes,
                quoted: false,
            } => {
                atoms.extend(bytes.iter().map(|&byte| Atom::Byte(byte)));
            }
            Part::Text {
                bytes,
                quoted: true,
            } => {
                atoms.push(Atom::Mark);
                atoms.extend(bytes.iter().map(|&byte| Atom::Quoted(byte)));
            }
            Part::Dynamic { .. } => atoms.push(Atom::Dynamic(index)),
        }
    }
    atoms
}

/// The expansions whose name may have grown: `$x{a,b}` is `$xa $xb`.
struct Renamed(Vec<usize>);

impl Renamed {
    fn new(atoms: &[Atom]) -> Self {
        let pairs = atoms.iter().zip(atoms.iter().skip(1));
        let joined = pairs.filter_map(|(&atom, &next)| match (atom, next) {
            (Atom::Dynamic(index), Atom::Byte(b'{' | b'}' | b',' | b'.')) => Some(index),
            _ => None,
        });
        Self(joined.collect())
    }

    fn parts(&self, word: &[Atom], parts: &[Part]) -> Vec<Part> {
        let mut result: Vec<Part> = Vec::new();
        let mut grown = false;
        for &atom in word {
            match (atom, result.last_mut()) {
                (
                    Atom::Byte(byte),
                    Some(Part::Text {
                        bytes,
                        quoted: false,
                    }),
                )
                | (
                    Atom::Quoted(byte),
                    Some(Part::Text {
                        bytes,
                        quoted: true,
                    }),
                ) => {
                    bytes.push(byte);
                }
                // It has become part of the name: `{$x,a}b` is `$xb ab`.
                (Atom::Byte(byte), Some(Part::Dynamic { .. })) if grown && continues_name(byte) => {
                }
                (Atom::Byte(byte), _) => {
                    result.push(Part::Text {
                        bytes: vec![byte],
                        quoted: false,
                    });
                }
                (Atom::Quoted(byte), _) => result.push(Part::quoted(vec![byte])),
                (Atom::Mark, _) => result.push(Part::quoted(Vec::new())),
                (Atom::Dynamic(index), _) => {
                    let mut part = parts.get(index).cloned();
                    grown = self.0.contains(&index);
                    if let Some(Part::Dynamic { name, .. }) = &mut part
                        && grown
                    {
                        *name = None;
                    }
                    result.extend(part);
                }
            }
        }
        result
    }
}

struct Expander<'b> {
    /// Atoms that may still be looked at; nested and unmatched braces are looked at repeatedly.
    steps: usize,
    budget: &'b mut usize,
    found: bool,
}

impl Expander<'_> {
    /// The words of a stretch of text, or none if they cannot be told.
    fn expand(&mut self, text: &[Atom], depth: usize) -> Option<Vec<Vec<Atom>>> {
        if depth > 20 {
            return None;
        }
        let mut words = vec![Vec::new()];
        let mut rest = text;
        while let Some((open, close)) = self.find(rest)? {
            let before = rest.get(..open)?;
            let inside = rest.get(open + 1..close)?;
            let alternatives = match self.alternatives(inside, depth)? {
                Some(alternatives) => {
                    self.found = true;
                    alternatives
                }
                None => vec![rest.get(open..=close)?.to_vec()],
            };
            self.append(&mut words, &[before.to_vec()])?;
            self.append(&mut words, &alternatives)?;
            rest = rest.get(close + 1..)?;
        }
        self.append(&mut words, &[rest.to_vec()])?;
        Some(words)
    }

    /// The first brace expression: its opening and closing brace.
    fn find(&mut self, text: &[Atom]) -> Option<Option<(usize, usize)>> {
        for (open, &atom) in text.iter().enumerate() {
            self.spend(1)?;
            let empty = open == 0 && text.get(1) == Some(&Atom::Byte(b'}'));
            if atom != Atom::Byte(b'{') || empty {
                continue;
            }
            if let Some(length) = self.close(text.get(open + 1..)?)? {
                return Some(Some((open, open + 1 + length)));
            }
        }
        Some(None)
    }

    /// How far the closing brace is, in the text after an opening one.
    fn close(&mut self, text: &[Atom]) -> Option<Option<usize>> {
        let mut level = 0_usize;
        let mut separated = false;
        for (at, &atom) in text.iter().enumerate() {
            self.spend(1)?;
            match atom {
                Atom::Byte(b'}') if level == 0 && separated => return Some(Some(at)),
                Atom::Byte(b'}') => level = level.saturating_sub(1),
                Atom::Byte(b'{') => level += 1,
                Atom::Byte(b',') if level == 0 => separated = true,
                Atom::Byte(b'.') if level == 0 => {
                    separated |= text.get(at + 1) == Some(&Atom::Byte(b'.'))
                        && text.get(at + 2) != Some(&Atom::Byte(b'}'));
                }
                Atom::Byte(_) | Atom::Quoted(_) | Atom::Mark | Atom::Dynamic(_) => {}
            }
        }
        Some(None)
    }

    /// What an expression stands for; `Some(None)` if it stands for itself, none if undecided.
    fn alternatives(&mut self, inside: &[Atom], depth: usize) -> Option<Option<Vec<Vec<Atom>>>> {
        let mut level = 0_usize;
        let mut start = 0;
        let mut all = Vec::new();
        for (at, &atom) in inside.iter().enumerate() {
            match atom {
                Atom::Byte(b'{') => level += 1,
                Atom::Byte(b'}') => level = level.saturating_sub(1),
                Atom::Byte(b',') if level == 0 => {
                    all.append(&mut self.expand(inside.get(start..at)?, depth + 1)?);
                    start = at + 1;
                }
                Atom::Byte(_) | Atom::Quoted(_) | Atom::Mark | Atom::Dynamic(_) => {}
            }
            if all.len() > limit::BRACE_WORDS {
                return None;
            }
        }
        if start > 0 {
            all.append(&mut self.expand(inside.get(start..)?, depth + 1)?);
            return Some(Some(all));
        }
        let mut plain = Vec::with_capacity(inside.len());
        for &atom in inside {
            match atom {
                // A comma deeper down, or the text of a quote, confuses bash in ways not copied here.
                Atom::Byte(b',') | Atom::Quoted(_) | Atom::Mark | Atom::Dynamic(_) => return None,
                Atom::Byte(byte) => plain.push(byte),
            }
        }
        let words = sequence::expand(&plain, self.budget)?;
        Some(words.map(|words| {
            words
                .iter()
                .map(|word| word.iter().copied().map(Atom::Byte).collect())
                .collect()
        }))
    }

    /// Every word so far, continued by every alternative.
    fn append(&mut self, words: &mut Vec<Vec<Atom>>, alternatives: &[Vec<Atom>]) -> Option<()> {
        if let ([only], [alternative]) = (words.as_mut_slice(), alternatives) {
            only.extend_from_slice(alternative);
            return Some(());
        }
        let count = words.len().checked_mul(alternatives.len())?;
        if count > limit::BRACE_WORDS {
            return None;
        }
        let old: usize = words.iter().map(Vec::len).sum();
        let new: usize = alternatives.iter().map(Vec::len).sum();
        let bytes = old
            .checked_mul(alternatives.len())?
            .checked_add(new.checked_mul(words.len())?)?
            .checked_add(count.checked_mul(64)?)?;
        *self.budget = self.budget.checked_sub(bytes)?;
        let mut longer = Vec::with_capacity(count);
        for word in words.iter() {
            for alternative in alternatives {
                longer.push([word.as_slice(), alternative.as_slice()].concat());
            }
        }
        *words = longer;
        Some(())
    }

    fn spend(&mut self, steps: usize) -> Option<()> {
        self.steps = self.steps.checked_sub(steps)?;
        Some(())
    }
}
