//! The inside of the fence: one example at a time is run by tipstaff while strace(1) and a comparison of
//! every folder it could reach look on.
//!
//! tipstaff is told to ask about everything, and this program is its approver: when it is asked, the
//! child stands confined and has not started. Only then strace attaches, and the answer is yes. So nothing
//! of the example is missed, and nothing of tipstaff is taken for it.
//!
//! The host lacks what would be in the way: a gate, which traces each exec itself, and namespaces, in which
//! the comparison would not see the scratch folders.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::trace::{self, Act};
use super::tree::Tree;

/// First words that make the test program the inside, and the approver.
pub const MODE: &str = "--watch";
pub const APPROVER: &str = "--approve";

/// Where the examples run, and what else they could write.
pub const WORKSPACE: &str = "/mnt/top/w";
pub const HOME: &str = "/mnt/home";
const WATCHED: [&str; 5] = ["/mnt/top", "/mnt/home", "/tmp", "/var/tmp", "/dev/shm"];
const PRISTINE: &str = "/mnt/pristine";
const POLICY: &str = "/mnt/policy.toml";
const PARKED: &str = "/mnt/run/parked";
/// Nobody is allowed anything without a question, so that every run comes to a parked child that waits.
const RULES: &str =
    "version = 1\n[permissions]\nread_only_defaults = false\n[sandbox]\nnetwork = \"full\"\n";
/// The network is open, in a namespace that leads nowhere: a connection is tried and seen.
pub const SETUP: &str = r#"
mkdir -p /mnt/top/w /mnt/home /mnt/run /mnt/state
for place in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o size=64m,mode=1777 fence "$place"; done
/mnt/bin/probe loopback-up || true
"#;

/// How long an example may take, its end included.
const LIMIT: Duration = Duration::from_secs(40);

/// One line to run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    pub line: String,
    /// Files and folders it reads, relative to the workspace.
    pub needs: Vec<String>,
    pub path: String,
    /// A line for sh that runs outside the sandbox while the example does: what the comparison of folders
    /// alone can see.
    pub meanwhile: Option<String>,
}

/// What was seen of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Exit status as tipstaff gives it; `None` when it did not come back.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// tipstaff's own report: level of the proof and how the run ended.
    pub status: String,
    /// Whether strace stood before the start and saw the end.
    pub traced: bool,
    pub acts: Vec<Act>,
    /// Files that are not what they were.
    pub changed: Vec<String>,
}

/// The program inside the fence.
pub fn serve() -> ExitCode {
    let served = lay_out().and_then(|()| {
        super::support::fence::serve(|message| {
            let job: Job = serde_json::from_slice(&message)?;
            Ok(serde_json::to_vec(&run(&job)?)?)
        })
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("watched: inside the fence: {error}");
            ExitCode::FAILURE
        }
    }
}

fn lay_out() -> io::Result<()> {
    fs::write(POLICY, RULES)?;
    fs::create_dir_all(format!("{PRISTINE}/w"))?;
    let made = Command::new("sh")
        .args(["-c", include_str!("fixtures.sh"), "sh"])
        .arg(format!("{PRISTINE}/w"))
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()?;
    if !made.success() {
        return Err(io::Error::other("the workspace cannot be laid out"));
    }
    fresh()
}

/// The workspace and its neighbours as they were made.
fn fresh() -> io::Result<()> {
    for folder in ["/mnt/top", HOME] {
        fs::remove_dir_all(folder).ok();
    }
    fs::create_dir(HOME)?;
    let copied = Command::new("cp")
        .args(["-a", PRISTINE, "/mnt/top"])
        .status()?;
    // Changed status times must not make git look at every file again.
    Command::new("git")
        .args(["-C", WORKSPACE, "update-index", "-q", "--refresh"])
        .stdout(Stdio::null())
        .status()?;
    if copied.success() {
        Ok(())
    } else {
        Err(io::Error::other("cp failed"))
    }
}

fn run(job: &Job) -> io::Result<Seen> {
    for need in &job.needs {
        // What cannot be made is missed by the example itself, which then fails.
        provide(need).ok();
    }
    let before = Tree::of(&WATCHED)?;
    let mut seen = watched(job)?;
    let after = Tree::of(&WATCHED)?;
    seen.changed = before.differences(&after);
    if !seen.changed.is_empty() || !job.needs.is_empty() {
        fresh()?;
    }
    Ok(seen)
}

