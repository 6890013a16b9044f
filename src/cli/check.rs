//! `tipstaff check`: what the policy says, without running anything.

use std::ffi::OsString;
use std::io::{self, BufRead as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::deed::DeedKind;
use crate::model::path::AbsolutePath;
use crate::model::request::{Command, Request};
use crate::model::verdict::Verdict;
use crate::supervisor::{DeedAnswer, Error, Supervisor, Wanted};

use super::args::{CheckOptions, Common};
use super::{USAGE, output, setup};

/// Longest request line that is read; a longer one is answered with an error.
const LONGEST: usize = 8 << 20;

/// Judges one line, one deed, or with `--jsonl` one of them a line.
pub fn check(options: CheckOptions) -> u8 {
    let CheckOptions {
        common,
        kind,
        jsonl,
        line,
        argv,
    } = options;
    if jsonl {
        return every_line(&common);
    }
    let answer = match kind {
        Some(kind) => deed(&common, kind, argv).map(|answer| {
            told(&common, answer.verdict(), &answer.as_json(None), || {
                answer.summary()
            })
        }),
        None => setup::request(&common, setup::command(line, argv))
            .map_err(Error::usage)
            .and_then(|request| setup::builder(&common).build()?.check(request))
            .map(|answer| {
                told(&common, answer.verdict(), &answer.as_json(None), || {
                    answer.summary()
                })
            }),
    };
    answer.unwrap_or_else(|error| {
        output::say_raw(&error.render());
        if common.json {
            output::print_json(&error.as_json(USAGE));
        }
        USAGE
    })
}

/// Prints an answer; its verdict is the exit status.
fn told(
    common: &Common,
    verdict: Verdict,
    json: &impl Serialize,
    summary: impl FnOnce() -> String,
) -> u8 {
    if common.json {
        output::print_json(json);
    } else {
        output::print(&format!("{}\n", summary()));
    }
    match verdict {
        Verdict::Allow => 0,
        Verdict::Deny => 1,
        Verdict::Ask => 3,
    }
}

fn deed(common: &Common, kind: DeedKind, words: Vec<OsString>) -> Result<DeedAnswer, Error> {
    let [object] = <[OsString; 1]>::try_from(words)
        .map_err(|_| Error::usage("--kind takes one object: a path, HOST:PORT, or SERVER:TOOL"))?;
    let wanted = setup::wanted(common, kind, object.into_vec()).map_err(Error::usage)?;
    setup::builder(common).build()?.check_deed(&wanted)
}

/// One request of `--jsonl`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    id: serde_json::Value,
    line: Option<String>,
    kind: Option<String>,
    object: Option<String>,
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
    judge(common, &asked).unwrap_or_else(|error| failed(&asked.id, error.render()))
}

/// The answer line of one request.
fn judge(common: &Common, asked: &Asked) -> Result<String, Error> {
    let cwd = asked
        .cwd
        .as_ref()
        .map(|cwd| AbsolutePath::new(Path::new(cwd)));
    let cwd = cwd
        .transpose()
        .map_err(|error| Error::usage(format!("cwd: {error}")))?;
    let builder = match &asked.policy {
        Some(policy) => Supervisor::builder()
            .environment(setup::environment())
            .policy_text("policy", policy.clone()),
        None => setup::builder(common),
    };
    let supervisor = builder.build()?;
    let id = Some(&asked.id);
    match (&asked.line, &asked.kind, &asked.object) {
        (Some(line), None, None) => {
            let command = Command::Line(line.clone().into_bytes());
            let mut request = Request::new(command, setup::environment());
            request.profile = common.profile;
            request.network = common.network;
            request.cwd = cwd;
            Ok(output::json_line(&supervisor.check(request)?.as_json(id)))
        }
        (None, Some(kind), Some(object)) => {
            let wanted = Wanted {
                kind: kind.parse().map_err(|error: String| Error::usage(error))?,
                object: object.clone().into_bytes(),
                cwd,
                workspace: None,
            };
            Ok(output::json_line(
                &supervisor.check_deed(&wanted)?.as_json(id),
            ))
        }
        _ => Err(Error::usage(
            "a request holds a `line`, or a `kind` and an `object`",
        )),
    }
}

fn failed(id: &serde_json::Value, error: String) -> String {
    output::json_line(&Failed {
        schema: "tipstaff.check/1",
        id,
        error,
    })
}
