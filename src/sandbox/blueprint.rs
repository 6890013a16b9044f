//! A profile in kernel terms: path rules with their rights, and the ruleset made of them.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::libc;
use nix::sys::stat::{Mode, SFlag, fstat};

use crate::model::path::AbsolutePath;
use crate::model::profile::{Network, Profile};
use crate::sys;

use super::error::SandboxError;
use super::filter::UnixSockets;

/// The oldest Landlock that level L1 is promised on: before ABI 3, truncate(2) passes the write rules.
pub(super) const OLDEST: i32 = 3;
/// From here on, signals to processes outside are refused.
pub(super) const SCOPES: i32 = 6;
/// From here on, connecting to the path of a unix socket needs a right.
const UNIX_PATHS: i32 = 9;
/// From here on, TCP ports need a right.
const PORTS: i32 = 4;

/// What a path is granted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// Reading and executing.
    Read,
    /// Reading, writing and controlling a device.
    Device,
    /// Everything but device nodes.
    Write,
}

/// The Landlock of the running kernel, new enough for L1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landlock {
    /// As the kernel numbers it.
    pub(super) abi: i32,
    known: ABI,
}

impl Landlock {
    /// Asks the kernel.
    pub(super) fn running() -> Result<Self, SandboxError> {
        let abi = sys::landlock::abi().map_err(SandboxError::no_landlock)?;
        if abi < OLDEST {
            return Err(SandboxError::old_landlock(abi));
        }
        Ok(Self::of(abi))
    }

    pub(super) fn of(abi: i32) -> Self {
        Self {
            abi,
            known: ABI::from(abi),
        }
    }

    /// Whether the filter has to refuse unix sockets.
    pub(super) fn unix_sockets(self) -> UnixSockets {
        if self.abi >= UNIX_PATHS {
            UnixSockets::ByPath
        } else {
            UnixSockets::PairsOnly
        }
    }

    /// The rights of a grant, as far as this kernel has them; all others are refused.
    pub(super) fn rights(self, grant: Grant) -> BitFlags<AccessFs> {
        let wanted = match grant {
            Grant::Read => AccessFs::from_read(ABI::V1),
            Grant::Device => {
                AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
            }
            Grant::Write => {
                AccessFs::from_all(ABI::V10)
                    & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
            }
        };
        wanted & AccessFs::from_all(self.known)
    }

    fn file_rights(self, rights: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
        rights & AccessFs::from_file(self.known)
    }
}

/// A folder that is granted by its open descriptor and not by looking its path up again.
#[derive(Clone, Copy, Debug)]
pub struct Opened<'a> {
    /// Where it was when it was opened.
    pub path: &'a AbsolutePath,
    /// The folder itself.
    pub folder: BorrowedFd<'a>,
}

/// Every path of a profile with its grant, in the order the rules are added.
pub(super) fn grants(profile: &Profile) -> impl Iterator<Item = (&AbsolutePath, Grant)> + Clone {
    let read = profile.read.iter().map(|path| (path, Grant::Read));
    let devices = profile.devices.iter().map(|path| (path, Grant::Device));
    let write = profile.write.iter().map(|path| (path, Grant::Write));
    read.chain(devices).chain(write)
}

/// Builds the ruleset: everything the running Landlock can refuse is refused, but for the grants.
pub(super) struct Builder {
    landlock: Landlock,
    ruleset: RulesetCreated,
}

