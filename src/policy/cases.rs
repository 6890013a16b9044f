//! Files of cases for `tipstaff policy test`: a line, what the policy should say of it, and the made-up
//! machine it is judged on, so that a case says the same on every host.

use std::ops::Range;

use toml::de::DeTable;

use super::error::PolicyError;
use super::reader::{At, Reader};
use crate::model::digest::Digest;
use crate::model::judgement::Reason;
use crate::model::mode::Mode;
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

/// Keys of a file of cases.
const TOP: [&str; 9] = [
    "policy",
    "workspace",
    "home",
    "cwd",
    "mode",
    "environment",
    "absent",
    "program",
    "case",
];
/// Keys of a `[[program]]`.
const PROGRAM: [&str; 4] = ["path", "real", "trusted", "digest"];
/// Keys of a `[[case]]`.
const CASE: [&str; 8] = [
    "line", "argv", "cwd", "mode", "expect", "rule", "reason", "why",
];

/// A file of cases.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The file as people know it.
    pub name: String,
    /// The policy it is for, seen from the file's folder.
    pub policy: Option<String>,
    /// The made-up machine.
    pub machine: Machine,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A machine that is a table. Every bare name that is not absent lies in `/usr/bin`, trusted.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Root of the workspace.
    pub workspace: AbsolutePath,
    /// The home folder.
    pub home: AbsolutePath,
    /// The caller's environment, beside `HOME`.
    pub environment: Vec<(String, String)>,
    /// Names that are nowhere.
    pub absent: Vec<String>,
    /// Files that lie elsewhere or are not what the rest is.
    pub programs: Vec<MadeUp>,
}

/// A file of the made-up machine.
#[derive(Clone, Debug)]
pub struct MadeUp {
    /// Where it lies.
    pub path: AbsolutePath,
    /// Where it leads, when it is a link.
    pub real: Option<AbsolutePath>,
    /// Whether an allow rule by name may cover it; left out, it may outside of the workspace.
    pub trusted: Option<bool>,
    /// Its content.
    pub digest: Option<Digest>,
}

/// What is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// A shell line.
    Line(String),
    /// An argv that no shell reads.
    Argv(Vec<String>),
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it stands, from 1.
    pub line: usize,
    /// What is judged.
    pub judged: Judged,
    /// The folder it starts in.
    pub cwd: AbsolutePath,
    /// The mode; then `expect` is what comes of it in that mode, with a sandbox that stands.
    pub mode: Option<Mode>,
    /// The verdict.
    pub expect: Verdict,
    /// The rule that decides, by id or text.
    pub rule: Option<String>,
    /// The reason code.
    pub reason: Option<String>,
    /// What the case is there for.
    pub why: Option<String>,
}

impl Judged {
    /// The line as a person would write it.
    pub fn shown(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Argv(words) => shell_words::join(words),
        }
    }
}

/// Reads a file of cases strictly.
///
/// # Errors
///
/// Every mistake of the text.
pub fn read_cases(name: &str, text: &str) -> Result<CaseFile, PolicyError> {
    let mut reader = Reader::new(name, text);
    let file = match reader.document() {
        Some(document) => file(&mut reader, name, &document),
        None => None,
    };
    match file {
        Some(file) if reader.faults.is_empty() => Ok(file),
        Some(_) | None => Err(PolicyError::new(reader.faults)),
    }
}

fn file(reader: &mut Reader<'_>, name: &str, document: &DeTable<'_>) -> Option<CaseFile> {
    reader.keys(document, &TOP, &[], "in a file of cases");
    let root = AbsolutePath::new("/").ok()?;
    let workspace = folder(reader, document, "workspace", &root).unwrap_or(root.join("ws"));
    let home = folder(reader, document, "home", &root).unwrap_or(root.join("home/me"));
    let cwd = folder(reader, document, "cwd", &workspace).unwrap_or_else(|| workspace.clone());
    let mode = mode(reader, document);
    let machine = Machine {
        environment: environment(reader, document),
        absent: texts(reader.strings(document, "absent")),
        programs: programs(reader, document, &workspace),
        workspace,
        home,
    };
    let mut cases = Vec::new();
    for table in reader.tables(document, "case") {
        cases.extend(case(reader, &table, &cwd, mode));
    }
    if cases.is_empty() && reader.faults.is_empty() {
        reader.fault(
            0..0,
            "the file holds no case",
            "add `[[case]]` with `line = \"…\"` and `expect = \"allow\"`",
        );
    }
    Some(CaseFile {
        name: name.to_owned(),
        policy: reader.string(document, "policy").map(|policy| policy.value),
        machine,
        cases,
    })
}

