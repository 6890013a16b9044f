//! Variables whose value the run itself fixes: `~`, `$HOME`, `$PWD`.

use super::absolute;
use crate::model::access::Facts;
use crate::model::script::{Dynamic, Folder, Piece, Script, SubCommand, Word};

/// Puts the home and the folder in place of `~`, `$HOME` and `$PWD`, unless the line might change them.
pub(super) fn fill(script: &mut Script, facts: &Facts) {
    // An opaque line asks whatever is put in here, and denials see more of it.
    let home = facts
        .home
        .as_ref()
        .filter(|_| !may_change(script, b"HOME"))
        .map(|home| home.as_bytes().to_vec());
    place_at_home(script, home.as_deref());
    let folder_is_kept = !may_change(script, b"PWD");
    let mut folder_used = false;
    let mut all_words = script.subcommands.iter().flat_map(|sub| &sub.argv);
    script.beyond_list |= all_words.any(|word| word.as_static().is_none());
    for sub in &mut script.subcommands {
        let folder = Some(&sub.folder)
            .filter(|_| folder_is_kept)
            .and_then(|folder| absolute(folder, facts))
            .map(|folder| folder.as_bytes().to_vec());
        let constants = Constants {
            home: home.as_deref(),
            folder: folder.as_deref(),
        };
        let SubCommand {
            argv,
            assignments,
            redirections,
            ..
        } = sub;
        let words = argv
            .iter_mut()
            .chain(
                assignments
                    .iter_mut()
                    .map(|assignment| &mut assignment.value),
            )
            .chain(
                redirections
                    .iter_mut()
                    .map(|redirection| &mut redirection.target),
            );
        for word in words {
            folder_used |= constants.put(word);
        }
    }
    // The shell may call the folder by another path than ours, so its own `$PWD` has to be used.
    if folder_used {
        script.single = false;
    }
    for values in script.loops.iter_mut().map(|each| &mut each.values) {
        let constants = Constants {
            home: home.as_deref(),
            folder: None,
        };
        for word in values {
            constants.put(word);
        }
    }
}

/// Puts the home in place of the folders that are named by it.
pub(super) fn place_at_home(script: &mut Script, home: Option<&[u8]>) {
    for sub in &mut script.subcommands {
        if let Folder::Home(below) = &sub.folder {
            sub.folder = home.map_or(Folder::Unknown, |home| {
                let slash: &[u8] = if below.is_empty() { b"" } else { b"/" };
                Folder::Moved([home, slash, below.as_slice()].concat())
            });
        }
    }
}

/// Whether a text inside this line sees the home and the folder that the line itself sees.
pub(super) fn are_kept(script: &Script) -> bool {
    !may_change(script, b"HOME") && !may_change(script, b"PWD")
}

struct Constants<'a> {
    home: Option<&'a [u8]>,
    folder: Option<&'a [u8]>,
}

impl Constants<'_> {
    /// True if the folder was put in.
    fn put(&self, word: &mut Word) -> bool {
        let mut folder_used = false;
        let mut pieces: Vec<Piece> = Vec::with_capacity(word.pieces.len());
        for piece in word.pieces.drain(..) {
            let value = match &piece {
                Piece::Dynamic {
                    reason: reason @ (Dynamic::Parameter | Dynamic::Tilde),
                    name: Some(name),
                    quoted,
                } => {
                    let value = match name.as_slice() {
                        b"HOME" => self.home,
                        b"PWD" => self.folder,
                        _ => None,
                    };
                    // An unquoted value is split and matched; one without such bytes stays itself.
                    value.filter(|value| {
                        *quoted || *reason == Dynamic::Tilde || value.iter().all(is_plain)
                    })
                }
                Piece::Dynamic { .. } | Piece::Text(_) => None,
            };
            folder_used |= value.is_some() && value == self.folder;
            let piece = value.map_or(piece, |value| Piece::Text(value.to_vec()));
            match (pieces.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.extend(text),
                (_, piece) => pieces.push(piece),
            }
        }
        word.pieces = pieces;
        folder_used
    }
}

pub(super) const fn is_plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b',' | b'@')
}

/// Whether some command of the line could give the variable another value.
fn may_change(script: &Script, name: &[u8]) -> bool {
    script
        .subcommands
        .iter()
        .any(|sub| assigns(sub, name) || may_name(sub, name))
        || (name == b"PWD"
            && script
                .subcommands
                .iter()
                .any(|sub| sub.folder == Folder::Unknown))
}

/// Whether the sub-command assigns the variable openly.
pub(super) fn assigns(sub: &SubCommand, name: &[u8]) -> bool {
    sub.assignments
        .iter()
        .any(|assignment| assignment.name == name)
}

/// Whether it may be a built-in that gets the variable's name as an argument.
pub(super) fn may_name(sub: &SubCommand, name: &[u8]) -> bool {
    let naming = sub.argv.first().is_some_and(|program| {
        program
            .as_static()
            .map_or_else(|| !is_path(program), names_variables)
    });
    naming
        && sub.argv.iter().any(|word| {
            let known = word.static_prefix();
            let rest = known.strip_prefix(name);
            let plain = rest.is_some_and(|rest| {
                rest.first()
                    .is_none_or(|byte| matches!(byte, b'=' | b'+' | b'['))
            });
            plain || word.as_static().is_none()
        })
}

/// Built-ins that give values to variables named in their arguments, or run text that does.
pub(super) fn names_variables(program: &[u8]) -> bool {
    matches!(
        program,
        b"read"
            | b"export"
            | b"declare"
            | b"typeset"
            | b"local"
            | b"readonly"
            | b"unset"
            | b"mapfile"
            | b"readarray"
            | b"getopts"
            | b"let"
            | b"wait"
            | b"printf"
            | b"eval"
            | b"source"
            | b"."
            | b"builtin"
            | b"command"
            | b"trap"
    )
}

/// Whether the word surely holds a slash, and so names a file and no built-in.
fn is_path(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Text(text) => text.contains(&b'/'),
        Piece::Dynamic { .. } => false,
    })
}
