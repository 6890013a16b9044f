//! What is no longer as it was judged.

use std::fmt;

use super::{Pinned, ResolveError, Resolver};
use crate::model::access::Survey;
use crate::model::digest::Digest;
use crate::model::executable::{Executable, Lookup};
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;

/// One difference between what was judged and what is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The program of a sub-command: another file, other content, another interpreter, or none.
    Program {
        /// Index of the sub-command.
        subcommand: usize,
        /// As judged.
        before: Lookup,
        /// As it is.
        after: Lookup,
    },
    /// A path leads elsewhere.
    Target {
        /// The path.
        path: AbsolutePath,
        /// Where it led.
        before: Option<AbsolutePath>,
        /// Where it leads.
        after: Option<AbsolutePath>,
    },
    /// A file whose text a program runs is another one, or has other content.
    Script {
        /// The file.
        path: AbsolutePath,
        /// Its content as judged.
        before: Option<Digest>,
        /// Its content as it is.
        after: Option<Digest>,
    },
    /// Nothing can be resolved any more.
    Lost(ResolveError),
}

impl Pinned {
    /// Resolves the survey again and names what changed; empty when every path leads to the same file
    /// with the same content.
    pub fn changes(&self, resolver: &Resolver, survey: &Survey) -> Vec<Change> {
        let again = match resolver.pin(survey) {
            Ok(again) => again.resolved,
            Err(error) => return vec![Change::Lost(error)],
        };
        let programs = self
            .resolved
            .lookups
            .iter()
            .zip(&again.lookups)
            .enumerate()
            .filter(|(_, (before, after))| before != after)
            .map(|(subcommand, (before, after))| Change::Program {
                subcommand,
                before: before.clone(),
                after: after.clone(),
            });
        let targets = self
            .resolved
            .targets
            .iter()
            .filter(|(path, before)| again.targets.get(*path) != Some(*before))
            .map(|(path, before)| Change::Target {
                path: path.clone(),
                before: Some(before.clone()),
                after: again.targets.get(path).cloned(),
            });
        let was = &self.resolved.scripts;
        let scripts = was
            .keys()
            .chain(again.scripts.keys().filter(|path| !was.contains_key(*path)))
            .filter(|path| was.get(*path) != again.scripts.get(*path))
            .map(|path| Change::Script {
                path: path.clone(),
                before: was.get(path).map(|file| file.digest),
                after: again.scripts.get(path).map(|file| file.digest),
            });
        programs.chain(targets).chain(scripts).collect()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { before, after, .. } => match (before, after) {
                (Lookup::File(before), Lookup::File(after)) => compare(f, before, after),
                (Lookup::File(before), Lookup::Failed(error)) => {
                    write!(f, "`{}` was judged, now {error}", before.path)
                }
                (before, after) => write!(f, "{} was judged, now {}", word(before), word(after)),
            },
            Self::Target {
                path,
                before,
                after,
            } => {
                let shown = |path: &Option<AbsolutePath>| match path {
                    Some(path) => format!("`{path}`"),
                    None => "nothing".into(),
                };
                write!(
                    f,
                    "`{path}` led to {}, now to {}",
                    shown(before),
                    shown(after)
                )
            }
            Self::Script {
                path,
                before,
                after,
            } => match (before, after) {
                (Some(before), Some(after)) if before == after => {
                    write!(
                        f,
                        "`{path}` was replaced by another file of the same content"
                    )
                }
                (Some(before), Some(after)) => {
                    let (was, is) = (before.short(), after.short());
                    write!(f, "the content of `{path}` changed from {was} to {is}")
                }
                (None, Some(_)) => write!(f, "`{path}` was not there, now it is"),
                (Some(_) | None, None) => write!(f, "`{path}` is gone"),
            },
            Self::Lost(error) => fmt::Display::fmt(error, f),
        }
    }
}

fn compare(f: &mut fmt::Formatter<'_>, before: &Executable, after: &Executable) -> fmt::Result {
    let path = &before.path;
    if before.path != after.path {
        write!(
            f,
            "`{path}` was judged, the name now leads to `{}`",
            after.path
        )
    } else if before.real != after.real {
        write!(
            f,
            "`{path}` led to `{}`, now to `{}`",
            before.real, after.real
        )
    } else if before.digest != after.digest {
        let (was, is) = (before.digest.short(), after.digest.short());
        write!(f, "the content of `{path}` changed from {was} to {is}")
    } else if before.id != after.id {
        write!(
            f,
            "`{path}` was replaced by another file of the same content"
        )
    } else if before.format != after.format {
        write!(f, "the interpreter of `{path}` changed")
    } else {
        write!(f, "`{path}` changed: {}", after.trust.reason())
    }
}

fn word(lookup: &Lookup) -> String {
    match lookup {
        Lookup::Nothing => "no program".into(),
        Lookup::Builtin => "a built-in".into(),
        Lookup::Function => "a function".into(),
        Lookup::File(file) => format!("`{}`", Escaped(file.path.as_bytes())),
        Lookup::Dynamic => "an unknown program".into(),
        Lookup::Failed(error) => error.to_string(),
    }
}
