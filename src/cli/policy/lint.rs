//! `policy lint`: what a policy says and is likely not to mean.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::policy::Finding;
use crate::supervisor::Error;

use super::super::args::{Common, LintOptions};
use super::super::paint::{Paint, Tone};
use super::super::{output, setup};
use super::failed;
use super::programs::Known;

/// Something was found that is more than a note.
const FOUND: u8 = 1;

/// `tipstaff.policy-lint/1`
#[derive(Debug, Serialize)]
struct LintJson<'a> {
    schema: &'static str,
    warnings: usize,
    findings: Vec<FindingJson<'a>>,
}

#[derive(Debug, Serialize)]
struct FindingJson<'a> {
    code: &'static str,
    level: &'static str,
    rule: &'a str,
    file: &'a str,
    line: usize,
    column: usize,
    message: &'a str,
    help: Option<&'a str>,
}

/// Looks through policies.
pub fn lint(options: &LintOptions, json: bool) -> u8 {
    match found(&options.files) {
        Ok(findings) => report(&findings, json),
        Err(error) => failed(&error, json),
    }
}

fn found(files: &[PathBuf]) -> Result<Vec<Finding>, Error> {
    let names: BTreeSet<String> = Known::here().into_names();
    let look = |policy: Option<PathBuf>| {
        let common = Common {
            policy,
            ..Common::default()
        };
        setup::builder(&common).build()?.lint(names.clone())
    };
    if files.is_empty() {
        return look(None);
    }
    let mut findings = Vec::new();
    for file in files {
        findings.extend(look(Some(file.clone()))?);
    }
    Ok(findings)
}

fn report(findings: &[Finding], json: bool) -> u8 {
    let warnings = findings.iter().filter(|finding| finding.warning).count();
    if json {
        output::print_json(&LintJson {
            schema: "tipstaff.policy-lint/1",
            warnings,
            findings: findings.iter().map(as_json).collect(),
        });
    } else {
        let paint = Paint::output();
        for finding in findings {
            output::print(&format!("{}\n\n", finding.render(paint.is_on())));
        }
        let notes = findings.len() - warnings;
        let said = match (warnings, notes) {
            (0, 0) => paint.tone(Tone::Good, "nothing found"),
            (0, notes) => format!("nothing found; {notes} to note"),
            (warnings, 0) => paint.tone(Tone::Notice, &format!("{warnings} found")),
            (warnings, notes) => format!(
                "{}; {notes} to note",
                paint.tone(Tone::Notice, &format!("{warnings} found"))
            ),
        };
        output::print(&format!("{said}\n"));
    }
    if warnings > 0 { FOUND } else { 0 }
}

fn as_json(finding: &Finding) -> FindingJson<'_> {
    FindingJson {
        code: finding.code,
        level: if finding.warning { "warning" } else { "note" },
        rule: &finding.rule,
        file: &finding.fault.file,
        line: finding.fault.line,
        column: finding.fault.column,
        message: &finding.fault.message,
        help: finding.fault.help.as_deref(),
    }
}
