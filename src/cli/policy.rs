//! `tipstaff policy`: strict loading, and trust in a project's policy.

use std::path::{Path, PathBuf};

use crate::model::text::Escaped;
use crate::policy::Source;

use super::args::{Common, PolicyOptions, PolicyVerb};
use super::{USAGE, output, setup};

mod change;
mod programs;
mod rules;

/// Checks or trusts policies.
pub fn policy(options: PolicyOptions) -> u8 {
    match options.verb {
        PolicyVerb::Check { files } if files.is_empty() => {
            let checked = setup::builder(&Common::default())
                .build()
                .and_then(|s| s.check_layers());
            match checked {
                Ok(sources) => {
                    if sources.is_empty() {
                        output::print(
                            "no policy file is in force here: the built-in rules alone\n",
                        );
                    }
                    for source in sources {
                        output::print(&format!(
                            "{}: ok{}\n",
                            Escaped::from(source.name.as_str()),
                            trust(&source)
                        ));
                    }
                    programs::note_absent(&Common::default());
                    0
                }
                Err(error) => {
                    output::say_raw(&error.render());
                    USAGE
                }
            }
        }
        PolicyVerb::Check { files } => files.iter().map(|file| one(file)).max().unwrap_or(0),
        PolicyVerb::List { json } => rules::list(json),
        PolicyVerb::Try(options) => rules::attempt(&options),
        PolicyVerb::Add(options) => change::add(&options),
        PolicyVerb::Remove(options) => change::remove(&options),
        PolicyVerb::Fmt { check, files } => change::lay_out(&files, check),
        PolicyVerb::Schema => {
            output::print(crate::policy::SCHEMA);
            0
        }
        PolicyVerb::Trust => {
            match setup::builder(&Common::default())
                .build()
                .and_then(|s| s.trust_project())
            {
                Ok(file) => {
                    output::print(&format!("{file}: trusted as it stands\n"));
                    0
                }
                Err(error) => {
                    output::say_raw(&error.render());
                    USAGE
                }
            }
        }
    }
}

/// What a person who wrote an allow rule into a project has to know.
pub(super) const fn trust(source: &Source) -> &'static str {
    if source.trusted {
        ""
    } else {
        " (not trusted: its allow rules do not count until `tipstaff policy trust`)"
    }
}

fn one(file: &Path) -> u8 {
    let common = Common {
        policy: Some(PathBuf::from(file)),
        ..Common::default()
    };
    match setup::builder(&common)
        .build()
        .and_then(|s| s.check_layers())
    {
        Ok(_) => {
            output::print(&format!("{}: ok\n", file.display()));
            programs::note_absent(&common);
            0
        }
        Err(error) => {
            output::say_raw(&error.render());
            USAGE
        }
    }
}
