//! Where the paths of a line really lead.

use std::collections::BTreeMap;

use super::follow::follow;
use super::{ResolveError, Resolver};
use crate::model::access::{Access, PathAccess, Survey};
use crate::model::path::AbsolutePath;
use crate::model::script::Folder;

impl Resolver {
    /// Follows every path of every access. Accesses are named by their lexically clean path; where the
    /// word holds `..`, what is followed is the word as the kernel will see it.
    pub(super) fn targets(
        &self,
        survey: &Survey,
    ) -> Result<BTreeMap<AbsolutePath, AbsolutePath>, ResolveError> {
        let mut targets: BTreeMap<AbsolutePath, AbsolutePath> = BTreeMap::new();
        let folders = survey.script.subcommands.iter().map(|sub| &sub.folder);
        for (folder, accesses) in folders.zip(&survey.accesses) {
            for access in accesses {
                let (Access::Read(access) | Access::Write(access)) = access else {
                    continue;
                };
                let Some(path) = &access.path else {
                    continue;
                };
                let target = self.target(path, access, folder);
                let chosen = match targets.get(path) {
                    // Of two spellings the one that leads elsewhere counts: rules see the plain path
                    // as well.
                    Some(known) if *known == target || target == *path => continue,
                    Some(known) if known != path => {
                        return Err(ResolveError::Ambiguous {
                            path: path.clone(),
                            one: known.clone(),
                            other: target,
                        });
                    }
                    Some(_) | None => target,
                };
                targets.insert(path.clone(), chosen);
            }
        }
        Ok(targets)
    }

    fn target(&self, path: &AbsolutePath, access: &PathAccess, folder: &Folder) -> AbsolutePath {
        let lexical = || follow(path, b"").real;
        let Some(word) = access.written.as_static() else {
            return lexical();
        };
        if !word.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return lexical();
        }
        // Only a word that is the whole path says more than the clean path does; an operand such as
        // `--file=../x` was taken apart by the program's knowledge.
        match self.folder(folder) {
            Some(folder) if folder.join_bytes(word) == *path => follow(&folder, word).real,
            Some(_) | None => lexical(),
        }
    }
}
