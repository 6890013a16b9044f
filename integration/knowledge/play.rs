//! The inside of the fence for lines: what tipstaff says of one, and what bash starts for it.
//!
//! This program traces the shell and everything below it by ptrace(2), stops at each exec, and reads what
//! the kernel knows: the file, the arguments, the folder.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tipstaff::model::environment::Environment;
use tipstaff::model::executable::Lookup;
use tipstaff::model::judgement::Reason;
use tipstaff::model::path::AbsolutePath;
use tipstaff::model::request::{Command as Asked, Request};
use tipstaff::model::script::{Folder, SubCommand};
use tipstaff::model::verdict::Verdict;
use tipstaff::supervisor::{Answer, Supervisor};

use super::support::cover;

/// The first word that makes the test program this.
pub const MODE: &str = "--play";
const WORKSPACE: &str = "/mnt/w";
const HOME: &str = "/mnt/h";
const PATH: &str = "/mnt/stubs";
/// Everything is allowed that has a name; so what is asked about is what is not known.
const RULES: &str =
    "version = 1\n[permissions]\nallow = [\"*\", \"write(**)\", \"env(*)\", \"network(*)\"]\n";
/// How long one line may run.
const LIMIT: Duration = Duration::from_secs(10);

/// A line to judge and run; `predicted` stands in for it in the controls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub line: String,
    pub predicted: Option<String>,
}

/// How a start was predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// File, every argument and folder, as they came.
    Exactly,
    /// By words that are known only at run time.
    Shape,
    /// A shell that a carrier hands a text of its own arguments; what the text starts is predicted.
    Handed,
    /// Not, in a line that was said to be undecided.
    Excused,
    /// Not at all.
    Missed,
}

/// One exec.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    pub how: How,
    pub argv: Vec<String>,
    pub folder: String,
    /// The program that this process, or the one it is a copy of, was before.
    pub by: String,
}

/// What came of a line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Played {
    pub starts: Vec<Start>,
    pub allowed: bool,
    /// Why it was said to be undecided.
    pub undecided: Option<String>,
    /// It did not end by itself.
    pub cut: bool,
    /// tipstaff would not judge it.
    pub failed: Option<String>,
}

/// One exec as the kernel knows it.
struct Exec {
    file: PathBuf,
    argv: Vec<Vec<u8>>,
    folder: PathBuf,
    by: String,
}

pub fn serve() -> ExitCode {
    let played = ready().and_then(|supervisor| {
        super::support::fence::serve(|message| {
            let job: Job = serde_json::from_slice(&message)?;
            Ok(serde_json::to_vec(&play(&supervisor, &job)?)?)
        })
    });
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("watched: inside the fence: {error}");
            ExitCode::FAILURE
        }
    }
}

fn environment() -> Environment {
    [("PATH", PATH), ("HOME", HOME), ("LC_ALL", "C.UTF-8")]
        .into_iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect()
}

fn ready() -> io::Result<Supervisor> {
    setrlimit(Resource::RLIMIT_FSIZE, 1 << 20, 1 << 20)?;
    setrlimit(Resource::RLIMIT_NPROC, 1024, 1024)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    Supervisor::builder()
        .environment(environment())
        .policy_text("policy", RULES.to_owned())
        .build()
        .map_err(|error| io::Error::other(error.render()))
}

fn play(supervisor: &Supervisor, job: &Job) -> io::Result<Played> {
    tidy()?;
    let line = job.predicted.as_ref().unwrap_or(&job.line);
    let mut request = Request::new(Asked::Line(line.clone().into_bytes()), environment());
    request.cwd = Some(AbsolutePath::new(WORKSPACE).map_err(io::Error::other)?);
    let answer = match supervisor.check(request) {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(Played {
                failed: Some(error.render()),
                ..Played::default()
            });
        }
    };
    let (execs, cut) = run(&job.line)?;
    let undecided = undecided(&answer);
    let starts = execs
        .iter()
        .map(|exec| Start {
            how: how(&answer, exec, undecided.is_some()),
            argv: exec
                .argv
                .iter()
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect(),
            folder: exec.folder.display().to_string(),
            by: exec.by.clone(),
        })
        .collect();
    Ok(Played {
        starts,
        allowed: answer.verdict() == Verdict::Allow,
        undecided,
        cut,
        failed: None,
    })
}

