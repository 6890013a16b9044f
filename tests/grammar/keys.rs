//! Long rules, key by key.

use std::collections::BTreeSet;

use super::support::{Machine, policy, source};
use super::{ALLOW, ASK, DENY, OPEN, bullet, on};
use tipstaff::model::judgement::Layer;
use tipstaff::model::profile::Network;
use tipstaff::policy::load;

/// A policy of one rule on top of `allow`.
fn rule(text: &str) -> tipstaff::policy::Policy {
    policy(&format!(
        "[permissions]\nread_only_defaults = false\n[[rule]]\n{text}\n"
    ))
}

/// Beside a rule that allows everything.
fn beside(text: &str) -> tipstaff::policy::Policy {
    policy(&format!(
        "[permissions]\nallow = [\"*\"]\n[[rule]]\n{text}\n"
    ))
}

/// What loading says, place and help included; none where it loads.
fn refused(text: &str) -> Option<String> {
    let text = format!("version = 1\n{text}");
    load(&[source(Layer::User, &text, true)])
        .err()
        .map(|error| error.render())
}

fn loads(text: &str) {
    assert_eq!(refused(text), None, "{text}");
}

fn fails(text: &str, said: &str) {
    let error = refused(text).unwrap_or_default();
    assert!(
        error.contains(said) && error.contains("user.toml:"),
        "{text}: {error}"
    );
}

#[test]
fn id() {
    loads(
        "[[rule]]\nid = \"a\"\nverdict = \"deny\"\ncommands = [\"x\"]\n[[rule]]\nid = \"b\"\nverdict = \"deny\"\ncommands = [\"y\"]\n",
    );
    fails(
        "[[rule]]\nid = \"a\"\nverdict = \"deny\"\ncommands = [\"x\"]\n[[rule]]\nid = \"a\"\nverdict = \"deny\"\ncommands = [\"y\"]\n",
        "a",
    );
    let judged = Machine::default().judge(
        &rule("id = \"mine\"\nverdict = \"deny\"\ncommands = [\"x\"]"),
        "x",
    );
    assert_eq!(judged.subcommands[0].rule.as_ref().unwrap().id, "mine");
}

#[test]
fn verdict() {
    for (verdict, answer) in [("allow", ALLOW), ("ask", ASK), ("deny", DENY)] {
        bullet(
            &rule(&format!("verdict = \"{verdict}\"\ncommands = [\"a\"]")),
            &[("a", answer)],
            &[("b", OPEN)],
        );
    }
    fails("[[rule]]\ncommands = [\"a\"]\n", "verdict");
    fails(
        "[[rule]]\nverdict = \"maybe\"\ncommands = [\"a\"]\n",
        "verdict",
    );
}

#[test]
fn commands() {
    bullet(
        &rule("verdict = \"allow\"\ncommands = [\"a\", \"b c\"]"),
        &[("a x", ALLOW), ("b c", ALLOW)],
        &[("b d", OPEN)],
    );
    fails("[[rule]]\nverdict = \"deny\"\ncommands = []\n", "commands");
    fails("[[rule]]\nverdict = \"deny\"\ncommands = [\"\"]\n", "empty");
}

#[test]
fn kind() {
    bullet(
        &beside("verdict = \"deny\"\nkind = \"write\"\npaths = [\"keep\"]"),
        &[("tee keep", DENY)],
        &[("cat keep", ALLOW)],
    );
    fails(
        "[[rule]]\nverdict = \"deny\"\nkind = \"smell\"\npaths = [\"keep\"]\n",
        "kind",
    );
}

#[test]
fn paths() {
    bullet(
        &beside("verdict = \"deny\"\nkind = \"read\"\npaths = [\"a/**\", \"b\"]"),
        &[("cat a/x", DENY), ("cat b", DENY)],
        &[("cat c", ALLOW)],
    );
}

#[test]
fn hosts() {
    bullet(
        &beside("verdict = \"deny\"\nkind = \"network\"\nhosts = [\"a.example\"]"),
        &[("echo > /dev/tcp/a.example/80", DENY)],
        &[("echo > /dev/tcp/b.example/80", "ask opaque")],
    );
}

