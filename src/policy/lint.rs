//! What a policy says and is likely not to mean: rules that never decide, that contradict each other, or
//! that give away more than they seem to. None of it keeps a policy from loading.

mod overlap;
mod reading;
mod single;

use std::collections::BTreeSet;

use super::error::{Fault, PolicyError};
use super::{Source, load};
use crate::model::access::Facts;
use crate::model::path::AbsolutePath;
use reading::Entry;

/// What is known of the place where a policy is looked at.
#[derive(Clone, Debug)]
pub struct Here {
    /// Workspace, home, our own places, the day.
    pub facts: Facts,
    /// What a run may write beside the workspace.
    pub write_roots: Vec<AbsolutePath>,
    /// Names of programs there are; `None` leaves absent programs unmentioned.
    pub programs: Option<BTreeSet<String>>,
}

/// One thing to look at.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its stable code.
    pub code: &'static str,
    /// Whether it is worth a failing exit status; a note is not.
    pub warning: bool,
    /// The rule's id.
    pub rule: String,
    /// Place, message and help.
    pub fault: Fault,
}

impl Finding {
    /// As people read it: the line with a caret below its rule.
    pub fn render(&self, colour: bool) -> String {
        self.fault.render_finding(self.warning, self.code, colour)
    }
}

/// Every code with what it says, for the reference and its test.
pub const CODES: [(&str, &str); 19] = [
    ("any-program", "an allow rule covers every program"),
    ("shell", "an allow rule covers a shell with any arguments"),
    (
        "interpreter",
        "an allow rule covers an interpreter with any arguments",
    ),
    (
        "carrier",
        "an allow rule covers a program that starts another one",
    ),
    (
        "executing-options",
        "an allow rule covers options that start programs or remove files",
    ),
    (
        "write-anywhere",
        "an allow rule lets the shell write anywhere",
    ),
    (
        "sensitive-path",
        "an allow rule reaches keys, start-up files or folders of programs",
    ),
    (
        "own-state",
        "an allow rule speaks of tipstaff's own files, which stay shut",
    ),
    (
        "variable",
        "an allow rule lets a line set a variable that makes programs run something else",
    ),
    ("any-host", "an allow rule names no host"),
    ("any-tool", "an allow rule names no tool"),
    (
        "writable-target",
        "an allow rule names a program that the run itself can write",
    ),
    (
        "loose-regex",
        "an expression of an allow rule is open where a word should end or the program be named",
    ),
    ("no-effect", "an allow rule on reading: nothing needs it"),
    (
        "contradiction",
        "the same pattern is allowed and denied or asked about",
    ),
    ("shadowed", "a stricter rule always decides"),
    ("unreachable", "a wider rule of the same verdict covers it"),
    ("duplicate", "the same rule stands twice"),
    ("expired", "the last day of the rule is over"),
];

/// The note that is no warning.
pub const ABSENT: (&str, &str) = ("absent-program", "no program of this name is here");

/// Looks through policies that load.
///
/// # Errors
///
/// They do not load.
pub fn lint(sources: &[Source], here: &Here) -> Result<Vec<Finding>, PolicyError> {
    load(sources)?;
    let entries = reading::entries(sources)?;
    let mut findings = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_written) {
        single::look(entry, here, &mut findings);
    }
    overlap::look(&entries, here, &mut findings);
    findings.sort_by(|one: &Finding, other| {
        let place = |finding: &Finding| {
            (
                finding.fault.file.clone(),
                finding.fault.line,
                finding.fault.column,
                finding.code,
            )
        };
        place(one).cmp(&place(other))
    });
    Ok(findings)
}

/// A finding on one pattern of a rule.
fn finding(entry: &Entry, code: &'static str, message: String, help: &str) -> Finding {
    Finding {
        code,
        warning: code != ABSENT.0,
        rule: entry.rule.reference.id.clone(),
        fault: Fault::new(
            &entry.source.name,
            &entry.source.text,
            entry.span.clone(),
            message,
        )
        .help(help),
    }
}
