//! The suite turned on itself: it has to be red when a case fails, when the program under test refuses
//! everything, and when it confines nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{self, Ran};
use super::suite;
use super::{Case, Outcome, Red, Stop, expect, fail};

/// Refuses everything, in the right words.
const REFUSES: &str = "#!/bin/sh\necho 'tipstaff: refused' >&2\nexit 126\n";

/// Takes the same options and runs the command as it is.
const NEVER_CONFINES: &str = r#"#!/bin/bash
case "$1" in
    run | sh) shift ;;
    *) exit 0 ;;
esac
while [ $# -gt 0 ]; do
    case "$1" in
        -c) exec bash -c "$2" ;;
        --) shift; exec "$@" ;;
        --json) shift ;;
        --cwd) cd "$2" && shift 2 || exit 125 ;;
        *) shift 2 || exit 2 ;;
    esac
done
"#;

/// Runs every check of the suite itself; true when all hold. The last line is a tally as well.
pub fn run(cases: &[Case]) -> Outcome<bool> {
    let folder = std::env::temp_dir().join(format!("enforce-self-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    // The fakes run as an ordinary user too.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    let checks: [(&str, Outcome); 3] = [
        ("a planted failing case turns the run red", planted(&folder)),
        (
            "a program that always refuses turns every case red",
            refusing(cases, &folder),
        ),
        (
            "a program that never confines turns every case red",
            plain(cases, &folder),
        ),
    ];
    fs::remove_dir_all(&folder)?;
    let (mut passed, mut failed) = (0, 0);
    for (name, outcome) in checks {
        match outcome {
            Ok(()) => {
                passed += 1;
                println!("ok   {name}");
            }
            Err(Stop::Fail(why) | Stop::Skip(why)) => {
                failed += 1;
                println!("FAIL {name}: {why}");
            }
        }
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    Ok(failed == 0)
}

fn planted(folder: &Path) -> Outcome {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--planted");
    let ran = process::start(command, folder)?.end()?;
    ran.exits(1)?;
    expect(
        ran.out.contains("FAIL "),
        format!("no failure was reported: {ran}"),
    )?;
    expect(
        !ran.out.contains(" 0 failed"),
        format!("the tally hides it: {ran}"),
    )
}

fn refusing(cases: &[Case], folder: &Path) -> Outcome {
    let ran = under(&fake(folder, "refuses", REFUSES)?, folder, &[])?;
    every_case_is_red(&ran, cases, |red| red != Red::Neither)
}

/// In a throw-away namespace, since every attack of the suite runs unconfined here.
fn plain(cases: &[Case], folder: &Path) -> Outcome {
    let mut fence = vec![
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--net",
        "--mount-proc",
    ];
    if !nix::unistd::geteuid().is_root() {
        fence.extend(["--user", "--map-current-user", "--keep-caps"]);
    }
    // The controls of the network cases need the loopback interface, which a new namespace has down.
    let up = format!(
        "{} loopback-up && exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"",
        suite::probe()?.display()
    );
    fence.extend(["sh", "-c", &up, "sh"]);
    let ran = under(
        &fake(folder, "never-confines", NEVER_CONFINES)?,
        folder,
        &fence,
    )?;
    every_case_is_red(&ran, cases, |red| red == Red::Both)
}

fn fake(folder: &Path, name: &str, text: &str) -> Outcome<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// The whole suite against `binary`.
fn under(binary: &Path, folder: &Path, fence: &[&str]) -> Outcome<Ran> {
    let own = std::env::current_exe()?;
    let mut words = fence.iter().map(std::ffi::OsString::from).chain([
        own.into(),
        "--once".into(),
        "--binary".into(),
        binary.into(),
    ]);
    let mut command = Command::new(words.next().unwrap_or_default());
    // A fake answers quickly or never; a case it hangs is red as well.
    command.args(words).env("ENFORCE_LIMIT", "5");
    process::start(command, folder)?.end_within(std::time::Duration::from_secs(600))
}

fn every_case_is_red(ran: &Ran, cases: &[Case], has_to_be: impl Fn(Red) -> bool) -> Outcome {
    ran.exits(1)?;
    let mut green = Vec::new();
    let mut red = 0;
    for line in ran.out.lines() {
        let mut words = line.split_whitespace();
        let (Some(result), Some(half), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let bound = cases
            .iter()
            .any(|case| case.name == name && has_to_be(case.red));
        match result {
            "ok" if bound => green.push(format!("{half} {name}")),
            "FAIL" if bound => red += 1,
            _ => {}
        }
    }
    expect(red > 0, format!("nothing was red: {ran}"))?;
    if green.is_empty() {
        Ok(())
    } else {
        fail(format!("green all the same: {}", green.join(", ")))
    }
}
