//! Soundness: random lines really run, and every command bash starts must have been predicted.
//!
//! A prediction is what the policy sees: the parsed line with its carriers unfolded and its constants
//! filled in. The parse alone is held to the same, so that filling in can neither hide nor mend.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::iter::repeat;

use tipstaff::model::access::Facts;
use tipstaff::model::path::AbsolutePath;
use tipstaff::model::profile::Network;
use tipstaff::model::script::{Dialect, Script, SubCommand, SyntaxError};
use tipstaff::policy::survey;
use tipstaff::shell::parse;

use super::drive::{CWD, HOME, Stage, Traced};
use super::support::halves;
use super::support::rng::Rng;
use super::trace::{self, Started};
use super::{Options, Report, bait, corpus, generate, given, mutate, show};

/// What the ratios may be, in percent.
const OPAQUE: f64 = 2.0;
const DYNAMIC: f64 = 5.0;
/// Distinct accepted lines in a thousand that are run.
const ACCEPTED: usize = 800;

/// What happened to some lines.
#[derive(Default)]
struct Count {
    run: usize,
    accepted: usize,
    opaque: usize,
    /// Opaque lines in which text from elsewhere really was run.
    sprung: usize,
    single: usize,
    cut: usize,
    /// Shown once and never again.
    mixed: usize,
    started: usize,
    dynamic: usize,
    dynamic_by_parse: usize,
    /// Started commands known to the word, one of which is written as a variable.
    filled: usize,
    /// Why lines were opaque or rejected, and how often.
    reasons: BTreeMap<String, usize>,
    /// Lines with a command nobody predicted.
    missed: Vec<(Vec<u8>, String)>,
    failed: Option<String>,
}

impl Count {
    fn merge(mut self, other: Self) -> Self {
        self.run += other.run;
        self.accepted += other.accepted;
        self.opaque += other.opaque;
        self.sprung += other.sprung;
        self.single += other.single;
        self.cut += other.cut;
        self.mixed += other.mixed;
        self.started += other.started;
        self.dynamic += other.dynamic;
        self.dynamic_by_parse += other.dynamic_by_parse;
        self.filled += other.filled;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.missed.extend(other.missed);
        self.failed = self.failed.or(other.failed);
        self
    }
}

pub fn run(options: &Options, report: &mut Report) {
    if let Err(error) = Stage::new() {
        let why = format!("no namespace to run lines in: {error}");
        if nix::unistd::geteuid().is_root() {
            report.check("soundness", false, &why);
        } else {
            report.skip("soundness", &why);
        }
        return;
    }
    match unseen() {
        Ok(unseen) => report.check(
            "soundness: a command nobody predicted is noticed",
            unseen.is_empty(),
            &format!("not noticed: {unseen:?}"),
        ),
        Err(error) => report.check("soundness: the driver", false, &error.to_string()),
    }
    judge(options, report, &ask(&lines(options.seed, options.lines)));
    judge_bait(
        options,
        report,
        &ask(&distinct(options.seed, options.lines / 2, bait::line)),
    );
    judge_given(
        options,
        report,
        &ask(&distinct(options.seed, options.lines / 2, given::line)),
    );
}

fn ask(lines: &[Vec<u8>]) -> Count {
    halves(lines, |part| {
        let mut count = Count::default();
        if let Err(error) = play(part, &mut count) {
            count.failed = Some(error.to_string());
        }
        count
    })
    .into_iter()
    .fold(Count::default(), Count::merge)
}

/// Distinct lines that one of the smaller grammars makes.
fn distinct(seed: u64, count: usize, make: fn(&mut Rng) -> String) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let mut made = BTreeSet::new();
    while made.len() < count {
        made.insert(make(&mut rng).into_bytes());
    }
    made.into_iter().collect()
}

