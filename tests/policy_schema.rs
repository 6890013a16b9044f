//! The shipped JSON Schema and the loader say the same: of every key, and of a table of documents.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;
use tipstaff::model::judgement::Layer;
use tipstaff::policy::{SCHEMA, Source, keys, load};

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// The subset of JSON Schema 2020-12 that the schema uses. Whatever else it says is an error, so that
/// nothing of it goes unchecked.
fn valid(root: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(always) = schema.as_bool() {
        return always;
    }
    schema
        .as_object()
        .unwrap()
        .iter()
        .all(|(key, said)| match key.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let name = said.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                valid(root, &root["$defs"][name], value)
            }
            "const" => said == value,
            "enum" => said.as_array().unwrap().contains(value),
            "type" => match said.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                other => panic!("type {other}"),
            },
            "required" => value.as_object().is_none_or(|object| {
                let mut names = said.as_array().unwrap().iter();
                names.all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "properties" => value.as_object().is_none_or(|object| {
                said.as_object().unwrap().iter().all(|(name, schema)| {
                    object
                        .get(name)
                        .is_none_or(|value| valid(root, schema, value))
                })
            }),
            "additionalProperties" => {
                assert_eq!(said, &Value::Bool(false));
                let known = schema["properties"].as_object().unwrap();
                value
                    .as_object()
                    .is_none_or(|object| object.keys().all(|name| known.contains_key(name)))
            }
            "items" => value.as_array().is_none_or(|items| {
                let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
                items.iter().skip(first).all(|item| valid(root, said, item))
            }),
            "prefixItems" => value.as_array().is_none_or(|items| {
                let mut pairs = said.as_array().unwrap().iter().zip(items);
                pairs.all(|(schema, item)| valid(root, schema, item))
            }),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= said.as_u64().unwrap()),
            "minLength" => value
                .as_str()
                .is_none_or(|text| text.chars().count() as u64 >= said.as_u64().unwrap()),
            "minimum" => value
                .as_i64()
                .is_none_or(|number| number >= said.as_i64().unwrap()),
            "maximum" => value
                .as_i64()
                .is_none_or(|number| number <= said.as_i64().unwrap()),
            "pattern" => value
                .as_str()
                .is_none_or(|text| Regex::new(said.as_str().unwrap()).unwrap().is_match(text)),
            "oneOf" => {
                let all = said.as_array().unwrap().iter();
                all.filter(|schema| valid(root, schema, value)).count() == 1
            }
            other => panic!("the schema says `{other}`, which this test does not know"),
        })
}

fn accepts(text: &str) -> bool {
    let root = schema();
    let document: toml::Value = toml::from_str(text).unwrap();
    valid(&root, &root, &serde_json::to_value(document).unwrap())
}

