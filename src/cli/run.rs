//! `tipstaff run` and `tipstaff sh`.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};

use crate::approval::{External, Paint, Terminal};
use crate::model::environment::Environment;
use crate::model::request::Request;
use crate::supervisor::{Builder, Error, Report};
use crate::sys::process;

use super::args::{Common, IdArgs, RunOptions, ShOptions};
use super::{FAILURE, output, setup};

/// Runs a line or an argv.
pub fn run(options: RunOptions) -> u8 {
    let RunOptions {
        common,
        timeout,
        approver,
        status_fd,
        claim,
        ids,
        command,
    } = options;
    let status = match status_fd.map(descriptor).transpose() {
        Ok(status) => status,
        Err(message) => return fail(message, common.json, None),
    };
    let mut request = match setup::request(&common, setup::command(command.line, command.argv)) {
        Ok(request) => request,
        Err(message) => return fail(message, common.json, status),
    };
    request.timeout = timeout;
    request.claim = claim;
    request.ids = setup::ids(ids);
    let builder = match approver {
        Some(words) => match external(&words) {
            Ok(argv) => setup::builder(&common).approver_command(argv),
            Err(message) => return fail(message, common.json, status),
        },
        None => attach_terminal(setup::builder(&common)),
    };
    finish(builder, request, common.json, status)
}

/// Runs a line as `bash -c` would.
pub fn sh(options: ShOptions) -> u8 {
    let common = Common::default();
    let request = setup::request(&common, setup::command(Some(options.line), Vec::new()));
    let mut request = match request {
        Ok(request) => request,
        Err(message) => return fail(message, false, None),
    };
    request.ids = setup::ids(IdArgs::default());
    finish(
        attach_terminal(setup::builder(&common)),
        request,
        false,
        None,
    )
}

/// The approver command of `--approver`.
fn external(words: &str) -> Result<Vec<String>, String> {
    let argv = shell_words::split(words)
        .map_err(|error| format!("--approver cannot be split into words: {error}"))?;
    // Its environment is known only with the workspace; that it is usable at all is known now.
    External::new(argv.clone(), Environment::default())
        .map(|_| argv)
        .map_err(|error| format!("--approver: {error}"))
}

/// The policy's own approver command goes first; the supervisor falls back to what is attached here.
fn attach_terminal(builder: Builder) -> Builder {
    let variable = |name: &str| std::env::var_os(name);
    builder.terminal(Terminal::new(Paint::choose(
        variable("NO_COLOR").as_deref(),
        variable("TERM").as_deref(),
    )))
}

fn finish(builder: Builder, request: Request, json: bool, status: Option<File>) -> u8 {
    let result: Result<Report, Error> = builder
        .build()
        .and_then(|supervisor| supervisor.run(request));
    match result {
        Ok(report) => {
            // To a command that ran nothing is added, unless a person looks on, or part of it was refused or
            // undone.
            let whole = report.ran() && report.refused.count() == 0 && report.guarded.is_empty();
            let silent = whole && !std::io::stderr().is_terminal();
            if let Some(message) = report.message().filter(|_| !silent) {
                output::say(message);
            }
            tell(&report, json, status);
            report.outcome.exit_code()
        }
        Err(error) => {
            output::say_raw(&error.render());
            failed(&error, json, status)
        }
    }
}

fn tell(report: &Report, json: bool, status: Option<File>) {
    deliver(&output::json_line(&report.as_json()), json, status);
}

/// Tells programs of an error that people were told of.
pub(super) fn failed(error: &Error, json: bool, status: Option<File>) -> u8 {
    deliver(&output::json_line(&error.as_json(FAILURE)), json, status);
    FAILURE
}

fn deliver(line: &str, json: bool, status: Option<File>) {
    if json {
        output::say_raw(line);
    }
    if let Some(mut status) = status
        && let Err(error) = status.write_all(line.as_bytes())
    {
        // The run has ended all the same; only its reader, if there still is one, does not know how.
        output::say(&format!("--status-fd could not be written: {error}"));
    }
}

/// Our own copy of `--status-fd N`: a pipe, a file or a socket, as the caller's runtime makes them. One
/// that was handed over for reading alone is refused before anything runs.
pub(super) fn descriptor(number: i32) -> Result<File, String> {
    let facts = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"))
        .map_err(|error| {
            format!(
                "--status-fd {number} cannot be written: {error}; open it for the call, as in `tipstaff run --status-fd {number} … {number}>FILE`"
            )
        })?;
    if !is_writable(&facts) {
        return Err(format!("--status-fd {number} is not open for writing"));
    }
    process::copy_of(number)
        .map(File::from)
        .map_err(|error| format!("--status-fd {number} cannot be used: {}", error.desc()))
}

/// Whether the `flags` line of fdinfo, in octal, holds O_WRONLY or O_RDWR. proc_pid_fdinfo(5)
fn is_writable(facts: &str) -> bool {
    facts
        .lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| matches!(flags & 3, 1 | 2))
}

fn fail(message: String, json: bool, status: Option<File>) -> u8 {
    output::say(&message);
    failed(&Error::usage(message), json, status)
}
