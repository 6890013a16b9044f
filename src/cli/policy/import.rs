//! `policy import`: another host's permissions as a policy.

use serde::Serialize;

use crate::model::text::Escaped;
use crate::policy::{Imported, Remark, import as read};
use crate::supervisor::Error;

use super::super::args::ImportOptions;
use super::super::output;
use super::super::paint::{Paint, Tone};
use super::failed;

/// Larger settings are a mistake.
const LARGEST: u64 = 8 << 20;

/// `tipstaff.policy-import/1`
#[derive(Debug, Serialize)]
struct ImportJson<'a> {
    schema: &'static str,
    host: &'static str,
    file: String,
    policy: &'a str,
    rules: usize,
    unsaid: Vec<RemarkJson<'a>>,
    stricter: Vec<RemarkJson<'a>>,
}

#[derive(Debug, Serialize)]
struct RemarkJson<'a> {
    line: usize,
    rule: &'a str,
    why: &'a str,
}

/// Imports.
pub fn import(options: &ImportOptions, json: bool) -> u8 {
    let imported = match imported(options) {
        Ok(imported) => imported,
        Err(error) => return failed(&error, json),
    };
    let file = options.file.to_string_lossy();
    if json {
        output::print_json(&ImportJson {
            schema: "tipstaff.policy-import/1",
            host: options.host.word(),
            file: Escaped::from(file.as_ref()).to_string(),
            policy: &imported.policy,
            rules: imported.rules,
            unsaid: imported.unsaid.iter().map(as_json).collect(),
            stricter: imported.stricter.iter().map(as_json).collect(),
        });
        return 0;
    }
    output::print(&imported.policy);
    output::say_raw(&told(&imported, &file));
    0
}

fn imported(options: &ImportOptions) -> Result<Imported, Error> {
    let path = &options.file;
    let name = path.to_string_lossy();
    let shown = Escaped::from(name.as_ref()).to_string();
    let bad = |error: std::io::Error| Error::usage(format!("cannot read `{shown}`: {error}"));
    if std::fs::metadata(path).map_err(bad)?.len() > LARGEST {
        let message = format!("`{shown}` is larger than {LARGEST} bytes");
        return Err(Error::usage(message));
    }
    let text = std::fs::read_to_string(path).map_err(bad)?;
    Ok(read(options.host, &name, &text)?)
}

fn as_json(remark: &Remark) -> RemarkJson<'_> {
    RemarkJson {
        line: remark.line,
        rule: &remark.rule,
        why: &remark.why,
    }
}

fn told(imported: &Imported, file: &str) -> String {
    let paint = Paint::error();
    let file = Escaped::from(file).to_string();
    let mut text = String::new();
    let kinds = [
        ("could not be said", Tone::Notice, &imported.unsaid),
        ("became stricter", Tone::Faint, &imported.stricter),
    ];
    for (title, tone, remarks) in kinds {
        if remarks.is_empty() {
            continue;
        }
        let title = format!("{} {title}", remarks.len());
        text.push_str(&format!("{}:\n", paint.tone(tone, &title)));
        for remark in remarks {
            text.push_str(&format!(
                "  {file}:{}: {}\n      {}\n",
                remark.line,
                paint.tone(
                    Tone::Strong,
                    &Escaped::from(remark.rule.as_str()).to_string()
                ),
                Escaped::from(remark.why.as_str())
            ));
        }
    }
    text.push_str(&format!("{} rules written\n", imported.rules));
    text
}
