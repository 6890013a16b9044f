//! Allow rules that give away more than they seem to. They load, since a person may want them; adding
//! one by a command has to be meant.

use super::examples;
use super::glob::{Match, Purpose};
use super::kind;
use super::knowledge::{self, program_files};
use super::path_pattern::PathPattern;
use super::pattern::{Against, Arguments, CommandPattern, ProgramPattern, static_argv};
use super::rule::{Conditions, Target};
use crate::model::path::AbsolutePath;
use crate::model::verdict::Verdict;

/// What kind of thing an allow rule gives away. The codes are stable: `policy lint` and JSON show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hazard {
    /// Every program, or whatever an expression happens to match.
    AnyProgram,
    /// A shell with arguments nobody has named.
    Shell,
    /// An interpreter with arguments nobody has named.
    Interpreter,
    /// A program that starts another one named in its argv.
    Carrier,
    /// A program that reads, but for options that start programs or remove files.
    ExecutingOptions,
    /// Files nobody has named.
    WriteAnywhere,
    /// Files that hold keys, start programs or let others in.
    SensitivePath,
    /// Our own policy or state.
    OwnState,
    /// Variables by which programs are made to run something else.
    Variable,
    /// Hosts nobody has named.
    AnyHost,
    /// Tools nobody has named.
    AnyTool,
}

impl Hazard {
    /// The code.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AnyProgram => "any-program",
            Self::Shell => "shell",
            Self::Interpreter => "interpreter",
            Self::Carrier => "carrier",
            Self::ExecutingOptions => "executing-options",
            Self::WriteAnywhere => "write-anywhere",
            Self::SensitivePath => "sensitive-path",
            Self::OwnState => "own-state",
            Self::Variable => "variable",
            Self::AnyHost => "any-host",
            Self::AnyTool => "any-tool",
        }
    }

    /// Whether `policy add` refuses it unless it is meant.
    pub const fn is_refused(self) -> bool {
        match self {
            Self::AnyProgram
            | Self::Shell
            | Self::Interpreter
            | Self::Carrier
            | Self::WriteAnywhere
            | Self::SensitivePath
            | Self::OwnState
            | Self::Variable
            | Self::AnyHost
            | Self::AnyTool => true,
            Self::ExecutingOptions => false,
        }
    }
}

/// What a rule gives away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// What kind of thing.
    pub code: Hazard,
    /// Why it is dangerous.
    pub why: String,
    /// What narrower rule would do.
    pub narrower: &'static str,
}

