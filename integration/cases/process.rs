//! Claim 2, processes: who the command is, what it was handed and whom it can touch.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};

use serde_json::Value;

use crate::harness::world::{World, YES};
use crate::harness::{Case, Outcome, Red, case, expect, skip};

pub const CASES: &[Case] = &[
    case("no_capability_and_no_new_privileges", 2, no_capability),
    case(
        "set_user_id_program_gains_nothing",
        2,
        set_user_id_program_gains_nothing,
    ),
    case(
        "supervisor_cannot_be_signalled",
        2,
        supervisor_cannot_be_signalled,
    ),
    case("others_cannot_be_signalled", 2, others_cannot_be_signalled),
    case("environment_of_others", 2, environment_of_others),
    case(
        "inherited_descriptor_is_closed",
        2,
        inherited_descriptor_is_closed,
    ),
    case("own_session", 2, own_session),
    case("grandchild_is_confined", 2, grandchild_is_confined),
    case(
        "dangerous_variables_are_removed",
        2,
        dangerous_variables_are_removed,
    ),
    case("runs_as_the_named_user", 2, runs_as_the_named_user),
    case("runs_as_the_sudo_user", 2, runs_as_the_sudo_user),
    case("unnamed_root_stays_root_without_power", 2, unnamed_root).red(Red::Both),
];

const NOTHING: &str = "0000000000000000";

fn no_capability(w: &World) -> Outcome {
    let control = w.fenced(&["status"])?;
    expect(
        control.fact("CapEff")? != NOTHING,
        "the control has no capability to lose",
    )?;
    let attack = w.attack(&["status"])?;
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        attack.is(set, NOTHING)?;
    }
    if w.root() {
        // Without the right to change it an ordinary user keeps a bounding set that bounds nothing.
        attack.is("CapBnd", NOTHING)?;
    }
    attack.is("NoNewPrivs", "1")?.is("Seccomp", "2")?;
    Ok(())
}

fn set_user_id_program_gains_nothing(w: &World) -> Outcome {
    let (ws, other, own) = if w.root() {
        let probe = w.ws.join("probe");
        chown(&probe, Some(65534), None)?;
        fs::set_permissions(&probe, fs::Permissions::from_mode(0o4755))?;
        (w.ws.clone(), "65534", "0".to_owned())
    } else {
        let Some(ws) = w.suid_ws.clone() else {
            return skip("only root can prepare a program that belongs to root");
        };
        (ws, "0", nix::unistd::getuid().to_string())
    };
    let mut command = w.plain(ws.join("probe"));
    command.arg("status");
    let control = crate::harness::process::start(command, &w.logs())?.end()?;
    let answer: Value = serde_json::from_str(control.out.trim())?;
    if answer.get("euid").map(Value::to_string).as_deref() != Some(other) {
        return skip("set-user-ID bits do nothing where the tests run (nosuid)");
    }
    w.asked(YES)?
        .cwd(&ws)
        .attack(&["status"])?
        .ok()?
        .is("euid", &own)?;
    Ok(())
}

/// Signal 0: asks for the right and sends nothing. The parent of the command is the supervisor.
fn supervisor_cannot_be_signalled(w: &World) -> Outcome {
    w.control(&["kill-parent"])?.ok()?;
    w.attack(&["kill-parent"])?.errno(w.stranger_is("EPERM"))?;
    Ok(())
}

fn own_pid() -> String {
    std::process::id().to_string()
}

fn others_cannot_be_signalled(w: &World) -> Outcome {
    w.control(&["kill", &own_pid()])?.ok()?;
    w.attack(&["kill", &own_pid()])?
        .errno(w.stranger_is("EPERM"))?;
    Ok(())
}

