//! Follows a path by hand, component by component, and keeps what was seen on the way.
//!
//! The kernel does the same in one call, but tells only the end. Trust needs every folder and link on
//! the way, a redirection needs the place a dangling link leads to, and another user's right to pass
//! has to be computed.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use nix::errno::Errno;
use nix::fcntl::readlink;
use nix::sys::stat::{FileStat, SFlag, lstat};

use crate::model::path::AbsolutePath;

/// More links than this are a loop to the kernel. path_resolution(7)
const MAX_LINKS: usize = 40;

/// A folder, link or file that was passed.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) path: AbsolutePath,
    pub(super) stat: FileStat,
}

/// Where the way ends.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// At something that exists.
    Found(FileStat),
    /// At a name that cannot be reached; the real path holds what is known.
    Missing(Errno),
    /// At a place that differs for each process: below `/proc/self` and the like.
    Unknowable,
}

/// A path, followed.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    /// Everything that was passed, in order, the end included.
    pub(super) steps: Vec<Step>,
    /// The path after following every link.
    pub(super) real: AbsolutePath,
    /// What is there.
    pub(super) end: End,
}

pub(super) fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// Follows `path` from `base` as the kernel would: `..` goes up from where a link led, not from where
/// it stood.
pub(super) fn follow(base: &AbsolutePath, path: &[u8]) -> Trail {
    let mut rest: VecDeque<Vec<u8>> = VecDeque::new();
    if !path.starts_with(b"/") {
        rest.extend(components(base.as_bytes()));
    }
    rest.extend(components(path));
    // A trailing slash demands a folder. path_resolution(7)
    if path.ends_with(b"/") {
        rest.push_back(b".".to_vec());
    }
    Walk {
        rest,
        here: AbsolutePath::new("/").unwrap_or_else(|_| base.clone()),
        steps: Vec::new(),
        links: 0,
    }
    .run()
}

fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
}

/// Whether the name below `/proc` means the process that asks, or one that may be gone when asked
/// again. proc(5)
fn is_per_process(here: &AbsolutePath, name: &[u8]) -> bool {
    here.as_bytes() == b"/proc"
        && (name == b"self" || name == b"thread-self" || name.iter().all(u8::is_ascii_digit))
}

struct Walk {
    rest: VecDeque<Vec<u8>>,
    here: AbsolutePath,
    steps: Vec<Step>,
    links: usize,
}

impl Walk {
    fn run(mut self) -> Trail {
        let root = self.here.clone();
        let mut stat = match lstat(root.as_path()) {
            Ok(stat) => stat,
            Err(errno) => return self.end(End::Missing(errno)),
        };
        let root_stat = stat;
        self.steps.push(Step {
            path: root.clone(),
            stat,
        });
        while let Some(name) = self.rest.pop_front() {
            if kind(&stat) != SFlag::S_IFDIR {
                self.rest.push_front(name);
                return self.end(End::Missing(Errno::ENOTDIR));
            }
            match name.as_slice() {
                b"." => continue,
                b".." => {
                    self.here = self.here.parent().unwrap_or_else(|| root.clone());
                    stat = match lstat(self.here.as_path()) {
                        Ok(stat) => stat,
                        Err(errno) => return self.end(End::Missing(errno)),
                    };
                    continue;
                }
                _ => {}
            }
            if is_per_process(&self.here, &name) {
                self.rest.push_front(name);
                return self.end(End::Unknowable);
            }
            let next = self.here.join_bytes(&name);
            let found = match lstat(next.as_path()) {
                Ok(found) => found,
                Err(errno) => {
                    self.rest.push_front(name);
                    return self.end(End::Missing(errno));
                }
            };
            self.steps.push(Step {
                path: next.clone(),
                stat: found,
            });
            if kind(&found) != SFlag::S_IFLNK {
                self.here = next;
                stat = found;
                continue;
            }
            let target = match self.read_link(&next) {
                Ok(target) => target,
                Err(errno) => {
                    self.rest.push_front(name);
                    return self.end(End::Missing(errno));
                }
            };
            if target.starts_with(b"/") {
                self.here = root.clone();
                stat = root_stat;
            }
            if target.ends_with(b"/") {
                self.rest.push_front(b".".to_vec());
            }
            for component in components(&target).rev() {
                self.rest.push_front(component);
            }
        }
        self.end(End::Found(stat))
    }

    fn read_link(&mut self, link: &AbsolutePath) -> Result<Vec<u8>, Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        readlink(link.as_path()).map(|target| target.into_vec())
    }

    /// The real path so far and, lexically, what could not be followed.
    fn end(self, end: End) -> Trail {
        let real = self
            .rest
            .iter()
            .fold(self.here, |path, name| path.join(OsStr::from_bytes(name)));
        Trail {
            steps: self.steps,
            real,
            end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{End, follow};
    use crate::model::path::AbsolutePath;
    use crate::resolve::testing::Tree;
    use nix::errno::Errno;

    #[test]
    fn dot_dot_goes_up_from_where_the_link_led() {
        let tree = Tree::new();
        tree.folder("far/deep");
        tree.link("far/deep", "near");
        tree.file("far/prog", b"far", 0o755);
        tree.file("prog", b"near", 0o755);
        let trail = follow(&tree.root, b"near/../prog");
        assert_eq!(trail.real, tree.path("far/prog"));
        assert!(matches!(trail.end, End::Found(_)));
    }

    #[test]
    fn a_dangling_link_leads_to_its_missing_name() {
        let tree = Tree::new();
        tree.folder("out");
        tree.link("out/absent/x", "dangling");
        let trail = follow(&tree.root, b"dangling");
        assert_eq!(trail.real, tree.path("out/absent/x"));
        assert!(matches!(trail.end, End::Missing(Errno::ENOENT)));
    }

    #[test]
    fn loops_files_as_folders_and_proc_end_distinctly() {
        let tree = Tree::new();
        tree.link("b", "a");
        tree.link("a", "b");
        tree.file("file", b"", 0o644);
        let end = |path: &[u8]| follow(&tree.root, path).end;
        assert!(matches!(end(b"a"), End::Missing(Errno::ELOOP)));
        assert!(matches!(end(b"file/"), End::Missing(Errno::ENOTDIR)));
        assert!(matches!(end(b"file/.."), End::Missing(Errno::ENOTDIR)));
        let trail = follow(&tree.root, b"/proc/self/fd/1");
        assert!(matches!(trail.end, End::Unknowable));
        assert_eq!(trail.real, AbsolutePath::new("/proc/self/fd/1").unwrap());
    }

    #[test]
    fn the_way_holds_links_and_folders() {
        let tree = Tree::new();
        tree.folder("d");
        tree.file("d/f", b"", 0o644);
        tree.link("d", "l");
        let trail = follow(&tree.root, b"l/f");
        let seen: Vec<_> = trail.steps.into_iter().map(|step| step.path).collect();
        for name in ["l", "d", "d/f"] {
            assert!(seen.contains(&tree.path(name)), "{name}");
        }
    }
}