/// Programs that run whatever their arguments or input say, beside shells, carriers and runners.
const INTERPRETERS: [&str; 22] = [
    "python",
    "pypy",
    "perl",
    "ruby",
    "irb",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "Rscript",
    "osascript",
    "pwsh",
    "guile",
    "groovy",
    "jshell",
    "eval",
    "source",
];
/// Built into the shell, with the same power.
const BUILT_IN: [&str; 5] = [".", "exec", "command", "builtin", "trap"];
/// A name and words that no rule means.
const NOBODY: &str = "qx-no-such-program";
const WORDS: [&[&str]; 5] = [
    &[],
    &["qx-one", "qx-two"],
    &["-c", "qx-one"],
    &["-e", "qx-one"],
    &["-x", "/qx/one", "--qx=two"],
];
/// Variables by which a program is made to run something else.
const VARIABLES: [&str; 24] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_GLOBAL",
    "GCONV_PATH",
    "HOME",
];
/// Files whose writer owns more than the file; the home of examples is `/home/user`.
const FILES: [(Hazard, &str); 22] = [
    (Hazard::WriteAnywhere, "/qx/one/two"),
    (Hazard::SensitivePath, "/etc/passwd"),
    (Hazard::SensitivePath, "/etc/cron.d/qx"),
    (Hazard::SensitivePath, "/usr/bin/qx"),
    (Hazard::SensitivePath, "/usr/local/bin/qx"),
    (Hazard::SensitivePath, "/bin/qx"),
    (Hazard::SensitivePath, "/dev/qx"),
    (Hazard::SensitivePath, "/home/user/.bashrc"),
    (Hazard::SensitivePath, "/home/user/.profile"),
    (Hazard::SensitivePath, "/home/user/.ssh/authorized_keys"),
    (Hazard::SensitivePath, "/home/user/.gitconfig"),
    (Hazard::SensitivePath, "/home/user/.local/bin/qx"),
    (Hazard::SensitivePath, "/home/user/bin/qx"),
    (Hazard::SensitivePath, "/home/user/.cargo/bin/qx"),
    (Hazard::SensitivePath, "/home/user/.aws/credentials"),
    (Hazard::SensitivePath, "/home/user/.netrc"),
    (Hazard::SensitivePath, "/home/user/.gnupg/pubring.kbx"),
    (Hazard::SensitivePath, "/home/user/.docker/config.json"),
    (Hazard::SensitivePath, "/home/user/.kube/config"),
    (Hazard::OwnState, "/home/user/.config/tipstaff/policy.toml"),
    (
        Hazard::OwnState,
        "/home/user/.local/state/tipstaff/trusted-projects",
    ),
    (Hazard::OwnState, "/etc/tipstaff/policy.d/site.toml"),
];
/// Tools that no rule means.
const TOOLS: [(&str, &str); 2] = [("qx-one", "qx-run"), ("github", "qx-run")];
const HOSTS: [&str; 4] = [
    "qx-one.example",
    "qx-two.com",
    "qx-three.org",
    "203.0.113.7",
];

/// What an added one-line rule would give away; `None` for a rule that does not load.
pub fn danger(verdict: Verdict, text: &str) -> Option<Danger> {
    if verdict != Verdict::Allow {
        return None;
    }
    of(&kind::one_line(text).ok()?, &Conditions::default())
}

/// The one table of what an allow rule gives away: for `policy add`, `try` and `lint`.
pub(super) fn of(target: &Target, conditions: &Conditions) -> Option<Danger> {
    match target {
        Target::Command(pattern) => command(pattern, conditions),
        Target::Write(pattern) => {
            let (code, file) = precious(pattern)?;
            Some(Danger {
                code,
                why: match (code, file) {
                    (Hazard::WriteAnywhere, _) => {
                        "it lets the shell overwrite every file".to_owned()
                    }
                    (Hazard::OwnState, file) => ours(file),
                    (_, file) => format!("it lets the shell write files such as `{file}`"),
                },
                narrower: "name the folder, for example `write(./out/**)`",
            })
        }
        Target::Delete(pattern) => {
            let (code, file) = precious(pattern)?;
            Some(Danger {
                code,
                why: match (code, file) {
                    (Hazard::WriteAnywhere, _) => "it lets every file be deleted".to_owned(),
                    (Hazard::OwnState, file) => ours(file),
                    (_, file) => format!("it lets files such as `{file}` be deleted"),
                },
                narrower: "name the folder, for example `delete(./out/**)`",
            })
        }
        Target::Mcp(tool) => {
            TOOLS
                .into_iter()
                .find(|(server, name)| tool.matches(server, name, Purpose::Allow))?;
            Some(Danger {
                code: Hazard::AnyTool,
                why: "it lets tools be called that nobody has named".to_owned(),
                narrower: "name the tool, for example `mcp(tickets:read_one)`",
            })
        }
        Target::Env(glob) => {
            let matches = |name: &&str| glob.matches(name.as_bytes(), None, Purpose::Allow);
            let name = VARIABLES.into_iter().find(matches)?;
            Some(Danger {
                code: Hazard::Variable,
                why: format!(
                    "it lets a line set `{name}`, by which programs are made to run something else"
                ),
                narrower: "name the variable that is needed, for example `env(RUST_LOG)`",
            })
        }
        Target::Network(host) => {
            let matches = |name: &&str| {
                host.matches(name.as_bytes(), Some(b"443"), Purpose::Allow)
                    || host.matches(name.as_bytes(), Some(b"80"), Purpose::Allow)
            };
            HOSTS.into_iter().find(matches)?;
            Some(Danger {
                code: Hazard::AnyHost,
                why: "it lets a line talk to hosts that nobody has named".to_owned(),
                narrower: "name the host, for example `network(api.example.org:443)`",
            })
        }
        Target::Read(_) => None,
    }
}