impl Builder {
    /// An empty ruleset. Every right is a hard requirement: a kernel that would enforce less is an
    /// error, never a weaker sandbox.
    pub(super) fn new(landlock: Landlock, network: Network) -> Result<Self, SandboxError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(landlock.known))
            .map_err(SandboxError::Ruleset)?;
        match network {
            Network::Off if landlock.abi >= PORTS => {
                ruleset = ruleset
                    .handle_access(AccessNet::from_all(landlock.known))
                    .map_err(SandboxError::Ruleset)?;
            }
            // Loopback has a network of its own; a rule for ports could not tell hosts apart.
            Network::Off | Network::Loopback | Network::Full => {}
        }
        if landlock.abi >= SCOPES {
            ruleset = ruleset
                .scope(Scope::from_all(landlock.known))
                .map_err(SandboxError::Ruleset)?;
        }
        let ruleset = ruleset.create().map_err(SandboxError::Ruleset)?;
        Ok(Self { landlock, ruleset })
    }

    /// Grants every path of `profile`. Paths that are not there are passed over when they are read;
    /// a folder to be written must be there. `opened` folders are granted by their descriptor.
    pub(super) fn grant(
        &mut self,
        profile: &Profile,
        opened: &[Opened<'_>],
    ) -> Result<(), SandboxError> {
        for (path, grant) in grants(profile) {
            let rights = self.landlock.rights(grant);
            if let Some(known) = opened.iter().find(|one| one.path == path) {
                self.add(known.folder, rights)?;
                continue;
            }
            match open(
                path.as_path(),
                OFlag::O_PATH | OFlag::O_CLOEXEC,
                Mode::empty(),
            ) {
                Ok(file) => self.add(file.as_fd(), rights)?,
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES | Errno::ELOOP)
                    if grant != Grant::Write => {}
                Err(source) => {
                    return Err(SandboxError::Open {
                        path: path.clone(),
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// Grants reading and executing one judged program, wherever it lies.
    pub(super) fn grant_program(&mut self, file: BorrowedFd<'_>) -> Result<(), SandboxError> {
        self.add(file, self.landlock.rights(Grant::Read))
    }

    /// Grants opening again, as through `/dev/stdout`, what stands on descriptors 0 to 2 and can be
    /// opened by a path: a terminal, and a file as far as the descriptor itself allows. A file that is
    /// only appended to is not granted, since a second opening could overwrite it.
    pub(super) fn grant_stdio(&mut self, file: BorrowedFd<'_>) -> Result<(), SandboxError> {
        let failed = SandboxError::prepare("fstat");
        let kind = SFlag::from_bits_truncate(fstat(file).map_err(failed)?.st_mode) & SFlag::S_IFMT;
        let flags = fcntl(file, FcntlArg::F_GETFL).map_err(SandboxError::prepare("fcntl"))?;
        let mut rights = match flags & libc::O_ACCMODE {
            libc::O_RDONLY => AccessFs::ReadFile.into(),
            libc::O_WRONLY => AccessFs::WriteFile | AccessFs::Truncate,
            libc::O_RDWR => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
            _ => BitFlags::EMPTY,
        };
        if flags & libc::O_APPEND != 0 {
            rights &= !(AccessFs::WriteFile | AccessFs::Truncate);
        }
        if kind == SFlag::S_IFCHR && nix::unistd::isatty(file).unwrap_or(false) {
            rights |= AccessFs::IoctlDev;
        } else if kind != SFlag::S_IFREG && kind != SFlag::S_IFCHR {
            return Ok(());
        }
        let rights = self.landlock.file_rights(rights);
        if rights.is_empty() {
            return Ok(());
        }
        // A file without a path, such as a memfd, takes no rule and needs none (EBADFD).
        (&mut self.ruleset)
            .add_rule(PathBeneath::new(file, rights))
            .map(|_| ())
            .or_else(|error| match (kind, is_memory(file)) {
                (SFlag::S_IFREG, true) => Ok(()),
                _ => Err(SandboxError::Ruleset(error)),
            })
    }

    fn add(
        &mut self,
        file: BorrowedFd<'_>,
        rights: BitFlags<AccessFs>,
    ) -> Result<(), SandboxError> {
        let status = fstat(file).map_err(SandboxError::prepare("fstat"))?;
        let folder = SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
        let rights = if folder {
            rights
        } else {
            self.landlock.file_rights(rights)
        };
        (&mut self.ruleset)
            .add_rule(PathBeneath::new(file, rights))
            .map(|_| ())
            .map_err(SandboxError::Ruleset)
    }

    /// The finished ruleset.
    pub(super) fn finish(self) -> Result<OwnedFd, SandboxError> {
        Option::<OwnedFd>::from(self.ruleset)
            .ok_or_else(|| SandboxError::no_landlock(Errno::ENOSYS))
    }
}

/// Whether a file lives in memory alone, without a path. memfd_create(2)
fn is_memory(file: BorrowedFd<'_>) -> bool {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"))
}

#[cfg(test)]
mod tests {
    use landlock::AccessFs;

    use super::{Grant, Landlock, grants};
    use crate::model::path::AbsolutePath;
    use crate::model::profile::{Network, Profile, ProfileName};

    fn path(text: &str) -> AbsolutePath {
        AbsolutePath::new(text).unwrap()
    }

    /// The blueprint as lines, which is how a golden is read.
    fn golden(profile: &Profile, abi: i32) -> Vec<String> {
        let landlock = Landlock::of(abi);
        grants(profile)
            .map(|(path, grant)| {
                let rights: Vec<String> = landlock
                    .rights(grant)
                    .iter()
                    .map(|right| format!("{right:?}"))
                    .collect();
                format!("{path} {}", rights.join(" "))
            })
            .collect()
    }

    #[test]
    fn rights_by_grant_and_abi() {
        let profile = Profile {
            name: ProfileName::Workspace,
            read: vec![path("/usr")],
            devices: vec![path("/dev/null")],
            write: vec![path("/ws")],
            guarded: Vec::new(),
            network: Network::Off,
        };
        let write = "/ws Execute WriteFile ReadFile ReadDir RemoveDir RemoveFile MakeDir MakeReg \
                     MakeSock MakeFifo MakeSym Refer Truncate";
        assert_eq!(
            golden(&profile, 3),
            [
                "/usr Execute ReadFile ReadDir",
                "/dev/null WriteFile ReadFile Truncate",
                write
            ]
        );
        assert_eq!(
            golden(&profile, 7),
            [
                "/usr Execute ReadFile ReadDir",
                "/dev/null WriteFile ReadFile Truncate IoctlDev",
                write
            ]
        );
        assert_eq!(golden(&profile, 9)[2], format!("{write} ResolveUnix"));
    }

    #[test]
    fn no_grant_makes_device_nodes_and_only_devices_take_ioctl() {
        for abi in 3..=10 {
            for grant in [Grant::Read, Grant::Device, Grant::Write] {
                let rights = Landlock::of(abi).rights(grant);
                assert!(!rights.intersects(AccessFs::MakeChar | AccessFs::MakeBlock));
                assert!(grant == Grant::Device || !rights.contains(AccessFs::IoctlDev));
            }
            let read = Landlock::of(abi).rights(Grant::Read);
            assert!(!read.intersects(AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::Truncate));
        }
    }
}
