//! The threads that answer for execs.
//!
//! One thread at a time waits for the next exec; the one that has taken it judges it while another waits.
//! A tracer is a thread, so whoever lets an exec pass stays with it until its stop.
//!
//! Only one exec at a time is between its answer and its stop, and none is taken meanwhile (`turn`). An exec
//! that fails returns to its program, which may try the next folder of PATH before it is stopped; were that
//! exec taken by another thread, the two would wait for each other. The stop of a thread's exec, too, waits
//! until its siblings are dead and reaped, by whoever traces them.

use std::fs::File;
use std::io::PipeReader;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::ptrace;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask};
use nix::unistd::Pid;

use crate::model::executable::Executable;
use crate::sys::notify::{self, Waiting};
use crate::sys::trace::{self, Told};

use super::attempt::Attempt;
use super::identity::{Judged, Mismatch};
use super::image::{Image, Images};

/// Threads at most; further execs wait in the kernel.
const MOST: usize = 32;

/// What is to become of an exec.
#[derive(Debug)]
pub enum Answer {
    /// It starts, if it still is what was judged.
    Start(Box<Start>),
    /// It fails with this errno.
    Fail(Errno),
    /// The run is over: it waits until it is killed with the rest of the tree, rather than do what its
    /// program does when an exec fails.
    Leave,
}

/// What was judged of an exec that may start.
#[derive(Debug)]
pub struct Start {
    /// The file with its chain of interpreters.
    pub executable: Executable,
    /// The very file.
    pub file: File,
    /// The image it becomes.
    pub image: Image,
}

/// Answers for execs, from several threads at once.
pub trait Judge: Sync {
    /// Judges one.
    fn judge(&self, attempt: &Attempt) -> Answer;

    /// What was executed was not what was judged, and was killed before its first instruction; or it could
    /// not be traced, and was refused.
    fn stopped(&self, attempt: &Attempt, why: &Stopped);
}

/// Why an exec that had been allowed did not run.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// It became something else.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// Its process may not be traced.
    #[error("its process cannot be traced ({0}), so what it executes cannot be compared")]
    Untraceable(Errno),
}

/// The gate of one run.
pub struct Gate<'a> {
    listener: OwnedFd,
    /// Ends when the gate is to close.
    close: PipeReader,
    judge: &'a dyn Judge,
    images: &'a Images,
    /// Held by the thread that waits for the next exec.
    receiver: Mutex<()>,
    /// Held while an exec is between its answer and its stop, and while one is taken.
    turn: Mutex<()>,
    waiting: AtomicUsize,
    threads: AtomicUsize,
}

impl<'a> Gate<'a> {
    /// A gate at `listener`, which closes with the other end of `close`.
    pub fn new(
        listener: OwnedFd,
        close: PipeReader,
        judge: &'a dyn Judge,
        images: &'a Images,
    ) -> Self {
        notify::hand_over(listener.as_fd());
        Self {
            listener,
            close,
            judge,
            images,
            receiver: Mutex::new(()),
            turn: Mutex::new(()),
            waiting: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
        }
    }

    /// Serves in threads of `scope` until the gate closes or nobody is left behind it.
    pub fn serve<'scope, 'env>(&'scope self, scope: &'scope Scope<'scope, 'env>) {
        self.threads.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        scope.spawn(move || self.work(scope));
    }