/// Lines, and what a parser would have seen that overlooks a command in them.
const OVERLOOKED: [(&str, &str); 8] = [
    ("ls x", "ls y"),
    ("ls | id", "ls"),
    ("cd src", ":"),
    ("/bin/x y", ":"),
    ("x=1 y", "x=1"),
    ("echo $(id)", "echo $x"),
    ("eval 'id 1'", "eval $x"),
    ("a; exec /bin/x", "a"),
];

/// Those of them that would have passed: the control of this suite.
fn unseen() -> io::Result<Vec<&'static str>> {
    let (mut stage, mut unseen) = (Stage::new()?, Vec::new());
    for (line, overlooked) in OVERLOOKED {
        // Only the commands are compared, not whether the line is a single one.
        let script = Script {
            single: false,
            ..parse(overlooked.as_bytes(), Dialect::Bash).map_err(io::Error::other)?
        };
        let predicted = Predicted {
            parsed: &script,
            surveyed: &script,
        };
        let traced = stage.run(line.as_bytes())?;
        let mut count = Count::default();
        compare(line.as_bytes(), &predicted, &mut stage, &traced, &mut count)?;
        if count.missed.is_empty() {
            unseen.push(line);
        }
    }
    Ok(unseen)
}

/// Distinct lines: most by the grammar, one in sixteen a mutant of the corpus, a few mutants of the others.
fn lines(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let corpus = corpus::lines();
    let mut made = BTreeSet::new();
    let mut order = Vec::new();
    while order.len() < count {
        let line = if rng.once_in(16) {
            let text = corpus[rng.below(corpus.len())].clone();
            let other = corpus[rng.below(corpus.len())].clone();
            mutate::mutate(&mut rng, &text, &other)
        } else if rng.once_in(20) {
            let (text, other) = (generate::line(&mut rng), generate::line(&mut rng));
            mutate::mutate(&mut rng, text.as_bytes(), other.as_bytes())
        } else {
            generate::line(&mut rng).into_bytes()
        };
        if line.len() < 8192 && made.insert(line.clone()) {
            order.push(line);
        }
    }
    order
}

fn facts() -> Option<Facts> {
    Some(Facts {
        network: Network::Off,
        workspace: AbsolutePath::new(CWD).ok()?,
        cwd: AbsolutePath::new(CWD).ok()?,
        home: AbsolutePath::new(HOME).ok(),
        own: Vec::new(),
        today: 0,
    })
}

fn play(lines: &[Vec<u8>], count: &mut Count) -> io::Result<()> {
    let facts = facts().ok_or(io::ErrorKind::InvalidInput)?;
    let mut stage = Stage::new()?;
    for line in lines {
        let traced = stage.run(line)?;
        count.run += 1;
        count.cut += usize::from(traced.cut);
        let script = match parse(line, Dialect::Bash) {
            Ok(script) => script,
            Err(error) => {
                let reason = match error {
                    SyntaxError::Syntax { reason, .. } | SyntaxError::Limit(reason) => reason,
                };
                *count
                    .reasons
                    .entry(format!("rejected: {reason}"))
                    .or_default() += 1;
                continue;
            }
        };
        count.accepted += 1;
        let surveyed = survey(script.clone(), &facts, parse).script;
        if let Some(opaque) = script.opaque.first() {
            count.opaque += 1;
            count.sprung += usize::from(is_sprung(&traced));
            *count
                .reasons
                .entry(format!("opaque: {}", opaque.reason))
                .or_default() += 1;
            continue;
        }
        let predicted = Predicted {
            parsed: &script,
            surveyed: &surveyed,
        };
        compare(line, &predicted, &mut stage, &traced, count)?;
    }
    Ok(())
}

fn is_sprung(traced: &Traced) -> bool {
    trace::handled(&traced.handled)
        .iter()
        .any(|started| started.argv.first().is_some_and(|name| name == b"pwned"))
}