/// Makes what an example reads and the fixtures do not have.
fn provide(need: &str) -> io::Result<()> {
    let path = Path::new(WORKSPACE).join(need);
    if fs::symlink_metadata(&path).is_ok() || !path.starts_with(WORKSPACE) {
        return Ok(());
    }
    if need.ends_with('/') {
        fs::create_dir_all(&path)?;
        return fs::write(path.join("one"), "one\n");
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let like = [
        (".tar.gz", "a.tar.gz"),
        (".tgz", "a.tgz"),
        (".tar.xz", "a.tar.xz"),
        (".tar.bz2", "a.tar.bz2"),
        (".tar", "a.tar"),
        (".zip", "a.zip"),
        (".jar", "a.zip"),
        (".gz", "a.gz"),
        (".xz", "a.xz"),
        (".bz2", "a.bz2"),
        (".zst", "a.zst"),
        (".b64", "a.b64"),
        (".json", "data.json"),
        (".yaml", "config.yaml"),
        (".yml", "config.yaml"),
        (".toml", "data.toml"),
        (".xml", "data.xml"),
        (".csv", "data.csv"),
        (".html", "page.html"),
        (".py", "main.py"),
        (".js", "index.js"),
        (".go", "main.go"),
        (".rs", "main.rs"),
        (".c", "util.c"),
        (".h", "util.h"),
        (".o", "prog.o"),
        (".so", "prog"),
        (".out", "prog"),
        (".a", "libutil.a"),
        (".sh", "script.sh"),
        (".pl", "script.pl"),
        (".rb", "script.rb"),
        (".patch", "a.patch"),
        (".diff", "a.patch"),
        (".sha256", "sums.sha256"),
        (".md5", "sums.md5"),
        (".pem", "cert.pem"),
        (".crt", "cert.pem"),
        (".pub", "key.pub"),
        (".db", "db.sqlite"),
        (".sqlite", "db.sqlite"),
    ];
    let model = like
        .iter()
        .find(|(suffix, _)| need.ends_with(suffix))
        .map_or("a.txt", |(_, model)| model);
    fs::copy(Path::new(WORKSPACE).join(model), &path)?;
    Ok(())
}

/// tipstaff with the example, strace on its child.
fn watched(job: &Job) -> io::Result<Seen> {
    for file in ["parked", "trace", "out", "err", "status"] {
        fs::remove_file(format!("/mnt/run/{file}")).ok();
    }
    let mut tipstaff = Command::new("sh");
    tipstaff
        .args([
            "-c",
            "exec 3> /mnt/run/status; exec /mnt/bin/driver --without listener /mnt/bin/driver --without namespaces /mnt/bin/tipstaff run --status-fd 3 \"$@\"",
            "sh",
        ])
        .args([
            "--policy",
            POLICY,
            "--workspace",
            WORKSPACE,
            "--timeout",
            "20s",
        ])
        .args([
            "--approver",
            &format!("/mnt/bin/driver {APPROVER}"),
            "-c",
            &job.line,
        ])
        .env_clear()
        .env("PATH", &job.path)
        .env("HOME", HOME)
        .env("XDG_STATE_HOME", "/mnt/state")
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "xterm")
        .current_dir(WORKSPACE)
        .stdin(Stdio::null())
        .stdout(fs::File::create("/mnt/run/out")?)
        .stderr(fs::File::create("/mnt/run/err")?);
    let mut tipstaff = tipstaff.spawn()?;
    let begin = Instant::now();
    let mut strace = None;
    let mut seen = Seen::default();
    loop {
        if strace.is_none()
            && let Ok(pids) = fs::read_to_string(PARKED)
        {
            let attached = Command::new("strace")
                .args(["-f", "-y", "-qq", "-s", "64", "-o", "/mnt/run/trace", "-e"])
                .arg(format!("trace={}", trace::CALLS))
                .args(["-e", "signal=none"])
                .args(pids.split_whitespace().flat_map(|pid| ["-p", pid]))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            strace = Some(attached);
            if let Some(line) = &job.meanwhile {
                Command::new("sh")
                    .args(["-c", line])
                    .current_dir(WORKSPACE)
                    .status()?;
            }
        }
        if let Some(status) = tipstaff.try_wait()? {
            seen.code = status.code().or(status.signal().map(|signal| 128 + signal));
            break;
        }
        if begin.elapsed() > LIMIT {
            tipstaff.kill()?;
            tipstaff.wait()?;
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if let Some(mut strace) = strace {
        // It ends with the last process it watches.
        while strace.try_wait()?.is_none() && begin.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(1));
        }
        if strace.try_wait()?.is_none() {
            strace.kill()?;
            strace.wait()?;
        } else {
            seen.traced = true;
        }
    }
    let text = |file: &str| read(&format!("/mnt/run/{file}"));
    seen.stdout = text("out");
    seen.stderr = text("err");
    seen.status = text("status");
    let trace = text("trace");
    seen.traced &= trace.contains("exec");
    seen.acts = trace::acts(&trace);
    Ok(seen)
}

fn read(file: &str) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(file) {
        file.take(4 << 20).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The approver: tells which child is parked, waits until it is traced, says yes.
pub fn approve() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("watched: the approver: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> io::Result<()> {
    let mut question = String::new();
    io::stdin().read_line(&mut question)?;
    let question: serde_json::Value = serde_json::from_str(&question)?;
    let object = question.get("object").cloned().unwrap_or_default();
    let parked = parked()?;
    let pids: Vec<String> = parked.iter().map(u32::to_string).collect();
    fs::write("/mnt/run/parked.new", pids.join(" "))?;
    fs::rename("/mnt/run/parked.new", PARKED)?;
    let begin = Instant::now();
    for pid in parked {
        while !is_traced(pid)? {
            if begin.elapsed() > LIMIT {
                return Err(io::Error::other("nobody traces the child"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let answer = serde_json::json!({ "object": object, "decision": "allow" });
    writeln!(io::stdout(), "{answer}")
}

/// What our parent has started but us, and what that has started.
fn parked() -> io::Result<Vec<u32>> {
    let own = std::process::id();
    let supervisor = u32::try_from(nix::unistd::getppid().as_raw()).map_err(io::Error::other)?;
    let mut found = children(supervisor)?;
    found.retain(|pid| *pid != own);
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        found.extend(children(*pid)?);
        at += 1;
    }
    if found.is_empty() {
        Err(io::Error::other("no child is parked"))
    } else {
        Ok(found)
    }
}

fn children(pid: u32) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("children"))?;
        found.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    Ok(found)
}

fn is_traced(pid: u32) -> io::Result<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(status
        .lines()
        .filter_map(|line| line.strip_prefix("TracerPid:"))
        .any(|tracer| tracer.trim() != "0"))
}
