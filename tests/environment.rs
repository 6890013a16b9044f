//! The fixed environment against real hooks: each starts a file of ours with the environment as it was
//! given, which is the control, and does not with the one a run gets.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::disallowed_methods,
    reason = "the programs under test are started plainly"
)]
#![allow(clippy::print_stdout, reason = "what was left out is for people")]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tipstaff::model::environment::Environment;
use tipstaff::model::path::AbsolutePath;
use tipstaff::resolve::environment::{Fixing, fix};

/// A hook: the program that obeys it, the variables that set it, the argv.
struct Hook {
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    argv: &'static [&'static str],
}

const HOOKS: &[Hook] = &[
    Hook {
        name: "a function of the caller",
        variables: &[("BASH_FUNC_ls%%", "() { ./hook; }")],
        argv: &["bash", "--noprofile", "--norc", "-c", "ls"],
    },
    Hook {
        name: "a start-up file of bash",
        variables: &[("BASH_ENV", "./hook")],
        argv: &["bash", "--noprofile", "--norc", "-c", ":"],
    },
    Hook {
        name: "a start-up module of Python",
        variables: &[("PYTHONPATH", ".")],
        argv: &["python3", "-c", "1"],
    },
    Hook {
        name: "a module of Perl",
        variables: &[("PERL5OPT", "-Mhook"), ("PERL5LIB", ".")],
        argv: &["perl", "-e", "1"],
    },
    Hook {
        name: "a module of Node",
        variables: &[("NODE_OPTIONS", "--require=./hook.cjs")],
        argv: &["node", "-e", "1"],
    },
    Hook {
        name: "a configuration of git",
        variables: &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", "./hook"),
        ],
        argv: &["git", "status"],
    },
    Hook {
        name: "a diff program of git",
        variables: &[("GIT_EXTERNAL_DIFF", "./hook")],
        argv: &["git", "diff", "--ext-diff"],
    },
    Hook {
        name: "a file of options of ripgrep",
        variables: &[("RIPGREP_CONFIG_PATH", "rc")],
        argv: &["rg", "text", "file"],
    },
    Hook {
        name: "options of tar",
        variables: &[(
            "TAR_OPTIONS",
            "--checkpoint=1 --checkpoint-action=exec=./hook",
        )],
        argv: &["tar", "cf", "/dev/null", "file"],
    },
    Hook {
        name: "makefiles from elsewhere",
        variables: &[("MAKEFILES", "more.mk")],
        argv: &["make", "-f", "/dev/null", "-q"],
    },
];

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!(
            "environment-{}-{}",
            std::process::id(),
            name.replace(' ', "-")
        );
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let scratch = Self(folder);
        scratch.write("hook", "#!/bin/sh\ntouch HOOKED\n", 0o755);
        scratch.write("sitecustomize.py", "open('HOOKED', 'w')\n", 0o644);
        scratch.write("hook.pm", "open(F, '>', 'HOOKED'); 1;\n", 0o644);
        let node = "require('fs').writeFileSync('HOOKED', '');\n";
        scratch.write("hook.cjs", node, 0o644);
        scratch.write("rc", "--pre=./hook\n", 0o644);
        scratch.write("more.mk", "X := $(shell ./hook)\n", 0o644);
        scratch.write("file", "text\n", 0o644);
        for argv in [
            &["init", "-q"][..],
            &["add", "file"],
            &[
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@example.invalid",
                "commit",
                "-qm",
                "x",
            ],
        ] {
            let mut git = Command::new("git");
            let done = git.args(argv).current_dir(&scratch.0).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
        scratch.write("file", "text\nmore\n", 0o644);
        scratch
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Whether the hook ran.
    fn run(&self, argv: &[&str], environment: &Environment) -> bool {
        let (program, arguments) = argv.split_first().unwrap();
        let mark = self.0.join("HOOKED");
        assert!(!mark.exists());
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.0).env_clear();
        for (name, value) in environment.iter() {
            command.env(
                std::ffi::OsStr::from_bytes(name),
                std::ffi::OsStr::from_bytes(value),
            );
        }
        let silent = command.stdin(Stdio::null()).output().unwrap();
        let hooked = mark.exists();
        println!("{argv:?}: {hooked}: {silent:?}");
        fs::remove_file(mark).is_ok() && hooked
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left of a scratch folder harms nobody.
        fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn hooks_that_work_with_the_caller_s_environment_do_not_with_the_run_s() {
    let mut tried = 0;
    for hook in HOOKS {
        if !hook.argv.first().is_some_and(|program| found(program)) {
            println!("left out for want of its program: {}", hook.name);
            continue;
        }
        let scratch = Scratch::new(hook.name);
        let mut given = Environment::default();
        given.set("PATH", std::env::var("PATH").unwrap());
        given.set("HOME", scratch.0.as_os_str().as_bytes());
        for (name, value) in hook.variables {
            given.set(*name, *value);
        }
        assert!(scratch.run(hook.argv, &given), "no control: {}", hook.name);
        let temporary = AbsolutePath::new(&scratch.0).unwrap();
        let fixing = Fixing {
            temporary: &temporary,
            account: None,
            keep: &[],
        };
        let fixed = fix(&given, &fixing);
        for (name, _) in hook.variables {
            assert_eq!(fixed.environment.get(name.as_bytes()), None, "{name}");
        }
        assert!(!scratch.run(hook.argv, &fixed.environment), "{}", hook.name);
        tried += 1;
    }
    assert!(tried >= 6, "{tried}");
}
