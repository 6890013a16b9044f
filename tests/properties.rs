//! What holds for every policy and every line: an added deny or ask never loosens, order never matters,
//! quotes change nothing, wrapping never loosens, what is printed reads back, and judging always answers.
//!
//! `PROPTEST_CASES=5000 cargo test --test properties` looks harder.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use support::{Machine, source};
use tipstaff::model::judgement::{Judgement, Layer};
use tipstaff::model::profile::{Network, ProfileName};
use tipstaff::model::script::Dialect;
use tipstaff::model::verdict::Verdict;
use tipstaff::policy::{Policy, Trial, load};
use tipstaff::shell;

// Lines.

/// Programs that are no built-ins, so that a carrier starts the very same.
const PROGRAMS: [&str; 16] = [
    "git",
    "make",
    "cat",
    "rm",
    "sort",
    "tar",
    "find",
    "curl",
    "ls",
    "sed",
    "cargo",
    "./tool",
    "/usr/bin/git",
    "npx",
    "xargs",
    "nowhere",
];
/// Arguments by value; some need quotes.
const ARGUMENTS: [&str; 20] = [
    "push",
    "log",
    "-f",
    "--force",
    "--forc",
    "-rf",
    "-C",
    ".",
    "sub/x",
    "../x",
    "/etc/passwd",
    "-o",
    "x",
    "a b",
    "it's",
    "*",
    "$x",
    "-exec",
    "--",
    "",
];
/// Arguments as they stand in a line, known only when the shell runs.
const UNKNOWN: [&str; 6] = ["$x", "\"$y\"", "*.c", "$(date)", "~/.x", "{a,-f}"];

/// One argv by value.
fn argv() -> impl Strategy<Value = Vec<&'static str>> {
    (select(&PROGRAMS[..]), vec(select(&ARGUMENTS[..]), 0..4)).prop_map(|(program, arguments)| {
        let mut argv = vec![program];
        argv.extend(arguments);
        argv
    })
}

fn spelled(argv: &[&str]) -> String {
    shell_words::join(argv)
}

/// One command: an argv, sometimes with a word that is not known, an assignment, a redirection.
fn command() -> impl Strategy<Value = String> {
    (
        argv(),
        prop::option::weighted(0.3, select(&UNKNOWN[..])),
        prop::option::weighted(0.2, select(&["A=1", "LD_PRELOAD=x", "PATH=/x"][..])),
        prop::option::weighted(
            0.3,
            select(
                &[
                    "> out",
                    ">> out/a",
                    "< in",
                    "2>&1",
                    "> /dev/null",
                    "2> ../e",
                ][..],
            ),
        ),
    )
        .prop_map(|(argv, unknown, assignment, redirection)| {
            let mut words: Vec<String> = assignment.into_iter().map(str::to_owned).collect();
            words.push(spelled(&argv));
            words.extend(unknown.into_iter().chain(redirection).map(str::to_owned));
            words.join(" ")
        })
}

/// A line: a few commands, however they hang together.
fn line() -> impl Strategy<Value = String> {
    let built_in = select(
        &[
            "cd sub",
            "true",
            "export A=1",
            "x=1",
            "[ -f x ]",
            "echo a > b",
        ][..],
    );
    let leaf = prop_oneof![4 => command().boxed(), 1 => built_in.prop_map(str::to_owned).boxed()];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (
                inner.clone(),
                select(&["; ", " && ", " | ", " || "][..]),
                inner.clone()
            )
                .prop_map(|(one, sign, other)| format!("{one}{sign}{other}")),
            (inner.clone(), select(&WRAPPINGS[..]))
                .prop_map(|(line, wrapping)| wrapped(wrapping, &line)),
        ]
    })
}

