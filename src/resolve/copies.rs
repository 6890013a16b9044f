//! Copies: a program that is denied by name stays denied under another name.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use super::identity::Depth;
use super::{Pinned, Resolver};
use crate::model::access::Resolved;
use crate::model::digest::Digest;
use crate::model::executable::{Executable, Trust};

impl Resolver {
    /// Notes which of `names`, the programs that deny and ask rules name, have the very content of a
    /// file of the line that is not trusted: a byte-for-byte copy, or a hard link under another name.
    ///
    /// A trusted file is never taken for a copy: siblings that share one content by design (busybox,
    /// git's links, rustup's proxies) lie there. Only candidates of equal size are hashed.
    pub fn note_copies(&self, pinned: &mut Pinned, names: &[Vec<u8>]) {
        pinned.resolved.copies = self.copies(&pinned.resolved, names);
    }

    /// The same as a value.
    pub fn copies(&self, resolved: &Resolved, names: &[Vec<u8>]) -> BTreeMap<Digest, Vec<Vec<u8>>> {
        let mut copies = BTreeMap::<_, Vec<Vec<u8>>>::new();
        let suspects: Vec<&Executable> = resolved
            .lookups
            .iter()
            .filter_map(|lookup| lookup.executable())
            .filter(|file| file.trust != Trust::Trusted)
            .collect();
        if suspects.is_empty() {
            return copies;
        }
        for name in names {
            let Ok(path) = self.locate(name, None) else {
                continue;
            };
            let size = std::fs::metadata(path.as_path()).map(|file| file.size());
            let same_size = |file: &&Executable| size.as_ref().is_ok_and(|size| *size == file.size);
            if !suspects.iter().any(same_size) {
                continue;
            }
            let Ok(named) = self.identify(&path, None, Depth::default()) else {
                continue;
            };
            let digest = named.executable.digest;
            if suspects.iter().any(|file| file.digest == digest) {
                copies.entry(digest).or_default().push(name.clone());
            }
        }
        copies
    }
}
