//! `policy list` and `policy try`: what there is, and what one more rule would be.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use serde::Serialize;

use crate::model::judgement::Layer;
use crate::model::request::Command;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::{Danger, Listed, Matched, Standing, Trial, danger};
use crate::supervisor::{Error, TriedLine};

use super::super::args::{Common, TryOptions};
use super::super::{output, setup};
use super::failed;
use super::programs::Known;

/// A line that the rule does not match.
const UNMATCHED: u8 = 3;

/// `tipstaff.policy-list/1`
#[derive(Debug, Serialize)]
struct ListJson<'a> {
    schema: &'static str,
    rules: Vec<RuleJson<'a>>,
}

#[derive(Debug, Serialize)]
struct RuleJson<'a> {
    verdict: Verdict,
    text: &'a str,
    id: &'a str,
    layer: Layer,
    file: Option<&'a str>,
    line: Option<usize>,
    counts: bool,
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'a str>,
    network: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_written: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// Lists the rules in force here.
pub fn list(json: bool) -> u8 {
    let rules = match setup::builder(&Common::default())
        .build()
        .and_then(|supervisor| supervisor.rules())
    {
        Ok(rules) => rules,
        Err(error) => return failed(&error, json),
    };
    if json {
        output::print_json(&ListJson {
            schema: "tipstaff.policy-list/1",
            rules: rules.iter().map(as_json).collect(),
        });
    } else {
        for listed in &rules {
            output::print(&line(listed));
        }
    }
    0
}

fn as_json(listed: &Listed) -> RuleJson<'_> {
    let place = listed.rule.place.as_ref();
    RuleJson {
        verdict: listed.verdict,
        text: &listed.rule.text,
        id: &listed.rule.id,
        layer: listed.rule.layer,
        file: place.map(|place| place.file.as_str()),
        line: place.map(|place| place.line),
        counts: listed.standing == Standing::Counts,
        standing: listed.standing.word(),
        expires: listed.expires.as_deref(),
        sandbox: listed.sandbox.as_deref(),
        network: listed.network,
        as_written: listed.as_written,
        why: listed.rule.why.as_deref(),
    }
}

fn line(listed: &Listed) -> String {
    let rule = &listed.rule;
    let place = match &rule.place {
        Some(place) => format!(
            "{} {}:{}",
            rule.layer.word(),
            Escaped::from(place.file.as_str()),
            place.line
        ),
        None => rule.layer.word().to_owned(),
    };
    let expires = listed.expires.as_deref();
    let standing = match listed.standing {
        Standing::Counts => {
            expires.map_or_else(String::new, |day| format!("  (applies until {day})"))
        }
        Standing::Untrusted => {
            "  (does not count: nobody trusted this project policy, see `tipstaff policy trust`)"
                .to_owned()
        }
        Standing::Disabled => "  (does not count: disabled)".to_owned(),
        Standing::Expired => format!(
            "  (does not count: expired on {})",
            expires.unwrap_or("a day long past")
        ),
    };
    format!(
        "{:<5} {}  [{}, {place}]{}{standing}\n",
        listed.verdict.to_string(),
        Escaped::from(rule.text.as_str()),
        Escaped::from(rule.id.as_str()),
        terms(listed)
    )
}

/// The keys that say how a rule runs what it allows, as its file writes them.
fn terms(listed: &Listed) -> String {
    let sandbox = listed
        .sandbox
        .as_deref()
        .map(|name| format!("sandbox = \"{}\"", Escaped::from(name)));
    let network = listed.network.then(|| "network = true".to_owned());
    let as_written = listed
        .as_written
        .map(|how| format!("as_written = \"{how}\""));
    let terms: Vec<String> = [sandbox, network, as_written]
        .into_iter()
        .flatten()
        .collect();
    if terms.is_empty() {
        return String::new();
    }
    format!("  ({})", terms.join(", "))
}

/// `tipstaff.policy-try/1`
#[derive(Debug, Serialize)]
struct TryJson<'a> {
    schema: &'static str,
    rule: &'a str,
    verdict: Verdict,
    reading: Vec<PartJson>,
    danger: Option<DangerJson>,
    lines: Vec<LineJson>,
}

