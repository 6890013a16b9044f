//! The private temporary folder of a run.

use std::fs::{self, DirBuilder, Permissions};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid};

use crate::model::path::AbsolutePath;
use crate::model::profile::Identity;

use super::error::SandboxError;

/// A folder of mode 0700 that belongs to the user the command runs as, and goes away with everything
/// in it when this value does. What TMPDIR of the run names.
#[derive(Debug)]
pub struct Temporary {
    path: AbsolutePath,
    folder: OwnedFd,
}

impl Temporary {
    /// Makes a fresh one in `base`, for a command that will run as `identity`.
    pub fn create(base: &AbsolutePath, identity: &Identity) -> Result<Self, SandboxError> {
        let failed = |source: std::io::Error| SandboxError::Temporary {
            base: base.clone(),
            source,
        };
        let path = base.join(format!("tipstaff-{}", uuid::Uuid::now_v7().simple()));
        DirBuilder::new()
            .mode(0o700)
            .create(path.as_path())
            .map_err(failed)?;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = open(path.as_path(), flags, Mode::empty()).and_then(|folder| {
            match identity {
                Identity::Unchanged | Identity::RootWithoutCapabilities => {}
                Identity::User { uid, gid, .. } => nix::unistd::fchownat(
                    &folder,
                    "",
                    Some(Uid::from_raw(*uid)),
                    Some(Gid::from_raw(*gid)),
                    nix::fcntl::AtFlags::AT_EMPTY_PATH,
                )?,
            }
            Ok(folder)
        });
        match opened {
            Ok(folder) => Ok(Self { path, folder }),
            Err(errno) => {
                fs::remove_dir(path.as_path()).ok();
                Err(failed(errno.into()))
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &AbsolutePath {
        &self.path
    }
}

impl AsFd for Temporary {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl Drop for Temporary {
    /// Removes the folder. Everything that could write it is dead by then; a folder the command left
    /// without permissions is opened up and tried again, and what still stays is left to the system's
    /// own cleaning.
    fn drop(&mut self) {
        if fs::remove_dir_all(self.path.as_path()).is_err() {
            open_up(self.path.as_path());
            fs::remove_dir_all(self.path.as_path()).ok();
        }
    }
}

fn open_up(folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o700)).ok();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // The kind of the entry itself: a link is not followed.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::Temporary;
    use crate::model::path::AbsolutePath;
    use crate::model::profile::Identity;

    #[test]
    fn it_is_private_and_leaves_nothing() {
        let base = AbsolutePath::new(std::env::temp_dir()).unwrap();
        let temporary = Temporary::create(&base, &Identity::Unchanged).unwrap();
        let path = temporary.path().as_path().to_path_buf();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "").unwrap();
        fs::set_permissions(path.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        drop(temporary);
        assert!(!path.exists());
    }
}
