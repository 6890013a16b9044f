//! Fixes the environment of a run, before anything is judged: the same bytes then serve lookup, object
//! and exec.
//!
//! A variable goes when it makes a shell or a tool run code that nobody judged, when it makes the shell
//! read the line otherwise than we do, when it names a way out of the sandbox, or when it holds a
//! secret. Everything else passes.

use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;

/// The PATH of a run whose caller has none, or none with an absolute part.
pub const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// A user the command runs as, when that is not the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: Vec<u8>,
    /// Home folder.
    pub home: AbsolutePath,
    /// Login shell.
    pub shell: AbsolutePath,
}

/// What the caller decides about the environment.
#[derive(Clone, Copy, Debug)]
pub struct Fixing<'a> {
    /// The private temporary folder of the run: `TMPDIR`.
    pub temporary: &'a AbsolutePath,
    /// The user the command runs as, when another one than the caller is named.
    pub account: Option<&'a Account>,
    /// Names that a policy lists and that pass whatever the table says.
    pub keep: &'a [Vec<u8>],
}

/// Why a variable, or a part of it, is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The shell runs it, imports it, or reads the line otherwise because of it. bash(1)
    Shell,
    /// The loader or the C library loads code or tables from where it says. ld.so(8)
    Loader,
    /// A tool runs, loads or configures itself from what it names.
    Hook,
    /// It names a socket, a session or a display outside the sandbox.
    Reach,
    /// Its name is that of a secret, or its value holds a password.
    Secret,
    /// A part of PATH is empty or relative, so the current folder would decide which program runs.
    PathPart,
    /// It describes the caller, and the command runs as another user.
    OtherUser,
    /// It is a setting of tipstaff itself.
    Own,
}

impl Why {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Shell => "it changes what the shell runs",
            Self::Loader => "it makes the loader or the C library load other files",
            Self::Hook => "it makes a tool run or load other code",
            Self::Reach => "it names a way out of the sandbox",
            Self::Secret => "it holds a secret",
            Self::PathPart => {
                "an empty or relative part would let the current folder name programs"
            }
            Self::OtherUser => "it describes another user than the one the command runs as",
            Self::Own => "it is a setting of tipstaff",
        }
    }
}

/// One variable that was taken away, or PATH with a part less. Values are never kept: they may be
/// secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The variable.
    pub name: Vec<u8>,
    /// Why.
    pub why: Why,
}

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// What the command gets.
    pub environment: Environment,
    /// What it does not get.
    pub removed: Vec<Removed>,
    /// Values of the caller's secrets, kept or not: the audit replaces them wherever they appear.
    pub secrets: Vec<Vec<u8>>,
}

