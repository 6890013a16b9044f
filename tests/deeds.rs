//! What a caller wants to do itself: `write`, `delete`, `network` and `mcp` rules on requests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod support;

use support::{Machine, at, policy, rules, source};
use tipstaff::model::deed::{Deed, DeedKind};
use tipstaff::model::judgement::Layer;
use tipstaff::policy::{Found, Policy, judge_deed, load};

fn deed(text: &str) -> Deed {
    let (kind, object) = text.split_once(' ').unwrap();
    let kind: DeedKind = kind.parse().unwrap();
    Deed::read(kind, object.as_bytes(), &Machine::default().facts.cwd).unwrap()
}

fn judged(policy: &Policy, text: &str, found: &Found) -> String {
    let judgement = judge_deed(policy, &deed(text), found, &Machine::default().facts);
    format!("{} {}", judgement.verdict, judgement.reason)
}

/// The answer where nothing stands in the way: no link, no folder.
fn plain(policy: &Policy, text: &str) -> String {
    judged(policy, text, &Found::default())
}

fn folder() -> Found {
    Found {
        target: None,
        folder: true,
    }
}

fn leads_to(path: &str) -> Found {
    Found {
        target: Some(at(path)),
        folder: false,
    }
}

#[test]
fn each_kind_is_covered_by_rules_of_its_own_kind() {
    let policy = rules(
        &[
            "write(out/**)",
            "delete(tmp/**)",
            "network(api.example:443)",
            "network(*.internal)",
            "mcp(tickets:read_*)",
        ],
        &[],
        &[],
    );
    for covered in [
        "write out/a/b",
        "delete tmp/a",
        "network api.example:443",
        "network API.example:443",
        "network a.internal:22",
        "mcp tickets:read_one",
        "mcp tickets:read_a/b",
    ] {
        assert_eq!(plain(&policy, covered), "allow rule-allow", "{covered}");
    }
    for other in [
        "write tmp/a",
        "delete out/a",
        "network api.example:80",
        "network other.example:443",
        "network internal:22",
        "mcp tickets:write_one",
        "mcp mail:read_one",
    ] {
        assert_eq!(plain(&policy, other), "ask unmatched", "{other}");
    }
}

#[test]
fn deny_and_ask_outweigh_allow() {
    let policy = rules(
        &["write(**)", "delete(**)", "network(*)", "mcp(*:*)"],
        &["delete(keep/*)", "network(*:22)", "mcp(mail:*)"],
        &["write(keep/*)", "network(bad.example)", "mcp(mail:send_*)"],
    );
    assert_eq!(plain(&policy, "write a"), "allow rule-allow");
    assert_eq!(plain(&policy, "write keep/a"), "deny rule-deny");
    assert_eq!(plain(&policy, "network x:22"), "ask rule-ask");
    assert_eq!(plain(&policy, "network bad.example:80"), "deny rule-deny");
    assert_eq!(plain(&policy, "mcp mail:list"), "ask rule-ask");
    assert_eq!(plain(&policy, "mcp mail:send_all"), "deny rule-deny");
    // A server's own names are no folders.
    assert_eq!(plain(&policy, "mcp mail:send_a/b"), "deny rule-deny");
}

#[test]
fn a_rule_on_writes_holds_for_deleting_too_and_never_allows_it() {
    let policy = rules(&["write(**)"], &[], &["write(keep)"]);
    assert_eq!(plain(&policy, "delete keep"), "deny rule-deny");
    assert_eq!(plain(&policy, "delete other"), "ask unmatched");
    // The other way round nothing follows.
    let policy = rules(&["write(**)"], &[], &["delete(keep)"]);
    assert_eq!(plain(&policy, "write keep"), "allow rule-allow");
}

#[test]
fn deleting_a_folder_deletes_what_lies_in_it() {
    let policy = rules(
        &["delete(**)"],
        &[],
        &["delete(a/keep/x)", "delete(**/.env)"],
    );
    assert_eq!(plain(&policy, "delete a/keep/x"), "deny rule-deny");
    assert_eq!(plain(&policy, "delete a/.env"), "deny rule-deny");
    // Whether the rule is broken depends on what lies there.
    assert_eq!(judged(&policy, "delete a", &folder()), "ask rule-ask");
    assert_eq!(judged(&policy, "delete b", &folder()), "ask rule-ask");
    assert_eq!(plain(&policy, "delete b"), "allow rule-allow");
    let policy = rules(&["delete(**)"], &[], &["delete(a/keep/x)"]);
    assert_eq!(judged(&policy, "delete a", &folder()), "ask rule-ask");
    assert_eq!(judged(&policy, "delete b", &folder()), "allow rule-allow");
}