/// Ways to wrap any line, which stands for `@`, or quoted for `'@'`. Each runs it, or may.
const WRAPPINGS: [&str; 23] = [
    "{ @; }",
    "( @ )",
    "( ( @ ) )",
    "if true; then @; fi",
    "if @; then true; fi",
    "while @; do true; done",
    "for i in 1 2; do @; done",
    "case x in *) @ ;; esac",
    "{ ! { @; }; }",
    "{ @; } > /dev/null",
    "{ @; } 2> /dev/null",
    "{ @; } 2>&1",
    "{ ( @ ) & }",
    "{ @; } | cat",
    "true && { @; }",
    "{ @; } || true",
    "x=$( @ )",
    "echo \"$( @ )\"",
    "cat <( @ )",
    "bash -c '@'",
    "sh -ec '@'",
    "env A=1 bash -c '@'",
    "eval '@'",
];

/// Ways to start the one argv of a command by another program.
const CARRIERS: [&str; 14] = [
    "env @",
    "env -u X A=1 @",
    "timeout 5 @",
    "nice -n 5 @",
    "nohup @",
    "setsid @",
    "stdbuf -o L @",
    "ionice -c 2 @",
    "command @",
    "exec @",
    "sudo @",
    "xargs @",
    "timeout 5 env nice @",
    "find . -exec @ ;",
];

fn wrapped(wrapping: &str, line: &str) -> String {
    wrapping
        .replace("'@'", &shell_words::quote(line))
        .replace('@', line)
}

// Policies.

/// One rule: its verdict and how it stands in a file.
#[derive(Clone, Debug)]
struct Rule {
    verdict: Verdict,
    pattern: String,
    /// Further keys of a long rule.
    keys: Vec<&'static str>,
}

impl Rule {
    fn text(&self) -> String {
        let written = serde_json::to_string(&self.pattern).unwrap();
        let kind = self
            .pattern
            .split_once('(')
            .filter(|_| self.pattern.ends_with(')'));
        let target = match kind {
            None => format!("commands = [{written}]"),
            Some((kind, rest)) => {
                let list = match kind {
                    "env" => "names",
                    "network" => "hosts",
                    _ => "paths",
                };
                let inside = serde_json::to_string(rest.strip_suffix(')').unwrap()).unwrap();
                format!("kind = \"{kind}\"\n{list} = [{inside}]")
            }
        };
        let keys = if kind.is_none() {
            self.keys.as_slice()
        } else {
            &[]
        };
        format!(
            "[[rule]]\nverdict = \"{}\"\n{target}\n{}\n",
            self.verdict,
            keys.join("\n")
        )
    }
}

const PATTERNS: [&str; 30] = [
    "*",
    "git",
    "git push",
    "git ** --force",
    "git {log,show}",
    "= ls",
    "= git log",
    "cat ** x",
    "rm",
    "rm -rf",
    "make",
    "tar",
    "./tool",
    "/usr/bin/git",
    "re:git .*",
    "re:.* -f.*",
    "sort",
    "find",
    "cargo",
    "bash -c",
    "bash",
    "env",
    "timeout 5",
    "xargs",
    "npx x",
    "echo",
    "write(**)",
    "write(out/**)",
    "read(in)",
    "env(A)",
];

/// Keys that an allow rule may have, and of them those that any may.
const KEYS: [&str; 7] = [
    "network = true",
    "with = [\"-f\", \"--force\"]",
    "without = [\"-o\"]",
    "args = \"workspace\"",
    "cwd = [\".\"]",
    "sandbox = \"read-only\"",
    "expires = \"2999-12-31\"",
];

fn rule(verdict: impl Strategy<Value = Verdict>) -> impl Strategy<Value = Rule> {
    let keys = prop_oneof![2 => Just(Vec::new()), 1 => subsequence(&KEYS[..], 1..3)];
    (verdict, select(&PATTERNS[..]), keys).prop_map(|(verdict, pattern, mut keys)| {
        keys.retain(|key| match verdict {
            Verdict::Allow => true,
            Verdict::Ask => !key.starts_with("network"),
            Verdict::Deny => !key.starts_with("network") && !key.starts_with("sandbox"),
        });
        Rule {
            verdict,
            pattern: pattern.to_owned(),
            keys,
        }
    })
}

