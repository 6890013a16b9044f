//! A machine that is a table: for cases of policies, which say the same on every host.

use std::collections::BTreeMap;

use super::pin::{Precedence, gives_path};
use crate::model::access::{Access, Resolved, Survey};
use crate::model::digest::Digest;
use crate::model::executable::{Executable, FileId, Format, Lookup, LookupError, Trust};
use crate::model::path::AbsolutePath;
use crate::model::script::{Folder, SubCommand};
use crate::model::text::Escaped;

/// A file that is there.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it lies.
    pub path: AbsolutePath,
    /// Where it leads.
    pub real: AbsolutePath,
    /// Whether allow rules may cover it.
    pub trust: Trust,
    /// Its content; `None` for one of its own.
    pub digest: Option<Digest>,
}

/// The machine. Beside its entries every bare name that is not absent lies in `/usr/bin`, trusted.
#[derive(Clone, Debug)]
pub struct MadeUp {
    /// The workspace: what lies in it is not trusted.
    pub workspace: AbsolutePath,
    /// Where a line starts.
    pub cwd: AbsolutePath,
    /// The folders of PATH.
    pub path: Vec<AbsolutePath>,
    /// Names that are nowhere.
    pub absent: Vec<String>,
    /// Its files.
    pub entries: Vec<Entry>,
}

impl MadeUp {
    /// What each sub-command and path of a survey is here. `names` are those of deny and ask rules, whose
    /// content is looked for elsewhere.
    pub fn resolve(&self, survey: &Survey, names: &[Vec<u8>]) -> Resolved {
        let mut lookups: Vec<Lookup> = Vec::new();
        let path_assigned = gives_path(&survey.script);
        for (index, sub) in survey.script.subcommands.iter().enumerate() {
            let precedence = Precedence {
                script: &survey.script,
                path_assigned,
                lookups: &lookups,
            };
            let folder = self.folder(sub);
            let lookup = match precedence.without_files(index, sub, folder.as_ref()) {
                Ok(name) => self.file(name, folder.as_ref()),
                Err(lookup) => lookup,
            };
            lookups.push(lookup);
        }
        Resolved {
            copies: self.copies(&lookups, names),
            targets: self.targets(survey),
            lookups,
            // A made-up machine has no files with text in them.
            scripts: BTreeMap::new(),
        }
    }

    fn folder(&self, sub: &SubCommand) -> Option<AbsolutePath> {
        match &sub.folder {
            Folder::Start => Some(self.cwd.clone()),
            Folder::Moved(to) => Some(self.cwd.join_bytes(to)),
            Folder::Home(_) | Folder::Unknown => None,
        }
    }

    fn file(&self, name: &[u8], folder: Option<&AbsolutePath>) -> Lookup {
        let found = if name.contains(&b'/') {
            self.named(&folder.unwrap_or(&self.cwd).join_bytes(name))
        } else {
            self.looked_up(name)
        };
        match found {
            Some(file) => Lookup::File(Box::new(file)),
            None => Lookup::Failed(LookupError::NotFound(Escaped(name).to_string())),
        }
    }

    fn is_absent(&self, name: &[u8]) -> bool {
        self.absent.iter().any(|absent| absent.as_bytes() == name)
    }

    fn looked_up(&self, name: &[u8]) -> Option<Executable> {
        let system = AbsolutePath::new("/usr/bin").ok()?;
        self.path.iter().find_map(|folder| {
            let path = folder.join_bytes(name);
            let entry = self.entries.iter().find(|entry| entry.path == path);
            match entry {
                Some(entry) => Some(executable(entry)),
                None if *folder == system && !self.is_absent(name) => self.named(&path),
                None => None,
            }
        })
    }

    /// A file named by its path is there, whatever it is, unless the case says otherwise.
    fn named(&self, path: &AbsolutePath) -> Option<Executable> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.path == *path) {
            return Some(executable(entry));
        }
        if self.is_absent(path.base_name()) || self.is_absent(path.as_bytes()) {
            return None;
        }
        Some(executable(&Entry {
            path: path.clone(),
            real: path.clone(),
            trust: if path.is_within(&self.workspace) {
                Trust::InWriteRoot
            } else {
                Trust::Trusted
            },
            digest: None,
        }))
    }

    fn targets(&self, survey: &Survey) -> BTreeMap<AbsolutePath, AbsolutePath> {
        let paths = survey
            .accesses
            .iter()
            .flatten()
            .filter_map(|access| match access {
                Access::Write(path) | Access::Read(path) => path.path.clone(),
                Access::Command | Access::Env(_) | Access::Network { .. } => None,
            });
        paths
            .map(|path| {
                let entry = self.entries.iter().find(|entry| entry.path == path);
                let real = entry.map_or_else(|| path.clone(), |entry| entry.real.clone());
                (path, real)
            })
            .collect()
    }

    fn copies(&self, lookups: &[Lookup], names: &[Vec<u8>]) -> BTreeMap<Digest, Vec<Vec<u8>>> {
        let mut copies: BTreeMap<Digest, Vec<Vec<u8>>> = BTreeMap::new();
        for file in lookups.iter().filter_map(Lookup::executable) {
            if file.trust == Trust::Trusted {
                continue;
            }
            let same = names.iter().filter(|name| {
                self.looked_up(name)
                    .is_some_and(|other| other.digest == file.digest)
            });
            let same: Vec<Vec<u8>> = same.cloned().collect();
            if !same.is_empty() {
                copies.insert(file.digest, same);
            }
        }
        copies
    }
}

/// The file of an entry. Content that nobody gave is told apart by the path it lies at.
fn executable(entry: &Entry) -> Executable {
    use sha2::Digest as _;
    let own = || Digest(sha2::Sha256::digest(entry.real.as_bytes()).into());
    Executable {
        path: entry.path.clone(),
        real: entry.real.clone(),
        id: FileId { dev: 0, ino: 0 },
        size: 1,
        digest: entry.digest.unwrap_or_else(own),
        format: Format::Elf,
        trust: entry.trust,
    }
}
