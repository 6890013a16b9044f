//! What a run sees of the host: a root of its own in which only what the profile lists exists.
//!
//! The profile's paths become mounts at the same names, read-only where they may only be read. `/proc`,
//! `/tmp`, `/var/tmp`, `/dev/shm` and the pseudo-terminals are the run's own. Everything else is absent,
//! so what Landlock leaves open (metadata, sockets with a name) is not there either.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags};
use nix::libc;
use nix::sys::stat::fstat;

use crate::model::path::AbsolutePath;
use crate::model::profile::Profile;
use crate::sys::child::{Bind, Entry, Root, Rule, What};

use super::blueprint::{Grant, Landlock, Opened, grants};
use super::error::SandboxError;
use super::links::{Followed, Follower};

/// A file that exists in the root and that no rule grants: what shows that the ruleset is in force.
pub(super) const WITNESS: &CStr = c"/.tipstaff";

/// Links every program expects, and what they say.
const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Folders for scratch files that programs name without asking TMPDIR.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

const PROCESSES: &str = "/proc";

/// What the root is made of beside the profile.
pub(super) struct Needs<'a> {
    pub(super) profile: &'a Profile,
    /// Folders of the profile that were opened: what stands at their path has to be the same folder.
    pub(super) opened: &'a [Opened<'a>],
    /// Files of judged programs, wherever they lie.
    pub(super) programs: &'a [BorrowedFd<'a>],
    /// The command's terminal on the host, which stands at `/dev/console`.
    pub(super) terminal: Option<&'a AbsolutePath>,
    /// Folders that exist at least by name: the home, the one the command starts in.
    pub(super) named: &'a [&'a AbsolutePath],
}

/// Lays the root out. Paths of the profile that are not there are passed over.
pub(super) fn root(needs: &Needs<'_>, landlock: Landlock) -> Result<Root, SandboxError> {
    let mut plan = Plan::default();
    // The host's processes are not shown; those of the run are.
    let shown = grants(needs.profile).filter(|(path, _)| !path.as_path().starts_with(PROCESSES));
    for (path, grant) in shown {
        plan.show(path.as_path(), grant);
    }
    for opened in needs.opened {
        plan.hold(opened)?;
    }
    for program in needs.programs {
        if let Ok(path) = fs::read_link(format!("/proc/self/fd/{}", program.as_raw_fd())) {
            plan.show(&path, Grant::Read);
        }
    }
    plan.drop_inner();
    for path in &needs.profile.guarded {
        plan.guard(path);
    }
    if let Some(terminal) = needs.terminal {
        plan.mount(terminal.as_path(), Path::new("/dev/console"), Grant::Device);
    }
    let mut rules = vec![(PathBuf::from("/"), AccessFs::ReadDir.into())];
    for (path, what, rights) in own(landlock) {
        if plan.put(path, what) {
            rules.push((PathBuf::from(path), rights));
        }
    }
    for (path, text) in LINKS {
        plan.put(path, What::Link(c_string(Path::new(text))?));
    }
    plan.put(OsStr::from_bytes(WITNESS.to_bytes()), What::File);
    plan.put("/run", What::Folder);
    for folder in needs.named {
        plan.put(folder.as_path(), What::Folder);
    }
    plan.lay_out(rules)
}

/// What the run has of its own, and what it may do there.
fn own(landlock: Landlock) -> Vec<(&'static str, What, BitFlags<AccessFs>)> {
    let write = landlock.rights(Grant::Write);
    let mut own: Vec<_> = SCRATCH
        .iter()
        .map(|path| (*path, What::Scratch, write))
        .collect();
    own.push((PROCESSES, What::Processes, landlock.rights(Grant::Read)));
    let terminals = landlock.rights(Grant::Device) | AccessFs::ReadDir;
    own.push(("/dev/pts", What::Terminals, terminals));
    own
}

/// A file or folder of the host that the run sees.
struct Shown {
    source: PathBuf,
    grant: Grant,
    folder: bool,
    /// Device and inode.
    id: (u64, u64),
}

#[derive(Default)]
struct Plan {
    /// By the name they have in the root; a folder sorts before what lies in it.
    mounts: BTreeMap<PathBuf, Shown>,
    links: BTreeMap<PathBuf, PathBuf>,
    own: BTreeMap<PathBuf, What>,
    follower: Follower,
}

impl Plan {
    /// Shows `path` where it is: the links on the way to it as links, and what it leads to as a mount.
    fn show(&mut self, path: &Path, grant: Grant) {
        let Some(Followed { links, real }) = self.follower.follow(path, |_| false) else {
            return;
        };
        self.links.extend(links);
        self.mount(&real, &real, grant);
    }

    /// Mounts `source` at `at`; the wider of two grants for the same name holds.
    fn mount(&mut self, source: &Path, at: &Path, grant: Grant) {
        let Ok(found) = source.symlink_metadata() else {
            return;
        };
        let shown = Shown {
            source: source.to_path_buf(),
            grant,
            folder: found.is_dir(),
            id: (found.dev(), found.ino()),
        };
        let known = self.mounts.get(at).map(|known| known.grant);
        if known.is_none_or(|known| known == Grant::Read) {
            self.mounts.insert(at.to_path_buf(), shown);
        }
    }