fn texts(list: Vec<At<String>>) -> Vec<String> {
    list.into_iter().map(|text| text.value).collect()
}

/// A folder seen from another one.
fn folder(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    key: &str,
    from: &AbsolutePath,
) -> Option<AbsolutePath> {
    let text = reader.string(table, key)?;
    if text.value.is_empty() || text.value.contains('\0') {
        reader.fault(text.span, format!("`{key}` is no folder"), "name a folder");
        return None;
    }
    Some(from.join(&text.value))
}

fn mode(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Mode> {
    reader.parsed(table, "mode").map(|mode| mode.value)
}

fn environment(reader: &mut Reader<'_>, document: &DeTable<'_>) -> Vec<(String, String)> {
    let Some(table) = reader.table(document, "environment") else {
        return Vec::new();
    };
    let mut variables = Vec::new();
    for key in table.keys() {
        let name: &str = key.get_ref();
        if let Some(value) = reader.string(table, name) {
            variables.push((name.to_owned(), value.value));
        }
    }
    variables
}

fn programs(
    reader: &mut Reader<'_>,
    document: &DeTable<'_>,
    workspace: &AbsolutePath,
) -> Vec<MadeUp> {
    let mut programs = Vec::new();
    for table in reader.tables(document, "program") {
        reader.keys(table.value, &PROGRAM, &[], "in [[program]]");
        let Some(path) = folder(reader, table.value, "path", workspace) else {
            if !table.value.contains_key("path") {
                reader.fault(
                    table.span,
                    "the program has no `path`",
                    "say where the file lies",
                );
            }
            continue;
        };
        programs.push(MadeUp {
            path,
            real: folder(reader, table.value, "real", workspace),
            trusted: reader
                .boolean(table.value, "trusted")
                .map(|trusted| trusted.value),
            digest: reader
                .parsed(table.value, "digest")
                .map(|digest| digest.value),
        });
    }
    programs
}

fn case(
    reader: &mut Reader<'_>,
    at: &At<&DeTable<'_>>,
    cwd: &AbsolutePath,
    otherwise: Option<Mode>,
) -> Option<Case> {
    let table = at.value;
    let before = reader.faults.len();
    reader.keys(table, &CASE, &[], "in [[case]]");
    let judged = judged(reader, table, &at.span);
    let verdict = reader.string(table, "expect");
    let expect = match verdict.as_ref().map(|verdict| verdict.value.as_str()) {
        Some("allow") => Some(Verdict::Allow),
        Some("ask") => Some(Verdict::Ask),
        Some("deny") => Some(Verdict::Deny),
        Some(_) | None => {
            if verdict.is_some() || !table.contains_key("expect") {
                reader.fault(
                    verdict.map_or_else(|| at.span.clone(), |verdict| verdict.span),
                    "the case says no verdict",
                    "add `expect = \"allow\"`, `\"ask\"` or `\"deny\"`",
                );
            }
            None
        }
    };
    let reason = reader.string(table, "reason");
    if let Some(code) = &reason
        && !Reason::ALL.iter().any(|reason| reason.code() == code.value)
    {
        let shown = Escaped::from(code.value.as_str());
        let codes: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        let message = format!("`{shown}` is no reason code");
        let help = format!("the codes are {}", codes.join(", "));
        reader.fault(code.span.clone(), message, &help);
    }
    let cwd = folder(reader, table, "cwd", cwd).unwrap_or_else(|| cwd.clone());
    let mode = mode(reader, table).or(otherwise);
    let case = Case {
        line: reader.line(at.span.start),
        judged: judged?,
        cwd,
        mode,
        expect: expect?,
        rule: reader.string(table, "rule").map(|rule| rule.value),
        reason: reason.map(|reason| reason.value),
        why: reader.string(table, "why").map(|why| why.value),
    };
    (reader.faults.len() == before).then_some(case)
}

fn judged(reader: &mut Reader<'_>, table: &DeTable<'_>, span: &Range<usize>) -> Option<Judged> {
    let line = reader.string(table, "line");
    let argv = texts(reader.strings(table, "argv"));
    match (line, argv.is_empty()) {
        (Some(line), true) if !line.value.trim().is_empty() && !line.value.contains('\0') => {
            Some(Judged::Line(line.value))
        }
        (None, false) if argv.first().is_some_and(|name| !name.is_empty()) => {
            Some(Judged::Argv(argv))
        }
        (Some(_) | None, _) => {
            reader.fault(
                span.clone(),
                "the case needs one command",
                "add `line = \"…\"`, or `argv = [\"…\"]` for a command that no shell reads",
            );
            None
        }
    }
}
