//! The gate: every exec of the tree is judged by its real argv, deny rules reach all of them, and what a
//! decision covers is what it says.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::harness::process::Ran;
use crate::harness::world::{ALLOW_ALL, ASK_ALL, NO, World, YES};
use crate::harness::{Case, Outcome, Red, case, expect, skip};

pub const CASES: &[Case] = &[
    case("deny_reaches_every_exec", 5, deny_reaches_every_exec),
    case("deny_reaches_make_and_git", 5, deny_reaches_make_and_git),
    case("deny_by_every_kind_of_exec", 5, deny_by_every_kind_of_exec),
    case("loader_runs_nothing", 5, loader_runs_nothing),
    case(
        "nameless_files_do_not_start",
        1,
        nameless_files_do_not_start,
    ),
    case(
        "script_without_interpreter_line_is_judged",
        5,
        script_without_interpreter_line,
    ),
    case(
        "dynamic_program_is_judged_when_it_starts",
        1,
        dynamic_program,
    ),
    case("exec_waits_for_the_answer", 1, exec_waits_for_the_answer),
    case(
        "lineage_covers_what_it_says",
        1,
        lineage_covers_what_it_says,
    ),
    case(
        "read_only_covers_only_helpers",
        1,
        read_only_covers_only_helpers,
    ),
    case("orphans_keep_their_place", 1, orphans_keep_their_place),
    case("name_of_its_own_choosing", 1, name_of_its_own_choosing),
    case(
        "variables_are_judged_with_the_exec",
        1,
        variables_are_judged,
    ),
    case("strict_gate_judges_everything", 1, strict_gate),
    case("bypass_asks_nothing_and_denies_all_the_same", 4, bypass),
    case("failing_execs_fail_as_they_would", 1, failing_execs).red(Red::Refusing),
    case("many_execs_at_once", 1, many_execs_at_once).red(Red::Refusing),
    case("execs_under_signals", 1, execs_under_signals).red(Red::Refusing),
    case("long_arguments_pass", 1, long_arguments).red(Red::Refusing),
];

/// Everything may run, and approvals come at once; `touch` is denied.
fn denied(w: &World, line: &str) -> Outcome<Ran> {
    let approver = w.approver(YES)?;
    let policy = format!("{ALLOW_ALL}deny = [\"touch\"]\n");
    w.policy(&policy)?
        .option("--approver", &approver)
        .line(line)
}

/// Control: without the rule the line makes `made`. Attack: with it nothing does, and the result says so.
fn only_without_the_rule(w: &World, line: &str) -> Outcome {
    w.asked(YES)?.line(line)?;
    expect(
        w.ws.join("made").exists(),
        format!("the control made nothing: {line}"),
    )?;
    fs::remove_file(w.ws.join("made"))?;
    let ran = denied(w, line)?;
    expect(
        !w.ws.join("made").exists(),
        format!("it started all the same: {line}: {ran}"),
    )?;
    ran.says("rule-deny")?;
    Ok(())
}

fn script(w: &World, name: &str, text: &str) -> Outcome {
    let path = w.ws.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn has(name: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| std::path::Path::new(folder).join(name).exists())
}

/// No word of these lines tells what starts.
fn deny_reaches_every_exec(w: &World) -> Outcome {
    symlink("/usr/bin/touch", w.ws.join("linked"))?;
    fs::copy("/usr/bin/touch", w.ws.join("copied"))?;
    script(w, "plain.sh", "#!/bin/sh\ntouch made\n")?;
    script(w, "by-env", "#!/usr/bin/env -S touch\n")?;
    let mut lines = vec![
        "x=$(printf touch); $x made",
        "eval \"$(printf 'to%s made' uch)\"",
        "printf 'to%s made' uch | sh",
        "printf 'to%s made' uch | dash",
        "./plain.sh",
        "sh ./plain.sh",
        "x=$(printf ./linked); $x made",
        "x=$(printf ./copied); $x made",
        "printf 'made' | xargs \"$(printf 'to%s' uch)\"",
        "find . -maxdepth 0 -exec sh -c \"$(printf 'to%s made' uch)\" ';'",
        "x=$(printf touch); exec $x made",
        "x=$(printf touch); (setsid $x made)",
    ];
    if has("python3") {
        lines.push("python3 -c 'import subprocess; subprocess.run([\"to\"+\"uch\",\"made\"])'");
        lines.push("python3 -c 'import os; os.execvp(\"to\"+\"uch\",[\"ls\",\"made\"])'");
    }
    if has("perl") {
        lines.push("perl -e 'system(\"to\".\"uch\",\"made\")'");
        lines.push("perl -e 'exec \"to\".\"uch made\"'");
    }
    for line in lines {
        only_without_the_rule(w, line)?;
    }
    // A hard link is another name of the file. Where the file may be linked it lies in the workspace.
    fs::copy("/usr/bin/touch", w.ws.join("one"))?;
    fs::hard_link(w.ws.join("one"), w.ws.join("two"))?;
    only_without_the_rule(w, "x=$(printf ./two); $x made")
}

