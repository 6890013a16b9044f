//! Writing to people and programs. A closed pipe ends the output, not the program.

use std::io::{self, Write as _};

use serde::Serialize;

/// Writes `text` to standard output.
pub fn print(text: &str) {
    // A reader that has gone away (EPIPE) has seen what it wanted.
    io::stdout().lock().write_all(text.as_bytes()).ok();
}

/// Writes one line of JSON to standard output.
pub fn print_json(value: &impl Serialize) {
    print(&json_line(value));
}

/// Writes a message of our own: to standard error, since standard output is the command's.
pub fn say(text: &str) {
    let mut line = format!("tipstaff: {}", text.trim_end());
    line.push('\n');
    io::stderr().lock().write_all(line.as_bytes()).ok();
}

/// Writes text as it is to standard error.
pub fn say_raw(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// `value` as one line of JSON.
pub fn json_line(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(mut line) => {
            line.push('\n');
            line
        }
        Err(error) => format!("{{\"schema\":\"tipstaff.error/1\",\"error\":\"{error}\"}}\n"),
    }
}
