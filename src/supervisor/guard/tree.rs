//! Files and folders as values: read, compared, and put back.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmod, fchmodat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fchownat, symlinkat, unlinkat};
use serde::{Deserialize, Serialize};

/// The most that is kept of one guarded path; of what is larger only that it is there.
const MOST: usize = 8 << 20;
/// How deep folders may nest.
const DEPTH: usize = 16;

/// Bytes that a file of text can hold: each as the character of its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        bytes.0.into_iter().map(char::from).collect()
    }
}

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        Self(text.chars().map(|one| one as u8).collect())
    }
}

/// Who owns a file, and its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    mode: u32,
    uid: u32,
    gid: u32,
}

/// What stands at a name. Links are never followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Node {
    Absent,
    File {
        owner: Owner,
        content: Bytes,
    },
    Link {
        text: Bytes,
    },
    Folder {
        owner: Owner,
        entries: BTreeMap<Bytes, Node>,
    },
    /// A device, pipe or socket, or more than is kept.
    Other {
        size: u64,
        modified: i64,
    },
}

impl Node {
    /// What stands at `name` in `folder`. Entries of folders for which `passes` says so are left out.
    pub(super) fn read(
        folder: BorrowedFd<'_>,
        name: &CStr,
        passes: &dyn Fn(&[u8]) -> bool,
    ) -> io::Result<Self> {
        let mut left = MOST;
        read(folder, name, passes, &mut left, DEPTH)
    }

    /// Makes it where nothing stands.
    pub(super) fn make(&self, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        match self {
            Self::Absent | Self::Other { .. } => {}
            Self::Link { text } => symlinkat(OsStr::from_bytes(&text.0), folder, name)?,
            Self::File { owner, content } => {
                let flags = OFlag::O_WRONLY
                    | OFlag::O_CREAT
                    | OFlag::O_EXCL
                    | OFlag::O_NOFOLLOW
                    | OFlag::O_CLOEXEC;
                let file = openat(folder, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
                let mut file = File::from(file);
                file.write_all(&content.0)?;
                fchown(
                    &file,
                    Some(Uid::from_raw(owner.uid)),
                    Some(Gid::from_raw(owner.gid)),
                )?;
                fchmod(&file, Mode::from_bits_truncate(owner.mode))?;
            }
            Self::Folder { owner, entries } => {
                mkdirat(folder, name, Mode::S_IRWXU)?;
                let made = open_folder(folder, name)?;
                for (name, node) in entries {
                    node.make(made.as_fd(), &c_string(&name.0)?)?;
                }
                owner.restore(folder, name)?;
            }
        }
        Ok(())
    }

    /// Takes away what stands at `name`.
    pub(super) fn remove(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        match unlinkat(folder, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => return Ok(()),
            Err(Errno::EISDIR | Errno::EPERM) => {}
            Err(errno) => return Err(errno.into()),
        }
        let inner = open_folder(folder, name)?;
        fchmod(&inner, Mode::S_IRWXU)?;
        for name in names(inner.as_fd())? {
            Self::remove(inner.as_fd(), &name)?;
        }
        unlinkat(folder, name, UnlinkatFlags::RemoveDir)?;
        Ok(())
    }
}

impl Owner {
    pub(super) fn restore(self, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        fchownat(
            folder,
            name,
            Some(uid),
            Some(gid),
            AtFlags::AT_SYMLINK_NOFOLLOW,
        )?;
        let mode = Mode::from_bits_truncate(self.mode);
        fchmodat(folder, name, mode, FchmodatFlags::FollowSymlink)?;
        Ok(())
    }
}

fn read(
    folder: BorrowedFd<'_>,
    name: &CStr,
    passes: &dyn Fn(&[u8]) -> bool,
    left: &mut usize,
    depth: usize,
) -> io::Result<Node> {
    let found = match fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(Node::Absent),
        Err(errno) => return Err(errno.into()),
    };
    let owner = Owner {
        mode: found.st_mode & 0o7777,
        uid: found.st_uid,
        gid: found.st_gid,
    };
    let size = u64::try_from(found.st_size).unwrap_or_default();
    let other = Node::Other {
        size,
        modified: found.st_mtime,
    };
    let kind = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT;
    if kind == SFlag::S_IFLNK {
        let text = readlinkat(folder, name)?;
        let text = Bytes(text.as_bytes().to_vec());
        return Ok(Node::Link { text });
    }
    if kind == SFlag::S_IFREG && usize::try_from(size).is_ok_and(|size| size <= *left) {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let mut content = Vec::new();
        let file = File::from(openat(folder, name, flags, Mode::empty())?);
        file.take(*left as u64 + 1).read_to_end(&mut content)?;
        *left = left.saturating_sub(content.len());
        let content = Bytes(content);
        return Ok(Node::File { owner, content });
    }
    if kind == SFlag::S_IFDIR && depth > 0 {
        let inner = open_folder(folder, name)?;
        let mut entries = BTreeMap::new();
        for name in names(inner.as_fd())? {
            if !passes(name.to_bytes()) {
                let node = read(inner.as_fd(), &name, passes, left, depth - 1)?;
                entries.insert(Bytes(name.to_bytes().to_vec()), node);
            }
        }
        return Ok(Node::Folder { owner, entries });
    }
    Ok(other)
}

pub(super) fn open_folder(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<std::os::fd::OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

/// The names in a folder but `.` and `..`.
pub(super) fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let own = openat(
        folder,
        c".",
        OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    let mut names = Vec::new();
    for entry in Dir::from_fd(own)?.iter() {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

pub(super) fn c_string(name: &[u8]) -> io::Result<CString> {
    CString::new(name).map_err(io::Error::other)
}
