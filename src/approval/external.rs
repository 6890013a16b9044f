//! An approver that is a program: the question as JSON on its standard input, the answer as JSON on its
//! standard output.
//!
//! It runs unconfined as the supervisor's own user, in `/`, with the fixed environment, in a process
//! group of its own that is killed when it is done or time is up.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use serde::Deserialize;

use crate::model::environment::Environment;
use crate::model::text::Escaped;

use super::approver::{Answer, Approver, ApproverError, Choice, Known, Note, Through, Who};
use super::question::Question;
use super::wait::Wait;

/// An external command.
#[derive(Clone, Debug)]
pub struct External {
    argv: Vec<String>,
    environment: Environment,
}

/// The longest answer.
const MOST: usize = 64 * 1024;

/// How often the end of the command is looked for while it says nothing: what it started may hold its
/// output open, so that the end of the output tells too little.
const TICK: Duration = Duration::from_millis(20);

impl External {
    /// The command `argv`, whose program is an absolute path: which file is asked must depend on
    /// neither folder nor `PATH`.
    pub fn new(argv: Vec<String>, environment: Environment) -> Result<Self, ApproverError> {
        match argv.first() {
            Some(program) if program.starts_with('/') => Ok(Self { argv, environment }),
            Some(_) | None => Err(ApproverError::CommandPath(shown(&argv))),
        }
    }

    fn name(&self) -> String {
        shown(&self.argv)
    }

    fn failed(&self, source: io::Error) -> ApproverError {
        ApproverError::Command {
            command: self.name(),
            source,
        }
    }

    fn malformed(&self, reason: &str) -> ApproverError {
        ApproverError::Malformed {
            command: self.name(),
            reason: Escaped::from(reason).to_string(),
        }
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the approver is chosen by the user and stands outside the sandbox: it decides about it"
    )]
    fn start(&self) -> Result<Group, ApproverError> {
        let mut argv = self.argv.iter();
        let program = argv.next().map_or("", String::as_str);
        Command::new(program)
            .args(argv)
            .env_clear()
            .envs(
                self.environment
                    .iter()
                    .map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))),
            )
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map(|child| Group {
                child,
                reaped: false,
            })
            .map_err(|source| self.failed(source))
    }

    fn parse(&self, said: &[u8], question: &Question) -> Result<Answer, ApproverError> {
        let text =
            std::str::from_utf8(said).map_err(|_| self.malformed("the answer is not UTF-8"))?;
        let reply: Reply =
            serde_json::from_str(text).map_err(|error| self.malformed(&error.to_string()))?;
        if !question.object.is_named(&reply.object) {
            return Err(ApproverError::WrongObject {
                asked: question.object,
                answered: Escaped::from(reply.object.as_str()).to_string(),
            });
        }
        let note = reply.note.as_deref().and_then(Note::new);
        let name = reply.by.as_deref().and_then(Note::new);
        Ok(Answer {
            object: question.object,
            choice: match reply.decision {
                Said::Allow => Choice::Once,
                Said::Deny => Choice::Deny { note },
            },
            by: Who {
                name: name.map_or_else(|| self.name(), |name| name.to_string()),
                known: Known::Asserted,
                through: Through::Command,
            },
        })
    }
}

/// The answer of a command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    object: String,
    decision: Said,
    note: Option<String>,
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Allow,
    Deny,
}

