//! The workspace: opened once, used by descriptor from then on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fstat, lstat, stat};
use nix::unistd::{getcwd, geteuid};

use super::follow::follow;
use super::identity::{file_id, real_path};
use super::subject;
use crate::model::executable::FileId;
use crate::model::path::AbsolutePath;

/// What stands in the root of a repository. `.git` is a file in linked work trees.
const MARKERS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Folders of the system: no workspace is one, lies in one or contains one. Writing there changes the
/// host: `/proc/sys` and `/etc` belong to uid 0, which runs without capabilities but as their owner.
const SYSTEM: [&str; 16] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
];

/// The part of [`SYSTEM`] that is shared memory for everybody.
const SHARED_MEMORY: &str = "/dev/shm";

/// Folders that hold everybody's things: no workspace is one or contains one.
const SHARED: [&str; 6] = [
    "/home",
    "/opt",
    "/run",
    "/usr/local",
    "/var/lib",
    "/var/log",
];

/// The folder a run works in.
#[derive(Debug)]
pub struct Workspace {
    /// Its root, links followed.
    pub root: AbsolutePath,
    /// Which folder it was when it was opened.
    pub id: FileId,
    dir: OwnedFd,
}

/// Folders that no workspace may be or contain.
#[derive(Clone, Debug, Default)]
pub struct Forbidden {
    /// Homes; a workspace may lie in one but not be one.
    pub homes: Vec<AbsolutePath>,
    /// Our own policy, state and runtime folders and binary.
    pub own: Vec<AbsolutePath>,
}

impl Forbidden {
    /// Every home of this host, the caller's own (`HOME`) and our own paths.
    pub fn new(home: Option<AbsolutePath>, own: Vec<AbsolutePath>) -> Self {
        let mut homes = subject::homes();
        homes.extend(home);
        Self { homes, own }
    }
}

/// What has become of a workspace that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its path still leads to it.
    Here,
    /// It was renamed, and nothing is at its path.
    Moved(AbsolutePath),
    /// Something else is at its path.
    Replaced,
    /// It was deleted.
    Gone,
}

/// Why a folder is no workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The current folder was deleted or cannot be reached.
    #[error("the current folder does not exist any more")]
    Vanished,
    /// The folder the command would run in does not exist.
    #[error("the folder `{0}` the command would run in does not exist")]
    FolderMissing(AbsolutePath),
    /// The folder named as workspace does not exist.
    #[error("the workspace `{0}` does not exist")]
    Missing(AbsolutePath),
    /// It is no folder.
    #[error("`{0}` is not a folder")]
    NotFolder(AbsolutePath),
    /// It cannot be opened.
    #[error("cannot open the folder `{path}`: {}", errno.desc())]
    Unreadable {
        /// The folder.
        path: AbsolutePath,
        /// Why.
        errno: Errno,
    },
    /// The root of the file system.
    #[error("`/` cannot be a workspace: the run could write everything")]
    Root,
    /// It belongs to the system.
    #[error("`{0}` cannot be a workspace: it belongs to the system")]
    System(AbsolutePath),
    /// Somebody's home.
    #[error("`{0}` is a home and cannot be a workspace")]
    Home(AbsolutePath),
    /// It contains what judges the run.
    #[error("`{root}` cannot be a workspace: it contains `{own}`, which belongs to tipstaff")]
    ContainsOwn {
        /// The folder.
        root: AbsolutePath,
        /// Our own path.
        own: AbsolutePath,
    },
}

impl WorkspaceError {
    /// What the caller can do.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Vanished | Self::FolderMissing(_) => {
                "change to a folder that exists, or name one with `--cwd`"
            }
            Self::Missing(_) | Self::NotFolder(_) | Self::Unreadable { .. } => {
                "name a folder that you can open with `--workspace`"
            }
            Self::Root | Self::System(_) | Self::Home(_) | Self::ContainsOwn { .. } => {
                "name a project folder with `--workspace`, or run from inside one"
            }
        }
    }
}

/// The current folder of this process.
pub fn current_folder() -> Result<AbsolutePath, WorkspaceError> {
    // A folder outside our root is reported without a leading slash. getcwd(3)
    getcwd()
        .ok()
        .and_then(|path| AbsolutePath::new(path).ok())
        .ok_or(WorkspaceError::Vanished)
}

