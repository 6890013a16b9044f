//! `tipstaff audit`: shows and verifies the record.

use serde::Serialize;

use crate::audit::{self, AuditError, Filter, Kind, Record, Shown};
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::supervisor::Error;

use super::args::{AuditOptions, AuditVerb, Common};
use super::{output, setup};

/// A record that does not fit, or a log that cannot be read.
const BROKEN: u8 = 1;

/// `tipstaff.verify/1`
#[derive(Debug, Serialize)]
struct VerifiedJson {
    schema: &'static str,
    sound: bool,
    records: u64,
    head: String,
    recovered: u64,
    message: String,
}

/// Shows or verifies.
pub fn audit(options: AuditOptions) -> u8 {
    let json = match &options.verb {
        AuditVerb::Show { json, .. } | AuditVerb::Verify { json } => *json,
    };
    let result = setup::builder(&Common::default())
        .build()
        .and_then(|supervisor| {
            match options.verb {
                AuditVerb::Show { last, json } => show(supervisor.state(), last, json),
                AuditVerb::Verify { json } => verify(supervisor.state(), json),
            }
            .map_err(Error::from)
        });
    match result {
        Ok(code) => code,
        Err(error) => {
            output::say_raw(&error.render());
            if json {
                output::print_json(&error.as_json(BROKEN));
            }
            BROKEN
        }
    }
}

fn show(state: &AbsolutePath, last: usize, json: bool) -> Result<u8, AuditError> {
    let shown = audit::show(
        state,
        &Filter {
            last: Some(last),
            ..Filter::default()
        },
    )?;
    if shown.is_empty() && !json {
        output::say(&format!("nothing is recorded yet in {state}"));
    }
    let mut code = 0;
    for entry in shown {
        match entry {
            Shown::Record(record) if json => output::print_json(&record),
            Shown::Record(record) => output::print(&line(&record)),
            Shown::Damaged { line, fault } => {
                code = BROKEN;
                output::print(&format!("line {line}: damaged: {fault}\n"));
            }
        }
    }
    Ok(code)
}

/// One record on one line: number, time, kind, and what it says.
fn line(record: &Record) -> String {
    let text = |name: &str| match record.record.get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let said = match record.kind {
        Kind::Decided => format!(
            "{} {} {}",
            text("final"),
            text("reason"),
            command(&record.record)
        ),
        Kind::Exec => format!(
            "{} {} {}",
            text("final"),
            text("reason"),
            words(record.record.get("argv"))
        ),
        Kind::Finished => format!(
            "{} exit {} after {} ms",
            text("outcome"),
            text("exit_code"),
            text("duration_ms")
        ),
        Kind::Recovered => format!("closed a torn record of {} bytes", text("torn_bytes")),
    };
    let kind = match record.kind {
        Kind::Decided => "decided",
        Kind::Exec => "exec",
        Kind::Finished => "finished",
        Kind::Recovered => "recovered",
    };
    // Records hold what callers said; it must not drive the terminal that shows them.
    format!(
        "{:>6} {} {kind:<9} {}\n",
        record.sequence,
        record.time,
        Escaped::from(said.as_str())
    )
}

fn command(record: &serde_json::Value) -> String {
    let command = record.get("command");
    let line = command
        .and_then(|command| command.get("line"))
        .and_then(serde_json::Value::as_str);
    match line {
        Some(line) => line.to_owned(),
        None => words(command.and_then(|command| command.get("argv"))),
    }
}

/// An argv as a line.
fn words(argv: Option<&serde_json::Value>) -> String {
    let words = argv.and_then(serde_json::Value::as_array);
    shell_words::join(
        words
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_str),
    )
}

fn verify(state: &AbsolutePath, json: bool) -> Result<u8, AuditError> {
    let verified = audit::verify(state)?;
    let message = verified.to_string();
    if json {
        output::print_json(&VerifiedJson {
            schema: "tipstaff.verify/1",
            sound: verified.is_sound(),
            records: verified.head.sequence,
            head: verified.head.hash.to_string(),
            recovered: verified.recovered,
            message,
        });
    } else {
        output::print(&format!("{message}\n"));
    }
    Ok(if verified.is_sound() { 0 } else { BROKEN })
}
