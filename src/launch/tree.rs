//! Everything a command started, found and killed.
//!
//! A process group is left by setsid(2), so groups are no help. This process is a child subreaper
//! (prctl(2)): an orphan of the tree becomes our own child and is found there. In a host program that
//! has other children, an orphan counts as part of a tree only when it bears what no member of one can
//! take off: no_new_privs and more seccomp filters than this process has, and when it started after the
//! command. With several runs in one process an orphan in another run's session is left to that run, and
//! one in a session of its own is left to the run that ends last.
//!
//! With a process namespace of its own none of this is needed: its first process is killed, and the
//! kernel kills the rest.
//!
//! Residual without one: a tree that forks faster than it is walked can outlast the rounds; what is seen alive then
//! is reported as a survivor. It stays in its sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde::Serialize;

use crate::sandbox;
use crate::sys::process;

mod stat;

use stat::{Privileges, Stat};

/// A process, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its process id.
    pub pid: i32,
    /// Its name as the kernel knows it, escaped.
    pub name: String,
}

/// What became of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Felled {
    /// What was killed.
    pub killed: Vec<Process>,
    /// What could not be killed in time.
    pub survivors: Vec<Process>,
}

/// The tree of one command.
#[derive(Debug)]
pub(super) struct Tree {
    root: Pid,
    /// Process 1 of the tree's namespace, ours to kill: the kernel then kills all the others.
    first: Option<Pid>,
    /// When the root started, in clock ticks since boot.
    since: u64,
    /// Filters of this process.
    filters: u64,
}

/// How long a tree is hunted.
const HUNT: Duration = Duration::from_secs(5);
/// How often one round looks for more before it kills what it froze.
const LOOKS: usize = 8;

impl Tree {
    /// The tree of the command `root`, which is our child and not reaped, nor is `first`.
    pub(super) fn of(root: Pid, first: Option<Pid>) -> Self {
        Self {
            root,
            first,
            since: Stat::read(root.as_raw()).map_or(0, |stat| stat.started),
            filters: Privileges::read("self").map_or(0, |own| own.filters),
        }
    }

    /// Kills every member. The root itself is left to be reaped by its owner; its orphans are reaped here.
    pub(super) fn fell(&self) -> Felled {
        let until = Instant::now() + HUNT;
        let mut killed: BTreeMap<i32, Process> = BTreeMap::new();
        loop {
            let mut alive = match self.first {
                Some(first) => self.end_with(first),
                None => self.freeze(),
            };
            alive.retain(|pid, stat| !stat.is_dead() || self.reap(*pid));
            alive.retain(|_, stat| !stat.is_dead());
            if alive.is_empty() {
                return Felled {
                    killed: killed.into_values().collect(),
                    survivors: Vec::new(),
                };
            }
            for (pid, stat) in &alive {
                // With its namespace a member may be dead before its turn comes.
                let dies = send(*pid, stat, Signal::SIGKILL) || self.first.is_some();
                if dies && *pid != self.root.as_raw() {
                    killed.entry(*pid).or_insert_with(|| stat.process(*pid));
                }
            }
            if Instant::now() > until {
                let survivors = alive.iter().map(|(pid, stat)| stat.process(*pid));
                return Felled {
                    survivors: survivors.collect(),
                    killed: killed.into_values().collect(),
                };
            }
            // A killed process needs a moment to die.
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Kills process 1, with which everything in its namespace dies, and says what there was.
    /// pid_namespaces(7)
    fn end_with(&self, first: Pid) -> BTreeMap<i32, Stat> {
        let members = self.members();
        kill(first, Signal::SIGKILL).ok();
        members
    }

    /// Stops every member that is found, until a look finds no new one: what is stopped cannot fork on.
    fn freeze(&self) -> BTreeMap<i32, Stat> {
        let mut found = BTreeMap::new();
        for _ in 0..LOOKS {
            let members = self.members();
            let known = found.len();
            for (pid, stat) in members {
                if !found.contains_key(&pid) && !stat.is_dead() {
                    send(pid, &stat, Signal::SIGSTOP);
                }
                found.insert(pid, stat);
            }
            if found.len() == known {
                break;
            }
        }
        found
    }

    /// Every member: the root, orphans that are ours by now, and all below them.
    fn members(&self) -> BTreeMap<i32, Stat> {
        let mut members = BTreeMap::new();
        let mut left: Vec<(i32, Stat)> = stat::children("self")
            .into_iter()
            .filter_map(|pid| Some((pid, Stat::read(pid)?)))
            .filter(|(pid, stat)| {
                self.is_root(*pid, stat) || self.is_first(*pid) || self.adopted(*pid, stat)
            })
            .collect();
        while let Some((pid, stat)) = left.pop() {
            let below = stat::children(&pid.to_string());
            left.extend(
                below
                    .into_iter()
                    .filter(|child| !members.contains_key(child))
                    .filter_map(|child| Some((child, Stat::read(child)?))),
            );
            members.insert(pid, stat);
        }
        // It is reaped by its owner, when all others are gone.
        if let Some(first) = self.first {
            members.remove(&first.as_raw());
        }
        members
    }

    /// By its start as well: once it is reaped its number may mean another child of the host program.
    fn is_root(&self, pid: i32, stat: &Stat) -> bool {
        pid == self.root.as_raw() && stat.started == self.since
    }

    fn is_first(&self, pid: i32) -> bool {
        self.first.is_some_and(|first| first.as_raw() == pid)
    }

    /// Whether a child of ours that is not the root is an orphan of this tree.
    fn adopted(&self, pid: i32, stat: &Stat) -> bool {
        if stat.started < self.since {
            return false;
        }
        let marked = Privileges::read(&pid.to_string()).is_some_and(|privileges| {
            // A dead process has let go of its filters.
            let filtered = privileges.filters > self.filters || stat.is_dead();
            privileges.no_new_privs && privileges.filtered && filtered
        });
        let live = sandbox::live();
        let own_session = stat.session == self.root.as_raw();
        let only_run = live.iter().all(|session| *session == self.root.as_raw());
        let held = live.contains(&pid);
        marked && !held && (own_session || (only_run && !live.contains(&stat.session)))
    }

    /// Reaps a dead orphan; false, so that it counts no more.
    fn reap(&self, pid: i32) -> bool {
        if pid != self.root.as_raw() {
            // Only a child of ours can be reaped; deeper ones come to us when their parent is gone.
            waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)).ok();
        }
        false
    }
}

/// Sends `signal` to the process that `stat` was read of, and to no other that has its number since.
fn send(pid: i32, stat: &Stat, signal: Signal) -> bool {
    let Ok(pidfd) = process::open(Pid::from_raw(pid)) else {
        return false;
    };
    let same = Stat::read(pid).is_some_and(|now| now.started == stat.started);
    same && process::signal(pidfd.as_fd(), Some(signal)).is_ok()
}

/// Whether `folder` of `/proc` is a process's.
pub(super) fn is_process(name: &std::ffi::OsStr) -> Option<i32> {
    name.to_str()?.parse().ok()
}

/// Names of the entries of a folder of `/proc`, none when it is gone.
pub(super) fn entries(folder: &str) -> impl Iterator<Item = std::ffi::OsString> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
}
