//! `tipstaff run` and `tipstaff sh`.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use crate::approval::{External, Paint, Terminal};
use crate::model::environment::Environment;
use crate::model::request::{Ids, Request};
use crate::supervisor::{Builder, Error, Report};

use super::args::{Common, RunOptions, ShOptions};
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
        Err(message) => return fail(&message),
    };
    let mut request = match setup::request(&common, setup::command(command.line, command.argv)) {
        Ok(request) => request,
        Err(message) => return fail(&message),
    };
    request.timeout = timeout;
    request.claim = claim;
    request.ids = Ids {
        session: ids.session,
        run: ids.run,
        task: ids.task,
        agent: ids.agent,
        conversation: ids.conversation,
        call: ids.call,
    };
    let builder = match approver {
        Some(words) => match external(&words) {
            Ok(argv) => setup::builder(&common).approver_command(argv),
            Err(message) => return fail(&message),
        },
        None => attach_terminal(setup::builder(&common)),
    };
    finish(builder, request, common.json, status)
}

/// Runs a line as `bash -c` would.
pub fn sh(options: ShOptions) -> u8 {
    let common = Common::default();
    let request = match setup::request(&common, setup::command(Some(options.line), Vec::new())) {
        Ok(request) => request,
        Err(message) => return fail(&message),
    };
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
            if let Some(message) = report.message() {
                output::say(message);
            }
            tell(&report, json, status);
            report.outcome.exit_code()
        }
        Err(error) => {
            output::say_raw(&error.render());
            if json {
                output::say_raw(&output::json_line(&error.as_json()));
            }
            if let Some(mut status) = status {
                status
                    .write_all(output::json_line(&error.as_json()).as_bytes())
                    .ok();
            }
            FAILURE
        }
    }
}

fn tell(report: &Report, json: bool, status: Option<File>) {
    let line = output::json_line(&report.as_json());
    if json {
        output::say_raw(&line);
    }
    if let Some(mut status) = status {
        // The reader of --status-fd may be gone; the run has ended all the same.
        status.write_all(line.as_bytes()).ok();
    }
}

/// Opens `--status-fd N` anew through /proc, so that no foreign descriptor is owned twice.
fn descriptor(number: i32) -> Result<File, String> {
    if number < 0 {
        return Err(format!("--status-fd {number} is no descriptor"));
    }
    let path = PathBuf::from(format!("/proc/self/fd/{number}"));
    File::options()
        .append(true)
        .open(path)
        .map_err(|error| {
            format!(
                "--status-fd {number} cannot be written: {error}; open it for the call, as in `tipstaff run --status-fd {number} … {number}>FILE`"
            )
        })
}

fn fail(message: &str) -> u8 {
    output::say(message);
    FAILURE
}
