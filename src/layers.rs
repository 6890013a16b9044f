//! Finds and reads the policy files of every layer, and keeps which project policies a person trusts.
//!
//! A file counts only if nobody but root and the user can change it: the file, and for the managed
//! layer its folder, are checked by descriptor before a byte is read.

mod replace;

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::libc;
use sha2::{Digest as _, Sha256};

use crate::model::digest::Digest;
use crate::model::environment::Environment;
use crate::model::judgement::Layer;
use crate::model::path::AbsolutePath;
use crate::policy::Source;

pub use replace::Edit;

/// A larger policy is a mistake, and reading it would cost memory that others chose.
const LARGEST: u64 = 1 << 20;
/// Permission bits that let others than the owner write (inode(7)).
const OTHERS_WRITE: u32 = 0o022;

/// Where the layers lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Folder of the managed policies.
    pub managed_dir: AbsolutePath,
    /// The user's policy; `None` when the environment names no home.
    pub user_file: Option<AbsolutePath>,
    /// The project's policy.
    pub project_file: AbsolutePath,
    /// Digests of the project policies that a person trusted; `None` when there is no state folder,
    /// and then none is trusted.
    pub trust_store: Option<AbsolutePath>,
}

impl Places {
    /// The usual places (XDG Base Directory Specification). Relative values of the variables are
    /// ignored, as that specification demands.
    pub fn discover(environment: &Environment, workspace: &AbsolutePath) -> Self {
        let under = |variable: &[u8], fallback: &str| {
            let named = environment
                .get(variable)
                .and_then(|value| AbsolutePath::new(path_of(value)).ok());
            named.or_else(|| Some(environment.home()?.join(fallback)))
        };
        Self {
            managed_dir: workspace.join("/etc/tipstaff/policy.d"),
            user_file: under(b"XDG_CONFIG_HOME", ".config")
                .map(|folder| folder.join("tipstaff/policy.toml")),
            project_file: workspace.join(".tipstaff/policy.toml"),
            trust_store: under(b"XDG_STATE_HOME", ".local/state")
                .map(|folder| folder.join("tipstaff/trusted-projects")),
        }
    }
}

fn path_of(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// Why the policy files cannot be used. Nothing runs then.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// It is there but cannot be read.
    #[error("cannot read the policy `{path}`")]
    Unreadable {
        /// The file or folder.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// Others can write it.
    #[error("the policy `{path}` can be written by others (mode {mode:04o})")]
    Writable {
        /// The file or folder.
        path: AbsolutePath,
        /// Its permission bits.
        mode: u32,
    },
    /// Others can write the folder, and so put another file in its place.
    #[error(
        "the folder `{folder}` of the policy `{path}` can be written by others (mode {mode:04o})"
    )]
    WritableFolder {
        /// The file.
        path: AbsolutePath,
        /// Its folder.
        folder: AbsolutePath,
        /// The folder's permission bits.
        mode: u32,
    },
    /// It belongs to somebody who may not decide.
    #[error("the policy `{path}` belongs to uid {owner}, not to {wanted}")]
    ForeignOwner {
        /// The file or folder.
        path: AbsolutePath,
        /// Its owner.
        owner: u32,
        /// Who it should belong to, in words.
        wanted: &'static str,
    },
    /// The policy named on the command line is no place.
    #[error("cannot find the policy `{path}`")]
    Chosen {
        /// As it was named.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// There is none to trust.
    #[error("there is no project policy `{path}`")]
    NoProject {
        /// Where it would stand.
        path: AbsolutePath,
    },
    /// It is no regular file.
    #[error("the policy `{path}` is not a regular file")]
    NotAFile {
        /// The file.
        path: AbsolutePath,
    },
    /// It is larger than a policy can be.
    #[error("the policy `{path}` is larger than {LARGEST} bytes")]
    TooLarge {
        /// The file.
        path: AbsolutePath,
    },
    /// It is no UTF-8 text.
    #[error("the policy `{path}` is not UTF-8 text: byte {at} starts no character")]
    NotText {
        /// The file.
        path: AbsolutePath,
        /// Offset of the first wrong byte.
        at: usize,
    },
    /// It cannot be changed.
    #[error("cannot change the policy `{path}`")]
    Unwritable {
        /// The file.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
    /// There is no folder to remember trust in.
    #[error("there is no state folder to remember trust in")]
    NoTrustStore,
    /// The trust store cannot be written.
    #[error("cannot write the list of trusted projects `{path}`")]
    Store {
        /// The store.
        path: AbsolutePath,
        /// Why.
        source: io::Error,
    },
}

impl LayerError {
    /// What to do.
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable { path, .. } => {
                format!("make `{path}` readable for the user who runs tipstaff, or remove it")
            }
            Self::Writable { path, .. } => format!("chmod go-w {path}"),
            // Never a mode for the folder: /tmp is written by all, and has to be.
            Self::WritableFolder { path, .. } => {
                format!("move `{path}` to a folder that only you or root can write")
            }
            Self::NoProject { .. } => {
                "go to the folder of the project, or write that file first".to_owned()
            }
            Self::ForeignOwner { path, wanted, .. } => {
                format!("give `{path}` to {wanted} with chown, after reading what it says")
            }
            Self::Chosen { .. } => "name a file that exists".to_owned(),
            Self::NotAFile { path } => format!("replace `{path}` by a file"),
            Self::TooLarge { path } => format!("split `{path}`, or remove what is no policy"),
            Self::NotText { path, .. } => format!("save `{path}` as UTF-8"),
            Self::Unwritable { path, .. } => {
                format!(
                    "make `{path}` and its folder writable for whoever changes it, and try again"
                )
            }
            Self::NoTrustStore => "set HOME or XDG_STATE_HOME".to_owned(),
            Self::Store { path, .. } => {
                format!("make the folder of `{path}` writable for the user who runs tipstaff")
            }
        }
    }
}

