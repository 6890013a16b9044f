//! `policy add`, `policy remove` and `policy fmt`: policy files changed in place.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::layers::Edit;
use crate::model::judgement::Layer;
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::{self, Danger, EditError, LayoutError, Trial};
use crate::supervisor::{Error, Preview, Supervisor, Target};

use super::super::args::{AddOptions, Common, RemoveOptions, TargetArgs};
use super::super::{USAGE, output, setup};

/// Refused as dangerous, or a file that `fmt --check` would change.
const REFUSED: u8 = 1;
/// Lines of a preview that are shown.
const EXAMPLES: usize = 5;

/// Why nothing was changed: with the exit status and what is said.
struct Failed {
    code: u8,
    message: String,
    error: Option<Box<Error>>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            code: USAGE,
            message: error.render(),
            error: Some(Box::new(error)),
        }
    }
}

impl Failed {
    fn with_help(code: u8, message: impl std::fmt::Display, help: Option<&str>) -> Self {
        let help = help.map(|help| format!("  help: {help}\n"));
        Self {
            code,
            message: format!("tipstaff: {message}\n{}", help.unwrap_or_default()),
            error: None,
        }
    }

    fn edit(file: &AbsolutePath, error: &EditError) -> Self {
        Self::with_help(USAGE, format!("{file}: {error}"), error.help().as_deref())
    }
}

fn end(result: Result<u8, Failed>, json: bool) -> u8 {
    match result {
        Ok(code) => code,
        Err(failed) => {
            output::say_raw(&failed.message);
            if !failed.message.ends_with('\n') {
                output::say_raw("\n");
            }
            if json {
                let error = failed.error.unwrap_or_else(|| {
                    let message = failed.message.trim_end();
                    Box::new(Error::usage(
                        message.strip_prefix("tipstaff: ").unwrap_or(message),
                    ))
                });
                output::print_json(&error.as_json(failed.code));
            }
            failed.code
        }
    }
}

/// `tipstaff.policy-change/1`
#[derive(Debug, Serialize)]
struct ChangeJson<'a> {
    schema: &'static str,
    file: String,
    verdict: &'a str,
    rule: &'a str,
    /// `added`, `removed`, `there`, `dry-run`
    done: &'static str,
    judged: usize,
    changes: Vec<LineJson<'a>>,
}

#[derive(Debug, Serialize)]
struct LineJson<'a> {
    line: &'a str,
    cwd: &'a str,
    from: Verdict,
    to: Verdict,
}

fn changed_json(
    file: &AbsolutePath,
    verdict: &str,
    rule: &str,
    done: &'static str,
    preview: &Preview,
) {
    output::print_json(&ChangeJson {
        schema: "tipstaff.policy-change/1",
        file: file.to_string(),
        verdict,
        rule,
        done,
        judged: preview.judged,
        changes: preview
            .changes
            .iter()
            .map(|change| LineJson {
                line: &change.line,
                cwd: &change.cwd,
                from: change.from,
                to: change.to,
            })
            .collect(),
    });
}

fn supervisor() -> Result<Supervisor, Failed> {
    Ok(setup::builder(&Common::default()).build()?)
}

fn target(args: &TargetArgs) -> Target<'_> {
    match &args.file {
        Some(file) => Target::File(file),
        None if args.project => Target::Project,
        None => Target::User,
    }
}

fn held(file: &AbsolutePath) -> Result<Edit, Failed> {
    Edit::open(file).map_err(|error| Error::from(error).into())
}

/// Adds a rule.
pub fn add(options: &AddOptions, json: bool) -> u8 {
    end(added(options, json), json)
}

