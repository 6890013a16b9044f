//! What stood at the guarded paths before a run, kept on disk until they were swept.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::git;
use super::place::{Place, Sweep};
use super::settings::{self, Left};
use super::tree::{Bytes, Node};
use super::{GuardError, Swept, Table, table};
use crate::model::path::AbsolutePath;

/// The files that hold settings of git.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// Nothing is passed over.
const ALL: &dyn Fn(&[u8]) -> bool = &|_| false;
/// Samples, which git does not start.
const SAMPLES: &dyn Fn(&[u8]) -> bool = &|name| name.ends_with(b".sample");

/// The note of one run. The file is locked as long as its run lives.
#[derive(Debug)]
pub(in crate::supervisor) struct Note {
    text: Text,
    file: PathBuf,
    quarantine: PathBuf,
    keep: bool,
    _lock: Flock<File>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Text {
    /// Folders with what is guarded in each; the first is the workspace.
    places: Vec<Noted>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    folder: Bytes,
    paths: Vec<(Bytes, Node)>,
    /// `.git` files.
    pointers: Vec<Bytes>,
    /// Git folders: their hooks, unless a mount keeps them, and their settings.
    repositories: Vec<(Bytes, Option<Node>, Vec<Node>)>,
}

impl Note {
    /// Notes what is guarded in `workspace` and in `data`, the git folder it has outside, but for what is
    /// `mounted` so that the command cannot change it.
    pub(in crate::supervisor) fn take(
        state: &AbsolutePath,
        workspace: &AbsolutePath,
        data: Option<&AbsolutePath>,
        mounted: &[AbsolutePath],
    ) -> Result<Self, GuardError> {
        let table = table()?;
        let mut places = vec![noted(workspace, &table, true, mounted)?];
        if let Some(data) = data {
            places.push(noted(data, &table, false, mounted)?);
        }
        let text = Text { places };
        let id = uuid::Uuid::now_v7().simple().to_string();
        let folder = notes(state);
        let file = folder.join(&id);
        let failed = |source: std::io::Error| GuardError::Keep {
            path: file.clone(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let mut made = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&file)
            .map_err(failed)?;
        let bytes = serde_json::to_vec(&text).map_err(|error| failed(error.into()))?;
        made.write_all(&bytes).map_err(failed)?;
        let lock = Flock::lock(made, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| failed(errno.into()))?;
        Ok(Self {
            text,
            quarantine: quarantine(state, &id),
            file,
            keep: false,
            _lock: lock,
        })
    }

    /// Puts everything back as it was, and forgets the note; where that fails the next run tries again.
    pub(in crate::supervisor) fn sweep(mut self) -> Result<Vec<Swept>, GuardError> {
        let found = self.text.sweep(self.quarantine.clone());
        self.keep = found.is_err();
        found
    }
}

/// A note of a run that never started has nothing to say.
impl Drop for Note {
    fn drop(&mut self) {
        if !self.keep {
            fs::remove_file(&self.file).ok();
        }
    }
}

/// What stands at guarded paths of `workspace` and `data` and can be kept as it is by a mount: neither files
/// that git has to write nor links.
pub(in crate::supervisor) fn standing(
    workspace: &AbsolutePath,
    data: Option<&AbsolutePath>,
) -> Result<Vec<AbsolutePath>, GuardError> {
    let table = table()?;
    let mut found = Vec::new();
    for (folder, is_workspace) in [(Some(workspace), true), (data, false)] {
        let Some(folder) = folder else { continue };
        let noted = noted(folder, &table, is_workspace, &[])?;
        let paths = noted
            .paths
            .iter()
            .map(|(path, node)| (path.0.clone(), node));
        let hooks = noted
            .repositories
            .iter()
            .filter_map(|(path, hooks, _)| Some((below(&path.0, "hooks"), hooks.as_ref()?)));
        for (path, node) in paths.chain(hooks) {
            if matches!(node, Node::File { .. } | Node::Folder { .. }) {
                found.push(folder.join_bytes(&path));
            }
        }
    }
    Ok(found)
}

/// Sweeps for runs whose supervisor was killed.
pub(in crate::supervisor) fn recover(state: &AbsolutePath) -> Result<Vec<Swept>, GuardError> {
    let mut found = Vec::new();
    let entries = fs::read_dir(notes(state)).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else {
            continue;
        };
        let Ok(mut lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
            // Its run lives.
            continue;
        };
        let failed = |source: std::io::Error| GuardError::Keep {
            path: path.clone(),
            source,
        };
        let mut bytes = Vec::new();
        lock.seek(SeekFrom::Start(0)).map_err(failed)?;
        lock.read_to_end(&mut bytes).map_err(failed)?;
        // A note that is not whole was written before anything started.
        if let Ok(text) = serde_json::from_slice::<Text>(&bytes) {
            let id = entry.file_name().to_string_lossy().into_owned();
            found.extend(text.sweep(quarantine(state, &id))?);
        }
        fs::remove_file(&path).map_err(failed)?;
    }
    Ok(found)
}

fn notes(state: &AbsolutePath) -> PathBuf {
    state.join("guarded").as_path().to_owned()
}

fn quarantine(state: &AbsolutePath, id: &str) -> PathBuf {
    state.join("quarantine").as_path().join(id)
}

fn noted(
    folder: &AbsolutePath,
    table: &Table,
    is_workspace: bool,
    mounted: &[AbsolutePath],
) -> Result<Noted, GuardError> {
    let failed = |source| GuardError::Look {
        folder: folder.clone(),
        source,
    };
    let place = Place::open(folder).map_err(failed)?;
    let mut noted = Noted {
        folder: Bytes(folder.as_bytes().to_vec()),
        paths: Vec::new(),
        pointers: Vec::new(),
        repositories: Vec::new(),
    };
    let found = if is_workspace {
        git::repositories(folder, &table.skip)
    } else {
        git::repositories_of(folder)
    };
    let mut paths: Vec<Vec<u8>> = Vec::new();
    if is_workspace {
        paths.extend(table.paths.iter().map(|path| path.as_bytes().to_vec()));
        paths.push(b".git".to_vec());
        noted.pointers = found.pointers.iter().cloned().map(Bytes).collect();
        paths.extend(found.pointers);
    }
    for repository in found.folders {
        let hooks = below(&repository, "hooks");
        let hooks = if mounted.contains(&folder.join_bytes(&hooks)) {
            None
        } else {
            Some(place.read(&hooks, SAMPLES).map_err(failed)?)
        };
        let mut configs = Vec::new();
        for name in CONFIGS {
            let config = place.read(&below(&repository, name), ALL).map_err(failed)?;
            if let Node::File { content, .. } = &config {
                paths.extend(hooks_folder(folder, &repository, &content.0));
            }
            configs.push(config);
        }
        paths.extend(table.git.iter().map(|name| below(&repository, name)));
        noted.repositories.push((Bytes(repository), hooks, configs));
    }
    paths.sort();
    paths.dedup();
    paths.retain(|path| !mounted.contains(&folder.join_bytes(path)));
    for path in paths {
        let node = place.read(&path, ALL).map_err(failed)?;
        // A git folder changes all the time; what is guarded in it has its own entries.
        let is_git = path.ends_with(b".git");
        if is_git && matches!(node, Node::Folder { .. } | Node::Absent) {
            continue;
        }
        noted.paths.push((Bytes(path), node));
    }
    Ok(noted)
}

fn below(repository: &[u8], name: &str) -> Vec<u8> {
    if repository.is_empty() {
        return name.as_bytes().to_vec();
    }
    [repository, b"/", name.as_bytes()].concat()
}

/// The folder that `core.hooksPath` names, where it lies in the workspace: a relative one starts at the top
/// of the worktree. With husky, what it starts lies beside it.
fn hooks_folder(workspace: &AbsolutePath, repository: &[u8], config: &[u8]) -> Option<Vec<u8>> {
    let named = settings::hooks_path(config)?;
    let top = repository.strip_suffix(b".git").unwrap_or(repository);
    let top = workspace.join_bytes(top.strip_suffix(b"/").unwrap_or(top));
    let folder = top.join_bytes(&named);
    let folder = match folder.parent() {
        Some(above) if folder.base_name() == b"_" => above,
        Some(_) | None => folder,
    };
    let path = folder.as_bytes().strip_prefix(workspace.as_bytes())?;
    let path = path.strip_prefix(b"/")?;
    (!path.is_empty()).then(|| path.to_vec())
}

impl Text {
    fn sweep(&self, quarantine: PathBuf) -> Result<Vec<Swept>, GuardError> {
        let table = table()?;
        let mut sweep = Sweep::new(quarantine);
        for (number, noted) in self.places.iter().enumerate() {
            let Ok(folder) = AbsolutePath::new(bytes(&noted.folder)) else {
                continue;
            };
            // A workspace that is gone holds nothing.
            let Ok(place) = Place::open(&folder) else {
                continue;
            };
            noted
                .sweep(&place, &table, number == 0, &mut sweep)
                .map_err(|source| GuardError::Look { folder, source })?;
        }
        Ok(sweep.found)
    }
}

fn bytes(path: &Bytes) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(&path.0))
}

