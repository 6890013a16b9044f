//! What this host can enforce, found by doing it: a throw-away child is parked and proved.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

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
use super::gate;
use super::park::{self, Folder, Gate, Recipe};
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
    let gate = gate::tried();
    let off = throw_away(Network::Off, false, &gate);
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
    layers.push(match &gate {
        Gate::Wanted => Layer {
            name: "gate",
            works: true,
            seen: "every exec of a command waits to be judged, and is stopped before its first instruction".into(),
        },
        Gate::None(why) => Layer {
            name: "gate",
            works: false,
            seen: why.clone(),
        },
    });
    let apart = throw_away(Network::Off, true, &gate);
    layers.push(match &apart {
        Ok(_) => Layer {
            name: "namespaces",
            works: true,
            seen: "a root, processes, terminals and scratch folders of its own".into(),
        },
        Err(error) => broken("namespaces", error),
    });
    let none = Gate::None("not needed for this".into());
    layers.push(match throw_away(Network::Loopback, false, &none) {
        Ok(_) => Layer {
            name: "network loopback",
            works: true,
            seen: "a network namespace of its own".into(),
        },
        Err(error) => broken("network loopback", &error),
    });
    // What a run gets: namespaces where they stand.
    let proof = apart.or(off).ok();
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

/// Parks a child in the least of a sandbox, which is never told to start, and proves it.
fn throw_away(network: Network, apart: bool, gate: &Gate) -> Result<Proof, SandboxError> {
    throw(network, apart, gate, None, |recipe| {
        park::stand(recipe, None).map(|stood| stood.proof)
    })
}

/// Makes something of a child in the least of a sandbox, with namespaces and behind a gate where it is told
/// so; it would execute `program`, or nothing that exists.
pub(super) fn throw<T>(
    network: Network,
    apart: bool,
    gate: &Gate,
    program: Option<BorrowedFd<'_>>,
    with: impl FnOnce(&Recipe<'_>) -> Result<T, SandboxError>,
) -> Result<T, SandboxError> {
    let landlock = Landlock::running()?;
    let profile = Profile {
        name: ProfileName::ReadOnly,
        read: AbsolutePath::new("/usr").into_iter().collect(),
        devices: Vec::new(),
        write: Vec::new(),
        guarded: Vec::new(),
        network,
    };
    let mut builder = Builder::new(landlock, network)?;
    builder.grant(&profile, &[])?;
    let program = program.map(park::raised_copy).transpose()?;
    if let Some(program) = &program {
        builder.grant_program(program.as_fd())?;
    }
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
        gate,
        target: match &program {
            Some(program) => Target::Descriptor(program.as_fd()),
            None => Target::Path(c"/nonexistent"),
        },
        argv: &nothing,
        envp: &nothing,
    };
    with(&recipe)
}

pub(super) fn opened(path: &str, flags: OFlag) -> Result<OwnedFd, SandboxError> {
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
        let gate = probe
            .layers
            .iter()
            .find(|layer| layer.name == "gate")
            .unwrap();
        assert_eq!(gate.works, probe.level >= Level::L2, "{}", gate.seen);
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
