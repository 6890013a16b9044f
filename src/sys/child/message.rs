//! What a child tells its parent: seven ints, sent as one packet.

use nix::errno::Errno;

/// Ints in a message.
pub(super) const LENGTH: usize = 7;
/// Bytes in a message.
const BYTES: usize = LENGTH * size_of::<i32>();

pub(super) const FAILED: i32 = 1;
pub(super) const READY: i32 = 2;
pub(super) const OBSERVED: i32 = 3;
pub(super) const EXEC_FAILED: i32 = 4;
pub(super) const PLACED: i32 = 5;
pub(super) const UNPLACED: i32 = 6;

/// A step between fork and exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Step {
    /// setsid(2)
    Session = 1,
    /// Bounding set, securebits, capset(2)
    Capabilities,
    /// setgroups(2), setresgid(2), setresuid(2)
    Ids,
    /// PR_SET_PDEATHSIG, and the parent is still there
    ParentDeath,
    /// fchdir(2)
    Folder,
    /// unshare(2), CLONE_NEWNET, and the loopback device
    Network,
    /// dup3(2) and TIOCSCTTY
    Stdio,
    /// close_range(2)
    Descriptors,
    /// prlimit(2)
    Limits,
    /// PR_SET_NO_NEW_PRIVS
    NoNewPrivs,
    /// landlock_restrict_self(2)
    Landlock,
    /// seccomp(2)
    Filter,
    /// unshare(2) and clone(2) of the namespaces
    Namespaces,
    /// The mounts of the new root
    Root,
}

impl Step {
    const ALL: [Self; 14] = [
        Self::Session,
        Self::Capabilities,
        Self::Ids,
        Self::ParentDeath,
        Self::Folder,
        Self::Network,
        Self::Stdio,
        Self::Descriptors,
        Self::Limits,
        Self::NoNewPrivs,
        Self::Landlock,
        Self::Filter,
        Self::Namespaces,
        Self::Root,
    ];

    /// The system call of the step.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "setsid",
            Self::Capabilities => "capset",
            Self::Ids => "setresuid",
            Self::ParentDeath => "prctl(PR_SET_PDEATHSIG)",
            Self::Folder => "fchdir",
            Self::Network => "unshare(CLONE_NEWNET)",
            Self::Stdio => "dup3",
            Self::Descriptors => "close_range",
            Self::Limits => "prlimit",
            Self::NoNewPrivs => "prctl(PR_SET_NO_NEW_PRIVS)",
            Self::Landlock => "landlock_restrict_self",
            Self::Filter => "seccomp",
            Self::Namespaces => "unshare",
            Self::Root => "mount",
        }
    }

    pub(super) fn of(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as i32 == number)
    }
}

/// How each observation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// openat(2) of a file of the host outside the profile.
    pub outside: Result<(), Errno>,
    /// openat(2) of the witness, which only the ruleset refuses.
    pub witness: Result<(), Errno>,
    /// socket(2), AF_INET.
    pub socket: Result<(), Errno>,
    /// kill(2) of the parent with signal 0.
    pub signal: Result<(), Errno>,
    /// unshare(2) of nothing.
    pub unshare: Result<(), Errno>,
}

impl Observed {
    pub(super) fn numbers(self) -> [i32; 5] {
        [
            self.outside,
            self.witness,
            self.socket,
            self.signal,
            self.unshare,
        ]
        .map(|result| result.map_or_else(|errno| errno as i32, |()| 0))
    }

    fn of(numbers: [i32; 5]) -> Self {
        let [outside, witness, socket, signal, unshare] = numbers.map(|number| match number {
            0 => Ok(()),
            errno => Err(Errno::from_raw(errno)),
        });
        Self {
            outside,
            witness,
            socket,
            signal,
            unshare,
        }
    }
}

/// A message of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// This step failed; the child is gone.
    Failed(Step, Errno),
    /// Confined and waiting; what it observed before it was confined.
    Ready(Observed),
    /// What it observed now.
    Observed(Observed),
    /// The exec failed; the child is gone.
    ExecFailed(Errno),
    /// Namespaces stand; the first process in them and the child, as the parent numbers them.
    Placed(i32, i32),
    /// Namespaces do not stand because of this step; the first process in them, if there is one, has to
    /// be reaped.
    Unplaced(Step, Errno, Option<i32>),
}

impl Message {
    /// Bytes to receive.
    pub const BYTES: usize = BYTES;

    /// Reads a message; `None` for anything a child does not say.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (ints, rest) = bytes.as_chunks::<4>();
        let [kind, a, b, c, d, e, _] = *<&[[u8; 4]; LENGTH]>::try_from(ints).ok()?;
        let [kind, a, b, c, d, e] = [kind, a, b, c, d, e].map(i32::from_ne_bytes);
        match kind {
            _ if !rest.is_empty() => None,
            FAILED => Some(Self::Failed(Step::of(a)?, Errno::from_raw(b))),
            READY => Some(Self::Ready(Observed::of([a, b, c, d, e]))),
            OBSERVED => Some(Self::Observed(Observed::of([a, b, c, d, e]))),
            PLACED => Some(Self::Placed(a, b)),
            UNPLACED => Some(Self::Unplaced(
                Step::of(a)?,
                Errno::from_raw(b),
                (c != 0).then_some(c),
            )),
            EXEC_FAILED => Some(Self::ExecFailed(Errno::from_raw(a))),
            _ => None,
        }
    }
}
