use super::{Account, DEFAULT_PATH, Fixed, Fixing, Why, fix, is_secret_name};
use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;

fn fixed(pairs: &[(&str, &str)], account: Option<&Account>, keep: &[Vec<u8>]) -> Fixed {
    let given: Environment = pairs
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect();
    let temporary = AbsolutePath::new("/run/private").unwrap();
    fix(
        &given,
        &Fixing {
            temporary: &temporary,
            account,
            keep,
        },
    )
}

#[test]
fn hooks_loaders_and_reach_go_with_their_reason() {
    for (name, why) in [
        ("BASH_ENV", Why::Shell),
        ("ENV", Why::Shell),
        ("BASH_FUNC_ls%%", Why::Shell),
        ("SHELLOPTS", Why::Shell),
        ("BASHOPTS", Why::Shell),
        ("PS4", Why::Shell),
        ("CDPATH", Why::Shell),
        ("IFS", Why::Shell),
        ("GLOBIGNORE", Why::Shell),
        ("EXECIGNORE", Why::Shell),
        ("PROMPT_COMMAND", Why::Shell),
        ("PWD", Why::Shell),
        ("LD_PRELOAD", Why::Loader),
        ("LD_AUDIT", Why::Loader),
        ("GCONV_PATH", Why::Loader),
        ("PYTHONSTARTUP", Why::Hook),
        ("NODE_OPTIONS", Why::Hook),
        ("PERL5OPT", Why::Hook),
        ("RUBYOPT", Why::Hook),
        ("RIPGREP_CONFIG_PATH", Why::Hook),
        ("GIT_EXTERNAL_DIFF", Why::Hook),
        ("LESSOPEN", Why::Hook),
        ("SYSTEMD_PAGER", Why::Hook),
        ("JAVA_TOOL_OPTIONS", Why::Hook),
        ("MAKEFLAGS", Why::Hook),
        ("SSH_AUTH_SOCK", Why::Reach),
        ("DBUS_SESSION_BUS_ADDRESS", Why::Reach),
        ("TIPSTAFF_MODE", Why::Own),
        ("GITHUB_TOKEN", Why::Secret),
        ("AWS_REGION", Why::Secret),
        ("openai_api_key", Why::Secret),
    ] {
        let fixed = fixed(&[(name, "x")], None, &[]);
        assert_eq!(fixed.environment.get(name.as_bytes()), None, "{name}");
        let removed: Vec<_> = fixed.removed.iter().map(|one| one.why).collect();
        assert_eq!(removed, [why], "{name}");
    }
}

#[test]
fn ordinary_variables_pass() {
    let ordinary = [
        ("CARGO_TARGET_DIR", "/home/ana/target"),
        ("CARGO_HOME", "/home/ana/.cargo"),
        ("HOME", "/home/ana"),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm"),
        ("KEYBOARD", "de"),
    ];
    let fixed = fixed(&ordinary, None, &[]);
    for (name, value) in ordinary {
        assert_eq!(
            fixed.environment.get(name.as_bytes()),
            Some(value.as_bytes())
        );
    }
    assert!(fixed.removed.is_empty());
    assert_eq!(fixed.environment.get(b"TMPDIR"), Some(&b"/run/private"[..]));
}

#[test]
fn path_keeps_absolute_parts_only_and_is_never_missing() {
    let path = |text: &str| {
        let fixed = fixed(&[("PATH", text)], None, &[]);
        (
            String::from_utf8(fixed.environment.get(b"PATH").unwrap().to_vec()).unwrap(),
            fixed.removed.len(),
        )
    };
    assert_eq!(path("/usr/bin:/bin"), ("/usr/bin:/bin".into(), 0));
    assert_eq!(
        path("/usr/bin::.:bin:~/bin:/x/../opt/bin:"),
        ("/usr/bin:/opt/bin".into(), 1)
    );
    let default = String::from_utf8(DEFAULT_PATH.to_vec()).unwrap();
    assert_eq!(path("."), (default.clone(), 1));
    let unset = fixed(&[], None, &[]);
    assert_eq!(unset.environment.get(b"PATH"), Some(default.as_bytes()));
}

#[test]
fn a_listed_name_passes_but_stays_a_secret() {
    let fixed = fixed(
        &[
            ("GH_TOKEN", "abcdef1"),
            ("HTTPS_PROXY", "http://ana:pw@proxy:3128/"),
        ],
        None,
        &[b"GH_TOKEN".to_vec()],
    );
    assert_eq!(fixed.environment.get(b"GH_TOKEN"), Some(&b"abcdef1"[..]));
    assert_eq!(fixed.environment.get(b"HTTPS_PROXY"), None);
    assert_eq!(fixed.secrets, [b"abcdef1".to_vec(), b"pw".to_vec()]);
}

#[test]
fn a_named_user_gets_an_own_home() {
    let account = Account {
        name: b"ben".to_vec(),
        home: AbsolutePath::new("/home/ben").unwrap(),
        shell: AbsolutePath::new("/bin/sh").unwrap(),
    };
    let fixed = fixed(
        &[
            ("HOME", "/root"),
            ("XDG_CONFIG_HOME", "/root/.config"),
            ("TMP", "/t"),
        ],
        Some(&account),
        &[],
    );
    assert_eq!(fixed.environment.get(b"HOME"), Some(&b"/home/ben"[..]));
    assert_eq!(fixed.environment.get(b"LOGNAME"), Some(&b"ben"[..]));
    assert_eq!(fixed.environment.get(b"SHELL"), Some(&b"/bin/sh"[..]));
    assert_eq!(fixed.environment.get(b"XDG_CONFIG_HOME"), None);
    assert_eq!(fixed.environment.get(b"TMP"), Some(&b"/run/private"[..]));
}

#[test]
fn secret_names_are_known_in_any_case_and_as_options() {
    assert!(is_secret_name(b"--api-key"));
    assert!(is_secret_name(b"db_password"));
    assert!(!is_secret_name(b"KEYBOARD"));
    assert!(!is_secret_name(b"--output"));
}