/// The first file the pattern covers whose writer owns more than the file.
fn precious(pattern: &PathPattern) -> Option<(Hazard, &'static str)> {
    let facts = examples::facts()?;
    FILES
        .into_iter()
        .find(|(_, file)| AbsolutePath::new(file).is_ok_and(|path| pattern.matches(&path, &facts)))
}

fn ours(file: &str) -> String {
    format!("it speaks of our own files such as `{file}`, which no rule can open")
}

/// Options of `find` that start programs, remove or write; a rule without them only looks.
const ACTS: [&str; 8] = [
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls",
];

fn command(pattern: &CommandPattern, conditions: &Conditions) -> Option<Danger> {
    if covers(pattern, NOBODY) {
        return Some(Danger {
            code: Hazard::AnyProgram,
            why: match pattern.arguments {
                Arguments::Regex(_) => "the expression matches whatever is run".to_owned(),
                Arguments::Prefix(_) | Arguments::Exact(_) => {
                    "it covers every program with any arguments".to_owned()
                }
            },
            narrower: "name the program and its first words, for example `git log`",
        });
    }
    let shells = names_in("shells.toml");
    let carriers = [names_in("carriers.toml"), knowledge::runners().to_vec()].concat();
    let found = |names: &[&'static str]| names.iter().copied().find(|name| covers(pattern, name));
    if let Some(name) = found(&shells) {
        return Some(Danger {
            code: Hazard::Shell,
            why: format!("`{name}` runs whatever its arguments or input say"),
            narrower: "allow the programs the script starts, or one script: `bash ./build.sh`",
        });
    }
    let mut interpreters = INTERPRETERS.into_iter().chain(BUILT_IN);
    if let Some(name) = interpreters.find(|name| covers(pattern, name)) {
        return Some(Danger {
            code: Hazard::Interpreter,
            why: format!("`{name}` runs whatever its arguments or input say"),
            narrower: "spell the words out that make it harmless, for example `python3 -m pytest`",
        });
    }
    if let Some(name) = found(&carriers) {
        return Some(Danger {
            code: Hazard::Carrier,
            why: format!("`{name}` starts the program that its arguments name"),
            narrower: "allow the program it starts by a rule of its own, and spell the carrier's words out: `timeout 60`",
        });
    }
    let acts = |act: &str| conditions.without.iter().any(|without| without == act);
    let looks = ACTS.into_iter().all(acts);
    (!looks && covers(pattern, "find")).then(|| Danger {
        code: Hazard::ExecutingOptions,
        why: "`find` removes and writes files and starts programs by its options".to_owned(),
        narrower: "leave it to the read-only defaults, or exclude `-exec`, `-execdir`, `-ok`, `-okdir`, `-delete`, `-fprint`, `-fprintf` and `-fls` with `without`",
    })
}

fn names_in(file: &str) -> Vec<&'static str> {
    program_files()
        .into_iter()
        .filter(|known| known.name == file)
        .flat_map(|known| known.names)
        .copied()
        .collect()
}