fn added(options: &AddOptions, json: bool) -> Result<u8, Failed> {
    let verdict = options.verdict;
    let rule = options.rule.trim();
    Trial::new(verdict, rule).map_err(Error::from)?;
    let supervisor = supervisor()?;
    let (layer, file) = supervisor.policy_file(&target(&options.target))?;
    let edit = held(&file)?;
    let old = edit.text().map(str::to_owned);
    let text = old.clone().unwrap_or_default();
    let changed = policy::add(&text, verdict, rule).map_err(|error| Failed::edit(&file, &error))?;
    let Some(changed) = changed else {
        if json {
            changed_json(&file, verdict.word(), rule, "there", &Preview::default());
            return Ok(0);
        }
        output::print(&format!(
            "{file}: {verdict} `{}` is there already\n",
            shown(rule)
        ));
        return Ok(0);
    };
    supervisor.would_load(layer, &file, &changed)?;
    let preview = supervisor.preview(layer, &file, old.as_deref(), &changed)?;
    if !json {
        output::print(&told(&preview));
    }
    let danger = policy::danger(verdict, rule).filter(|danger| danger.code.is_refused());
    if let Some(Danger { why, narrower, .. }) = danger
        && !options.even_if_dangerous
    {
        let message = format!("refused: allow `{}`: {why}", shown(rule));
        let help = format!("{narrower}; or add `--even-if-dangerous`");
        return Err(Failed::with_help(REFUSED, message, Some(&help)));
    }
    if !options.dry_run {
        edit.replace(&changed).map_err(Error::from)?;
    }
    if json {
        let done = if options.dry_run { "dry-run" } else { "added" };
        changed_json(&file, verdict.word(), rule, done, &preview);
        return Ok(0);
    }
    if options.dry_run {
        output::print(&format!("{file}: not changed\n"));
        return Ok(0);
    }
    output::print(&format!("{file}: added {verdict} `{}`\n", shown(rule)));
    if layer == Layer::Project && verdict == Verdict::Allow {
        output::print("it counts after `tipstaff policy trust`: trust is for an exact content\n");
    }
    Ok(0)
}

/// Removes a rule.
pub fn remove(options: &RemoveOptions, json: bool) -> u8 {
    end(removed(options, json), json)
}

fn removed(options: &RemoveOptions, json: bool) -> Result<u8, Failed> {
    let wanted = options.rule.trim();
    let supervisor = supervisor()?;
    let (layer, file) = supervisor.policy_file(&target(&options.target))?;
    if !file.as_path().exists() {
        let message = format!("there is no policy `{file}`");
        let help = elsewhere(&supervisor, &file, wanted);
        return Err(Failed::with_help(USAGE, message, help.as_deref()));
    }
    let edit = held(&file)?;
    let old = edit.text().unwrap_or_default().to_owned();
    let (changed, removed) =
        policy::remove(&old, layer, wanted, options.verdict).map_err(|error| {
            let absent = matches!(error, EditError::Absent { .. });
            match elsewhere(&supervisor, &file, wanted).filter(|_| absent) {
                Some(help) => Failed::with_help(USAGE, format!("{file}: {error}"), Some(&help)),
                None => Failed::edit(&file, &error),
            }
        })?;
    supervisor.would_load(layer, &file, &changed)?;
    let preview = supervisor.preview(layer, &file, Some(&old), &changed)?;
    if !json {
        output::print(&told(&preview));
    }
    if !options.dry_run {
        edit.replace(&changed).map_err(Error::from)?;
    }
    if json {
        let done = if options.dry_run {
            "dry-run"
        } else {
            "removed"
        };
        changed_json(&file, &removed.verdict, &removed.text, done, &preview);
        return Ok(0);
    }
    if options.dry_run {
        output::print(&format!("{file}: not changed\n"));
        return Ok(0);
    }
    output::print(&format!(
        "{file}: removed {} `{}`\n",
        removed.verdict,
        shown(&removed.text)
    ));
    Ok(0)
}

