//! Finds the rules that could speak of something without looking at every rule: what judging costs must
//! not grow with rules about something else.
//!
//! The index leaves out only what cannot match. Whether a rule that it gives does match is for
//! `judge` to say, in the order of the rules, so that the answer is that of looking at them all
//! (`tests/policy_index.rs` compares the two).

mod paths;

use std::collections::HashMap;
use std::sync::OnceLock;

use regex::{RegexSet, RegexSetBuilder};

use super::glob::Glob;
use super::pattern::{Arguments, CommandPattern, Item, ProgramPattern};
use super::rule::{Rule, Target};
use crate::model::access::Facts;
use crate::model::digest::Digest;
use crate::model::path::AbsolutePath;
use crate::model::verdict::Verdict;
use paths::Paths;

/// Expressions of one verdict are compared in one pass as long as they compile to no more than this.
const SET_LIMIT: usize = 8 << 20;

/// A target of a rule: indices of both.
pub(super) type Spot = (usize, usize);

/// The rules of a policy with their index.
#[derive(Debug, Default)]
pub(super) struct Rules {
    all: Vec<Rule>,
    /// By verdict; `None` looks at every rule.
    index: Option<[Kinds; 3]>,
}

/// What a command could be called and given, as far as it is known. Nothing that could match may be
/// missing.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// Last components of names and paths.
    pub(super) names: Vec<&'a [u8]>,
    /// Contents.
    pub(super) digests: Vec<Digest>,
    /// First arguments; `None`: any.
    pub(super) arguments: Option<Vec<&'a [u8]>>,
    /// Whole argvs as text; `None`: any.
    pub(super) texts: Option<Vec<String>>,
}

impl Rules {
    pub(super) fn new(all: Vec<Rule>) -> Self {
        let mut index = [Verdict::Allow, Verdict::Ask, Verdict::Deny].map(|_| Kinds::default());
        for (at, rule) in all.iter().enumerate() {
            if let Some(kinds) = index.get_mut(rule.verdict as usize) {
                for (target_at, target) in rule.targets.iter().enumerate() {
                    kinds.add((at, target_at), target);
                }
            }
        }
        Self {
            all,
            index: Some(index),
        }
    }

    /// The same without an index.
    pub(super) fn scanned(self) -> Self {
        Self {
            index: None,
            ..self
        }
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Rule> {
        self.all.iter()
    }

    /// Command patterns that could match, in the order of the rules.
    pub(super) fn commands<'p>(
        &'p self,
        verdict: Verdict,
        wanted: &Wanted<'_>,
    ) -> Vec<(&'p Rule, &'p CommandPattern)> {
        let spots = match self.kinds(verdict) {
            Some(kinds) => kinds.commands.find(wanted),
            None => self.every(verdict),
        };
        spots
            .into_iter()
            .filter_map(|(at, target)| {
                let rule = self.all.get(at)?;
                match rule.targets.get(target)? {
                    Target::Command(pattern) => Some((rule, pattern)),
                    Target::Write(_)
                    | Target::Read(_)
                    | Target::Delete(_)
                    | Target::Env(_)
                    | Target::Network(_)
                    | Target::Mcp(_) => None,
                }
            })
            .collect()
    }

    /// Rules with a pattern that could match one of the paths; with `below`, also one that could match what
    /// lies in it. No path at all: it is not known, and could be any.
    pub(super) fn writes(
        &self,
        verdict: Verdict,
        paths: &[&AbsolutePath],
        below: bool,
        facts: &Facts,
    ) -> Vec<&Rule> {
        self.paths(verdict, |kinds| &kinds.writes, paths, below, facts)
    }

    /// The same for reading.
    pub(super) fn reads(
        &self,
        verdict: Verdict,
        paths: &[&AbsolutePath],
        below: bool,
        facts: &Facts,
    ) -> Vec<&Rule> {
        self.paths(verdict, |kinds| &kinds.reads, paths, below, facts)
    }

