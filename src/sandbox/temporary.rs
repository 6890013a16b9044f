//! The private temporary folder of a run.
//!
//! It lies in a folder of our own, `tipstaff-UID` of the system's temporary folder, and is locked
//! (flock(2)) as long as its supervisor lives. What a killed supervisor left behind is unlocked, and the
//! next run takes it away.

use std::fs::{self, DirBuilder, Permissions};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag, open, openat};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{Gid, Uid, geteuid};

use crate::model::path::AbsolutePath;
use crate::model::profile::Identity;

use super::error::SandboxError;

/// How often a folder is made anew when somebody takes it away before it is locked.
const ATTEMPTS: usize = 8;
/// Folders deeper than this that the command left without permissions stay for the system's cleaning.
const DEEPEST: usize = 128;

/// A folder of mode 0700 that belongs to the user the command runs as, and goes away with everything
/// in it when this value does. What TMPDIR of the run names.
#[derive(Debug)]
pub struct Temporary {
    path: AbsolutePath,
    folder: Flock<OwnedFd>,
}

impl Temporary {
    /// Makes a fresh one below `base`, for a command that will run as `identity`.
    pub fn create(base: &AbsolutePath, identity: &Identity) -> Result<Self, SandboxError> {
        let failed = |source: std::io::Error| SandboxError::Temporary {
            base: base.clone(),
            source,
        };
        let (parent, prefix) = match own_parent(base) {
            Some(parent) => {
                sweep(parent.as_path());
                (parent, "")
            }
            // Somebody else has that name: side by side with everybody's files it is as private.
            None => (base.clone(), "tipstaff-"),
        };
        for _ in 0..ATTEMPTS {
            let path = parent.join(format!("{prefix}{}", uuid::Uuid::now_v7().simple()));
            DirBuilder::new()
                .mode(0o700)
                .create(path.as_path())
                .map_err(failed)?;
            match claim(&path, identity) {
                Ok(Some(folder)) => return Ok(Self { path, folder }),
                Ok(None) => {}
                Err(errno) => {
                    fs::remove_dir(path.as_path()).ok();
                    return Err(failed(errno.into()));
                }
            }
        }
        Err(failed(Errno::EAGAIN.into()))
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
    /// Removes the folder; everything that could write it is dead by then.
    fn drop(&mut self) {
        remove(self.path.as_path(), self.folder.as_fd());
    }
}

/// `tipstaff-UID` below `base`, made when absent: passable, so that a command that runs as another user
/// reaches its own, but not readable. `None` when it is not ours alone.
fn own_parent(base: &AbsolutePath) -> Option<AbsolutePath> {
    let uid = geteuid().as_raw();
    let parent = base.join(format!("tipstaff-{uid}"));
    DirBuilder::new().mode(0o711).create(parent.as_path()).ok();
    let found = fs::symlink_metadata(parent.as_path()).ok()?;
    (found.is_dir() && found.uid() == uid && found.mode() & 0o022 == 0).then_some(parent)
}

/// Opens and locks a folder that was just made, and gives it to its user. `None` when a sweep of another
/// run came in between.
fn claim(path: &AbsolutePath, identity: &Identity) -> Result<Option<Flock<OwnedFd>>, Errno> {
    let Some(folder) = lock(path.as_path())? else {
        return Ok(None);
    };
    if fstat(&*folder)?.st_nlink == 0 {
        return Ok(None);
    }
    match identity {
        Identity::Unchanged | Identity::RootWithoutCapabilities => {}
        Identity::User { uid, gid, .. } => {
            let owner = (Some(Uid::from_raw(*uid)), Some(Gid::from_raw(*gid)));
            nix::unistd::fchown(folder.as_fd(), owner.0, owner.1)?;
        }
    }
    Ok(Some(folder))
}

/// The folder, locked; `None` when it is gone or somebody else's run holds it.
fn lock(path: &Path) -> Result<Option<Flock<OwnedFd>>, Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let folder = match open(path, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::ENOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
        Ok(locked) => Ok(Some(locked)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno),
    }
}

/// Takes away what killed supervisors left. What cannot be taken away is left to the system's cleaning.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path: PathBuf = entry.path();
        if let Ok(Some(folder)) = lock(&path) {
            remove(&path, folder.as_fd());
        }
    }
}

/// Removes `path`, which `folder` is open on. A folder the command left without permissions is opened
/// up and tried again.
fn remove(path: &Path, folder: BorrowedFd<'_>) {
    if fs::remove_dir_all(path).is_err() {
        open_up(folder, DEEPEST);
        fs::remove_dir_all(path).ok();
    }
}

/// Gives `folder` and those below it back their permissions, by descriptor: a link put in place of one of
/// them is not followed.
fn open_up(folder: BorrowedFd<'_>, deeper: usize) {
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    fs::set_permissions(&path, Permissions::from_mode(0o700)).ok();
    if deeper == 0 {
        return;
    }
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(below) = openat(folder, entry.file_name().as_os_str(), flags, Mode::empty())
        {
            open_up(below.as_fd(), deeper - 1);
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

    #[test]
    fn what_a_killed_supervisor_left_is_taken_away_and_what_lives_stays() {
        let base = AbsolutePath::new(
            std::env::temp_dir().join(format!("tipstaff-sweep-{}", std::process::id())),
        )
        .unwrap();
        fs::create_dir(base.as_path()).unwrap();
        let alive = Temporary::create(&base, &Identity::Unchanged).unwrap();
        let left = alive.path().join("../left");
        fs::create_dir_all(left.as_path().join("a")).unwrap();
        fs::set_permissions(left.as_path().join("a"), Permissions::from_mode(0o000)).unwrap();
        let next = Temporary::create(&base, &Identity::Unchanged).unwrap();
        assert!(!left.as_path().exists());
        assert!(alive.path().as_path().is_dir() && next.path().as_path().is_dir());
        drop((alive, next));
        let parent = base.join(format!("tipstaff-{}", nix::unistd::geteuid()));
        assert_eq!(fs::read_dir(parent.as_path()).unwrap().count(), 0);
        // A name that somebody else could write is not used.
        fs::set_permissions(parent.as_path(), Permissions::from_mode(0o777)).unwrap();
        let aside = Temporary::create(&base, &Identity::Unchanged).unwrap();
        assert_eq!(aside.path().parent(), Some(base.clone()));
        drop(aside);
        fs::remove_dir_all(base.as_path()).unwrap();
    }

    #[test]
    fn a_link_in_place_of_a_folder_is_not_followed() {
        let base = AbsolutePath::new(std::env::temp_dir()).unwrap();
        let temporary = Temporary::create(&base, &Identity::Unchanged).unwrap();
        let outside = Temporary::create(&base, &Identity::Unchanged).unwrap();
        fs::set_permissions(outside.path().as_path(), Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink(outside.path(), temporary.path().join("link")).unwrap();
        super::open_up(std::os::fd::AsFd::as_fd(&temporary), super::DEEPEST);
        assert_eq!(fs::metadata(outside.path()).unwrap().mode() & 0o777, 0o750);
    }
}
