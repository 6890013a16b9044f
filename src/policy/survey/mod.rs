//! From a parsed line to what it accesses: carriers unfolded, constants filled in.

mod accesses;
mod constants;
mod hidden;
mod loops;
mod unfold;

use crate::model::access::{Facts, Survey};
use crate::model::path::AbsolutePath;
use crate::model::script::{Folder, Script};

use super::Parse;
use super::knowledge;

/// Looks through the carriers of `script` and lists what each sub-command accesses. `parse` reads the
/// texts that shells are handed.
pub fn survey(mut script: Script, facts: &Facts, parse: Parse) -> Survey {
    constants::fill(&mut script, facts);
    loops::fill(&mut script);
    unfold::unfold(&mut script, facts, parse);
    let exported = accesses::exports_everything(&script);
    let accesses = script
        .subcommands
        .iter()
        .map(|sub| accesses::of(sub, facts, exported))
        .collect();
    let traits = script.subcommands.iter().map(knowledge::traits).collect();
    Survey {
        script,
        accesses,
        traits,
    }
}

/// The folder as an absolute path, when it is known.
pub(super) fn absolute(folder: &Folder, facts: &Facts) -> Option<AbsolutePath> {
    match folder {
        Folder::Start => Some(facts.cwd.clone()),
        Folder::Moved(path) => Some(facts.cwd.join_bytes(path)),
        Folder::Home(below) => Some(facts.home.as_ref()?.join_bytes(below)),
        Folder::Unknown => None,
    }
}
