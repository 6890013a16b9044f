//! `tipstaff explain`: each sub-command with its file, verdict, rule, and what would change it.

use crate::supervisor::Error;

use super::args::ExplainOptions;
use super::{USAGE, output, setup};

/// Explains a line.
pub fn explain(options: ExplainOptions) -> u8 {
    let ExplainOptions { common, command } = options;
    let answer = setup::request(&common, setup::command(command.line, command.argv))
        .map_err(Error::usage)
        .and_then(|request| setup::builder(&common).build()?.check(request));
    match answer {
        Ok(answer) if common.json => {
            output::print_json(&answer.explained());
            0
        }
        Ok(answer) => {
            output::print(&answer.explanation());
            0
        }
        Err(error) => {
            output::say_raw(&error.render());
            if common.json {
                output::print_json(&error.as_json(USAGE));
            }
            USAGE
        }
    }
}