    /// Rules that could match a variable.
    pub(super) fn variables(&self, verdict: Verdict, name: &[u8]) -> Vec<&Rule> {
        match self.kinds(verdict) {
            Some(kinds) => self.those(kinds.env.find(name)),
            None => self.those(self.every(verdict)),
        }
    }

    /// Rules that could match a host, given in lower case; with `any`, every rule on hosts.
    pub(super) fn hosts(&self, verdict: Verdict, host: &[u8], any: bool) -> Vec<&Rule> {
        match self.kinds(verdict) {
            Some(kinds) if any => self.those(kinds.network.all()),
            Some(kinds) => self.those(kinds.network.find(host)),
            None => self.those(self.every(verdict)),
        }
    }

    fn paths(
        &self,
        verdict: Verdict,
        kind: impl Fn(&Kinds) -> &Paths,
        paths: &[&AbsolutePath],
        below: bool,
        facts: &Facts,
    ) -> Vec<&Rule> {
        match self.kinds(verdict) {
            Some(kinds) if paths.is_empty() => self.those(kind(kinds).all()),
            Some(kinds) => self.those(kind(kinds).find(paths, below, facts)),
            None => self.those(self.every(verdict)),
        }
    }

    fn kinds(&self, verdict: Verdict) -> Option<&Kinds> {
        self.index.as_ref()?.get(verdict as usize)
    }

    fn every(&self, verdict: Verdict) -> Vec<Spot> {
        let rules = self.all.iter().enumerate();
        rules
            .filter(|(_, rule)| rule.verdict == verdict)
            .flat_map(|(at, rule)| (0..rule.targets.len()).map(move |target| (at, target)))
            .collect()
    }

    /// Each rule once, in order.
    fn those(&self, spots: Vec<Spot>) -> Vec<&Rule> {
        let mut at: Vec<usize> = spots.into_iter().map(|(at, _)| at).collect();
        at.dedup();
        at.into_iter().filter_map(|at| self.all.get(at)).collect()
    }
}

/// The rules of one verdict by what they speak of.
#[derive(Debug, Default)]
struct Kinds {
    commands: Commands,
    writes: Paths,
    reads: Paths,
    env: Words,
    network: Words,
}

impl Kinds {
    fn add(&mut self, spot: Spot, target: &Target) {
        match target {
            Target::Command(pattern) => self.commands.add(spot, pattern),
            Target::Write(pattern) => self.writes.add(spot, pattern),
            Target::Read(pattern) => self.reads.add(spot, pattern),
            Target::Env(glob) => self.env.add(spot, glob),
            Target::Network(host) => self.network.add(spot, host.name()),
            // What a caller would do itself is judged once, by all rules.
            Target::Delete(_) | Target::Mcp(_) => {}
        }
    }
}

/// Patterns for one word: by their text where they have no wildcard.
#[derive(Debug, Default)]
struct Words {
    exact: HashMap<Vec<u8>, Vec<Spot>>,
    wild: Vec<Spot>,
}

impl Words {
    fn add(&mut self, spot: Spot, glob: &Glob) {
        match glob.literal() {
            Some(text) => self.exact.entry(text.to_vec()).or_default().push(spot),
            None => self.wild.push(spot),
        }
    }

    fn find(&self, text: &[u8]) -> Vec<Spot> {
        let exact = self.exact.get(text).into_iter().flatten();
        in_order(exact.chain(&self.wild))
    }

    fn all(&self) -> Vec<Spot> {
        in_order(self.exact.values().flatten().chain(&self.wild))
    }
}

/// Command patterns: by the last component of the program, then by the first argument.
#[derive(Debug, Default)]
struct Commands {
    named: HashMap<Vec<u8>, FirstArguments>,
    /// The program's name has wildcards.
    wild: FirstArguments,
    contents: HashMap<Digest, Vec<Spot>>,
    expressions: Expressions,
}

