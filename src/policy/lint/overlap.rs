//! What rules show next to each other. Only what is sure is said: a rule covers another one when its
//! pattern matches whatever the other can.

use std::collections::{BTreeMap, BTreeSet};

use super::reading::Entry;
use super::{Finding, Here, finding};
use crate::model::script::{Dynamic, Piece, Span, Word};
use crate::model::verdict::Verdict;
use crate::policy::glob::{Glob, Match, Purpose};
use crate::policy::pattern::{Against, Arguments, CommandPattern, Item, ProgramPattern};
use crate::policy::rule::{Conditions, Target};

/// More combinations of `{a,b}` than this are no work of people.
const MOST: usize = 64;

pub(super) fn look(entries: &[Entry], here: &Here, findings: &mut Vec<Finding>) {
    // Compared with every other one, so worked out once.
    let names: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} {:?}", entry.canonical(), entry.rule.conditions))
        .collect();
    let all: Vec<(&Entry, &String)> = entries.iter().zip(&names).collect();
    let neighbours = Neighbours::of(entries);
    for (at, (entry, name)) in all.iter().enumerate() {
        if entry.is_written && is_current(entry, here) {
            let others: Vec<(usize, (&Entry, &String))> = neighbours
                .near(entry)
                .into_iter()
                .filter_map(|at| Some((at, *all.get(at)?)))
                .collect();
            findings.extend(against_others(&others, at, entry, name, here));
        }
    }
}

/// Which rules could have to do with each other: those that name the same program, and all that name none.
struct Neighbours {
    named: BTreeMap<Vec<u8>, Vec<usize>>,
    open: Vec<usize>,
}

impl Neighbours {
    fn of(entries: &[Entry]) -> Self {
        let mut all = Self {
            named: BTreeMap::new(),
            open: Vec::new(),
        };
        for (at, entry) in entries.iter().enumerate() {
            match names_of(entry) {
                Some(names) => {
                    for name in names {
                        all.named.entry(name).or_default().push(at);
                    }
                }
                None => all.open.push(at),
            }
        }
        all
    }

    /// In the order of the policy.
    fn near(&self, entry: &Entry) -> BTreeSet<usize> {
        let base = match entry.target() {
            Some(Target::Command(pattern)) => match &pattern.program {
                ProgramPattern::Path(path) => path.last_component().map(<[u8]>::to_vec),
                ProgramPattern::Names(_) | ProgramPattern::Content(_) => None,
            },
            Some(
                Target::Write(_)
                | Target::Read(_)
                | Target::Delete(_)
                | Target::Env(_)
                | Target::Network(_)
                | Target::Mcp(_),
            )
            | None => None,
        };
        let names = names_of(entry).into_iter().flatten().chain(base);
        names
            .filter_map(|name| self.named.get(&name))
            .flatten()
            .chain(&self.open)
            .copied()
            .collect()
    }
}

/// The names of its program, when all are written out.
fn names_of(entry: &Entry) -> Option<Vec<Vec<u8>>> {
    match entry.target()? {
        Target::Command(pattern) => match &pattern.program {
            ProgramPattern::Names(globs) => globs
                .iter()
                .map(|glob| glob.literal().map(<[u8]>::to_vec))
                .collect(),
            ProgramPattern::Path(_) | ProgramPattern::Content(_) => None,
        },
        Target::Write(_)
        | Target::Read(_)
        | Target::Delete(_)
        | Target::Env(_)
        | Target::Network(_)
        | Target::Mcp(_) => None,
    }
}

fn is_current(entry: &Entry, here: &Here) -> bool {
    entry.rule.is_current(here.facts.today)
}

/// The first thing that another rule makes of this one.
fn against_others(
    entries: &[(usize, (&Entry, &String))],
    at: usize,
    entry: &Entry,
    name: &String,
    here: &Here,
) -> Option<Finding> {
    let others = || {
        entries
            .iter()
            .filter(|(other_at, (other, _))| *other_at != at && is_current(other, here))
            .map(|(other_at, (other, other_name))| (*other_at, *other, *other_name == name))
    };
    let shown = entry.shown();
    if let Some((_, other, _)) =
        others().find(|(_, other, same)| other.verdict() > entry.verdict() && *same)
    {
        return Some(finding(
            entry,
            "contradiction",
            format!(
                "{} `{shown}`, and {} says {}: the stricter one decides",
                entry.verdict(),
                other.place(),
                other.verdict()
            ),
            "remove one of the two",
        ));
    }
    if let Some((_, other, _)) = others().find(|(other_at, other, same)| {
        *other_at < at && other.verdict() == entry.verdict() && *same
    }) {
        return Some(finding(
            entry,
            "duplicate",
            format!(
                "{} `{shown}` stands at {} already",
                entry.verdict(),
                other.place()
            ),
            "remove one of the two",
        ));
    }
    let stricter = others().find(|(_, other, _)| {
        other.verdict() > entry.verdict() && covers(other, entry, Purpose::Restrict)
    });
    if let Some((_, other, _)) = stricter {
        return Some(finding(
            entry,
            "shadowed",
            format!(
                "{} `{shown}` never decides: {} `{}` of {} matches all it can match",
                entry.verdict(),
                other.verdict(),
                other.shown(),
                other.place()
            ),
            "remove it, or narrow the stricter rule",
        ));
    }
    let purpose = match entry.verdict() {
        Verdict::Allow => Purpose::Allow,
        Verdict::Ask | Verdict::Deny => Purpose::Restrict,
    };
    let wider = others().find(|(_, other, same)| {
        other.verdict() == entry.verdict() && !same && covers(other, entry, purpose)
    });
    wider.map(|(_, other, _)| {
        finding(
            entry,
            "unreachable",
            format!(
                "{} `{shown}` decides nothing that {} `{}` of {} does not",
                entry.verdict(),
                other.verdict(),
                other.shown(),
                other.place()
            ),
            "remove it, or narrow the wider rule",
        )
    })
}

