//! Lists the files of `policies/programs/` with the names they speak of, so that a new file needs no
//! entry elsewhere.
//!
//! Names are taken by line, not by a TOML parser: the line after `[[program]]` is `names = [...]`. A
//! test compares them with what the parser finds.
#![allow(
    clippy::print_stdout,
    reason = "a build script speaks to cargo by printing"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=policies/programs");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("policies/programs");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    let mut table = format!(
        "pub(super) const FILES: [ProgramFile; {}] = [\n",
        files.len()
    );
    let mut all = Vec::new();
    for (at, path) in files.iter().enumerate() {
        let text = fs::read_to_string(path)?;
        let names =
            names(&text).map_err(|line| format!("{}:{line}: no `names`", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(
            table,
            "    ProgramFile {{ name: {name:?}, names: &{names:?}, text: include_str!({path:?}) }},"
        )?;
        all.extend(names.into_iter().map(|name| (name.to_owned(), at)));
    }
    table.push_str("];\n");
    // In order, for a binary search.
    all.sort();
    writeln!(
        table,
        "pub(super) static NAMES: [(&str, usize); {}] = {all:?};",
        all.len()
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("programs.rs"), table)?;
    Ok(())
}

/// The names of a file's programs, or the line where they are missing.
fn names(text: &str) -> Result<Vec<&str>, usize> {
    let mut names = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line.trim() != "[[program]]" {
            continue;
        }
        let listed = lines
            .next()
            .and_then(|(_, line)| line.strip_prefix("names = [")?.strip_suffix(']'))
            .ok_or(at + 2)?;
        names.extend(listed.split(", ").map(|name| name.trim_matches('"')));
    }
    Ok(names)
}
