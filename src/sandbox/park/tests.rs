//! A real child, parked and proved on the running kernel; this process itself is never confined.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use super::{Order, Parked, StdioFd, park};
use crate::model::digest::Digest;
use crate::model::environment::Environment;
use crate::model::executable::{Executable, FileId, Format, Trust};
use crate::model::level::Level;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Network, ProfileName};
use crate::plan::{Plan, Start};
use crate::sandbox::profiles::{Facts, fill};
use crate::sandbox::{Opened, SandboxError, Temporary};

fn identity() -> Identity {
    if nix::unistd::geteuid().is_root() {
        Identity::RootWithoutCapabilities
    } else {
        Identity::Unchanged
    }
}

fn parked(network: Network, identity: &Identity) -> Result<Parked, SandboxError> {
    let base = AbsolutePath::new(std::env::temp_dir()).unwrap();
    let workspace = Temporary::create(&base, identity).unwrap();
    let temporary = Temporary::create(&base, identity).unwrap();
    let environment = Environment::from_iter([(b"PATH".to_vec(), b"/usr/bin".to_vec())]);
    let profile = fill(
        ProfileName::Workspace,
        network,
        &Facts {
            workspace: workspace.path(),
            temporary: temporary.path(),
            environment: &environment,
            uid: nix::unistd::geteuid().as_raw(),
        },
    )
    .unwrap();
    let path = AbsolutePath::new("/usr/bin/true").unwrap();
    let program: OwnedFd = File::open(path.as_path()).unwrap().into();
    let status = std::fs::metadata(path.as_path()).unwrap();
    let plan = Plan {
        start: Start::Binary { subcommand: 0 },
        executable: Executable {
            path: path.clone(),
            real: path,
            id: FileId {
                dev: status.dev(),
                ino: status.ino(),
            },
            size: status.size(),
            digest: Digest([0; 32]),
            format: Format::Elf,
            trust: Trust::Trusted,
        },
        argv: vec![b"true".to_vec()],
        environment,
        cwd: workspace.path().clone(),
        profile,
        identity: identity.clone(),
    };
    park(Order {
        plan: &plan,
        program: program.as_fd(),
        others: &[],
        workspace: Opened {
            path: workspace.path(),
            folder: workspace.as_fd(),
        },
        cwd: workspace.as_fd(),
        temporary,
        stdio: [StdioFd::Inherit, StdioFd::Inherit, StdioFd::Inherit],
    })
}

#[test]
fn a_parked_child_is_proved_and_dies_with_its_value() {
    let parked = parked(Network::Off, &identity()).unwrap();
    let proof = parked.proof();
    assert_eq!(proof.level(), Level::L1);
    let claims: Vec<&str> = proof.facts().iter().map(|fact| fact.claim).collect();
    for claim in [
        "no_new_privs",
        "no capability",
        "system-call filter on",
        "files outside the profile cannot be opened",
        "no network",
        "system calls filtered",
    ] {
        assert!(claims.contains(&claim), "{claim}: {:?}", proof.lines());
    }
    let place = format!("/proc/{}", parked.pid());
    let temporary = parked.temporary.path().clone();
    assert!(std::path::Path::new(&place).exists() && temporary.as_path().exists());
    drop(parked);
    assert!(!std::path::Path::new(&place).exists() && !temporary.as_path().exists());
}

#[test]
fn a_full_network_is_no_claim() {
    let parked = parked(Network::Full, &identity()).unwrap();
    assert!(
        parked
            .proof()
            .facts()
            .iter()
            .all(|fact| fact.claim != "no network")
    );
}

#[test]
fn started_as_root_it_runs_as_the_user_named() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let user = Identity::User {
        uid: 65_534,
        gid: 65_534,
        groups: vec![65_534],
        name: "nobody".into(),
    };
    let parked = parked(Network::Off, &user).unwrap();
    let fact = parked
        .proof()
        .facts()
        .iter()
        .find(|fact| fact.claim == "runs as the user named");
    assert_eq!(fact.unwrap().evidence, "Uid [65534, 65534, 65534, 65534]");
}
