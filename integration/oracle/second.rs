//! A second opinion: the static argvs that another parser finds in the corpus and in the scripts of this
//! system. Who is right where they differ is written down once, in `adjudicated.toml`; a difference that
//! is not there fails.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use serde::Deserialize;
use sha2::Digest as _;
use tipstaff::model::script::{Dialect, SubCommand};
use tipstaff::shell::parse;

use super::support::halves;
use super::{Options, Report, corpus, show};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Adjudicated {
    difference: Vec<Difference>,
}

/// Who is asked.
const PARSERS: [&str; 2] = ["brush", "shuck"];

/// The program of the crate beside this file, which `make second` builds.
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/integration/oracle/second/target/debug/tipstaff-second"
);

/// One script of the system in so many texts may differ without a reason written down.
const SCRIPTS: usize = 100;

/// A text about which the parsers differ, and why that is as it should be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// Who differs.
    parser: String,
    /// The first 16 digits of the SHA-256 of the text.
    text: String,
    /// For people: the line, or where such a script lies.
    #[serde(rename = "where")]
    _place: String,
    reason: String,
}

/// What came of one text.
enum Opinion {
    Same,
    /// The other parser rejects it or dies of it, or we do.
    None,
    Different {
        id: String,
        place: String,
        ours: Vec<Argv>,
        theirs: Vec<Argv>,
    },
}

type Argv = Vec<String>;

/// An argv of the other parser: a word it cannot tell is none, and can be any number of words.
type Theirs = Vec<Option<String>>;

pub fn run(options: &Options, report: &mut Report) {
    let adjudicated = match toml::from_str::<Adjudicated>(include_str!("adjudicated.toml")) {
        Ok(adjudicated) => adjudicated,
        Err(error) => {
            return report.check(
                "second opinion: adjudicated.toml",
                false,
                &error.to_string(),
            );
        }
    };
    let reasoned = adjudicated
        .difference
        .iter()
        .all(|known| !known.reason.trim().is_empty());
    report.check(
        "second opinion: every difference has its reason",
        reasoned,
        "adjudicated.toml",
    );
    let mut texts: Vec<(String, Vec<u8>)> = corpus::lines()
        .into_iter()
        .map(|line| (show(&line), line))
        .collect();
    texts.extend(
        corpus::scripts()
            .into_iter()
            .map(|found| (found.path.display().to_string(), found.text)),
    );
    texts.retain(|(_, text)| std::str::from_utf8(text).is_ok());
    if !std::path::Path::new(PROGRAM).exists() {
        return report.skip("second opinion", "not built; `make second` builds it");
    }
    for parser in PARSERS {
        let known: BTreeSet<&str> = adjudicated
            .difference
            .iter()
            .filter(|known| known.parser == parser)
            .map(|known| known.text.as_str())
            .collect();
        hear(options, report, parser, &texts, &known);
    }
}

/// What one parser says about all texts.
fn hear(
    options: &Options,
    report: &mut Report,
    parser: &str,
    texts: &[(String, Vec<u8>)],
    known: &BTreeSet<&str>,
) {
    let name = format!("second opinion: {parser}");
    let opinions = halves(texts, |part| {
        part.iter()
            .map(|(place, text)| compare(parser, place, text))
            .collect::<io::Result<Vec<Opinion>>>()
    });
    let opinions: Vec<Opinion> = match opinions.into_iter().collect::<io::Result<Vec<_>>>() {
        Ok(opinions) => opinions.into_iter().flatten().collect(),
        Err(error) => return report.check(&name, false, &error.to_string()),
    };
    let (mut same, mut none, mut old, mut new, mut scripts) = (0, 0, 0, 0, 0);
    for opinion in &opinions {
        match opinion {
            Opinion::Same => same += 1,
            Opinion::None => none += 1,
            Opinion::Different { id, .. } if known.contains(id.as_str()) => old += 1,
            Opinion::Different {
                id,
                place,
                ours,
                theirs,
            } => {
                // Another system has other scripts, about which nobody has been asked yet.
                let count = if place.starts_with('/') {
                    &mut scripts
                } else {
                    &mut new
                };
                *count += 1;
                println!("     new: {id} {place}");
                for (who, argvs) in [("we", ours), (parser, theirs)] {
                    for argv in argvs.iter().take(options.show) {
                        println!("          {who} alone: {argv:?}");
                    }
                }
            }
        }
    }
    let said = format!(
        "{same} texts alike, {old} differ as adjudicated, {none} not read by both, {new} new in lines, {scripts} new in scripts of this system"
    );
    report.check(
        &name,
        new == 0 && scripts * SCRIPTS <= texts.len() && same > 0,
        &said,
    );
}

