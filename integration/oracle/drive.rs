//! The inside of the throw-away namespace: starts one bash a line and sends back what it traced.
//!
//! The outside is [`Stage`]. This program is process 1 in the namespace, without any right: what a line
//! leaves running dies with `kill(-1)`, and all the rest with the namespace.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::support::fence::{self, Fence, Rights};

/// The first word that makes the test program the driver.
pub const MODE: &str = "--drive";

/// Where the lines run; the same folder every time.
pub const CWD: &str = "/mnt/w";
pub const HOME: &str = "/mnt/h";
/// Folders below [`CWD`] that a line can change into.
pub const FOLDERS: [&str; 4] = ["src", "src/lib", "build", "a b"];

/// What the files there hold: evaluated, it starts `pwned`.
const BAIT: &str = "z[$(pwned 3)]\n-v z[$(pwned${IFS}4)] 1\n";

/// Before every traced command. `set -x` repeats the first byte once a level of substitution.
pub const PROMPT: &str = "+@7f3a91@ ";
/// First word of a record of the handler, which `set -x` shows as well.
pub const RECORD: &str = "@7f3a92@";
/// Stands for a newline in a record.
pub const NEWLINE: &str = "@7f3a93@";
/// Called by bash, in a process of its own, for each command that no PATH holds. A name that starts
/// with `n` fails, so that both sides of `&&` and `||` are taken. Newlines go as [`NEWLINE`]: at each one
/// bash would flush what it has, and records of a pipeline would mix. What counts prints a number; what
/// everything else prints starts `pwned` wherever it is evaluated.
const HANDLER: &str = "() { printf '%s\\0' @7f3a92@ \"$#\" \"${@//$'\\n'/@7f3a93@}\" >&201; case $1 in \
     wc | date | grep | nproc | stat | seq | id | pgrep | pwned) printf '%.0s%s\\n' @7f3a92@ 1 ;; \
     y*) printf '%.0s%s\\n' @7f3a92@ '-v z[$(pwned${IFS}2)] 1' ;; \
     *) printf '%.0s%s\\n' @7f3a92@ 'z[$(pwned 1)]' ;; esac; [[ $1 != n* ]]\n}";
/// `BASH_XTRACEFD`, and the descriptor the handler writes to.
const TRACE: RawFd = 200;
const HANDLED: RawFd = 201;

/// How long one line may run, its background included.
const LIMIT: Duration = Duration::from_secs(2);
/// How long a free process is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much trace is kept of one line.
const KEPT: usize = 256 << 10;

/// What one line did.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// It did not end by itself.
    pub cut: bool,
    /// The output of `set -x`.
    pub trace: Vec<u8>,
    /// The records of the handler.
    pub handled: Vec<u8>,
}

/// A driver in its namespace.
pub struct Stage(fence::Stage);

impl Stage {
    pub fn new() -> io::Result<Self> {
        let fence = Fence {
            mode: MODE,
            setup: "mkdir /mnt/w /mnt/h; chmod 777 /mnt/w; cd /mnt/w",
            programs: &[],
            rights: Rights::None,
        };
        fence::Stage::new(&fence).map(Self)
    }

