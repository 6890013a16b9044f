//! `policy test`: files of cases against a policy, and the rules no case was decided by.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::model::judgement::{Layer, Reason, RuleRef};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::{Case, CaseFile, Coverage, Listed, Policy, Source, read_cases};
use crate::supervisor::{Error, Rehearsed, place, rehearse, today};

use super::super::args::{Common, TestOptions};
use super::super::paint::{Paint, Tone};
use super::super::{output, setup};
use super::failed;

/// A case that does not hold, or with `--cover` a rule that no case was decided by.
const FAILED: u8 = 1;
/// A larger file of cases is a mistake.
const LARGEST: u64 = 4 << 20;

/// `tipstaff.policy-test/1`
#[derive(Debug, Serialize)]
struct TestJson<'a> {
    schema: &'static str,
    passed: usize,
    failed: usize,
    rules: usize,
    cases: Vec<CaseJson<'a>>,
    not_hit: Vec<RuleJson<'a>>,
}

#[derive(Debug, Serialize)]
struct CaseJson<'a> {
    file: &'a str,
    at: usize,
    line: String,
    passed: bool,
    wrong: &'a [&'static str],
    expected: Verdict,
    verdict: Verdict,
    reason: Reason,
    rules: &'a [RuleRef],
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RuleJson<'a> {
    id: &'a str,
    text: &'a str,
    verdict: Verdict,
    file: Option<&'a str>,
    line: Option<usize>,
}

/// One policy with the files of cases for it.
struct Suite {
    policy: Policy,
    /// How it was named: the same policy is loaded once.
    named: Option<PathBuf>,
    coverage: Coverage,
    files: Vec<(CaseFile, Vec<Rehearsed>)>,
}

/// Runs cases.
pub fn test(options: &TestOptions, json: bool) -> u8 {
    match suites(options) {
        Ok(suites) => report(&suites, options.cover, json),
        Err(error) => failed(&error, json),
    }
}

fn suites(options: &TestOptions) -> Result<Vec<Suite>, Error> {
    let mut suites: Vec<Suite> = Vec::new();
    for path in files(options)? {
        let file = read(&path)?;
        let named = options.policy.clone().or_else(|| {
            let beside = path.parent().unwrap_or(Path::new(""));
            file.policy.as_ref().map(|policy| beside.join(policy))
        });
        let at = match suites.iter().position(|suite| suite.named == named) {
            Some(at) => at,
            None => {
                let (_, policy) = in_force(named.as_deref())?;
                suites.push(Suite {
                    policy,
                    named,
                    coverage: Coverage::default(),
                    files: Vec::new(),
                });
                suites.len() - 1
            }
        };
        if let Some(suite) = suites.get_mut(at) {
            let came = rehearse(&file, &suite.policy, &mut suite.coverage)?;
            suite.files.push((file, came));
        }
    }
    Ok(suites)
}

fn in_force(policy: Option<&Path>) -> Result<(Vec<Source>, Policy), Error> {
    let common = Common {
        policy: policy.map(Path::to_path_buf),
        ..Common::default()
    };
    setup::builder(&common).build()?.policy_here()
}

/// The files named, or `NAME.test.toml` beside each policy `NAME.toml` in force.
fn files(options: &TestOptions) -> Result<Vec<PathBuf>, Error> {
    if !options.files.is_empty() {
        return Ok(options.files.clone());
    }
    let (sources, _) = in_force(options.policy.as_deref())?;
    let beside: Vec<PathBuf> = sources
        .iter()
        // What lies in the managed folder is policy, whatever it is called.
        .filter(|source| source.layer != Layer::Managed)
        .map(|source| Path::new(&source.name).with_extension("test.toml"))
        .filter(|path| path.exists())
        .collect();
    if beside.is_empty() {
        return Err(Error::usage(
            "there is no file of cases: name one, or put `policy.test.toml` beside `policy.toml`",
        ));
    }
    Ok(beside)
}

fn read(path: &Path) -> Result<CaseFile, Error> {
    let name = path.to_string_lossy();
    let shown = Escaped::from(name.as_ref()).to_string();
    let bad = |error: std::io::Error| Error::usage(format!("cannot read `{shown}`: {error}"));
    let size = std::fs::metadata(path).map_err(bad)?.len();
    if size > LARGEST {
        let message = format!("`{shown}` is larger than {LARGEST} bytes");
        return Err(Error::usage(message));
    }
    let text = std::fs::read_to_string(path).map_err(bad)?;
    Ok(read_cases(&name, &text)?)
}

