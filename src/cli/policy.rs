//! `tipstaff policy`: strict loading, and trust in a project's policy.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::model::judgement::Layer;
use crate::model::text::Escaped;
use crate::policy::{Fault, Source};
use crate::supervisor::Error;

use super::args::{Common, PolicyOptions, PolicyVerb};
use super::{USAGE, output, setup};

mod change;
mod import;
mod lint;
mod programs;
mod rules;
mod test;

/// Does what is asked of policies.
pub fn policy(options: PolicyOptions) -> u8 {
    let json = options.json;
    match options.verb {
        PolicyVerb::Check { files } => check(&files, json),
        PolicyVerb::List => rules::list(json),
        PolicyVerb::Try(options) => rules::attempt(&options, json),
        PolicyVerb::Add(options) => change::add(&options, json),
        PolicyVerb::Remove(options) => change::remove(&options, json),
        PolicyVerb::Fmt { check, files } => change::lay_out(&files, check, json),
        PolicyVerb::Test(options) => test::test(&options, json),
        PolicyVerb::Lint(options) => lint::lint(&options, json),
        PolicyVerb::Import(options) => import::import(&options, json),
        PolicyVerb::Schema => {
            output::print(crate::policy::SCHEMA);
            0
        }
        PolicyVerb::Trust => trust_here(json),
    }
}

/// Says why nothing could be done; with `--json` to programs as well.
pub(super) fn failed(error: &Error, json: bool) -> u8 {
    let text = error.render();
    output::say_raw(&text);
    if !text.ends_with('\n') {
        output::say_raw("\n");
    }
    if json {
        output::print_json(&error.as_json(USAGE));
    }
    USAGE
}

/// `tipstaff.policy-check/1`
#[derive(Debug, Serialize)]
struct CheckJson<'a> {
    schema: &'static str,
    ok: bool,
    files: Vec<FileJson<'a>>,
    faults: Vec<FaultJson<'a>>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FileJson<'a> {
    file: &'a str,
    layer: Layer,
    trusted: bool,
}

#[derive(Debug, Serialize)]
struct FaultJson<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    message: &'a str,
    help: Option<&'a str>,
}

fn check(files: &[PathBuf], json: bool) -> u8 {
    let common = |file: Option<&PathBuf>| Common {
        policy: file.cloned(),
        ..Common::default()
    };
    if files.is_empty() {
        return checked(&common(None), None, json);
    }
    files
        .iter()
        .map(|file| checked(&common(Some(file)), Some(file), json))
        .max()
        .unwrap_or(0)
}

/// Loads one file, or the layers here.
fn checked(common: &Common, file: Option<&Path>, json: bool) -> u8 {
    let loaded = setup::builder(common)
        .build()
        .and_then(|supervisor| supervisor.check_layers());
    match loaded {
        Ok(sources) => {
            let notes = programs::absent(common);
            if json {
                output::print_json(&CheckJson {
                    schema: "tipstaff.policy-check/1",
                    ok: true,
                    files: sources.iter().map(file_json).collect(),
                    faults: Vec::new(),
                    notes,
                });
                return 0;
            }
            output::print(&told(&sources, file));
            for note in notes {
                output::say(&format!("note: {note}"));
            }
            0
        }
        Err(Error::Policy(error)) if json => {
            output::say_raw(&format!("{}\n", error.render()));
            output::print_json(&CheckJson {
                schema: "tipstaff.policy-check/1",
                ok: false,
                files: Vec::new(),
                faults: error.faults().iter().map(fault_json).collect(),
                notes: Vec::new(),
            });
            USAGE
        }
        Err(error) => failed(&error, json),
    }
}

fn told(sources: &[Source], file: Option<&Path>) -> String {
    if let Some(file) = file {
        return format!("{}: ok\n", Escaped::from(file.to_string_lossy().as_ref()));
    }
    if sources.is_empty() {
        return "no policy file is in force here: the built-in rules alone\n".to_owned();
    }
    sources
        .iter()
        .map(|source| {
            format!(
                "{}: ok{}\n",
                Escaped::from(source.name.as_str()),
                trust(source)
            )
        })
        .collect()
}

fn file_json(source: &Source) -> FileJson<'_> {
    FileJson {
        file: &source.name,
        layer: source.layer,
        trusted: source.trusted,
    }
}

fn fault_json(fault: &Fault) -> FaultJson<'_> {
    FaultJson {
        file: &fault.file,
        line: fault.line,
        column: fault.column,
        message: &fault.message,
        help: fault.help.as_deref(),
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

/// `tipstaff.policy-trust/1`
#[derive(Debug, Serialize)]
struct TrustJson {
    schema: &'static str,
    file: String,
    trusted: bool,
}

fn trust_here(json: bool) -> u8 {
    let trusted = setup::builder(&Common::default())
        .build()
        .and_then(|supervisor| supervisor.trust_project());
    match trusted {
        Ok(file) if json => {
            output::print_json(&TrustJson {
                schema: "tipstaff.policy-trust/1",
                file: file.to_string(),
                trusted: true,
            });
            0
        }
        Ok(file) => {
            output::print(&format!("{file}: trusted as it stands\n"));
            0
        }
        Err(error) => failed(&error, json),
    }
}
