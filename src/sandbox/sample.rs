//! Orders for tests.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::profiles::{Facts, fill};
use super::{Gate, Opened, Order, Parked, SandboxError, StdioFd, Temporary, park};
use crate::model::digest::Digest;
use crate::model::environment::Environment;
use crate::model::executable::{Executable, FileId, Format, Trust};
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Network, ProfileName};
use crate::plan::{Plan, Start};

/// The identity that needs nothing of the machine.
pub(crate) fn identity() -> Identity {
    if nix::unistd::geteuid().is_root() {
        Identity::RootWithoutCapabilities
    } else {
        Identity::Unchanged
    }
}

/// Held by every test that forks: orphans of a run are told apart from those of another only when the
/// other is over, so such tests take turns.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a test keeps while its child lives.
pub(crate) struct Kept {
    _workspace: Temporary,
    _alone: MutexGuard<'static, ()>,
}

/// What to park, of which a test changes what it is about.
pub(crate) struct Sample {
    pub(crate) network: Network,
    pub(crate) identity: Identity,
    pub(crate) executable: Executable,
    pub(crate) argv: Vec<Vec<u8>>,
    pub(crate) workspace: Temporary,
    pub(crate) stdio: [StdioFd; 3],
    pub(crate) gate: Gate,
    pub(crate) alone: MutexGuard<'static, ()>,
}

impl Sample {
    /// `/usr/bin/NAME` with `argv`, reading and writing nothing.
    pub(crate) fn new(path: &str, argv: &[&str]) -> Self {
        let base = AbsolutePath::new(std::env::temp_dir()).unwrap();
        let null = || {
            StdioFd::Given(
                File::options()
                    .read(true)
                    .write(true)
                    .open("/dev/null")
                    .unwrap()
                    .into(),
            )
        };
        Self {
            network: Network::Off,
            identity: identity(),
            executable: executable(path, Format::Elf),
            argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
            workspace: Temporary::create(&base, &identity()).unwrap(),
            stdio: [null(), null(), null()],
            gate: Gate::None("not in this test".into()),
            alone: alone(),
        }
    }

    /// The same, run as another user, who owns the workspace then.
    pub(crate) fn run_as(self, identity: Identity) -> Self {
        let base = AbsolutePath::new(std::env::temp_dir()).unwrap();
        Self {
            workspace: Temporary::create(&base, &identity).unwrap(),
            identity,
            ..self
        }
    }

    /// Parks it.
    pub(crate) fn park(self) -> Result<(Kept, Parked), SandboxError> {
        let base = AbsolutePath::new(std::env::temp_dir()).unwrap();
        let temporary = Temporary::create(&base, &self.identity)?;
        let environment = Environment::from_iter([(b"PATH".to_vec(), b"/usr/bin:/bin".to_vec())]);
        let facts = Facts {
            workspace: self.workspace.path(),
            temporary: temporary.path(),
            environment: &environment,
            uid: nix::unistd::geteuid().as_raw(),
            homes: &[],
            own: &[],
        };
        let profile = fill(ProfileName::Workspace, self.network, &facts)?;
        let program: OwnedFd = File::open(self.executable.path.as_path()).unwrap().into();
        let plan = Plan {
            start: Start::Binary { subcommand: 0 },
            executable: self.executable,
            argv: self.argv,
            environment,
            cwd: self.workspace.path().clone(),
            profile,
            temporary: temporary.path().clone(),
            identity: self.identity,
        };
        let parked = park(Order {
            plan: &plan,
            program: program.as_fd(),
            others: &[],
            workspace: Opened {
                path: self.workspace.path(),
                folder: self.workspace.as_fd(),
            },
            cwd: self.workspace.as_fd(),
            temporary,
            stdio: self.stdio,
            gate: self.gate,
        })?;
        Ok((
            Kept {
                _workspace: self.workspace,
                _alone: self.alone,
            },
            parked,
        ))
    }
}

/// The file at `path` as it is now, but for its digest, which is all zero.
pub(crate) fn executable(path: &str, format: Format) -> Executable {
    let status = std::fs::metadata(path).unwrap();
    let path = AbsolutePath::new(path).unwrap();
    Executable {
        path: path.clone(),
        real: path,
        id: FileId {
            dev: status.dev(),
            ino: status.ino(),
        },
        size: status.size(),
        digest: Digest([0; 32]),
        format,
        trust: Trust::Trusted,
    }
}
