//! The environment of a run: one value, fixed before judging, used by resolve, object and exec alike.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::path::AbsolutePath;

/// Variables by name, in byte order so that equal environments have equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<Vec<u8>, Vec<u8>>);

impl Environment {
    /// The value of `name`.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Sets `name`. A name that is empty or holds `=` or NUL, or a value that holds NUL, names nothing
    /// the kernel could pass on (environ(7)) and is left out.
    pub fn set(&mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let (name, value) = (name.into(), value.into());
        let possible = !name.is_empty()
            && !name.iter().any(|byte| matches!(byte, b'=' | 0))
            && !value.contains(&0);
        if possible {
            self.0.insert(name, value);
        }
    }

    /// Takes `name` away; true if it was there.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        self.0.remove(name).is_some()
    }

    /// Names and values in byte order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_slice()))
    }

    /// `NAME=value` entries as execve(2) takes them, without the final NUL.
    pub fn entries(&self) -> Vec<Vec<u8>> {
        self.iter()
            .map(|(name, value)| [name, b"=", value].concat())
            .collect()
    }

    /// The folders of `PATH`, in order. The fixed environment holds absolute parts only; any other is
    /// passed over.
    pub fn path_folders(&self) -> Vec<AbsolutePath> {
        self.get(b"PATH")
            .unwrap_or_default()
            .split(|byte| *byte == b':')
            .filter_map(|part| AbsolutePath::new(Path::new(OsStr::from_bytes(part))).ok())
            .collect()
    }

    /// The home folder, when `HOME` names one.
    pub fn home(&self) -> Option<AbsolutePath> {
        AbsolutePath::new(Path::new(OsStr::from_bytes(self.get(b"HOME")?))).ok()
    }
}

impl FromIterator<(Vec<u8>, Vec<u8>)> for Environment {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, Vec<u8>)>>(pairs: I) -> Self {
        let mut environment = Self::default();
        for (name, value) in pairs {
            environment.set(name, value);
        }
        environment
    }
}
