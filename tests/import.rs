//! Permissions of other hosts become policies that are never wider: every recorded rule and line is judged
//! after import, and compared with what the host's own documentation says.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and says how much stayed the same"
)]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod support;

use serde_json::json;
use support::Machine;
use tipstaff::model::judgement::Layer;
use tipstaff::model::verdict::Verdict;
use tipstaff::policy::{Host, Imported, Source, import, laid_out, load};

/// One rule set with what the host says of lines under it.
struct Case {
    from: String,
    rules: String,
    says: Vec<(String, Verdict)>,
}

fn verdict(word: &str) -> Verdict {
    match word {
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        "deny" => Verdict::Deny,
        other => panic!("no verdict: {other}"),
    }
}

fn cases(host: Host) -> Vec<Case> {
    let file = format!("{}/tests/import/{host}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let document: toml::Value = toml::from_str(&text).unwrap();
    let cases = document["case"].as_array().unwrap();
    cases
        .iter()
        .map(|case| Case {
            from: case["from"].as_str().unwrap().to_owned(),
            rules: match case.get("rules") {
                Some(rules) => rules.as_str().unwrap().to_owned(),
                // Claude Code's lists are shorter without the JSON around them.
                None => {
                    let list = |key| case.get(key).cloned().map(|list| json!(list));
                    let mut lists = serde_json::Map::new();
                    for key in ["allow", "ask", "deny"] {
                        lists.extend(list(key).map(|list| (key.to_owned(), list)));
                    }
                    json!({ "permissions": lists }).to_string()
                }
            },
            says: case["says"]
                .as_array()
                .unwrap()
                .iter()
                .map(|pair| {
                    let text = |at: usize| pair[at].as_str().unwrap();
                    (text(0).to_owned(), verdict(text(1)))
                })
                .collect(),
        })
        .collect()
}

fn imported(host: Host, case: &Case) -> Imported {
    match import(host, "settings", &case.rules) {
        Ok(imported) => imported,
        Err(error) => panic!("{}: {}", case.from, error.render()),
    }
}

fn check(host: Host) {
    let machine = Machine::default();
    let (mut equal, mut all, mut weaker) = (0, 0, Vec::new());
    let mut stricter = Vec::new();
    for case in cases(host) {
        let text = imported(host, &case).policy;
        let source = Source {
            layer: Layer::Flag,
            name: "imported.toml".to_owned(),
            text: text.clone(),
            trusted: true,
        };
        let policy = load(&[source]).unwrap_or_else(|error| {
            panic!("{}: {}\n{text}", case.from, error.render());
        });
        assert_eq!(
            laid_out(&text).as_deref(),
            Ok(text.as_str()),
            "{}",
            case.from
        );
        for (line, said) in &case.says {
            let got = machine.judge(&policy, line).verdict;
            all += 1;
            let told = || format!("{}: `{line}`: there {said}, here {got}", case.from);
            if got == *said {
                equal += 1;
            } else if got < *said {
                weaker.push(told());
            } else {
                stricter.push(told());
            }
        }
    }
    println!(
        "{host}: {equal} of {all} equal, {} stricter, {} weaker",
        stricter.len(),
        weaker.len()
    );
    for told in &stricter {
        println!("  stricter: {told}");
    }
    assert!(weaker.is_empty(), "{}", weaker.join("\n"));
    assert!(all >= 50, "{host}: {all} triples");
    // A policy that denies everything would never be weaker.
    assert!(equal * 100 >= all * 80, "{host}: {equal} of {all} equal");
}

#[test]
fn claude_code_is_never_weaker() {
    check(Host::Claude);
}

#[test]
fn codex_is_never_weaker() {
    check(Host::Codex);
}

#[test]
fn gemini_is_never_weaker() {
    check(Host::Gemini);
}

#[test]
fn vs_code_is_never_weaker() {
    check(Host::VsCode);
}