fn loads(text: &str) -> Result<(), String> {
    let source = Source {
        // The layer that may say everything.
        layer: Layer::Managed,
        name: "policy.toml".to_owned(),
        text: text.to_owned(),
        trusted: true,
    };
    load(&[source])
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[test]
fn every_key_of_the_loader_is_in_the_schema_and_the_other_way_round() {
    let schema = schema();
    let top = &schema["properties"];
    let places: [(&str, &Value, &[&str]); 6] = [
        ("the top", top, &keys::TOP),
        (
            "permissions",
            &top["permissions"]["properties"],
            &keys::PERMISSIONS,
        ),
        ("rule", &schema["$defs"]["rule"]["properties"], &keys::RULE),
        (
            "workspace",
            &top["workspace"]["properties"],
            &keys::WORKSPACE,
        ),
        ("sandbox", &top["sandbox"]["properties"], &keys::SANDBOX),
        (
            "approvals",
            &top["approvals"]["properties"],
            &keys::APPROVALS,
        ),
    ];
    for (place, properties, known) in places {
        let in_schema: BTreeSet<&str> = properties
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let in_loader: BTreeSet<&str> = known.iter().copied().collect();
        assert_eq!(in_schema, in_loader, "{place}");
    }
}

/// The lists of keys are the loader's own: every key of them is taken, and none that comes later.
#[test]
fn the_loader_takes_every_key_of_the_lists_and_no_other() {
    let unknown = |text: &str| loads(text).err().unwrap_or_default();
    for key in keys::TOP {
        assert!(
            !unknown(&format!("{key} = 1")).contains("unknown key"),
            "{key}"
        );
    }
    for (table, known) in [
        ("[permissions]", &keys::PERMISSIONS[..]),
        ("[[rule]]", &keys::RULE),
        ("[workspace]", &keys::WORKSPACE),
        ("[sandbox]", &keys::SANDBOX),
        ("[approvals]", &keys::APPROVALS),
    ] {
        for key in known {
            let said = unknown(&format!("version = 1\n{table}\n{key} = 1"));
            assert!(!said.contains("unknown key"), "{table} {key}: {said}");
        }
        let said = unknown(&format!("version = 1\n{table}\nqx = 1"));
        assert!(said.contains("unknown key `qx`"), "{table}: {said}");
    }
    for key in keys::TOP_LATER {
        let said = unknown(&format!("version = 1\n{key} = 1"));
        assert!(said.contains("not supported yet"), "{key}: {said}");
        assert!(!accepts(&format!("version = 1\n{key} = 1")), "{key}");
    }
}

const GOOD: &[&str] = &[
    "",
    "mode = \"default\"",
    "mode = \"acceptEdits\"",
    "[permissions]",
    "[permissions]\nallow = []",
    "[permissions]\nallow = [\"git log\"]\nask = [\"git push\"]\ndeny = [\"rm\"]\nread_only_defaults = false\ndisable = [\"builtin.power\"]",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]",
    "[[rule]]\nid = \"a.b-c_d\"\nverdict = \"deny\"\ncommands = [\"git push\"]\nwith = [\"-f\"]\nwith_all = []\nwithout = [\"-n\", \"+x\"]\nargs = \"workspace\"\ncwd = [\".\", \"**\"]\nexpires = \"2027-01-31\"\nadvisory = false\nwhy = \"x\"",
    "[[rule]]\nverdict = \"allow\"\ncommands = [\"ls\"]\nmatch = [\"ls -l\"]\nno_match = [\"cat\"]",
    "[[rule]]\nverdict = \"deny\"\nkind = \"write\"\npaths = [\"**/x\"]",
    "[[rule]]\nverdict = \"deny\"\nkind = \"read\"\npaths = [\"/etc/x\"]\nadvisory = true",
    "[[rule]]\nverdict = \"ask\"\nkind = \"network\"\nhosts = [\"example.org:443\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"env\"\nnames = [\"X\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"delete\"\npaths = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"mcp\"\ntools = [\"a:b\"]",
    "[permissions]\nallow = [\"delete(x)\", \"mcp(a:*)\"]",
    "[[rule]]\nverdict = \"allow\"\ncommands = [\"a\"]\nsandbox = \"read-only\"\nnetwork = true",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nsandbox = \"workspace\"",
    "[workspace]\nwithin = [\"/srv\", \"~\", \"~/work\"]",
    "[sandbox]\nprofile = \"read-only\"\nnetwork = \"loopback\"\nuser = \"x\"\nforbid_root = true",
    "[approvals]\ntimeout = 1\nheadless = \"wait\"\ncommand = [\"/bin/x\", \"-y\"]",
    "[approvals]\ntimeout = 604800",
];