/// Who may own a file of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Root,
    RootOrUser,
    /// Whoever has it: it is changed, not believed.
    Any,
    /// Who owns the workspace may keep its policy too: root judges for the user whose project it is.
    /// That gives them nothing, since only trusted content loosens anything.
    Workspace(u32),
}

impl Owner {
    fn of_project(project_file: &AbsolutePath) -> Self {
        project_file
            .parent()
            .and_then(|folder| folder.parent())
            .and_then(|workspace| std::fs::metadata(workspace).ok())
            .map_or(Self::RootOrUser, |workspace| {
                Self::Workspace(workspace.uid())
            })
    }

    fn accepts(self, uid: u32) -> bool {
        match self {
            Self::Root => uid == 0,
            Self::Any => true,
            Self::RootOrUser => uid == 0 || uid == nix::unistd::geteuid().as_raw(),
            Self::Workspace(owner) => uid == owner || Self::RootOrUser.accepts(uid),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Any => "anybody",
            Self::RootOrUser => "root or the user",
            Self::Workspace(_) => "root, the user or the owner of the workspace",
        }
    }
}

/// Reads every layer that is there. `chosen` stands in for the user and the project layer.
///
/// # Errors
///
/// A file or folder that others can write or own, or that cannot be read as text: nothing is skipped.
pub fn gather(places: &Places, chosen: Option<&Path>) -> Result<Vec<Source>, LayerError> {
    let mut sources = managed(places)?;
    if let Some(chosen) = chosen {
        let path = here(chosen)?;
        let text = read(&path, Owner::RootOrUser)?.ok_or_else(|| LayerError::Chosen {
            path: path.to_string(),
            source: nix::errno::Errno::ENOENT.into(),
        })?;
        sources.push(source(Layer::Flag, &path, text, true));
        return Ok(sources);
    }
    if let Some(path) = &places.user_file
        && let Some(text) = read(path, Owner::RootOrUser)?
    {
        sources.push(source(Layer::User, path, text, true));
    }
    if let Some(text) = read_project(places)? {
        // Trust covers the same bytes that are parsed.
        let trusted = is_trusted_content(places, text.as_bytes())?;
        sources.push(source(Layer::Project, &places.project_file, text, trusted));
    }
    Ok(sources)
}

fn source(layer: Layer, path: &AbsolutePath, text: String, trusted: bool) -> Source {
    Source {
        layer,
        name: path.to_string(),
        text,
        trusted,
    }
}

/// A path given on the command line, seen from the current folder.
fn here(path: &Path) -> Result<AbsolutePath, LayerError> {
    let bad = |source| LayerError::Chosen {
        path: crate::model::text::Escaped(path.as_os_str().as_encoded_bytes()).to_string(),
        source,
    };
    let folder = std::env::current_dir().map_err(bad)?;
    AbsolutePath::new(folder.join(path))
        .map_err(|error| bad(io::Error::new(io::ErrorKind::InvalidInput, error)))
}