    fn work<'scope, 'env>(&'scope self, scope: &'scope Scope<'scope, 'env>) {
        // Handlers belong to the host program's own threads. A mask that cannot be set changes nothing
        // of what is served.
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None).ok();
        while let Some(waiting) = self.next() {
            let last = self.waiting.fetch_sub(1, Ordering::Relaxed) == 1;
            if last && self.threads.load(Ordering::Relaxed) < MOST {
                self.serve(scope);
            }
            self.handle(&waiting);
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// The next exec; `None` when there will be none.
    fn next(&self) -> Option<Waiting> {
        let _receiver = locked(&self.receiver);
        loop {
            let mut fds = [
                PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.close.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(_) => return None,
            }
            let [listener, close] = fds.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
            if !close.is_empty() {
                return None;
            }
            if !listener.contains(PollFlags::POLLIN) {
                // Nobody is behind the filter any more. seccomp_unotify(2), POLLHUP
                return None;
            }
            let _turn = locked(&self.turn);
            // Whoever was to be received may have been killed meanwhile.
            if let Ok(waiting) = notify::receive(self.listener.as_fd()) {
                return Some(waiting);
            }
        }
    }

    fn handle(&self, waiting: &Waiting) {
        let attempt = match Attempt::read(self.listener.as_fd(), waiting, self.images) {
            Ok(attempt) => attempt,
            Err(errno) => return self.fail(waiting, errno),
        };
        match self.judge.judge(&attempt) {
            Answer::Fail(errno) => self.fail(waiting, errno),
            Answer::Leave => {}
            Answer::Start(start) => self.pass(waiting, &attempt, *start),
        }
    }

    /// A task that was killed meanwhile needs no answer.
    fn fail(&self, waiting: &Waiting, errno: Errno) {
        notify::fail(self.listener.as_fd(), waiting.id, errno).ok();
    }

    /// Lets an exec happen and compares what came of it.
    fn pass(&self, waiting: &Waiting, attempt: &Attempt, start: Start) {
        let executed = match self.over_exec(waiting) {
            Ok(Some(executed)) => executed,
            // It failed by itself, as execs do, or its process is gone.
            Ok(None) => return,
            Err(errno) => {
                self.judge.stopped(attempt, &Stopped::Untraceable(errno));
                return self.fail(waiting, Errno::EACCES);
            }
        };
        let judged = Judged {
            executable: &start.executable,
            path: &attempt.named(),
            argv: &attempt.argv,
            environment: Some(&attempt.environment),
            file: &start.file,
        };
        match judged.check_process(executed) {
            Ok(()) => {
                let file = judged.binary().id;
                self.images.note_of(executed.as_raw(), file, start.image);
                // Gone, or let go.
                ptrace::detach(executed, None).ok();
            }
            Err(mismatch) => {
                end(executed);
                self.judge.stopped(attempt, &Stopped::Mismatch(mismatch));
            }
        }
    }

    /// Traces a task over its exec: the process that stands stopped after it, or `None` when there is none.
    /// An error: it cannot be traced, and still waits.
    fn over_exec(&self, waiting: &Waiting) -> Result<Option<Pid>, Errno> {
        let _turn = locked(&self.turn);
        let task = Pid::from_raw(waiting.tid);
        let options = ptrace::Options::PTRACE_O_TRACEEXEC | ptrace::Options::PTRACE_O_EXITKILL;
        match ptrace::seize(task, options) {
            Ok(()) => {}
            Err(Errno::ESRCH) => return Ok(None),
            Err(errno) => return Err(errno),
        }
        // Were the call over by now, the number could mean another task, which is let go at once.
        notify::proceed(self.listener.as_fd(), waiting.id).ok();
        // An exec that fails makes no event; the interruption makes it stop all the same. It comes after
        // the answer: before, it would take the question back.
        ptrace::interrupt(task).ok();
        Ok(until_stop())
    }
}

/// Waits until the one task of this thread stops after its exec, and lets it go at any other stop.
fn until_stop() -> Option<Pid> {
    loop {
        match trace::told() {
            Ok((pid, Told::Executed)) => return Some(pid),
            Ok((pid, Told::Halted)) => {
                ptrace::detach(pid, None).ok();
                return None;
            }
            Ok((pid, Told::Signal(signal))) => trace::go_on(pid, signal).ok(),
            Ok((pid, Told::Other)) => trace::go_on(pid, 0).ok(),
            Ok((_, Told::Ended)) | Err(_) => return None,
        };
    }
}

/// Kills a stopped task of this thread and waits until it is dead. It is traced, so its number is its own.
fn end(task: Pid) {
    kill(task, Signal::SIGKILL).ok();
    while let Ok((pid, told)) = trace::told() {
        if told == Told::Ended {
            return;
        }
        trace::go_on(pid, 0).ok();
    }
}

fn locked(turn: &Mutex<()>) -> MutexGuard<'_, ()> {
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}