fn report(suites: &[Suite], cover: bool, json: bool) -> u8 {
    let all = || suites.iter().flat_map(|suite| &suite.files);
    let pairs = || all().flat_map(|(file, came)| file.cases.iter().zip(came));
    let wrong = pairs().filter(|(_, came)| !came.wrong.is_empty()).count();
    let right = pairs().count() - wrong;
    let mut not_hit: Vec<Listed> = Vec::new();
    let mut rules = 0;
    for suite in suites {
        let (missing, written) = suite.coverage.missing(&suite.policy, today());
        not_hit.extend(missing);
        rules += written;
    }
    if json {
        output::print_json(&TestJson {
            schema: "tipstaff.policy-test/1",
            passed: right,
            failed: wrong,
            rules,
            cases: all()
                .flat_map(|(file, came)| {
                    let pairs = file.cases.iter().zip(came);
                    pairs.map(|(case, came)| as_json(&file.name, case, came))
                })
                .collect(),
            not_hit: not_hit.iter().map(rule_json).collect(),
        });
    } else {
        output::print(&told(all(), &not_hit, rules));
    }
    if wrong > 0 || (cover && !not_hit.is_empty()) {
        FAILED
    } else {
        0
    }
}

fn as_json<'a>(file: &'a str, case: &'a Case, came: &'a Rehearsed) -> CaseJson<'a> {
    CaseJson {
        file,
        at: case.line,
        line: case.judged.shown(),
        passed: came.wrong.is_empty(),
        wrong: &came.wrong,
        expected: case.expect,
        verdict: came.verdict,
        reason: came.reason,
        rules: &came.rules,
        why: case.why.as_deref(),
        change: came.remedy.as_deref(),
    }
}

fn rule_json(listed: &Listed) -> RuleJson<'_> {
    let place = listed.rule.place.as_ref();
    RuleJson {
        id: &listed.rule.id,
        text: &listed.rule.text,
        verdict: listed.verdict,
        file: place.map(|place| place.file.as_str()),
        line: place.map(|place| place.line),
    }
}

fn told<'a>(
    files: impl Iterator<Item = &'a (CaseFile, Vec<Rehearsed>)>,
    not_hit: &[Listed],
    rules: usize,
) -> String {
    let paint = Paint::output();
    let mut text = String::new();
    let (mut right, mut all) = (0, 0);
    for (file, came) in files {
        let name = Escaped::from(file.name.as_str()).to_string();
        let bad = came.iter().filter(|came| !came.wrong.is_empty()).count();
        let word = if bad == 0 {
            paint.tone(Tone::Good, "ok  ")
        } else {
            paint.tone(Tone::Bad, "FAIL")
        };
        text.push_str(&format!(
            "{word}  {name}: {} of {} cases as expected\n",
            came.len() - bad,
            came.len()
        ));
        for (case, came) in file.cases.iter().zip(came) {
            if !came.wrong.is_empty() {
                text.push_str(&failure(paint, file, case, came));
            }
        }
        right += came.len() - bad;
        all += came.len();
    }
    for listed in not_hit {
        let place = place(&listed.rule);
        text.push_str(&format!(
            "{}  {place}: {} {}\n",
            paint.tone(Tone::Notice, "not hit"),
            listed.verdict,
            Escaped::from(listed.rule.text.as_str())
        ));
    }
    text.push_str(&format!(
        "{right} of {all} cases as expected; {} of {rules} rules decided one\n",
        rules - not_hit.len()
    ));
    text
}

fn failure(paint: Paint, file: &CaseFile, case: &Case, came: &Rehearsed) -> String {
    let line = case.judged.shown();
    let head = format!(
        "{}:{}: {}",
        Escaped::from(file.name.as_str()),
        case.line,
        Escaped::from(line.as_str())
    );
    let mut text = format!("\n  {}\n", paint.tone(Tone::Strong, &head));
    let mut row = |label: &str, said: String| text.push_str(&format!("    {label:<9} {said}\n"));
    let mut wanted = case.expect.to_string();
    if let Some(reason) = &case.reason {
        wanted.push_str(&format!(" ({})", Escaped::from(reason.as_str())));
    }
    if let Some(rule) = &case.rule {
        wanted.push_str(&format!(" by `{}`", Escaped::from(rule.as_str())));
    }
    row("expected", wanted);
    row("got", format!("{} ({})", came.verdict, came.reason));
    for rule in &came.rules {
        let shown = Escaped::from(rule.text.as_str());
        row("rule", format!("{}: {shown}", place(rule)));
        if let Some(why) = &rule.why {
            row("", format!("because {}", Escaped::from(why.as_str())));
        }
    }
    if let Some(remedy) = &came.remedy {
        row("change", Escaped::from(remedy.as_str()).to_string());
    }
    if let Some(why) = &case.why {
        row("case", Escaped::from(why.as_str()).to_string());
    }
    if case.cwd != file.machine.workspace {
        row("in", case.cwd.to_string());
    }
    text.push('\n');
    text
}
