//! What the oracles are asked about: the lines of the corpus and the shell scripts of this machine.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The parser's own cap is 1 MiB; nothing on a system comes near.
const LONGEST: u64 = 1 << 20;

/// The written-out lines of `tests/corpus/shell.jsonl`.
pub fn lines() -> Vec<Vec<u8>> {
    include_str!("../../tests/corpus/shell.jsonl")
        .lines()
        .filter_map(|case| serde_json::from_str::<serde_json::Value>(case).ok())
        .filter_map(|case| Some(case.get("line")?.as_str()?.as_bytes().to_vec()))
        .filter(|line| !line.contains(&0))
        .collect()
}

/// A script found on this machine.
pub struct Found {
    pub path: PathBuf,
    pub text: Vec<u8>,
}

/// Every distinct shell script under /usr and /etc, by name or first line, in the order of their paths.
pub fn scripts() -> Vec<Found> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for top in ["/usr", "/etc"] {
        walk(Path::new(top), &mut seen, &mut found);
    }
    found
}

fn walk(folder: &Path, seen: &mut BTreeSet<Vec<u8>>, found: &mut Vec<Found>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if meta.is_dir() {
            walk(&path, seen, found);
        } else if meta.is_file()
            && meta.len() < LONGEST
            && let Some(text) = script(&path)
            && seen.insert(text.clone())
        {
            found.push(Found { path, text });
        }
    }
}

/// The text of the file, when it is a shell script. A NUL byte means data behind a shell header, which
/// shells skip and the parser refuses.
fn script(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut text = vec![0; 128];
    let read = file.read(&mut text).ok()?;
    text.truncate(read);
    let named = path.extension().is_some_and(|extension| extension == "sh");
    if !(named || names_a_shell(&text)) {
        return None;
    }
    file.read_to_end(&mut text).ok()?;
    (!text.contains(&0)).then_some(text)
}

fn names_a_shell(text: &[u8]) -> bool {
    let Some(line) = text.strip_prefix(b"#!") else {
        return false;
    };
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.split(|&byte| byte == b' ' || byte == b'/')
        .any(|word| matches!(word, b"sh" | b"bash" | b"dash"))
}
