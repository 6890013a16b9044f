//! `sandbox` and `network` of long rules: the run a rule wants, and the run it covers.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod support;

use support::{Machine, policy, source};
use tipstaff::model::judgement::{Judgement, Layer};
use tipstaff::model::profile::{Network, ProfileName};
use tipstaff::policy::{Policy, load};

fn rule(keys: &str) -> String {
    format!("[[rule]]\n{keys}\n")
}

fn with_network(network: Network) -> Machine {
    let mut machine = Machine::default();
    machine.facts.network = network;
    machine
}

fn profile(policy: &Policy, line: &str) -> ProfileName {
    judged(policy, line).profile(ProfileName::Workspace)
}

fn judged(policy: &Policy, line: &str) -> Judgement {
    Machine::default().judge(policy, line)
}

#[test]
fn a_rule_names_the_profile_its_command_runs_in() {
    let policy = policy(&rule(
        "id = \"look\"\nverdict = \"allow\"\ncommands = [\"make look\"]\nsandbox = \"read-only\"",
    ));
    let judgement = judged(&policy, "make look");
    assert_eq!(judgement.confined.as_ref().unwrap().rule.id, "look");
    assert_eq!(profile(&policy, "make look"), ProfileName::ReadOnly);
    // What the rule does not speak of keeps the run's own.
    assert_eq!(profile(&policy, "make build"), ProfileName::Workspace);
    assert_eq!(judged(&policy, "make build").confined, None);
}

#[test]
fn the_strictest_profile_wins_over_all_sub_commands() {
    let text = [
        rule("verdict = \"allow\"\ncommands = [\"make\"]\nsandbox = \"workspace\""),
        rule("verdict = \"allow\"\ncommands = [\"cat\"]\nsandbox = \"read-only\""),
    ]
    .concat();
    let policy = policy(&text);
    assert_eq!(profile(&policy, "make"), ProfileName::Workspace);
    assert_eq!(profile(&policy, "make; cat x"), ProfileName::ReadOnly);
    assert_eq!(profile(&policy, "cat x; make"), ProfileName::ReadOnly);
    assert_eq!(profile(&policy, "x=$(cat y) make"), ProfileName::ReadOnly);
    // Through a carrier too: the rule speaks of what it starts.
    assert_eq!(
        profile(&policy, "timeout 5 env A=1 cat x"),
        ProfileName::ReadOnly
    );
}

#[test]
fn of_several_rules_on_one_command_the_narrowest_counts_in_any_order() {
    let wide = rule("verdict = \"allow\"\ncommands = [\"make\"]");
    let narrow = rule("verdict = \"allow\"\ncommands = [\"make x\"]\nsandbox = \"read-only\"");
    for text in [[&*wide, &*narrow].concat(), [&*narrow, &*wide].concat()] {
        let policy = policy(&text);
        assert_eq!(profile(&policy, "make x"), ProfileName::ReadOnly);
        assert_eq!(profile(&policy, "make y"), ProfileName::Workspace);
    }
}

#[test]
fn an_ask_rule_confines_what_is_approved_also_where_it_only_may_match() {
    let policy = policy(&rule(
        "verdict = \"ask\"\ncommands = [\"git push\"]\nsandbox = \"read-only\"",
    ));
    assert_eq!(profile(&policy, "git -C . push"), ProfileName::ReadOnly);
    assert_eq!(profile(&policy, "git $WHAT"), ProfileName::ReadOnly);
    assert_eq!(profile(&policy, "git log"), ProfileName::Workspace);
}

#[test]
fn no_rule_of_any_layer_widens_a_run() {
    let wide = "version = 1\n[[rule]]\nverdict = \"allow\"\ncommands = [\"make\"]\nsandbox = \"workspace\"\n";
    for layer in [
        Layer::Managed,
        Layer::User,
        Layer::Project,
        Layer::Session,
        Layer::Flag,
    ] {
        let policy = load(&[source(layer, wide, true)]).unwrap();
        let judgement = judged(&policy, "make");
        assert_eq!(
            judgement.profile(ProfileName::ReadOnly),
            ProfileName::ReadOnly
        );
    }
    // Nor does a project's take back what the user's narrows.
    let narrow = wide.replace("workspace", "read-only");
    let policy = load(&[
        source(Layer::User, &narrow, true),
        source(Layer::Project, wide, true),
    ])
    .unwrap();
    assert_eq!(profile(&policy, "make"), ProfileName::ReadOnly);
}