impl Workspace {
    /// Opens the workspace of a run in `cwd`: `given`, else the root of the repository above, else
    /// `cwd` itself.
    pub fn open(
        given: Option<&AbsolutePath>,
        cwd: &AbsolutePath,
        forbidden: &Forbidden,
    ) -> Result<Self, WorkspaceError> {
        let (here, here_path) = open_folder(cwd, WorkspaceError::FolderMissing)?;
        let (dir, root) = match given {
            Some(given) => open_folder(given, WorkspaceError::Missing)?,
            None => match repository(&here_path) {
                Some(root) if root != here_path => open_folder(&root, WorkspaceError::Missing)?,
                Some(_) | None => (here, here_path),
            },
        };
        let stat = fstat(&dir).map_err(|errno| WorkspaceError::Unreadable {
            path: root.clone(),
            errno,
        })?;
        let workspace = Self {
            root,
            id: file_id(&stat),
            dir,
        };
        workspace.check(forbidden)?;
        Ok(workspace)
    }

    /// The open folder (`O_PATH`).
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Whether its path still leads to the folder that was opened.
    pub fn still_there(&self) -> Standing {
        match lstat(self.root.as_path()) {
            Ok(stat) if file_id(&stat) == self.id => Standing::Here,
            Ok(_) => Standing::Replaced,
            Err(_) => {
                let linked = fstat(&self.dir).is_ok_and(|stat| stat.st_nlink > 0);
                match real_path(&self.dir) {
                    Some(path) if linked => Standing::Moved(path),
                    Some(_) | None => Standing::Gone,
                }
            }
        }
    }