impl Commands {
    fn add(&mut self, spot: Spot, pattern: &CommandPattern) {
        let items = match &pattern.arguments {
            Arguments::Regex(regex) => {
                self.expressions.spots.push(spot);
                self.expressions.texts.push(regex.as_str().to_owned());
                return;
            }
            Arguments::Prefix(items) | Arguments::Exact(items) => items.as_slice(),
        };
        match &pattern.program {
            ProgramPattern::Content(digest) => {
                self.contents.entry(*digest).or_default().push(spot);
            }
            ProgramPattern::Path(path) => match path.last_component() {
                Some(name) => self
                    .named
                    .entry(name.to_vec())
                    .or_default()
                    .add(spot, items),
                None => self.wild.add(spot, items),
            },
            ProgramPattern::Names(globs) => {
                for glob in globs {
                    match glob.literal() {
                        Some(name) => self
                            .named
                            .entry(name.to_vec())
                            .or_default()
                            .add(spot, items),
                        None => self.wild.add(spot, items),
                    }
                }
            }
        }
    }

    fn find(&self, wanted: &Wanted<'_>) -> Vec<Spot> {
        let mut found: Vec<Spot> = Vec::new();
        for name in &wanted.names {
            if let Some(arguments) = self.named.get(*name) {
                arguments.find(wanted, &mut found);
            }
        }
        self.wild.find(wanted, &mut found);
        for digest in &wanted.digests {
            found.extend(self.contents.get(digest).into_iter().flatten());
        }
        self.expressions.find(wanted, &mut found);
        in_order(found.iter())
    }
}

/// Patterns of one program by their first argument.
#[derive(Debug, Default)]
struct FirstArguments {
    exact: HashMap<Vec<u8>, Vec<Spot>>,
    any: Vec<Spot>,
}

impl FirstArguments {
    fn add(&mut self, spot: Spot, items: &[Item]) {
        let texts: Option<Vec<&[u8]>> = match items.first() {
            // A path is compared with an operand wherever that is seen from.
            Some(Item::One(globs)) => globs
                .iter()
                .map(|glob| glob.literal().filter(|_| !glob.is_absolute()))
                .collect(),
            Some(Item::Many) | None => None,
        };
        match texts {
            Some(texts) => {
                for text in texts {
                    self.exact.entry(text.to_vec()).or_default().push(spot);
                }
            }
            None => self.any.push(spot),
        }
    }

    fn find(&self, wanted: &Wanted<'_>, found: &mut Vec<Spot>) {
        found.extend(&self.any);
        match &wanted.arguments {
            Some(arguments) if !self.exact.is_empty() => {
                for argument in arguments {
                    found.extend(self.exact.get(*argument).into_iter().flatten());
                }
            }
            Some(_) => {}
            None => found.extend(self.exact.values().flatten()),
        }
    }
}

/// `re:` rules, compared all at once.
#[derive(Debug, Default)]
struct Expressions {
    spots: Vec<Spot>,
    texts: Vec<String>,
    /// Built at the first use; `None` inside when it would be too large.
    set: OnceLock<Option<RegexSet>>,
}

impl Expressions {
    fn find(&self, wanted: &Wanted<'_>, found: &mut Vec<Spot>) {
        if self.spots.is_empty() {
            return;
        }
        let set = self.set.get_or_init(|| {
            let mut builder = RegexSetBuilder::new(&self.texts);
            builder.size_limit(SET_LIMIT).dfa_size_limit(SET_LIMIT);
            builder.build().ok()
        });
        let (Some(set), Some(texts)) = (set, &wanted.texts) else {
            found.extend(&self.spots);
            return;
        };
        for text in texts {
            let matched = set.matches(text);
            found.extend(matched.iter().filter_map(|at| self.spots.get(at)));
        }
    }
}

/// Each once, in the order of the rules.
fn in_order<'a>(spots: impl Iterator<Item = &'a Spot>) -> Vec<Spot> {
    let mut spots: Vec<Spot> = spots.copied().collect();
    spots.sort_unstable();
    spots.dedup();
    spots
}
