//! Changes a policy file in place: whole or not at all, and never over somebody else's change.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};

use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::unistd::{Gid, Uid, fchown};

use super::{LayerError, Owner, is_absent, limited};
use crate::model::path::AbsolutePath;

/// Mode of a policy that was not there before.
const NEW: u32 = 0o600;

/// A policy file about to be changed. While this value lives no other tipstaff changes a file of its
/// folder (flock(2) on the folder).
#[derive(Debug)]
pub struct Edit {
    /// The file itself: where links led to.
    path: AbsolutePath,
    old: Option<Old>,
    folder: Flock<File>,
}

#[derive(Debug)]
struct Old {
    text: String,
    mode: u32,
    uid: u32,
    gid: u32,
}

impl Edit {
    /// Takes the file; its folder is made when it is absent, so that there is something to hold.
    ///
    /// # Errors
    ///
    /// The file is there and may not be used as a policy, or its folder cannot be made or held.
    pub fn open(path: &AbsolutePath) -> Result<Self, LayerError> {
        let failed = |source| LayerError::Unwritable {
            path: path.clone(),
            source,
        };
        // A link is followed and stays: people keep their settings elsewhere.
        let path = &match std::fs::read_link(path) {
            Ok(_) => followed(path).map_err(failed)?,
            Err(_) => path.clone(),
        };
        let above = path
            .parent()
            .ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&above)
            .map_err(failed)?;
        let folder = File::open(&above).map_err(failed)?;
        let folder = Flock::lock(folder, FlockArg::LockExclusive)
            .map_err(|(_, errno)| failed(io::Error::from(errno)))?;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path);
        let old = match opened {
            Ok(file) => Some(old(path, &file)?),
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(failed(error)),
        };
        Ok(Self {
            path: path.clone(),
            old,
            folder,
        })
    }

    /// The text as it stands; `None` when there is no such file.
    pub fn text(&self) -> Option<&str> {
        self.old.as_ref().map(|old| old.text.as_str())
    }

    /// Puts `text` in its place: written beside it, flushed, and renamed over it (rename(2)). Mode and
    /// owner stay.
    ///
    /// # Errors
    ///
    /// It cannot be written, or somebody changed the file meanwhile.
    pub fn replace(self, text: &str) -> Result<(), LayerError> {
        let failed = |source| LayerError::Unwritable {
            path: self.path.clone(),
            source,
        };
        let name = String::from_utf8_lossy(self.path.base_name()).into_owned();
        let above = self
            .path
            .parent()
            .ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let beside = above.join(format!(".{name}.{}.new", std::process::id()));
        let written = self
            .write(&beside, text)
            .and_then(|()| self.unchanged())
            .and_then(|()| std::fs::rename(&beside, &self.path))
            // The name is as lasting as the content only once the folder is. fsync(2)
            .and_then(|()| self.folder.sync_all());
        if written.is_err() {
            std::fs::remove_file(&beside).ok();
        }
        written.map_err(failed)
    }

    fn write(&self, beside: &AbsolutePath, text: &str) -> io::Result<()> {
        // One left behind by a process of our number that died.
        std::fs::remove_file(beside).ok();
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(NEW)
            .open(beside)?;
        if let Some(old) = &self.old {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (old.uid, old.gid) {
                let owner = (Uid::from_raw(old.uid), Gid::from_raw(old.gid));
                fchown(&file, Some(owner.0), Some(owner.1))?;
            }
            file.set_permissions(Permissions::from_mode(old.mode))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// An editor knows nothing of our lock.
    fn unchanged(&self) -> io::Result<()> {
        let now = match std::fs::read_to_string(&self.path) {
            Ok(text) => Some(text),
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(error),
        };
        if now.as_deref() == self.text() {
            Ok(())
        } else {
            Err(io::Error::other("it was changed meanwhile"))
        }
    }
}

/// The kernel's own word on where a link leads (proc(5)).
fn followed(link: &AbsolutePath) -> io::Result<AbsolutePath> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(link)?;
    let leads = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    AbsolutePath::new(leads).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn old(path: &AbsolutePath, file: &File) -> Result<Old, LayerError> {
    let metadata = file.metadata().map_err(|source| LayerError::Unreadable {
        path: path.clone(),
        source,
    })?;
    if !metadata.is_file() {
        return Err(LayerError::NotAFile { path: path.clone() });
    }
    super::check(path, &metadata, Owner::Any)?;
    let text = String::from_utf8(limited(file, path)?).map_err(|error| LayerError::NotText {
        path: path.clone(),
        at: error.utf8_error().valid_up_to(),
    })?;
    Ok(Old {
        text,
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        gid: metadata.gid(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::Edit;
    use crate::model::path::AbsolutePath;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_through_its_link() {
        let top = std::env::temp_dir().join(format!("tipstaff-edit-{}", std::process::id()));
        let path = AbsolutePath::new(top.join("new/policy.toml")).unwrap();
        let edit = Edit::open(&path).unwrap();
        assert_eq!(edit.text(), None);
        edit.replace("version = 1\n").unwrap();
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(path.as_path()) & 0o7777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("new/policy.toml", top.join("link.toml")).unwrap();
        let link = AbsolutePath::new(top.join("link.toml")).unwrap();
        let edit = Edit::open(&link).unwrap();
        assert_eq!(edit.text(), Some("version = 1\n"));
        edit.replace("version = 1\n# more\n").unwrap();
        assert!(top.join("link.toml").is_symlink());
        assert_eq!(mode(path.as_path()) & 0o7777, 0o640);
        let edit = Edit::open(&path).unwrap();
        std::fs::write(&path, "# somebody else\n").unwrap();
        assert!(edit.replace("version = 1\n").is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# somebody else\n");
        assert_eq!(std::fs::read_dir(top.join("new")).unwrap().count(), 1);
        std::fs::remove_dir_all(&top).unwrap();
    }
}