fn deny_reaches_make_and_git(w: &World) -> Outcome {
    if has("make") {
        fs::write(w.ws.join("Makefile"), "all:\n\ttouch made\n")?;
        only_without_the_rule(w, "make")?;
    }
    if !has("git") {
        return skip("git is not installed");
    }
    w.shell("git init -q . && git config alias.t '!touch made' && git config alias.u '!sh -c \"touch made\"'")?
        .exits(0)?;
    script(w, ".git/hooks/post-commit", "#!/bin/sh\ntouch made\n")?;
    only_without_the_rule(w, "git t")?;
    only_without_the_rule(w, "git u")?;
    let commit = "git -c user.name=n -c user.email=e commit -q --allow-empty -m x";
    only_without_the_rule(w, commit)
}

fn deny_by_every_kind_of_exec(w: &World) -> Outcome {
    let touch = "/usr/bin/touch";
    for kind in [
        "exec",
        "exec-thread",
        "exec-spawn",
        "exec-fd",
        "exec-proc-fd",
    ] {
        fs::write(w.ws.join("words"), format!("{kind}\n{touch}\nmade\n"))?;
        only_without_the_rule(w, "./probe @words")?;
    }
    fs::write(
        w.ws.join("words"),
        format!("exec-called\n{touch}\nls\nmade\n"),
    )?;
    only_without_the_rule(w, "./probe @words")
}

/// `ld.so PROGRAM` and a copy of ld.so would run a denied program without executing it.
fn loader_runs_nothing(w: &World) -> Outcome {
    let loaders = [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/ld-musl-x86_64.so.1",
    ];
    let Some(loader) = loaders
        .iter()
        .find(|path| fs::exists(path).unwrap_or(false))
    else {
        return skip("no dynamic loader at a usual place");
    };
    fs::copy(loader, w.ws.join("harmless"))?;
    for line in [
        format!("x=$(printf {loader}); $x /usr/bin/touch made"),
        "x=$(printf ./harmless); $x /usr/bin/touch made".to_owned(),
    ] {
        let control = w.shell(&line)?;
        control.exits(0)?;
        fs::remove_file(w.ws.join("made"))?;
        let ran = w.asked(YES)?.line(&line)?;
        expect(
            !w.ws.join("made").exists(),
            format!("it started all the same: {line}: {ran}"),
        )?;
        ran.says("program-hidden")?;
    }
    Ok(())
}

fn nameless_files_do_not_start(w: &World) -> Outcome {
    for kind in ["exec-memfd", "exec-deleted"] {
        let arguments = [kind, "/usr/bin/touch", "made"];
        let mut control = w.plain("./probe");
        control.args(arguments);
        crate::harness::process::start(control, &w.logs())?
            .end()?
            .exits(0)?;
        expect(w.ws.join("made").exists(), "the control made nothing")?;
        fs::remove_file(w.ws.join("made"))?;
        w.attack(&arguments)?.errno("EACCES")?;
        expect(!w.ws.join("made").exists(), "it started all the same")?;
    }
    Ok(())
}

/// bash reads it itself when the kernel says ENOEXEC: no exec tells of it, but the attempt does.
fn script_without_interpreter_line(w: &World) -> Outcome {
    script(w, "bare", ": > made\n")?;
    w.asked(YES)?.line("x=$(printf ./bare); $x")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    fs::remove_file(w.ws.join("made"))?;
    let approver = w.approver(YES)?;
    let policy = format!("{ALLOW_ALL}deny = [\"bare\"]\n");
    let ran = w
        .policy(&policy)?
        .option("--approver", &approver)
        .line("x=$(printf ./bare); $x")?;
    ran.exits(126)?.says("rule-deny")?;
    expect(!w.ws.join("made").exists(), "it was read all the same")
}

