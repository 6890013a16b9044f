//! The import law: which part of the house may name which other part.
//!
//! A floor imports lower floors only; the pure stages import `model` alone; a later stage may name an
//! earlier stage's product, never the reverse. A failure names the offending edge with file and line.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Each part of the house and what it may import. A part that is not listed may not exist.
const LAW: &[(&str, &[&str])] = &[
    // F0 nouns
    ("model", &[]),
    // F1 the kernel's edge
    ("sys", &[]),
    // F2 pure: facts in, values out
    ("shell", &["model"]),
    ("policy", &["model"]),
    ("plan", &["model"]),
    // F2 effects, in the order of the pipeline
    ("layers", &["model", "sys", "policy"]),
    ("resolve", &["model", "sys"]),
    ("sandbox", &["model", "sys", "plan", "resolve"]),
    ("approval", &["model", "sys", "plan", "resolve", "sandbox"]),
    ("gate", &["model", "sys", "resolve", "sandbox"]),
    (
        "launch",
        &[
            "model", "sys", "plan", "resolve", "sandbox", "approval", "gate",
        ],
    ),
    ("audit", &["model", "sys", "resolve"]),
    // F3 the pipeline
    (
        "supervisor",
        &[
            "model", "sys", "shell", "policy", "plan", "layers", "resolve", "sandbox", "approval",
            "gate", "launch", "audit",
        ],
    ),
    // F4 surfaces
    (
        "cli",
        &[
            "model",
            "sys",
            "shell",
            "policy",
            "plan",
            "layers",
            "resolve",
            "sandbox",
            "approval",
            "gate",
            "launch",
            "audit",
            "supervisor",
        ],
    ),
];

/// Parts that touch no file, environment, clock or process.
const PURE: &[&str] = &["model", "shell", "policy", "plan"];

/// What a pure part may not name: the doors of the standard library to the world.
const DOORS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::time::SystemTime",
    "std::time::Instant",
    "std::thread",
    "std::io::std",
    "nix::",
];

struct Line {
    file: PathBuf,
    number: usize,
    text: String,
}

fn parts() -> Vec<(String, Vec<PathBuf>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut parts = Vec::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let mut files = Vec::new();
            collect(&path, &mut files);
            parts.push((name, files));
        } else if name != "lib" && name != "main" {
            parts.push((name, vec![path]));
        }
    }
    parts
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The lines of a file without comments and without its `#[cfg(test)]` tail: tests may build what
/// they like.
fn lines(file: &Path) -> Vec<Line> {
    if file.file_stem().is_some_and(|stem| stem == "tests") {
        return Vec::new();
    }
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .enumerate()
        .take_while(|(_, text)| !text.starts_with("#[cfg(test)]"))
        .map(|(index, text)| Line {
            file: file.to_owned(),
            number: index + 1,
            text: text.split("//").next().unwrap_or_default().to_owned(),
        })
        .collect()
}

/// The parts that a line of code names by `crate::PART`, grouped imports included.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            found.extend(group.split(',').map(first_name));
        } else {
            found.push(first_name(rest));
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn first_name(text: &str) -> String {
    text.trim()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// Whether `door` stands in `text` as a path of its own: `std::os::unix::` is not `nix::`.
fn names_door(text: &str, door: &str) -> bool {
    text.match_indices(door).any(|(at, _)| {
        !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

fn offences(part: &str, lines: &[Line]) -> Vec<String> {
    let Some((_, allowed)) = LAW.iter().find(|(name, _)| *name == part) else {
        return vec![format!(
            "src/{part} has no place in the import law: add it to tests/floors.rs"
        )];
    };
    let mut offences = Vec::new();
    for line in lines {
        let place = format!("{}:{}", line.file.display(), line.number);
        for name in named(&line.text) {
            if name != part && !allowed.contains(&name.as_str()) {
                offences.push(format!("{place}: {part} -> {name}"));
            }
        }
        if PURE.contains(&part) {
            for door in DOORS.iter().filter(|door| names_door(&line.text, door)) {
                offences.push(format!("{place}: {part} is pure and names {door}"));
            }
        }
        if part != "sys"
            && line
                .text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|w| w == "unsafe")
        {
            offences.push(format!("{place}: unsafe outside sys"));
        }
    }
    offences
}

#[test]
fn every_import_goes_down_the_floors() {
    let parts = parts();
    assert!(parts.len() >= 3, "the test sees no tree");
    let offences: Vec<String> = parts
        .iter()
        .flat_map(|(part, files)| {
            let lines: Vec<Line> = files.iter().flat_map(|file| lines(file)).collect();
            offences(part, &lines)
        })
        .collect();
    assert!(
        offences.is_empty(),
        "edges against the import law:\n{}",
        offences.join("\n")
    );
}

#[test]
fn pure_parts_forbid_unsafe_in_their_first_file() {
    for (part, files) in parts() {
        if PURE.contains(&part.as_str()) {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
            let head = [
                root.join(&part).join("mod.rs"),
                root.join(format!("{part}.rs")),
            ]
            .into_iter()
            .find(|head| files.contains(head))
            .unwrap();
            let text = fs::read_to_string(&head).unwrap();
            assert!(
                text.contains("#![forbid(unsafe_code)]"),
                "{} does not",
                head.display()
            );
        }
    }
}

#[test]
fn a_planted_offence_is_named() {
    let planted = |text: &str| {
        vec![Line {
            file: PathBuf::from("planted.rs"),
            number: 7,
            text: text.to_owned(),
        }]
    };
    assert_eq!(
        offences("model", &planted("use crate::policy::Policy;")),
        ["planted.rs:7: model -> policy"]
    );
    assert_eq!(
        offences(
            "policy",
            &planted("use crate::{model::Verdict, shell::parse};")
        ),
        ["planted.rs:7: policy -> shell"]
    );
    assert_eq!(
        offences("shell", &planted("let home = std::env::var(\"HOME\");")),
        ["planted.rs:7: shell is pure and names std::env"]
    );
    assert_eq!(
        offences("launch", &planted("    unsafe { fork() };")),
        ["planted.rs:7: unsafe outside sys"]
    );
    assert!(offences("attic", &[])[0].contains("no place"));
}
