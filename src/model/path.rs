//! Absolute, lexically clean paths.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::text::Escaped;

/// A path that starts at `/`, holds no NUL, no `.`, no `..` and no empty component. Cleaning is
/// lexical: symbolic links are followed by `resolve`, never here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsolutePath(PathBuf);

/// Why a text is no absolute path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// It does not start at `/`.
    #[error("`{0}` is not an absolute path")]
    Relative(String),
    /// It holds a NUL byte, which no path can (path_resolution(7)).
    #[error("`{0}` holds a NUL byte")]
    Nul(String),
}

impl AbsolutePath {
    /// Checks and cleans `path`. `..` takes away the component before it, as `cd -L` does.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, BadPath> {
        let path = path.as_ref();
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(BadPath::Nul(
                Escaped(path.as_os_str().as_bytes()).to_string(),
            ));
        }
        if !path.is_absolute() {
            return Err(BadPath::Relative(
                Escaped(path.as_os_str().as_bytes()).to_string(),
            ));
        }
        Ok(Self(clean(path)))
    }

    /// `path` seen from this folder: an absolute `path` stands for itself.
    pub fn join(&self, path: impl AsRef<Path>) -> Self {
        Self(clean(&self.0.join(path)))
    }

    /// The same for a path given as bytes; bytes after a NUL cannot name a file and are cut.
    pub fn join_bytes(&self, path: &[u8]) -> Self {
        let text = path.split(|byte| *byte == 0).next().unwrap_or_default();
        self.join(Path::new(OsStr::from_bytes(text)))
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }

    /// The folder above, `None` for `/`.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|parent| Self(parent.to_path_buf()))
    }

    /// The last component, empty for `/`.
    pub fn base_name(&self) -> &[u8] {
        self.0
            .file_name()
            .map(|name| name.as_bytes())
            .unwrap_or_default()
    }

    /// Whether this path is `folder` or lies below it, by components.
    pub fn is_within(&self, folder: &Self) -> bool {
        // Both are clean, so the bytes tell: comparing component by component costs ten times as much.
        match self.as_bytes().strip_prefix(folder.as_bytes()) {
            Some(rest) => rest.is_empty() || rest.starts_with(b"/") || folder.as_bytes() == b"/",
            None => false,
        }
    }
}

fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::with_capacity(path.as_os_str().len() + 1);
    cleaned.push("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => cleaned.push(name),
            Component::ParentDir => {
                cleaned.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    cleaned
}

impl AsRef<Path> for AbsolutePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for AbsolutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Escaped(self.as_bytes()), f)
    }
}

impl serde::Serialize for AbsolutePath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::AbsolutePath;

    #[test]
    fn cleans_lexically_and_refuses_relative() {
        let path = AbsolutePath::new("/a/./b/../c//d").unwrap();
        assert_eq!(path.as_bytes(), b"/a/c/d");
        assert_eq!(path.join("../../..").join("../x").as_bytes(), b"/x");
        assert!(AbsolutePath::new("a").is_err());
        assert!(AbsolutePath::new("/a\0b").is_err());
    }

    #[test]
    fn within_goes_by_components() {
        let root = AbsolutePath::new("/srv/a").unwrap();
        assert!(AbsolutePath::new("/srv/a/x").unwrap().is_within(&root));
        assert!(!AbsolutePath::new("/srv/ab").unwrap().is_within(&root));
        assert!(!AbsolutePath::new("/srv").unwrap().is_within(&root));
        assert!(root.is_within(&root));
        assert!(root.is_within(&AbsolutePath::new("/").unwrap()));
    }
}