/// Any rules; more of them allow, since a line that nothing allows shows little.
fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let verdict = || prop_oneof![4 => Just(Verdict::Allow), 1 => Just(Verdict::Ask), 1 => Just(Verdict::Deny)];
    vec(rule(verdict()), 0..8)
}

fn policy(rules: &[Rule]) -> Policy {
    let texts: Vec<String> = rules.iter().map(Rule::text).collect();
    let text = format!("version = 1\n{}", texts.concat());
    load(&[source(Layer::User, &text, true)]).unwrap_or_else(|error| panic!("{}", error.render()))
}

// Answers.

fn machine(network: Network) -> Machine {
    let mut machine = Machine::default();
    machine.facts.network = network;
    machine
}

fn networks() -> impl Strategy<Value = Network> {
    prop_oneof![3 => Just(Network::Off), 1 => Just(Network::Full)]
}

/// What an answer comes to, without the places of words and the ids of rules.
fn essence(judgement: &Judgement) -> String {
    let subs: Vec<String> = judgement
        .subcommands
        .iter()
        .map(|sub| format!("{} {}", sub.verdict, sub.reason))
        .collect();
    format!(
        "{} {} {} [{}]",
        judgement.verdict,
        judgement.reason,
        judgement.profile(ProfileName::Workspace),
        subs.join(", ")
    )
}

fn judged(policy: &Policy, network: Network, line: &str) -> Judgement {
    machine(network).judge(policy, line)
}

/// Whether `other` lets no more through than `one`, in no wider sandbox.
fn no_looser(one: &Judgement, other: &Judgement) -> bool {
    let ceiling = ProfileName::Workspace;
    other.verdict >= one.verdict && other.profile(ceiling) <= one.profile(ceiling)
}

/// The same value in other quotes, a byte at a time.
fn requoted(value: &str, styles: &[u8]) -> String {
    let mut text = String::new();
    for (at, char) in value.chars().enumerate() {
        let style = styles.get(at % styles.len().max(1)).copied().unwrap_or(0) % 4;
        text.push_str(&match (style, char) {
            (0, '\'') => "\\'".to_owned(),
            (0, char) => format!("'{char}'"),
            (1, '"' | '\\' | '$' | '`') => format!("\"\\{char}\""),
            (1, char) => format!("\"{char}\""),
            (2, char) => format!("\\{char}"),
            (_, char) => format!("$'\\x{:02x}'", u32::from(char)),
        });
    }
    if text.is_empty() {
        "''".to_owned()
    } else {
        text
    }
}

