//! From a program's name to the path the shell or the kernel would use.

use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use nix::sys::stat::SFlag;
use which::WhichConfig;
use which::sys::{RealSys, Sys};

use super::follow::{End, follow, kind};
use super::identity::Depth;
use super::subject::Subject;
use super::{Held, Resolver};
use crate::model::executable::LookupError;
use crate::model::path::AbsolutePath;
use crate::model::script::Folder;
use crate::model::text::Escaped;

impl Resolver {
    /// Finds, opens and identifies the program `name`, started in `folder`. Built-ins and functions
    /// come before this.
    pub fn find(&self, name: &[u8], folder: &Folder) -> Result<Held, LookupError> {
        let folder = self.folder(folder);
        self.find_from(name, folder.as_ref(), Depth::default())
    }

    pub(super) fn find_from(
        &self,
        name: &[u8],
        folder: Option<&AbsolutePath>,
        depth: Depth,
    ) -> Result<Held, LookupError> {
        let path = self.locate(name, folder)?;
        self.identify(&path, folder, depth)
    }

    /// The folder a sub-command runs in, `None` when only the shell will know. `cd` is lexical by
    /// default, as joining is.
    pub(super) fn folder(&self, folder: &Folder) -> Option<AbsolutePath> {
        match folder {
            Folder::Start => Some(self.cwd.clone()),
            Folder::Moved(path) => Some(self.cwd.join_bytes(path)),
            // The survey puts the home in.
            Folder::Home(_) | Folder::Unknown => None,
        }
    }

    /// The path that `name` stands for: the name itself when it holds a slash, else the first match of
    /// PATH.
    pub(super) fn locate(
        &self,
        name: &[u8],
        folder: Option<&AbsolutePath>,
    ) -> Result<AbsolutePath, LookupError> {
        if !name.contains(&b'/') {
            return self.search(name);
        }
        self.locate_path(name, folder)
    }

    /// The path that `name` stands for, slash or not.
    pub(super) fn locate_path(
        &self,
        name: &[u8],
        folder: Option<&AbsolutePath>,
    ) -> Result<AbsolutePath, LookupError> {
        let not_found = || LookupError::NotFound(Escaped(name).to_string());
        // A trailing slash demands a folder, and a folder is no program.
        if name.ends_with(b"/") {
            return Err(match self.place(name, folder) {
                Some(path) if path.as_path().is_dir() => LookupError::Directory(path),
                Some(_) | None => not_found(),
            });
        }
        self.place(name, folder).ok_or_else(not_found)
    }

    /// `name` seen from `folder`. Where it holds `..` its folder is followed for real: the kernel goes
    /// up from where a link led.
    pub(super) fn place(&self, name: &[u8], folder: Option<&AbsolutePath>) -> Option<AbsolutePath> {
        let base = if name.starts_with(b"/") {
            &self.cwd
        } else {
            folder?
        };
        if !name.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Some(base.join_bytes(name));
        }
        let last = name.iter().rposition(|byte| *byte == b'/')?;
        let (above, last) = name.split_at_checked(last + 1)?;
        Some(match last {
            b"" | b"." | b".." => follow(base, name).real,
            last => follow(base, above).real.join_bytes(last),
        })
    }

    fn search(&self, name: &[u8]) -> Result<AbsolutePath, LookupError> {
        let not_found = || LookupError::NotFound(Escaped(name).to_string());
        if matches!(name, b"" | b"." | b"..") {
            return Err(not_found());
        }
        let folders: Vec<&[u8]> = self.path.iter().map(AbsolutePath::as_bytes).collect();
        if folders.is_empty() {
            return Err(not_found());
        }
        WhichConfig::new_with_sys(Eyes(self.subject.clone()))
            .binary_name(OsStr::from_bytes(name).to_owned())
            .custom_path_list(OsString::from_vec(folders.join(&b':')))
            .first_result()
            .ok()
            .and_then(|path| AbsolutePath::new(path).ok())
            .map_or_else(|| self.first_useless(name).ok_or_else(not_found), Ok)
    }

    /// When no folder of PATH has a program of that name, the shell tries the first file of that name
    /// and fails with 126 instead of 127; `which` cannot tell the two apart. Folders are passed over.
    fn first_useless(&self, name: &[u8]) -> Option<AbsolutePath> {
        self.path.iter().find_map(|folder| {
            let path = folder.join_bytes(name);
            let trail = follow(&path, b"");
            let file = match &trail.end {
                End::Found(stat) => kind(stat) != SFlag::S_IFDIR,
                End::Missing(_) | End::Unknowable => false,
            };
            (file && self.subject.reaches(&trail)).then_some(path)
        })
    }
}

/// The host as `which` may see it: the rights of the user the command runs as, and nothing of our own
/// environment. Its `~` and current-folder rules never apply, since the PATH it gets is absolute.
struct Eyes(Subject);

impl Sys for Eyes {
    type ReadDirEntry = DirEntry;
    type Metadata = Metadata;

    fn is_windows(&self) -> bool {
        false
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn home_dir(&self) -> Option<PathBuf> {
        None
    }

    fn env_split_paths(&self, paths: &OsStr) -> Vec<PathBuf> {
        RealSys.env_split_paths(paths)
    }

    fn env_path(&self) -> Option<OsString> {
        None
    }

    fn env_path_ext(&self) -> Option<OsString> {
        None
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        RealSys.metadata(path)
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata> {
        RealSys.symlink_metadata(path)
    }

    fn read_dir(&self, _path: &Path) -> io::Result<Box<dyn Iterator<Item = io::Result<DirEntry>>>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_valid_executable(&self, path: &Path) -> io::Result<bool> {
        Ok(AbsolutePath::new(path).is_ok_and(|path| self.0.runs(&follow(&path, b""))))
    }
}
