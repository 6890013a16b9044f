//! Which variables a run does not get, by what they do.

use super::Why;

/// Which names an entry of the table covers.
#[derive(Clone, Copy)]
pub(super) enum Names {
    Is(&'static str),
    Starts(&'static str),
    Ends(&'static str),
    Has(&'static str),
}
use Names::{Ends, Has, Is, Starts};

impl Names {
    pub(super) fn cover(self, name: &[u8]) -> bool {
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
pub(super) const TABLE: &[(Why, &[Names])] = &[
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
            Is("BC_ENV_ARGS"),
            Is("GZIP"),
            Is("UNZIP"),
            Is("ZIPOPT"),
            Is("ACKRC"),
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
pub(super) const SECRETS: &[Names] = &[
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
pub(super) const ACCOUNTS: &[Names] = &[Starts("AWS_"), Starts("AZURE_")];

/// Variables that describe the caller's own home.
pub(super) const OF_THE_CALLER: &[Names] = &[
    Is("MAIL"),
    Is("XDG_CONFIG_HOME"),
    Is("XDG_DATA_HOME"),
    Is("XDG_CACHE_HOME"),
    Is("XDG_STATE_HOME"),
];