    /// Mounts `path` read-only inside the folder to be written that holds it, and every folder on the way to
    /// it upon itself: a mount cannot be renamed or removed (EBUSY), so nothing takes its place.
    fn guard(&mut self, path: &AbsolutePath) {
        let path = path.as_path();
        let Some(top) = path
            .ancestors()
            .skip(1)
            .find(|above| self.mounts.contains_key(*above))
            .filter(|above| {
                let grant = self.mounts.get(*above).map(|shown| shown.grant);
                grant == Some(Grant::Write)
            })
            .map(Path::to_path_buf)
        else {
            return;
        };
        let between: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != top)
            .collect();
        for folder in between.into_iter().rev() {
            self.mount(folder, folder, Grant::Write);
        }
        self.mount(path, path, Grant::Read);
    }

    /// Ties the mount of an opened folder to that very folder.
    fn hold(&mut self, opened: &Opened<'_>) -> Result<(), SandboxError> {
        let status = fstat(opened.folder).map_err(SandboxError::prepare("fstat"))?;
        if let Some(shown) = self.mounts.get_mut(opened.path.as_path()) {
            shown.id = (status.st_dev, status.st_ino);
        }
        Ok(())
    }

    /// Forgets mounts and links that a mount above them shows already.
    fn drop_inner(&mut self) {
        let outer: BTreeMap<PathBuf, Grant> = self
            .mounts
            .iter()
            .map(|(at, shown)| (at.clone(), shown.grant))
            .collect();
        // The nearest above decides: a folder to be written may lie in one that is only read.
        let above = |path: &Path| path.ancestors().skip(1).find_map(|above| outer.get(above));
        self.mounts.retain(|at, shown| {
            above(at).is_none_or(|grant| shown.grant == Grant::Write && *grant == Grant::Read)
        });
        self.links.retain(|at, _| above(at).is_none());
    }

    /// Puts something of the run's own at `path`, unless the profile shows something there.
    fn put(&mut self, path: impl AsRef<Path>, what: What) -> bool {
        let path = path.as_ref();
        let taken =
            self.links.contains_key(path) || self.own.contains_key(path) || self.is_shown(path);
        if !taken {
            self.own.insert(path.to_path_buf(), what);
        }
        !taken
    }

    fn is_shown(&self, path: &Path) -> bool {
        path.ancestors()
            .any(|above| self.mounts.contains_key(above))
    }

    /// Everything in the order in which it can be made, with the folders it needs.
    fn lay_out(self, rules: Vec<(PathBuf, BitFlags<AccessFs>)>) -> Result<Root, SandboxError> {
        let mut entries: BTreeMap<PathBuf, Vec<What>> = BTreeMap::new();
        let names = self
            .mounts
            .keys()
            .chain(self.links.keys())
            .chain(self.own.keys());
        for name in names {
            for above in name.ancestors().skip(1) {
                // Beneath a mount of the host the folder is there.
                if above != Path::new("/") && !self.is_shown(above) {
                    entries.entry(above.to_path_buf()).or_default();
                }
            }
        }
        for what in entries.values_mut() {
            what.push(What::Folder);
        }
        for (at, text) in &self.links {
            entries.insert(at.clone(), vec![What::Link(c_string(text)?)]);
        }
        for (at, shown) in &self.mounts {
            let beneath = at.parent().is_some_and(|above| self.is_shown(above));
            let mut made = Vec::new();
            if !beneath {
                made.push(if shown.folder {
                    What::Folder
                } else {
                    What::File
                });
            }
            made.push(What::Bind(bind(shown)?));
            entries.insert(at.clone(), made);
        }
        for (at, what) in self.own {
            let mut made = match what {
                What::Scratch | What::Processes | What::Terminals => vec![What::Folder],
                What::Folder | What::File | What::Link(_) | What::Bind(_) => Vec::new(),
            };
            made.push(what);
            entries.insert(at, made);
        }
        let mut root = Root::default();
        for (at, made) in entries {
            for what in made {
                let name = at.strip_prefix("/").unwrap_or(&at);
                root.entries.push(Entry {
                    at: c_string(name)?,
                    what,
                });
            }
        }
        for (at, rights) in rules {
            root.rules.push(Rule {
                at: c_string(&at)?,
                rights: rights.bits(),
            });
        }
        Ok(root)
    }
}

fn bind(shown: &Shown) -> Result<Bind, SandboxError> {
    let attributes = match shown.grant {
        Grant::Read => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        Grant::Device => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
        Grant::Write => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
    };
    Ok(Bind {
        source: c_string(&shown.source)?,
        id: shown.id,
        attributes,
    })
}

fn c_string(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes()).map_err(SandboxError::nul)
}
