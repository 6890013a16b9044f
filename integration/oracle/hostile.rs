//! Hostile inputs: nesting, length, chains and random bytes. Whatever the parser says of them, it says
//! so on a small stack, within its fuel, and without a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use tipstaff::model::script::Dialect;
use tipstaff::shell::parse;

use super::support::rng::Rng;
use super::{Options, Report, show};

/// What a thread of a program gets unless it asks for more, and so what a library may count on.
const STACK: usize = 2 << 20;
/// A hang, in time of this processor alone: the longest of these texts takes a second or two.
const HANG: Duration = Duration::from_secs(60);

const LEVELS: usize = 10_000;
const LINKS: usize = 100_000;
const WORD: usize = 1 << 20;

/// A seed whose bytes everybody has seen.
const FIXED: u64 = 4;

/// Everything that opens, what stands inside, and what closes it.
#[rustfmt::skip]
const BRACKETS: &[(&str, &str, &str)] = &[
    ("(", "a", ")"), ("{ ", "a;", " }"), ("$(", "a", ")"), ("\"$(", "a", ")\""), ("<(", "a", ")"), ("((", "1", "))"), ("$((", "1", "))"),
    ("$[", "1", "]"), ("${x:-", "a", "}"), ("\"${x:-", "a", "}\""), ("${x[", "1", "]}"), ("a[", "1", "]"), ("[[ ", "a", " ]]"), ("[[ ( ", "a", " ) ]]"),
    ("{a,", "b", "}"), ("@(", "a", ")"), ("x=(", "a", ")"), ("if ", "a", "; then b; fi"), ("if a; then ", "b", "; fi"), ("while ", "a", "; do b; done"),
    ("for i in a; do ", "b", "; done"), ("for ((;;)); do ", "b", "; done"), ("case x in a) ", "b", ";; esac"), ("select i in a; do ", "b", "; done"),
    ("f() { ", "a;", " }"), ("function f { ", "a;", " }"), ("! ", "a", ""), ("time ", "a", ""), ("coproc ", "a", ""), ("eval ", "a", ""), ("eval '", "a", "'"),
    ("`", "a", "`"), ("\\`", "a", "\\`"), ("\"", "a", "\""), ("'", "a", "'"), ("\\", "a", ""), ("<<E\n", "a", "\nE\n"), ("<<E ", "\na", "\nE\n"),
    ("$(<<E\n$(", "a", ")\nE\n)"), ("((a);", "b", ")"), ("$((a);", "b", ")"), ("$'", "a", "'"), ("$\"", "a", "\""), ("${ ", "a;", " }"), ("${!x", "", "}"),
    ("if a; then b; el", "", "if c; then d; fi"), ("trap '", "a", "' EXIT"), ("|", "a", "|"), ("(a)", "", ")"), ("declare x=(", "a", ")"),
];

/// What a chain is made of.
#[rustfmt::skip]
const CHAINS: &[&str] = &[
    "a;", "a\n", "a&", "a&&", "a||", "a|", "a|&", "! ", "! ! ", "a ", "a=1 ", ">a ", "2>&1 ", "<<E ", "<<E\nE\n", "{a,b}", "$x", "$(a)", "`a`", "'a'",
    "\"a\"", "\\a", "\\\n", "x[1]", "cd a;", "cd a/b/c/d/e/f/g;", "cd ..;", "if a; then b; fi;", "for i in a; do b; done;", "case x in a) b;; esac;",
    "elif a; then b;", "a) b;; ", "f() { a; };", "((1));", "[[ a ]];", "[[ a && ", "[[ ! ", "$((1))", "1+", "#a\n", " #", "eval a;", "eval \"", "trap a 0;",
    "x=(a);", "${x}", "${x:-", "~", "~:", "*", "[", "[a]", "{", "}", "{1..9}", "{a..z}", "{1..4096}", "{,}", "a=~:", "\t", "\r", "\u{e9}", "=", "read a;", "f;",
];

/// Bytes of a random text, half of them from here.
const LOADED: &[u8] = b"()[]{}<>|&;$`'\"\\\n\t #!*?~=+-:,.@%/^aE01xif";