fn environment_of_others(w: &World) -> Outcome {
    w.control(&["environ", &own_pid()])?.ok()?;
    w.attack(&["environ", &own_pid()])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

/// A descriptor opened before the sandbox keeps its rights, whatever Landlock says.
fn inherited_descriptor_is_closed(w: &World) -> Outcome {
    let secret = w.outside_file("secret", "the password")?;
    let open = format!("exec 9<{secret}; exec \"$@\"");
    let control = w.shell(&format!("exec 9<{secret}; ./probe inherited 9"))?;
    expect(
        control.out.contains("\"ok\""),
        format!("the control did not inherit it: {control}"),
    )?;
    let run = w.asked(YES)?.prefix(&["bash", "-c", &open, "bash"]);
    run.attack(&["inherited", "9"])?.errno("EBADF")?;
    let open = run.attack(&["descriptors"])?.fact("open")?.to_string();
    expect(
        open == r#"["0","1","2"]"#,
        format!("open descriptors: {open}"),
    )
}

fn own_session(w: &World) -> Outcome {
    let own = nix::unistd::getsid(None)?.to_string();
    w.control(&["status"])?.is("session", &own)?;
    let session = w.attack(&["status"])?.fact("session")?.to_string();
    expect(
        session != own,
        "the command is in the session of whoever started it",
    )
}

fn grandchild_is_confined(w: &World) -> Outcome {
    let secret = w.outside_file("secret", "the password")?;
    let line = format!("sh -c 'setsid -w ./probe open-read {secret}'");
    let control = w.shell(&line)?;
    expect(
        control.out.contains("\"ok\""),
        format!("the control could not read: {control}"),
    )?;
    let attack = w.asked(YES)?.line(&line)?;
    attack.exits(0)?;
    let answer = w.outside_is("EACCES");
    expect(
        attack.out.contains(answer),
        format!("expected {answer}: {attack}"),
    )
}

/// They would run code of the caller's choice before or inside what was judged.
fn dangerous_variables_are_removed(w: &World) -> Outcome {
    let names = [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "BASH_ENV",
        "ENV",
        "PS4",
        "CDPATH",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
    ];
    let harmless = w.inside("nothing");
    let mut run = w.asked(YES)?.env("HARMLESS", "kept");
    for name in names {
        run = run.env(name, &harmless);
    }
    let tried = run.attack(&["environment"])?;
    let answer = tried.answer.as_ref();
    for name in names {
        let there = answer.is_some_and(|answer| answer.get(name).is_some());
        expect(!there, format!("{name} reached the command"))?;
    }
    Ok(())
}

fn only_as_root(w: &World) -> Outcome {
    if w.root() {
        Ok(())
    } else {
        skip("only root can become another user")
    }
}

fn is_nobody(w: &World, tried: &crate::harness::world::Tried) -> Outcome {
    only_as_root(w)?;
    tried
        .is("uid", "65534")?
        .is("euid", "65534")?
        .is("CapEff", NOTHING)?;
    expect(
        *tried.fact("groups")? != serde_json::json!([0]),
        "root's groups were kept",
    )?;
    expect(*tried.fact("gid")? != 0, "root's group was kept")
}

fn runs_as_the_named_user(w: &World) -> Outcome {
    only_as_root(w)?;
    w.control(&["status"])?.is("uid", "0")?;
    is_nobody(
        w,
        &w.asked(YES)?
            .option("--user", "nobody")
            .attack(&["status"])?,
    )
}

fn runs_as_the_sudo_user(w: &World) -> Outcome {
    only_as_root(w)?;
    let run = w
        .asked(YES)?
        .env("SUDO_UID", "65534")
        .env("SUDO_GID", "65534")
        .env("SUDO_USER", "nobody");
    is_nobody(w, &run.attack(&["status"])?)
}

/// uid 0 without a capability still owns root's files: the sandbox has to hold all the same, and the
/// record has to say who it was.
fn unnamed_root(w: &World) -> Outcome {
    only_as_root(w)?;
    w.control(&["open-read", "/etc/shadow"])?.ok()?;
    let attack = w.attack(&["status"])?;
    attack.is("uid", "0")?.is("CapEff", NOTHING)?;
    w.attack(&["open-read", "/etc/shadow"])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}
