//! Path patterns by the folder that all their matches share.

use std::collections::BTreeMap;

use super::{Spot, in_order};
use crate::model::access::Facts;
use crate::model::path::AbsolutePath;
use crate::policy::path_pattern::{Base, PathPattern};

/// Patterns of one direction, by where they start.
#[derive(Debug, Default)]
pub(super) struct Paths {
    root: Below,
    workspace: Below,
    home: Below,
}

/// By the literal beginning: a folder, or for a pattern without wildcards the whole path.
type Below = BTreeMap<Vec<u8>, Vec<Spot>>;

impl Paths {
    pub(super) fn add(&mut self, spot: Spot, pattern: &PathPattern) {
        let below = match pattern.base() {
            Base::Root => &mut self.root,
            Base::Workspace => &mut self.workspace,
            Base::Home => &mut self.home,
        };
        below
            .entry(pattern.known().to_vec())
            .or_default()
            .push(spot);
    }

    /// Patterns that could match one of `paths`, and with `below` those that could match something in it.
    pub(super) fn find(&self, paths: &[&AbsolutePath], below: bool, facts: &Facts) -> Vec<Spot> {
        let root = facts.workspace.join("/");
        let places = [
            (&self.root, Some(&root)),
            (&self.workspace, Some(&facts.workspace)),
            (&self.home, facts.home.as_ref()),
        ];
        let mut found: Vec<Spot> = Vec::new();
        for (patterns, base) in places {
            let Some(base) = base.filter(|_| !patterns.is_empty()) else {
                continue;
            };
            for path in paths {
                look(patterns, base, path, below, &mut found);
            }
        }
        in_order(found.iter())
    }

    pub(super) fn all(&self) -> Vec<Spot> {
        let all = [&self.root, &self.workspace, &self.home];
        in_order(all.into_iter().flat_map(|below| below.values().flatten()))
    }
}

fn look(
    patterns: &Below,
    base: &AbsolutePath,
    path: &AbsolutePath,
    below: bool,
    found: &mut Vec<Spot>,
) {
    if path.is_within(base) {
        let inside = path.as_bytes().get(base.as_bytes().len()..);
        let inside = inside.unwrap_or_default();
        let inside = inside.strip_prefix(b"/").unwrap_or(inside);
        along(patterns, inside, found);
        if below {
            within(patterns, inside, found);
        }
    } else if below && base.is_within(path) {
        found.extend(patterns.values().flatten());
    }
}

/// Patterns whose beginning is `path` or a folder above it.
fn along(patterns: &Below, path: &[u8], found: &mut Vec<Spot>) {
    let ends = path.iter().enumerate();
    let ends = ends.filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in std::iter::once(0).chain(ends).chain([path.len()]) {
        let folder = path.get(..end).unwrap_or_default();
        found.extend(patterns.get(folder).into_iter().flatten());
    }
}

/// Patterns whose beginning lies in the folder `path`.
fn within(patterns: &Below, path: &[u8], found: &mut Vec<Spot>) {
    let inside = |known: &&Vec<u8>| known.starts_with(path);
    let range = patterns.range(path.to_vec()..);
    found.extend(
        range
            .take_while(|(known, _)| inside(known))
            .flat_map(|(_, spots)| spots),
    );
}
