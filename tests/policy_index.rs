//! The index of rules gives the answer of a look at every rule: verdict, reason and deciding rule, for
//! policies and lines made of the same few words, so that most of them meet.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "other tests use more of it")]
mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use support::{Machine, at, file};
use tipstaff::model::digest::Digest;
use tipstaff::model::executable::{Executable, Format, Trust};
use tipstaff::model::judgement::Layer;
use tipstaff::policy::{Policy, load};

/// Words of rules and lines alike.
const WORDS: [&str; 22] = [
    "status",
    "push",
    "--force",
    "-f",
    "-C",
    "/ws",
    "--no-pager",
    "run",
    "a",
    "/etc/passwd",
    "etc/passwd",
    "../x",
    "build/*.o",
    "'a*b'",
    "**",
    "*",
    "?",
    "{log,show}",
    "~/x",
    "/**",
    "-c",
    "x.y=z",
];
const PROGRAMS: [&str; 18] = [
    "git",
    "rm",
    "cat",
    "busybox",
    "ls",
    "tool",
    "env",
    "xargs",
    "sudo",
    "*",
    "g*",
    "{git,rm}",
    "/usr/bin/git",
    "/ws/tool",
    "./tool",
    "~/bin/tool",
    "/usr/bin/*",
    "script",
];
const PATHS: [&str; 14] = [
    "/etc/passwd",
    "/etc/**",
    "/**",
    "**",
    "src/**",
    "src/*.rs",
    "*.pem",
    "**/*.pem",
    "~/.ssh/**",
    "~",
    "out",
    "./out/a",
    "/ws/out/**",
    "/home/me/.ssh/id",
];

/// The programs a line may call, with what is special about some.
const CALLED: [&str; 15] = [
    "git",
    "rm",
    "cat",
    "ls",
    "tool",
    "busybox",
    "script",
    "./tool",
    "/usr/bin/git",
    "env git",
    "xargs rm",
    "timeout 5 git",
    "sh -c 'git push' x",
    "copy",
    "env -S 'git push'",
];
const ARGUMENTS: [&str; 20] = [
    "status",
    "push",
    "--force",
    "-f",
    "-C /ws",
    "-C \"$x\"",
    "--no-pager",
    "run",
    "a",
    "/etc/passwd",
    "passwd",
    "../x",
    "build/x.o",
    "'a*b'",
    "$x",
    "\"$@\"",
    "*",
    "log",
    "~/x",
    "-c x.y=z",
];
const REDIRECTIONS: [&str; 8] = [
    "",
    "> out",
    "> out/a",
    "2>> /etc/passwd",
    "< /home/me/.ssh/id",
    "> link",
    "> \"$x\"",
    "> a.pem",
];

fn rule() -> impl Strategy<Value = String> {
    let command = (
        select(&PROGRAMS[..]),
        vec(select(&WORDS[..]), 0..3),
        any::<bool>(),
    )
        .prop_map(|(program, words, exact)| {
            let exact = if exact && !words.contains(&"**") {
                "= "
            } else {
                ""
            };
            format!("{exact}{program} {}", words.join(" "))
        });
    let expression = select(vec![
        "re:git (push|status)( .*)?",
        "re:rm .*",
        "re:.*--force.*",
        "re:(tool|cat) a",
    ])
    .prop_map(str::to_owned);
    let path = (select(vec!["write", "read"]), select(&PATHS[..]))
        .prop_map(|(kind, path)| format!("{kind}({path})"));
    let other = select(vec![
        "env(PATH)",
        "env(P*)",
        "env(X)",
        "network(*)",
        "network(a.example)",
        "network(a.example:80)",
        "sha256:0707070707070707070707070707070707070707070707070707070707070707 push",
        "sha256:0808080808080808080808080808080808080808080808080808080808080808",
    ])
    .prop_map(str::to_owned);
    prop_oneof![6 => command, 1 => expression, 2 => path, 1 => other]
}

fn policy() -> impl Strategy<Value = String> {
    let rules = || vec(rule(), 0..8);
    (rules(), rules(), rules(), any::<bool>()).prop_map(|(allow, ask, deny, defaults)| {
        let list = |rules: &[String]| {
            let quoted = rules.iter().map(|rule| format!("\"{rule}\""));
            quoted.collect::<Vec<_>>().join(", ")
        };
        format!(
            "[permissions]\nread_only_defaults = {defaults}\nallow = [{}]\nask = [{}]\ndeny = [{}]\n",
            list(&allow),
            list(&ask),
            list(&deny)
        )
    })
}

fn line() -> impl Strategy<Value = String> {
    let command = (
        select(vec!["", "", "", "PATH=/ws ", "X=1 ", "cd src && "]),
        select(&CALLED[..]),
        vec(select(&ARGUMENTS[..]), 0..4),
        select(&REDIRECTIONS[..]),
    )
        .prop_map(|(before, called, arguments, redirection)| {
            format!("{before}{called} {} {redirection}", arguments.join(" "))
        });
    vec(command, 1..3).prop_map(|commands| commands.join("; "))
}

/// A machine with links, a multicall file, a script, an untrusted file and a copy.
fn machine() -> Machine {
    let copied = Executable {
        digest: Digest([8; 32]),
        ..file("/usr/bin/copy", Trust::Trusted)
    };
    let mut machine = Machine::default()
        .with(Executable {
            real: at("/usr/bin/busybox"),
            ..file("/usr/bin/ls", Trust::Trusted)
        })
        .with(Executable {
            format: Format::Script {
                interpreter: Box::new(file("/usr/bin/env", Trust::Trusted)),
                argument: Some(b"git".to_vec()),
            },
            ..file("/usr/bin/script", Trust::Trusted)
        })
        .with(copied)
        .link("/ws/link", "/etc/passwd")
        .link("/ws/out", "/ws/src");
    machine.copies.insert(Digest([8; 32]), vec![b"rm".to_vec()]);
    machine
}

fn loaded(text: &str) -> Option<Policy> {
    load(&[support::source(
        Layer::User,
        &format!("version = 1\n{text}"),
        true,
    )])
    .ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_index_answers_as_a_look_at_every_rule(policy in policy(), line in line()) {
        let machine = machine();
        let (Some(indexed), Some(scanned)) = (loaded(&policy), loaded(&policy)) else {
            return Err(TestCaseError::reject("a rule that can never match"));
        };
        let indexed = machine.judge(&indexed, &line);
        let scanned = machine.judge(&scanned.scanned(), &line);
        prop_assert_eq!(indexed, scanned, "{}\n{}", policy, line);
    }
}
