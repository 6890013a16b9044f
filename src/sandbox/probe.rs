//! What this host can enforce, found by doing it: a throw-away child is parked and proved.

use std::os::fd::{AsFd as _, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use serde::Serialize;

use crate::model::level::Level;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Network, Profile, ProfileName};
use crate::sys::arguments::Arguments;
use crate::sys::child::Target;

use super::blueprint::{Builder, Landlock, SCOPES, grants};
use super::canary::Canary;
use super::capabilities;
use super::error::SandboxError;
use super::park::{self, Folder, Recipe};
use super::proof::{Proof, Witness};
use super::view::{self, Needs};

/// Whether one layer works here, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// What it is.
    pub name: &'static str,
    /// Whether it works.
    pub works: bool,
    /// What was seen, and the remedy where it does not work.
    pub seen: String,
}

/// What `doctor` reports.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// The highest level that was proved.
    pub level: Level,
    /// Each layer.
    pub layers: Vec<Layer>,
    /// The proof behind the level.
    pub proof: Option<Proof>,
}

/// Parks and proves throw-away children, one for each network setting that needs its own steps.
pub fn probe() -> Probe {
    let root = nix::unistd::geteuid().is_root();
    let mut layers = vec![landlock(), capabilities::layer(root)];
    let off = throw_away(Network::Off, false);
    layers.push(match &off {
        Ok(proof) => Layer {
            name: "sandbox",
            works: true,
            seen: proof.to_string(),
        },
        Err(error) => broken("sandbox", error),
    });
    layers.push(match &off {
        Ok(proof) if proof.witness() == Witness::Kernel => Layer {
            name: "ptrace",
            works: true,
            seen: "the proof and every start are seen by the kernel".into(),
        },
        Ok(_) => Layer {
            name: "ptrace",
            works: false,
            seen: "refused here, so the proof is self-reported; set kernel.yama.ptrace_scope to 0 or 1, or let the container trace (SYS_PTRACE)".into(),
        },
        Err(error) => broken("ptrace", error),
    });
    layers.push(match throw_away(Network::Off, true) {
        Ok(_) => Layer {
            name: "namespaces",
            works: true,
            seen: "a root, processes, terminals and scratch folders of its own".into(),
        },
        Err(error) => broken("namespaces", &error),
    });
    layers.push(match throw_away(Network::Loopback, false) {
        Ok(_) => Layer {
            name: "network loopback",
            works: true,
            seen: "a network namespace of its own".into(),
        },
        Err(error) => broken("network loopback", &error),
    });
    let proof = off.ok();
    Probe {
        level: proof.as_ref().map_or(Level::L0, Proof::level),
        layers,
        proof,
    }
}

fn landlock() -> Layer {
    match Landlock::running() {
        Ok(landlock) => Layer {
            name: "Landlock",
            works: true,
            seen: landlock_seen(landlock.abi),
        },
        Err(error) => broken("Landlock", &error),
    }
}

/// The ABI, and what one without scopes leaves open. landlock(7)
fn landlock_seen(abi: i32) -> String {
    if abi >= SCOPES {
        format!("ABI {abi}")
    } else {
        format!(
            "ABI {abi}: signals to processes of the same user are not refused, nor abstract unix sockets where sockets are allowed; Linux 6.12 (ABI {SCOPES}) refuses both"
        )
    }
}

fn broken(name: &'static str, error: &SandboxError) -> Layer {
    let mut seen = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        seen = format!("{seen}: {error}");
        cause = error.source();
    }
    Layer {
        name,
        works: false,
        seen,
    }
}

/// A child with the least of a sandbox, which is never told to start.
fn throw_away(network: Network, apart: bool) -> Result<Proof, SandboxError> {
    let landlock = Landlock::running()?;
    let profile = Profile {
        name: ProfileName::ReadOnly,
        read: AbsolutePath::new("/usr").into_iter().collect(),
        devices: Vec::new(),
        write: Vec::new(),
        network,
    };
    let mut builder = Builder::new(landlock, network)?;
    builder.grant(&profile, &[])?;
    let ruleset = builder.finish()?;
    let canary = Canary::release(grants(&profile).map(|(path, _)| path))?;
    let needs = Needs {
        profile: &profile,
        opened: &[],
        programs: &[],
        terminal: None,
        named: &[],
    };
    let view = apart.then(|| view::root(&needs, landlock)).transpose()?;
    let nothing = Arguments::new([c"nothing".to_bytes()]).map_err(SandboxError::nul)?;
    let root = opened("/", OFlag::O_PATH | OFlag::O_DIRECTORY)?;
    let null = opened("/dev/null", OFlag::O_RDWR)?;
    let null = park::raised_copy(null.as_fd())?;
    let identity = if nix::unistd::geteuid().is_root() {
        Identity::RootWithoutCapabilities
    } else {
        Identity::Unchanged
    };
    let folder = AbsolutePath::new("/").map_err(|_| SandboxError::Gone)?;
    let recipe = Recipe {
        stdio: [null.as_fd(), null.as_fd(), null.as_fd()],
        folder: Folder {
            fd: root.as_fd(),
            path: &folder,
            shown: false,
        },
        terminal: None,
        identity: &identity,
        network,
        landlock,
        root: view.as_ref(),
        canary: &canary,
        ruleset: ruleset.as_fd(),
        target: Target::Path(c"/nonexistent"),
        argv: &nothing,
        envp: &nothing,
    };
    Ok(park::stand(&recipe, None)?.1)
}

fn opened(path: &str, flags: OFlag) -> Result<OwnedFd, SandboxError> {
    open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map_err(|source: Errno| {
        SandboxError::Prepare {
            call: "open",
            source,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{landlock_seen, probe};
    use crate::model::level::Level;

    #[test]
    fn a_level_has_a_proof_and_a_failure_has_words() {
        let _alone = crate::sandbox::sample::alone();
        let probe = probe();
        assert_eq!(probe.level == Level::L0, probe.proof.is_none());
        assert!(probe.level < Level::L2, "there is no gate yet");
        assert!(probe.layers.iter().all(|layer| !layer.seen.is_empty()));
        assert!(
            probe
                .layers
                .iter()
                .any(|layer| layer.name == "capabilities")
        );
    }

    #[test]
    fn an_abi_without_scopes_says_what_stays_open() {
        assert_eq!(landlock_seen(7), "ABI 7");
        assert!(landlock_seen(5).contains("signals"));
    }
}
