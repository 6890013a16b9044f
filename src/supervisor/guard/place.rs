//! A folder that guarded paths are relative to, and the sweep of one such path.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;

use super::Swept;
use super::tree::{Bytes, Node, c_string};
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;

/// The folder, held open: a path is looked up below it and never through a link.
pub(super) struct Place {
    pub(super) path: AbsolutePath,
    folder: OwnedFd,
}

/// Where what a run left is kept, and what was found so far.
pub(super) struct Sweep {
    quarantine: PathBuf,
    pub(super) found: Vec<Swept>,
}

impl Place {
    pub(super) fn open(path: &AbsolutePath) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(Self {
            path: path.clone(),
            folder: open(path.as_path(), flags, Mode::empty())?,
        })
    }

    /// The folder that holds `path` and its name there; `None` where there is no such folder without links.
    fn above(&self, path: &[u8]) -> io::Result<Option<(OwnedFd, CString)>> {
        let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (
                path.get(..slash).unwrap_or_default(),
                path.get(slash + 1..).unwrap_or_default(),
            ),
            None => (b".".as_slice(), path),
        };
        let how = OpenHow::new()
            .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        match openat2(self.folder.as_fd(), OsStr::from_bytes(above), how) {
            Ok(folder) => Ok(Some((folder, c_string(name)?))),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EXDEV) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What stands at `path`.
    pub(super) fn read(&self, path: &[u8], passes: &dyn Fn(&[u8]) -> bool) -> io::Result<Node> {
        match self.above(path)? {
            Some((folder, name)) => Node::read(folder.as_fd(), &name, passes),
            None => Ok(Node::Absent),
        }
    }

    /// Puts `was` back where something else stands at `path` now.
    pub(super) fn sweep(
        &self,
        path: &[u8],
        was: &Node,
        passes: &dyn Fn(&[u8]) -> bool,
        sweep: &mut Sweep,
    ) -> io::Result<()> {
        let now = self.read(path, passes)?;
        // An empty folder that is gone, or whose repository is, held nothing.
        let nothing = matches!(was, Node::Folder { entries, .. } if entries.is_empty());
        if now == *was || (nothing && now == Node::Absent) {
            return Ok(());
        }
        if let (
            Node::Folder { owner, entries },
            Node::Folder {
                owner: other,
                entries: others,
            },
        ) = (was, &now)
        {
            for name in entries
                .keys()
                .chain(others.keys().filter(|name| !entries.contains_key(*name)))
            {
                let below = [path, b"/", &name.0].concat();
                let was = entries.get(name).unwrap_or(&Node::Absent);
                self.sweep(&below, was, passes, sweep)?;
            }
            if owner != other
                && let Some((folder, name)) = self.above(path)?
            {
                owner.restore(folder.as_fd(), &name)?;
                sweep.note(self, path, "its owner or mode had been changed", None);
            }
            return Ok(());
        }
        self.replace(path, was, &now, sweep)
    }

    /// Takes `now` to the quarantine and puts `was` in its place.
    pub(super) fn replace(
        &self,
        path: &[u8],
        was: &Node,
        now: &Node,
        sweep: &mut Sweep,
    ) -> io::Result<()> {
        let kept = sweep.keep(self, path, now)?;
        let Some((folder, name)) = self.above(path)? else {
            // What held it is gone, and nothing can be put back without it.
            sweep.note(
                self,
                path,
                "it had been removed with its folder, and is lost",
                None,
            );
            return Ok(());
        };
        Node::remove(folder.as_fd(), &name)?;
        was.make(folder.as_fd(), &name)?;
        let what = match (was, now) {
            (Node::Absent, _) => "the command had made it, and it was taken away",
            (Node::Other { .. }, _) => "the command had changed it, and it could not be put back",
            (_, Node::Absent) => "the command had removed it, and it was put back",
            (_, _) => "the command had changed it, and it was put back",
        };
        sweep.note(self, path, what, kept);
        Ok(())
    }
}

impl Sweep {
    pub(super) fn new(quarantine: PathBuf) -> Self {
        Self {
            quarantine,
            found: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, place: &Place, path: &[u8], what: &str, kept: Option<PathBuf>) {
        self.found.push(Swept {
            path: place.path.join_bytes(path).to_string(),
            what: what.to_owned(),
            kept: kept.map(|kept| Escaped(kept.as_os_str().as_bytes()).to_string()),
        });
    }

    /// Copies `node` to the quarantine, readable by us alone and never executable.
    fn keep(&self, place: &Place, path: &[u8], node: &Node) -> io::Result<Option<PathBuf>> {
        if *node == Node::Absent {
            return Ok(None);
        }
        let path = place.path.join_bytes(path);
        let name = path.as_bytes().strip_prefix(b"/").unwrap_or_default();
        let at = self.quarantine.join(Path::new(OsStr::from_bytes(name)));
        copy(node, &at)?;
        Ok(Some(at))
    }
}

fn copy(node: &Node, at: &Path) -> io::Result<()> {
    let folder = |path: &Path| {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
    };
    if let Some(above) = at.parent() {
        folder(above)?;
    }
    match node {
        Node::Absent => {}
        Node::File { content, .. } => write(at, &content.0)?,
        Node::Link { text } => write(at, &[b"link to ", text.0.as_slice(), b"\n"].concat())?,
        Node::Other { size, .. } => {
            write(
                at,
                format!("not kept: no file of text or folder, or too large ({size} bytes)\n")
                    .as_bytes(),
            )?;
        }
        Node::Folder { entries, .. } => {
            folder(at)?;
            for (Bytes(name), node) in entries {
                copy(node, &at.join(OsStr::from_bytes(name)))?;
            }
        }
    }
    Ok(())
}

fn write(at: &Path, content: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    io::Write::write_all(&mut options.open(at)?, content)
}
