//! A real child, parked and proved on the running kernel; this process itself is never confined.

use crate::model::level::Level;
use crate::model::profile::{Identity, Network};
use crate::sandbox::sample::Sample;
use crate::sandbox::{Gate, SandboxError};

fn sample() -> Sample {
    Sample::new("/usr/bin/true", &["true"])
}

#[test]
fn a_parked_child_is_proved_and_dies_with_its_value() {
    let (_kept, parked) = sample().park().unwrap();
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
    let (_kept, parked) = Sample {
        network: Network::Full,
        ..sample()
    }
    .park()
    .unwrap();
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
    let (_kept, parked) = sample().run_as(user).park().unwrap();
    let fact = parked
        .proof()
        .facts()
        .iter()
        .find(|fact| fact.claim == "runs as the user named");
    assert_eq!(fact.unwrap().evidence, "Uid [65534, 65534, 65534, 65534]");
}

#[test]
fn loopback_has_a_network_of_its_own_or_names_what_is_missing() {
    let (own, host) = (
        "/proc/self/ns/net",
        std::fs::read_link("/proc/self/ns/net").unwrap(),
    );
    match (Sample {
        network: Network::Loopback,
        ..sample()
    })
    .park()
    {
        Ok((_kept, parked)) => {
            let place = own.replace("self", &parked.pid().to_string());
            assert_ne!(std::fs::read_link(place).unwrap(), host);
        }
        Err(SandboxError::Missing { feature, .. }) => assert!(feature.contains("network")),
        Err(other) => panic!("{other}"),
    }
}

/// Where a gate can stand, the parked child proves that it does.
#[test]
fn behind_a_gate_the_level_is_two() {
    let (_kept, parked) = Sample {
        gate: Gate::Wanted,
        ..sample()
    }
    .park()
    .unwrap();
    let proof = parked.proof();
    let gated = crate::sandbox::gate::tried() == Gate::Wanted;
    assert_eq!(proof.level() >= Level::L2, gated, "{:?}", proof.lines());
    assert_eq!(parked.into_parts().listener.is_some(), gated);
}
