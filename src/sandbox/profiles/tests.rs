use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::{Facts, fill};
use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Network, Profile, ProfileName};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let id = uuid::Uuid::now_v7();
        let path = std::env::temp_dir().join(format!("tipstaff-test-{name}-{id}"));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> AbsolutePath {
        AbsolutePath::new(self.0.join(name)).unwrap()
    }

    fn folder(&self, name: &str) -> AbsolutePath {
        let path = self.path(name);
        fs::create_dir_all(path.as_path()).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn filled(top: &Folder, name: ProfileName, uid: u32, path: &[&AbsolutePath]) -> Profile {
    let mut environment = Environment::default();
    let path: Vec<&[u8]> = path.iter().map(|folder| folder.as_bytes()).collect();
    environment.set("PATH", path.join(&b':'));
    environment.set("HOME", top.folder("home").as_bytes());
    let (workspace, temporary) = (top.folder("ws"), top.folder("tmp"));
    let facts = Facts {
        workspace: &workspace,
        temporary: &temporary,
        environment: &environment,
        uid,
    };
    fill(name, Network::Off, &facts).unwrap()
}

#[test]
fn only_the_workspace_profile_writes_the_workspace() {
    let top = Folder::new("writes");
    let profile = filled(&top, ProfileName::Workspace, 1000, &[]);
    assert_eq!(profile.write, [top.path("tmp"), top.path("ws")]);
    assert!(!profile.read.contains(&top.path("ws")));
    let profile = filled(&top, ProfileName::ReadOnly, 1000, &[]);
    assert_eq!(profile.write, [top.path("tmp")]);
    assert!(profile.read.contains(&top.path("ws")));
}

#[test]
fn uid_0_reads_etc_by_name() {
    let top = Folder::new("etc");
    let etc = AbsolutePath::new("/etc").unwrap();
    let profile = filled(&top, ProfileName::Workspace, 1000, &[]);
    assert!(profile.read.contains(&etc));
    let profile = filled(&top, ProfileName::Workspace, 0, &[]);
    assert!(!profile.read.contains(&etc));
    assert!(profile.read.contains(&etc.join("passwd")));
    for secret in [
        "shadow",
        "gshadow",
        "sudoers",
        "ssh/ssh_host_rsa_key",
        "ssl/private",
        "ssh",
    ] {
        let secret = etc.join(secret);
        assert!(!profile.read.iter().any(|granted| secret.is_within(granted)));
    }
}

#[test]
fn a_toolchain_is_found_from_path_without_its_credentials() {
    let top = Folder::new("cargo");
    for name in [
        "home/.cargo/bin",
        "home/.cargo/registry",
        "home/.rustup",
        "home/.pyenv/shims",
    ] {
        top.folder(name);
    }
    fs::write(top.path("home/.cargo/credentials.toml").as_path(), "x").unwrap();
    let profile = filled(
        &top,
        ProfileName::Workspace,
        1000,
        &[&top.path("home/.cargo/bin")],
    );
    for name in ["home/.cargo/bin", "home/.cargo/registry", "home/.rustup"] {
        assert!(profile.read.contains(&top.path(name)), "{name}");
    }
    for name in [
        "home",
        "home/.cargo",
        "home/.pyenv",
        "home/.cargo/credentials.toml",
    ] {
        let path = top.path(name);
        assert!(
            !profile.read.iter().any(|granted| path.is_within(granted)),
            "{name}"
        );
    }
}

#[test]
fn a_node_prefix_brings_its_library() {
    let top = Folder::new("node");
    top.folder("n/bin");
    top.folder("n/lib/node_modules");
    fs::write(top.path("n/bin/node").as_path(), "").unwrap();
    let profile = filled(&top, ProfileName::Workspace, 1000, &[&top.path("n/bin")]);
    assert!(profile.read.contains(&top.path("n/bin")));
    assert!(profile.read.contains(&top.path("n/lib")));
    assert!(!profile.read.contains(&top.path("n")));
}

#[test]
fn a_home_on_path_is_not_opened() {
    let top = Folder::new("home");
    let home = top.folder("home");
    let above = home.parent().unwrap();
    let root = AbsolutePath::new("/").unwrap();
    let profile = filled(&top, ProfileName::Workspace, 1000, &[&home, &above, &root]);
    for granted in &profile.read {
        assert!(!home.is_within(granted), "{granted}");
    }
}

#[test]
fn a_link_of_the_workspace_opens_nothing() {
    let top = Folder::new("link");
    let secret = top.folder("home/.ssh");
    let workspace = top.folder("ws");
    symlink(secret.as_path(), workspace.join("bin").as_path()).unwrap();
    symlink(
        workspace.join("bin").as_path(),
        top.path("stairs").as_path(),
    )
    .unwrap();
    let good = top.folder("good");
    symlink(good.as_path(), top.path("way").as_path()).unwrap();
    let path = [
        &workspace.join("bin"),
        &top.path("stairs"),
        &top.path("way"),
    ];
    let profile = filled(&top, ProfileName::Workspace, 1000, &path);
    assert!(!profile.read.contains(&secret));
    assert!(!profile.read.contains(&top.path("stairs")));
    // The control: a link that leads through nothing a run can write is followed.
    assert!(profile.read.contains(&good));
}