#[test]
fn allow_needs_the_link_and_its_target_deny_either() {
    let policy = rules(&["write(**)"], &[], &["write(keep)"]);
    let to = |path| judged(&policy, "write link", &leads_to(path));
    assert_eq!(to("/ws/other"), "allow rule-allow");
    assert_eq!(to("/srv/other"), "ask unmatched");
    assert_eq!(to("/ws/keep"), "deny rule-deny");
    let policy = rules(&["write(/srv/**)"], &[], &["write(link)"]);
    assert_eq!(
        judged(&policy, "write link", &leads_to("/srv/x")),
        "deny rule-deny"
    );
}

#[test]
fn our_own_files_are_out_of_reach_and_so_are_the_folders_that_hold_them() {
    let policy = rules(&["write(/**)", "delete(/**)"], &[], &[]);
    for own in [
        "write /home/me/.config/tipstaff/policy.toml",
        "delete /home/me/.config/tipstaff",
        "delete /home/me",
    ] {
        assert_eq!(plain(&policy, own), "deny rule-deny", "{own}");
    }
    let through = leads_to("/home/me/.config/tipstaff/policy.toml");
    assert_eq!(judged(&policy, "write link", &through), "deny rule-deny");
    assert_eq!(plain(&policy, "write /home/me"), "allow rule-allow");
}

#[test]
fn expired_untrusted_and_long_rules_count_as_everywhere() {
    let long = |more: &str| {
        policy(&format!(
            "[[rule]]\nid = \"tools\"\nverdict = \"allow\"\nkind = \"mcp\"\ntools = [\"a:x\", \"b:*\"]\nmatch = [\"b:y\"]\nno_match = [\"a:y\"]\n{more}"
        ))
    };
    assert_eq!(plain(&long(""), "mcp b:z"), "allow rule-allow");
    let expired = long("expires = \"2001-01-01\"");
    assert_eq!(plain(&expired, "mcp b:z"), "ask unmatched");
    let text = "version = 1\n[permissions]\nallow = [\"delete(a)\"]\ndeny = [\"delete(b)\"]\n";
    let project = load(&[source(Layer::Project, text, false)]).unwrap();
    assert_eq!(plain(&project, "delete a"), "ask unmatched");
    assert_eq!(plain(&project, "delete b"), "deny rule-deny");
}

#[test]
fn the_answer_says_what_would_change_it() {
    let machine = Machine::default();
    let remedy = |policy: &Policy, text: &str| {
        judge_deed(policy, &deed(text), &Found::default(), &machine.facts).remedy
    };
    let nothing = rules(&[], &[], &[]);
    assert_eq!(
        remedy(&nothing, "mcp a:b").as_deref(),
        Some("an allow rule such as `mcp(a:b)`")
    );
    assert_eq!(
        remedy(&nothing, "network [::1]:80").as_deref(),
        Some("an allow rule such as `network([::1]:80)`")
    );
    let ruled = rules(&["mcp(c:d)"], &["mcp(a:*)"], &["mcp(a:x)"]);
    assert!(remedy(&ruled, "mcp a:b").unwrap().contains("which asks"));
    assert!(
        remedy(&ruled, "mcp a:x")
            .unwrap()
            .contains("strictest rule wins")
    );
    assert_eq!(remedy(&ruled, "mcp c:d"), None);
}

/// What an answer proposes is a rule that gives it.
#[test]
fn the_proposed_rule_covers_the_deed() {
    for text in [
        "write a b/it's",
        "delete /srv/x*y",
        "network [::1]:80",
        "network a.example:1",
        "mcp a b:c$d",
    ] {
        let nothing = rules(&[], &[], &[]);
        let said = judge_deed(
            &nothing,
            &deed(text),
            &Found::default(),
            &Machine::default().facts,
        );
        let remedy = said.remedy.unwrap();
        let rule = remedy.split('`').nth(1).unwrap();
        let with = rules(&[rule], &[], &[]);
        assert_eq!(plain(&with, text), "allow rule-allow", "{rule}");
    }
}
