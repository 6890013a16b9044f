//! The command line: reads options, calls the supervisor, and is one of the few places that print.

pub mod args;
mod check;
mod doctor;
mod explain;
mod output;
mod paint;
mod policy;
mod records;
mod run;
mod setup;

use std::process::ExitCode;

use clap::Parser as _;

use crate::supervisor::Error;
use args::{Cli, Verb};

/// Usage errors and broken policies of the judging verbs (`check`, `explain`, `policy`).
const USAGE: u8 = 2;
/// Supervisor or sandbox failure of the running verbs.
const FAILURE: u8 = 125;

/// Runs the program named by this process's arguments and says how it ended.
pub fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints to the right stream and in colour only on a terminal.
            error.print().ok();
            return ExitCode::from(match error.exit_code() {
                0 => 0,
                _ => misuse(&arguments, &error.to_string()),
            });
        }
    };
    let code = match cli.verb {
        Verb::Run(options) => run::run(*options),
        Verb::Sh(options) => run::sh(options),
        Verb::Check(options) => check::check(options),
        Verb::Explain(options) => explain::explain(options),
        Verb::Policy(options) => policy::policy(options),
        Verb::Audit(options) => records::audit(options),
        Verb::Doctor(options) => doctor::doctor(options),
    };
    ExitCode::from(code)
}

/// Ends on arguments that are not understood, with the JSON they ask for all the same. A running verb
/// answers with 125, so that 2 stays the command's own.
fn misuse(arguments: &[std::ffi::OsString], message: &str) -> u8 {
    let words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    let words: Vec<_> = words.take_while(|word| word != "--").collect();
    let json = words.iter().any(|word| word == "--json");
    let error = Error::usage(message.trim_end());
    match words.first().map(AsRef::as_ref) {
        Some("run") => {
            let mut after = words
                .iter()
                .skip_while(|word| *word != "--status-fd")
                .skip(1);
            let joined = words
                .iter()
                .find_map(|word| word.strip_prefix("--status-fd="));
            let number = joined.or_else(|| after.next().map(AsRef::as_ref));
            let number = number.and_then(|number| number.parse().ok());
            let status = number.and_then(|number| run::descriptor(number).ok());
            run::failed(&error, json, status)
        }
        Some("sh") => FAILURE,
        Some(_) | None => {
            if json {
                output::print_json(&error.as_json(USAGE));
            }
            USAGE
        }
    }
}

/// The whole table of verbs and options, for the man page and its test.
pub fn table() -> clap::Command {
    use clap::CommandFactory as _;
    Cli::command()
}
