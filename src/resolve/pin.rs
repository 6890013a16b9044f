//! Resolves a whole survey: each sub-command to what its program is.

use std::collections::BTreeMap;

use nix::sys::stat::SFlag;

use super::builtins::Shell;
use super::follow::{End, follow, kind};
use super::identity::Depth;
use super::{Held, ResolveError, Resolver};
use crate::model::access::{Access, Resolved, Source, Survey};
use crate::model::executable::{Executable, Lookup, LookupError};
use crate::model::path::AbsolutePath;
use crate::model::script::{ReadBy, Script, SubCommand, Word};
use crate::model::text::Escaped;

/// Carriers nest at most this deep; a deeper chain, or one that bites its own tail, is no shell's.
const MAX_CARRIERS: usize = 100;

/// A resolved survey with every program held open.
#[derive(Debug)]
pub struct Pinned {
    /// What was found, for the pure stages.
    pub resolved: Resolved,
    /// Each file once, however many sub-commands start it.
    files: Vec<Held>,
    /// The file of each sub-command.
    of: Vec<Option<usize>>,
}

impl Pinned {
    /// The held file of a sub-command, `None` when its program is no file.
    pub fn held(&self, subcommand: usize) -> Option<&Held> {
        self.files.get((*self.of.get(subcommand)?)?)
    }
}

/// Which rules of precedence hold where a sub-command is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    /// The shell that starts it; `None`: a program does, which knows neither built-ins nor functions.
    shell: Option<Shell>,
    /// Whether functions of the line come first.
    functions: bool,
    /// Only a built-in will do.
    builtins_only: bool,
}

impl Resolver {
    /// Finds and holds the program of each sub-command, and where each path of an access leads.
    pub fn pin(&self, survey: &Survey) -> Result<Pinned, ResolveError> {
        self.pinned(survey, None)
    }

    /// The same for an exec: its own file, the program of the first sub-command, is found already.
    pub fn pin_exec(&self, survey: &Survey, own: Held) -> Result<Pinned, ResolveError> {
        self.pinned(survey, Some(own))
    }

    fn pinned(&self, survey: &Survey, own: Option<Held>) -> Result<Pinned, ResolveError> {
        let standing = || match follow(&self.cwd, b"").end {
            End::Found(stat) => kind(&stat) == SFlag::S_IFDIR,
            End::Missing(_) | End::Unknowable => false,
        };
        // An exec stands in a folder of its own.
        if own.is_none() && !standing() {
            return Err(ResolveError::FolderGone(self.cwd.clone()));
        }
        let mut pinning = Pinning {
            resolver: self,
            script: &survey.script,
            files: Vec::new(),
            known: BTreeMap::new(),
            path_assigned: gives_path(&survey.script),
            lookups: Vec::new(),
            of: Vec::new(),
        };
        let first = own.map(|own| {
            pinning
                .lookups
                .push(Lookup::File(Box::new(own.executable.clone())));
            pinning.of.push(Some(0));
            pinning.files.push(own);
        });
        let rest = survey.script.subcommands.iter().enumerate();
        for (index, subcommand) in rest.skip(usize::from(first.is_some())) {
            let (lookup, file) = pinning.lookup(index, subcommand);
            pinning.lookups.push(lookup);
            pinning.of.push(file);
        }
        Ok(Pinned {
            resolved: Resolved {
                lookups: pinning.lookups,
                targets: self.targets(survey)?,
                copies: BTreeMap::new(),
                scripts: self.scripts(survey),
            },
            files: pinning.files,
            of: pinning.of,
        })
    }
}

impl Resolver {
    /// The files whose text a program runs. One that is not there, or is no regular file, binds nothing.
    fn scripts(&self, survey: &Survey) -> BTreeMap<AbsolutePath, Executable> {
        let paths = survey
            .accesses
            .iter()
            .flatten()
            .filter_map(|access| match access {
                Access::Read(file) if file.source == Source::Script => file.path.as_ref(),
                Access::Read(_)
                | Access::Command
                | Access::Write(_)
                | Access::Env(_)
                | Access::Network { .. } => None,
            });
        paths
            .filter_map(|path| Some((path.clone(), self.identify_text(path)?)))
            .collect()
    }
}

struct Pinning<'a> {
    resolver: &'a Resolver,
    script: &'a Script,
    files: Vec<Held>,
    /// Files by the path they were found at and the folder a relative interpreter would come from.
    known: BTreeMap<(AbsolutePath, Option<AbsolutePath>), usize>,
    /// Whether the line gives PATH another value; worked out once, not for every sub-command.
    path_assigned: bool,
    lookups: Vec<Lookup>,
    of: Vec<Option<usize>>,
}

