//! What programs do with their arguments: data of `policies/programs/*.toml`, compiled in.
//!
//! A file is parsed when a line names one of its programs, so that a run pays for what it uses alone.

mod awk;
mod carried;
mod files;
mod grammar;
mod reading;
mod settings;
mod text;
mod variables;

use std::sync::OnceLock;

use crate::model::access::Traits;
use crate::model::script::{SubCommand, Word};

pub(super) use carried::{Carried, Inner, carried};
pub(super) use grammar::{CarrierKind, Effect, OperandKind, ValueKind};
pub(super) use reading::{Reading, Seen};
pub(super) use variables::{is_idle, names_command};

pub use files::{ProgramFile, program_files};
pub use grammar::{Examples, Program};

/// The programs of one file, `None` when the file is broken: its programs are then unknown carriers.
type Parsed = OnceLock<Option<Vec<Program>>>;

static PARSED: [Parsed; files::FILES.len()] = [const { OnceLock::new() }; files::FILES.len()];

/// What is known of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// Its grammar.
    Program(&'static Program),
    /// Nothing: it is read by the conventions of GNU.
    Unknown,
    /// It should be known but its data cannot be read: whatever it is given, it may start anything.
    Broken,
}

/// Names of the programs that run what their argv names elsewhere, or fetch it first (`ssh`, `npx`,
/// `docker exec`). Reads every file, so it is not for judging.
pub(super) fn runners() -> &'static [&'static str] {
    fn runs(program: &Program) -> bool {
        let itself = program.carrier.as_ref().map(|carrier| carrier.kind);
        itself == Some(CarrierKind::Runner) || program.subcommands.iter().any(runs)
    }
    static FOUND: OnceLock<Vec<&'static str>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let names = files::NAMES.iter().map(|(name, _)| *name);
        let found = names.filter(|name| match known(name.as_bytes()) {
            Known::Program(program) => runs(program),
            Known::Unknown | Known::Broken => false,
        });
        found.collect()
    })
}

/// Looks a program up by the base name of the word that names it.
pub(super) fn known(name: &[u8]) -> Known {
    let base = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let found = files::NAMES
        .binary_search_by(|(name, _)| name.as_bytes().cmp(base))
        .ok()
        .and_then(|at| files::NAMES.get(at))
        .and_then(|(_, file)| Some((files::FILES.get(*file)?, PARSED.get(*file)?)));
    let Some((file, parsed)) = found else {
        return Known::Unknown;
    };
    let programs = parsed.get_or_init(|| grammar::parse(file.text).ok());
    let program = programs.as_ref().and_then(|programs| {
        programs
            .iter()
            .find(|program| program.names.iter().any(|known| known.as_bytes() == base))
    });
    program.map_or(Known::Broken, Known::Program)
}

/// Reads the arguments of a sub-command by what is known of its program.
pub(super) fn read(sub: &SubCommand) -> Reading<'static> {
    read_argv(&sub.argv)
}

/// What is known of the program besides what its argv accesses. What only lists or asks changes
/// nothing, whatever else its program may do.
pub(super) fn traits(sub: &SubCommand) -> Traits {
    let reading = read(sub);
    let asks = reading.level().is_some_and(|level| {
        let lists = level.lists_with.iter().any(|option| reading.has(option));
        level.read_only && (lists || !level.lists_only)
    });
    let levels = || reading.levels.iter();
    Traits {
        privileged: !asks && levels().any(|level| level.privileged),
        runs_workspace_code: levels().any(|level| level.runs_workspace_code),
    }
}

/// The same for an argv alone.
pub(super) fn read_argv(argv: &[Word]) -> Reading<'static> {
    let program = match argv.first().and_then(Word::as_static).map(known) {
        Some(Known::Program(program)) => Some(program),
        Some(Known::Unknown | Known::Broken) | None => None,
    };
    Reading::new(program, argv)
}
