//! Dynamic loaders: executed, they run any file they are given, of which no exec tells.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::model::digest::Digest;
use crate::model::executable::Executable;
use crate::model::path::AbsolutePath;
use crate::resolve::Resolver;

/// Where they lie. ld.so(8)
const FOLDERS: [&str; 8] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/local/lib",
    "/usr/local/musl/lib",
];

/// The content of every loader of this host.
#[derive(Debug, Default)]
pub(super) struct Loaders(Vec<Digest>);

impl Loaders {
    /// Whether a file is one by its name, as found or after links.
    pub(super) fn names(file: &Executable) -> bool {
        file.base_names().into_iter().any(is_loader)
    }

    /// Reads them, to tell copies of them.
    pub(super) fn find(resolver: &Resolver) -> Self {
        let mut digests: Vec<Digest> = FOLDERS
            .into_iter()
            .flat_map(|folder| std::fs::read_dir(Path::new(folder)).into_iter().flatten())
            .flatten()
            .filter(|entry| is_loader(entry.file_name().as_bytes()))
            .filter_map(|entry| AbsolutePath::new(entry.path()).ok())
            .filter_map(|path| resolver.executed(&path, None).ok())
            .map(|held| held.executable.digest)
            .collect();
        digests.sort_unstable_by_key(|digest| digest.0);
        digests.dedup();
        Self(digests)
    }

    /// Whether a file has the very content of one.
    pub(super) fn has(&self, file: &Executable) -> bool {
        self.0.contains(&file.digest)
    }
}

/// `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`, `ld-2.31.so`, `ld64.so.2`, `ld.so.1`, and musl's C library,
/// which is its own loader.
fn is_loader(name: &[u8]) -> bool {
    let holds = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    (name.starts_with(b"ld-") || name.starts_with(b"ld64") || name.starts_with(b"ld32"))
        && holds(b".so")
        || name == b"ld.so"
        || name.starts_with(b"ld.so.")
        || name.starts_with(b"libc.musl-")
}

#[cfg(test)]
mod tests {
    use super::is_loader;

    #[test]
    fn loaders_are_known_by_name_and_linkers_are_none() {
        for name in [
            "ld-linux-x86-64.so.2",
            "ld-linux.so.2",
            "ld-linux-aarch64.so.1",
            "ld-musl-x86_64.so.1",
            "ld-2.31.so",
            "ld.so",
            "ld.so.1",
            "ld64.so.2",
            "libc.musl-x86_64.so.1",
        ] {
            assert!(is_loader(name.as_bytes()), "{name}");
        }
        for name in ["ld", "ld.gold", "ld.lld", "ldd", "ldconfig", "libc.so.6"] {
            assert!(!is_loader(name.as_bytes()), "{name}");
        }
    }
}