/// The line is approved with a name that only the shell knows; the name is asked about when it is known.
fn dynamic_program(w: &World) -> Outcome {
    w.asked(YES)?.line("x=$(printf touch); $x made")?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    expect(
        w.times_asked() == 2,
        format!("asked {} times", w.times_asked()),
    )?;
    let question = fs::read_to_string(w.top.join("question.json"))?;
    expect(
        question.contains("touch made"),
        format!("the real argv is not shown: {question}"),
    )?;
    fs::remove_file(w.ws.join("made"))?;
    w.forget_questions()?;
    let once = "if [ \"$(wc -l < asked.log)\" -eq 1 ]; then allow; else deny; fi";
    let ran = w
        .asked(once)?
        .line("x=$(printf touch); $x made; echo \"rc=$?\"")?;
    ran.exits(0)?.says("not today")?;
    expect(ran.out.contains("rc=126"), format!("not EACCES: {ran}"))?;
    expect(!w.ws.join("made").exists(), "it started all the same")?;
    expect(
        w.audit_text().contains("\"kind\":\"exec\""),
        "the decision is not recorded",
    )
}

/// The process waits in the kernel, whatever else the command does meanwhile; that time is not charged.
fn exec_waits_for_the_answer(w: &World) -> Outcome {
    let slow = "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then sleep 2; fi; allow";
    let line = "x=$(printf touch); $x made & : > meanwhile; wait";
    let ran = w.asked(slow)?.option("--timeout", "1").line(line)?;
    ran.exits(0)?;
    for name in ["made", "meanwhile"] {
        expect(
            w.ws.join(name).exists(),
            format!("{name} is missing: {ran}"),
        )?;
    }
    // An interruption while it waits cancels the question and the command.
    let asks = "if [ \"$(wc -l < asked.log)\" -gt 1 ]; then sleep 20; fi; allow";
    w.forget_questions()?;
    let started = w.asked(asks)?.start_line("x=$(printf touch); $x late")?;
    crate::harness::process::until("it is asked twice", || w.times_asked() == 2)?;
    started.signal(nix::sys::signal::Signal::SIGTERM)?;
    started.end()?.exits(130)?;
    expect(!w.ws.join("late").exists(), "it started all the same")
}

/// A program that a rule allows covers what it starts; the shell of the line covers nothing.
fn lineage_covers_what_it_says(w: &World) -> Outcome {
    script(w, "tool", "#!/bin/sh\n/usr/bin/touch made\n")?;
    let tool = w.inside("tool");
    let policy = format!(
        "version = 1\n[permissions]\nread_only_defaults = false\nallow = [\"{tool}\", \"sh\"]\n"
    );
    w.policy(&policy)?.argv(&[tool.as_str()])?.exits(0)?;
    expect(w.ws.join("made").exists(), "the tool could not do its work")?;
    fs::remove_file(w.ws.join("made"))?;
    // `sh` is allowed as well, but a carrier covers nothing of what it carries.
    let ran = w.policy(&policy)?.line("sh -c '/usr/bin/touch made'")?;
    ran.exits(126)?;
    expect(!w.ws.join("made").exists(), "a carrier covered it")?;
    // A fork is covered by the image it was forked from, not by what its parent became since.
    script(w, "slow", "#!/bin/sh\n/bin/sleep 3\n")?;
    let slow = w.inside("slow");
    let policy = format!(
        "version = 1\n[permissions]\nread_only_defaults = false\nallow = [\"{slow}\", \"sleep\"]\n"
    );
    let approver =
        w.approver("if [ \"$(wc -l < asked.log)\" -eq 1 ]; then allow; else deny; fi")?;
    let run = w.policy(&policy)?.option("--approver", &approver);
    let ran = run.line(&format!(
        "x=$(printf /usr/bin/touch); (sleep 0.3; $x made) & exec {slow}"
    ))?;
    expect(
        !w.ws.join("made").exists() && w.times_asked() == 2,
        format!("a fork of the shell was covered by what the shell became: {ran}"),
    )
}

