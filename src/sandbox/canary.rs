//! A file that anybody may read, outside everything the sandbox grants: that it can no longer be opened
//! proves the file rules.

use std::ffi::{CStr, CString};
use std::fs::{OpenOptions, Permissions};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::model::path::AbsolutePath;

use super::error::SandboxError;

/// The file; it is unlinked with this value.
#[derive(Debug)]
pub(super) struct Canary {
    path: CString,
    file: OwnedFd,
}

impl Canary {
    /// Puts one in the first folder that takes it and lies outside all of `granted`.
    pub(super) fn release<'a>(
        granted: impl Iterator<Item = &'a AbsolutePath> + Clone,
    ) -> Result<Self, SandboxError> {
        let runtime = format!("/run/user/{}", nix::unistd::geteuid());
        let own = std::env::temp_dir();
        let places = ["/tmp", "/var/tmp", "/dev/shm", runtime.as_str()];
        places
            .into_iter()
            .map(Path::new)
            .chain([own.as_path()])
            .filter_map(Self::put)
            .find(|canary| {
                let Ok(real) = canary.real() else {
                    return false;
                };
                !granted.clone().any(|granted| real.is_within(granted))
            })
            .ok_or(SandboxError::NoCanary)
    }

    /// The name is fresh and random, so that nothing can have been granted or planted for it.
    fn put(place: &Path) -> Option<Self> {
        let path: PathBuf = place.join(format!(".tipstaff-{}", uuid::Uuid::now_v7().simple()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o666)
            .open(&path)
            .ok()?;
        let canary = Self {
            path: CString::new(path.into_os_string().into_vec()).ok()?,
            file: file.into(),
        };
        // Whatever the umask: file permissions must not be what refuses it.
        std::fs::File::from(canary.file.try_clone().ok()?)
            .set_permissions(Permissions::from_mode(0o666))
            .ok()?;
        Some(canary)
    }

    fn real(&self) -> std::io::Result<AbsolutePath> {
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let real = std::fs::read_link(link)?;
        AbsolutePath::new(real).map_err(std::io::Error::other)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &CStr {
        &self.path
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // A file that cannot be unlinked is empty and of no use to anybody.
        nix::unistd::unlink(self.path.as_c_str()).ok();
    }
}
