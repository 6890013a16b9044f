//! Layers: they add up, and the strictest wins.

use super::support::{policy, source};
use super::{ALLOW, ASK, DENY, OPEN, bullet};
use tipstaff::model::judgement::Layer;
use tipstaff::policy::{Policy, load};

const READ: &str = "allow read-only-default";

fn layered(layers: &[(Layer, &str, bool)]) -> Policy {
    let sources: Vec<_> = layers
        .iter()
        .map(|(layer, text, trusted)| source(*layer, &format!("version = 1\n{text}"), *trusted))
        .collect();
    match load(&sources) {
        Ok(policy) => policy,
        Err(error) => unreachable!("{}", error.render()),
    }
}

#[test]
fn the_order_of_rules_and_files_never_matters() {
    let allow = (Layer::User, "[permissions]\nallow = [\"a\", \"b\"]\n", true);
    let deny = (Layer::Managed, "[permissions]\ndeny = [\"a\"]\n", true);
    for order in [[allow, deny], [deny, allow]] {
        bullet(&layered(&order), &[("a", DENY)], &[("b", ALLOW)]);
    }
    for text in [
        "deny = [\"a\"]\nallow = [\"*\"]",
        "allow = [\"*\"]\ndeny = [\"a\"]",
    ] {
        bullet(
            &policy(&format!("[permissions]\n{text}\n")),
            &[("a", DENY)],
            &[("b", ALLOW)],
        );
    }
}

#[test]
fn layers_add_up_and_the_strictest_wins() {
    let all = [
        (Layer::Managed, "[permissions]\nask = [\"a\"]\n", true),
        (
            Layer::User,
            "[permissions]\nallow = [\"a\", \"b\", \"c\"]\n",
            true,
        ),
        (Layer::Project, "[permissions]\ndeny = [\"b\"]\n", true),
    ];
    bullet(&layered(&all), &[("a", ASK), ("b", DENY)], &[("c", ALLOW)]);
}

#[test]
fn what_a_project_allows_counts_after_a_person_trusted_it() {
    let text = "[permissions]\nallow = [\"a\"]\nask = [\"ls\"]\ndeny = [\"b\"]\n";
    bullet(
        &layered(&[(Layer::Project, text, false)]),
        &[("a", OPEN), ("ls", ASK), ("b", DENY)],
        &[("cat x", READ)],
    );
    bullet(
        &layered(&[(Layer::Project, text, true)]),
        &[("a", ALLOW)],
        &[("ls", ASK), ("b", DENY)],
    );
}

#[test]
fn a_built_in_rule_is_disabled_by_its_id() {
    let off = "[permissions]\nallow = [\"*\"]\ndisable = [\"builtin.privilege\"]\n";
    for layer in [Layer::Managed, Layer::User] {
        bullet(
            &layered(&[(layer, off, true)]),
            &[("sudo ls", ALLOW)],
            &[("reboot", DENY)],
        );
    }
    bullet(
        &policy("[permissions]\nallow = [\"*\"]\n"),
        &[("sudo ls", DENY)],
        &[("ls", ALLOW)],
    );
}

#[test]
fn a_project_disables_nothing() {
    let text = "version = 1\n[permissions]\ndisable = [\"builtin.privilege\"]\n";
    for trusted in [false, true] {
        let loaded = load(&[source(Layer::Project, text, trusted)]);
        assert!(loaded.is_err_and(|error| error.render().contains("disable")));
    }
    assert!(load(&[source(Layer::User, text, true)]).is_ok());
}

#[test]
fn read_only_defaults_are_there_unless_switched_off() {
    let lines = [
        ("cat x", READ),
        ("echo x", READ),
        ("cd sub", READ),
        ("set -e", READ),
        ("export LANG=C", READ),
        ("git status", READ),
    ];
    bullet(
        &policy(""),
        &lines,
        &[("touch x", OPEN), ("git push", OPEN), ("cd /", OPEN)],
    );
    let off = policy("[permissions]\nread_only_defaults = false\n");
    bullet(
        &off,
        &[("cat x", OPEN), ("echo x", OPEN)],
        &[("x=1", "allow no-access")],
    );
}

#[test]
fn one_bad_file_refuses_everything() {
    let good = source(
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"a\"]\n",
        true,
    );
    let bad = source(
        Layer::Managed,
        "version = 1\n[permissions]\nallow = [\"\"]\n",
        true,
    );
    assert!(load(&[good.clone(), bad]).is_err());
    assert!(load(&[good]).is_ok());
}
