//! Generated lines: what was predicted of them and what bash started.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::data::{self, Program};
use super::generate::{self, Maker, REAL};
use super::play::{self, How, Job, Played};
use super::support::fence::{Fence, Rights, Stage};
use super::support::halves;
use super::{Options, Report};

/// The seed of the half that is the same every time.
const FIXED: u64 = 4;
/// What the ratios may be, in percent: starts in lines said to be undecided that nothing predicted; starts
/// predicted by their shape alone; lines that were undecided.
const EXCUSED: f64 = 1.0;
const SHAPE: f64 = 15.0;
const UNDECIDED: f64 = 45.0;
/// Lines that were allowed, at least: everything they start has to be predicted, without excuse.
const ALLOWED: f64 = 40.0;
/// How often each carrier has to start something in 5,000 lines.
const CARRIED: usize = 20;

/// Stubs: copies of true(1), each different so that none is another's copy; the real ones by link.
fn setup(programs: &[Program]) -> String {
    let stubs: Vec<String> = generate::stubs(programs)
        .iter()
        .map(|name| shell_words::quote(name).into_owned())
        .collect();
    format!(
        "mkdir /mnt/w /mnt/h /mnt/stubs; chmod 777 /mnt/w /mnt/h
true=$(command -v /usr/bin/true || command -v /bin/true)
for name in {}; do cp \"$true\" /mnt/stubs/\"$name\"; printf %s \"$name\" >> /mnt/stubs/\"$name\"; done
for name in {}; do
    for place in /usr/bin /bin /usr/sbin /sbin; do
        if [ -x $place/$name ]; then ln -s $place/$name /mnt/stubs/$name; break; fi
    done
done",
        stubs.join(" "),
        REAL.join(" ")
    )
}

fn stage(programs: &[Program]) -> io::Result<Stage> {
    Stage::new(&Fence {
        mode: play::MODE,
        setup: &setup(programs),
        programs: &[],
        rights: Rights::None,
    })
}

fn ask(stage: &mut Stage, line: &str, predicted: Option<&str>) -> io::Result<Played> {
    let job = Job {
        line: line.to_owned(),
        predicted: predicted.map(str::to_owned),
    };
    Ok(serde_json::from_slice(
        &stage.ask(&serde_json::to_vec(&job)?)?,
    )?)
}

pub fn run(options: &Options, report: &mut Report) {
    let programs = match data::programs() {
        Ok(programs) => programs,
        Err(error) => return report.check("the knowledge can be read", false, &error),
    };
    let stage = match stage(&programs) {
        Ok(stage) => stage,
        Err(error) => {
            return report.absent("lines", &format!("no namespace to run lines in: {error}"));
        }
    };
    match unseen(stage) {
        Ok(unseen) => report.check(
            "lines: a start that was overlooked is noticed",
            unseen.is_empty(),
            &format!("{} controls, not noticed: {unseen:?}", OVERLOOKED.len()),
        ),
        Err(error) => report.check("lines: the controls", false, &error.to_string()),
    }
    for (name, seed, count) in [
        ("fixed", FIXED, options.lines / 2),
        ("fresh", options.seed, options.lines.div_ceil(2)),
    ] {
        let lines = lines(&programs, seed, count);
        let sums = halves(&lines, |part| play(&programs, part));
        let mut sum = Sum::default();
        for part in sums {
            match part {
                Ok(part) => sum.add(part),
                Err(error) => report.check("lines: a stage", false, &error.to_string()),
            }
        }
        sum.judge(&format!("{name} seed {seed}"), options, report);
    }
}

/// Lines, and what somebody would have seen that overlooks a start, an argument or a folder in them.
const OVERLOOKED: [(&str, &str); 14] = [
    ("env ls x", "env"),
    ("timeout 5 rm x", "timeout 5 ls x"),
    ("echo a | xargs rm", "echo a"),
    ("find . -name a.txt -exec rm {} \\;", "find . -name a.txt"),
    ("sh -c 'rm a'", "sh -c 'rm b'"),
    ("nice -n 5 rm a", "nice rm a"),
    ("nohup rm a", "nohup"),
    ("stdbuf -oL rm a", "stdbuf -oL"),
    ("setsid -w rm a", "setsid -w true"),
    ("ls \"$(rm a)\"", "ls x"),
    ("rm a b", "rm a"),
    ("cd src && ls x", "ls x"),
    ("/mnt/stubs/ls x", "cat x"),
    ("eval 'rm a'", "eval 'rm b'"),
];

fn unseen(mut stage: Stage) -> io::Result<Vec<String>> {
    let mut unseen = Vec::new();
    for (line, overlooked) in OVERLOOKED {
        let played = ask(&mut stage, line, Some(overlooked))?;
        if !played.starts.iter().any(|start| start.how == How::Missed) {
            unseen.push(format!("{line}: {played:?}"));
        }
        let played = ask(&mut stage, line, None)?;
        let fine = played
            .starts
            .iter()
            .all(|start| matches!(start.how, How::Exactly | How::Shape));
        if !fine || played.starts.is_empty() {
            unseen.push(format!("{line} was not predicted itself: {played:?}"));
        }
    }
    Ok(unseen)
}

