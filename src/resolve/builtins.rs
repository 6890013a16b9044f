//! Which names a shell runs itself.

/// A shell whose built-ins are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// GNU bash 5.2.
    Bash,
    /// dash 0.5.12; its list is also what any other POSIX shell has, so it serves for those we do not
    /// know. What such a shell runs itself beyond it is looked up as a file and not found.
    Posix,
}

/// `compgen -b`
const BASH: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// src/builtins.def.in of dash, without `fc` and `history`, which are built with libedit only.
const POSIX: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "cd", "chdir", "command", "continue", "echo", "eval",
    "exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "local", "printf",
    "pwd", "read", "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type",
    "ulimit", "umask", "unalias", "unset", "wait",
];

/// Whether bash runs `name` itself, without any file.
pub fn is_bash_builtin(name: &[u8]) -> bool {
    Shell::Bash.has(name)
}

/// Names under which a shell is called.
const SHELLS: &[&str] = &[
    "sh", "bash", "rbash", "dash", "ash", "ksh", "mksh", "zsh", "yash", "posh", "busybox",
];

impl Shell {
    /// Whether this shell runs `name` itself.
    pub(super) fn has(self, name: &[u8]) -> bool {
        let table = match self {
            Self::Bash => BASH,
            Self::Posix => POSIX,
        };
        table.iter().any(|builtin| builtin.as_bytes() == name)
    }

    /// The shell called by this base name, if it is one.
    pub(super) fn called(base_name: &[u8]) -> Option<Self> {
        let known = SHELLS.iter().any(|shell| shell.as_bytes() == base_name);
        known.then_some(match base_name {
            b"bash" | b"rbash" => Self::Bash,
            _ => Self::Posix,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{BASH, POSIX, Shell};

    #[expect(clippy::disallowed_methods, reason = "the real shell is the oracle")]
    fn output(program: &str, arguments: &[&str]) -> Option<String> {
        let output = std::process::Command::new(program)
            .args(arguments)
            .output()
            .ok()?;
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn bash_agrees() {
        let Some(listed) = output("bash", &["--norc", "-c", "compgen -b"]) else {
            return;
        };
        assert_eq!(listed.lines().collect::<Vec<_>>(), BASH);
    }

    #[test]
    fn dash_agrees() {
        for name in POSIX.iter().chain(BASH) {
            let Some(answer) = output("dash", &["-c", "type \"$0\"", name]) else {
                return;
            };
            let builtin = answer.contains("shell builtin");
            assert_eq!(
                builtin,
                Shell::Posix.has(name.as_bytes()),
                "{name}: {answer}"
            );
        }
    }

    #[test]
    fn shells_are_known_by_name() {
        assert_eq!(Shell::called(b"bash"), Some(Shell::Bash));
        assert_eq!(Shell::called(b"sh"), Some(Shell::Posix));
        assert_eq!(Shell::called(b"env"), None);
    }
}
