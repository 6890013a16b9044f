//! `tipstaff check`: what the policy says, without running anything.

use std::io::{self, BufRead as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::path::AbsolutePath;
use crate::model::request::{Command, Request};
use crate::model::verdict::Verdict;
use crate::supervisor::{Answer, Error, Supervisor};

use super::args::{CheckOptions, Common};
use super::{USAGE, output, setup};

/// Longest request line that is read; a longer one is answered with an error.
const LONGEST: usize = 8 << 20;

/// Judges one line, or with `--jsonl` one a line.
pub fn check(options: CheckOptions) -> u8 {
    let CheckOptions {
        common,
        jsonl,
        line,
        argv,
    } = options;
    if jsonl {
        return every_line(&common);
    }
    let answer = setup::request(&common, setup::command(line, argv))
        .map_err(Error::usage)
        .and_then(|request| setup::builder(&common).build()?.check(request));
    match answer {
        Ok(answer) => {
            if common.json {
                output::print_json(&answer.as_json(None));
            } else {
                output::print(&format!("{}\n", answer.summary()));
            }
            match answer.verdict() {
                Verdict::Allow => 0,
                Verdict::Deny => 1,
                Verdict::Ask => 3,
            }
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

/// One request of `--jsonl`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    id: serde_json::Value,
    line: String,
    cwd: Option<String>,
    policy: Option<String>,
}

/// What cannot be judged still gets its answer line.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    schema: &'static str,
    id: &'a serde_json::Value,
    error: String,
}

fn every_line(common: &Common) -> u8 {
    let mut input = io::stdin().lock();
    let mut text = Vec::new();
    loop {
        text.clear();
        match input.read_until(b'\n', &mut text) {
            Ok(0) => return 0,
            Ok(_) => output::print(&answer(common, &text)),
            Err(error) => {
                output::say(&format!("standard input cannot be read: {error}"));
                return USAGE;
            }
        }
    }
}

fn answer(common: &Common, text: &[u8]) -> String {
    if text.len() > LONGEST {
        return failed(
            &serde_json::Value::Null,
            format!("the request is longer than {LONGEST} bytes"),
        );
    }
    let asked: Asked = match serde_json::from_slice(text) {
        Ok(asked) => asked,
        Err(error) => {
            // The identifier may be readable though the rest is not.
            let id = serde_json::from_slice::<serde_json::Value>(text)
                .ok()
                .and_then(|value| value.get("id").cloned())
                .unwrap_or_default();
            return failed(&id, format!("the request cannot be read: {error}"));
        }
    };
    match judge(common, &asked) {
        Ok(answer) => output::json_line(&answer.as_json(Some(&asked.id))),
        Err(error) => failed(&asked.id, error.render()),
    }
}

fn judge(common: &Common, asked: &Asked) -> Result<Answer, Error> {
    let mut request = Request::new(
        Command::Line(asked.line.clone().into_bytes()),
        setup::environment(),
    );
    request.profile = common.profile;
    request.network = common.network;
    if let Some(cwd) = &asked.cwd {
        let folder = AbsolutePath::new(Path::new(cwd));
        request.cwd = Some(folder.map_err(|error| Error::usage(format!("cwd: {error}")))?);
    }
    let builder = match &asked.policy {
        Some(policy) => Supervisor::builder()
            .environment(setup::environment())
            .policy_text("policy", policy.clone()),
        None => setup::builder(common),
    };
    builder.build()?.check(request)
}

fn failed(id: &serde_json::Value, error: String) -> String {
    output::json_line(&Failed {
        schema: "tipstaff.check/1",
        id,
        error,
    })
}
