//! Paths with every link followed, one step after the other. path_resolution(7)

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How often the links of one path may turn.
const TURNS: usize = 40;

/// Follows paths. The steps that were no links are remembered, since the paths of a profile share most
/// of theirs; a follower lives no longer than the list that is followed.
#[derive(Debug, Default)]
pub(super) struct Follower {
    plain: HashSet<OsString>,
}

/// Where a path ends.
#[derive(Debug)]
pub(super) struct Followed {
    /// The links on the way, with what they say.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The end, which no link leads on from.
    pub(super) real: PathBuf,
}

impl Follower {
    /// Follows the absolute `path`; `None` when it is not there, when it turns too often (ELOOP), or when
    /// a step on the way is `forbidden`.
    pub(super) fn follow(
        &mut self,
        path: &Path,
        forbidden: impl Fn(&Path) -> bool,
    ) -> Option<Followed> {
        let mut links = Vec::new();
        let mut real = PathBuf::from("/");
        let mut left = pieces(path);
        while let Some(piece) = left.pop() {
            if piece == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&piece);
            if forbidden(&next) {
                return None;
            }
            if self.is_plain(&next)? {
                real = next;
                continue;
            }
            let text = fs::read_link(&next).ok()?;
            if text.is_absolute() {
                real = PathBuf::from("/");
            }
            left.extend(pieces(&text));
            links.push((next, text));
            if links.len() > TURNS {
                return None;
            }
        }
        Some(Followed { links, real })
    }

    /// Whether `step` is there and no link.
    fn is_plain(&mut self, step: &Path) -> Option<bool> {
        if self.plain.contains(step.as_os_str()) {
            return Some(true);
        }
        let plain = !step.symlink_metadata().ok()?.file_type().is_symlink();
        if plain {
            self.plain.insert(step.as_os_str().to_owned());
        }
        Some(plain)
    }
}

/// The components of `path`, last first.
fn pieces(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}
