//! The second witness: folders compared before and after, whatever any trace says.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What a name stands for: kind and mode, size, times, content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    content: u64,
}

/// Folders as they are at one moment.
#[derive(Clone, Debug, Default)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// Everything below `folders`.
    pub fn of(folders: &[&str]) -> io::Result<Self> {
        let mut tree = Self::default();
        for folder in folders {
            // What stands in it, not its own times: tipstaff itself makes and removes files in /tmp, and
            // private folders in one of its own there.
            for inner in fs::read_dir(folder)? {
                let path = inner?.path();
                let ours = path
                    .to_str()
                    .is_some_and(|path| path.starts_with("/tmp/tipstaff-"));
                if ours {
                    tree.inside(&path)?;
                } else {
                    tree.add(&path)?;
                }
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        let kind = meta.file_type();
        let content = if kind.is_file() {
            digest(&fs::read(path)?)
        } else if kind.is_symlink() {
            digest(fs::read_link(path)?.as_os_str().as_encoded_bytes())
        } else {
            0
        };
        let entry = Entry {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            content,
        };
        self.0.insert(path.to_owned(), entry);
        if kind.is_dir() {
            self.inside(path)
        } else {
            Ok(())
        }
    }

    fn inside(&mut self, folder: &Path) -> io::Result<()> {
        for inner in fs::read_dir(folder)? {
            self.add(&inner?.path())?;
        }
        Ok(())
    }

    /// Every path that is not what it was.
    pub fn differences(&self, later: &Self) -> Vec<String> {
        let gone = self
            .0
            .iter()
            .filter(|(path, entry)| later.0.get(*path) != Some(*entry));
        let new = later
            .0
            .iter()
            .filter(|(path, _)| !self.0.contains_key(*path));
        gone.chain(new)
            .map(|(path, _)| path.display().to_string())
            .collect()
    }
}

/// FNV-1a: this compares what was with what is, nobody forges it.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