/// Which names an entry of the table covers.
#[derive(Clone, Copy)]
enum Names {
    Is(&'static str),
    Starts(&'static str),
    Ends(&'static str),
    Has(&'static str),
}
use Names::{Ends, Has, Is, Starts};

impl Names {
    fn cover(self, name: &[u8]) -> bool {
        match self {
            Is(text) => name == text.as_bytes(),
            Starts(text) => name.starts_with(text.as_bytes()),
            Ends(text) => name.ends_with(text.as_bytes()),
            Has(text) => name
                .windows(text.len())
                .any(|window| window == text.as_bytes()),
        }
    }
}

/// Variables by what they do. Names are compared as written: the shell and the loader do so too.
const TABLE: &[(Why, &[Names])] = &[
    // PWD and OLDPWD: bash takes its logical folder from them when they name the same inode, and then
    // `cd ..` leads elsewhere than the parser thinks. EXECIGNORE hides files from the PATH search.
    // POSIXLY_CORRECT and BASH_COMPAT change the grammar. FUNCNEST and the like only limit.
    (
        Why::Shell,
        &[
            Is("BASH_ENV"),
            Is("ENV"),
            Starts("BASH_FUNC_"),
            Is("SHELLOPTS"),
            Is("BASHOPTS"),
            Is("BASH_COMPAT"),
            Is("POSIXLY_CORRECT"),
            Is("POSIX_PEDANTIC"),
            Is("BASH_LOADABLES_PATH"),
            Is("BASH_XTRACEFD"),
            Is("EXECIGNORE"),
            Is("GLOBIGNORE"),
            Is("CDPATH"),
            Is("IFS"),
            Is("PS0"),
            Is("PS4"),
            Is("PROMPT_COMMAND"),
            Is("PWD"),
            Is("OLDPWD"),
            Is("TEXTDOMAIN"),
            Is("TEXTDOMAINDIR"),
            Is("HISTFILE"),
            Is("INPUTRC"),
            Is("ZDOTDIR"),
            Is("FPATH"),
        ],
    ),
    // The list the loader itself drops for set-user-ID programs, as far as it loads or reads files.
    (
        Why::Loader,
        &[
            Starts("LD_"),
            Is("GCONV_PATH"),
            Is("GETCONF_DIR"),
            Is("GLIBC_TUNABLES"),
            Is("HOSTALIASES"),
            Is("LOCALDOMAIN"),
            Is("LOCPATH"),
            Is("MALLOC_TRACE"),
            Is("NIS_PATH"),
            Is("NLSPATH"),
            Is("RESOLV_HOST_CONF"),
            Is("RES_OPTIONS"),
            Is("TZDIR"),
            Is("OPENSSL_CONF"),
            Is("OPENSSL_ENGINES"),
            Is("OPENSSL_MODULES"),
        ],
    ),
    // Interpreters: code read at start-up or added to the search path. PYTHONWARNINGS imports the
    // module of a category.
    (
        Why::Hook,
        &[
            Is("PYTHONSTARTUP"),
            Is("PYTHONPATH"),
            Is("PYTHONHOME"),
            Is("PYTHONINSPECT"),
            Is("PYTHONUSERBASE"),
            Is("PYTHONBREAKPOINT"),
            Is("PYTHONWARNINGS"),
            Is("PYTHONPLATLIBDIR"),
            Is("PYTHONEXECUTABLE"),
            Is("NODE_OPTIONS"),
            Is("NODE_PATH"),
            Is("NODE_REPL_EXTERNAL_MODULE"),
            Is("DENO_DIR"),
            Is("BUN_OPTIONS"),
            Is("PERL5OPT"),
            Is("PERL5LIB"),
            Is("PERLLIB"),
            Is("PERL5DB"),
            Is("PERL5SHELL"),
            Is("RUBYOPT"),
            Is("RUBYLIB"),
            Is("RUBYSHELL"),
            Is("BUNDLE_GEMFILE"),
            Is("PHPRC"),
            Is("PHP_INI_SCAN_DIR"),
            Starts("LUA_INIT"),
            Starts("LUA_PATH"),
            Starts("LUA_CPATH"),
            Is("AWKPATH"),
            Is("AWKLIBPATH"),
            Is("ERL_FLAGS"),
            Is("ERL_AFLAGS"),
            Is("ERL_ZFLAGS"),
            Is("R_PROFILE"),
            Is("R_PROFILE_USER"),
            Is("R_ENVIRON"),
            Is("R_ENVIRON_USER"),
            Is("JULIA_LOAD_PATH"),
            Is("DOTNET_STARTUP_HOOKS"),
            Starts("CORECLR_"),
            Is("JAVA_TOOL_OPTIONS"),
            Is("_JAVA_OPTIONS"),
            Is("JDK_JAVA_OPTIONS"),
            Is("JAVA_OPTS"),
            Is("CLASSPATH"),
            Is("MAVEN_OPTS"),
            Is("GRADLE_OPTS"),
        ],
    ),
    // Build tools: flags, wrappers and linkers that are commands.
    (
        Why::Hook,
        &[
            Is("MAKEFLAGS"),
            Is("MFLAGS"),
            Is("GNUMAKEFLAGS"),
            Is("MAKEFILES"),
            Is("RUSTC"),
            Is("RUSTDOC"),
            Is("RUSTC_WRAPPER"),
            Is("RUSTC_WORKSPACE_WRAPPER"),
            Starts("CARGO_BUILD_RUST"),
            // CARGO_TARGET_<TRIPLE>_RUNNER and its like; CARGO_TARGET_DIR is only a folder.
            Ends("_RUNNER"),
            Ends("_LINKER"),
            Ends("_RUSTFLAGS"),
            Starts("CARGO_ALIAS_"),
            Is("RUSTFLAGS"),
            Is("GOFLAGS"),
            Is("COMPILER_PATH"),
            Is("GCC_EXEC_PREFIX"),
            Starts("npm_config_"),
            Starts("NPM_CONFIG_"),
            Is("YARN_RC_FILENAME"),
        ],
    ),
    // Everyday tools: pagers, editors, helpers and option files that name commands. `LESS=+!CMD` runs
    // CMD, `TAR_OPTIONS` holds --to-command, ripgrep's file holds --pre.
    (
        Why::Hook,
        &[
            Starts("GIT_"),
            Starts("LESS"),
            Is("PAGER"),
            Ends("_PAGER"),
            Is("MANPAGER"),
            Is("MANOPT"),
            Is("EDITOR"),
            Is("VISUAL"),
            Ends("_EDITOR"),
            Is("FCEDIT"),
            Is("BROWSER"),
            Ends("_ASKPASS"),
            Is("VIMINIT"),
            Is("GVIMINIT"),
            Is("EXINIT"),
            Is("EMACSLOADPATH"),
            Is("RIPGREP_CONFIG_PATH"),
            Is("BAT_CONFIG_PATH"),
            Is("ACK_OPTIONS"),
            Is("GREP_OPTIONS"),
            Is("TAR_OPTIONS"),
            Is("TAPE"),
            Is("RSYNC_RSH"),
            Is("RSYNC_CONNECT_PROG"),
            Is("CVS_RSH"),
            Is("SVN_SSH"),
            Is("WGETRC"),
            Is("CURL_HOME"),
            Is("NETRC"),
            Is("PSQLRC"),
            Starts("FZF_DEFAULT_"),
            Is("DEBUGINFOD_URLS"),
            Is("SSLKEYLOGFILE"),
            Is("KRB5_CONFIG"),
            Is("GTK_MODULES"),
            Is("GTK_PATH"),
            Is("GIO_EXTRA_MODULES"),
            Is("QT_PLUGIN_PATH"),
        ],
    ),
    (
        Why::Reach,
        &[
            Is("SSH_AUTH_SOCK"),
            Is("SSH_AGENT_PID"),
            Is("GPG_AGENT_INFO"),
            Is("DBUS_SESSION_BUS_ADDRESS"),
            Is("DBUS_SYSTEM_BUS_ADDRESS"),
            Is("XDG_RUNTIME_DIR"),
            Is("DISPLAY"),
            Is("WAYLAND_DISPLAY"),
            Is("WAYLAND_SOCKET"),
            Is("XAUTHORITY"),
            Is("PULSE_SERVER"),
            Is("DOCKER_HOST"),
            Is("CONTAINER_HOST"),
            Is("KUBECONFIG"),
            Is("NOTIFY_SOCKET"),
            Is("WATCHDOG_PID"),
            Is("LISTEN_FDS"),
            Is("LISTEN_PID"),
            Is("LISTEN_FDNAMES"),
            Is("TMUX"),
            Is("STY"),
        ],
    ),
    (Why::Own, &[Starts("TIPSTAFF_")]),
];

/// Names of secrets, compared in capitals: callers write them either way.
const SECRETS: &[Names] = &[
    Has("TOKEN"),
    Has("SECRET"),
    Has("PASSWORD"),
    Has("PASSWD"),
    Has("PASSPHRASE"),
    Has("CREDENTIAL"),
    Has("APIKEY"),
    Has("PRIVATE_KEY"),
    Has("ACCESS_KEY"),
    Has("CONNECTION_STRING"),
    Ends("_KEY"),
    Ends("_PAT"),
    Ends("_AUTH"),
    Ends("_PASS"),
    Ends("_PWD"),
    Is("PGPASSFILE"),
];

/// Families of settings for accounts elsewhere. They go, but their values (a region, a profile) are
/// too plain to be hidden wherever they appear.
const ACCOUNTS: &[Names] = &[Starts("AWS_"), Starts("AZURE_")];

/// Variables that describe the caller's own home.
const OF_THE_CALLER: &[Names] = &[
    Is("MAIL"),
    Is("XDG_CONFIG_HOME"),
    Is("XDG_DATA_HOME"),
    Is("XDG_CACHE_HOME"),
    Is("XDG_STATE_HOME"),
];

/// Whether a variable or option of this name holds a secret. `-` counts as `_`.
pub fn is_secret_name(name: &[u8]) -> bool {
    let name: Vec<u8> = name
        .iter()
        .map(|byte| match byte {
            b'-' => b'_',
            byte => byte.to_ascii_uppercase(),
        })
        .collect();
    SECRETS.iter().any(|names| names.cover(&name))
}

/// The passwords of every `scheme://user:password@host` in a value.
fn passwords(value: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(value);
    text.split("://")
        .skip(1)
        .filter_map(|rest| {
            let authority = rest.split(['/', '?', '#', ' ']).next()?;
            let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
            (!password.is_empty()).then(|| password.as_bytes().to_vec())
        })
        .collect()
}

fn why(name: &[u8], account: Option<&Account>) -> Option<Why> {
    let covered = |names: &[Names]| names.iter().any(|entry| entry.cover(name));
    if covered(ACCOUNTS) {
        return Some(Why::Secret);
    }
    if account.is_some() && covered(OF_THE_CALLER) {
        return Some(Why::OtherUser);
    }
    TABLE
        .iter()
        .find(|(_, names)| covered(names))
        .map(|(why, _)| *why)
}

/// Fixes the environment of a run from the caller's.
pub fn fix(given: &Environment, fixing: &Fixing<'_>) -> Fixed {
    let mut fixed = Fixed {
        environment: Environment::default(),
        removed: Vec::new(),
        secrets: Vec::new(),
    };
    for (name, value) in given.iter() {
        let mut secrets = passwords(value);
        if is_secret_name(name) {
            secrets.push(value.to_vec());
        }
        let why = match secrets.is_empty() {
            true => why(name, fixing.account),
            false => Some(Why::Secret),
        };
        fixed.secrets.append(&mut secrets);
        match why {
            Some(why) if !fixing.keep.iter().any(|kept| kept == name) => {
                fixed.removed.push(Removed {
                    name: name.to_vec(),
                    why,
                });
            }
            Some(_) | None => fixed.environment.set(name, value),
        }
    }
    fix_path(&mut fixed);
    for name in [b"TMP".as_slice(), b"TEMP"] {
        if fixed.environment.get(name).is_some() {
            fixed.environment.set(name, fixing.temporary.as_bytes());
        }
    }
    fixed.environment.set("TMPDIR", fixing.temporary.as_bytes());
    if let Some(account) = fixing.account {
        fixed.environment.set("HOME", account.home.as_bytes());
        fixed.environment.set("USER", account.name.as_slice());
        fixed.environment.set("LOGNAME", account.name.as_slice());
        fixed.environment.set("SHELL", account.shell.as_bytes());
    }
    fixed
}

/// Leaves the absolute parts of PATH. They are written clean, so that the kernel cannot follow a `..`
/// behind a link to another folder than lookup did.
fn fix_path(fixed: &mut Fixed) {
    let given = fixed.environment.get(b"PATH").map(<[u8]>::to_vec);
    let folders = fixed.environment.path_folders();
    let parts = given
        .as_deref()
        .map_or(0, |path| path.split(|byte| *byte == b':').count());
    if parts > folders.len() {
        fixed.removed.push(Removed {
            name: b"PATH".to_vec(),
            why: Why::PathPart,
        });
    }
    let folders: Vec<&[u8]> = folders.iter().map(AbsolutePath::as_bytes).collect();
    if folders.is_empty() {
        fixed.environment.set("PATH", DEFAULT_PATH);
    } else {
        fixed.environment.set("PATH", folders.join(&b':'));
    }
}

#[cfg(test)]
mod tests {
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
}