pub fn run(options: &Options, report: &mut Report) {
    let mut nested = Vec::new();
    for &(open, inside, close) in BRACKETS {
        for levels in [50, 99, 101, LEVELS] {
            let (open, close) = (open.repeat(levels), close.repeat(levels));
            nested.push(format!("{open}{inside}{close}"));
            nested.push(format!("{open}{inside}"));
            nested.push(format!("{inside}{close}"));
        }
    }
    check(report, "10,000 nesting levels of each kind", nested);
    let words = [
        "a", "$x", "{", "[", "'", "\"", "\\a", "{a,", "*", "=", "~", "$(", "\u{e9}",
    ];
    let around = [
        ("", ""),
        ("a ", ""),
        ("a \"", "\""),
        ("x=", ""),
        ("a <<E\n", "\nE\n"),
        ("((", "))"),
        ("cat <<< ", " | b"),
    ];
    let long = words.iter().flat_map(|word| {
        around.map(|(before, after)| {
            let room = WORD - before.len() - after.len();
            format!("{before}{}{after}", word.repeat(room / word.len()))
        })
    });
    check(report, "1 MB words", long.collect());
    let chains = CHAINS.iter().flat_map(|link| {
        let count = LINKS.min(WORD / link.len());
        [link.repeat(count), format!("{}a", link.repeat(count))]
    });
    check(report, "100,000-link chains", chains.collect());
    for (kind, seed) in [("fixed", FIXED), ("fresh", options.seed)] {
        let mut rng = Rng::new(seed);
        let texts = (0..options.bytes / 2).map(|_| bytes(&mut rng)).collect();
        check(
            report,
            &format!("random bytes of the {kind} seed {seed}"),
            texts,
        );
    }
}

fn bytes(rng: &mut Rng) -> Vec<u8> {
    let length = if rng.once_in(50) {
        rng.below(4096)
    } else {
        rng.below(64)
    };
    (0..length)
        .map(|_| {
            if rng.once_in(4) {
                u8::try_from(rng.below(256)).unwrap_or(0)
            } else {
                LOADED[rng.below(LOADED.len())]
            }
        })
        .collect()
}

/// Parses all of `texts` on small stacks. An overflow ends the process, which no test survives.
fn check<T: AsRef<[u8]> + Sync>(report: &mut Report, name: &str, texts: Vec<T>) {
    let (left, right) = texts.split_at(texts.len() / 2);
    let outcomes = std::thread::scope(|scope| {
        let workers = [left, right].map(|part| {
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || parse_all(part))
        });
        workers.map(|worker| worker.ok().and_then(|worker| worker.join().ok()))
    });
    let [Some(left), Some(right)] = outcomes else {
        report.check(name, false, "a thread did not end well");
        return;
    };
    let (time, slowest) = left.slowest.max(right.slowest);
    let wrong = [left.wrong, right.wrong].concat();
    for text in wrong.iter().take(5) {
        println!("     panic or hang: {text}");
    }
    let said = format!(
        "{} texts in both dialects, {} panics or hangs, slowest {time:.0?} ({slowest}…)",
        texts.len(),
        wrong.len()
    );
    report.check(name, wrong.is_empty(), &said);
}

#[derive(Default)]
struct Parsed {
    wrong: Vec<String>,
    /// The longest time, and how that text starts.
    slowest: (Duration, String),
}

/// What this thread has had of the processor: a busy machine makes no hang.
fn spent() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn parse_all<T: AsRef<[u8]>>(texts: &[T]) -> Parsed {
    let mut parsed = Parsed::default();
    for text in texts {
        let text = text.as_ref();
        for dialect in [Dialect::Bash, Dialect::Posix] {
            let begin = spent();
            let outcome = catch_unwind(AssertUnwindSafe(|| drop(parse(text, dialect))));
            let time = spent().saturating_sub(begin);
            if time > parsed.slowest.0 {
                let start = text.escape_ascii().take(24).map(char::from).collect();
                parsed.slowest = (time, start);
            }
            if outcome.is_err() || time > HANG {
                parsed.wrong.push(format!("{dialect:?}: {}", show(text)));
            }
        }
    }
    parsed
}
