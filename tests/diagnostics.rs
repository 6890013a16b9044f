//! Mistakes in policies and the messages they give, whole: file, line, column, caret, help.
//!
//! `UPDATE_GOLDEN=1 cargo test --test diagnostics` writes the messages anew; read the difference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;

use tipstaff::model::judgement::Layer;
use tipstaff::policy::{PolicyError, Source, load};

/// Name, layer, text. The first line of every text is `version = 1` unless the mistake is there.
const MISTAKES: &[(&str, Layer, &str)] = &[
    ("no version", Layer::User, "mode = \"default\"\n"),
    ("unknown version", Layer::User, "version = 2\n"),
    (
        "version of the wrong type",
        Layer::User,
        "version = \"1\"\n",
    ),
    (
        "no TOML",
        Layer::User,
        "version = 1\n[permissions\nallow = []\n",
    ),
    (
        "unclosed string",
        Layer::User,
        "version = 1\nmode = \"default\n",
    ),
    (
        "key written twice",
        Layer::User,
        "version = 1\nmode = \"plan\"\nmode = \"default\"\n",
    ),
    (
        "unknown top key",
        Layer::User,
        "version = 1\npermisions = { allow = [\"ls\"] }\n",
    ),
    (
        "unknown permission key",
        Layer::User,
        "version = 1\n[permissions]\nalow = [\"ls\"]\n",
    ),
    (
        "several mistakes at once",
        Layer::User,
        "version = 1\nmode = \"fast\"\n[permissions]\ndney = [\"rm\"]\nask = \"git\"\nallow = [\"\", 3]\n",
    ),
    (
        "wrong type of a list",
        Layer::User,
        "version = 1\n[permissions]\nallow = \"ls\"\n",
    ),
    (
        "wrong type in a list",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"ls\", 7]\n",
    ),
    (
        "wrong type of a switch",
        Layer::User,
        "version = 1\n[permissions]\nread_only_defaults = \"yes\"\n",
    ),
    (
        "empty pattern",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"  \"]\n",
    ),
    (
        "empty program",
        Layer::User,
        "version = 1\n[permissions]\ndeny = [\"'' x\"]\n",
    ),
    (
        "operator in a pattern",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"git add && git commit\"]\n",
    ),
    (
        "open quote",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"echo 'hi\"]\n",
    ),
    (
        "variable in a pattern",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"cat $FILE\"]\n",
    ),
    (
        "double star as program",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"** status\"]\n",
    ),
    (
        "exact with double star",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"= git ** status\"]\n",
    ),
    (
        "alternatives inside a word",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"cat src/{a,b}.rs\"]\n",
    ),
    (
        "assignment as program",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"CI=1 make\"]\n",
    ),
    (
        "bad expression",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"re:git (log\"]\n",
    ),
    (
        "expression that breaks out",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"re:ls)|(rm .*\"]\n",
    ),
    (
        "huge expression",
        Layer::User,
        "version = 1\n[permissions]\ndeny = ['re:(\\w{900}){900}']\n",
    ),
    (
        "bad digest",
        Layer::User,
        "version = 1\n[permissions]\ndeny = [\"sha256:abc\"]\n",
    ),
    (
        "unknown kind",
        Layer::User,
        "version = 1\n[permissions]\ndeny = [\"writes(/etc/**)\"]\n",
    ),
    (
        "tool without a server",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"mcp(read_one)\"]\n",
    ),
    (
        "delete of no path",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"delete(build/)\"]\n",
    ),
    (
        "empty path",
        Layer::User,
        "version = 1\n[permissions]\ndeny = [\"write()\"]\n",
    ),
    (
        "bad glob",
        Layer::User,
        "version = 1\n[permissions]\ndeny = [\"write(src/[a)\"]\n",
    ),
    (
        "parent in a path pattern",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"write(../x/**)\"]\n",
    ),
    (
        "slash at the end",
        Layer::User,
        "version = 1\n[permissions]\ndeny = [\"read(secrets/)\"]\n",
    ),
    (
        "value in env",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"env(CI=1)\"]\n",
    ),
    (
        "bad port",
        Layer::User,
        "version = 1\n[permissions]\nallow = [\"network(host.example:http)\"]\n",
    ),
    (
        "unknown rule key",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\nwihtout = [\"-i\"]\n",
    ),
    (
        "sandbox of a deny rule",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"make\"]\nsandbox = \"read-only\"\n",
    ),
    (
        "sandbox that does not exist",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"allow\"\ncommands = [\"make\"]\nsandbox = \"none\"\n",
    ),
    (
        "sandbox of a rule on paths",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"allow\"\nkind = \"write\"\npaths = [\"out/**\"]\nsandbox = \"read-only\"\n",
    ),
    (
        "network of an ask rule",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"ask\"\ncommands = [\"curl\"]\nnetwork = true\n",
    ),
    (
        "network of the wrong type",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"allow\"\ncommands = [\"curl\"]\nnetwork = \"full\"\n",
    ),
    (
        "rule without verdict",
        Layer::User,
        "version = 1\n[[rule]]\ncommands = [\"rm\"]\n",
    ),
    (
        "wrong verdict",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"block\"\ncommands = [\"rm\"]\n",
    ),
    (
        "rule without commands",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\n",
    ),
    (
        "rule with an empty list",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = []\n",
    ),
    (
        "paths without kind",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\npaths = [\"x\"]\n",
    ),
    (
        "options of a path rule",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\nkind = \"write\"\npaths = [\"x\"]\nwith = [\"-f\"]\n",
    ),
    (
        "empty with",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\nwith = []\n",
    ),
    (
        "no option",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\nwith = [\"force\"]\n",
    ),
    (
        "can never match",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\nwith_all = [\"-r\"]\nwithout = [\"-r\"]\n",
    ),
    (
        "wrong args",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"allow\"\ncommands = [\"cat\"]\nargs = \"home\"\n",
    ),
    (
        "no date",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"allow\"\ncommands = [\"cat\"]\nexpires = \"2027-02-30\"\n",
    ),
    (
        "bad id",
        Layer::User,
        "version = 1\n[[rule]]\nid = \"no spaces\"\nverdict = \"deny\"\ncommands = [\"rm\"]\n",
    ),
    (
        "id taken",
        Layer::User,
        "version = 1\n[[rule]]\nid = \"a\"\nverdict = \"deny\"\ncommands = [\"rm\"]\n[[rule]]\nid = \"a\"\nverdict = \"ask\"\ncommands = [\"mv\"]\n",
    ),
    (
        "id of a built-in rule",
        Layer::User,
        "version = 1\n[[rule]]\nid = \"builtin.power\"\nverdict = \"allow\"\ncommands = [\"halt\"]\n",
    ),
    (
        "example that does not match",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"git push\"]\nwith = [\"--force\"]\nmatch = [\"git push --forc\", \"git push\"]\n",
    ),
    (
        "example that matches",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\nno_match = [\"/bin/rm x\"]\n",
    ),
    (
        "example that is no command",
        Layer::User,
        "version = 1\n[[rule]]\nverdict = \"deny\"\ncommands = [\"rm\"]\nmatch = [\"rm 'x\"]\n",
    ),
    (
        "unknown mode",
        Layer::User,
        "version = 1\nmode = \"yolo\"\n",
    ),
    (
        "unknown profile",
        Layer::User,
        "version = 1\n[sandbox]\nprofile = \"none\"\n",
    ),
    (
        "unknown way of the gate",
        Layer::User,
        "version = 1\n[sandbox]\ngate = \"tight\"\n",
    ),
    (
        "table for later",
        Layer::User,
        "version = 1\n[reviewer]\ncommand = [\"x\"]\n",
    ),
    (
        "forbid_root outside the managed layer",
        Layer::User,
        "version = 1\n[sandbox]\nforbid_root = true\n",
    ),
    (
        "relative approver",
        Layer::User,
        "version = 1\n[approvals]\ncommand = [\"approve\"]\n",
    ),
    (
        "timeout out of range",
        Layer::User,
        "version = 1\n[approvals]\ntimeout = 0\n",
    ),
    (
        "relative within",
        Layer::User,
        "version = 1\n[workspace]\nwithin = [\"src\"]\n",
    ),
    (
        "unknown rule to disable",
        Layer::User,
        "version = 1\n[permissions]\ndisable = [\"builtin.powr\"]\n",
    ),
    (
        "project that disables",
        Layer::Project,
        "version = 1\n[permissions]\ndisable = [\"builtin.power\"]\n",
    ),
    (
        "project with a mode",
        Layer::Project,
        "version = 1\nmode = \"bypass\"\n",
    ),
    (
        "control characters",
        Layer::Project,
        "version = 1\n[permissions]\ndeny = [\"rm\\u001b[2J\"]\n",
    ),
    (
        "deceptive key",
        Layer::Project,
        "version = 1\n\"all\u{202e}wo\" = 1\n",
    ),
];

fn mistake(layer: Layer, text: &str) -> PolicyError {
    load(&[Source {
        layer,
        name: "policy.toml".to_owned(),
        text: text.to_owned(),
        trusted: true,
    }])
    .unwrap_err()
}

#[test]
fn every_mistake_gives_its_message() {
    let mut messages = String::new();
    for (name, layer, text) in MISTAKES {
        let error = mistake(*layer, text);
        write!(messages, "# {name}\n{}\n\n", error.render()).unwrap();
    }
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/diagnostics/messages.txt"
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &messages).unwrap();
    }
    let wanted = std::fs::read_to_string(golden).unwrap_or_default();
    for (now, before) in messages.split("\n\n# ").zip(wanted.split("\n\n# ")) {
        assert_eq!(now, before);
    }
    assert_eq!(messages, wanted);
}

#[test]
fn a_message_can_drive_no_terminal() {
    for (name, layer, text) in MISTAKES {
        let shown = mistake(*layer, text).render();
        let hidden = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(hidden), "{name}: {shown:?}");
    }
}

#[test]
fn every_fault_has_its_place() {
    let text = "version = 1\nmode = \"fast\"\n[permissions]\ndney = [\"rm\"]\n";
    let error = mistake(Layer::User, text);
    let places: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.line, fault.column))
        .collect();
    assert_eq!(places, [(2, 8), (4, 1)]);
    assert_eq!(
        error.to_string(),
        "policy.toml:2:8: `fast` is not a mode; modes are plan, default, accept-edits, review, \
         audit, dont-ask, autopilot, bypass; policy.toml:4:1: unknown key `dney` in [permissions]"
    );
}

#[test]
fn one_bad_file_refuses_all() {
    let good = Source {
        layer: Layer::User,
        name: "good.toml".to_owned(),
        text: "version = 1\n".to_owned(),
        trusted: true,
    };
    let bad = Source {
        layer: Layer::Managed,
        name: "bad.toml".to_owned(),
        text: "version = 1\nx = 1\n".to_owned(),
        trusted: true,
    };
    assert!(load(std::slice::from_ref(&good)).is_ok());
    let error = load(&[good, bad]).expect_err("half a policy loads");
    assert_eq!(error.faults().len(), 1);
    assert_eq!(error.faults()[0].file, "bad.toml");
}
