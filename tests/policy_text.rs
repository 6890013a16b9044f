//! Properties of changing policy texts: nothing but the rule changes, and a layout is a fixed point.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tipstaff::model::judgement::Layer;
use tipstaff::model::verdict::Verdict;
use tipstaff::policy::{LayoutError, add, laid_out, remove};

/// What may stand between two lines.
fn between() -> impl Strategy<Value = String> {
    vec(
        select(vec!["", "\n", "# said\n", "  # \"quoted\" 'said\n", "\r\n"]),
        0..3,
    )
    .prop_map(|parts| parts.concat())
}

/// What may stand behind something on its line.
fn behind() -> impl Strategy<Value = &'static str> {
    select(vec!["", " ", " # behind", "\t#behind it"])
}

fn list() -> impl Strategy<Value = String> {
    let words = select(vec![
        "\"git log\"",
        "'a # b'",
        "\"x \\\" # y\"",
        "\"git {a,b}\"",
    ]);
    let inline = vec(words.clone(), 0..4).prop_map(|words| format!("[{}]", words.join(", ")));
    let lines = (
        vec((between(), words, behind()), 0..4),
        between(),
        any::<bool>(),
    )
        .prop_map(|(rows, end, comma)| {
            let last = rows.len().saturating_sub(1);
            let rows: String = rows
                .into_iter()
                .enumerate()
                .map(|(at, (above, word, behind))| {
                    let sign = if at < last || comma { "," } else { "" };
                    format!("\n{above}  {word}{sign}{behind}")
                })
                .collect();
            format!("[{rows}\n{end}]")
        });
    prop_oneof![inline, lines]
}

fn text() -> impl Strategy<Value = String> {
    let key = |name: &'static str| {
        (between(), list(), behind())
            .prop_map(move |(above, list, behind)| format!("{above}{name} = {list}{behind}\n"))
    };
    let permissions = (between(), behind(), key("deny"), key("allow")).prop_map(
        |(above, behind, deny, allow)| format!("{above}[permissions]{behind}\n{deny}{allow}"),
    );
    let rule = (between(), key("commands"), between(), behind()).prop_map(
        |(above, commands, id, behind)| {
            format!("{above}[[rule]]\n{commands}{id}verdict = 'ask'{behind}\n")
        },
    );
    let sandbox = (between(), behind())
        .prop_map(|(above, behind)| format!("{above}[sandbox]\nnetwork = \"off\"{behind}\n"));
    let tables =
        (vec(rule, 0..3), permissions, sandbox).prop_map(|(rules, permissions, sandbox)| {
            let mut tables = rules;
            tables.push(permissions);
            tables.push(sandbox);
            tables
        });
    (between(), behind(), tables.prop_shuffle(), between()).prop_map(
        |(above, behind, tables, end)| {
            format!("{above}version = 1{behind}\n{}{end}", tables.concat())
        },
    )
}

fn data(text: &str) -> toml::Table {
    text.parse().unwrap()
}

/// The text's comments, as lines that hold one; the words of the lists above hold `#` as well, the same
/// before and after.
fn comments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = ["# said", "# \"quoted\" 'said", "# behind", "#behind it"]
        .iter()
        .flat_map(|comment| text.matches(comment).map(str::to_owned))
        .collect();
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_layout_keeps_data_and_comments_and_is_a_fixed_point(text in text()) {
        match laid_out(&text) {
            Ok(once) => {
                prop_assert_eq!(data(&once), data(&text));
                prop_assert_eq!(comments(&once), comments(&text));
                prop_assert_eq!(laid_out(&once), Ok(once.clone()), "{}", text);
            }
            Err(LayoutError::Comment(comment)) => prop_assert!(false, "lost {comment} of\n{text}"),
            Err(error) => prop_assert!(false, "{error}\n{text}"),
        }
    }

    #[test]
    fn adding_changes_one_list_and_removing_brings_it_back(text in text()) {
        let added = add(&text, Verdict::Allow, "qx new").unwrap().unwrap();
        let mut wanted = data(&text);
        let list = wanted.get_mut("permissions").unwrap().get_mut("allow").unwrap();
        list.as_array_mut().unwrap().push("qx new".into());
        prop_assert_eq!(data(&added), wanted, "{}", text);
        prop_assert_eq!(comments(&added), comments(&text), "{}\n{}", text, added);
        let (back, _) = remove(&added, Layer::User, "qx new", None).unwrap();
        prop_assert_eq!(data(&back), data(&text), "{}\n{}", added, back);
        prop_assert_eq!(comments(&back), comments(&text), "{}\n{}", added, back);
    }

    #[test]
    fn removing_any_rule_leaves_the_others(text in text()) {
        for rule in ["git log", "a # b", "git {a,b}", "user:3"] {
            let Ok((left, removed)) = remove(&text, Layer::User, rule, Some(Verdict::Deny)) else {
                continue;
            };
            let mut wanted = data(&text);
            let list = wanted.get_mut("permissions").unwrap().get_mut("deny").unwrap();
            list.as_array_mut().unwrap().retain(|word| word.as_str() != Some(&removed.text));
            prop_assert_eq!(data(&left), wanted, "{}\n{}", text, left);
        }
    }
}
