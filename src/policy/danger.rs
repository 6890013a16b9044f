//! Allow rules that give away more than they seem to. They load, since a person may want them; adding
//! one by a command has to be meant.

use super::examples;
use super::glob::{Match, Purpose};
use super::kind;
use super::knowledge::program_files;
use super::path_pattern::PathPattern;
use super::pattern::{Against, Arguments, CommandPattern, ProgramPattern, static_argv};
use super::rule::Target;
use crate::model::path::AbsolutePath;
use crate::model::verdict::Verdict;

/// What a rule gives away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
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
const FILES: [&str; 10] = [
    ANY_FILE,
    "/etc/passwd",
    "/etc/cron.d/qx",
    "/usr/bin/qx",
    "/usr/local/bin/qx",
    "/bin/qx",
    "/dev/qx",
    "/home/user/.bashrc",
    "/home/user/.ssh/authorized_keys",
    "/home/user/.config/tipstaff/policy.toml",
];
/// A file that no rule means.
const ANY_FILE: &str = "/qx/one/two";
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
    match kind::one_line(text).ok()? {
        Target::Command(pattern) => command(&pattern),
        Target::Write(pattern) => {
            let file = precious(&pattern)?;
            Some(Danger {
                why: match file {
                    ANY_FILE => "it lets the shell overwrite every file".to_owned(),
                    file => format!("it lets the shell write files such as `{file}`"),
                },
                narrower: "name the folder, for example `write(./out/**)`",
            })
        }
        Target::Delete(pattern) => {
            let file = precious(&pattern)?;
            Some(Danger {
                why: match file {
                    ANY_FILE => "it lets every file be deleted".to_owned(),
                    file => format!("it lets files such as `{file}` be deleted"),
                },
                narrower: "name the folder, for example `delete(./out/**)`",
            })
        }
        Target::Mcp(tool) => {
            TOOLS
                .into_iter()
                .find(|(server, name)| tool.matches(server, name, Purpose::Allow))?;
            Some(Danger {
                why: "it lets tools be called that nobody has named".to_owned(),
                narrower: "name the tool, for example `mcp(tickets:read_one)`",
            })
        }
        Target::Env(glob) => {
            let matches = |name: &&str| glob.matches(name.as_bytes(), None, Purpose::Allow);
            let name = VARIABLES.into_iter().find(matches)?;
            Some(Danger {
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
                why: "it lets a line talk to hosts that nobody has named".to_owned(),
                narrower: "name the host, for example `network(api.example.org:443)`",
            })
        }
        Target::Read(_) => None,
    }
}

/// The first file the pattern covers whose writer owns more than the file.
fn precious(pattern: &PathPattern) -> Option<&'static str> {
    let facts = examples::facts()?;
    FILES
        .into_iter()
        .find(|file| AbsolutePath::new(file).is_ok_and(|path| pattern.matches(&path, &facts)))
}

fn command(pattern: &CommandPattern) -> Option<Danger> {
    if covers(pattern, NOBODY) {
        return Some(Danger {
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
    let carriers = [names_in("carriers.toml"), names_in("runners.toml")].concat();
    let found = |names: &[&'static str]| names.iter().copied().find(|name| covers(pattern, name));
    if let Some(name) = found(&shells) {
        return Some(Danger {
            why: format!("`{name}` runs whatever its arguments or input say"),
            narrower: "allow the programs the script starts, or one script: `bash ./build.sh`",
        });
    }
    let mut interpreters = INTERPRETERS.into_iter().chain(BUILT_IN);
    if let Some(name) = interpreters.find(|name| covers(pattern, name)) {
        return Some(Danger {
            why: format!("`{name}` runs whatever its arguments or input say"),
            narrower: "spell the words out that make it harmless, for example `python3 -m pytest`",
        });
    }
    found(&carriers).map(|name| Danger {
        why: format!("`{name}` starts the program that its arguments name"),
        narrower: "allow the program it starts by a rule of its own, and spell the carrier's words out: `timeout 60`",
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
            assert_eq!(danger(Verdict::Allow, rule), None, "{rule}");
        }
    }
}