/// Reads the managed layer alone: `*.toml` of its folder, in the order of their names.
///
/// # Errors
///
/// As [`gather`].
pub fn managed(places: &Places) -> Result<Vec<Source>, LayerError> {
    let folder = &places.managed_dir;
    let unreadable = |source| LayerError::Unreadable {
        path: folder.clone(),
        source,
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = std::fs::metadata(folder).map_err(unreadable)?;
    check(folder, &metadata, Owner::Root)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(folder.join(path));
        }
    }
    files.sort();
    let mut sources = Vec::new();
    for path in files {
        let text = read(&path, Owner::Root)?.ok_or_else(|| LayerError::Unreadable {
            path: path.clone(),
            source: io::ErrorKind::NotFound.into(),
        })?;
        sources.push(source(Layer::Managed, &path, text, true));
    }
    Ok(sources)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens, checks by descriptor, and reads; `None` when there is no such file.
fn read(path: &AbsolutePath, owner: Owner) -> Result<Option<String>, LayerError> {
    let unreadable = |source| LayerError::Unreadable {
        path: path.clone(),
        source,
    };
    // O_NONBLOCK: a FIFO in place of the file must not hold us up (open(2)).
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(LayerError::NotAFile { path: path.clone() });
    }
    check(path, &metadata, owner)?;
    if let Some(folder) = path.parent() {
        // Whoever can write the folder can put another file in its place.
        let above = std::fs::metadata(&folder).map_err(unreadable)?;
        let checked = check(&folder, &above, owner);
        if let Err(LayerError::Writable { path: folder, mode }) = checked {
            return Err(LayerError::WritableFolder {
                path: path.clone(),
                folder,
                mode,
            });
        }
        checked?;
    }
    let bytes = limited(&file, path)?;
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|error| LayerError::NotText {
            path: path.clone(),
            at: error.utf8_error().valid_up_to(),
        })
}

fn read_project(places: &Places) -> Result<Option<String>, LayerError> {
    read(
        &places.project_file,
        Owner::of_project(&places.project_file),
    )
}

fn limited(file: &File, path: &AbsolutePath) -> Result<Vec<u8>, LayerError> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| LayerError::Unreadable {
            path: path.clone(),
            source,
        })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST) {
        return Err(LayerError::TooLarge { path: path.clone() });
    }
    Ok(bytes)
}

fn check(
    path: &AbsolutePath,
    metadata: &std::fs::Metadata,
    owner: Owner,
) -> Result<(), LayerError> {
    if !owner.accepts(metadata.uid()) {
        return Err(LayerError::ForeignOwner {
            path: path.clone(),
            owner: metadata.uid(),
            wanted: owner.words(),
        });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS_WRITE != 0 {
        return Err(LayerError::Writable {
            path: path.clone(),
            mode,
        });
    }
    Ok(())
}

/// Whether a person trusted exactly this content of the project's policy.
///
/// # Errors
///
/// The project's policy or the store is there and cannot be used.
pub fn is_trusted(places: &Places) -> Result<bool, LayerError> {
    match read_project(places)? {
        Some(text) => is_trusted_content(places, text.as_bytes()),
        None => Ok(false),
    }
}

/// Trusts the project's policy as it is now and returns the digest that is remembered.
///
/// # Errors
///
/// There is no such policy, or the store cannot be written.
pub fn trust(places: &Places) -> Result<Digest, LayerError> {
    let path = &places.project_file;
    let text = read_project(places)?.ok_or_else(|| LayerError::NoProject { path: path.clone() })?;
    let digest = digest(text.as_bytes());
    let store = places
        .trust_store
        .as_ref()
        .ok_or(LayerError::NoTrustStore)?;
    if !is_trusted_content(places, text.as_bytes())? {
        remember(store, path, digest).map_err(|source| LayerError::Store {
            path: store.clone(),
            source,
        })?;
    }
    Ok(digest)
}

fn digest(content: &[u8]) -> Digest {
    Digest(Sha256::digest(content).into())
}

/// One line a trusted content: its digest, a blank, and the file it was trusted for, for people.
fn remember(store: &AbsolutePath, project: &AbsolutePath, digest: Digest) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    if let Some(folder) = store.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
    }
    // One write of one line, appended: two writers cannot tear each other's (write(2)).
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(store)?;
    file.write_all(format!("{digest} {project}\n").as_bytes())?;
    file.sync_all()
}

fn is_trusted_content(places: &Places, content: &[u8]) -> Result<bool, LayerError> {
    let Some(store) = &places.trust_store else {
        return Ok(false);
    };
    let wanted = digest(content).to_string();
    let known = read(store, Owner::RootOrUser)?.unwrap_or_default();
    Ok(known
        .lines()
        .any(|line| line.split(' ').next() == Some(wanted.as_str())))
}

#[cfg(test)]
mod tests;