/// Whether the pattern covers the program with words nobody has named, or alone.
fn covers(pattern: &CommandPattern, name: &str) -> bool {
    let program = match &pattern.program {
        ProgramPattern::Names(globs) => {
            globs
                .iter()
                .any(|glob| glob.matches(name.as_bytes(), None, Purpose::Allow))
                || versions_of(pattern, name)
        }
        ProgramPattern::Path(path) => examples::facts().is_some_and(|facts| {
            let folders: &[&str] = if name == NOBODY {
                &["/usr/bin", "/bin", "/qx/one", "/workspace", "/workspace/qx"]
            } else {
                &["/usr/bin", "/bin", "/usr/local/bin"]
            };
            folders.iter().any(|folder| {
                AbsolutePath::new(folder)
                    .is_ok_and(|folder| path.matches(&folder.join(name), &facts))
            })
        }),
        ProgramPattern::Content(_) => false,
    };
    program && arguments_match(pattern, name.as_bytes())
}

/// Whether the pattern names a version of this interpreter, such as `python3.12`.
fn versions_of(pattern: &CommandPattern, name: &str) -> bool {
    INTERPRETERS.contains(&name)
        && pattern.program_names().iter().any(|named| {
            named.strip_prefix(name.as_bytes()).is_some_and(|rest| {
                !rest.is_empty()
                    && rest
                        .iter()
                        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
            })
        })
}

fn arguments_match(pattern: &CommandPattern, name: &[u8]) -> bool {
    let against = Against {
        purpose: Purpose::Allow,
        home: None,
        folder: None,
    };
    let exact = matches!(pattern.arguments, Arguments::Exact(_));
    WORDS.iter().any(|words| {
        // A pattern that fixes every word covers nothing nobody has named; alone, a program of this
        // kind reads what to do from its input.
        if exact && !words.is_empty() {
            return false;
        }
        let mut argv = vec![name];
        argv.extend(words.iter().map(|word| word.as_bytes()));
        pattern.matches_arguments(&static_argv(&argv), &against) == Match::Yes
    })
}

#[cfg(test)]
mod tests {
    use super::danger;
    use crate::model::verdict::Verdict;

    #[test]
    fn what_gives_everything_away_is_seen() {
        for rule in [
            "bash",
            "= bash",
            "sh **",
            "python3",
            "python3.12",
            "python3 *",
            "python3 -c *",
            "env",
            "xargs",
            "sudo",
            "node",
            "npx",
            "timeout",
            "*",
            "{git,bash}",
            "b*",
            "/usr/bin/bash",
            "/usr/bin/*",
            "/bin/**",
            "./**",
            "re:.*",
            "re:.+",
            "re:bash.*",
            "re:(git|sh) .*",
            "write(/**)",
            "write(/etc/**)",
            "write(~/**)",
            "write(/home/**)",
            "write(~/.bashrc)",
            "env(*)",
            "env(LD_*)",
            "env(PATH)",
            "env(P*)",
            "network(*)",
            "network(*:443)",
            "network(*.com)",
            "delete(/**)",
            "delete(~/.ssh/*)",
            "mcp(*:*)",
            "mcp(github:*)",
            "eval",
            "exec",
        ] {
            assert!(danger(Verdict::Allow, rule).is_some(), "{rule}");
            assert!(danger(Verdict::Deny, rule).is_none(), "{rule}");
        }
    }

    #[test]
    fn what_names_its_purpose_is_not() {
        for rule in [
            "git",
            "git log",
            "cargo test",
            "make",
            "ls",
            "find",
            "python3 -m pytest",
            "bash ./build.sh",
            "timeout 60",
            "= bash ./build.sh",
            "env -u X",
            "re:git (log|show)( .*)?",
            "/opt/tool/bin/run",
            "./scripts/check",
            "write(./**)",
            "write(**)",
            "write(~/out/**)",
            "write(/tmp/x)",
            "env(RUST_LOG)",
            "env(CARGO_*)",
            "network(example.org)",
            "network(*.example.org)",
            "read(/**)",
            "delete(./build/**)",
            "mcp(github:get_*)",
            "perlcritic",
        ] {
            let found = danger(Verdict::Allow, rule).filter(|danger| danger.code.is_refused());
            assert_eq!(found, None, "{rule}");
        }
    }
}