/// Whether `wide` applies wherever it is, so that its pattern alone decides. It must not end earlier.
fn is_plain(wide: &Conditions, narrow: &Conditions) -> bool {
    let lasts = match (wide.expires, narrow.expires) {
        (None, _) => true,
        (Some(wide), Some(narrow)) => wide >= narrow,
        (Some(_), None) => false,
    };
    lasts
        && wide.with.is_empty()
        && wide.with_all.is_empty()
        && wide.without.is_empty()
        && !wide.in_workspace
        && wide.cwd.is_empty()
        && wide.as_written.is_none()
}

/// Whether one entry surely matches all that another one can.
fn covers(wide: &Entry, narrow: &Entry, purpose: Purpose) -> bool {
    if !is_plain(&wide.rule.conditions, &narrow.rule.conditions) {
        return false;
    }
    match (wide.target(), narrow.target()) {
        (Some(Target::Command(wide)), Some(Target::Command(narrow))) => {
            commands(wide, narrow, purpose)
        }
        (Some(Target::Write(wide)), Some(Target::Write(narrow)))
        | (Some(Target::Read(wide)), Some(Target::Read(narrow)))
        | (Some(Target::Delete(wide)), Some(Target::Delete(narrow))) => wide.covers(narrow),
        (Some(Target::Env(wide)), Some(Target::Env(narrow))) => narrow
            .literal()
            .is_some_and(|name| wide.matches(name, None, purpose)),
        (Some(Target::Network(wide)), Some(Target::Network(narrow))) => {
            narrow.literal().is_some_and(|(name, port)| {
                wide.matches(&name, port.as_deref().map(str::as_bytes), purpose)
            })
        }
        (
            Some(
                Target::Command(_)
                | Target::Write(_)
                | Target::Read(_)
                | Target::Delete(_)
                | Target::Env(_)
                | Target::Network(_)
                | Target::Mcp(_),
            )
            | None,
            _,
        ) => false,
    }
}

fn commands(wide: &CommandPattern, narrow: &CommandPattern, purpose: Purpose) -> bool {
    if !program(wide, narrow, purpose) {
        return false;
    }
    // `*` and no more: whatever the arguments are.
    if let Arguments::Prefix(items) = &wide.arguments
        && items.is_empty()
    {
        return true;
    }
    let against = Against {
        purpose,
        home: None,
        folder: None,
    };
    spelled(narrow).is_some_and(|argvs| {
        argvs
            .iter()
            .all(|argv| wide.matches_arguments(argv, &against) == Match::Yes)
    })
}

/// Whether the programs that `narrow` names are all named by `wide`.
fn program(wide: &CommandPattern, narrow: &CommandPattern, purpose: Purpose) -> bool {
    match (&wide.program, &narrow.program) {
        (ProgramPattern::Names(wide), ProgramPattern::Names(narrow)) => {
            narrow.iter().all(|name| names(wide, name, purpose))
        }
        // A denial knows a file by its base name.
        (ProgramPattern::Names(wide), ProgramPattern::Path(path))
            if purpose == Purpose::Restrict =>
        {
            path.last_component().is_some_and(|name| {
                wide.iter()
                    .any(|glob| glob.matches(name, None, Purpose::Restrict))
            })
        }
        (ProgramPattern::Path(wide), ProgramPattern::Path(narrow)) => wide.covers(narrow),
        (ProgramPattern::Content(wide), ProgramPattern::Content(narrow)) => wide == narrow,
        (ProgramPattern::Names(_) | ProgramPattern::Path(_) | ProgramPattern::Content(_), _) => {
            false
        }
    }
}

fn names(wide: &[Glob], name: &Glob, purpose: Purpose) -> bool {
    wide.iter().any(|glob| {
        glob == name
            || glob.is_anything()
            || name
                .literal()
                .is_some_and(|name| glob.matches(name, None, purpose))
    })
}

/// What the pattern can match, as argvs with gaps where it leaves something open.
fn spelled(pattern: &CommandPattern) -> Option<Vec<Vec<Word>>> {
    let (items, open) = match &pattern.arguments {
        Arguments::Prefix(items) => (items, true),
        Arguments::Exact(items) => (items, false),
        Arguments::Regex(_) => return None,
    };
    let mut argvs = vec![vec![Word::text(Span::default(), b"program".as_slice())]];
    for item in items {
        let words: Vec<Word> = match item {
            Item::Many => vec![gap(false)],
            Item::One(globs) => globs.iter().map(word).collect(),
        };
        if argvs.len() * words.len() > MOST {
            return None;
        }
        argvs = argvs
            .iter()
            .flat_map(|argv| {
                words.iter().map(move |word| {
                    let mut argv = argv.clone();
                    argv.push(word.clone());
                    argv
                })
            })
            .collect();
    }
    if open {
        for argv in &mut argvs {
            argv.push(gap(false));
        }
    }
    Some(argvs)
}

/// A word that is known, or one word nobody knows.
fn word(glob: &Glob) -> Word {
    match glob.literal() {
        Some(text) => Word::text(Span::default(), text),
        None => gap(true),
    }
}

/// Something nobody knows: one word when quoted, else any number.
fn gap(quoted: bool) -> Word {
    Word {
        span: Span::default(),
        pieces: vec![Piece::Dynamic {
            reason: Dynamic::Parameter,
            name: Some(b"x".to_vec()),
            quoted,
        }],
    }
}
