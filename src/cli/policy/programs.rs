//! Names of programs that no rule of theirs will ever meet: a slip of the keyboard in a deny rule
//! protects nothing.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

use crate::model::text::Escaped;
use crate::policy::{Standing, nearest, program_files};

use super::super::args::Common;
use super::super::setup;

/// What is known of programs: the names in `PATH`, and those of the program knowledge.
pub struct Known(BTreeSet<String>);

impl Known {
    /// Looks.
    pub fn here() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let files = std::env::split_paths(&path)
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flatten()
            .flatten()
            .map(|entry| String::from_utf8_lossy(entry.file_name().as_bytes()).into_owned());
        let told = program_files()
            .into_iter()
            .flat_map(|file| file.names)
            .map(|name| (*name).to_owned());
        Self(files.chain(told).collect())
    }

    /// The names of the files in `PATH` and of what is told of programs.
    pub fn into_names(self) -> BTreeSet<String> {
        self.0
    }

    /// The program that was meant by a name that is nowhere.
    pub fn meant(&self, name: &[u8]) -> Option<&str> {
        let name = std::str::from_utf8(name).ok()?;
        // Two letters are two edits from everything.
        if self.0.contains(name) || name.len() < 3 {
            return None;
        }
        nearest(name, self.0.iter().map(String::as_str))
    }
}

/// Which rules name a program that is nowhere here while one of nearly that name is. No error: a rule may
/// be written for another machine.
pub fn absent(common: &Common) -> Vec<String> {
    let Ok(rules) = setup::builder(common).build().and_then(|s| s.rules()) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let mut known = None;
    for listed in rules {
        let Some(place) = listed.rule.place else {
            continue;
        };
        if listed.standing != Standing::Counts {
            continue;
        }
        for name in &listed.programs {
            if let Some(near) = known.get_or_insert_with(Known::here).meant(name) {
                notes.push(format!(
                    "{}:{}: there is no program `{}` here; did you mean `{}`?",
                    Escaped::from(place.file.as_str()),
                    place.line,
                    Escaped(name),
                    Escaped::from(near)
                ));
            }
        }
    }
    notes
}
