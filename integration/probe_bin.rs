//! `probe NAME ARGS…` tries one thing and prints what the kernel answered, as one JSON object:
//! `{"errno":"EACCES"}` or `{"errno":"ok", …}`. It is the hostile half of the enforcement tests and knows
//! nothing of tipstaff, so that the same bytes serve as control outside the sandbox and as attack inside.
//!
//! Where an attack could do harm it passes a wrong pointer or an impossible descriptor on purpose: the
//! answer then tells a filter (EPERM, ENOSYS) from a kernel that was reached (EFAULT, EBADF, EINVAL).
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing the kernel's answer is the whole purpose of this program"
)]

#[path = "probe/files.rs"]
mod files;
#[path = "probe/host.rs"]
mod host;
#[path = "probe/raw.rs"]
mod raw;
#[path = "probe/sockets.rs"]
mod sockets;
#[path = "probe/state.rs"]
mod state;
#[path = "probe/syscalls.rs"]
mod syscalls;

use std::process::ExitCode;

use nix::errno::Errno;
use serde_json::{Map, Value};

/// What a probe learned beside "it worked".
type Facts = Map<String, Value>;

/// The kernel's answer.
type Answer = Result<Facts, Errno>;

/// One probe: its name on the command line and what it tries.
struct Probe {
    name: &'static str,
    attempt: fn(&[String]) -> Answer,
}

/// An argument that the probe cannot do without.
fn argument(arguments: &[String], index: usize) -> Result<&str, Errno> {
    // EDOM is answered by nothing that is probed: it marks a mistake in the test itself.
    arguments.get(index).map(String::as_str).ok_or(Errno::EDOM)
}

/// A numeric argument.
fn number<T: std::str::FromStr>(arguments: &[String], index: usize) -> Result<T, Errno> {
    argument(arguments, index)?.parse().map_err(|_| Errno::EDOM)
}

/// The errno inside a std error.
fn errno(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EDOM, Errno::from_raw)
}

/// Nothing to add.
fn ok() -> Answer {
    Ok(Facts::new())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let probes = [
        files::PROBES,
        host::PROBES,
        sockets::PROBES,
        syscalls::PROBES,
        state::PROBES,
    ];
    let Some(probe) = probes
        .into_iter()
        .flatten()
        .find(|probe| probe.name == name)
    else {
        eprintln!("probe: no probe is called `{name}`");
        return ExitCode::from(2);
    };
    let mut facts = Facts::new();
    match (probe.attempt)(&rest) {
        Ok(learned) => {
            facts = learned;
            facts.insert("errno".to_owned(), "ok".into());
        }
        Err(error) => {
            facts.insert("errno".to_owned(), format!("{error:?}").into());
        }
    }
    println!("{}", Value::Object(facts));
    ExitCode::SUCCESS
}