const BAD: &[&str] = &[
    "mode = \"fast\"",
    "mode = 1",
    "qx = 1",
    "[permissions]\nalow = []",
    "[permissions]\nallow = \"ls\"",
    "[permissions]\nallow = [1]",
    "[permissions]\nallow = [\"\"]",
    "[permissions]\nread_only_defaults = 1",
    "[permissions]\ndisable = [\"no such id\"]",
    "permissions = 3",
    "rule = 3",
    "rule = [3]",
    "[[rule]]",
    "[[rule]]\nverdict = \"ask\"",
    "[[rule]]\ncommands = [\"a\"]",
    "[[rule]]\nverdict = \"permit\"\ncommands = [\"a\"]",
    "[[rule]]\nverdict = \"ask\"\ncommands = []",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nid = \"a b\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nid = \"\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nwith = []",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nwith = [\"f\"]",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nwithout = [\"--x=y\"]",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nwith_all = [\"-\"]",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nargs = \"home\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\ncwd = [\"\"]",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nexpires = \"soon\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nexpires = \"2027-1-31\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nadvisory = \"yes\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nwhy = 1",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nmatch = \"a\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\nkind = \"write\"",
    "[[rule]]\nverdict = \"ask\"\ncommands = [\"a\"]\npaths = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"write\"\nhosts = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"write\"\npaths = [\"x\"]\nnames = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"network\"\npaths = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"env\"\npaths = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"mcp\"\ntools = [\"a:b\"]\nnames = [\"X\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"delete\"\ntools = [\"a:b\"]",
    "[[rule]]\nverdict = \"ask\"\ntools = [\"a:b\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"mcp\"\ntools = [\"a:b\"]\ncwd = [\".\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"mcp\"\npaths = [\"x\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"write\"\npaths = [\"x\"]\nwith = [\"-f\"]",
    "[[rule]]\nverdict = \"ask\"\nkind = \"env\"\nnames = [\"X\"]\ncwd = [\".\"]",
    "[[rule]]\nverdict = \"allow\"\ncommands = [\"a\"]\nsandbox = \"system\"",
    "[[rule]]\nverdict = \"allow\"\ncommands = [\"a\"]\nnetwork = \"full\"",
    "[[rule]]\nverdict = \"allow\"\nkind = \"write\"\npaths = [\"x\"]\nsandbox = \"read-only\"",
    "[[rule]]\nverdict = \"allow\"\nkind = \"env\"\nnames = [\"X\"]\nnetwork = true",
    "[workspace]\nwithin = [\"srv\"]",
    "[workspace]\nwithin = \"/srv\"",
    "[workspace]\nroot = \"/srv\"",
    "[sandbox]\nprofile = \"system\"",
    "[sandbox]\nnetwork = \"on\"",
    "[sandbox]\nuser = \"\"",
    "[sandbox]\nforbid_root = 1",
    "[sandbox]\ngate = true",
    "[approvals]\ntimeout = 0",
    "[approvals]\ntimeout = 604801",
    "[approvals]\ntimeout = -1",
    "[approvals]\ntimeout = 1.5",
    "[approvals]\nheadless = \"maybe\"",
    "[approvals]\ncommand = []",
    "[approvals]\ncommand = [\"approve\"]",
    "[approvals]\ncommand = \"/bin/x\"",
    "[approvals]\nwait = 1",
];

#[test]
fn documents_are_judged_the_same_by_both() {
    let whole = |text: &str| format!("version = 1\n{text}\n");
    let mut wrong = Vec::new();
    for (wanted, texts) in [(true, GOOD), (false, BAD)] {
        for text in texts.iter().map(|text| whole(text)) {
            let (loaded, accepted) = (loads(&text), accepts(&text));
            if loaded.is_ok() != wanted || accepted != wanted {
                wrong.push(format!(
                    "{text}loader: {loaded:?}, schema: {accepted}, wanted: {wanted}"
                ));
            }
        }
    }
    for text in ["mode = \"plan\"\n", "version = 2\n", "version = \"1\"\n"] {
        if loads(text).is_ok() || accepts(text) {
            wrong.push(text.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_policies_of_this_tree_fit_the_schema() {
    for name in ["builtin.toml", "example.toml"] {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("policies")
            .join(name);
        assert!(accepts(&std::fs::read_to_string(file).unwrap()), "{name}");
    }
}