impl Noted {
    fn sweep(
        &self,
        place: &Place,
        table: &Table,
        is_workspace: bool,
        sweep: &mut Sweep,
    ) -> std::io::Result<()> {
        for (path, was) in &self.paths {
            place.sweep(&path.0, was, ALL, sweep)?;
        }
        for (repository, hooks, configs) in &self.repositories {
            if let Some(hooks) = hooks {
                place.sweep(&below(&repository.0, "hooks"), hooks, SAMPLES, sweep)?;
            }
            for (name, was) in CONFIGS.iter().zip(configs) {
                config(place, table, &below(&repository.0, name), was, sweep)?;
            }
        }
        if !is_workspace {
            return Ok(());
        }
        let now = git::repositories(&place.path, &table.skip);
        let known = |path: &Vec<u8>| {
            self.repositories
                .iter()
                .any(|(known, _, _)| known.0 == *path)
        };
        for repository in now.folders.iter().filter(|path| !known(path)) {
            let hooks = below(repository, "hooks");
            if let Node::Folder { entries, .. } = place.read(&hooks, SAMPLES)? {
                for (name, node) in &entries {
                    let path = [hooks.as_slice(), b"/", &name.0].concat();
                    place.replace(&path, &Node::Absent, node, sweep)?;
                }
            }
            for name in CONFIGS {
                config(place, table, &below(repository, name), &Node::Absent, sweep)?;
            }
        }
        let known = |path: &Vec<u8>| self.pointers.iter().any(|known| known.0 == *path);
        for pointer in now.pointers.iter().filter(|path| !known(path)) {
            let file = place.path.join_bytes(pointer);
            let inside = file
                .parent()
                .and_then(|folder| git::target(&file, &folder))
                .is_some_and(|target| {
                    let path = target.as_bytes().strip_prefix(place.path.as_bytes());
                    let path = path.and_then(|path| path.strip_prefix(b"/"));
                    path.is_some_and(|path| now.folders.contains(path))
                });
            if !inside {
                let node = place.read(pointer, ALL)?;
                place.replace(pointer, &Node::Absent, &node, sweep)?;
            }
        }
        Ok(())
    }
}

/// Keeps of a changed file of settings what does no harm.
fn config(
    place: &Place,
    table: &Table,
    path: &[u8],
    was: &Node,
    sweep: &mut Sweep,
) -> std::io::Result<()> {
    let now = place.read(path, ALL)?;
    if now == *was || now == Node::Absent {
        return Ok(());
    }
    let empty = Vec::new();
    let before = match was {
        Node::File { content, .. } => Some(&content.0),
        Node::Absent => Some(&empty),
        Node::Link { .. } | Node::Folder { .. } | Node::Other { .. } => None,
    };
    let (Some(before), Node::File { owner, content }) = (before, &now) else {
        return place.replace(path, was, &now, sweep);
    };
    match table.settings.left(before, &content.0) {
        Left::All => Ok(()),
        Left::Nothing => place.replace(path, was, &now, sweep),
        Left::Part { text, keys } => {
            let left = Node::File {
                owner: *owner,
                content: Bytes(text),
            };
            place.replace(path, &left, &now, sweep)?;
            if let Some(last) = sweep.found.last_mut() {
                last.what = format!("the command had set {}, which was undone", keys.join(", "));
            }
            Ok(())
        }
    }
}