#[test]
fn names() {
    bullet(
        &beside("verdict = \"deny\"\nkind = \"env\"\nnames = [\"BAD*\"]"),
        &[("BAD_X=1 a", DENY)],
        &[("GOOD=1 a", OPEN)],
    );
}

#[test]
fn tools() {
    loads("[[rule]]\nverdict = \"deny\"\nkind = \"mcp\"\ntools = [\"server:tool\"]\n");
    fails(
        "[[rule]]\nverdict = \"deny\"\nkind = \"mcp\"\npaths = [\"x\"]\n",
        "paths",
    );
}

#[test]
fn with() {
    bullet(
        &beside("verdict = \"deny\"\ncommands = [\"git push\"]\nwith = [\"-f\", \"--force\"]"),
        &[
            ("git push -f", DENY),
            ("git push --forc origin", DENY),
            ("git push -uf", DENY),
            ("git push $x", ASK),
        ],
        &[
            ("git push", ALLOW),
            ("git push -- -f", ALLOW),
            ("git push -o -f", ALLOW),
        ],
    );
}

#[test]
fn with_all() {
    bullet(
        &beside("verdict = \"deny\"\ncommands = [\"rm\"]\nwith_all = [\"-r\", \"-f\"]"),
        &[("rm -rf x", DENY), ("rm -f --recursive x", DENY)],
        &[("rm -r x", ALLOW), ("rm -f x", ALLOW)],
    );
}

#[test]
fn without() {
    bullet(
        &rule(
            "verdict = \"allow\"\ncommands = [\"sort\", \"unknown\"]\nwithout = [\"-o\", \"--output\"]",
        ),
        &[
            ("sort x", ALLOW),
            ("sort -t o x", ALLOW),
            ("unknown -- $x", ALLOW),
        ],
        &[
            ("sort -ox y", OPEN),
            ("sort --outp=x y", OPEN),
            ("sort -no x", OPEN),
            ("unknown $x", OPEN),
        ],
    );
}

#[test]
fn args() {
    bullet(
        &rule("verdict = \"allow\"\ncommands = [\"cat\", \"cd\"]\nargs = \"workspace\""),
        &[
            ("cat a", ALLOW),
            ("cat /ws/a", ALLOW),
            ("cd sub", ALLOW),
            ("D=/ws/a; cat $D", ALLOW),
        ],
        &[
            ("cat /etc/x", OPEN),
            ("cat ../x", OPEN),
            ("cat $x", OPEN),
            ("cd", OPEN),
            ("D=/etc; cat $D/x", OPEN),
            ("cat ~/x", OPEN),
        ],
    );
    fails(
        "[[rule]]\nverdict = \"allow\"\ncommands = [\"a\"]\nargs = \"home\"\n",
        "args",
    );
}

#[test]
fn cwd() {
    let machine = Machine::default().link("/ws/sub", "/ws/sub");
    on(
        &machine,
        &policy(
            "[permissions]\nallow = [\"cd\"]\nread_only_defaults = false\n[[rule]]\nverdict = \"allow\"\ncommands = [\"make\"]\ncwd = [\"sub\"]\n",
        ),
        &[("cd sub && make", ALLOW), ("D=sub; cd $D && make", ALLOW)],
        &[
            ("make", OPEN),
            ("cd other && make", OPEN),
            ("cd $x && make", OPEN),
        ],
    );
}

#[test]
fn sandbox() {
    let narrow = rule("verdict = \"allow\"\ncommands = [\"a\"]\nsandbox = \"read-only\"");
    let judged = Machine::default().judge(&narrow, "a");
    assert!(
        judged
            .confined
            .is_some_and(|confined| confined.profile.to_string() == "read-only")
    );
    let plain = rule("verdict = \"allow\"\ncommands = [\"a\"]");
    assert!(Machine::default().judge(&plain, "a").confined.is_none());
    fails(
        "[[rule]]\nverdict = \"allow\"\ncommands = [\"a\"]\nsandbox = \"none\"\n",
        "sandbox",
    );
}