impl Pinning<'_> {
    fn lookup(&mut self, index: usize, subcommand: &SubCommand) -> (Lookup, Option<usize>) {
        let folder = self.resolver.folder(&subcommand.folder);
        let precedence = Precedence {
            script: self.script,
            path_assigned: self.path_assigned,
            lookups: &self.lookups,
        };
        match precedence.without_files(index, subcommand, folder.as_ref()) {
            Ok(name) => self.file(name, folder),
            Err(lookup) => (lookup, None),
        }
    }

    fn file(&mut self, name: &[u8], folder: Option<AbsolutePath>) -> (Lookup, Option<usize>) {
        let path = match self.resolver.locate(name, folder.as_ref()) {
            Ok(path) => path,
            Err(error) => return (Lookup::Failed(error), None),
        };
        let key = (path, folder);
        if let Some(at) = self.known.get(&key).copied() {
            let known = self.files.get(at).map(|held| held.executable.clone());
            if let Some(executable) = known {
                return (Lookup::File(Box::new(executable)), Some(at));
            }
        }
        match self
            .resolver
            .identify(&key.0, key.1.as_ref(), Depth::default())
        {
            Ok(held) => {
                let executable = Box::new(held.executable.clone());
                let at = self.files.len();
                self.files.push(held);
                self.known.insert(key, at);
                (Lookup::File(executable), Some(at))
            }
            Err(error) => (Lookup::Failed(error), None),
        }
    }
}

/// What a name means before any file is looked for.
pub(super) struct Precedence<'a> {
    pub(super) script: &'a Script,
    /// Whether the line gives PATH another value.
    pub(super) path_assigned: bool,
    /// What the sub-commands before this one are.
    pub(super) lookups: &'a [Lookup],
}

impl Precedence<'_> {
    /// The name a file has to be found for, or what the sub-command is without one.
    pub(super) fn without_files<'w>(
        &self,
        index: usize,
        subcommand: &'w SubCommand,
        folder: Option<&AbsolutePath>,
    ) -> Result<&'w [u8], Lookup> {
        let Some(program) = subcommand.argv.first() else {
            return Err(Lookup::Nothing);
        };
        let Some(name) = program.as_static() else {
            return Err(Lookup::Dynamic);
        };
        let start = self.start(index, 0);
        if start.functions
            && self
                .script
                .functions
                .iter()
                .any(|function| function == name)
        {
            return Err(Lookup::Function);
        }
        if start.shell.is_some_and(|shell| shell.has(name)) {
            return Err(Lookup::Builtin);
        }
        if start.builtins_only {
            let missing = LookupError::NotFound(Escaped(name).to_string());
            return Err(Lookup::Failed(missing));
        }
        let changes = self.changes(index);
        let undecided = if !name.contains(&b'/') {
            changes.path
        } else {
            !name.starts_with(b"/") && (folder.is_none() || changes.folder)
        };
        if undecided || changes.root {
            return Err(Lookup::Dynamic);
        }
        Ok(name)
    }

    /// Who starts the sub-command. The line itself is read by bash.
    fn start(&self, index: usize, depth: usize) -> Start {
        let by_program = Start {
            shell: None,
            functions: false,
            builtins_only: false,
        };
        let Some(subcommand) = self.script.subcommands.get(index) else {
            return by_program;
        };
        let Some(carrier) = subcommand.carrier else {
            if self.script.read_by == ReadBy::Nobody {
                return by_program;
            }
            return Start {
                shell: Some(Shell::Bash),
                functions: true,
                builtins_only: false,
            };
        };
        let Some(name) = self.program(carrier).filter(|_| depth <= MAX_CARRIERS) else {
            return by_program;
        };
        if let Some(shell) = Shell::called(base_name(name)) {
            // `sh` may be a link to bash; what it leads to is known when it came before. Functions of
            // the line around it do not reach another process.
            let real = self
                .lookups
                .get(carrier)
                .and_then(Lookup::executable)
                .and_then(|file| Shell::called(file.real.base_name()));
            return Start {
                shell: Some(real.unwrap_or(shell)),
                ..by_program
            };
        }
        let outer = self.start(carrier, depth + 1);
        match name {
            b"eval" | b"trap" => outer,
            b"command" => Start {
                functions: false,
                ..outer
            },
            b"builtin" => Start {
                functions: false,
                builtins_only: outer.shell.is_some(),
                ..outer
            },
            _ => by_program,
        }
    }

    fn program(&self, index: usize) -> Option<&[u8]> {
        self.script.subcommands.get(index)?.program()
    }

    /// What is not as the run has it where a sub-command is started: PATH assigned before it or by the
    /// line earlier, or something that a carrier changes.
    fn changes(&self, index: usize) -> Changes {
        let mut changes = Changes {
            path: self.path_assigned,
            ..Changes::default()
        };
        let mut at = Some(index);
        for _ in 0..MAX_CARRIERS {
            let Some(subcommand) = at.and_then(|at| self.script.subcommands.get(at)) else {
                return changes;
            };
            changes.path |= assigns_path(subcommand);
            if at != Some(index) {
                changes.add(carrier_changes(subcommand));
            }
            at = subcommand.carrier;
        }
        Changes::ALL
    }
}

