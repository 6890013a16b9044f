//! What will run, decided before anything stands: pure, from facts alone.
#![forbid(unsafe_code)]

use crate::model::access::{Resolved, Survey};
use crate::model::environment::Environment;
use crate::model::executable::{Executable, Format};
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Profile};

/// How the command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// One static command whose file is a binary: executed by its held descriptor, so that no path is
    /// looked up again (execveat(2), AT_EMPTY_PATH).
    Binary {
        /// Index of the sub-command.
        subcommand: usize,
    },
    /// One static command whose file is a script: executed by path, since its interpreter opens the
    /// path itself, and verified at the exec stop.
    Script {
        /// Index of the sub-command.
        subcommand: usize,
    },
    /// Any other line: the real shell reads it, in the same sandbox.
    Shell,
}

/// Everything that is needed to park a child and later start exactly what was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How it starts.
    pub start: Start,
    /// The file that is executed: the program or the shell.
    pub executable: Executable,
    /// The exact argv.
    pub argv: Vec<Vec<u8>>,
    /// The exact environment.
    pub environment: Environment,
    /// The folder.
    pub cwd: AbsolutePath,
    /// The sandbox in words.
    pub profile: Profile,
    /// The private temporary folder: one of the write roots, under another name in every run.
    pub temporary: AbsolutePath,
    /// Who it runs as.
    pub identity: Identity,
}

/// What reads the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    /// Nobody: it is one program with a known argv.
    Direct(Direct),
    /// This shell.
    Shell(Executable),
}

/// One program that starts without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct {
    start: Start,
    executable: Executable,
    argv: Vec<Vec<u8>>,
}

/// Settings of a run that do not come from the line.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The exact environment.
    pub environment: Environment,
    /// The folder.
    pub cwd: AbsolutePath,
    /// The sandbox in words.
    pub profile: Profile,
    /// The private temporary folder.
    pub temporary: AbsolutePath,
    /// Who it runs as.
    pub identity: Identity,
}

/// How `line` starts: what `runner` says of it, in `setting`. A shell is told to read no start-up file
/// and to take the line as it is.
pub fn plan(line: &[u8], runner: Runner, setting: Setting) -> Plan {
    let Setting {
        environment,
        cwd,
        profile,
        temporary,
        identity,
    } = setting;
    let Direct {
        start,
        executable,
        argv,
    } = match runner {
        Runner::Direct(direct) => direct,
        Runner::Shell(shell) => Direct {
            start: Start::Shell,
            argv: by_shell(&shell, line),
            executable: shell,
        },
    };
    Plan {
        start,
        executable,
        argv,
        environment,
        cwd,
        profile,
        temporary,
        identity,
    }
}

/// The program of a line that needs no shell: a single static command whose file is known.
pub fn direct(survey: &Survey, resolved: &Resolved) -> Option<Direct> {
    let script = &survey.script;
    if !script.single || !script.opaque.is_empty() {
        return None;
    }
    let subcommand = 0;
    let executable = resolved.lookups.get(subcommand)?.executable()?;
    let argv = script.subcommands.get(subcommand)?.static_argv()?;
    let start = match executable.format {
        Format::Elf | Format::Env { .. } => Start::Binary { subcommand },
        Format::Script { .. } => Start::Script { subcommand },
        // No `#!`: the kernel refuses it (ENOEXEC) and a shell reads it as its own script.
        Format::Text => return None,
    };
    Some(Direct {
        start,
        executable: executable.clone(),
        argv: argv.into_iter().map(<[u8]>::to_vec).collect(),
    })
}

/// `bash --noprofile --norc -c -- LINE`: without `--` a line that starts with `-` or `+` would be read
/// as options.
fn by_shell(shell: &Executable, line: &[u8]) -> Vec<Vec<u8>> {
    let words: [&[u8]; 6] = [
        shell.path.base_name(),
        b"--noprofile",
        b"--norc",
        b"-c",
        b"--",
        line,
    ];
    words.iter().map(|word| word.to_vec()).collect()
}

/// What an exec of a running command starts, as a plan: the object of a decision about it.
pub fn running(executable: Executable, argv: Vec<Vec<u8>>, setting: Setting) -> Plan {
    let start = match executable.format {
        Format::Elf | Format::Env { .. } => Start::Binary { subcommand: 0 },
        Format::Script { .. } | Format::Text => Start::Script { subcommand: 0 },
    };
    let Setting {
        environment,
        cwd,
        profile,
        temporary,
        identity,
    } = setting;
    Plan {
        start,
        executable,
        argv,
        environment,
        cwd,
        profile,
        temporary,
        identity,
    }
}
