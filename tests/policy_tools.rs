//! The tools for policies at the command line: list, try, add, remove, fmt, schema, and what `check`
//! says of names.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the program under test is started plainly"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A home and a workspace, taken away at the end.
struct Place {
    root: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("tipstaff-tools-{name}-{}", std::process::id()));
        for folder in ["home/.config/tipstaff", "ws/.git", "ws/.tipstaff"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        // The same whatever the umask of whoever tests: a policy others can write is refused.
        for folder in ["home/.config/tipstaff", "ws/.tipstaff"] {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(root.join(folder), mode).unwrap();
        }
        Self { root }
    }

    fn user(&self) -> PathBuf {
        self.root.join("home/.config/tipstaff/policy.toml")
    }

    fn project(&self) -> PathBuf {
        self.root.join("ws/.tipstaff/policy.toml")
    }

    fn write(&self, file: &Path, text: &str) {
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tipstaff"))
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.root.join("ws"))
            .stdin(Stdio::null())
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Runs `policy …`; the exit status, standard output and standard error.
    fn policy(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.run(&[&["policy"], arguments].concat());
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// Puts lines into the record, as they are asked about and refused: nobody is there to answer.
    fn decide(&self, lines: &[&str]) -> bool {
        lines.iter().all(|line| {
            let output = self.run(&["run", "-c", line]);
            // Without a sandbox the run fails, and its decision is in the record all the same.
            matches!(output.status.code(), Some(125 | 126))
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).ok();
    }
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

mod list {
    use super::*;

    const USER: &str = "version = 1\n[permissions]\nallow = [\"git log\"]\ndisable = [\"builtin.power\"]\n\n[[rule]]\nid = \"old\"\nverdict = \"deny\"\ncommands = [\"rm\"]\nexpires = \"2020-02-29\"\n";
    const PROJECT: &str =
        "version = 1\n[permissions]\nallow = [\"make\"]\ndeny = [\"make install\"]\n";

    #[test]
    fn every_rule_is_shown_with_its_place_and_whether_it_counts() {
        let place = Place::new("list");
        place.write(&place.user(), USER);
        place.write(&place.project(), PROJECT);
        let (code, out, _) = place.policy(&["list"]);
        assert_eq!(code, 0);
        let user = place.user();
        let project = place.project();
        for line in [
            format!("allow git log  [user:3, user {}:3]", user.display()),
            format!(
                "deny  rm  [old, user {}:6]  (does not count: expired on 2020-02-29)",
                user.display()
            ),
            format!(
                "deny  make install  [project:4, project {}:4]",
                project.display()
            ),
        ] {
            assert!(out.lines().any(|there| there == line), "{line}\n{out}");
        }
        let standing = |id: &str| {
            let line = out.lines().find(|line| line.contains(&format!("[{id},")));
            line.unwrap()
                .split_once("  (")
                .map_or("counts", |(_, said)| said)
                .to_owned()
        };
        assert!(standing("project:3").contains("nobody trusted"), "{out}");
        assert!(standing("builtin.power").contains("disabled"), "{out}");
        assert_eq!(standing("builtin.privilege"), "counts");
        assert_eq!(standing("builtin.own-files"), "counts");
        assert_eq!(standing("builtin.read-only"), "counts");
    }

    #[test]
    fn how_a_rule_runs_what_it_allows_is_told() {
        const TERMS: &str = "version = 1\n[[rule]]\nid = \"narrow\"\nverdict = \"allow\"\ncommands = [\"make\"]\nsandbox = \"read-only\"\nnetwork = true\nas_written = \"line\"\n[[rule]]\nid = \"plain\"\nverdict = \"allow\"\ncommands = [\"ls\"]\n";
        let place = Place::new("list-terms");
        place.write(&place.user(), TERMS);
        let (code, out, _) = place.policy(&["list"]);
        assert_eq!(code, 0);
        let of = |id: &str| out.lines().find(|line| line.contains(id)).unwrap();
        let told = "(sandbox = \"read-only\", network = true, as_written = \"line\")";
        assert!(of("narrow").ends_with(told), "{out}");
        assert!(of("plain").ends_with(']'), "{out}");
        let (_, out, _) = place.policy(&["list", "--json"]);
        let list: Value = serde_json::from_str(&out).unwrap();
        let rules = list["rules"].as_array().unwrap();
        let of = |id: &str| rules.iter().find(|rule| rule["id"] == id).unwrap();
        assert_eq!(of("narrow")["sandbox"], "read-only");
        assert_eq!(of("narrow")["network"], true);
        assert_eq!(of("narrow")["as_written"], "line");
        assert_eq!(of("plain")["sandbox"], Value::Null);
        assert_eq!(of("plain")["network"], false);
        assert_eq!(of("plain")["as_written"], Value::Null);
    }

    #[test]
    fn json_says_the_same_and_trust_makes_a_rule_count() {
        let place = Place::new("list-json");
        place.write(&place.user(), USER);
        place.write(&place.project(), PROJECT);
        let rules = |place: &Place| -> Vec<Value> {
            let (code, out, _) = place.policy(&["list", "--json"]);
            assert_eq!(code, 0);
            let list: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(list["schema"], "tipstaff.policy-list/1");
            list["rules"].as_array().unwrap().clone()
        };
        let find = |rules: &[Value], id: &str| -> Value {
            rules.iter().find(|rule| rule["id"] == id).unwrap().clone()
        };
        let before = rules(&place);
        let make = find(&before, "project:3");
        assert_eq!(make["standing"], "untrusted");
        assert_eq!(make["counts"], false);
        assert_eq!(make["file"], place.project().to_str().unwrap());
        assert_eq!(make["line"], 3);
        assert_eq!(find(&before, "old")["expires"], "2020-02-29");
        assert_eq!(find(&before, "builtin.power")["file"], Value::Null);
        assert_eq!(place.policy(&["trust"]).0, 0);
        assert_eq!(find(&rules(&place), "project:3")["counts"], true);
    }

    #[test]
    fn defaults_that_are_off_do_not_count_and_a_broken_policy_lists_nothing() {
        let place = Place::new("list-off");
        let off = "version = 1\n[permissions]\nread_only_defaults = false\n";
        place.write(&place.user(), off);
        let (_, out, _) = place.policy(&["list"]);
        let line = out.lines().find(|line| line.contains("builtin.read-only"));
        assert!(line.unwrap().contains("disabled"), "{out}");
        place.write(&place.user(), "version = 1\nmoed = \"plan\"\n");
        let (code, out, err) = place.policy(&["list"]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("policy.toml:2:1"), "{err}");
    }
}

mod trying {
    use super::*;

    #[test]
    fn the_exit_status_says_whether_every_line_is_matched() {
        let place = Place::new("try");
        for (rule, lines, code) in [
            ("git log", &[][..], 0),
            ("git log", &["git log --oneline", "git --no-pager log"], 0),
            ("git log", &["git log", "git push"], 3),
            ("git log", &["git log | head"], 3),
            ("{git,head}", &["git log | head"], 0),
            ("= touch x", &["touch x y"], 3),
            ("re:touch .*", &["touch x y"], 0),
            ("write(out/**)", &["touch x > out/a"], 0),
            ("git log >x", &[], 2),
            ("writ(x)", &[], 2),
            ("", &[], 2),
        ] {
            let got = place.policy(&[&["try", rule], lines].concat());
            assert_eq!(got.0, code, "{rule} {lines:?}: {} {}", got.1, got.2);
        }
        let deny = place.policy(&[
            "try",
            "--verdict",
            "deny",
            "git push",
            "ls; sh -c 'git -C x push'",
        ]);
        assert_eq!(deny.0, 0, "{}", deny.1);
        assert!(!place.user().exists(), "trying writes nothing");
    }

    #[test]
    fn how_it_is_read_is_said() {
        let place = Place::new("try-read");
        for (rule, said) in [
            (
                "git log",
                &["program    `git`", "word       `log`", "these words first"][..],
            ),
            ("= cargo test", &["exactly these words"]),
            (
                "git {log,show} **",
                &["one of `log`, `show`", "any number of words"],
            ),
            ("/opt/x/run", &["the file `/opt/x/run`"]),
            ("re:git (log|show)", &["has to match the whole command"]),
            (
                "write(./out/**)",
                &["seen from the workspace", "opens for writing"],
            ),
            ("env(RUST_*)", &["variable   `RUST_*`"]),
            (
                "network(example.org:443)",
                &["host       `example.org:443`"],
            ),
            ("* --help", &["any program called by a bare name"]),
            ("gti log", &["did you mean `git`?"]),
            ("bash", &["danger     `bash` runs whatever"]),
        ] {
            let (code, out, _) = place.policy(&["try", rule]);
            assert_eq!(code, 0);
            for said in said {
                assert!(out.contains(said), "{rule}: {said}\n{out}");
            }
        }
    }

    #[test]
    fn what_the_rule_leaves_open_is_noted() {
        let place = Place::new("try-notes");
        for (rule, line, note) in [
            ("touch", "touch x > out", "it needs `write(out)`"),
            (
                "touch",
                "LD_PRELOAD=x touch y",
                "it needs `env(LD_PRELOAD)`",
            ),
            (
                "xargs",
                "xargs touch",
                "the program it starts needs a rule of its own",
            ),
            ("touch", "mkdir x", "an allow rule such as `mkdir`"),
            ("touch", "no-such-program-here", "install the program"),
            ("tar", "tar cf x *", "asks all the same"),
        ] {
            let (_, out, _) = place.policy(&["try", rule, line]);
            assert!(out.contains(note), "{rule} on {line}: {note}\n{out}");
        }
        let (code, out, _) = place.policy(&["try", "--json", "touch", "touch x > out; mkdir y"]);
        assert_eq!(code, 3);
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(said["schema"], "tipstaff.policy-try/1");
        let commands = &said["lines"][0]["commands"];
        assert_eq!(commands[0]["matched"], "matched");
        assert_eq!(commands[0]["notes"].as_array().unwrap().len(), 1);
        assert_eq!(commands[1]["matched"], "no match");
        assert_eq!(said["danger"], Value::Null);
    }
}

mod changing {
    use super::*;

    const TEXT: &str = "# mine\nversion = 1\n\n[permissions] # the list\nallow = [\n  \"git log\", # reading\n  # building\n  \"make\",\n]\n\n[sandbox]\nnetwork = \"off\"\n";

    #[test]
    fn a_rule_is_added_in_place_and_taken_out_again() {
        let place = Place::new("add");
        let (code, out, err) = place.policy(&["add", "git log"]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("added allow `git log`"), "{out}");
        assert_eq!(
            read(&place.user()),
            "version = 1\n\n[permissions]\nallow = [\"git log\"]\n"
        );
        let mode = |file: &Path| std::fs::metadata(file).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&place.user()), 0o600);

        place.write(&place.user(), TEXT);
        assert_eq!(
            place
                .policy(&["add", "--verdict", "deny", "git push ** -f"])
                .0,
            0
        );
        assert_eq!(place.policy(&["add", "touch x"]).0, 0);
        let more = TEXT.replace(
            "\"make\",\n]",
            "\"make\",\n  \"touch x\",\n]\ndeny = [\"git push ** -f\"]",
        );
        assert_eq!(read(&place.user()), more);
        assert_eq!(mode(&place.user()), 0o644, "the mode is kept");
        let (code, out, _) = place.policy(&["add", "touch x"]);
        assert_eq!(code, 0);
        assert!(out.contains("is there already"), "{out}");
        assert_eq!(place.policy(&["remove", "touch x"]).0, 0);
        assert_eq!(place.policy(&["remove", "git push ** -f"]).0, 0);
        assert_eq!(
            read(&place.user()),
            TEXT.replace("\n]\n\n[sandbox]", "\n]\ndeny = []\n\n[sandbox]")
        );
        assert!(
            std::fs::read_dir(place.user().parent().unwrap())
                .unwrap()
                .count()
                == 1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn what_would_not_load_is_never_written() {
        let place = Place::new("add-bad");
        for rule in ["git log | head", "write(a b)", "re:(", "kind(x)", "  "] {
            let (code, _, err) = place.policy(&["add", rule]);
            assert_eq!(code, 2, "{rule}: {err}");
        }
        assert!(!place.user().exists());
        let broken = "version = 1\nmoed = \"plan\"\n";
        place.write(&place.user(), broken);
        let (code, _, err) = place.policy(&["add", "git log"]);
        assert_eq!(code, 2);
        assert!(err.contains("moed"), "{err}");
        assert_eq!(read(&place.user()), broken);
        assert_eq!(place.policy(&["add", "--user", "--project", "ls"]).0, 2);
        assert_eq!(place.policy(&["add", "--verdict", "permit", "ls"]).0, 2);
    }

    #[test]
    fn what_is_dangerous_has_to_be_meant() {
        let place = Place::new("add-danger");
        for rule in [
            "bash",
            "python3",
            "env",
            "xargs",
            "sudo",
            "node",
            "*",
            "re:.*",
            "write(/**)",
            "env(*)",
            "env(LD_*)",
            "env(PATH)",
            "network(*)",
        ] {
            let (code, _, err) = place.policy(&["add", rule]);
            assert_eq!(code, 1, "{rule}: {err}");
            assert!(
                err.contains("refused") && err.contains("help: "),
                "{rule}: {err}"
            );
            assert!(!place.user().exists(), "{rule}");
        }
        assert_eq!(place.policy(&["add", "--verdict", "deny", "bash"]).0, 0);
        assert_eq!(place.policy(&["add", "--even-if-dangerous", "bash"]).0, 0);
        assert!(read(&place.user()).contains("allow = [\"bash\"]"));
    }

    #[test]
    fn other_files_and_the_project_can_be_meant() {
        let place = Place::new("add-target");
        let (code, out, err) = place.policy(&["add", "--project", "make"]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("policy trust"), "{out}");
        assert!(read(&place.project()).contains("allow = [\"make\"]"));
        assert_eq!(place.policy(&["add", "--file", "other.toml", "make"]).0, 0);
        assert!(read(&place.root.join("ws/other.toml")).contains("make"));
        // A project cannot set things up, and adding must not make it so.
        let (code, _, err) = place.policy(&["remove", "make"]);
        assert_eq!(code, 2);
        assert!(err.contains(".tipstaff/policy.toml:4"), "{err}");
        assert_eq!(place.policy(&["remove", "--project", "project:4"]).0, 0);
        assert!(read(&place.project()).contains("allow = []"));
    }

    #[test]
    fn removing_says_what_is_not_there() {
        let place = Place::new("remove");
        place.write(&place.user(), TEXT);
        for (wanted, said) in [
            ("git lgo", "did you mean `git log`?"),
            ("builtin.power", "disable = [\"builtin.power\"]"),
            ("nothing like it", "there is no rule"),
        ] {
            let (code, _, err) = place.policy(&["remove", wanted]);
            assert_eq!(code, 2, "{wanted}");
            assert!(err.contains(said), "{wanted}: {err}");
        }
        assert_eq!(read(&place.user()), TEXT);
        assert_eq!(place.policy(&["remove", "--dry-run", "make"]).0, 0);
        assert_eq!(read(&place.user()), TEXT);
        let long = "version = 1\n\n# keep\n\n# of it\n[[rule]]\nid = \"x\"\nverdict = \"ask\"\ncommands = [\"a\"]\n";
        place.write(&place.user(), long);
        assert_eq!(place.policy(&["remove", "x"]).0, 0);
        assert_eq!(read(&place.user()), "version = 1\n\n# keep\n");
    }

    #[test]
    fn what_a_change_would_do_to_the_record_is_shown_first() {
        let place = Place::new("preview");
        let (_, out, _) = place.policy(&["add", "--dry-run", "touch"]);
        assert!(out.contains("holds no line"), "{out}");
        assert!(!place.user().exists());
        assert!(place.decide(&["touch a", "touch a", "touch b", "touch c > d", "mkdir e"]));
        let (code, out, err) = place.policy(&["add", "--dry-run", "touch"]);
        assert_eq!(code, 0, "{err}");
        assert!(
            out.contains(
                "2 of the 4 newest lines of the record: ask today, allow with this change"
            ),
            "{out}"
        );
        assert!(out.contains("touch a") && out.contains("touch b"), "{out}");
        assert!(!out.contains("touch c"), "{out}");
        assert!(!place.user().exists(), "a dry run writes nothing");
        let (_, out, _) = place.policy(&["add", "--verdict", "deny", "mkdir"]);
        assert!(
            out.contains("1 of the 4 newest lines of the record: ask today, deny"),
            "{out}"
        );
        let (_, out, _) = place.policy(&["add", "ls"]);
        assert!(out.contains("none of the 4"), "{out}");
        let (_, out, _) = place.policy(&["remove", "mkdir"]);
        assert!(out.contains("deny today, ask with this change"), "{out}");
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let place = Place::new("race");
        let place = &place;
        std::thread::scope(|scope| {
            for number in 0..6 {
                scope.spawn(move || {
                    let rule = format!("touch n{number}");
                    assert_eq!(place.policy(&["add", &rule]).0, 0);
                });
            }
        });
        let text = read(&place.user());
        for number in 0..6 {
            assert!(text.contains(&format!("\"touch n{number}\"")), "{text}");
        }
    }
}

mod layout {
    use super::*;

    const MESSY: &str = "# a policy of mine\n\n# of the sandbox\n[sandbox] # here\nnetwork='off'\nprofile =   \"workspace\"\n\n\n[[rule]]\nwhy = \"because\"\ncommands = [\"git push\"] # of commands\nverdict = 'deny'\n# of id\nid = \"r\"\n\n\n\n[permissions]\ndeny = [\"rm # no comment\",'it''', \"x\"]\n# of allow\nallow = [ # first\n\"a\", # of a\n      # above b\n\"b\"\n# tail\n]\n# the end\n";

    #[test]
    fn one_layout_with_every_comment_and_twice_the_same() {
        let place = Place::new("fmt");
        let file = place.root.join("ws/p.toml");
        let messy = format!("version = 1\n{}", MESSY.replace("'it''', ", ""));
        place.write(&file, &messy);
        let name = file.to_str().unwrap();
        let (code, out, err) = place.policy(&["fmt", "--check", name]);
        assert_eq!(code, 1, "{err}");
        assert!(out.contains("would change"), "{out}");
        assert_eq!(read(&file), messy);
        let (code, _, err) = place.policy(&["fmt", name]);
        assert_eq!(code, 0, "{err}");
        let laid_out = read(&file);
        assert_eq!(
            laid_out,
            "version = 1\n\n[permissions]\n# of allow\nallow = [\n    # first\n    \"a\", # of a\n    # above b\n    \"b\",\n    # tail\n]\ndeny = [\"rm # no comment\", \"x\"]\n\n[[rule]]\n# of id\nid = \"r\"\nverdict = 'deny'\ncommands = [\"git push\"] # of commands\nwhy = \"because\"\n\n# a policy of mine\n\n# of the sandbox\n[sandbox] # here\nprofile = \"workspace\"\nnetwork = 'off'\n# the end\n"
        );
        assert_eq!(place.policy(&["fmt", "--check", name]).0, 0);
        assert_eq!(place.policy(&["check", name]).0, 0);
    }

    #[test]
    fn what_is_no_policy_is_left_alone() {
        let place = Place::new("fmt-bad");
        let file = place.root.join("ws/p.toml");
        let name = file.to_str().unwrap();
        for (text, said) in [
            ("version = \n", "no TOML"),
            ("[package]\nname = \"x\"\n", "unknown key `package`"),
            (
                "version = 1\npermissions = 3\n",
                "`permissions` is not what it should be",
            ),
        ] {
            place.write(&file, text);
            let (code, _, err) = place.policy(&["fmt", name]);
            assert_eq!(code, 2, "{text}");
            assert!(err.contains(said), "{text}: {err}");
            assert_eq!(read(&file), text);
        }
        assert_eq!(place.policy(&["fmt", "absent.toml"]).0, 2);
        assert_eq!(place.policy(&["fmt"]).0, 2);
    }

    #[test]
    fn the_policies_of_this_tree_are_laid_out() {
        let place = Place::new("fmt-own");
        for name in ["builtin.toml", "example.toml"] {
            let file = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("policies")
                .join(name);
            let copy = place.root.join("ws").join(name);
            place.write(&copy, &read(&file));
            let (code, out, err) = place.policy(&["fmt", copy.to_str().unwrap()]);
            assert_eq!(code, 0, "{err}");
            assert_eq!(read(&copy), read(&file), "{out}");
        }
    }
}

#[test]
fn check_notes_a_name_that_is_no_program_here() {
    let place = Place::new("names");
    place.write(
        &place.user(),
        "version = 1\n[permissions]\ndeny = [\"gti push\", \"git push\", \"qx-nothing-like-it\"]\n",
    );
    let (code, _, err) = place.policy(&["check"]);
    assert_eq!(code, 0);
    assert!(
        err.contains("policy.toml:3: there is no program `gti` here; did you mean `git`?"),
        "{err}"
    );
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn the_schema_is_printed_and_is_the_shipped_one() {
    let place = Place::new("schema");
    let (code, out, _) = place.policy(&["schema"]);
    assert_eq!(code, 0);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.schema.json");
    assert_eq!(out, read(&file));
}