#[derive(Debug, Serialize)]
struct PartJson {
    part: &'static str,
    is: String,
}

#[derive(Debug, Serialize)]
struct DangerJson {
    code: &'static str,
    why: String,
    narrower: &'static str,
}

#[derive(Debug, Serialize)]
struct LineJson {
    line: String,
    matched: bool,
    commands: Vec<CommandJson>,
}

#[derive(Debug, Serialize)]
struct CommandJson {
    command: String,
    matched: &'static str,
    notes: Vec<String>,
}

/// Tries a rule.
pub fn attempt(options: &TryOptions, json: bool) -> u8 {
    let trial = match Trial::new(options.verdict, &options.rule) {
        Ok(trial) => trial,
        Err(error) => return failed(&error.into(), json),
    };
    let mut lines = Vec::new();
    for line in &options.lines {
        match judged(&trial, line) {
            Ok(tried) => lines.push((line, tried)),
            Err(error) => return failed(&error, json),
        }
    }
    let danger = danger(options.verdict, &options.rule);
    if json {
        output::print_json(&TryJson {
            schema: "tipstaff.policy-try/1",
            rule: &options.rule,
            verdict: options.verdict,
            reading: trial
                .reading()
                .into_iter()
                .map(|(part, is)| PartJson { part, is })
                .collect(),
            danger: danger.map(|danger| DangerJson {
                code: danger.code.word(),
                why: danger.why,
                narrower: danger.narrower,
            }),
            lines: lines
                .iter()
                .map(|(line, tried)| in_json(line, tried))
                .collect(),
        });
    } else {
        output::print(&told(options, &trial, danger.as_ref(), &lines));
    }
    if lines.iter().all(|(_, tried)| tried.matched) {
        0
    } else {
        UNMATCHED
    }
}

fn judged(trial: &Trial, line: &OsString) -> Result<TriedLine, Error> {
    let common = Common::default();
    let command = Command::Line(line.as_bytes().to_vec());
    let request = setup::request(&common, command).map_err(Error::usage)?;
    setup::builder(&common).build()?.try_rule(trial, request)
}

const fn word(matched: Matched) -> &'static str {
    match matched {
        Matched::Yes => "matched",
        Matched::Maybe => "maybe",
        Matched::No => "no match",
        Matched::Nothing => "nothing to match",
    }
}

fn in_json(line: &OsString, tried: &TriedLine) -> LineJson {
    LineJson {
        line: Escaped(line.as_bytes()).to_string(),
        matched: tried.matched,
        commands: tried
            .commands
            .iter()
            .map(|command| CommandJson {
                command: command.shown.clone(),
                matched: word(command.tried.matched),
                notes: command.tried.notes.clone(),
            })
            .collect(),
    }
}

fn told(
    options: &TryOptions,
    trial: &Trial,
    danger: Option<&Danger>,
    lines: &[(&OsString, TriedLine)],
) -> String {
    let mut text = format!(
        "{} {}\n",
        options.verdict,
        Escaped::from(options.rule.trim())
    );
    for (part, is) in trial.reading() {
        text.push_str(&format!("  {part:<10} {is}\n"));
    }
    let known = Known::here();
    let names: Vec<Vec<u8>> = trial
        .policy()
        .listing(i64::MIN)
        .into_iter()
        .flat_map(|listed| listed.programs)
        .collect();
    for name in &names {
        if let Some(near) = known.meant(name) {
            text.push_str(&format!(
                "  note       there is no program `{}` here; did you mean `{}`?\n",
                Escaped(name),
                Escaped::from(near)
            ));
        }
    }
    if let Some(Danger { why, narrower, .. }) = danger {
        text.push_str(&format!("  danger     {why}; {narrower}\n"));
    }
    for (line, tried) in lines {
        text.push_str(&format!(
            "\n{}\n  {}\n",
            Escaped(line.as_bytes()),
            if tried.matched {
                "matched"
            } else {
                "not matched"
            }
        ));
        for command in &tried.commands {
            text.push_str(&format!(
                "  {:<10} {}\n",
                word(command.tried.matched),
                command.shown
            ));
            for note in &command.tried.notes {
                text.push_str(&format!("             {}\n", Escaped::from(note.as_str())));
            }
        }
    }
    text
}
