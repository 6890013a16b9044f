//! Where git keeps the data of a workspace, and which repositories lie in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::settings;
use crate::model::path::AbsolutePath;
use crate::resolve;

/// How deep below the workspace repositories are looked for, and in how many folders at the most: a run
/// must not cost more in a large workspace than in a small one.
const DEPTH: usize = 3;
const FOLDERS: usize = 512;

/// Git folders in a workspace, relative to it, and `.git` files, which point to one.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) folders: BTreeSet<Vec<u8>>,
    pub(super) pointers: BTreeSet<Vec<u8>>,
}

/// Looks for repositories, the nearest first. `skip` names folders that are passed over.
pub(super) fn repositories(workspace: &AbsolutePath, skip: &[String]) -> Found {
    let mut found = Found::default();
    let mut left = FOLDERS;
    let mut level = vec![PathBuf::new()];
    for _ in 0..=DEPTH {
        let mut next = Vec::new();
        for folder in level {
            let Some(still) = left.checked_sub(1) else {
                return found;
            };
            left = still;
            look(workspace, &folder, skip, &mut found, &mut next);
        }
        level = next;
    }
    found
}

/// The git folder `folder` itself and what it holds for submodules and worktrees.
pub(super) fn repositories_of(folder: &AbsolutePath) -> Found {
    let mut found = Found::default();
    inner(folder, Path::new(""), &mut found);
    found
}

fn look(
    workspace: &AbsolutePath,
    folder: &Path,
    skip: &[String],
    found: &mut Found,
    next: &mut Vec<PathBuf>,
) {
    let Ok(entries) = fs::read_dir(workspace.as_path().join(folder)) else {
        return;
    };
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let mut names: BTreeSet<Vec<u8>> = BTreeSet::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let at = folder.join(&name);
        names.insert(name.as_bytes().to_vec());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && name == ".git" => {
                inner(workspace, &at, found);
            }
            Ok(_) if name == ".git" => {
                found.pointers.insert(bytes(&at));
            }
            Ok(kind) if kind.is_dir() && !skip.iter().any(|skip| name == skip.as_str()) => {
                next.push(at);
            }
            Ok(_) | Err(_) => {}
        }
    }
    // A repository without a worktree, whatever its name: git obeys its configuration in there.
    let bare = ["HEAD", "objects", "refs"];
    if bare.iter().all(|name| names.contains(name.as_bytes())) {
        inner(workspace, folder, found);
    }
}

/// A git folder with those of its submodules and worktrees.
fn inner(workspace: &AbsolutePath, at: &Path, found: &mut Found) {
    found.folders.insert(at.as_os_str().as_bytes().to_vec());
    for below in ["modules", "worktrees"] {
        let folder = at.join(below);
        let entries = fs::read_dir(workspace.as_path().join(&folder));
        for entry in entries.into_iter().flatten().flatten().take(FOLDERS) {
            let at = folder.join(entry.file_name());
            let full = workspace.as_path().join(&at);
            if full.join("HEAD").symlink_metadata().is_ok() {
                inner(workspace, &at, found);
            } else if full.is_dir() && below == "modules" {
                // Names of submodules may hold slashes.
                let deeper = fs::read_dir(&full).into_iter().flatten().flatten();
                for entry in deeper.take(FOLDERS) {
                    let at = at.join(entry.file_name());
                    if workspace.as_path().join(&at).join("HEAD").exists() {
                        inner(workspace, &at, found);
                    }
                }
            }
        }
    }
}

/// The git folder of a workspace whose `.git` is a file, where it lies outside: the one shared by all
/// worktrees, or that of a submodule. It has to point back to this workspace, so that nobody can have it
/// opened by writing a `.git` file. gitrepository-layout(5)
pub(in crate::supervisor) fn data_folder(workspace: &AbsolutePath) -> Option<AbsolutePath> {
    let pointer = workspace.join(".git");
    let folder = target(&pointer, workspace)?;
    let real = real(&folder)?;
    if real.is_within(workspace) {
        return None;
    }
    let common = worktree_of(&real, &pointer).or_else(|| submodule_of(&real, workspace))?;
    let bare = ["HEAD", "objects", "refs"];
    let is_git = bare.iter().all(|name| common.join(name).as_path().exists());
    (is_git && !workspace.is_within(&common)).then_some(common)
}

/// What a `.git` file points to.
pub(super) fn target(pointer: &AbsolutePath, folder: &AbsolutePath) -> Option<AbsolutePath> {
    let found = pointer.as_path().symlink_metadata().ok()?;
    if !found.is_file() || found.len() > 8192 {
        return None;
    }
    let text = fs::read(pointer.as_path()).ok()?;
    let path = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!path.is_empty()).then(|| folder.join_bytes(path))
}

/// `COMMON/worktrees/NAME`, whose `gitdir` names `pointer`.
fn worktree_of(folder: &AbsolutePath, pointer: &AbsolutePath) -> Option<AbsolutePath> {
    let worktrees = folder.parent()?;
    let common = worktrees.parent()?;
    let back = fs::read(folder.join("gitdir").as_path()).ok()?;
    let back = real(&folder.join_bytes(back.trim_ascii()))?;
    (worktrees.base_name() == b"worktrees" && back == real(pointer)?).then_some(common)
}

/// `SUPER/.git/modules/NAME`, whose configuration names the workspace as its worktree.
fn submodule_of(folder: &AbsolutePath, workspace: &AbsolutePath) -> Option<AbsolutePath> {
    let text = fs::read(folder.join("config").as_path()).ok()?;
    let back = real(&folder.join_bytes(&settings::worktree(&text)?))?;
    let modules = folder
        .as_path()
        .components()
        .any(|part| part.as_os_str() == "modules");
    (modules && back == *workspace).then(|| folder.clone())
}

fn real(path: &AbsolutePath) -> Option<AbsolutePath> {
    let real = resolve::real(path);
    real.as_path().symlink_metadata().is_ok().then_some(real)
}