fn compare(
    line: &[u8],
    scripts: &Predicted<'_>,
    stage: &mut Stage,
    traced: &Traced,
    count: &mut Count,
) -> io::Result<()> {
    let handled = trace::handled(&traced.handled);
    let mut shown = trace::traced(&traced.trace);
    if scripts.parsed.single {
        count.single += 1;
        // Such a line is started without a shell: nothing else may have happened.
        let ends_alike =
            |one: &Started| handled.iter().all(|other| one.argv.ends_with(&other.argv));
        // A command of the form `1x=2` is shown as an assignment is.
        let seen = if shown.is_empty() { &handled } else { &shown };
        if seen.len() > 1 || !shown.iter().all(ends_alike) {
            count
                .missed
                .push((line.to_vec(), format!("said to be single, ran {shown:?}")));
        }
    }
    // What both saw counts once.
    for Started { argv } in &handled {
        if let Some(at) = shown.iter().position(|shown| shown.argv == *argv) {
            shown.swap_remove(at);
        }
    }
    // A loop that runs until it is cut may not decide the ratios.
    let handled: BTreeSet<Started> = handled.into_iter().collect();
    let shown: BTreeSet<Started> = shown.into_iter().collect();
    for (started, exact) in handled
        .iter()
        .zip(repeat(true))
        .chain(shown.iter().zip(repeat(false)))
    {
        let mut missed = scripts.missed(&started.argv);
        if !missed.is_empty() && !exact && !again(stage, line, started)? {
            count.mixed += 1;
            missed.clear();
        }
        for who in missed {
            let argv: Vec<String> = started.argv.iter().map(|word| show(word)).collect();
            count
                .missed
                .push((line.to_vec(), format!("{who} did not predict {argv:?}")));
        }
        count.started += 1;
        count.dynamic_by_parse += usize::from(shape(scripts.parsed, &started.argv).is_some());
        count.filled += usize::from(filled(scripts.parsed, &started.argv, line));
        if let Some(reason) = shape(scripts.surveyed, &started.argv) {
            count.dynamic += 1;
            *count
                .reasons
                .entry(format!("started by its shape: {reason}"))
                .or_default() += 1;
        }
    }
    Ok(())
}

/// Whether the line shows this command when it runs again. `set -x` writes a word with a newline in two
/// parts, and what two processes show at once can mix; a mixture does not come twice.
fn again(stage: &mut Stage, line: &[u8], started: &Started) -> io::Result<bool> {
    for _ in 0..3 {
        if !trace::traced(&stage.run(line)?.trace).contains(started) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The two predictions for one line.
struct Predicted<'a> {
    parsed: &'a Script,
    surveyed: &'a Script,
}

impl Predicted<'_> {
    /// Who did not predict `argv`.
    fn missed(&self, argv: &[Vec<u8>]) -> Vec<&'static str> {
        [("the parser", self.parsed), ("the survey", self.surveyed)]
            .into_iter()
            .filter(|(_, script)| {
                !script
                    .subcommands
                    .iter()
                    .any(|sub| trace::covers(sub, argv).is_some())
            })
            .map(|(who, _)| who)
            .collect()
    }
}

/// Whether a started command was known to the word, although a word of it is written as a variable.
fn filled(script: &Script, argv: &[Vec<u8>], line: &[u8]) -> bool {
    script.subcommands.iter().any(|sub| {
        let variable = sub.argv.iter().any(|word| {
            let written = line.get(word.span.start..word.span.end);
            let value = word.as_static().unwrap_or(b"$");
            written.is_some_and(|written| written.contains(&b'$')) && !value.contains(&b'$')
        });
        variable && trace::covers(sub, argv) == Some(true)
    })
}

/// Why a started command was known by its shape alone.
fn shape(script: &Script, argv: &[Vec<u8>]) -> Option<&'static str> {
    let covers = |sub: &&SubCommand| trace::covers(sub, argv);
    let subs = || script.subcommands.iter();
    if subs().any(|sub| covers(&sub) == Some(true)) {
        return None;
    }
    let sub = subs().find(|sub| covers(sub).is_some())?;
    let dynamic = sub.argv.iter().find_map(|word| word.dynamic())?;
    Some(dynamic.reason())
}

