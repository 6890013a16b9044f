//! Claim 8: what programs outside obey is as it was when a run is over. Where a run has namespaces a mount
//! keeps what is there; everything else is put back afterwards.

use std::fs;
use std::path::Path;

use crate::harness::process::{Ran, until};
use crate::harness::world::{World, YES};
use crate::harness::{Case, Outcome, Red, case, expect, fail};

pub const CASES: &[Case] = &[
    case("hooks_do_not_survive", 8, hooks_do_not_survive),
    case("settings_do_not_survive", 8, settings_do_not_survive),
    case("named_hooks_do_not_survive", 8, named_hooks_do_not_survive),
    case("new_repositories_are_inert", 8, new_repositories_are_inert),
    case("guarded_files_are_put_back", 8, guarded_files_are_put_back),
    case("guarded_paths_are_mounted", 8, guarded_paths_are_mounted).apart(),
    case("git_goes_on", 8, git_goes_on).red(Red::Refusing),
    case("linked_worktree_goes_on", 8, linked_worktree_goes_on),
    case("planted_pointer_opens_nothing", 8, planted_pointer),
    case("swept_after_a_kill", 8, swept_after_a_kill),
];

/// A repository in `folder`, made outside the sandbox.
fn repository(w: &World, folder: &str) -> Outcome {
    w.shell(&format!(
        "git init -q -b main {folder} && cd {folder} && git config user.name t && \
         git config user.email t@example.invalid && echo x > a.txt && git add a.txt && git commit -q -m first"
    ))?
    .exits(0)?;
    Ok(())
}

fn config(w: &World, repository: &str, key: &str) -> Outcome<String> {
    let ran = w.shell(&format!("git -C {repository} config --get {key} || true"))?;
    Ok(ran.out.trim().to_owned())
}

/// The notes are gone, so the sweep is over and nothing of it is left behind.
fn no_notes(w: &World) -> Outcome {
    let notes = w.state.join("tipstaff/guarded");
    let left = fs::read_dir(&notes).map_or(0, Iterator::count);
    expect(
        left == 0,
        format!("{left} notes are left in {}", notes.display()),
    )
}

fn kept(w: &World, name: &str) -> Outcome {
    fn holds(folder: &Path, name: &str) -> bool {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .any(|entry| entry.file_name() == name || holds(&entry.path(), name))
    }
    let quarantine = w.state.join("tipstaff/quarantine");
    expect(
        holds(&quarantine, name),
        format!("`{name}` is not in the quarantine"),
    )
}

fn hooks_do_not_survive(w: &World) -> Outcome {
    repository(w, ".")?;
    let hook = ".git/hooks/pre-commit";
    let line = format!("printf 'id\\n' > {hook}");
    w.shell(&line)?.exits(0)?;
    expect(w.ws.join(hook).exists(), "the control made no hook")?;
    fs::remove_file(w.ws.join(hook))?;
    let ran = w.asked(YES)?.line(&format!("{line}; echo over"))?;
    ran.exits(0)?;
    expect(ran.out.contains("over"), "the line did not end")?;
    expect(!w.ws.join(hook).exists(), "the hook is there")?;
    if w.apart {
        w.attack(&["create", &w.inside(hook)])?.errno("EROFS")?;
    } else {
        ran.says(hook)?;
        kept(w, "pre-commit")?;
    }
    // Samples, which git does not start, are nobody's business.
    no_notes(w)
}

fn settings_do_not_survive(w: &World) -> Outcome {
    repository(w, ".")?;
    let line = "git config core.fsmonitor ./x; git config alias.st '!id'; git config user.name other; \
                git config remote.o.url ../up";
    w.shell(line)?.exits(0)?;
    expect(
        config(w, ".", "core.fsmonitor")? == "./x",
        "the control set nothing",
    )?;
    w.shell("git config --unset core.fsmonitor; git config --unset alias.st")?
        .exits(0)?;
    let ran = w.asked(YES)?.line(line)?;
    ran.exits(0)?.says("alias.st, core.fsmonitor")?;
    for key in ["core.fsmonitor", "alias.st"] {
        expect(config(w, ".", key)?.is_empty(), format!("{key} is set"))?;
    }
    expect(
        config(w, ".", "user.name")? == "other",
        "a harmless setting is lost",
    )?;
    expect(
        config(w, ".", "remote.o.url")? == "../up",
        "a harmless setting is lost",
    )?;
    kept(w, "config")?;
    // Written in a way that readers may take differently.
    let line = "printf '[core] fsmonitor = ./x\\n' >> .git/config";
    w.asked(YES)?.line(line)?.exits(0)?;
    expect(
        config(w, ".", "core.fsmonitor")?.is_empty(),
        "core.fsmonitor is set",
    )?;
    no_notes(w)
}

