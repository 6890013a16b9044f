//! The example policies do what their cases say, every rule of them decides some case, and nothing of them
//! is likely not meant.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the program under test is started plainly"
)]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const NAMES: [&str; 6] = [
    "rust",
    "node",
    "python",
    "go",
    "ci-runner",
    "locked-down-team",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/examples")
}

/// A copy, since a policy that others can write is refused, and a checkout may be anybody's.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("tipstaff-examples-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let mode = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).unwrap();
        };
        mode(&root, 0o755);
        for entry in std::fs::read_dir(folder()).unwrap() {
            let entry = entry.unwrap();
            let to = root.join(entry.file_name());
            std::fs::copy(entry.path(), &to).unwrap();
            mode(&to, 0o644);
        }
        Self(root)
    }

    fn policy(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tipstaff"))
            .env_clear()
            .env("HOME", &self.0)
            .env("PATH", "/usr/bin:/bin")
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .arg("policy")
            .args(arguments)
            .output()
            .unwrap()
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.policy(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        let value = serde_json::from_str(&text).unwrap_or_else(|error| {
            unreachable!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
        });
        (output.status.code().unwrap(), value)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn every_example_has_its_cases_and_is_named_in_the_reference() {
    let files: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let wanted: BTreeSet<String> = NAMES
        .iter()
        .flat_map(|name| [format!("{name}.toml"), format!("{name}.test.toml")])
        .collect();
    assert_eq!(files, wanted);
    let page = folder().parent().unwrap().join("README.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in NAMES {
        assert!(page.contains(&format!("`examples/{name}.toml`")), "{name}");
    }
}

#[test]
fn every_case_holds_and_every_rule_decides_one() {
    let copy = Copy::new("cases");
    for name in NAMES {
        let file = format!("{name}.test.toml");
        let (code, said) = copy.json(&["test", "--cover", "--json", &file]);
        assert_eq!(code, 0, "{name}: {said}");
        let cases = said["cases"].as_array().unwrap();
        assert!(cases.len() >= 15, "{name}: {}", cases.len());
        for verdict in ["allow", "ask", "deny"] {
            let some = cases.iter().any(|case| case["expected"] == verdict);
            assert!(some, "{name} expects no {verdict}");
        }
    }
}

#[test]
fn nothing_is_found_in_them_and_they_are_laid_out() {
    let copy = Copy::new("lint");
    for name in NAMES {
        let file = format!("{name}.toml");
        let (code, said) = copy.json(&["lint", "--json", &file]);
        assert_eq!((code, &said["warnings"]), (0, &Value::from(0)), "{said}");
        assert_eq!(
            copy.policy(&["fmt", "--check", &file]).status.code(),
            Some(0),
            "{name}"
        );
    }
}
