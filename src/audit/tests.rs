//! The log as its callers see it, on real files and with real processes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use super::chain::{Recovered, SEPARATOR};
use super::{
    Asked, AuditError, Bytes, Decided, DecidedPart, Durability, Fault, Filter, Finished, Journal,
    Kind, Record, Shown, Verified, new_id, show, verify,
};
use crate::model::judgement::Reason;
use crate::model::path::AbsolutePath;
use crate::model::request::Ids;
use crate::model::verdict::Verdict;
use crate::resolve::testing::Tree;

/// Tells a re-executed test binary what to do.
const ROLE: &str = "TIPSTAFF_TEST_ROLE";
const STATE: &str = "TIPSTAFF_TEST_STATE";

fn decided(line: &str) -> Decided {
    Decided {
        id: new_id(),
        command: Asked::Line(line.into()),
        ids: Ids::default(),
        claim: None,
        cwd: "/srv/project".into(),
        workspace: "/srv/project".into(),
        uid: 1000,
        identity: "unchanged".into(),
        mode: "default".into(),
        profile: "workspace".into(),
        network: "off".into(),
        level: None,
        proof: Vec::new(),
        policy: Vec::new(),
        subcommands: vec![DecidedPart {
            argv: line.split(' ').map(|word| Some(word.into())).collect(),
            program: None,
            digest: None,
            verdict: Verdict::Ask,
            reason: Reason::Unmatched,
            rule: None,
        }],
        removed: Vec::new(),
        verdict: Verdict::Ask,
        outcome: Verdict::Allow,
        reason: Reason::Approved,
        decider: None,
    }
}

fn finished(id: &str) -> Finished {
    Finished {
        id: id.into(),
        outcome: "exited".into(),
        exit_code: 0,
        signal: None,
        killed: Vec::new(),
        survivors: Vec::new(),
        refused: 0,
        duration_ms: 1,
        error: None,
    }
}

fn log(state: &AbsolutePath) -> AbsolutePath {
    state.join(super::LOG)
}

/// A state folder with a log of `count` decisions.
fn filled(tree: &Tree, count: usize) -> AbsolutePath {
    let state = tree.path("state");
    let journal = Journal::open(&state).unwrap();
    for at in 0..count {
        journal
            .decided(&decided(&format!("echo {at}")), Durability::Process)
            .unwrap();
    }
    state
}

fn sound(state: &AbsolutePath) -> Verified {
    let verified = verify(state).unwrap();
    assert!(verified.is_sound(), "{verified}");
    verified
}

/// Runs this test binary again, to play `role` in `role_of_a_child`; `before` are words that start it.
#[expect(
    clippy::disallowed_methods,
    reason = "a process of its own is what is tested"
)]
fn child(before: &[&str], role: &str, state: &AbsolutePath, fail_at: &str) -> Output {
    let exe = std::env::current_exe().unwrap();
    let mut words: Vec<&std::ffi::OsStr> = before.iter().map(std::ffi::OsStr::new).collect();
    words.push(exe.as_os_str());
    std::process::Command::new(words[0])
        .args(&words[1..])
        .args(["--exact", "audit::tests::role_of_a_child", "--nocapture"])
        .env(ROLE, role)
        .env(STATE, state.as_path())
        .env("TIPSTAFF_FAIL_AT", fail_at)
        .output()
        .unwrap()
}

#[test]
fn role_of_a_child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let state = AbsolutePath::new(std::env::var_os(STATE).unwrap()).unwrap();
    if let Some(mounted) = role.strip_prefix("fill ") {
        return fill_until_it_fails(&state.join(mounted));
    }
    let journal = Journal::open(&state).unwrap();
    match role.as_str() {
        "append" => {
            for at in 0..200 {
                let record = decided(&format!("echo {} {at}", std::process::id()));
                journal.decided(&record, Durability::Process).unwrap();
            }
        }
        "both" => {
            let record = decided("echo both");
            journal.decided(&record, Durability::Power).unwrap();
            journal.finished(&finished(&record.id)).unwrap();
        }
        other => panic!("no role {other}"),
    }
}

/// Writes until there is no space, and checks what is left.
fn fill_until_it_fails(state: &AbsolutePath) {
    let journal = Journal::open(state).unwrap();
    let mut written = 0;
    let error = loop {
        let line = format!("echo {}", "x".repeat(700 + written % 97));
        match journal.decided(&decided(&line), Durability::Process) {
            Ok(head) => written = usize::try_from(head.sequence).unwrap(),
            Err(error) => break error,
        }
        assert!(written < 10_000);
    };
    let AuditError::Write { path, source } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*path, log(state));
    assert!(error.help().contains("nothing runs") || error.help().contains("ulimit"));
    let verified = verify(state).unwrap();
    assert!(verified.is_sound() && verified.torn.is_none(), "{verified}");
    assert_eq!(verified.head.sequence, u64::try_from(written).unwrap());
    writeln!(
        std::io::stdout(),
        "stopped after {written}: {}",
        source.kind()
    )
    .unwrap();
}