/// `core.hooksPath` may name any folder of the workspace.
fn named_hooks_do_not_survive(w: &World) -> Outcome {
    repository(w, ".")?;
    w.shell("git config core.hooksPath .husky/_")?.exits(0)?;
    let line = "mkdir -p .husky/_ && printf 'id\\n' > .husky/_/pre-commit";
    w.shell(line)?.exits(0)?;
    fs::remove_dir_all(w.ws.join(".husky"))?;
    w.asked(YES)?.line(line)?.exits(0)?.says(".husky")?;
    expect(!w.ws.join(".husky").exists(), "the hooks are there")?;
    kept(w, "pre-commit")
}

/// A repository that a run makes has neither hooks nor settings that start anything, nor does one without
/// a worktree.
fn new_repositories_are_inert(w: &World) -> Outcome {
    let line = "git init -q sub && printf 'id\\n' > sub/.git/hooks/pre-push && git -C sub config alias.y '!id' && \
                git init -q --bare bare && git -C bare config core.fsmonitor ./x";
    w.shell(line)?.exits(0)?;
    expect(
        config(w, "sub", "alias.y")? == "!id",
        "the control set nothing",
    )?;
    for folder in ["sub", "bare"] {
        fs::remove_dir_all(w.ws.join(folder))?;
    }
    w.asked(YES)?.line(line)?.exits(0)?.says("alias.y")?;
    expect(
        !w.ws.join("sub/.git/hooks/pre-push").exists(),
        "the hook is there",
    )?;
    expect(
        config(w, "sub", "alias.y")?.is_empty(),
        "the alias is there",
    )?;
    expect(
        config(w, "bare", "core.fsmonitor")?.is_empty(),
        "the setting is there",
    )?;
    expect(
        w.ws.join("sub/.git/HEAD").exists(),
        "the repository is lost",
    )
}

fn guarded_files_are_put_back(w: &World) -> Outcome {
    fs::create_dir(w.ws.join(".vscode"))?;
    fs::write(w.ws.join(".vscode/settings.json"), "{}\n")?;
    let line = "echo 'id' > .envrc; echo '{\"x\":1}' > .vscode/settings.json; mkdir .claude; ln -s /etc .codex; \
                echo y > .vscode/other.json; true";
    w.shell(line)?.exits(0)?;
    expect(w.ws.join(".codex").exists(), "the control made nothing")?;
    w.shell("rm -r .envrc .claude .codex; printf '{}\\n' > .vscode/settings.json")?
        .exits(0)?;
    let ran = w.asked(YES)?.line(line)?;
    ran.exits(0)?.says(".envrc")?.says(".codex")?;
    for name in [".envrc", ".claude", ".codex"] {
        let gone = fs::symlink_metadata(w.ws.join(name)).is_err();
        expect(gone, format!("{name} is there"))?;
    }
    let settings = fs::read_to_string(w.ws.join(".vscode/settings.json"))?;
    expect(settings == "{}\n", format!("the settings are {settings}"))?;
    expect(
        w.ws.join(".vscode/other.json").exists(),
        "what is not guarded is lost",
    )?;
    kept(w, ".envrc")?;
    no_notes(w)
}

/// What is there cannot be changed, renamed or removed, nor can the folders that hold it.
fn guarded_paths_are_mounted(w: &World) -> Outcome {
    repository(w, ".")?;
    fs::create_dir(w.ws.join(".vscode"))?;
    let settings = w.inside(".vscode/settings.json");
    fs::write(&settings, "{}\n")?;
    w.control(&["open-write", &settings])?.ok()?;
    w.attack(&["open-write", &settings])?.errno("EROFS")?;
    w.attack(&["unlink", &settings])?.errno("EBUSY")?;
    for (name, away) in [
        (".git", "away"),
        (".git/hooks", ".git/away"),
        (".vscode", "away"),
    ] {
        w.attack(&["rename", &w.inside(name), &w.inside(away)])?
            .errno("EBUSY")?;
    }
    w.attack(&["create", &w.inside(".git/info/x")])?.ok()?;
    Ok(())
}