#[test]
fn network() {
    let mut machine = Machine::default();
    machine.facts.network = Network::Full;
    on(
        &machine,
        &rule("verdict = \"allow\"\ncommands = [\"a\"]\nnetwork = true"),
        &[("a", ALLOW)],
        &[("b", OPEN)],
    );
    on(
        &machine,
        &rule(
            "verdict = \"allow\"\ncommands = [\"a\"]\n[[rule]]\nverdict = \"allow\"\ncommands = [\"b\"]\nnetwork = true",
        ),
        &[("a", OPEN)],
        &[("b", ALLOW)],
    );
}

#[test]
fn as_written() {
    bullet(
        &rule("verdict = \"allow\"\ncommands = [\"a\"]\nas_written = \"line\""),
        &[("a x", ALLOW), ("a x; a y", ALLOW)],
        &[
            ("a $x", OPEN),
            ("D=x; a $D", OPEN),
            ("/usr/bin/a x", OPEN),
            ("(a x)", OPEN),
        ],
    );
}

#[test]
fn expires() {
    // Day 20000, which the machine takes for today, is 2024-10-04.
    for (day, answer) in [("2024-10-04", ALLOW), ("2024-10-03", OPEN)] {
        let dated = rule(&format!(
            "verdict = \"allow\"\ncommands = [\"a\"]\nexpires = \"{day}\""
        ));
        assert_eq!(Machine::default().answer(&dated, "a"), answer, "{day}");
    }
    fails(
        "[[rule]]\nverdict = \"allow\"\ncommands = [\"a\"]\nexpires = \"2024-13-01\"\n",
        "expires",
    );
}

#[test]
fn why() {
    let judged = Machine::default().judge(
        &rule("verdict = \"deny\"\ncommands = [\"a\"]\nwhy = \"so\""),
        "a",
    );
    assert_eq!(
        judged.subcommands[0].rule.as_ref().unwrap().why.as_deref(),
        Some("so")
    );
    let judged = Machine::default().judge(&rule("verdict = \"deny\"\ncommands = [\"a\"]"), "a");
    assert_eq!(judged.subcommands[0].rule.as_ref().unwrap().why, None);
}

#[test]
fn r#match() {
    loads("[[rule]]\nverdict = \"deny\"\ncommands = [\"a\"]\nmatch = [\"a x\", \"/usr/bin/a\"]\n");
    fails(
        "[[rule]]\nverdict = \"deny\"\ncommands = [\"a\"]\nmatch = [\"b x\"]\n",
        "b x",
    );
}

#[test]
fn no_match() {
    loads("[[rule]]\nverdict = \"deny\"\ncommands = [\"a\"]\nno_match = [\"b x\"]\n");
    fails(
        "[[rule]]\nverdict = \"deny\"\ncommands = [\"a\"]\nno_match = [\"a x\"]\n",
        "a x",
    );
}

#[test]
fn advisory() {
    loads("[[rule]]\nverdict = \"deny\"\nkind = \"write\"\npaths = [\"x\"]\nadvisory = true\n");
    fails(
        "[[rule]]\nverdict = \"deny\"\nkind = \"write\"\npaths = [\"x\"]\nadvisory = 1\n",
        "advisory",
    );
}

#[test]
fn an_unknown_key_is_an_error_with_its_place_and_a_guess() {
    fails(
        "[[rule]]\nverdict = \"deny\"\ncommands = [\"a\"]\nwihtout = [\"-f\"]\n",
        "without",
    );
    fails("[permissions]\nalow = [\"a\"]\n", "allow");
}

#[test]
fn a_rule_that_can_never_match_is_an_error_and_an_absent_program_is_none() {
    fails("[permissions]\nallow = [\"write(a/../../x)\"]\n", "..");
    loads("[permissions]\nallow = [\"nowhere-to-be-found\"]\n");
}

/// Every key of a rule in the shipped schema has a test of its name here.
#[test]
fn every_key_of_a_rule_is_tested() {
    let schema = include_str!("../../docs/policy.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let keys: BTreeSet<&str> = schema["$defs"]["rule"]["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let own = include_str!("keys.rs");
    let tests: BTreeSet<&str> = own
        .split("#[test]\nfn ")
        .skip(1)
        .filter_map(|text| text.split("()").next())
        .map(|name| name.trim_start_matches("r#"))
        .collect();
    let missing: Vec<&&str> = keys.difference(&tests).collect();
    assert!(
        missing.is_empty() && keys.len() > 10,
        "not tested: {missing:?}"
    );
}