fn compare(parser: &str, place: &str, text: &[u8]) -> io::Result<Opinion> {
    let Ok(script) = parse(text, Dialect::Bash) else {
        return Ok(Opinion::None);
    };
    let Some(heard) = ask(parser, text)? else {
        return Ok(Opinion::None);
    };
    let all = argvs(script.subcommands.iter());
    let told = script
        .subcommands
        .iter()
        .filter(|sub| can_be_told(sub, text));
    let ours: BTreeSet<Argv> = argvs(told)
        .into_iter()
        .filter(|argv| !heard.iter().any(|theirs| fits(theirs, argv)))
        .collect();
    let mut theirs: BTreeSet<Argv> = heard
        .into_iter()
        .filter_map(|argv| argv.into_iter().collect::<Option<Argv>>())
        .filter(|argv| !argv.is_empty() && !all.contains(argv))
        .collect();
    // What we call dynamic out of caution is no difference, as long as we see the command.
    theirs.retain(|argv| !script.subcommands.iter().any(|sub| is_cautious(sub, argv)));
    if ours.is_empty() && theirs.is_empty() {
        return Ok(Opinion::Same);
    }
    let digest = sha2::Sha256::digest(text);
    Ok(Opinion::Different {
        id: digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        place: place.to_owned(),
        ours: ours.into_iter().collect(),
        theirs: theirs.into_iter().collect(),
    })
}

fn fits(theirs: &[Option<String>], ours: &[String]) -> bool {
    match theirs.split_first() {
        None => ours.is_empty(),
        Some((None, rest)) => (0..=ours.len()).any(|at| fits(rest, &ours[at..])),
        Some((Some(word), rest)) => ours
            .split_first()
            .is_some_and(|(first, ours)| first == word && fits(rest, ours)),
    }
}

fn is_cautious(sub: &SubCommand, argv: &[String]) -> bool {
    let argv: Vec<Vec<u8>> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
    sub.static_argv().is_none() && super::trace::covers(sub, &argv).is_some()
}

fn argvs<'a>(subs: impl Iterator<Item = &'a SubCommand>) -> BTreeSet<Argv> {
    subs.filter_map(SubCommand::static_argv)
        .filter(|argv| !argv.is_empty())
        .map(|argv| {
            argv.iter()
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect()
        })
        .collect()
}

/// Whether the others can tell this argv: they keep operands of `${…}` and text that is read a second time as
/// they are, and what braces and `$'…'` make is asked of bash.
fn can_be_told(sub: &SubCommand, text: &[u8]) -> bool {
    let has = |text: &[u8], what: &[u8]| text.windows(what.len()).any(|window| window == what);
    let own = text.get(sub.span.start..sub.span.end).unwrap_or_default();
    let before = text.get(..sub.span.start).unwrap_or_default();
    let operand = before.windows(2).rposition(|window| window == b"${");
    let in_operand = operand.is_some_and(|open| !before[open..].contains(&b'}'));
    let raw = sub.carrier.is_some() || (sub.context.substitution && in_operand);
    let made = has(own, b"{") || has(own, b"$'");
    !raw && !made
}

/// The argvs the other parser finds; none where it rejects the text or dies of it.
fn ask(parser: &str, text: &[u8]) -> io::Result<Option<Vec<Theirs>>> {
    let mut child = Command::new(PROGRAM)
        .arg(parser)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut to) = child.stdin.take() {
        // It may have died already.
        to.write_all(text).ok();
    }
    let done = child.wait_with_output()?;
    Ok(done
        .status
        .success()
        .then(|| serde_json::from_slice(&done.stdout).ok())
        .flatten())
}
