//! The user whose rights decide which file a name reaches.

use std::ffi::CString;
use std::fs;

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::stat::{FileStat, SFlag};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, User, faccessat, getegid, geteuid, getgrouplist, getgroups};

use super::follow::{End, Trail, kind};
use crate::model::path::AbsolutePath;

/// Who the command runs as.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) uid: u32,
    groups: Vec<u32>,
    /// The kernel can answer for us: we are this user and hold no capability that the command lacks.
    same: bool,
}

impl Subject {
    pub(super) fn new(uid: u32) -> Self {
        let own = geteuid().as_raw() == uid;
        Self {
            uid,
            groups: groups(uid, own),
            same: own && uid != 0,
        }
    }

    /// Whether the permission bits let this user execute a file or search a folder. Uid 0 runs without
    /// capabilities, so the bits hold for it too. Access lists show in the group bits only (acl(5)).
    fn may_execute(&self, stat: &FileStat) -> bool {
        let shift = if stat.st_uid == self.uid {
            6
        } else if self.groups.contains(&stat.st_gid) {
            3
        } else {
            0
        };
        (stat.st_mode >> shift) & 1 == 1
    }

    /// Whether every folder on the way can be searched. execve(2) fails with EACCES otherwise, and a
    /// PATH search goes on.
    pub(super) fn reaches(&self, trail: &Trail) -> bool {
        self.same
            || trail
                .steps
                .iter()
                .filter(|step| kind(&step.stat) == SFlag::S_IFDIR && step.path != trail.real)
                .all(|step| self.may_execute(&step.stat))
    }

    /// Whether the file at the end of the way may be executed by this user, where it is mounted.
    pub(super) fn executes(&self, path: &AbsolutePath, stat: &FileStat) -> bool {
        if self.same {
            // Effective ids, as execve(2) uses them; includes access lists and noexec mounts.
            let flags = AtFlags::AT_EACCESS;
            return faccessat(AT_FDCWD, path.as_path(), AccessFlags::X_OK, flags).is_ok();
        }
        let noexec =
            statvfs(path.as_path()).is_ok_and(|mount| mount.flags().contains(FsFlags::ST_NOEXEC));
        self.may_execute(stat) && !noexec
    }

    /// Whether a PATH search of this user stops at this file.
    pub(super) fn runs(&self, trail: &Trail) -> bool {
        match &trail.end {
            End::Found(stat) => {
                kind(stat) == SFlag::S_IFREG
                    && self.reaches(trail)
                    && self.executes(&trail.real, stat)
            }
            End::Missing(_) | End::Unknowable => false,
        }
    }
}

fn groups(uid: u32, own: bool) -> Vec<u32> {
    if own {
        let mut groups: Vec<u32> = getgroups()
            .unwrap_or_default()
            .into_iter()
            .map(nix::unistd::Gid::as_raw)
            .collect();
        groups.push(getegid().as_raw());
        return groups;
    }
    let Ok(Some(user)) = User::from_uid(uid.into()) else {
        return Vec::new();
    };
    let listed = CString::new(user.name)
        .ok()
        .and_then(|name| getgrouplist(&name, user.gid).ok());
    listed.map_or_else(
        || vec![user.gid.as_raw()],
        |groups| groups.into_iter().map(nix::unistd::Gid::as_raw).collect(),
    )
}

/// Home folders of every account of the host, from passwd(5) and the caller's own entry, which may
/// come from elsewhere (nsswitch.conf(5)).
pub(super) fn homes() -> Vec<AbsolutePath> {
    let listed = fs::read("/etc/passwd").unwrap_or_default();
    let mut homes: Vec<AbsolutePath> = listed
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b':').nth(5))
        .filter(|home| home.starts_with(b"/"))
        .filter_map(|home| {
            use std::os::unix::ffi::OsStrExt as _;
            AbsolutePath::new(std::ffi::OsStr::from_bytes(home)).ok()
        })
        .collect();
    if let Ok(Some(user)) = User::from_uid(geteuid()) {
        homes.extend(AbsolutePath::new(user.dir));
    }
    homes
}