/// Whether the line gives PATH another value for all that follows.
pub(super) fn gives_path(script: &Script) -> bool {
    script
        .subcommands
        .iter()
        .any(|subcommand| subcommand.argv.is_empty() && assigns_path(subcommand))
}

fn assigns_path(subcommand: &SubCommand) -> bool {
    subcommand
        .assignments
        .iter()
        .any(|assignment| assignment.name == b"PATH")
}

/// What is no longer as the run has it.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    path: bool,
    folder: bool,
    root: bool,
}

impl Changes {
    const ALL: Self = Self {
        path: true,
        folder: true,
        root: true,
    };

    fn add(&mut self, other: Self) {
        self.path |= other.path;
        self.folder |= other.folder;
        self.root |= other.root;
    }
}

fn base_name(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// What a carrier changes for what it starts.
fn carrier_changes(carrier: &SubCommand) -> Changes {
    let none = Changes::default();
    let mut words = carrier.argv.iter().skip(1).map(Word::as_static);
    match carrier.program().map(base_name) {
        // `-p` uses the system's default PATH. bash(1)
        Some(b"command") => Changes {
            path: words
                .take_while(|word| word.is_some_and(|word| word.starts_with(b"-")))
                .flatten()
                .any(|word| word.contains(&b'p')),
            ..none
        },
        Some(b"env") => env_changes(words),
        // In the folder of each file that is found. find(1)
        Some(b"find") => Changes {
            folder: words.any(|word| matches!(word, Some(b"-execdir" | b"-okdir"))),
            ..none
        },
        // New namespaces hold what the old ones held. unshare(1)
        Some(b"unshare") if words.all(|word| word.is_some_and(keeps_root)) => none,
        Some(b"chroot" | b"unshare" | b"nsenter" | b"bwrap") => Changes::ALL,
        Some(_) | None => none,
    }
}

/// Whether a word of unshare(1) leaves root, folder and loader as they are, whatever it is: options for
/// those may be abbreviated or stand in a bundle.
fn keeps_root(word: &[u8]) -> bool {
    match word {
        [b'-', b'-', name @ ..] => ![b"r".as_slice(), b"w", b"l"]
            .iter()
            .any(|start| name.starts_with(start)),
        [b'-', letters @ ..] => !letters.iter().any(|letter| matches!(letter, b'R' | b'w')),
        _ => true,
    }
}

/// `env [OPTION…] [NAME=VALUE…] PROGRAM…`. An option that is not known to be harmless counts: `-i` and
/// `-u` change PATH, `-C` the folder.
fn env_changes<'a>(mut words: impl Iterator<Item = Option<&'a [u8]>>) -> Changes {
    let unknown = Changes {
        path: true,
        folder: true,
        root: false,
    };
    let mut changes = Changes::default();
    while let Some(word) = words.next() {
        match word {
            None => return unknown,
            Some(b"-u" | b"--unset") => {
                let unset = words.next().flatten();
                changes.path |= unset.is_none_or(|name| name == b"PATH");
            }
            Some(b"-0" | b"-v" | b"--null" | b"--debug" | b"--") => {}
            Some(b"-" | b"-i" | b"--ignore-environment") => changes.path = true,
            Some(word) if word.starts_with(b"-") => return unknown,
            Some(word) if word.starts_with(b"PATH=") => changes.path = true,
            Some(word) if word.contains(&b'=') => {}
            Some(_) => break,
        }
    }
    changes
}
