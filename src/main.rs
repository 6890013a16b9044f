//! The `tipstaff` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    tipstaff::cli::main()
}