fn git_goes_on(w: &World) -> Outcome {
    repository(w, ".")?;
    w.shell("git clone -q --bare . ../outside/none 2> /dev/null; git clone -q --bare . up.git && git clone -q . lib")?
        .exits(0)?;
    let line = "set -e; git remote add origin ./up.git; git fetch -q origin; \
                git checkout -q -b topic --track origin/main; echo z >> a.txt; git commit -qam second; \
                git push -q -u origin topic; git -c protocol.file.allow=always submodule add -q \"$PWD/lib\" sub; \
                git commit -qm sub; git init -q other; git worktree add -q tree; git stash -q; git gc -q; \
                git -C tree log -1 --format=%s > said; echo over";
    let ran = w.asked(YES)?.line(line)?;
    ran.exits(0)?;
    expect(
        ran.out.ends_with("over\n"),
        format!("the line did not end: {ran}"),
    )?;
    for (key, value) in [
        ("remote.origin.url", "./up.git"),
        ("branch.topic.remote", "origin"),
        ("branch.topic.merge", "refs/heads/topic"),
        ("submodule.sub.active", "true"),
    ] {
        let found = config(w, ".", key)?;
        expect(found == value, format!("{key} is `{found}`"))?;
    }
    for there in ["sub/.git", "tree/.git", "other/.git/HEAD", "up.git/HEAD"] {
        expect(w.ws.join(there).exists(), format!("{there} is lost"))?;
    }
    w.shell("git -C sub status --short && git -C tree status --short && git fsck")?
        .exits(0)?;
    no_notes(w)
}

/// The workspace is a worktree, and its data lies outside.
fn linked_worktree_goes_on(w: &World) -> Outcome {
    repository(w, "../outside/repo")?;
    w.shell("rmdir \"$PWD\" 2> /dev/null; git -C ../outside/repo worktree add -q -b topic \"$PWD/tree\"")?
        .exits(0)?;
    let tree = w.ws.join("tree");
    let common = w.outside.join("repo/.git");
    let run = |line: &str| -> Outcome<Ran> {
        // The run is of another workspace, under the same policy.
        let _made = w.asked(YES)?;
        let policy = w.top.join("policy.toml").display().to_string();
        let approver = w.approver(YES)?;
        let tree = tree.display().to_string();
        let options = ["run", "--policy", &policy, "--approver", &approver];
        let place = ["--workspace", &tree, "--cwd", &tree, "-c", line];
        w.tipstaff(&[options.as_slice(), &place].concat())
    };
    run("echo y >> a.txt && git commit -qam second")?.exits(0)?;
    let said = w.shell("git -C tree log -1 --format=%s")?;
    expect(
        said.out == "second\n",
        format!("nothing was committed: {said}"),
    )?;
    let hook = common.join("hooks/pre-commit");
    let line = format!(
        "printf 'id\\n' > {}; git config core.fsmonitor ./x; echo over",
        hook.display()
    );
    run(&line)?.exits(0)?;
    expect(!hook.exists(), "the hook of the repository is there")?;
    expect(
        config(w, "tree", "core.fsmonitor")?.is_empty(),
        "core.fsmonitor is set",
    )
}

/// Whoever writes a `.git` file does not have another repository opened by it.
fn planted_pointer(w: &World) -> Outcome {
    repository(w, "../outside/repo")?;
    let target = w.beside("repo/.git/planted");
    fs::write(
        w.ws.join(".git"),
        format!("gitdir: {}\n", w.beside("repo/.git")),
    )?;
    w.control(&["create", &target])?.ok()?;
    fs::remove_file(&target)?;
    w.attack(&["create", &target])?
        .errno(w.outside_is("EACCES"))?;
    // With the look of a worktree of it, but not named by it.
    w.shell("git -C ../outside/repo worktree add -q ../other; rm -r ../outside/other")?
        .exits(0)?;
    fs::write(
        w.ws.join(".git"),
        format!("gitdir: {}\n", w.beside("repo/.git/worktrees/other")),
    )?;
    w.attack(&["create", &target])?
        .errno(w.outside_is("EACCES"))?;
    Ok(())
}

fn swept_after_a_kill(w: &World) -> Outcome {
    repository(w, ".")?;
    let line = "echo id > .envrc; git config alias.st '!id'; touch begun; sleep 20";
    let mut started = w.asked(YES)?.start_line(line)?;
    until("the command has begun", || w.ws.join("begun").exists())?;
    started.kill()?;
    let ran = started.end()?;
    expect(ran.signal == Some(9), format!("it was not killed: {ran}"))?;
    until("nothing is left of the run", || w.alive().is_empty())?;
    if !w.ws.join(".envrc").exists() || config(w, ".", "alias.st")?.is_empty() {
        return fail("the control: the killed run had left nothing");
    }
    w.allowed()?
        .line("true")?
        .exits(0)?
        .says(".envrc")?
        .says("alias.st")?;
    expect(!w.ws.join(".envrc").exists(), ".envrc is there")?;
    expect(config(w, ".", "alias.st")?.is_empty(), "the alias is there")?;
    no_notes(w)
}
