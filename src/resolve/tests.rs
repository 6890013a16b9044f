//! The stage as its caller sees it, on real files; the real shell is the oracle where it can be.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nix::unistd::geteuid;

use super::testing::Tree;
use super::{Change, ResolveError, Resolver};
use crate::model::access::{Access, PathAccess, Source, Survey};
use crate::model::environment::Environment;
use crate::model::executable::{Executable, Format, Lookup, LookupError, Trust};
use crate::model::path::AbsolutePath;
use crate::model::script::{
    Assignment, Context, Dynamic, Folder, Piece, Script, Span, SubCommand, Word,
};

const NOBODY: u32 = 65534;

fn own() -> u32 {
    geteuid().as_raw()
}

fn resolver_for(tree: &Tree, path: &str, uid: u32) -> Resolver {
    let mut environment = Environment::default();
    environment.set("PATH", path);
    Resolver::new(&environment, &tree.root, &[], uid)
}

/// With `bin` of the tree and the system's folders as PATH.
fn resolver(tree: &Tree) -> Resolver {
    resolver_for(tree, &format!("{}/bin:/usr/bin:/bin", tree.root), own())
}

fn sub(words: &[&str]) -> SubCommand {
    SubCommand {
        span: Span::default(),
        context: Context::default(),
        folder: Folder::Start,
        argv: words
            .iter()
            .map(|word| Word::text(Span::default(), *word))
            .collect(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        carrier: None,
    }
}

fn carried(words: &[&str], carrier: usize) -> SubCommand {
    SubCommand {
        carrier: Some(carrier),
        ..sub(words)
    }
}

fn survey(subcommands: Vec<SubCommand>) -> Survey {
    Survey {
        accesses: subcommands.iter().map(|_| Vec::new()).collect(),
        script: Script {
            subcommands,
            ..Script::default()
        },
        ..Survey::default()
    }
}

fn lookups(resolver: &Resolver, survey: &Survey) -> Vec<Lookup> {
    resolver.pin(survey).unwrap().resolved.lookups
}

fn find(resolver: &Resolver, name: &str) -> Result<Executable, LookupError> {
    resolver
        .find(name.as_bytes(), &Folder::Start)
        .map(|held| held.executable)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the real programs are the oracle"
)]
fn run(program: &AbsolutePath) -> std::io::Result<std::process::Output> {
    loop {
        let ran = std::process::Command::new(program.as_path()).output();
        // A child that another test forked meanwhile holds the new file open for writing until its exec.
        match ran {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            ran => return ran,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the real programs are the oracle"
)]
fn sha256sum(path: &AbsolutePath) -> Option<String> {
    let output = std::process::Command::new("sha256sum")
        .arg(path.as_path())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    Some(format!("sha256:{}", text.split(' ').next().unwrap()))
}

#[test]
fn a_system_program_is_found_hashed_and_trusted() {
    let tree = Tree::new();
    let shell = find(&resolver(&tree), "sh").unwrap();
    assert_eq!(shell.path.base_name(), b"sh");
    assert_eq!(shell.format, Format::Elf);
    assert_eq!(shell.trust, Trust::Trusted);
    assert_eq!(shell.size, fs::metadata(&shell.real).unwrap().len());
    if let Some(expected) = sha256sum(&shell.real) {
        assert_eq!(shell.digest.to_string(), expected);
    }
}

#[test]
fn large_and_empty_files_hash_right() {
    let tree = Tree::new();
    tree.folder("bin");
    for size in [
        0usize,
        1,
        255,
        256,
        257,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
        3_000_000,
    ] {
        let content: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
        let path = tree.file("bin/big", &content, 0o755);
        let found = find(&resolver(&tree), "big").unwrap();
        assert_eq!(found.size, size as u64);
        if let Some(expected) = sha256sum(&path) {
            assert_eq!(found.digest.to_string(), expected, "{size}");
        }
    }
}

#[test]
fn every_useless_file_has_a_distinct_error() {
    let tree = Tree::new();
    let folder = tree.folder("folder");
    let plain = tree.file("plain", b"x", 0o644);
    let resolver = resolver(&tree);
    let found = |name: &str| find(&resolver, name);
    assert_eq!(
        found("no-such-program"),
        Err(LookupError::NotFound("no-such-program".into()))
    );
    assert_eq!(
        found("./absent"),
        Err(LookupError::NotFound(tree.path("absent").to_string()))
    );
    assert_eq!(
        found("./folder"),
        Err(LookupError::Directory(folder.clone()))
    );
    assert_eq!(found("./folder/"), Err(LookupError::Directory(folder)));
    assert_eq!(found("./plain"), Err(LookupError::NotExecutable(plain)));
    assert!(matches!(found("./plain/"), Err(LookupError::NotFound(_))));
    nix::unistd::mkfifo(tree.path("pipe").as_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(
        found("./pipe"),
        Err(LookupError::NotExecutable(tree.path("pipe")))
    );
    for name in ["", ".", ".."] {
        assert!(
            matches!(found(name), Err(LookupError::NotFound(_))),
            "{name}"
        );
    }
}

#[test]
fn a_file_that_may_be_run_but_not_read_cannot_be_identified() {
    let tree = Tree::new();
    let path = tree.file("secret", b"\x7fELF", 0o111);
    let found = find(&resolver(&tree), "./secret");
    if geteuid().is_root() {
        // Root reads everything, so it can be identified.
        assert!(found.is_ok());
    } else {
        assert_eq!(found, Err(LookupError::Unreadable(path)));
    }
}

#[test]
fn path_is_searched_with_the_rights_of_the_user_the_command_runs_as() {
    let tree = Tree::new();
    for folder in ["closed", "bits", "open"] {
        tree.folder(folder);
    }
    tree.file("closed/tool", b"1", 0o755);
    tree.file("bits/tool", b"2", 0o744);
    tree.file("open/tool", b"3", 0o755);
    tree.mode("closed", 0o700);
    let path = format!("{0}/closed:{0}/bits:{0}/open", tree.root);
    let found = |uid: u32| find(&resolver_for(&tree, &path, uid), "tool").unwrap().path;
    assert_eq!(found(own()), tree.path("closed/tool"));
    if own() == 0 {
        assert_eq!(found(NOBODY), tree.path("open/tool"));
    }
    // Nothing to run at all: the first file that is there is the shell's error.
    let path = format!("{0}/absent:{0}/bits:{0}/open", tree.root);
    tree.mode("open/tool", 0o644);
    tree.mode("bits/tool", 0o644);
    assert_eq!(
        find(&resolver_for(&tree, &path, own()), "tool"),
        Err(LookupError::NotExecutable(tree.path("bits/tool")))
    );
}

#[test]
fn uid_0_without_capabilities_needs_the_bit_of_its_own_class() {
    let tree = Tree::new();
    tree.file("x", b"1", 0o055);
    let resolver = resolver_for(&tree, "/usr/bin", own());
    assert_eq!(
        find(&resolver, "./x"),
        Err(LookupError::NotExecutable(tree.path("x")))
    );
}

#[test]
fn links_are_followed_and_both_names_kept() {
    let tree = Tree::new();
    tree.folder("bin");
    tree.folder("opt");
    tree.file("opt/real", b"\x7fELF", 0o755);
    tree.link("../opt/real", "bin/alias");
    let found = find(&resolver(&tree), "alias").unwrap();
    assert_eq!(found.path, tree.path("bin/alias"));
    assert_eq!(found.real, tree.path("opt/real"));
    // The kernel goes up from where the link led, not from where it stands.
    tree.folder("far/deep");
    tree.link("far/deep", "near");
    tree.file("far/prog", b"\x7fELF far", 0o755);
    tree.file("prog", b"\x7fELF near", 0o755);
    let found = find(&resolver(&tree), "near/../prog").unwrap();
    assert_eq!(found.real, tree.path("far/prog"));
}

#[test]
fn scripts_name_their_interpreter_and_its_chain() {
    let tree = Tree::new();
    tree.file("inner", b"#!/bin/sh -e\n", 0o755);
    tree.file(
        "outer",
        format!("#!{}/inner\n", tree.root).as_bytes(),
        0o755,
    );
    let outer = find(&resolver(&tree), "./outer").unwrap();
    let Format::Script {
        interpreter,
        argument,
    } = outer.format
    else {
        panic!("{outer:?}");
    };
    assert_eq!(
        (interpreter.path.clone(), argument),
        (tree.path("inner"), None)
    );
    let Format::Script {
        interpreter,
        argument,
    } = interpreter.format
    else {
        panic!("{interpreter:?}");
    };
    assert_eq!(interpreter.path.as_bytes(), b"/bin/sh");
    assert_eq!(interpreter.format, Format::Elf);
    assert_eq!(argument.as_deref(), Some(&b"-e"[..]));
    tree.file("text", b"echo no line\n", 0o755);
    assert_eq!(
        find(&resolver(&tree), "./text").unwrap().format,
        Format::Text
    );
    tree.file("relative", b"#!inner\n", 0o755);
    let relative = find(&resolver(&tree), "./relative").unwrap();
    assert!(matches!(relative.format, Format::Script { .. }));
}

#[test]
fn env_in_a_script_is_followed_to_the_program() {
    let tree = Tree::new();
    tree.folder("bin");
    tree.file("bin/tool", b"\x7fELF", 0o755);
    for line in [
        "#!/usr/bin/env tool\n",
        "#!/usr/bin/env -S A=1 tool -u -E\n",
    ] {
        tree.file("script", line.as_bytes(), 0o755);
        let script = find(&resolver(&tree), "./script").unwrap();
        let env = script.next().unwrap();
        assert_eq!(env.path.base_name(), b"env");
        assert!(matches!(env.format, Format::Env { .. }), "{line}");
        assert_eq!(env.next().unwrap().path, tree.path("bin/tool"));
    }
}

#[test]
fn bad_interpreters_are_named() {
    let tree = Tree::new();
    tree.file("data", b"no program\n", 0o755);
    let data = format!("#!{}/data\n", tree.root);
    for (line, part) in [
        (
            "#!/no/such/interpreter\n",
            "`/no/such/interpreter` is not found",
        ),
        ("#!/bin/sh\r\n", "carriage return"),
        (
            "#!/usr/bin/env no-such-program\n",
            "`no-such-program` is not found",
        ),
        ("#!/usr/bin/env sh -e\n", "`sh -e` is not found"),
        ("#!/usr/bin/env\n", "told no program"),
        ("#!/\n", "is a folder"),
        (data.as_str(), "neither a binary nor a script"),
    ] {
        tree.file("script", line.as_bytes(), 0o755);
        let error = find(&resolver(&tree), "./script").unwrap_err();
        let LookupError::Interpreter { script, reason } = &error else {
            panic!("{line}: {error:?}");
        };
        assert_eq!(*script, tree.path("script"));
        assert!(reason.contains(part), "{line}: {reason}");
    }
}

#[test]
fn chains_of_scripts_end_where_the_kernel_ends_them() {
    let tree = Tree::new();
    tree.file("s0", b"#!/bin/echo\n", 0o755);
    let echo = AbsolutePath::new("/bin/echo").unwrap();
    assert!(run(&echo).is_ok());
    for at in 1..8 {
        let line = format!("#!{}/s{}\n", tree.root, at - 1);
        let path = tree.file(&format!("s{at}"), line.as_bytes(), 0o755);
        let kernel = run(&path).is_ok();
        let ours = find(&resolver(&tree), &format!("./s{at}"));
        assert_eq!(ours.is_ok(), kernel, "{at}: {ours:?}");
    }
    // A chain through `env` starts anew each time, yet must end.
    tree.file("self", b"#!/usr/bin/env ./self\n", 0o755);
    assert!(matches!(
        find(&resolver(&tree), "./self"),
        Err(LookupError::Interpreter { .. })
    ));
}

#[test]
fn a_script_is_trusted_no_more_than_its_interpreter() {
    let tree = Tree::new();
    let root = AbsolutePath::new("/usr").unwrap();
    tree.file("script", b"#!/bin/sh\n", 0o755);
    let mut environment = Environment::default();
    environment.set("PATH", "/usr/bin");
    let trust = |roots: &[AbsolutePath]| {
        let resolver = Resolver::new(&environment, &tree.root, roots, own());
        find(&resolver, "./script").unwrap().trust
    };
    // The folder for temporary files is world-writable.
    assert_eq!(trust(&[]), Trust::WritableByOthers);
    assert_eq!(trust(std::slice::from_ref(&tree.root)), Trust::InWriteRoot);
    let held = Resolver::new(&environment, &tree.root, &[root], own())
        .find(b"sh", &Folder::Start)
        .unwrap();
    // Only who can write there can try whether a running program could be changed.
    assert!(matches!(
        held.executable.trust,
        Trust::InWriteRoot | Trust::Changeable
    ));
}

#[test]
fn builtins_functions_and_files_in_their_order() {
    let tree = Tree::new();
    tree.folder("bin");
    tree.file("bin/tool", b"\x7fELF", 0o755);
    let mut survey = survey(vec![
        sub(&["echo", "x"]),
        sub(&["tool"]),
        sub(&["helper"]),
        sub(&[]),
        sub(&["/bin/echo"]),
        sub(&["cd"]),
    ]);
    survey.script.functions = vec![b"helper".to_vec(), b"cd".to_vec()];
    let found = lookups(&resolver(&tree), &survey);
    assert_eq!(found[0], Lookup::Builtin);
    assert!(found[1].executable().is_some());
    assert_eq!(found[2], Lookup::Function);
    assert_eq!(found[3], Lookup::Nothing);
    assert!(found[4].executable().is_some());
    assert_eq!(found[5], Lookup::Function);
}

#[test]
fn what_a_program_starts_is_never_a_builtin() {
    let tree = Tree::new();
    let mut survey = survey(vec![
        sub(&["env", "echo"]),
        carried(&["echo"], 0),
        sub(&["sh", "-c", "echo; shopt"]),
        carried(&["echo"], 2),
        carried(&["shopt"], 2),
        sub(&["bash", "-c", "shopt"]),
        carried(&["shopt"], 5),
        sub(&["eval", "echo"]),
        carried(&["echo"], 7),
        sub(&["command", "ls"]),
        carried(&["ls"], 9),
        sub(&["builtin", "ls"]),
        carried(&["ls"], 11),
        sub(&["exec", "echo"]),
        carried(&["echo"], 13),
        sub(&["xargs", "helper"]),
        carried(&["helper"], 15),
    ]);
    survey.script.functions = vec![b"helper".to_vec(), b"ls".to_vec()];
    let found = lookups(&resolver(&tree), &survey);
    assert!(found[1].executable().is_some());
    assert_eq!(found[3], Lookup::Builtin);
    let shell = found[2].executable().unwrap();
    if shell.real.base_name() == b"dash" {
        assert!(matches!(found[4], Lookup::Failed(LookupError::NotFound(_))));
    }
    assert_eq!(found[6], Lookup::Builtin);
    assert_eq!(found[8], Lookup::Builtin);
    assert!(found[10].executable().is_some());
    assert!(matches!(
        found[12],
        Lookup::Failed(LookupError::NotFound(_))
    ));
    assert!(found[14].executable().is_some());
    assert!(matches!(
        found[16],
        Lookup::Failed(LookupError::NotFound(_))
    ));
}

#[test]
fn a_carrier_chain_that_bites_its_tail_ends() {
    let tree = Tree::new();
    let survey = survey(vec![
        carried(&["eval", "ls"], 1),
        carried(&["eval", "ls"], 0),
    ]);
    assert_eq!(lookups(&resolver(&tree), &survey).len(), 2);
}

#[test]
fn a_name_that_only_the_shell_will_know_is_dynamic() {
    let tree = Tree::new();
    let mut dynamic = sub(&[]);
    dynamic.argv.push(Word {
        span: Span::default(),
        pieces: vec![Piece::Dynamic {
            reason: Dynamic::Parameter,
            name: None,
            quoted: false,
        }],
    });
    let mut unknown = sub(&["./x"]);
    unknown.folder = Folder::Unknown;
    let mut bare = sub(&["ls"]);
    bare.folder = Folder::Unknown;
    let mut assigned = sub(&["ls"]);
    assigned.assignments.push(Assignment {
        name: b"PATH".to_vec(),
        value: Word::text(Span::default(), "/x"),
    });
    let survey = survey(vec![
        dynamic,
        unknown,
        bare,
        assigned,
        sub(&["env", "PATH=/x", "ls"]),
        carried(&["ls"], 4),
        sub(&["env", "-i", "ls"]),
        carried(&["ls"], 6),
        sub(&["env", "A=1", "ls", "-i"]),
        carried(&["ls", "-i"], 8),
        sub(&["command", "-p", "ls"]),
        carried(&["ls"], 10),
        sub(&["env", "-C", "/x", "./ls"]),
        carried(&["./ls"], 12),
        sub(&["find", ".", "-execdir", "./x", ";"]),
        carried(&["./x"], 14),
        sub(&["chroot", "/x", "/bin/ls"]),
        carried(&["/bin/ls"], 16),
        sub(&["env", "PATH=/x", "/bin/ls"]),
        carried(&["/bin/ls"], 18),
    ]);
    let found = lookups(&resolver(&tree), &survey);
    for at in [0, 1, 3, 5, 7, 11, 13, 15, 17] {
        assert_eq!(found[at], Lookup::Dynamic, "{at}");
    }
    for at in [2, 9, 19] {
        assert!(found[at].executable().is_some(), "{at}");
    }
}

#[test]
fn programs_are_relative_to_the_folder_of_their_sub_command() {
    let tree = Tree::new();
    tree.folder("sub");
    tree.file("sub/tool", b"\x7fELF", 0o755);
    let mut moved = sub(&["./tool"]);
    moved.folder = Folder::Moved(b"sub".to_vec());
    let found = lookups(&resolver(&tree), &survey(vec![moved, sub(&["./tool"])]));
    assert_eq!(found[0].executable().unwrap().path, tree.path("sub/tool"));
    assert!(matches!(found[1], Lookup::Failed(LookupError::NotFound(_))));
}

#[test]
fn one_file_is_held_once_and_at_its_start() {
    use std::io::Read as _;
    let tree = Tree::new();
    tree.file("tool", b"\x7fELF rest", 0o755);
    let survey = survey(vec![
        sub(&["./tool"]),
        sub(&["true"]),
        sub(&["./tool", "x"]),
    ]);
    let pinned = resolver(&tree).pin(&survey).unwrap();
    let held = pinned.held(0).unwrap();
    assert!(std::ptr::eq(held, pinned.held(2).unwrap()));
    assert!(pinned.held(1).is_none() && pinned.held(9).is_none());
    let mut content = Vec::new();
    fs::File::from(held.file.try_clone().unwrap())
        .read_to_end(&mut content)
        .unwrap();
    assert_eq!(content, b"\x7fELF rest");
}

fn written(word: &str, path: AbsolutePath) -> Access {
    Access::Write(PathAccess {
        written: Word::text(Span::default(), word),
        path: Some(path),
        source: Source::Redirection,
    })
}

#[test]
fn targets_are_where_paths_really_lead() {
    let tree = Tree::new();
    tree.folder("out");
    tree.file("out/there", b"", 0o644);
    tree.link("out/there", "link");
    tree.link("out/new", "dangling");
    tree.folder("far/deep");
    tree.link("far/deep", "near");
    let mut survey = survey(vec![sub(&["true"])]);
    survey.accesses[0] = vec![
        written("link", tree.path("link")),
        written("dangling", tree.path("dangling")),
        written("a/b", tree.path("a/b")),
        written("near/../x", tree.path("x")),
        written("x", tree.path("x")),
        written(
            "/proc/self/fd/1",
            AbsolutePath::new("/proc/self/fd/1").unwrap(),
        ),
    ];
    let targets = resolver(&tree).pin(&survey).unwrap().resolved.targets;
    for (path, leads) in [
        ("link", "out/there"),
        ("dangling", "out/new"),
        ("a/b", "a/b"),
        ("x", "far/x"),
    ] {
        assert_eq!(targets[&tree.path(path)], tree.path(leads), "{path}");
    }
    tree.link("out/there", "x");
    assert!(matches!(
        resolver(&tree).pin(&survey),
        Err(ResolveError::Ambiguous { .. })
    ));
}

#[test]
fn a_vanished_folder_ends_the_stage() {
    let tree = Tree::new();
    let cwd = tree.folder("gone");
    let resolver = Resolver::new(&Environment::default(), &cwd, &[], own());
    assert!(resolver.pin(&survey(Vec::new())).is_ok());
    fs::remove_dir(&cwd).unwrap();
    assert_eq!(
        resolver.pin(&survey(Vec::new())).unwrap_err(),
        ResolveError::FolderGone(cwd)
    );
}

#[test]
fn every_kind_of_change_is_seen() {
    let tree = Tree::new();
    tree.folder("bin");
    tree.folder("out");
    let tool = || tree.file("bin/tool", b"\x7fELF one", 0o755);
    tool();
    tree.file("script", b"#!/bin/sh\n", 0o755);
    let mut survey = survey(vec![sub(&["tool"]), sub(&["./script"])]);
    survey.accesses[0] = vec![written("log", tree.path("log"))];
    let resolver = resolver(&tree);
    let pinned = resolver.pin(&survey).unwrap();
    assert_eq!(pinned.changes(&resolver, &survey), []);
    let told = |part: &str| {
        let changes = pinned.changes(&resolver, &survey);
        assert_eq!(changes.len(), 1, "{part}: {changes:?}");
        let text = changes[0].to_string();
        assert!(text.contains(part), "{part}: {text}");
    };
    // In place: same inode, same size.
    fs::write(tree.path("bin/tool"), b"\x7fELF two").unwrap();
    told("the content of");
    tool();
    assert_eq!(pinned.changes(&resolver, &survey), []);
    // Another inode with the same bytes.
    tree.file("bin/new", b"\x7fELF one", 0o755);
    fs::rename(tree.path("bin/tool"), tree.path("bin/old")).unwrap();
    fs::rename(tree.path("bin/new"), tree.path("bin/tool")).unwrap();
    told("replaced by another file");
    fs::rename(tree.path("bin/old"), tree.path("bin/tool")).unwrap();
    tree.mode("bin/tool", 0o644);
    told("is not executable");
    tree.mode("bin/tool", 0o755);
    fs::write(tree.path("script"), b"#!/bin/bash\n").unwrap();
    told("the content of");
    fs::write(tree.path("script"), b"#!/bin/sh\n").unwrap();
    tree.link("out/log", "log");
    told("led to");
    assert!(matches!(
        pinned.changes(&resolver, &survey)[0],
        Change::Target { .. }
    ));
}

#[test]
fn a_file_whose_text_is_run_is_bound_to_its_content() {
    let tree = Tree::new();
    tree.file("build.py", b"print(1)", 0o644);
    tree.file("data", b"1", 0o644);
    let path = tree.path("build.py");
    let read = |word: &str, source: Source| {
        Access::Read(PathAccess {
            written: Word::text(Span::default(), word),
            path: Some(tree.path(word)),
            source,
        })
    };
    let mut survey = survey(vec![sub(&["true"])]);
    survey.accesses[0] = vec![
        read("build.py", Source::Script),
        read("data", Source::Operand),
        read("absent.py", Source::Script),
    ];
    let resolver = resolver(&tree);
    let pinned = resolver.pin(&survey).unwrap();
    let bound: Vec<_> = pinned.resolved.scripts.keys().collect();
    assert_eq!(bound, [&path]);
    assert_eq!(pinned.changes(&resolver, &survey), []);
    let told = |part: &str| {
        let changes = pinned.changes(&resolver, &survey);
        assert_eq!(changes.len(), 1, "{part}: {changes:?}");
        let text = changes[0].to_string();
        assert!(text.contains(part), "{part}: {text}");
    };
    fs::write(tree.path("data"), b"2").unwrap();
    assert_eq!(pinned.changes(&resolver, &survey), []);
    fs::write(&path, b"print(2)").unwrap();
    told("the content of");
    fs::remove_file(&path).unwrap();
    told("is gone");
    tree.file("build.py", b"print(1)", 0o644);
    tree.file("absent.py", b"", 0o644);
    let changes = pinned.changes(&resolver, &survey);
    assert!(
        changes
            .iter()
            .any(|change| change.to_string().contains("was not there")),
        "{changes:?}"
    );
}

#[test]
fn programs_of_a_folder_nobody_may_search_are_not_read() {
    let tree = Tree::new();
    tree.folder("closed");
    let path = tree.file("closed/tool", b"\x7fELF", 0o755);
    fs::set_permissions(tree.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(
        find(&resolver(&tree), "closed/tool"),
        Err(LookupError::Unreadable(path))
    );
    tree.mode("closed", 0o755);
}

#[expect(clippy::disallowed_methods, reason = "the real shell is the oracle")]
fn bash_finds(name: &str, path: &str) -> Option<Option<AbsolutePath>> {
    let output = std::process::Command::new("/bin/bash")
        .args(["--norc", "-c", "type -P -- \"$0\"", name])
        .env("PATH", path)
        .output()
        .ok()?;
    let found = String::from_utf8(output.stdout).unwrap();
    Some(AbsolutePath::new(found.trim_end()).ok())
}

#[test]
fn bash_finds_the_same_file() {
    let tree = Tree::new();
    for folder in ["a", "b", "c/tool", "c/other"] {
        tree.folder(folder);
    }
    tree.file("a/plain", b"", 0o644);
    tree.file("b/plain", b"", 0o755);
    tree.file("a/only-plain", b"", 0o644);
    tree.file("b/tool", b"", 0o755);
    tree.link("absent", "a/dangling");
    tree.file("b/dangling", b"", 0o755);
    tree.link("loop", "a/loop");
    tree.file("b/loop", b"", 0o755);
    tree.link("../b/tool", "a/linked");
    tree.link("../c/tool", "a/folder-link");
    tree.file("b/folder-link", b"", 0o755);
    let path = format!("{0}/absent:{0}/c:{0}/a:{0}/b", tree.root);
    let resolver = resolver_for(&tree, &path, own());
    for name in [
        "plain",
        "tool",
        "other",
        "dangling",
        "loop",
        "linked",
        "folder-link",
        "nothing",
    ] {
        let ours = resolver.locate(name.as_bytes(), None).ok();
        let Some(theirs) = bash_finds(name, &path) else {
            return;
        };
        assert_eq!(ours, theirs, "{name}");
    }
    assert_eq!(
        find(&resolver, "only-plain"),
        Err(LookupError::NotExecutable(tree.path("a/only-plain")))
    );
}