#[test]
fn a_log_verifies_and_shows_what_was_written() {
    let tree = Tree::new();
    let state = tree.path("deep/er/state");
    let journal = Journal::open(&state).unwrap();
    let record = decided("git status && rm -rf \"a\\b\"\n\x1b[2J");
    let first = journal.decided(&record, Durability::Power).unwrap();
    let last = journal.finished(&finished(&record.id)).unwrap();
    assert_eq!((first.sequence, last.sequence), (1, 2));
    let verified = sound(&state);
    assert_eq!(
        (verified.head, verified.torn, verified.recovered),
        (last, None, 0)
    );
    assert!(
        verified
            .to_string()
            .contains("consistent only: no anchored head")
    );
    let mode = |path: &AbsolutePath| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(&log(&state)), 0o600);
    assert_eq!(mode(&state.join("scrub.key")), 0o600);
    let shown = show(&state, &Filter::default()).unwrap();
    let [Shown::Record(one), Shown::Record(two)] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert_eq!((one.kind, two.kind), (Kind::Decided, Kind::Finished));
    let line = one.record["command"]["line"].as_str().unwrap();
    assert_eq!(
        super::decode(line).unwrap(),
        b"git status && rm -rf \"a\\b\"\n\x1b[2J"
    );
    assert_eq!(one.record["final"], "allow");
    assert!(one.time.ends_with('Z') && one.time.len() == "2026-01-01T00:00:00.000000Z".len());
    // Control characters never reach the file.
    assert!(!fs::read(log(&state)).unwrap().contains(&0x1b));
}

#[test]
fn filters_choose_and_keep_the_last() {
    let tree = Tree::new();
    let state = filled(&tree, 5);
    let journal = Journal::open(&state).unwrap();
    let record = decided("true");
    journal.decided(&record, Durability::Process).unwrap();
    journal.finished(&finished(&record.id)).unwrap();
    let count = |filter: &Filter| show(&state, filter).unwrap().len();
    assert_eq!(count(&Filter::default()), 7);
    let by_id = Filter {
        id: Some(record.id),
        ..Filter::default()
    };
    assert_eq!(count(&by_id), 2);
    let last = Filter {
        last: Some(2),
        kind: Some(Kind::Decided),
        id: None,
    };
    let shown = show(&state, &last).unwrap();
    let sequences: Vec<u64> = shown
        .iter()
        .map(|shown| match shown {
            Shown::Record(record) => record.sequence,
            Shown::Damaged { .. } => 0,
        })
        .collect();
    assert_eq!(sequences, [5, 6]);
}

/// Writes `bytes` as the log and verifies it.
fn tampered(state: &AbsolutePath, bytes: &[u8]) -> Verified {
    fs::write(log(state), bytes).unwrap();
    verify(state).unwrap()
}

#[test]
fn every_edit_of_one_byte_is_found_and_named() {
    let tree = Tree::new();
    let state = filled(&tree, 3);
    let whole = fs::read(log(&state)).unwrap();
    let mut line = 1;
    for at in 0..whole.len() {
        for change in [0x01, 0x20, 0x80] {
            let mut edited = whole.clone();
            edited[at] ^= change;
            let verified = tampered(&state, &edited);
            let named = verified.broken.as_ref().map(|broken| broken.line);
            // The last newline gone is a torn record, which is named too.
            let torn = verified.torn.map(|torn| torn.line);
            assert_eq!(named.or(torn), Some(line), "byte {at}: {verified}");
            assert_eq!(torn.is_some(), at + 1 == whole.len() || named.is_none());
        }
        if whole[at] == b'\n' {
            line += 1;
        }
    }
    assert!(tampered(&state, &whole).is_sound());
}

