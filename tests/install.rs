//! `make install DESTDIR= PREFIX=` puts everything in its place, `make uninstall` leaves nothing.
#![allow(
    clippy::expect_used,
    reason = "a test fails by panicking, with the step that failed"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below `folder`, relative to it, sorted.
fn files(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, top: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                walk(&path, top, found);
            } else {
                let name = path.strip_prefix(top).expect("it lies below the top");
                found.push(name.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}

#[allow(
    clippy::disallowed_methods,
    reason = "a test starts the programs it tests"
)]
fn make(target: &str, root: &Path, prefix: &str) {
    let done = std::process::Command::new("make")
        .arg("-C")
        .arg(env!("CARGO_MANIFEST_DIR"))
        .arg(target)
        .arg(format!("DESTDIR={}", root.display()))
        .arg(format!("PREFIX={prefix}"))
        .arg(format!("BINARY={}", env!("CARGO_BIN_EXE_tipstaff")))
        .output()
        .expect("make can be started");
    assert!(
        done.status.success(),
        "make {target}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

fn empty_root(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("install-{name}-{}", std::process::id()));
    fs::create_dir_all(&root).expect("a folder can be made");
    root
}

#[test]
fn installing_and_removing_leaves_an_empty_root_empty() {
    for (name, prefix) in [
        ("usr", "/usr"),
        ("local", "/usr/local"),
        ("opt", "/opt/tipstaff"),
    ] {
        let root = empty_root(name);
        make("install", &root, prefix);
        let inside = root.join(prefix.trim_start_matches('/'));
        let there = files(&inside);
        for wanted in [
            "bin/tipstaff",
            "share/doc/tipstaff/LICENSE-MIT",
            "share/doc/tipstaff/docs/SECURITY.md",
            "share/doc/tipstaff/integration/README.md",
            "share/doc/tipstaff/policies/README.md",
            "share/doc/tipstaff/policies/example.toml",
            "share/man/man1/tipstaff.1",
            "share/doc/tipstaff/docs/policy.schema.json",
        ] {
            assert!(
                there.iter().any(|file| file == wanted),
                "{wanted} is missing: {there:?}"
            );
        }
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(inside.join("bin/tipstaff"))
                .expect("the binary is there")
                .permissions(),
        );
        assert_eq!(mode & 0o7777, 0o755);
        make("uninstall", &root, prefix);
        let left: Vec<_> = fs::read_dir(&root)
            .expect("the root is still there")
            .flatten()
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        fs::remove_dir(&root).expect("it is empty");
    }
}

#[test]
fn uninstall_keeps_what_others_put_there() {
    let root = empty_root("others");
    make("install", &root, "/usr");
    fs::write(root.join("usr/bin/other"), "").expect("a file can be made");
    make("uninstall", &root, "/usr");
    assert_eq!(files(&root), ["usr/bin/other"]);
    fs::remove_dir_all(&root).expect("it can be removed");
}