fn judge_bait(options: &Options, report: &mut Report, count: &Count) {
    if let Some(error) = &count.failed {
        report.check("soundness of values: the driver", false, error);
    }
    println!(
        "     values, seed {}: {} lines run, {} accepted, {} of them opaque, in {} of which text from elsewhere was run",
        options.seed, count.run, count.accepted, count.opaque, count.sprung
    );
    for (line, what) in count.missed.iter().take(options.show.max(10)) {
        println!(
            "     missed: {what}\n             in {}",
            line.escape_ascii()
        );
    }
    let said = format!("{} of {} started", count.missed.len(), count.started);
    report.check(
        "soundness of values: commands nobody predicted",
        count.missed.is_empty(),
        &said,
    );
    let said = format!("{} opaque lines ran it", count.sprung);
    report.check(
        "soundness of values: the bait is real",
        count.sprung > 0,
        &said,
    );
}

/// Commands in a hundred lines with given values that have to be known, for the hunt to be one.
const FILLED: usize = 25;

fn judge_given(options: &Options, report: &mut Report, count: &Count) {
    if let Some(error) = &count.failed {
        report.check("soundness of variables: the driver", false, error);
    }
    println!(
        "     variables, seed {}: {} lines run, {} accepted, {} of them opaque; {} commands started, {} of them with a value put in",
        options.seed, count.run, count.accepted, count.opaque, count.started, count.filled
    );
    for (line, what) in count.missed.iter().take(options.show.max(10)) {
        println!(
            "     missed: {what}\n             in {}",
            line.escape_ascii()
        );
    }
    let said = format!("{} of {} started", count.missed.len(), count.started);
    report.check(
        "soundness of variables: commands nobody predicted",
        count.missed.is_empty(),
        &said,
    );
    let wanted = count.run * FILLED / 100;
    let said = format!("{}, at least {wanted} wanted", count.filled);
    report.check(
        "soundness of variables: values were put in",
        count.filled >= wanted,
        &said,
    );
}

fn judge(options: &Options, report: &mut Report, count: &Count) {
    if let Some(error) = &count.failed {
        report.check("soundness: the driver", false, error);
    }
    println!(
        "     soundness, seed {}: {} lines run ({} cut at the time limit), {} accepted ({} single), {} opaque; {} commands started, {} shown mixed",
        options.seed,
        count.run,
        count.cut,
        count.accepted,
        count.single,
        count.opaque,
        count.started,
        count.mixed
    );
    for (reason, number) in &count.reasons {
        println!("     {number:5} {reason}");
    }
    for (line, what) in count.missed.iter().take(options.show.max(10)) {
        println!(
            "     missed: {what}\n             in {}",
            line.escape_ascii()
        );
    }
    let percent = |part: usize, whole: usize| part as f64 * 100.0 / whole.max(1) as f64;
    let said = format!("{} of {} started", count.missed.len(), count.started);
    report.check(
        "soundness: commands nobody predicted",
        count.missed.is_empty(),
        &said,
    );
    let wanted = options.lines * ACCEPTED / 1000;
    let said = format!("{}, at least {wanted} wanted", count.accepted);
    report.check(
        "soundness: distinct lines accepted",
        count.accepted >= wanted,
        &said,
    );
    let opaque = percent(count.opaque, count.accepted);
    let said = format!("{opaque:.2} %, at most {OPAQUE} % wanted");
    report.check("soundness: opaque lines", opaque <= OPAQUE, &said);
    let (dynamic, parsed) = (
        percent(count.dynamic, count.started),
        percent(count.dynamic_by_parse, count.started),
    );
    let said =
        format!("{dynamic:.2} % ({parsed:.2} % by the parse alone), at most {DYNAMIC} % wanted");
    report.check(
        "soundness: started commands known only by their shape",
        dynamic <= DYNAMIC,
        &said,
    );
}
