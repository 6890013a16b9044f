//! The command line: reads options, calls the supervisor, and is one of the few places that print.

pub mod args;
mod check;
mod doctor;
mod explain;
mod output;
mod policy;
mod records;
mod run;
mod setup;

use std::process::ExitCode;

use clap::Parser as _;

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
                _ => usage_code(&arguments),
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

/// A running verb answers a usage error with 125, so that 2 stays the command's own.
fn usage_code(arguments: &[std::ffi::OsString]) -> u8 {
    match arguments.get(1).and_then(|verb| verb.to_str()) {
        Some("run" | "sh") => FAILURE,
        _ => USAGE,
    }
}

/// The whole table of verbs and options, for the man page and its test.
pub fn table() -> clap::Command {
    use clap::CommandFactory as _;
    Cli::command()
}
