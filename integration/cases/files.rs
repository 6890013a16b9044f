//! Claim 2, files: what lies outside the profile cannot be read or changed, by whatever call.

use std::fs;

use crate::harness::world::{World, YES};
use crate::harness::{Case, Outcome, Red, case, expect, fail};

pub const CASES: &[Case] = &[
    case("workspace_is_writable", 2, workspace_is_writable).red(Red::Refusing),
    case("write_outside", 2, write_outside),
    case("create_outside", 2, create_outside),
    case("mkdir_outside", 2, mkdir_outside),
    case("unlink_outside", 2, unlink_outside),
    case("truncate_outside", 2, truncate_outside),
    case("read_outside", 2, read_outside),
    case("list_outside", 2, list_outside),
    case("home_is_unreadable", 2, home_is_unreadable),
    case("variables_open_no_keys", 2, variables_open_no_keys),
    case("dot_dot_leads_nowhere", 2, dot_dot_leads_nowhere),
    case("rename_across", 2, rename_across),
    case("hard_link_across", 2, hard_link_across),
    case("write_through_a_symlink", 2, write_through_a_symlink),
    case(
        "redirect_outside_by_the_shell",
        2,
        redirect_outside_by_the_shell,
    ),
    case(
        "read_only_profile_writes_nothing",
        2,
        read_only_profile_writes_nothing,
    ),
    case("a_rule_narrows_the_profile_of_its_line", 2, rule_narrows),
    case(
        "foreign_program_is_not_executable",
        2,
        foreign_program_is_not_executable,
    ),
    case(
        "policy_and_state_are_out_of_reach",
        2,
        policy_and_state_are_out_of_reach,
    ),
];

/// Not an attack: without it a sandbox that breaks everything would pass all the others.
fn workspace_is_writable(w: &World) -> Outcome {
    w.attack(&["create", &w.inside("new")])?.ok()?;
    w.attack(&["mkdir", &w.inside("folder")])?.ok()?;
    w.attack(&["rename", &w.inside("new"), &w.inside("folder/moved")])?
        .ok()?;
    expect(
        w.ws.join("folder/moved").exists(),
        "the file is not where the run put it",
    )
}

fn write_outside(w: &World) -> Outcome {
    let target = w.outside_file("target", "old\n")?;
    w.control(&["open-write", &target])?.ok()?;
    let target = w.outside_file("target", "old\n")?;
    w.attack(&["open-write", &target])?
        .errno(w.outside_is("EACCES"))?;
    expect(fs::read(&target)? == b"old\n", "the file changed")
}

fn create_outside(w: &World) -> Outcome {
    w.control(&["create", &w.beside("control")])?.ok()?;
    w.attack(&["create", &w.beside("attack")])?
        .errno(w.outside_is("EACCES"))?;
    expect(!w.outside.join("attack").exists(), "the file was made")
}

fn mkdir_outside(w: &World) -> Outcome {
    w.control(&["mkdir", &w.beside("control")])?.ok()?;
    w.attack(&["mkdir", &w.beside("attack")])?
        .errno(w.outside_is("EACCES"))?;
    expect(!w.outside.join("attack").exists(), "the folder was made")
}

fn unlink_outside(w: &World) -> Outcome {
    let target = w.outside_file("control", "x")?;
    w.control(&["unlink", &target])?.ok()?;
    let target = w.outside_file("attack", "x")?;
    w.attack(&["unlink", &target])?
        .errno(w.outside_is("EACCES"))?;
    expect(w.outside.join("attack").exists(), "the file is gone")
}

/// Below Landlock ABI 3 truncate(2) escapes every write rule.
fn truncate_outside(w: &World) -> Outcome {
    let target = w.outside_file("target", "old\n")?;
    w.control(&["truncate", &target])?.ok()?;
    let target = w.outside_file("target", "old\n")?;
    w.attack(&["truncate", &target])?
        .errno(w.outside_is("EACCES"))?;
    expect(fs::read(&target)? == b"old\n", "the file was cut")
}

