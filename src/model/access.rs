//! What a line does, as rules see it: a set of accesses for each sub-command.

use std::collections::BTreeMap;

use super::digest::Digest;
use super::executable::{Executable, Lookup};
use super::path::AbsolutePath;
use super::profile::Network;
use super::script::{Script, Word};

/// Where a path access comes from, which decides what kind of rule it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The shell itself opens it. A write needs an allow rule of its own.
    Redirection,
    /// The program opens it, as its knowledge tells from an operand or option. Deny and ask rules see
    /// it; the allow rule of the command covers it.
    Operand,
    /// The same for a file whose text the program runs. It is bound to its content, as a program is.
    Script,
}

/// A file that is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathAccess {
    /// The word as written.
    pub written: Word,
    /// The path it names seen from the sub-command's folder, cleaned lexically; `None` when the word or
    /// the folder is dynamic.
    pub path: Option<AbsolutePath>,
    /// Who opens it.
    pub source: Source,
}

/// One thing that has to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Starting the program with its argv.
    Command,
    /// Opening a file for writing: `write(PATH)`.
    Write(PathAccess),
    /// Opening a file for reading: `read(PATH)`; needs no allow rule.
    Read(PathAccess),
    /// Setting a variable: `env(NAME)`.
    Env(Vec<u8>),
    /// Opening a connection: `network(HOST:PORT)`, from `/dev/tcp/HOST/PORT`.
    Network {
        /// Host name or address.
        host: Vec<u8>,
        /// Port as written.
        port: Option<Vec<u8>>,
    },
}

/// A script with the inner commands of its carriers unfolded and each sub-command's accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Every sub-command, carried ones included (`SubCommand::carrier`).
    pub script: Script,
    /// The accesses of each sub-command, by its index.
    pub accesses: Vec<Vec<Access>>,
    /// What is known of each sub-command's program, by the same index; none counts as nothing known.
    pub traits: Vec<Traits>,
}

/// What resolve found for a survey; same indices as its sub-commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The program of each sub-command.
    pub lookups: Vec<Lookup>,
    /// Where each path of an access really leads, links followed; a path that does not exist leads to
    /// its real parent and its own name.
    pub targets: BTreeMap<AbsolutePath, AbsolutePath>,
    /// For content that is not trusted: the names that deny and ask rules give to the same content
    /// elsewhere. A byte-for-byte copy of a denied program is that program.
    pub copies: BTreeMap<Digest, Vec<Vec<u8>>>,
    /// Files whose text a program of the line runs, by the path of the access; those that exist.
    pub scripts: BTreeMap<AbsolutePath, Executable>,
}

/// What is known of a sub-command's program besides its accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It changes the system itself.
    pub privileged: bool,
    /// It runs code that lies in the workspace: allowing it allows that code.
    pub runs_workspace_code: bool,
}

/// Facts the pure stages are told instead of looking them up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Root of the workspace, links followed.
    pub workspace: AbsolutePath,
    /// Folder the line starts in, links followed.
    pub cwd: AbsolutePath,
    /// The home folder, when there is one.
    pub home: Option<AbsolutePath>,
    /// Our own policy, state and runtime folders and binary: no subject may write or command them.
    pub own: Vec<AbsolutePath>,
    /// The network the run would have; an allow rule on commands says whether it covers one at all.
    pub network: Network,
    /// Today as days since 1970-01-01 UTC, for rules that expire.
    pub today: i64,
}
