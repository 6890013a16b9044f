//! The program knowledge as its files say it, read without the code under test: names, helpers, examples,
//! options.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tipstaff::policy::program_files;
use toml::Value;

/// What the files say of one program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub names: Vec<String>,
    /// Programs it may start though its argv does not name them.
    pub helpers: BTreeSet<String>,
    /// Lines that are known to change nothing.
    pub read_only: Vec<String>,
    /// Option texts such as `-o, --output WRITE`, of the program and of each sub-command; those that start
    /// something last and apart.
    pub options: Options,
    pub subcommands: Vec<(String, Options)>,
    pub is_carrier: bool,
}

/// The option texts of one level.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub quiet: Vec<String>,
    pub executing: Vec<String>,
}

/// Every program of every file.
pub fn programs() -> Result<Vec<Program>, String> {
    let mut all = Vec::new();
    for file in program_files() {
        let value: Value =
            toml::from_str(file.text).map_err(|error| format!("{}: {error}", file.name))?;
        let entries = value.get("program").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let mut program = Program::default();
            read(entry, &mut program);
            all.push(program);
        }
    }
    Ok(all)
}

fn read(entry: &Value, program: &mut Program) {
    program.names = texts(entry.get("names"));
    program.options = options(entry);
    program.is_carrier = entry.get("carrier").is_some();
    collect(entry, program);
}

/// Helpers and examples of an entry and of all its sub-commands.
fn collect(entry: &Value, program: &mut Program) {
    program.helpers.extend(texts(entry.get("helpers")));
    let examples = entry.get("examples");
    let kind = |name: &str| texts(examples.and_then(|examples| examples.get(name)));
    program.read_only.extend(kind("read_only"));
    let inner = entry.get("subcommand").and_then(Value::as_array);
    for sub in inner.into_iter().flatten() {
        collect(sub, program);
        for name in texts(sub.get("names")) {
            program.subcommands.push((name, options(sub)));
        }
    }
}

fn options(entry: &Value) -> Options {
    Options {
        quiet: ["harmless", "neutral", "known", "writes"]
            .into_iter()
            .flat_map(|group| texts(entry.get(group)))
            .collect(),
        executing: texts(entry.get("executes")),
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Names that a shell has itself, whatever PATH holds.
const BUILT_IN: &str = "cd pushd popd set wait shift local return exit break continue read type export \
    declare typeset readonly unset let mapfile readarray getopts command builtin exec eval . source trap \
    compgen complete history fc coproc enable hash alias : ulimit umask jobs bg fg disown shopt bind \
    caller dirs suspend times";

/// Whether the shell has it, so that no file is needed.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.split_whitespace().any(|known| known == name)
}

/// Whether a shell runs it itself where a line names it, though there may be a file of that name.
pub fn runs_in_shell(name: &str) -> bool {
    is_built_in(name)
        || [
            "true", "false", "echo", "printf", "test", "[", "pwd", "kill",
        ]
        .contains(&name)
}

/// Where each known name lies that is installed here.
pub fn installed(programs: &[Program], path: &str) -> BTreeMap<String, PathBuf> {
    let names = programs.iter().flat_map(|program| &program.names);
    names
        .filter_map(|name| Some((name.clone(), find(name, path)?)))
        .collect()
}

/// The first executable file of that name in PATH.
pub fn find(name: &str, path: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    path.split(':')
        .map(|folder| Path::new(folder).join(name))
        .find(is_program)
}

/// Folders that are searched for programs: those of every system, and the real folder of the Rust
/// toolchain, past the links that choose one.
pub fn search_path() -> String {
    let mut folders = vec![
        "/usr/local/bin".to_owned(),
        "/usr/bin".to_owned(),
        "/bin".to_owned(),
        "/usr/local/sbin".to_owned(),
        "/usr/sbin".to_owned(),
        "/sbin".to_owned(),
    ];
    let asked = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output();
    if let Ok(answer) = asked
        && answer.status.success()
    {
        folders.push(format!(
            "{}/bin",
            String::from_utf8_lossy(&answer.stdout).trim()
        ));
    }
    folders.join(":")
}
