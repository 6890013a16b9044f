//! The file that an exec of another process means, as that process sees it.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, readlink};
use nix::sys::stat::{Mode, fstat, stat};

use super::follow::{End, follow};
use super::identity::{Depth, file_id};
use super::{Held, Resolver};
use crate::model::executable::{Executable, LookupError};
use crate::model::path::AbsolutePath;

/// Where the file of an exec lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// At this path, before links are followed.
    At(AbsolutePath),
    /// Nowhere; execve(2) fails like this.
    Missing(Errno),
    /// It is a file without a name: in memory alone, or deleted.
    Nameless,
}

/// A process, by number, while it waits.
#[derive(Clone, Copy, Debug)]
pub struct Eyes<'a> {
    /// The thread.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
    /// Where its relative paths start: a link of `/proc`.
    pub base: &'a str,
}

impl Resolver {
    /// Finds `path` as the thread sees it. It has our root and our mounts: the command cannot change
    /// either.
    pub fn seen(&self, path: &[u8], by: Eyes<'_>) -> Seen {
        if path.is_empty() {
            return behind(Path::new(by.base));
        }
        let folder = if path.starts_with(b"/") {
            None
        } else {
            match behind(Path::new(by.base)) {
                Seen::At(folder) => Some(folder),
                elsewhere @ (Seen::Missing(_) | Seen::Nameless) => return elsewhere,
            }
        };
        let base = folder.as_ref().unwrap_or(&self.cwd);
        let trail = follow(base, path);
        match trail.end {
            End::Found(_) => self
                .place(path, Some(base))
                .map_or(Seen::Missing(Errno::ENOENT), Seen::At),
            End::Missing(errno) => Seen::Missing(errno),
            End::Unknowable => behind(Path::new(std::ffi::OsStr::from_bytes(&as_seen_by(
                trail.real.as_bytes(),
                by,
            )))),
        }
    }

    /// Whether a lookup of `name` in PATH finds this very file, so that `name` is what it goes by.
    pub fn is_found_as(&self, name: &[u8], file: &Executable) -> bool {
        if name.contains(&b'/') {
            return false;
        }
        self.locate(name, None)
            .is_ok_and(|found| follow(&found, b"").real == file.real)
    }

    /// Opens and identifies what a path means to whoever stands in `folder`, unless it leads through what
    /// is another file for each process.
    pub fn executed_at(
        &self,
        path: &[u8],
        folder: Option<&AbsolutePath>,
    ) -> Result<Held, LookupError> {
        let path = self.locate_path(path, folder)?;
        self.identify(&path, folder, Depth::default())
    }

    /// Opens and identifies what an exec means.
    pub fn executed(
        &self,
        path: &AbsolutePath,
        folder: Option<&AbsolutePath>,
    ) -> Result<Held, LookupError> {
        self.identify(path, folder, Depth::default())
    }
}

/// `/proc/self/…` and `/proc/thread-self/…` under the number of the one who says it.
fn as_seen_by(path: &[u8], by: Eyes<'_>) -> Vec<u8> {
    let own = [
        (b"/proc/self".as_slice(), format!("/proc/{}", by.pid)),
        (
            b"/proc/thread-self",
            format!("/proc/{}/task/{}", by.pid, by.tid),
        ),
    ];
    own.into_iter()
        .find_map(|(name, number)| {
            let rest = path.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with(b"/")).then(|| [number.as_bytes(), rest].concat())
        })
        .unwrap_or_else(|| path.to_vec())
}

/// What the kernel finds at a path that leads through its own links, by its name, when it has one.
fn behind(path: &Path) -> Seen {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(errno) => return Seen::Missing(errno),
    };
    named(&file).map_or(Seen::Nameless, Seen::At)
}

/// The name under which the very same file is found.
fn named(file: &OwnedFd) -> Option<AbsolutePath> {
    let link = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()).as_str()).ok()?;
    if !link.as_bytes().starts_with(b"/") {
        return None;
    }
    let there = stat(link.as_os_str()).ok()?;
    let same = file_id(&there) == file_id(&fstat(file).ok()?);
    same.then(|| AbsolutePath::new(link).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Eyes, Seen, as_seen_by};
    use crate::model::environment::Environment;
    use crate::model::path::AbsolutePath;
    use crate::resolve::Resolver;
    use crate::resolve::testing::Tree;
    use nix::errno::Errno;

    #[test]
    fn own_names_mean_the_one_who_says_them() {
        let by = Eyes {
            tid: 8,
            pid: 7,
            base: "/proc/8/cwd",
        };
        let seen = |path: &str| String::from_utf8(as_seen_by(path.as_bytes(), by)).unwrap();
        assert_eq!(seen("/proc/self/fd/3"), "/proc/7/fd/3");
        assert_eq!(seen("/proc/thread-self/exe"), "/proc/7/task/8/exe");
        assert_eq!(seen("/proc/self"), "/proc/7");
        assert_eq!(seen("/proc/selfish"), "/proc/selfish");
        assert_eq!(seen("/proc/9/exe"), "/proc/9/exe");
    }

    #[test]
    fn descriptors_lead_to_names_and_deleted_files_have_none() {
        let tree = Tree::new();
        tree.file("tool", b"x", 0o755);
        let resolver = Resolver::new(&Environment::default(), &tree.root, &[], 0);
        let file = std::fs::File::open(tree.path("tool").as_path()).unwrap();
        let own = std::process::id().cast_signed();
        let base = format!("/proc/{own}/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let by = Eyes {
            tid: own,
            pid: own,
            base: &base,
        };
        let tool = tree.path("tool");
        assert_eq!(resolver.seen(b"", by), Seen::At(tool.clone()));
        let number = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert_eq!(resolver.seen(number.as_bytes(), by), Seen::At(tool.clone()));
        assert_eq!(resolver.seen(tool.as_bytes(), by), Seen::At(tool.clone()));
        assert_eq!(
            resolver.seen(b"/nonexistent", by),
            Seen::Missing(Errno::ENOENT)
        );
        std::fs::remove_file(tool.as_path()).unwrap();
        assert_eq!(resolver.seen(b"", by), Seen::Nameless);
        let own_exe = std::env::current_exe().unwrap();
        assert_eq!(
            resolver.seen(b"/proc/self/exe", by),
            Seen::At(AbsolutePath::new(own_exe).unwrap())
        );
    }
}