/// Few cases, since a debug build loads a policy for each; as many as one likes by the variable.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        failure_persistence: None,
        cases: if asked { default.cases } else { 48 },
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_added_ask_or_deny_never_loosens(
        rules in rules(),
        added in rule(prop_oneof![Just(Verdict::Ask), Just(Verdict::Deny)]),
        at in any::<Index>(),
        line in line(),
        network in networks(),
    ) {
        let before = judged(&policy(&rules), network, &line);
        let mut more = rules.clone();
        more.insert(at.index(rules.len() + 1), added);
        let after = judged(&policy(&more), network, &line);
        prop_assert!(no_looser(&before, &after), "{} then {}", essence(&before), essence(&after));
    }

    #[test]
    fn an_added_allow_never_tightens(
        rules in rules(), added in rule(Just(Verdict::Allow)), line in line(), network in networks(),
    ) {
        let before = judged(&policy(&rules), network, &line);
        let more: Vec<Rule> = rules.iter().cloned().chain([added]).collect();
        prop_assert!(judged(&policy(&more), network, &line).verdict <= before.verdict);
    }

    #[test]
    fn neither_order_nor_layer_matters(
        (rules, shuffled) in rules().prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        layers in vec(select(&[Layer::Managed, Layer::User, Layer::Project, Layer::Session, Layer::Flag][..]), 8),
        line in line(),
        network in networks(),
    ) {
        let wanted = essence(&judged(&policy(&rules), network, &line));
        prop_assert_eq!(&essence(&judged(&policy(&shuffled), network, &line)), &wanted);
        let sources: Vec<_> = shuffled
            .iter()
            .zip(layers)
            .map(|(rule, layer)| source(layer, &format!("version = 1\n{}", rule.text()), true))
            .collect();
        let spread = load(&sources).unwrap();
        prop_assert_eq!(&essence(&judged(&spread, network, &line)), &wanted);
    }

    #[test]
    fn another_quoting_of_a_word_never_changes_a_verdict(
        rules in rules(), argv in argv(), styles in vec(any::<u8>(), 1..12), network in networks(),
    ) {
        let policy = policy(&rules);
        let other: Vec<String> = argv.iter().map(|word| requoted(word, &styles)).collect();
        let other = other.join(" ");
        let plain = spelled(&argv);
        prop_assert_eq!(
            essence(&judged(&policy, network, &other)),
            essence(&judged(&policy, network, &plain)),
            "{} and {}", other, plain
        );
    }

    #[test]
    fn wrapping_a_line_never_loosens(
        rules in rules(), line in line(), wrapping in select(&WRAPPINGS[..]), network in networks(),
    ) {
        let policy = policy(&rules);
        let wrapped = wrapped(wrapping, &line);
        let (before, after) = (judged(&policy, network, &line), judged(&policy, network, &wrapped));
        prop_assert!(no_looser(&before, &after), "{wrapped}: {} then {}", essence(&before), essence(&after));
    }

    #[test]
    fn a_carrier_or_dev_null_never_loosens(
        rules in rules(), argv in argv(), unknown in prop::option::of(select(&UNKNOWN[..])),
        wrapping in prop_oneof![
            select(&CARRIERS[..]),
            select(&["@ > /dev/null", "@ 2> /dev/null", "> /dev/null @", "@ < /dev/null", "@ 2>&1", "@ &> /dev/null"][..]),
        ],
        network in networks(),
    ) {
        let policy = policy(&rules);
        let line = [spelled(&argv), unknown.unwrap_or_default().to_owned()].join(" ");
        let wrapped = wrapping.replace('@', &line).replace(" ;", " ';'");
        let (before, after) = (judged(&policy, network, &line), judged(&policy, network, &wrapped));
        prop_assert!(no_looser(&before, &after), "{wrapped}: {} then {}", essence(&before), essence(&after));
    }

    /// A function can be called from any folder, so a relative path in it is known no more: what was denied
    /// for its path asks. Nothing of it is allowed for that.
    #[test]
    fn a_function_allows_nothing_that_was_not(rules in rules(), line in line(), network in networks()) {
        let policy = policy(&rules);
        let before = judged(&policy, network, &line).verdict.min(Verdict::Ask);
        let wrapped = format!("qx() {{ {line}; }}; qx");
        prop_assert!(judged(&policy, network, &wrapped).verdict >= before, "{wrapped}");
    }

    /// An argv, printed as a rule, is a rule for exactly this argv.
    #[test]
    fn a_printed_argv_reads_back_as_a_rule(argv in argv(), other in argv(), styles in vec(0_u8..3, 1..12)) {
        // A rule fixes no empty word; an allow rule looks past `git -C .` and takes `/usr/bin/git` for the
        // file that `git` leads to, on purpose.
        prop_assume!(!argv.contains(&"") && !other.contains(&"-C") && argv != other);
        prop_assume!(argv[0] != "/usr/bin/git" && other[0] != "/usr/bin/git");
        let quoted: Vec<String> = argv.iter().map(|word| requoted(word, &styles)).collect();
        let one = |verdict, text: &str| {
            let pattern = format!("= {text}");
            policy(&[Rule { verdict, pattern, keys: Vec::new() }])
        };
        for text in [spelled(&argv), quoted.join(" ")] {
            let denied = judged(&one(Verdict::Deny, &text), Network::Off, &spelled(&argv));
            prop_assert_eq!(denied.verdict, Verdict::Deny);
            let allowed = judged(&one(Verdict::Allow, &text), Network::Off, &spelled(&other));
            let by = allowed.subcommands.into_iter().filter_map(|sub| sub.rule);
            let by: Vec<_> = by.filter(|rule| rule.layer == Layer::User).collect();
            prop_assert!(by.is_empty(), "{text} covers {other:?}");
        }
    }

    /// What `policy list` prints of a rule is the rule.
    #[test]
    fn a_printed_rule_reads_back(pattern in select(&PATTERNS[..]), blanks in "[ ]{0,2}", line in line()) {
        for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            let written = format!("{blanks}{pattern}");
            let text = |pattern: &str| format!("version = 1\n[permissions]\n{verdict} = [{pattern:?}]\n");
            let first = load(&[source(Layer::User, &text(&written), true)]).unwrap();
            let listed = |policy: &Policy| {
                let all = policy.listing(0);
                all.into_iter().find(|listed| listed.rule.layer == Layer::User).unwrap()
            };
            let printed = listed(&first).rule.text;
            let again = load(&[source(Layer::User, &text(&printed), true)]).unwrap();
            prop_assert_eq!(listed(&again), listed(&first));
            prop_assert_eq!(
                essence(&judged(&again, Network::Off, &line)),
                essence(&judged(&first, Network::Off, &line))
            );
            // Tried alone it is read the same way.
            let alone = Trial::new(verdict, &printed).unwrap();
            prop_assert_eq!(alone.reading(), Trial::new(verdict, &written).unwrap().reading());
        }
    }

    #[test]
    fn loading_is_total(text in "(?s).{0,200}", cut in any::<Index>(), rules in rules()) {
        let whole: String = rules.iter().map(Rule::text).collect();
        let mutant = format!("version = 1\n{whole}");
        let at = cut.index(mutant.len() + 1);
        let mutant = mutant.get(..at).map(|head| format!("{head}{text}")).unwrap_or_default();
        for text in [text, mutant] {
            if let Err(error) = load(&[source(Layer::Project, &text, false)]) {
                prop_assert!(!error.render().is_empty());
            }
        }
    }

    #[test]
    fn judging_is_total_and_gives_one_answer(
        rules in rules(), line in line(), noise in "[ -~\n]{0,60}", cut in any::<Index>(),
    ) {
        let policy = policy(&rules);
        let at = cut.index(line.len() + 1);
        let mutant = format!("{}{noise}{}", &line[..at], &line[at..]);
        for line in [line, noise, mutant] {
            if shell::parse(line.as_bytes(), Dialect::Bash).is_ok() {
                let judgement = judged(&policy, Network::Off, &line);
                prop_assert_eq!(essence(&judgement), essence(&judged(&policy, Network::Off, &line)));
                let worst = judgement.subcommands.iter().map(|sub| sub.verdict).max();
                prop_assert!(judgement.verdict >= worst.unwrap_or(Verdict::Allow));
            }
        }
    }
}

/// The generators make lines that say something: all three verdicts, and none that does not parse.
#[test]
fn the_generated_lines_parse_and_get_every_verdict() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..300 {
        let line = line().new_tree(&mut runner).unwrap().current();
        let rules = rules().new_tree(&mut runner).unwrap().current();
        assert!(
            shell::parse(line.as_bytes(), Dialect::Bash).is_ok(),
            "{line}"
        );
        let verdict = judged(&policy(&rules), Network::Off, &line).verdict;
        *seen.entry(verdict.to_string()).or_insert(0) += 1;
    }
    for verdict in ["allow", "ask", "deny"] {
        assert!(
            seen.get(verdict).is_some_and(|count| *count >= 15),
            "{seen:?}"
        );
    }
}