fn read_outside(w: &World) -> Outcome {
    let secret = w.outside_file("secret", "the password")?;
    w.control(&["open-read", &secret])?
        .is("text", "the password")?;
    w.attack(&["open-read", &secret])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

fn list_outside(w: &World) -> Outcome {
    let folder = w.outside.display().to_string();
    w.control(&["list", &folder])?.ok()?;
    w.attack(&["list", &folder])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

fn home_is_unreadable(w: &World) -> Outcome {
    let key = w.top.join("home/.ssh/id");
    fs::create_dir_all(w.top.join("home/.ssh"))?;
    fs::write(&key, "private")?;
    let key = key.display().to_string();
    w.control(&["open-read", &key])?.ok()?;
    w.attack(&["open-read", &key])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

/// PATH and the toolchains' variables are whoever's who starts the run; a folder of programs on PATH is
/// still read.
fn variables_open_no_keys(w: &World) -> Outcome {
    let mut files = Vec::new();
    for folder in ["home/bin", "home/.ssh", "home/.ssh/bin", "home/notes"] {
        let folder = w.top.join(folder);
        fs::create_dir_all(&folder)?;
        fs::copy(&w.probe, folder.join("tool"))?;
        fs::write(folder.join("file"), "private")?;
        files.push(folder.join("file").display().to_string());
    }
    let [read, key, key_below, notes] = files.as_slice() else {
        return fail("there are four files");
    };
    let home = w.top.join("home").display().to_string();
    for file in &files {
        w.control(&["open-read", file])?.ok()?;
    }
    let path = format!("{home}/bin:{home}/.ssh:{home}/.ssh/bin:/usr/bin:/bin");
    let run = w.asked(YES)?.env("PATH", path);
    run.attack(&["open-read", read])?.ok()?;
    for variable in [
        "CARGO_HOME",
        "RUSTUP_HOME",
        "PYENV_ROOT",
        "NVM_DIR",
        "GOROOT",
    ] {
        for (folder, file) in [(".ssh", key), (".ssh", key_below), ("notes", notes)] {
            let path = format!("{home}/{folder}/bin:{home}/{folder}/shims:/usr/bin:/bin");
            let run = w.asked(YES)?.env("PATH", path);
            let run = run.env(variable, format!("{home}/{folder}"));
            run.attack(&["open-read", file])?
                .errno(w.outside_is("EACCES"))?;
        }
    }
    run.attack(&["open-read", key])?
        .errno(w.outside_is("EACCES"))?;
    run.attack(&["open-read", key_below])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

fn dot_dot_leads_nowhere(w: &World) -> Outcome {
    w.outside_file("secret", "the password")?;
    w.control(&["open-read", "../outside/secret"])?.ok()?;
    w.attack(&["open-read", "../outside/secret"])?
        .errno(w.outside_is("EACCES"))?;
    w.attack(&["open-read", "./../ws/../outside/secret"])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

/// EXDEV is what Landlock answers when a move would change what may be done with a file, EACCES when
/// one of the two folders may not be changed at all.
fn rename_across(w: &World) -> Outcome {
    fs::write(w.ws.join("mine"), "x")?;
    w.control(&["rename", &w.inside("mine"), &w.beside("control")])?
        .ok()?;
    fs::write(w.ws.join("mine"), "x")?;
    w.attack(&["rename", &w.inside("mine"), &w.beside("attack")])?
        .errno(w.outside_is("EACCES"))?;
    let theirs = w.outside_file("theirs", "x")?;
    w.attack(&["rename", &theirs, &w.inside("stolen")])?
        .errno(w.outside_is("EACCES"))?;
    expect(
        w.ws.join("mine").exists() && w.outside.join("theirs").exists(),
        "a file moved",
    )
}

/// A link would give a file outside a second name inside.
fn hard_link_across(w: &World) -> Outcome {
    let secret = w.outside_file("secret", "the password")?;
    w.control(&["link", &secret, &w.inside("control")])?.ok()?;
    fs::remove_file(w.ws.join("control"))?;
    w.attack(&["link", &secret, &w.inside("attack")])?
        .errno(w.outside_is("EXDEV"))?;
    expect(!w.ws.join("attack").exists(), "the link was made")
}

fn write_through_a_symlink(w: &World) -> Outcome {
    let target = w.outside_file("target", "old\n")?;
    w.attack(&["symlink", &target, &w.inside("inner")])?.ok()?;
    w.control(&["open-write", &w.inside("inner")])?.ok()?;
    let target = w.outside_file("target", "old\n")?;
    w.attack(&["open-write", &w.inside("inner")])?
        .errno(w.outside_is("EACCES"))?;
    expect(fs::read(&target)? == b"old\n", "the file changed")
}

/// The rules allow every write; the sandbox does not.
fn redirect_outside_by_the_shell(w: &World) -> Outcome {
    let line = |name: &str| format!("echo x > {}", w.beside(name));
    w.shell(&line("control"))?.exits(0)?;
    expect(
        w.outside.join("control").exists(),
        "the control wrote nothing",
    )?;
    w.allowed()?.line("echo x > inside")?.exits(0)?;
    expect(
        w.ws.join("inside").exists(),
        "a redirection inside the workspace does not work",
    )?;
    // A relative pattern means the workspace: this one allows every write there is.
    let everywhere = "version = 1\n[permissions]\nallow = [\"*\", \"env(*)\", \"write(/**)\"]\n";
    let attack = w.policy(everywhere)?.line(&line("attack"))?;
    attack.exits(1)?.says(w.outside_says())?;
    expect(!w.outside.join("attack").exists(), "the file was made")
}

fn read_only_profile_writes_nothing(w: &World) -> Outcome {
    let run = || Ok::<_, crate::harness::Stop>(w.asked(YES)?.option("--profile", "read-only"));
    fs::write(w.ws.join("text"), "words")?;
    w.control(&["create", &w.inside("control")])?.ok()?;
    run()?
        .attack(&["open-read", &w.inside("text")])?
        .is("text", "words")?;
    run()?
        .attack(&["create", &w.inside("attack")])?
        .errno(w.read_only_is())?;
    run()?
        .attack(&["open-write", &w.inside("text")])?
        .errno(w.read_only_is())?;
    expect(!w.ws.join("attack").exists(), "the file was made")
}

/// One command of the line is ruled to run read-only, so the whole line does; no rule widens it again.
fn rule_narrows(w: &World) -> Outcome {
    let probe = w.probe.display();
    let rule = |word: &str, profile: &str| {
        format!("[[rule]]\nverdict = \"allow\"\ncommands = [\"{word}\"]\nsandbox = \"{profile}\"\n")
    };
    let rules = [
        "version = 1\n".to_owned(),
        rule("cat", "read-only"),
        rule(&probe.to_string(), "workspace"),
    ]
    .concat();
    let line = |name: &str| format!("{probe} create {}", w.inside(name));
    w.policy(&rules)?.line(&line("control"))?.exits(0)?;
    expect(w.ws.join("control").exists(), "the control made no file")?;
    let ran = w
        .policy(&rules)?
        .line(&format!("cat /dev/null; {}", line("attack")))?;
    expect(
        ran.out.contains(w.read_only_is()),
        format!("expected `{}`: {ran}", w.read_only_is()),
    )?;
    expect(!w.ws.join("attack").exists(), "the file was made")?;
    expect(
        w.audit_text().contains("\"profile\":\"read-only\""),
        "the record names another profile",
    )
}

fn foreign_program_is_not_executable(w: &World) -> Outcome {
    let program = w.outside.join("program");
    fs::copy(&w.probe, &program)?;
    let program = program.display().to_string();
    w.control(&["exec", &program, "status"])?.ok()?;
    w.attack(&["exec", &program, "status"])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

/// Nothing inside can read or change what decides about it. The paths stand in a file, since a
/// command that names them is denied before it starts.
fn policy_and_state_are_out_of_reach(w: &World) -> Outcome {
    w.allowed()?.line("true")?.exits(0)?;
    for path in ["state/tipstaff/audit.jsonl", "policy.toml"] {
        let path = w.top.join(path).display().to_string();
        w.control(&["open-read", &path])?.ok()?;
        for attempt in ["open-read", "truncate", "unlink"] {
            fs::write(w.ws.join("words"), format!("{attempt}\n{path}\n"))?;
            w.attack(&["@words"])?.errno(w.outside_is("EACCES"))?;
        }
    }
    Ok(())
}