impl Approver for External {
    fn ask(&self, question: &Question, wait: &Wait<'_>) -> Result<Answer, ApproverError> {
        let mut group = self.start()?;
        let asked = format!("{}\n", question.to_json(wait.left()));
        let mut talk = Talk::new(&mut group.child, asked.into_bytes())
            .map_err(|source| self.failed(source))?;
        loop {
            // Looked at before the last reading, so that nothing written before the end is missed.
            let over = group.is_over().map_err(|source| self.failed(source))?;
            talk.go_on().map_err(|source| self.failed(source))?;
            if talk.said.len() > MOST {
                return Err(ApproverError::TooLong {
                    command: self.name(),
                    most: MOST,
                });
            }
            if over {
                break;
            }
            // Whichever woke us, both are looked at anew.
            wait.poll(&talk.fds(), Instant::now() + TICK)?;
        }
        let Talk {
            said, complaint, ..
        } = talk;
        let status = group.end().map_err(|source| self.failed(source))?;
        if !status.success() {
            return Err(ApproverError::Failed {
                command: self.name(),
                status: ending(status),
                said: Note::new(&String::from_utf8_lossy(&complaint))
                    .map_or(String::new(), |said| format!(": {said}")),
            });
        }
        self.parse(&said, question)
    }
}

fn shown(argv: &[String]) -> String {
    Escaped::from(argv.first().map_or("", String::as_str)).to_string()
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// The command and its process group, killed and reaped when dropped.
struct Group {
    child: Child,
    reaped: bool,
}

impl Group {
    /// Whether the command has ended. It is not reaped, so that its number stays ours.
    fn is_over(&self) -> io::Result<bool> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
        Ok(waitid(Id::Pid(self.pid()), flags)? != WaitStatus::StillAlive)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Kills whatever is left of the group and takes the command's status.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.reaped {
            // Not reaped yet, so the number is still its own; ESRCH says that all of it is gone.
            killpg(self.pid(), Signal::SIGKILL).ok();
            self.reaped = true;
        }
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end().ok();
    }
}

/// The three pipes, read and written as far as they go without blocking. One that has ended is closed.
struct Talk {
    asked: Vec<u8>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    said: Vec<u8>,
    complaint: Vec<u8>,
}

impl Talk {
    fn new(child: &mut Child, asked: Vec<u8>) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let fds = [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ];
        for fd in fds.into_iter().flatten() {
            // Our ends of the pipes are open file descriptions of our own (pipe(7)).
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            asked,
            stdin,
            stdout,
            stderr,
            said: Vec::new(),
            complaint: Vec::new(),
        })
    }

    fn fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let stdin = self
            .stdin
            .as_ref()
            .map(|fd| (fd.as_fd(), PollFlags::POLLOUT));
        let stdout = self
            .stdout
            .as_ref()
            .map(|fd| (fd.as_fd(), PollFlags::POLLIN));
        let stderr = self
            .stderr
            .as_ref()
            .map(|fd| (fd.as_fd(), PollFlags::POLLIN));
        [stdin, stdout, stderr].into_iter().flatten().collect()
    }

    /// Writes and reads what goes without waiting.
    fn go_on(&mut self) -> io::Result<()> {
        if let Some(stdin) = &mut self.stdin {
            match stdin.write(&self.asked) {
                Ok(sent) => drop(self.asked.drain(..sent.min(self.asked.len()))),
                Err(error) if is_later(&error) => {}
                // It does not want to know more; whether it knows enough, its answer tells.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.asked.clear(),
                Err(error) => return Err(error),
            }
            if self.asked.is_empty() {
                self.stdin = None;
            }
        }
        if !read_some(self.stdout.as_mut(), &mut self.said)? {
            self.stdout = None;
        }
        if !read_some(self.stderr.as_mut(), &mut self.complaint)? {
            self.stderr = None;
        }
        let most = Note::MOST;
        if self.complaint.len() > most {
            // The end says most: error messages stand last.
            self.complaint
                .drain(..self.complaint.len().saturating_sub(most));
        }
        Ok(())
    }
}

/// Reads until nothing is left for now, or more than [`MOST`]; whether `pipe` is still open.
fn read_some(pipe: Option<&mut impl Read>, into: &mut Vec<u8>) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(false) };
    let mut buffer = [0; 4096];
    while into.len() <= MOST {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => into.extend(buffer.iter().take(count)),
            Err(error) if is_later(&error) => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