/// `git log` is known to read; a program its configuration names is not its helper.
fn read_only_covers_only_helpers(w: &World) -> Outcome {
    if !has("git") {
        return skip("git is not installed");
    }
    w.shell("git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m x && echo a > f && git add f")?
        .exits(0)?;
    script(w, "monitor", "#!/bin/sh\n/usr/bin/touch made\n")?;
    w.shell(&format!(
        "git config core.fsmonitor {}",
        w.inside("monitor")
    ))?
    .exits(0)?;
    w.shell("git status")?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    fs::remove_file(w.ws.join("made"))?;
    let ran = w.policy("version = 1\n")?.line("git status --short")?;
    ran.exits(0)?;
    expect(ran.out.contains("f"), format!("git did not answer: {ran}"))?;
    expect(!w.ws.join("made").exists(), "git covered it")?;
    ran.says("no-approver")?;
    Ok(())
}

/// Until the file is there, or could have been.
const WAITS: &str = "n=0; while [ ! -e made ] && [ $n -lt 40 ]; do sleep 0.1; n=$((n + 1)); done";

/// The process that made a fork is gone; the fork still belongs to the program it came from.
fn orphans_keep_their_place(w: &World) -> Outcome {
    script(
        w,
        "tool",
        &format!("#!/bin/sh\n(setsid sh -c 'sleep 0.2; /usr/bin/touch made' &)\n{WAITS}\n"),
    )?;
    let tool = w.inside("tool");
    let policy =
        format!("version = 1\n[permissions]\nread_only_defaults = false\nallow = [\"{tool}\"]\n");
    w.policy(&policy)?.argv(&[tool.as_str()])?.exits(0)?;
    expect(
        w.ws.join("made").exists(),
        "an orphan of the tool was not covered",
    )?;
    fs::remove_file(w.ws.join("made"))?;
    let line =
        format!("x=$(printf /usr/bin/touch); (setsid sh -c \"sleep 0.2; $x made\" &) ; {WAITS}");
    let line = line.as_str();
    let approver = w.approver(NO)?;
    w.asked(YES)?.line(line)?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    fs::remove_file(w.ws.join("made"))?;
    let policy =
        "version = 1\n[permissions]\nallow = [\"sh\", \"setsid\", \"sleep\"]\ndeny = [\"touch\"]\n";
    w.policy(policy)?
        .option("--approver", &approver)
        .line(line)?;
    expect(!w.ws.join("made").exists(), "an orphan started it")
}

/// `argv[0]` is the caller's to choose: an allow rule for one name covers no other program under it.
fn name_of_its_own_choosing(w: &World) -> Outcome {
    let policy =
        "version = 1\n[permissions]\nread_only_defaults = false\nallow = [\"ls\", \"bash\"]\n";
    let line = "bash -c 'exec -a ls /usr/bin/touch made'";
    w.asked(YES)?.line(line)?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    fs::remove_file(w.ws.join("made"))?;
    let approver =
        w.approver("if [ \"$(wc -l < asked.log)\" -eq 1 ]; then allow; else deny; fi")?;
    w.forget_questions()?;
    w.policy(policy)?
        .option("--approver", &approver)
        .line(line)?;
    expect(!w.ws.join("made").exists(), "a false name was enough")?;
    w.policy(policy)?.line("ls")?.exits(0)?;
    Ok(())
}

/// A variable that nobody judged with the line is judged with the exec that has it.
fn variables_are_judged(w: &World) -> Outcome {
    let policy = "version = 1\n[permissions]\nallow = [\"touch\"]\ndeny = [\"env(SECRET_KNOB)\"]\n";
    let line = "n=SECRET_KNOB; export \"$n=1\"; touch made";
    let approver = w.approver(YES)?;
    w.asked(YES)?.line(line)?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    fs::remove_file(w.ws.join("made"))?;
    let ran = w
        .policy(policy)?
        .option("--approver", &approver)
        .line(line)?;
    expect(!w.ws.join("made").exists(), format!("it started: {ran}"))?;
    ran.says("rule-deny")?;
    Ok(())
}

fn strict_gate(w: &World) -> Outcome {
    script(w, "tool", "#!/bin/sh\n/usr/bin/touch made\n")?;
    let tool = w.inside("tool");
    let lineage = format!("version = 1\n[permissions]\nallow = [\"{tool}\"]\n");
    w.policy(&lineage)?.argv(&[tool.as_str()])?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control made nothing")?;
    fs::remove_file(w.ws.join("made"))?;
    let strict = format!("{lineage}[sandbox]\ngate = \"strict\"\n");
    let ran = w.policy(&strict)?.argv(&[tool.as_str()])?;
    ran.exits(126)?.says("no-approver")?;
    expect(!w.ws.join("made").exists(), "the tool covered it")
}