#[test]
fn every_deletion_exchange_and_insertion_of_a_line_is_found_and_named() {
    let tree = Tree::new();
    let state = filled(&tree, 5);
    let whole = fs::read(log(&state)).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let broken = |lines: Vec<&[u8]>| {
        let verified = tampered(&state, &lines.concat());
        let broken = verified.broken.unwrap();
        (broken.line, broken.sequence, broken.fault)
    };
    for at in 0..lines.len() {
        let here = at as u64 + 1;
        if at + 1 < lines.len() {
            let mut deleted = lines.clone();
            deleted.remove(at);
            assert_eq!(broken(deleted), (here, here, Fault::Sequence(here + 1)));
            let mut exchanged = lines.clone();
            exchanged.swap(at, at + 1);
            assert_eq!(broken(exchanged), (here, here, Fault::Sequence(here + 1)));
        }
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        assert_eq!(broken(doubled), (here + 1, here + 1, Fault::Sequence(here)));
        let mut foreign = lines.clone();
        foreign.insert(at, b"{}\n");
        assert_eq!(broken(foreign), (here, here, Fault::NotRecord));
        let mut empty = lines.clone();
        empty.insert(at, b"\n");
        assert_eq!(broken(empty), (here, here, Fault::NotRecord));
    }
    // The last line alone can go unseen, unless its head was kept elsewhere.
    let verified = tampered(&state, &lines[..4].concat());
    assert!(verified.is_sound());
    assert_ne!(verified.head.sequence, 5);
}

#[test]
fn a_record_written_anew_with_its_own_check_does_not_follow() {
    let tree = Tree::new();
    let state = filled(&tree, 3);
    let whole = fs::read(log(&state)).unwrap();
    let mut lines: Vec<Vec<u8>> = whole
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let line = lines[1].strip_suffix(b"\n").unwrap();
    let mut record: Record = super::chain::read(line).unwrap();
    record.record["final"] = "deny".into();
    lines[1] = super::chain::compose(&record).unwrap();
    let broken = tampered(&state, &lines.concat()).broken.unwrap();
    assert_eq!((broken.line, broken.fault), (3, Fault::Previous));
}

#[test]
fn eight_processes_and_eight_threads_write_one_chain() {
    let tree = Tree::new();
    let state = tree.path("state");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let output = child(&["env"], "append", &state, "");
                assert!(output.status.success(), "{output:?}");
            });
        }
    });
    let verified = sound(&state);
    assert_eq!((verified.head.sequence, verified.recovered), (1600, 0));
    let journal = Journal::open(&state).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    journal
                        .decided(&decided("true"), Durability::Process)
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(sound(&state).head.sequence, 3200);
}

#[test]
fn a_torn_record_is_named_and_then_closed_by_the_next_writer() {
    let tree = Tree::new();
    let state = filled(&tree, 2);
    let whole = fs::read(log(&state)).unwrap();
    let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [1, 2, 60, 200, whole.len() - second - 1] {
        let torn = &whole[..second + cut];
        let verified = tampered(&state, torn);
        assert!(verified.is_sound());
        assert_eq!(verified.head.sequence, 1);
        let named = verified.torn.unwrap();
        assert_eq!((named.line, named.bytes), (2, cut as u64));
        let journal = Journal::open(&state).unwrap();
        let head = journal
            .decided(&decided("true"), Durability::Process)
            .unwrap();
        assert_eq!(head.sequence, 3);
        let verified = sound(&state);
        assert_eq!((verified.recovered, verified.torn), (1, None));
        // Not one byte was taken back.
        let after = fs::read(log(&state)).unwrap();
        assert!(after.starts_with(torn));
        assert_eq!(after[torn.len()], SEPARATOR);
        let shown = show(&state, &Filter::default()).unwrap();
        let Shown::Record(closing) = &shown[1] else {
            panic!("{shown:?}");
        };
        let names: Recovered = serde_json::from_value(closing.record.clone()).unwrap();
        assert_eq!(names.torn_bytes, cut as u64);
        // Torn bytes that are edited later are found.
        let mut edited = after.clone();
        edited[second] ^= 1;
        let broken = tampered(&state, &edited).broken.unwrap();
        assert_eq!((broken.line, broken.fault), (2, Fault::Torn));
        fs::write(log(&state), &after).unwrap();
    }
}

#[test]
fn a_writer_killed_while_it_closes_leaves_what_the_next_one_closes() {
    let tree = Tree::new();
    let state = filled(&tree, 2);
    let whole = fs::read(log(&state)).unwrap();
    fs::write(log(&state), &whole[..whole.len() - 40]).unwrap();
    let journal = Journal::open(&state).unwrap();
    journal
        .decided(&decided("true"), Durability::Process)
        .unwrap();
    let closed = fs::read(log(&state)).unwrap();
    let closing = closed.iter().position(|byte| *byte == SEPARATOR).unwrap();
    for cut in [closing + 1, closing + 30] {
        fs::write(log(&state), &closed[..cut]).unwrap();
        Journal::open(&state)
            .unwrap()
            .decided(&decided("true"), Durability::Process)
            .unwrap();
        let verified = sound(&state);
        assert_eq!((verified.head.sequence, verified.recovered), (3, 1));
    }
}