    pub fn run(&mut self, line: &[u8]) -> io::Result<Traced> {
        Traced::from_message(&self.0.ask(line)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Traced {
    /// One byte for a cut, the length of the trace in four, the trace, the records.
    fn to_message(&self) -> io::Result<Vec<u8>> {
        let length = u32::try_from(self.trace.len()).map_err(io::Error::other)?;
        let head = [&[u8::from(self.cut)], &length.to_le_bytes()[..]].concat();
        Ok([head.as_slice(), &self.trace, &self.handled].concat())
    }

    fn from_message(message: &[u8]) -> Option<Self> {
        let (cut, rest) = message.split_first()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (trace, handled) = rest.split_at_checked(length)?;
        Some(Self {
            cut: *cut != 0,
            trace: trace.to_vec(),
            handled: handled.to_vec(),
        })
    }
}

/// The driver: lines in, traces out, until the input ends.
pub fn serve() -> ExitCode {
    match lines() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oracle: the driver: {error}");
            ExitCode::FAILURE
        }
    }
}

fn lines() -> io::Result<()> {
    setrlimit(Resource::RLIMIT_AS, 2 << 30, 2 << 30)?;
    setrlimit(Resource::RLIMIT_FSIZE, 1 << 20, 1 << 20)?;
    setrlimit(Resource::RLIMIT_NPROC, 512, 512)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    fence::serve(|line| {
        tidy()?;
        run(&line)?.to_message()
    })
}

/// Makes the scratch folder what it was before the first line.
fn tidy() -> io::Result<()> {
    empty(Path::new(CWD))?;
    for folder in FOLDERS {
        fs::create_dir(format!("{CWD}/{folder}"))?;
    }
    for file in ["a.txt", "b.txt", "src/main.c"] {
        fs::write(format!("{CWD}/{file}"), BAIT)?;
    }
    Ok(())
}

/// Removes what is in `folder`, whatever `command -p chmod` did to it.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700))?;
            empty(&entry.path())?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A pipe, and a copy of its writing end that the next program inherits under the number `at`.
fn inherited(at: RawFd) -> io::Result<OwnedFd> {
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    let copy = fcntl(write.as_fd(), FcntlArg::F_DUPFD(at))?;
    if copy != at {
        return Err(io::Error::other(format!("descriptor {at} is taken")));
    }
    Ok(read)
}

fn run(line: &[u8]) -> io::Result<Traced> {
    let pipes = [inherited(TRACE)?, inherited(HANDLED)?];
    let spawned = bash(line);
    for end in [TRACE, HANDLED] {
        nix::unistd::close(end)?;
    }
    let mut child = spawned?;
    let (cut, [trace, handled]) = gather(pipes)?;
    if cut {
        kill(Pid::from_raw(-1), Signal::SIGKILL).ok();
    }
    child.wait()?;
    // Nothing may live on into the next line, not even what closed its descriptors.
    kill(Pid::from_raw(-1), Signal::SIGKILL).ok();
    while waitpid(Pid::from_raw(-1), None::<WaitPidFlag>).is_ok() {}
    Ok(Traced {
        cut,
        trace,
        handled,
    })
}

/// Starts the shell, patiently: the limit on processes counts those of this user outside, too.
fn bash(line: &[u8]) -> io::Result<Child> {
    let mut command = Command::new("/bin/bash");
    command
        .args(["--noprofile", "--norc", "-c", "--"])
        .arg(std::ffi::OsStr::from_bytes(line))
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("HOME", HOME)
        .env("LC_ALL", "C.UTF-8")
        .env("SHELLOPTS", "xtrace")
        .env("PS4", PROMPT)
        .env("BASH_XTRACEFD", TRACE.to_string())
        .env("BASH_FUNC_command_not_found_handle%%", HANDLER)
        .current_dir(CWD)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let begin = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && begin.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(50));
            }
            done => return done,
        }
    }
}

/// Reads both pipes until nobody can write them any more.
fn gather(pipes: [OwnedFd; 2]) -> io::Result<(bool, [Vec<u8>; 2])> {
    let begin = Instant::now();
    let mut pipes = pipes.map(|pipe| Some(fs::File::from(pipe)));
    let mut texts = [Vec::new(), Vec::new()];
    let mut buffer = vec![0; 64 << 10];
    while pipes.iter().any(Option::is_some) {
        let left = LIMIT.saturating_sub(begin.elapsed());
        if left.is_zero() || texts.iter().any(|text| text.len() > KEPT) {
            return Ok((true, texts));
        }
        for (pipe, text) in pipes.iter_mut().zip(&mut texts) {
            let Some(file) = pipe else {
                continue;
            };
            // Both in turn, briefly: the other may be what the line waits for.
            let mut fds = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, PollTimeout::from(20_u8))? == 0 {
                continue;
            }
            let read = file.read(&mut buffer)?;
            text.extend_from_slice(&buffer[..read]);
            if read == 0 {
                *pipe = None;
            }
        }
    }
    Ok((false, texts))
}
