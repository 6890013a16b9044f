use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
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

/// An executable file.
fn program(path: &AbsolutePath) {
    fs::write(path.as_path(), "").unwrap();
    fs::set_permissions(path.as_path(), Permissions::from_mode(0o755)).unwrap();
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
        homes: &[top.path("person")],
        own: &[top.path("person/.keeper")],
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
        "home/.rustup/toolchains",
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
    for name in [
        "home/.cargo/bin",
        "home/.cargo/registry",
        "home/.rustup/toolchains",
    ] {
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
    program(&top.path("n/bin/node"));
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
    program(&good.join("tool"));
    program(&secret.join("tool"));
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

#[test]
fn a_folder_of_keys_on_path_is_not_opened() {
    let top = Folder::new("keys");
    let names = [
        "bin",
        ".ssh",
        ".config",
        ".config/gh",
        ".keeper",
        ".keeper/x",
    ];
    for home in ["home", "person"] {
        for name in names {
            program(&top.folder(&format!("{home}/{name}")).join("tool"));
        }
    }
    let mut path = vec![top.path("home/bin"), top.path("person/bin")];
    let keys = [
        "home/.ssh",
        "home/.config",
        "home/.config/gh",
        "person/.ssh",
        "person/.config",
        "person/.config/gh",
        "person",
        "person/.keeper",
        "person/.keeper/x",
    ];
    let link = top.path("link");
    symlink(top.path("person/.ssh").as_path(), link.as_path()).unwrap();
    path.push(link);
    path.extend(keys.map(|name| top.path(name)));
    path.extend(["/dev", "/etc/ssl", "/var/lib"].map(|name| AbsolutePath::new(name).unwrap()));
    let path: Vec<&AbsolutePath> = path.iter().collect();
    let profile = filled(&top, ProfileName::Workspace, 0, &path);
    for name in ["home/bin", "person/bin"] {
        assert!(profile.read.contains(&top.path(name)), "{name}");
    }
    for name in keys {
        assert!(!profile.read.contains(&top.path(name)), "{name}");
    }
    for name in ["/dev", "/etc/ssl", "/var/lib"] {
        let closed = AbsolutePath::new(name).unwrap();
        assert!(!profile.read.contains(&closed), "{name}");
    }
}

#[test]
fn a_folder_of_path_without_a_program_is_not_opened() {
    let top = Folder::new("data");
    let data = top.folder("data");
    fs::write(data.join("notes").as_path(), "x").unwrap();
    let profile = filled(&top, ProfileName::Workspace, 1000, &[&data]);
    assert!(!profile.read.contains(&data));
    program(&data.join("tool"));
    let profile = filled(&top, ProfileName::Workspace, 1000, &[&data]);
    assert!(profile.read.contains(&data));
}

#[test]
fn a_variable_opens_no_folder_whole() {
    let top = Folder::new("variable");
    let other = top.folder("other");
    for name in ["bin", "shims", "secret", "versions", "toolchains"] {
        top.folder(&format!("other/{name}"));
    }
    let (workspace, temporary) = (top.folder("ws"), top.folder("tmp"));
    for variable in [
        "RUSTUP_HOME",
        "CARGO_HOME",
        "PYENV_ROOT",
        "RBENV_ROOT",
        "NVM_DIR",
        "VOLTA_HOME",
        "GOROOT",
        "GOPATH",
        "SDKMAN_DIR",
        "MISE_DATA_DIR",
    ] {
        let mut environment = Environment::default();
        environment.set(
            "PATH",
            [other.join("bin").as_bytes(), other.join("shims").as_bytes()].join(&b':'),
        );
        environment.set("HOME", top.folder("home").as_bytes());
        environment.set(variable, other.as_bytes());
        let facts = Facts {
            workspace: &workspace,
            temporary: &temporary,
            environment: &environment,
            uid: 1000,
            homes: &[],
            own: &[],
        };
        let profile = fill(ProfileName::Workspace, Network::Off, &facts).unwrap();
        let secret = other.join("secret");
        assert!(
            !profile.read.iter().any(|granted| secret.is_within(granted)),
            "{variable}"
        );
    }
}