/// Why the answer itself says that something is known only when the line runs.
fn undecided(answer: &Answer) -> Option<String> {
    if answer.verdict() == Verdict::Allow {
        return None;
    }
    if let Some(opaque) = answer.survey().script.opaque.first() {
        return Some(format!("opaque: {}", opaque.reason));
    }
    let subs = answer.survey().script.subcommands.iter();
    let (sub, _) = subs
        .zip(&answer.judgement().subcommands)
        .find(|(_, judged)| judged.reason == Reason::Dynamic)?;
    let why = match sub.program() {
        None => "a name that is known only at run time",
        Some(_) if sub.static_argv().is_none() => "a word that is known only at run time",
        Some(_) => "what a program of known words starts",
    };
    Some(format!("dynamic: {why}"))
}

/// The best prediction of an exec: by any sub-command.
fn how(answer: &Answer, exec: &Exec, undecided: bool) -> How {
    let rows = answer
        .survey()
        .script
        .subcommands
        .iter()
        .zip(answer.lookups());
    let found: Vec<How> = rows
        .filter_map(|(sub, lookup)| predicts(sub, lookup, exec))
        .collect();
    if found.contains(&How::Exactly) {
        How::Exactly
    } else if found.contains(&How::Shape) {
        How::Shape
    } else if is_handed(answer, exec) {
        How::Handed
    } else if undecided {
        How::Excused
    } else {
        How::Missed
    }
}

/// `/bin/sh -c TEXT` where TEXT is an argument of a predicted carrier.
fn is_handed(answer: &Answer, exec: &Exec) -> bool {
    let [shell, option, text] = exec.argv.as_slice() else {
        return false;
    };
    let mut subs = answer.survey().script.subcommands.iter();
    shell == b"/bin/sh"
        && option == b"-c"
        && subs.any(|sub| {
            let name = sub.program().unwrap_or_default();
            let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
            name == exec.by.as_bytes()
                && sub
                    .argv
                    .iter()
                    .any(|word| word.as_static() == Some(text.as_slice()))
        })
}

fn predicts(sub: &SubCommand, lookup: &Lookup, exec: &Exec) -> Option<How> {
    if !cover::matches(&sub.argv, &exec.argv) {
        return None;
    }
    let folder = match &sub.folder {
        Folder::Start => Some(PathBuf::from(WORKSPACE)),
        Folder::Moved(path) => Some(Path::new(WORKSPACE).join(std::ffi::OsStr::from_bytes(path))),
        Folder::Home(path) => Some(Path::new(HOME).join(std::ffi::OsStr::from_bytes(path))),
        Folder::Unknown => None,
    };
    // The folder a line removes is not there to be compared.
    if let Some(folder) = &folder
        && fs::canonicalize(folder).is_ok_and(|folder| folder != exec.folder)
    {
        return None;
    }
    match lookup {
        Lookup::File(file) if file.real.as_path() != exec.file => return None,
        Lookup::Nothing | Lookup::Builtin | Lookup::Function | Lookup::Failed(_) => return None,
        Lookup::File(_) | Lookup::Dynamic => {}
    }
    let known = folder.is_some() && sub.static_argv().is_some();
    Some(if known { How::Exactly } else { How::Shape })
}

/// The scratch folder as it was before the first line.
fn tidy() -> io::Result<()> {
    for folder in [WORKSPACE, HOME] {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
    }
    fs::create_dir_all(format!("{WORKSPACE}/src/lib"))?;
    for file in ["a.txt", "b.txt", "src/main.c", "lock"] {
        fs::write(format!("{WORKSPACE}/{file}"), "one two\n")?;
    }
    Ok(())
}