/// Where a rule stands that is not in the file it was looked for in.
fn elsewhere(supervisor: &Supervisor, file: &AbsolutePath, wanted: &str) -> Option<String> {
    let rules = supervisor.rules().ok()?;
    let file = file.to_string();
    let listed = rules.into_iter().find(|listed| {
        (listed.rule.id == wanted || listed.rule.text == wanted)
            && listed
                .rule
                .place
                .as_ref()
                .is_none_or(|place| place.file != file)
    })?;
    Some(match listed.rule.place {
        Some(place) => format!(
            "it stands in {}:{}; name that file with `--file` or `--project`",
            Escaped::from(place.file.as_str()),
            place.line
        ),
        None => format!(
            "it is built in; `disable = [\"{}\"]` in [permissions] of the user policy switches it off",
            listed.rule.id
        ),
    })
}

fn shown(text: &str) -> String {
    Escaped::from(text).to_string()
}

/// What a change would do to the lines of the record.
fn told(preview: &Preview) -> String {
    if preview.judged == 0 {
        return "the record holds no line to compare with\n".to_owned();
    }
    let mut text = String::new();
    let kinds = [
        (Verdict::Ask, Verdict::Allow),
        (Verdict::Deny, Verdict::Allow),
        (Verdict::Deny, Verdict::Ask),
        (Verdict::Allow, Verdict::Ask),
        (Verdict::Allow, Verdict::Deny),
        (Verdict::Ask, Verdict::Deny),
    ];
    for (from, to) in kinds {
        let lines: Vec<_> = preview
            .changes
            .iter()
            .filter(|change| (change.from, change.to) == (from, to))
            .collect();
        if lines.is_empty() {
            continue;
        }
        text.push_str(&format!(
            "{} of the {} newest lines of the record: {from} today, {to} with this change\n",
            lines.len(),
            preview.judged
        ));
        for change in lines.iter().take(EXAMPLES) {
            text.push_str(&format!("  {}  (in {})\n", change.line, change.cwd));
        }
        if lines.len() > EXAMPLES {
            text.push_str(&format!("  and {} more\n", lines.len() - EXAMPLES));
        }
    }
    if text.is_empty() {
        text = format!(
            "none of the {} newest lines of the record would be judged differently\n",
            preview.judged
        );
    }
    text
}

/// `tipstaff.policy-fmt/1`
#[derive(Debug, Serialize)]
struct FmtJson {
    schema: &'static str,
    file: String,
    differs: bool,
    written: bool,
}

/// Lays files out, or says which would change.
pub fn lay_out(files: &[PathBuf], check: bool, json: bool) -> u8 {
    files
        .iter()
        .map(|file| end(one(file, check, json), json))
        .max()
        .unwrap_or(0)
}

fn one(file: &Path, check: bool, json: bool) -> Result<u8, Failed> {
    let path = std::env::current_dir()
        .map_err(|error| error.to_string())
        .and_then(|here| AbsolutePath::new(here.join(file)).map_err(|error| error.to_string()))
        .map_err(|error| Failed::with_help(USAGE, error, None))?;
    if !path.as_path().exists() {
        return Err(Failed::with_help(
            USAGE,
            format!("there is no policy `{path}`"),
            None,
        ));
    }
    let edit = held(&path)?;
    let text = edit.text().unwrap_or_default();
    let written = policy::laid_out(text).map_err(|error| {
        let help = match &error {
            LayoutError::Comment(_) => {
                "move the comment to a line of its own above what it is about"
            }
            LayoutError::Syntax(_) | LayoutError::Foreign(_) | LayoutError::Shape(_) => {
                "`tipstaff policy check FILE` says what is wrong"
            }
        };
        Failed::with_help(USAGE, format!("{path}: {error}"), Some(help))
    })?;
    let differs = written != text;
    if differs && !check {
        edit.replace(&written).map_err(Error::from)?;
    }
    if json {
        output::print_json(&FmtJson {
            schema: "tipstaff.policy-fmt/1",
            file: path.to_string(),
            differs,
            written: differs && !check,
        });
    } else if differs {
        let said = if check { "would change" } else { "laid out" };
        output::print(&format!("{path}: {said}\n"));
    }
    Ok(if differs && check { REFUSED } else { 0 })
}