/// Distinct lines.
fn lines(programs: &[Program], seed: u64, count: usize) -> Vec<String> {
    let here = |name: &&str| data::find(name, "/usr/bin:/bin:/usr/sbin:/sbin").is_some();
    let carriers: Vec<&'static str> = REAL.into_iter().filter(|name| here(name)).collect();
    let mut maker = Maker::new(seed, programs, &carriers);
    let (mut made, mut order) = (BTreeSet::new(), Vec::new());
    while order.len() < count {
        let line = maker.line();
        if line.len() < 4096 && made.insert(line.clone()) {
            order.push(line);
        }
    }
    order
}

fn play(programs: &[Program], lines: &[String]) -> io::Result<Sum> {
    let (mut stage, mut sum) = (stage(programs)?, Sum::default());
    for line in lines {
        let played = ask(&mut stage, line, None)?;
        sum.count(line, &played);
    }
    Ok(sum)
}

/// What happened to some lines.
#[derive(Default)]
struct Sum {
    lines: usize,
    allowed: usize,
    undecided: usize,
    cut: usize,
    exactly: usize,
    shape: usize,
    handed: usize,
    excused: usize,
    missed: usize,
    /// How often each program started another.
    carried: BTreeMap<String, usize>,
    reasons: BTreeMap<String, usize>,
    wrong: Vec<(String, String)>,
}

impl Sum {
    fn count(&mut self, line: &str, played: &Played) {
        self.lines += 1;
        self.cut += usize::from(played.cut);
        self.allowed += usize::from(played.allowed);
        if let Some(why) = &played.failed {
            self.missed += 1;
            self.wrong.push((line.to_owned(), why.clone()));
        }
        if let Some(reason) = &played.undecided {
            self.undecided += 1;
            *self.reasons.entry(reason.clone()).or_default() += 1;
        }
        for start in &played.starts {
            match start.how {
                How::Exactly => self.exactly += 1,
                How::Shape => self.shape += 1,
                How::Handed => self.handed += 1,
                How::Excused => self.excused += 1,
                How::Missed => {
                    self.missed += 1;
                    self.wrong.push((
                        line.to_owned(),
                        format!("{:?} in {} by {}", start.argv, start.folder, start.by),
                    ));
                }
            }
            *self.carried.entry(start.by.clone()).or_default() += 1;
        }
    }

    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.allowed += other.allowed;
        self.undecided += other.undecided;
        self.cut += other.cut;
        self.exactly += other.exactly;
        self.shape += other.shape;
        self.handed += other.handed;
        self.excused += other.excused;
        self.missed += other.missed;
        for (to, from) in [
            (&mut self.carried, other.carried),
            (&mut self.reasons, other.reasons),
        ] {
            for (name, number) in from {
                *to.entry(name).or_default() += number;
            }
        }
        self.wrong.extend(other.wrong);
    }

    fn judge(&self, name: &str, options: &Options, report: &mut Report) {
        let starts = self.exactly + self.shape + self.handed + self.excused + self.missed;
        println!(
            "     lines, {name}: {} run ({} cut at the time limit), {} allowed, {} undecided; {starts} starts: {} exactly as predicted, {} by shape, {} shells that carriers hand their text, {} excused, {} missed",
            self.lines,
            self.cut,
            self.allowed,
            self.undecided,
            self.exactly,
            self.shape,
            self.handed,
            self.excused,
            self.missed
        );
        let carried: Vec<String> = self
            .carried
            .iter()
            .map(|(name, number)| format!("{name} {number}"))
            .collect();
        println!("     started by: {}", carried.join(", "));
        for (reason, number) in &self.reasons {
            println!("     {number:5} {reason}");
        }
        for (line, what) in self.wrong.iter().take(options.show) {
            println!("     missed: {what}\n             in {line:?}");
        }
        let percent = |part: usize, whole: usize| part as f64 * 100.0 / whole.max(1) as f64;
        report.check(
            &format!("lines, {name}: starts nobody predicted"),
            self.missed == 0 && starts >= self.lines,
            &format!("{} of {starts} in {} lines", self.missed, self.lines),
        );
        for (what, part, whole, most) in [
            (
                "starts not predicted in lines said to be undecided",
                self.excused,
                starts,
                EXCUSED,
            ),
            (
                "starts predicted by their shape alone",
                self.shape,
                starts,
                SHAPE,
            ),
            ("undecided lines", self.undecided, self.lines, UNDECIDED),
        ] {
            let is = percent(part, whole);
            report.check(
                &format!("lines, {name}: {what}"),
                is <= most,
                &format!("{is:.2} %, at most {most} % wanted"),
            );
        }
        let allowed = percent(self.allowed, self.lines);
        report.check(
            &format!("lines, {name}: allowed lines"),
            allowed >= ALLOWED,
            &format!("{allowed:.2} %, at least {ALLOWED} % wanted"),
        );
        let wanted = CARRIED * self.lines / 5000;
        let here = |name: &&&str| {
            data::find(name, "/usr/bin:/bin:/usr/sbin:/sbin").is_some()
                && !matches!(**name, "sh" | "ash" | "busybox")
        };
        let idle: Vec<&&str> = REAL
            .iter()
            .filter(here)
            .filter(|name| self.carried.get(**name).copied().unwrap_or(0) < wanted)
            .collect();
        report.check(
            &format!("lines, {name}: every carrier that is here started something"),
            idle.is_empty(),
            &format!("at least {wanted} times each, fewer: {idle:?}"),
        );
    }
}
