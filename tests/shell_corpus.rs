//! The corpus of command lines: what each one starts, or that it is refused.
//!
//! `corpus/shell.jsonl` holds one case a line: `line` (or `repeat`, texts with how often they stand),
//! then `argvs` in source order, or `rejected`, or `count` where the answer is long. A null word is
//! dynamic and stands for any number of words; a null argv has such a word somewhere. `posix` says
//! where that dialect answers differently. The answers come from bash 5.2 and dash, but for the NUL
//! byte, which dash drops and the splitter refuses in every dialect. Strict cases are named below.

use serde::Deserialize;
use tipstaff::model::script::{Dialect, Script, SubCommand, SyntaxError};
use tipstaff::shell::parse;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    line: Option<String>,
    repeat: Option<Vec<(String, usize)>>,
    #[serde(flatten)]
    answer: Answer,
    posix: Option<Answer>,
    #[expect(dead_code, reason = "for people")]
    note: Option<String>,
}

/// A word, or nothing where it is dynamic; an argv, or nothing where any of its words may be.
type Argv = Option<Vec<Option<String>>>;

#[derive(Clone, Deserialize)]
struct Answer {
    argvs: Option<Vec<Argv>>,
    count: Option<usize>,
    #[serde(default)]
    rejected: bool,
}

#[derive(Debug, PartialEq)]
enum Grade {
    Exact,
    /// Refused or marked, where the shell would have run it.
    Strict,
    Wrong(String),
}

fn cases() -> serde_json::Result<Vec<Case>> {
    include_str!("corpus/shell.jsonl")
        .lines()
        .map(serde_json::from_str)
        .collect()
}

fn text(case: &Case) -> String {
    match (&case.line, &case.repeat) {
        (Some(line), _) => line.clone(),
        (None, Some(parts)) => parts
            .iter()
            .map(|(text, count)| text.repeat(*count))
            .collect(),
        (None, None) => String::new(),
    }
}

fn grade(answer: &Answer, line: &str, dialect: Dialect) -> Grade {
    let script = match parse(line.as_bytes(), dialect) {
        Ok(script) => script,
        Err(_) if answer.rejected => return Grade::Exact,
        Err(_) => return Grade::Strict,
    };
    if answer.rejected {
        return Grade::Wrong("accepted".to_owned());
    }
    let mut found: Vec<&SubCommand> = script
        .subcommands
        .iter()
        .filter(|sub| !sub.argv.is_empty() && sub.carrier.is_none())
        .collect();
    // The corpus goes by where the program's name stands, behind any assignment.
    found.sort_by_key(|sub| sub.argv.first().map(|word| word.span.start));
    if let Some(count) = answer.count {
        return if found.len() == count {
            Grade::Exact
        } else {
            Grade::Wrong(found.len().to_string())
        };
    }
    let expected = answer.argvs.as_deref().unwrap_or_default();
    let differs = found.len() != expected.len()
        || expected
            .iter()
            .zip(&found)
            .any(|(argv, found)| !matches(argv, found));
    if differs {
        Grade::Wrong(show(&script))
    } else {
        Grade::Exact
    }
}

fn matches(expected: &Argv, found: &SubCommand) -> bool {
    let Some(expected) = expected else {
        return found.static_argv().is_none();
    };
    let mut words = found.argv.iter().peekable();
    for word in expected {
        match word {
            Some(text) => {
                if words.next().and_then(|word| word.as_static()) != Some(text.as_bytes()) {
                    return false;
                }
            }
            None => {
                let mut dynamic = 0;
                while words.next_if(|word| word.as_static().is_none()).is_some() {
                    dynamic += 1;
                    // Several nulls in a row are as many words, unless one makes several.
                    if expected.iter().filter(|word| word.is_none()).count() > 1 {
                        break;
                    }
                }
                if dynamic == 0 {
                    return false;
                }
            }
        }
    }
    words.next().is_none()
}

fn show(script: &Script) -> String {
    let words = |sub: &SubCommand| -> Vec<String> {
        let words = sub.argv.iter().take(20);
        words
            .map(|word| format!("{:?}", word.as_static().map(String::from_utf8_lossy)))
            .collect()
    };
    format!(
        "{:?}",
        script
            .subcommands
            .iter()
            .take(20)
            .map(words)
            .collect::<Vec<_>>()
    )
}

/// Grades every case of a dialect: how many are exact, the names of the strict, and the wrong ones.
fn run(dialect: Dialect) -> serde_json::Result<(usize, Vec<String>, Vec<String>)> {
    let (mut exact, mut strict, mut wrong) = (0, Vec::new(), Vec::new());
    for case in cases()? {
        let answer = match (&case.posix, dialect) {
            (Some(answer), Dialect::Posix) => answer,
            (_, Dialect::Bash | Dialect::Posix) => &case.answer,
        };
        match grade(answer, &text(&case), dialect) {
            Grade::Exact => exact += 1,
            Grade::Strict => strict.push(case.name),
            Grade::Wrong(found) => wrong.push(format!("{}: {found}", case.name)),
        }
    }
    Ok((exact, strict, wrong))
}

#[test]
fn bash_lines_split_as_bash_splits_them() {
    let (exact, strict, wrong) = run(Dialect::Bash).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(strict, ["sz-subshell-200", "sz-pe-10k"], "of {exact} exact");
}

#[test]
fn posix_lines_split_as_dash_splits_them() {
    let (exact, strict, wrong) = run(Dialect::Posix).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        strict,
        ["sz-subshell-200", "sz-pe-10k", "hang-brush-1270", "hd-17"],
        "of {exact} exact"
    );
}

#[test]
fn a_nul_byte_is_no_script() {
    let error = parse(b"ls\0-l", Dialect::Bash).unwrap_err();
    assert!(matches!(error, SyntaxError::Syntax { at: 2, .. }));
}