fn bypass(w: &World) -> Outcome {
    let approver = w.approver(YES)?;
    let lines = [
        "touch made",
        "x=$(printf touch); $x made",
        "sh -c 'touch made'",
    ];
    for line in lines {
        let run = w.policy(ASK_ALL)?.option("--approver", &approver);
        run.option("--mode", "bypass").line(line)?.exits(0)?;
        expect(
            w.ws.join("made").exists(),
            format!("it did not run: {line}"),
        )?;
        fs::remove_file(w.ws.join("made"))?;
        let policy = format!("{ASK_ALL}deny = [\"touch\"]\n");
        let run = w.policy(&policy)?.option("--approver", &approver);
        let ran = run.option("--mode", "bypass").line(line)?;
        ran.exits(126)?.says("rule-deny")?;
        expect(!w.ws.join("made").exists(), format!("it ran: {line}"))?;
    }
    expect(w.times_asked() == 0, "somebody was asked")?;
    // The sandbox stays.
    let outside = w.outside_file("target", "old\n")?;
    let run = w.policy(ASK_ALL)?.option("--mode", "bypass");
    run.attack(&["open-write", &outside])?
        .errno(w.outside_is("EACCES"))?;
    expect(fs::read(&outside)? == b"old\n", "the file changed")
}

fn failing_execs(w: &World) -> Outcome {
    script(w, "unreadable", "#!/bin/sh\n")?;
    fs::set_permissions(w.ws.join("unreadable"), fs::Permissions::from_mode(0o644))?;
    fs::create_dir(w.ws.join("folder"))?;
    symlink("loop", w.ws.join("loop"))?;
    script(w, "no-interpreter", "#!/nonexistent/sh\n")?;
    script(w, "no-format", "garbage\n")?;
    for (path, errno) in [
        ("./absent", "ENOENT"),
        ("./unreadable", "EACCES"),
        ("./folder", "EACCES"),
        ("./loop", "ELOOP"),
        ("./folder/x/y", "ENOENT"),
        ("./unreadable/x", "ENOTDIR"),
        ("", "ENOENT"),
        ("./no-format", "ENOEXEC"),
    ] {
        w.control(&["exec", path])?.errno(errno)?;
        w.attack(&["exec", path])?.errno(errno)?;
    }
    let search = "PATH=/nonexistent:/usr/bin:/bin /usr/bin/env true";
    w.asked(YES)?.line(search)?.exits(0)?;
    Ok(())
}

fn many_execs_at_once(w: &World) -> Outcome {
    let well = w.attack(&["exec-many", "8", "25"])?;
    well.ok()?.is("well", "200")?;
    let line = "for i in $(seq 100); do true | cat | (exec cat) > /dev/null; done; echo well";
    let ran = w.asked(YES)?.argv(&["dash", "-c", line]);
    let ran = match ran {
        Ok(ran) if ran.code == Some(127) => w.asked(YES)?.argv(&["sh", "-c", line])?,
        other => other?,
    };
    ran.exits(0)?;
    expect(ran.out.trim() == "well", format!("lost something: {ran}"))?;
    if has("make") {
        let rules: String = (0..60).map(|n| format!("t{n}:\n\t@/bin/true\n")).collect();
        let all: Vec<String> = (0..60).map(|n| format!("t{n}")).collect();
        fs::write(
            w.ws.join("Makefile"),
            format!("all: {}\n{rules}", all.join(" ")),
        )?;
        w.asked(YES)?.argv(&["make", "-s", "-j8"])?.exits(0)?;
    }
    Ok(())
}

fn execs_under_signals(w: &World) -> Outcome {
    w.control(&["exec-under-timer", "300"])?
        .ok()?
        .is("other", "0")?;
    w.attack(&["exec-under-timer", "300"])?
        .ok()?
        .is("other", "0")?;
    Ok(())
}

fn long_arguments(w: &World) -> Outcome {
    w.control(&["exec-big", "1900000"])?.ok()?;
    w.attack(&["exec-big", "1900000"])?.ok()?;
    Ok(())
}
