//! Claim 2 on a host that gives namespaces: what Landlock and the filter leave open is absent, and the
//! tree cannot outlive its first process.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::process::until;
use crate::harness::world::{World, YES};
use crate::harness::{Case, Outcome, Red, case, expect};

pub const CASES: &[Case] = &[
    case("metadata_outside", 2, metadata_outside).apart(),
    case("only_the_profile_is_there", 2, only_the_profile_is_there).apart(),
    case("command_lines_of_others", 2, command_lines_of_others).apart(),
    case("semaphores_of_others", 2, semaphores_of_others).apart(),
    case("own_scratch_folders", 2, own_scratch_folders).apart(),
    case("own_terminals", 2, own_terminals)
        .apart()
        .red(Red::Refusing),
    case(
        "orphans_die_with_the_supervisor",
        2,
        orphans_die_with_the_supervisor,
    )
    .apart(),
    case("a_hopping_tree_is_killed", 2, a_hopping_tree_is_killed)
        .apart()
        .red(Red::Refusing),
];

fn mode(path: &str) -> Outcome<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o7777)
}

/// chmod, utimes and stat need no right of Landlock.
fn metadata_outside(w: &World) -> Outcome {
    let target = w.outside_file("target", "x")?;
    for attempt in ["chmod", "touch-time", "stat", "setxattr"] {
        w.control(&[attempt, &target])?.ok()?;
        fs::set_permissions(&target, fs::Permissions::from_mode(0o666))?;
        w.attack(&[attempt, &target])?.errno("ENOENT")?;
    }
    expect(mode(&target)? == 0o666, "the mode changed")?;
    // What may only be read is there, and cannot be touched.
    let run = w.asked(YES)?.option("--profile", "read-only");
    run.attack(&["chmod", &w.inside("probe")])?.errno("EROFS")?;
    Ok(())
}

fn only_the_profile_is_there(w: &World) -> Outcome {
    let above = w.top.display().to_string();
    let names = |tried: &crate::harness::world::Tried| -> Outcome<Vec<String>> {
        Ok(serde_json::from_value(tried.fact("names")?.clone())?)
    };
    let all = names(&w.control(&["list", &above])?)?;
    expect(all.len() > 2, "the control sees too little")?;
    // The folder above the workspace is there for its name alone; so is a home.
    let seen = names(&w.attack(&["list", &above])?)?;
    expect(seen == ["home", "ws"], format!("it sees {seen:?}"))
}

fn command_lines_of_others(w: &World) -> Outcome {
    let own = std::process::id().to_string();
    w.control(&["open-read", &format!("/proc/{own}/cmdline")])?
        .ok()?;
    w.attack(&["open-read", &format!("/proc/{own}/cmdline")])?
        .errno("ENOENT")?;
    Ok(())
}

/// System V objects are named by number, in no folder a rule could guard.
fn semaphores_of_others(w: &World) -> Outcome {
    let key = std::process::id().to_string();
    w.control(&["semaphore-make", &key])?.ok()?;
    w.control(&["semaphore-find", &key])?.ok()?;
    let attack = w.attack(&["semaphore-find", &key]);
    w.control(&["semaphore-remove", &key])?.ok()?;
    attack?.errno("ENOENT")?;
    Ok(())
}

/// `/tmp`, `/var/tmp` and `/dev/shm` are the run's own: it can write there, and nothing of it is left.
fn own_scratch_folders(w: &World) -> Outcome {
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        let path = format!("{folder}/tipstaff-enforce-{}", std::process::id());
        fs::write(&path, "host")?;
        let inside = w.attack(&["create", &path]);
        let left = fs::read(&path);
        fs::remove_file(&path)?;
        inside?.ok()?;
        expect(left? == b"host", format!("the run reached {path}"))?;
    }
    Ok(())
}

/// Programs that need a terminal of their own make one, and see no other.
fn own_terminals(w: &World) -> Outcome {
    let tried = w.attack(&["open-terminal"])?;
    tried.ok()?.is("name", "/dev/pts/0")?;
    Ok(())
}

/// The first process of the namespace dies with the supervisor, and everything with it.
fn orphans_die_with_the_supervisor(w: &World) -> Outcome {
    let line = "setsid sh -c 'touch begun; sleep 300' & sleep 300";
    let mut started = w.allowed()?.start_line(line)?;
    until("the orphan has begun", || w.ws.join("begun").exists())?;
    started.kill()?;
    expect(started.end()?.signal == Some(9), "it was not killed")?;
    until("nothing is left of the run", || w.alive().is_empty())
}

/// Processes that fork, leave their session and end, faster than anybody could walk after them.
fn a_hopping_tree_is_killed(w: &World) -> Outcome {
    let hop = "#!/bin/sh\nsetsid \"$0\" &\nexit\n";
    fs::write(w.ws.join("hop"), hop)?;
    fs::set_permissions(w.ws.join("hop"), fs::Permissions::from_mode(0o755))?;
    let run = w.asked(YES)?.option("--timeout", "1s");
    let line = "./hop & ./hop & ./hop & ./hop & sleep 300";
    run.line(line)?.exits(124)?;
    until("nothing is left of the run", || w.alive().is_empty())
}