#[test]
fn an_untrusted_or_expired_rule_confines_nothing() {
    let text = "version = 1\n[[rule]]\nverdict = \"allow\"\ncommands = [\"make\"]\nsandbox = \"read-only\"\n";
    let untrusted = load(&[source(Layer::Project, text, false)]).unwrap();
    assert_eq!(profile(&untrusted, "make"), ProfileName::Workspace);
    let expired = policy(&rule(
        "verdict = \"allow\"\ncommands = [\"make\"]\nsandbox = \"read-only\"\nexpires = \"2001-01-01\"",
    ));
    assert_eq!(profile(&expired, "make"), ProfileName::Workspace);
}

#[test]
fn an_allow_rule_covers_a_run_with_a_network_only_when_it_says_so() {
    let policy = policy(&format!(
        "[permissions]\nallow = [\"make\"]\n{}{}",
        rule("verdict = \"allow\"\ncommands = [\"curl\"]\nnetwork = true"),
        rule("id = \"offline\"\nverdict = \"allow\"\ncommands = [\"wget\"]\nnetwork = false"),
    ));
    let answers = |network| {
        let machine = with_network(network);
        ["curl x", "wget x", "make", "curl x; make"].map(|line| machine.answer(&policy, line))
    };
    for network in [Network::Off, Network::Loopback] {
        assert_eq!(answers(network), ["allow rule-allow"; 4]);
    }
    assert_eq!(
        answers(Network::Full),
        [
            "allow rule-allow",
            "ask unmatched",
            "ask unmatched",
            "ask unmatched"
        ]
    );
    let judgement = with_network(Network::Full).judge(&policy, "wget x");
    let remedy = judgement.subcommands[0].remedy.as_deref().unwrap();
    assert_eq!(
        remedy,
        "a run without the full network, or `network = true` in the rule `offline`"
    );
}

#[test]
fn another_rule_that_covers_the_network_is_enough() {
    let text = format!(
        "[permissions]\nallow = [\"curl\"]\n{}",
        rule("verdict = \"allow\"\ncommands = [\"curl -I\"]\nnetwork = true"),
    );
    let machine = with_network(Network::Full);
    assert_eq!(
        machine.answer(&policy(&text), "curl -I x"),
        "allow rule-allow"
    );
    assert_eq!(machine.answer(&policy(&text), "curl x"), "ask unmatched");
}

#[test]
fn a_runner_covers_what_it_carries_by_the_same_key() {
    for (key, wanted) in [("true", "allow rule-allow"), ("false", "ask unmatched")] {
        let policy = policy(&rule(&format!(
            "verdict = \"allow\"\ncommands = [\"npx eslint\"]\nnetwork = {key}"
        )));
        assert_eq!(
            with_network(Network::Off).answer(&policy, "npx eslint ."),
            "allow rule-allow"
        );
        let judgement = with_network(Network::Full).judge(&policy, "npx eslint .");
        let answer = &judgement.subcommands[0];
        assert_eq!(format!("{} {}", answer.verdict, answer.reason), wanted);
    }
}

#[test]
fn what_is_known_to_read_and_what_denies_look_at_no_network() {
    let policy = policy("[permissions]\ndeny = [\"rm\"]\nask = [\"git push\"]\n");
    for network in [Network::Off, Network::Loopback, Network::Full] {
        let machine = with_network(network);
        assert_eq!(machine.answer(&policy, "ls"), "allow read-only-default");
        assert_eq!(machine.answer(&policy, "rm x"), "deny rule-deny");
        assert_eq!(machine.answer(&policy, "git push"), "ask rule-ask");
    }
}
