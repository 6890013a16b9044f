//! Other parsers' opinions: `second brush` or `second shuck` reads a script and writes the argvs it finds as
//! JSON. A word is null where that parser cannot tell its bytes. The process has limits, since hostile text
//! makes such parsers overflow their stack or eat all memory.

mod brush;
mod shuck;

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use nix::sys::resource::{Resource, setrlimit};

/// One command: a word is none where its bytes are not known.
pub type Argv = Vec<Option<String>>;

/// Of one parse.
const SECONDS: u64 = 10;
const MEMORY: u64 = 2 << 30;

/// Ends with status 1 and no output for a script that is not accepted.
fn main() -> ExitCode {
    let limited = setrlimit(Resource::RLIMIT_CPU, SECONDS, SECONDS)
        .and_then(|()| setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY))
        .and_then(|()| setrlimit(Resource::RLIMIT_CORE, 0, 0));
    let mut text = String::new();
    if limited.is_err() || io::stdin().read_to_string(&mut text).is_err() {
        return ExitCode::from(2);
    }
    let argvs = match std::env::args().nth(1).as_deref() {
        Some("brush") => brush::argvs(&text),
        Some("shuck") => shuck::argvs(&text),
        _ => return ExitCode::from(2),
    };
    let Some(argvs) = argvs else {
        return ExitCode::FAILURE;
    };
    let json = serde_json::to_vec(&argvs).unwrap_or_default();
    io::stdout()
        .write_all(&json)
        .map_or(ExitCode::from(2), |()| ExitCode::SUCCESS)
}