#[test]
fn a_torn_first_record_is_closed_too() {
    let tree = Tree::new();
    let state = filled(&tree, 0);
    fs::write(log(&state), b"{\"check").unwrap();
    Journal::open(&state)
        .unwrap()
        .decided(&decided("true"), Durability::Process)
        .unwrap();
    assert_eq!(sound(&state).head.sequence, 2);
}

#[test]
fn nothing_follows_a_damaged_last_record() {
    let tree = Tree::new();
    let state = filled(&tree, 2);
    let mut whole = fs::read(log(&state)).unwrap();
    let at = whole.len() - 10;
    whole[at] ^= 1;
    fs::write(log(&state), &whole).unwrap();
    let journal = Journal::open(&state).unwrap();
    let error = journal
        .decided(&decided("true"), Durability::Process)
        .unwrap_err();
    assert!(
        matches!(
            &error,
            AuditError::Damaged {
                fault: Fault::Check,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(fs::read(log(&state)).unwrap(), whole);
}

#[test]
fn records_longer_than_a_read_are_followed() {
    let tree = Tree::new();
    let state = filled(&tree, 1);
    let long = "y ".repeat(200_000);
    for _ in 0..2 {
        Journal::open(&state)
            .unwrap()
            .decided(&decided(&long), Durability::Process)
            .unwrap();
    }
    assert_eq!(sound(&state).head.sequence, 3);
}

#[cfg(debug_assertions)]
#[test]
fn killed_anywhere_the_chain_verifies_or_names_a_torn_record() {
    const KILLED: i32 = 9;
    let tree = Tree::new();
    let state = filled(&tree, 1);
    let control = child(&["env"], "both", &state, "");
    assert!(control.status.success(), "{control:?}");
    let mut expected = sound(&state).head.sequence;
    assert_eq!(expected, 3);
    for (point, whole, torn) in [
        ("decided-locked", 0, false),
        ("decided-half-written", 0, true),
        ("decided-written", 1, false),
        ("finished-half-written", 1, true),
        ("finished-written", 2, false),
    ] {
        let output = child(&["env"], "both", &state, point);
        assert_eq!(output.status.signal(), Some(KILLED), "{point}: {output:?}");
        let verified = sound(&state);
        expected += whole;
        assert_eq!(verified.head.sequence, expected, "{point}");
        assert_eq!(verified.torn.is_some(), torn, "{point}");
        Journal::open(&state)
            .unwrap()
            .decided(&decided("true"), Durability::Process)
            .unwrap();
        expected += 1 + u64::from(torn);
        let verified = sound(&state);
        assert_eq!(
            (verified.head.sequence, verified.torn),
            (expected, None),
            "{point}"
        );
    }
}

#[test]
fn a_file_size_limit_takes_the_part_back_and_says_so() {
    let tree = Tree::new();
    let script = "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\"";
    let output = child(&["sh", "-c", script], "fill state", &tree.root, "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("file too large"), "{text}");
}

#[test]
fn a_full_disk_takes_the_part_back_and_says_so() {
    let tree = Tree::new();
    tree.folder("disk");
    let mount = format!(
        "mount -t tmpfs -o size=64k,mode=0700 none {}/disk || exit 9; exec \"$0\" \"$@\"",
        tree.root
    );
    // A mount namespace of its own; where the host forbids it the file size limit above has shown the
    // same path of the code.
    let before = ["unshare", "-Urm", "sh", "-c", mount.as_str()];
    let output = child(&before, "fill disk/state", &tree.root, "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("running 1 test") {
        assert!(output.status.success(), "{output:?}");
        assert!(text.contains("no storage space"), "{text}");
    }
}

#[test]
fn folders_and_logs_that_are_not_ours_alone_are_refused() {
    let tree = Tree::new();
    let state = filled(&tree, 1);
    let why = |state: &AbsolutePath| match Journal::open(state) {
        Err(AuditError::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let mode = |path: &AbsolutePath, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, good) in [
        (state.clone(), 0o700),
        (log(&state), 0o600),
        (state.join("scrub.key"), 0o600),
    ] {
        for bad in [0o020, 0o002] {
            mode(&path, good | bad);
            assert_eq!(why(&state), "others can write it");
        }
        mode(&path, good);
    }
    assert!(Journal::open(&state).is_ok());
    symlink(&state, tree.path("alias")).unwrap();
    assert_eq!(why(&tree.path("alias")), "it is a symbolic link");
    symlink(tree.path("nowhere"), tree.path("dangling")).unwrap();
    assert_eq!(why(&tree.path("dangling")), "it is a symbolic link");
    fs::hard_link(log(&state), tree.path("second")).unwrap();
    assert_eq!(why(&state), "it has a second name (hard link)");
    fs::remove_file(tree.path("second")).unwrap();
    fs::rename(log(&state), tree.path("moved")).unwrap();
    symlink(tree.path("moved"), log(&state)).unwrap();
    assert_eq!(why(&state), "it is a symbolic link");
    fs::remove_file(log(&state)).unwrap();
    nix::unistd::mkfifo(log(&state).as_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(why(&state), "it is not a regular file");
    if nix::unistd::geteuid().is_root() {
        let foreign = tree.folder("foreign");
        mode(&foreign, 0o700);
        nix::unistd::chown(foreign.as_path(), Some(65534.into()), None).unwrap();
        assert_eq!(why(&foreign), "it belongs to another user");
    } else {
        assert_eq!(
            why(&AbsolutePath::new("/").unwrap()),
            "it belongs to another user"
        );
    }
}

#[test]
fn a_log_that_was_moved_away_is_noticed() {
    let tree = Tree::new();
    let state = filled(&tree, 1);
    let journal = Journal::open(&state).unwrap();
    fs::rename(log(&state), state.join("old")).unwrap();
    let append = |journal: &Journal| journal.decided(&decided("true"), Durability::Process);
    assert!(matches!(append(&journal), Err(AuditError::Replaced { .. })));
    append(&Journal::open(&state).unwrap()).unwrap();
    assert!(matches!(append(&journal), Err(AuditError::Replaced { .. })));
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let tree = Tree::new();
    tree.file("file", b"", 0o600);
    let error = Journal::open(&tree.path("file/state")).unwrap_err();
    assert!(error.to_string().contains("file/state"), "{error}");
    assert!(error.help().contains("XDG_STATE_HOME"));
    assert!(matches!(
        verify(&tree.path("absent")),
        Err(AuditError::Folder { .. })
    ));
    tree.folder("empty");
    assert!(matches!(
        verify(&tree.path("empty")),
        Err(AuditError::Missing { .. })
    ));
    let state = filled(&tree, 0);
    fs::write(state.join("scrub.key"), b"short").unwrap();
    assert!(matches!(Journal::open(&state), Err(AuditError::Key { .. })));
}

#[test]
fn a_planted_token_stands_in_no_file_of_the_state_folder() {
    let tree = Tree::new();
    let state = tree.path("state");
    let secret = "s3\"cr\\et\tv\u{e9}ry-long";
    let shaped = format!("ghp_{}", "Zx9y".repeat(9));
    let journal = Journal::open(&state)
        .unwrap()
        .hiding(&[secret.as_bytes().to_vec()]);
    let mut record = decided(&format!(
        "curl -H 'Authorization: token {shaped}' x={secret}"
    ));
    record.claim = Some(Bytes::from(secret));
    record.cwd = format!("/srv/{secret}/x").as_str().into();
    record.identity = secret.into();
    record.proof = vec![format!("proved with {secret} and {shaped}")];
    record.ids.session = Some(shaped.clone());
    record.subcommands[0].argv = vec![
        Some("curl".into()),
        Some("--token".into()),
        Some("opensesame-word".into()),
        None,
        Some(secret.into()),
        Some(shaped.as_str().into()),
    ];
    journal.decided(&record, Durability::Process).unwrap();
    let mut end = finished(&record.id);
    end.error = Some(
        format!("cannot start {secret} with opensesame-word={shaped}")
            .as_str()
            .into(),
    );
    journal.finished(&end).unwrap();
    assert_eq!(sound(&state).head.sequence, 2);
    let json = serde_json::to_string(secret).unwrap();
    let forms = [
        secret.to_owned(),
        json.trim_matches('"').to_owned(),
        super::encode(secret.as_bytes()),
        super::encode(secret.as_bytes())
            .replace('\\', "\\\\")
            .replace('"', "\\\""),
        "ry-long".to_owned(),
        shaped,
    ];
    for entry in fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for form in &forms {
            assert!(!text.contains(form.as_str()), "{form} in {path:?}: {text}");
        }
    }
    let text = fs::read_to_string(log(&state)).unwrap();
    // What only its option gave away is hidden in the record after it too.
    assert!(!text.contains("opensesame-word"), "{text}");
}
