//! Tests of the layers: ownership, modes, trust and places.

use std::os::unix::fs::PermissionsExt as _;

use super::{LayerError, Places, gather, is_trusted, trust};
use crate::model::environment::Environment;
use crate::model::judgement::Layer;
use crate::model::path::AbsolutePath;

/// A folder of its own for each test, taken away afterwards.
struct Scratch(AbsolutePath);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("layers-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        let scratch = Self(AbsolutePath::new(folder).unwrap());
        for part in ["managed", "user", "ws/.tipstaff", "state"] {
            let folder = scratch.0.join(part);
            std::fs::create_dir_all(&folder).unwrap();
            chmod(&folder, 0o755);
        }
        scratch
    }

    fn places(&self) -> Places {
        Places {
            managed_dir: self.0.join("managed"),
            user_file: Some(self.0.join("user/policy.toml")),
            project_file: self.0.join("ws/.tipstaff/policy.toml"),
            trust_store: Some(self.0.join("state/trusted-projects")),
        }
    }

    fn write(&self, file: &str, text: &[u8]) -> AbsolutePath {
        let path = self.0.join(file);
        std::fs::write(&path, text).unwrap();
        chmod(&path, 0o644);
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn chmod(path: &AbsolutePath, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The managed folder of a test belongs to whoever runs it, which only root may be.
fn without_managed(scratch: &Scratch) -> Places {
    std::fs::remove_dir(scratch.0.join("managed")).unwrap();
    scratch.places()
}

#[test]
fn absent_layers_are_no_layers() {
    let scratch = Scratch::new("absent");
    let sources = gather(&without_managed(&scratch), None).unwrap();
    assert_eq!(sources, []);
}

#[test]
fn a_chosen_file_stands_in_for_user_and_project() {
    let scratch = Scratch::new("chosen");
    scratch.write("user/policy.toml", b"user");
    scratch.write("ws/.tipstaff/policy.toml", b"project");
    let chosen = scratch.write("user/other.toml", b"chosen");
    let places = without_managed(&scratch);
    let layers = |chosen| {
        let sources = gather(&places, chosen).unwrap();
        sources
            .into_iter()
            .map(|source| (source.layer, source.text))
            .collect::<Vec<_>>()
    };
    let usual = [
        (Layer::User, "user".to_owned()),
        (Layer::Project, "project".to_owned()),
    ];
    assert_eq!(layers(None), usual);
    assert_eq!(
        layers(Some(chosen.as_path())),
        [(Layer::Flag, "chosen".to_owned())]
    );
    let missing = scratch.0.join("user/missing.toml");
    let error = gather(&places, Some(missing.as_path())).unwrap_err();
    assert!(matches!(error, LayerError::Chosen { path, .. } if path == missing.to_string()));
}

#[test]
fn managed_files_are_root_s_and_read_by_name() {
    let scratch = Scratch::new("managed");
    scratch.write("managed/20.toml", b"second");
    scratch.write("managed/10.toml", b"first");
    scratch.write("managed/notes.txt", b"no policy");
    let found = gather(&scratch.places(), None);
    if nix::unistd::geteuid().is_root() {
        let texts: Vec<String> = found
            .unwrap()
            .into_iter()
            .map(|source| source.text)
            .collect();
        assert_eq!(texts, ["first", "second"]);
        nix::unistd::chown(
            scratch.0.join("managed/10.toml").as_path(),
            Some(nix::unistd::Uid::from_raw(12_345)),
            None,
        )
        .unwrap();
        let error = gather(&scratch.places(), None).unwrap_err();
        assert!(matches!(
            error,
            LayerError::ForeignOwner { owner: 12_345, .. }
        ));
    } else {
        assert!(matches!(
            found.unwrap_err(),
            LayerError::ForeignOwner { .. }
        ));
    }
}

#[test]
fn a_policy_others_can_write_is_refused_with_the_remedy() {
    let scratch = Scratch::new("writable");
    let file = scratch.write("user/policy.toml", b"");
    let places = without_managed(&scratch);
    let folder = scratch.0.join("user");
    for (path, mode, message, help) in [
        (
            &file,
            0o666,
            format!("the policy `{file}` can be written by others (mode 0666)"),
            format!("chmod go-w {file}"),
        ),
        (
            &folder,
            0o777,
            format!(
                "the folder `{folder}` of the policy `{file}` can be written by others (mode 0777)"
            ),
            format!("move `{file}` to a folder that only you or root can write"),
        ),
    ] {
        chmod(path, mode);
        let error = gather(&places, None).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.help(), help);
        chmod(path, 0o755);
        assert!(gather(&places, None).is_ok());
    }
}

#[test]
fn what_is_not_there_is_told_as_such() {
    let scratch = Scratch::new("missing");
    let places = without_managed(&scratch);
    let error = trust(&places).unwrap_err();
    assert!(matches!(error, LayerError::NoProject { .. }), "{error}");
    let nowhere = scratch.0.join("nowhere.toml");
    let error = gather(&places, Some(nowhere.as_path())).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot find the policy `{nowhere}`")
    );
}

#[test]
fn what_is_no_text_file_is_refused() {
    let scratch = Scratch::new("text");
    let file = scratch.write("user/policy.toml", b"version = 1\n\xff");
    let places = without_managed(&scratch);
    let error = gather(&places, None).unwrap_err();
    assert!(matches!(error, LayerError::NotText { at: 12, .. }));
    std::fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(file.as_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let error = gather(&places, None).unwrap_err();
    assert!(matches!(error, LayerError::NotAFile { .. }));
}

#[test]
fn trust_is_bound_to_the_exact_content() {
    let scratch = Scratch::new("trust");
    scratch.write("ws/.tipstaff/policy.toml", b"version = 1\n");
    let places = without_managed(&scratch);
    assert!(!is_trusted(&places).unwrap());
    trust(&places).unwrap();
    assert!(is_trusted(&places).unwrap());
    assert!(
        gather(&places, None)
            .unwrap()
            .iter()
            .all(|source| source.trusted)
    );
    scratch.write("ws/.tipstaff/policy.toml", b"version = 1 \n");
    assert!(!is_trusted(&places).unwrap());
    assert!(
        !gather(&places, None)
            .unwrap()
            .iter()
            .any(|source| source.trusted)
    );
    let nowhere = Places {
        trust_store: None,
        ..places
    };
    assert!(matches!(
        trust(&nowhere).unwrap_err(),
        LayerError::NoTrustStore
    ));
}

#[test]
fn the_usual_places_follow_the_environment() {
    let workspace = AbsolutePath::new("/ws").unwrap();
    let mut environment = Environment::default();
    let places = Places::discover(&environment, &workspace);
    assert_eq!((places.user_file, places.trust_store), (None, None));
    environment.set("HOME", "/home/me");
    environment.set("XDG_CONFIG_HOME", "relative");
    environment.set("XDG_STATE_HOME", "/state");
    let places = Places::discover(&environment, &workspace);
    let shown = |path: Option<AbsolutePath>| path.map(|path| path.to_string());
    assert_eq!(
        shown(places.user_file).as_deref(),
        Some("/home/me/.config/tipstaff/policy.toml")
    );
    assert_eq!(
        shown(places.trust_store).as_deref(),
        Some("/state/tipstaff/trusted-projects")
    );
    assert_eq!(places.managed_dir.to_string(), "/etc/tipstaff/policy.d");
}
