//! A throw-away folder for the tests of this stage.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::model::path::AbsolutePath;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A private folder, removed when dropped.
pub struct Tree {
    pub root: AbsolutePath,
}

impl Tree {
    /// Below the folder for temporary files, which is world-writable: nothing in it is trusted.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    pub fn below(folder: &std::path::Path) -> Self {
        let name = format!(
            "tipstaff-test-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let root = folder.join(name);
        fs::create_dir(&root).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        // The folder for temporary files may itself be a link.
        let real = super::follow::follow(
            &AbsolutePath::new("/").unwrap(),
            root.as_os_str().as_encoded_bytes(),
        )
        .real;
        Self { root: real }
    }

    pub fn path(&self, name: &str) -> AbsolutePath {
        self.root.join(name)
    }

    pub fn folder(&self, name: &str) -> AbsolutePath {
        let mut path = self.root.clone();
        for part in name.split('/') {
            path = path.join(part);
            fs::create_dir_all(&path).unwrap();
            // Whatever the umask of whoever runs the tests.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        path
    }

    pub fn file(&self, name: &str, content: &[u8], mode: u32) -> AbsolutePath {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    pub fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A link called `name` that holds `target`.
    pub fn link(&self, target: &str, name: &str) {
        symlink(target, self.path(name)).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).ok();
    }
}
