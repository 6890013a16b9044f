//! Digests of trusted files that were read before, in memory alone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nix::sys::stat::FileStat;

use super::identity::Content;
use crate::model::path::AbsolutePath;
use crate::sys::busy;

/// Everything a change of content or rights shows in. The change time cannot be set by any call, but a
/// page that is mapped and dirty already can be written without moving it: so this serves only for files
/// that nobody but root and the user can open for writing.
type Key = (u64, u64, i64, u32, u32, u32, [i64; 4]);

/// Files that are remembered; one more starts anew.
const MANY: usize = 1024;

/// The digests of one run, and the file systems that keep a running program as it was.
#[derive(Debug, Default)]
pub(super) struct Digests {
    known: Mutex<HashMap<Key, Content>>,
    freezing: Mutex<HashMap<u64, bool>>,
}

impl Digests {
    /// Whether the content of the file at `path` stays as it is while it runs: tried once for each file
    /// system, beside the file. What cannot be tried does not hold.
    pub(super) fn freezes(&self, path: &AbsolutePath, stat: &FileStat) -> bool {
        let mut freezing = self.freezing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = freezing.get(&stat.st_dev) {
            return *known;
        }
        let Some(Ok(enforced)) = path
            .parent()
            .map(|folder| busy::is_enforced(folder.as_path()))
        else {
            return false;
        };
        freezing.insert(stat.st_dev, enforced);
        enforced
    }

    pub(super) fn find(&self, stat: &FileStat) -> Option<Content> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key(stat)).cloned()
    }

    pub(super) fn note(&self, stat: &FileStat, content: &Content) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MANY {
            known.clear();
        }
        known.insert(key(stat), content.clone());
    }
}

fn key(stat: &FileStat) -> Key {
    (
        stat.st_dev,
        stat.st_ino,
        stat.st_size,
        stat.st_mode,
        stat.st_uid,
        stat.st_gid,
        [
            stat.st_mtime,
            stat.st_mtime_nsec,
            stat.st_ctime,
            stat.st_ctime_nsec,
        ],
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::model::environment::Environment;
    use crate::model::script::Folder;
    use crate::resolve::Resolver;
    use crate::resolve::testing::Tree;

    #[test]
    fn a_changed_file_is_read_again_and_one_in_a_write_root_always() {
        let tree = Tree::new();
        tree.folder("ws");
        let uid = nix::unistd::geteuid().as_raw();
        for (name, root) in [("ws/tool", true), ("tool", false)] {
            tree.file(name, b"first", 0o755);
            let roots = if root {
                vec![tree.path("ws")]
            } else {
                Vec::new()
            };
            let resolver =
                Resolver::new(&Environment::default(), &tree.root, &roots, uid).reusing();
            let digest = || {
                let found = resolver.find(tree.path(name).as_bytes(), &Folder::Start);
                found.unwrap().executable.digest
            };
            let first = digest();
            assert_eq!(digest(), first);
            tree.file(name, b"other", 0o755);
            let permissions = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(tree.path(name).as_path(), permissions).unwrap();
            assert_ne!(digest(), first, "{name}");
        }
    }
}
