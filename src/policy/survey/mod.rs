//! From a parsed line to what it accesses: carriers unfolded, constants filled in.

mod accesses;
mod constants;
mod hidden;
mod loops;
mod unfold;

use crate::model::access::{Facts, Survey, Traits};
use crate::model::path::AbsolutePath;
use crate::model::script::{Folder, Opaque, Script, SubCommand};

use super::Parse;
use super::knowledge;

/// Looks through the carriers of `script` and lists what each sub-command accesses. `parse` reads the
/// texts that shells are handed.
pub fn survey(mut script: Script, facts: &Facts, parse: Parse) -> Survey {
    constants::fill(&mut script, facts);
    loops::fill(&mut script);
    unfold::unfold(&mut script, facts, parse);
    mark_replaced(&mut script);
    let exported = accesses::exports_everything(&script);
    let accesses = script
        .subcommands
        .iter()
        .map(|sub| accesses::of(sub, facts, exported))
        .collect();
    let traits = |sub: &SubCommand| match sub.context.call {
        true => Traits::default(),
        false => knowledge::traits(sub),
    };
    let traits = script.subcommands.iter().map(traits).collect();
    Survey {
        script,
        accesses,
        traits,
    }
}

/// A function that takes the name of a program: whoever reads the line, and the rules, mean the program.
fn mark_replaced(script: &mut Script) {
    let replaced = script.subcommands.iter().filter(|sub| sub.context.call);
    let replaced = replaced.filter(|sub| !knowledge::read(sub).levels.is_empty());
    let marks: Vec<Opaque> = replaced
        .map(|sub| Opaque {
            span: sub.span,
            reason: "a function in place of a program",
        })
        .collect();
    script.opaque.extend(marks);
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