    fn check(&self, forbidden: &Forbidden) -> Result<(), WorkspaceError> {
        let root = &self.root;
        // By identity too: a bind mount gives a folder a second path.
        let is_root = |path: &AbsolutePath| {
            follow(path, b"").real == *root
                || stat(path.as_path()).is_ok_and(|stat| file_id(&stat) == self.id)
        };
        if root.parent().is_none() || stat("/").is_ok_and(|stat| file_id(&stat) == self.id) {
            return Err(WorkspaceError::Root);
        }
        if is_system(root) {
            return Err(WorkspaceError::System(root.clone()));
        }
        // Own paths first: a home that holds our policy says the same, but less.
        if forbidden.homes.iter().any(is_root) {
            return Err(WorkspaceError::Home(root.clone()));
        }
        let inside =
            |own: &&AbsolutePath| own.is_within(root) || follow(own, b"").real.is_within(root);
        match forbidden.own.iter().find(inside) {
            Some(own) => Err(WorkspaceError::ContainsOwn {
                root: root.clone(),
                own: own.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// Whether a real path is, lies in or contains a folder of the system, or is or contains a shared one.
fn is_system(root: &AbsolutePath) -> bool {
    let own = |text: &&str| AbsolutePath::new(text).ok();
    let holds = |place: AbsolutePath| follow(&place, b"").real.is_within(root);
    let memory = AbsolutePath::new(SHARED_MEMORY).is_ok_and(|memory| root.is_within(&memory));
    let system = |place: AbsolutePath| {
        let real = follow(&place, b"").real;
        root.is_within(&real) || real.is_within(root)
    };
    SHARED.iter().filter_map(own).any(holds) || !memory && SYSTEM.iter().filter_map(own).any(system)
}

/// Opens a folder and tells its real path.
fn open_folder(
    path: &AbsolutePath,
    missing: fn(AbsolutePath) -> WorkspaceError,
) -> Result<(OwnedFd, AbsolutePath), WorkspaceError> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    match open(path.as_path(), flags, Mode::empty()) {
        Ok(dir) => {
            let real = real_path(&dir).unwrap_or_else(|| follow(path, b"").real);
            Ok((dir, real))
        }
        Err(Errno::ENOENT) => Err(missing(path.clone())),
        Err(Errno::ENOTDIR) => Err(WorkspaceError::NotFolder(path.clone())),
        Err(errno) => Err(WorkspaceError::Unreadable {
            path: path.clone(),
            errno,
        }),
    }
}

/// The nearest folder at or above `here` that holds a repository of the caller, of root or of the
/// owner of `here`. A marker that somebody else put above, in `/tmp` for one, must not widen the
/// workspace.
fn repository(here: &AbsolutePath) -> Option<AbsolutePath> {
    let owner = lstat(here.as_path()).ok()?.st_uid;
    let known = [0, geteuid().as_raw(), owner];
    let marked = |folder: &AbsolutePath| {
        MARKERS.iter().any(|marker| {
            lstat(folder.join(marker).as_path()).is_ok_and(|stat| known.contains(&stat.st_uid))
        })
    };
    let mut at = Some(here.clone());
    while let Some(folder) = at {
        if marked(&folder) {
            return Some(folder);
        }
        at = folder.parent();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd as _;

    use super::{Forbidden, Standing, Workspace, WorkspaceError, is_system};
    use crate::model::path::AbsolutePath;
    use crate::resolve::testing::Tree;

    fn open(cwd: &AbsolutePath) -> Result<Workspace, WorkspaceError> {
        Workspace::open(None, cwd, &Forbidden::default())
    }

    #[test]
    fn the_repository_above_wins_over_the_folder_and_the_flag_over_both() {
        let tree = Tree::new();
        let deep = tree.folder("repo/src/deep");
        assert_eq!(open(&deep).unwrap().root, deep);
        for marker in [".svn", ".jj", ".hg"] {
            tree.folder(&format!("repo/{marker}"));
            assert_eq!(open(&deep).unwrap().root, tree.path("repo"), "{marker}");
            fs::remove_dir(tree.path(&format!("repo/{marker}"))).unwrap();
        }
        tree.file("repo/.git", b"gitdir: elsewhere", 0o644);
        assert_eq!(open(&deep).unwrap().root, tree.path("repo"));
        let given = tree.folder("other");
        let flagged = Workspace::open(Some(&given), &deep, &Forbidden::default()).unwrap();
        assert_eq!(flagged.root, given);
        assert!(flagged.dir().as_raw_fd() > 2);
    }

    #[test]
    fn links_are_followed_once() {
        let tree = Tree::new();
        let real = tree.folder("real");
        tree.link("real", "alias");
        assert_eq!(open(&tree.path("alias")).unwrap().root, real);
    }

    #[test]
    fn each_refusal_is_its_own() {
        let tree = Tree::new();
        let home = tree.folder("home/ana");
        let state = tree.folder("home/ben/.local/state/tipstaff");
        let forbidden = Forbidden {
            homes: vec![home.clone()],
            own: vec![state.clone(), tree.path("policy-to-come/policy.toml")],
        };
        let open = |cwd: &AbsolutePath| Workspace::open(None, cwd, &forbidden).map(|_| ());
        assert_eq!(
            open(&AbsolutePath::new("/").unwrap()),
            Err(WorkspaceError::Root)
        );
        assert_eq!(open(&home), Err(WorkspaceError::Home(home.clone())));
        tree.link("home/ana", "alias");
        assert_eq!(open(&tree.path("alias")), Err(WorkspaceError::Home(home)));
        let root = tree.path("home/ben");
        assert_eq!(
            open(&root),
            Err(WorkspaceError::ContainsOwn { root, own: state })
        );
        let future = tree.folder("policy-to-come");
        assert!(matches!(
            open(&future),
            Err(WorkspaceError::ContainsOwn { .. })
        ));
        let file = tree.file("file", b"", 0o644);
        assert_eq!(open(&file), Err(WorkspaceError::NotFolder(file)));
        let absent = tree.path("absent");
        assert_eq!(
            open(&absent),
            Err(WorkspaceError::FolderMissing(absent.clone()))
        );
        assert_eq!(
            Workspace::open(Some(&absent), &tree.root, &forbidden).map(|_| ()),
            Err(WorkspaceError::Missing(absent))
        );
        let inside = tree.folder("home/ana/project");
        assert_eq!(open(&inside), Ok(()));
    }

    #[test]
    fn folders_of_the_system_are_no_workspace() {
        let path = |text: &str| AbsolutePath::new(text).unwrap();
        for text in [
            "/proc",
            "/proc/sys/kernel",
            "/sys",
            "/dev",
            "/dev/pts",
            "/etc",
            "/etc/cron.d",
            "/usr",
            "/usr/bin",
            "/usr/lib/x",
            "/var",
            "/home",
            "/run",
            "/boot/x",
        ] {
            assert!(is_system(&path(text)), "{text}");
        }
        for text in [
            "/usr/src/app",
            "/usr/local/src/x",
            "/var/www",
            "/home/ana/x",
            "/dev/shm/x",
            "/tmp",
            "/srv",
            "/opt/x",
            "/run/user/1000/x",
        ] {
            assert!(!is_system(&path(text)), "{text}");
        }
        assert_eq!(
            open(&path("/proc/sys")).map(|_| ()),
            Err(WorkspaceError::System(path("/proc/sys")))
        );
    }

    #[test]
    fn the_homes_of_this_host_are_known() {
        let forbidden = Forbidden::new(None, Vec::new());
        let root = AbsolutePath::new("/root").unwrap();
        assert!(forbidden.homes.contains(&root), "{forbidden:?}");
    }

    #[test]
    fn renamed_replaced_and_deleted_are_told_apart() {
        let tree = Tree::new();
        let path = tree.folder("w");
        let workspace = open(&path).unwrap();
        assert_eq!(workspace.still_there(), Standing::Here);
        fs::rename(&path, tree.path("moved")).unwrap();
        assert_eq!(workspace.still_there(), Standing::Moved(tree.path("moved")));
        tree.folder("w");
        assert_eq!(workspace.still_there(), Standing::Replaced);
        fs::remove_dir(&path).unwrap();
        fs::remove_dir(tree.path("moved")).unwrap();
        assert_eq!(workspace.still_there(), Standing::Gone);
    }
}
