//! The state folder: opened without following a link, refused unless it is ours alone.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::geteuid;

use super::LOG;
use super::error::AuditError;
use crate::model::path::AbsolutePath;

/// Name of the key for secrets.
const KEY: &str = "scrub.key";
/// Where a new key is written before it gets its name whole.
const NEW_KEY: &str = "scrub.key.new";

/// The open state folder.
#[derive(Debug)]
pub(super) struct Folder {
    dir: OwnedFd,
    path: AbsolutePath,
}

impl Folder {
    /// Opens the folder, which must exist.
    pub(super) fn open(state: &AbsolutePath) -> Result<Self, AuditError> {
        let failed = |source: io::Error| AuditError::Folder {
            path: state.clone(),
            source,
        };
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let dir = match open(state.as_path(), flags, Mode::empty()) {
            Ok(dir) => dir,
            // A link is no folder to O_NOFOLLOW. open(2)
            Err(Errno::ELOOP | Errno::ENOTDIR) if state.as_path().is_symlink() => {
                return Err(refused(state, "it is a symbolic link"));
            }
            Err(errno) => return Err(failed(errno.into())),
        };
        let stat = fstat(&dir).map_err(|errno| failed(errno.into()))?;
        check(state, &stat)?;
        Ok(Self {
            dir,
            path: state.clone(),
        })
    }

    /// Opens the folder and makes it first when it is absent.
    pub(super) fn create(state: &AbsolutePath) -> Result<Self, AuditError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(state);
        match (made, Self::open(state)) {
            (_, Ok(folder)) => Ok(folder),
            // What stands there says more than that nothing could be made there.
            (Err(source), Err(AuditError::Folder { path, .. })) => {
                Err(AuditError::Folder { path, source })
            }
            (Ok(()) | Err(_), Err(error)) => Err(error),
        }
    }

    /// Path of the log.
    pub(super) fn log_path(&self) -> AbsolutePath {
        self.path.join(LOG)
    }

    /// Opens the log for appending and reading; makes it when it is absent.
    pub(super) fn log(&self) -> Result<File, AuditError> {
        self.file(LOG, OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_CREAT)
    }

    /// Opens the log for reading.
    pub(super) fn log_to_read(&self) -> Result<File, AuditError> {
        self.file(LOG, OFlag::O_RDONLY)
    }

    /// Makes names in the folder durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        nix::unistd::fsync(&self.dir).map_err(io::Error::from)
    }

    /// Whether the name of the log still leads to `log`.
    pub(super) fn holds(&self, log: &File) -> bool {
        let flags = nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW;
        let named = nix::sys::stat::fstatat(self.dir.as_fd(), LOG, flags);
        match (named, fstat(log)) {
            (Ok(named), Ok(held)) => (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
        }
    }

    /// The key for secrets, made when it is absent. The caller holds the lock of the log, so that two
    /// processes do not make two keys.
    pub(super) fn key(&self) -> Result<[u8; 32], AuditError> {
        match self.file(KEY, OFlag::O_RDONLY) {
            Ok(file) => self.read_key(file),
            Err(AuditError::Missing { .. }) => {
                let key = self.new_key().map_err(|source| self.key_error(source))?;
                Ok(key)
            }
            Err(error) => Err(error),
        }
    }

    fn read_key(&self, file: File) -> Result<[u8; 32], AuditError> {
        let mut key = Vec::new();
        file.take(64)
            .read_to_end(&mut key)
            .map_err(|source| self.key_error(source))?;
        key.try_into().map_err(|_| {
            self.key_error(io::Error::new(
                io::ErrorKind::InvalidData,
                "it does not hold 32 bytes",
            ))
        })
    }

    fn new_key(&self) -> io::Result<[u8; 32]> {
        let mut key = [0u8; 32];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        let flags = OFlag::O_WRONLY
            | OFlag::O_CREAT
            | OFlag::O_TRUNC
            | OFlag::O_NOFOLLOW
            | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(&self.dir, NEW_KEY, flags, private())?);
        file.write_all(&key)?;
        file.sync_all()?;
        renameat(&self.dir, NEW_KEY, &self.dir, KEY)?;
        Ok(key)
    }

    fn key_error(&self, source: io::Error) -> AuditError {
        AuditError::Key {
            path: self.path.join(KEY),
            source,
        }
    }

    fn file(&self, name: &str, flags: OFlag) -> Result<File, AuditError> {
        let path = self.path.join(name);
        // O_NONBLOCK: should a pipe stand there, open(2) must not wait.
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let read = |errno: Errno| AuditError::Read {
            path: path.clone(),
            source: errno.into(),
        };
        let file = match openat(&self.dir, name, flags, private()) {
            Ok(file) => file,
            Err(Errno::ENOENT) => return Err(AuditError::Missing { path }),
            Err(Errno::ELOOP) => return Err(refused(&path, "it is a symbolic link")),
            Err(errno) => return Err(read(errno)),
        };
        let stat = fstat(&file).map_err(read)?;
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(refused(&path, "it is not a regular file"));
        }
        if stat.st_nlink > 1 {
            return Err(refused(&path, "it has a second name (hard link)"));
        }
        check(&path, &stat)?;
        Ok(File::from(file))
    }
}

fn private() -> Mode {
    Mode::S_IRUSR | Mode::S_IWUSR
}

fn refused(path: &AbsolutePath, why: &'static str) -> AuditError {
    AuditError::Refused {
        path: path.clone(),
        why,
    }
}

/// Ours, and nobody else can write it.
fn check(path: &AbsolutePath, stat: &FileStat) -> Result<(), AuditError> {
    if stat.st_uid != geteuid().as_raw() {
        return Err(refused(path, "it belongs to another user"));
    }
    if stat.st_mode & 0o022 != 0 {
        return Err(refused(path, "others can write it"));
    }
    Ok(())
}