/// Runs bash with the line, as tipstaff would; what it and its children started, and whether it was cut.
fn run(line: &str) -> io::Result<(Vec<Exec>, bool)> {
    let mut shell = Command::new("/bin/sh");
    shell
        .args([
            "-c",
            "read -r _; exec /bin/bash --noprofile --norc -c -- \"$1\" < /dev/null",
            "sh",
            line,
        ])
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", HOME)
        .env("LC_ALL", "C.UTF-8")
        .current_dir(WORKSPACE)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let mut shell = shell.spawn()?;
    let pid = Pid::from_raw(i32::try_from(shell.id()).map_err(io::Error::other)?);
    let options = Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options)?;
    if let Some(mut stdin) = shell.stdin.take() {
        stdin.write_all(b"\n")?;
    }
    let (ended, end) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let late = end.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
        // This is process 1 of its namespace: everything else there belongs to the line.
        if late && nix::unistd::getpid().as_raw() == 1 {
            kill(Pid::from_raw(-1), Signal::SIGKILL).ok();
        }
        late
    });
    let execs = follow();
    drop(ended);
    let cut = watchdog.join().unwrap_or(true);
    let mut execs = execs?;
    // The shell that waited, which may be seen at the end of its own exec, and bash itself.
    let own = |exec: &Exec| exec.argv.first().is_some_and(|first| first == b"/bin/bash");
    let begin = execs
        .iter()
        .position(own)
        .ok_or_else(|| io::Error::other("bash was not seen"))?;
    execs.drain(..=begin);
    Ok((execs, cut))
}

/// Goes along until nothing lives.
fn follow() -> io::Result<Vec<Exec>> {
    let mut execs = Vec::new();
    let mut names = std::collections::BTreeMap::new();
    loop {
        let status = match waitpid(None, Some(WaitPidFlag::__WALL)) {
            Ok(status) => status,
            Err(Errno::ECHILD) => return Ok(execs),
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let (pid, signal) = match status {
            WaitStatus::PtraceEvent(pid, _, event) => {
                if event != nix::libc::PTRACE_EVENT_EXEC
                    && let Ok(child) = ptrace::getevent(pid)
                    && let Ok(child) = i32::try_from(child)
                    && let Some(name) = names.get(&pid.as_raw()).cloned()
                {
                    // A copy of this process, so far.
                    names.entry(child).or_insert(name);
                }
                if event == nix::libc::PTRACE_EVENT_EXEC
                    && let Ok(exec) = look(pid, &mut names)
                {
                    execs.push(exec);
                }
                (pid, None)
            }
            WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
            WaitStatus::Exited(..)
            | WaitStatus::Signaled(..)
            | WaitStatus::PtraceSyscall(_)
            | WaitStatus::Continued(_)
            | WaitStatus::StillAlive => continue,
        };
        match ptrace::cont(pid, signal) {
            // Killed meanwhile.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The process that made `pid`, as long as it lives.
fn parent(pid: Pid) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

fn look(pid: Pid, names: &mut std::collections::BTreeMap<i32, String>) -> io::Result<Exec> {
    let place = format!("/proc/{pid}");
    let mut argv: Vec<Vec<u8>> = fs::read(format!("{place}/cmdline"))?
        .split(|byte| *byte == 0)
        .map(<[u8]>::to_vec)
        .collect();
    // Each argument ends with a zero.
    argv.pop();
    let file = fs::read_link(format!("{place}/exe"))?;
    // The fork may be reported behind the exec of the process it made.
    let known = names.get(&pid.as_raw()).cloned();
    let by = known
        .or_else(|| names.get(&parent(pid)?).cloned())
        .unwrap_or_default();
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    names.insert(pid.as_raw(), name);
    Ok(Exec {
        argv,
        folder: fs::read_link(format!("{place}/cwd"))?,
        file,
        by,
    })
}
