//! Parking: from an order to a confined, proved child that waits for the word to start.

use std::ffi::CString;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::stat::fstat;

use crate::model::executable::{Executable, Format};
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Network};
use crate::plan::{Plan, Start};
use crate::sys;
use crate::sys::arguments::Arguments;
use crate::sys::child::{Apart, Child, Credentials, Limit, Message, Observed, Root, Target};
use crate::sys::fail;

use super::blueprint::{Builder, Landlock, Opened, SCOPES, grants};
use super::canary::Canary;
use super::error::SandboxError;
use super::filter::{self, UnixSockets};
use super::gate;
use super::held::HeldChild;
use super::proof::{self, Claims, Proof};
use super::temporary::Temporary;
use super::view::{self, Needs};

/// One of the command's descriptors 0, 1, 2.
#[derive(Debug)]
pub enum StdioFd {
    /// Ours of the same number, as it is: a pipe or a file. A terminal must not be passed on like this.
    Inherit,
    /// Another descriptor.
    Given(OwnedFd),
    /// The command's side of a terminal made for it, which becomes its controlling terminal.
    Terminal(OwnedFd),
}

/// What to park.
#[derive(Debug)]
pub struct Order<'a> {
    /// What will run and how it is confined.
    pub plan: &'a Plan,
    /// The held file of `plan.executable`.
    pub program: BorrowedFd<'a>,
    /// Held files of every other program that was judged, interpreters included: each may be read and
    /// executed wherever it lies.
    pub others: &'a [BorrowedFd<'a>],
    /// The workspace, by the descriptor it was opened with.
    pub workspace: Opened<'a>,
    /// The folder the command starts in.
    pub cwd: BorrowedFd<'a>,
    /// The private temporary folder; it goes away with the child.
    pub temporary: Temporary,
    /// Descriptors 0, 1 and 2.
    pub stdio: [StdioFd; 3],
    /// Whether every exec of the command waits for the supervisor.
    pub gate: Gate,
}

/// Whether the command stands behind a gate. Whoever asks for one has to serve it: until an exec is
/// answered it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It does where the host allows one; the proof says so, or why there is none.
    Wanted,
    /// It does not, and why.
    None(String),
}

/// A proved child that waits. Dropped, it is killed and reaped, and its temporary folder is removed.
#[derive(Debug)]
pub struct Parked {
    child: HeldChild,
    proof: Proof,
    listener: Option<OwnedFd>,
    start: Start,
    executable: Executable,
    argv: Vec<Vec<u8>>,
    program: OwnedFd,
    temporary: Temporary,
}

/// The parts of a parked child, for the stage that starts it. The child stands first, so that it is
/// dead before its temporary folder is removed.
#[derive(Debug)]
pub struct Parts {
    /// The child.
    pub child: HeldChild,
    /// Its proof.
    pub proof: Proof,
    /// Where its execs wait, when it stands behind a gate.
    pub listener: Option<OwnedFd>,
    /// How it starts.
    pub start: Start,
    /// What it will execute.
    pub executable: Executable,
    /// With this argv.
    pub argv: Vec<Vec<u8>>,
    /// The held file of `executable`.
    pub program: OwnedFd,
    /// Its temporary folder.
    pub temporary: Temporary,
}

impl Parked {
    /// The proof that it stands confined.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Becomes readable when the child dies, which cancels a question about it. pidfd_open(2)
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.child.pidfd()
    }

    /// What it will execute.
    pub const fn executable(&self) -> &Executable {
        &self.executable
    }

    /// How it will start.
    pub const fn how(&self) -> &Start {
        &self.start
    }

    /// The argv it will start with.
    pub fn argv(&self) -> &[Vec<u8>] {
        &self.argv
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.pid().as_raw()
    }

    /// Hands everything on.
    pub fn into_parts(self) -> Parts {
        let Self {
            child,
            proof,
            listener,
            start,
            executable,
            argv,
            program,
            temporary,
        } = self;
        Parts {
            child,
            proof,
            listener,
            start,
            executable,
            argv,
            program,
            temporary,
        }
    }
}

/// Core files would copy the command's memory to wherever the host puts them.
const LIMITS: [Limit; 1] = [Limit {
    resource: nix::libc::RLIMIT_CORE,
    value: 0,
}];

/// Parks a child for `order` and proves it. Everything that can be built is built before the fork. The
/// calling thread has to live as long as the child, and its process becomes a child subreaper
/// (prctl(2), PR_SET_CHILD_SUBREAPER), so that what the command leaves behind can be found.
pub fn park(order: Order<'_>) -> Result<Parked, SandboxError> {
    let Order {
        plan,
        program,
        others,
        workspace,
        cwd,
        temporary,
        stdio,
        gate,
    } = order;
    let landlock = Landlock::running()?;
    let (stdio, terminal) = above_stdio(stdio)?;

    let mut builder = Builder::new(landlock, plan.profile.network)?;
    let opened = [
        workspace,
        Opened {
            path: temporary.path(),
            folder: temporary.as_fd(),
        },
    ];
    builder.grant(&plan.profile, &opened)?;
    builder.grant_program(program)?;
    for other in others {
        builder.grant_program(*other)?;
    }
    for file in &stdio {
        builder.grant_stdio(file.as_fd())?;
    }
    let ruleset = raised(builder.finish()?)?;

    let terminal_name = terminal
        .and_then(|number| stdio.get(usize::try_from(number).ok()?))
        .and_then(name_of);
    let home = plan.environment.home();
    let root = view::root(
        &Needs {
            profile: &plan.profile,
            opened: &opened,
            programs: &[&[program], others].concat(),
            terminal: terminal_name.as_ref(),
            named: &home.iter().chain([&plan.cwd]).collect::<Vec<_>>(),
        },
        landlock,
    )?;

    let argv = Arguments::new(plan.argv.iter().cloned()).map_err(SandboxError::nul)?;
    let envp = Arguments::new(plan.environment.entries()).map_err(SandboxError::nul)?;
    let path = CString::new(plan.executable.path.as_bytes()).map_err(SandboxError::nul)?;
    let program = raised_copy(program)?;
    let cwd = raised_copy(cwd)?;
    let canary = Canary::release(grants(&plan.profile).map(|(path, _)| path))?;
    let [zero, one, two] = &stdio;
    let recipe = Recipe {
        stdio: [zero.as_fd(), one.as_fd(), two.as_fd()],
        folder: Folder {
            fd: cwd.as_fd(),
            path: &plan.cwd,
            shown: grants(&plan.profile).any(|(path, _)| plan.cwd.is_within(path)),
        },
        terminal,
        identity: &plan.identity,
        network: plan.profile.network,
        landlock,
        root: Some(&root),
        canary: &canary,
        ruleset: ruleset.as_fd(),
        gate: &gate,
        // An interpreter opens its script by path, so a script is started by path.
        target: match plan.executable.format {
            Format::Elf | Format::Env { .. } => Target::Descriptor(program.as_fd()),
            Format::Script { .. } | Format::Text => Target::Path(&path),
        },
        argv: &argv,
        envp: &envp,
    };
    let Stood {
        child,
        proof,
        listener,
    } = set_apart(recipe)?;
    Ok(Parked {
        child,
        proof,
        listener,
        start: plan.start.clone(),
        executable: plan.executable.clone(),
        argv: plan.argv.clone(),
        program,
        temporary,
    })
}

/// A child that stands confined.
pub(super) struct Stood {
    pub(super) child: HeldChild,
    pub(super) proof: Proof,
    pub(super) listener: Option<OwnedFd>,
}

/// Parks behind a gate and with namespaces where the host gives them, and without where it does not; the
/// proof then says which step failed. The child itself finds out, so that nothing is tried twice where
/// all of it works.
fn set_apart(recipe: Recipe<'_>) -> Result<Stood, SandboxError> {
    match in_namespaces(recipe) {
        Err(error) if *recipe.gate == Gate::Wanted && gate::cannot_stand(&error) => {
            let gate = &gate::none(&error);
            in_namespaces(Recipe { gate, ..recipe })
        }
        stood => stood,
    }
}

fn in_namespaces(recipe: Recipe<'_>) -> Result<Stood, SandboxError> {
    match stand(&recipe, None) {
        Err(fallen @ SandboxError::NoNamespaces { .. }) => {
            let root = None;
            stand(&Recipe { root, ..recipe }, Some(&fallen))
        }
        stood => stood,
    }
}

/// Forks the child of `recipe` and proves it. `fallen`: why it has no namespaces.
pub(super) fn stand(
    recipe: &Recipe<'_>,
    fallen: Option<&SandboxError>,
) -> Result<Stood, SandboxError> {
    let child = fork(recipe)?;
    let (proof, listener) = prove(&child, recipe, fallen)?;
    Ok(Stood {
        child,
        proof,
        listener,
    })
}

/// The name of a terminal on the host. tty(4)
fn name_of(terminal: &OwnedFd) -> Option<AbsolutePath> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", terminal.as_raw_fd())).ok()?;
    AbsolutePath::new(link).ok()
}

/// What a child is forked from, in the words of this stage.
#[derive(Clone, Copy)]
pub(super) struct Recipe<'a> {
    pub(super) stdio: [BorrowedFd<'a>; 3],
    pub(super) folder: Folder<'a>,
    pub(super) terminal: Option<i32>,
    pub(super) identity: &'a Identity,
    pub(super) network: Network,
    pub(super) landlock: Landlock,
    /// The root it has in namespaces of its own; without one it stays in the host's.
    pub(super) root: Option<&'a Root>,
    pub(super) canary: &'a Canary,
    pub(super) ruleset: BorrowedFd<'a>,
    pub(super) gate: &'a Gate,
    pub(super) target: Target<'a>,
    pub(super) argv: &'a Arguments,
    pub(super) envp: &'a Arguments,
}

impl Recipe<'_> {
    /// Whether a network namespace keeps the host's away.
    fn own_network(&self) -> bool {
        match self.network {
            Network::Loopback => true,
            Network::Off => self.root.is_some(),
            Network::Full => false,
        }
    }

    /// In a root of its own no socket of the host has a name; those without one are kept away by scopes
    /// or by the network namespace. unix(7)
    fn unix_sockets(&self) -> UnixSockets {
        if self.root.is_some() && (self.landlock.abi >= SCOPES || self.own_network()) {
            UnixSockets::ByPath
        } else {
            self.landlock.unix_sockets()
        }
    }
}

/// The folder a child starts in.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) fd: BorrowedFd<'a>,
    pub(super) path: &'a AbsolutePath,
    /// Whether the profile shows it; otherwise only its name is there in a root of its own.
    pub(super) shown: bool,
}

/// Forks the child; it confines itself at once.
pub(super) fn fork(recipe: &Recipe<'_>) -> Result<HeldChild, SandboxError> {
    let (ours, theirs) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )
    .map_err(SandboxError::prepare("socketpair"))?;
    let theirs = raised(theirs)?;
    nix::sys::prctl::set_child_subreaper(true)
        .map_err(SandboxError::prepare("prctl(PR_SET_CHILD_SUBREAPER)"))?;
    let credentials = match recipe.identity {
        Identity::Unchanged | Identity::RootWithoutCapabilities => None,
        Identity::User {
            uid, gid, groups, ..
        } => Some(Credentials {
            uid: *uid,
            gid: *gid,
            groups,
        }),
    };
    let filter =
        filter::program(recipe.network, recipe.unix_sockets()).map_err(SandboxError::Filter)?;
    let folder = CString::new(recipe.folder.path.as_bytes()).map_err(SandboxError::nul)?;
    let status = fstat(recipe.folder.fd).map_err(SandboxError::prepare("fstat"))?;
    let listener = match recipe.gate {
        Gate::Wanted => Some(filter::listener()),
        Gate::None(_) => None,
    };
    let child = Child {
        control: theirs.as_fd(),
        folder: recipe.folder.fd,
        folder_path: (
            &folder,
            recipe
                .folder
                .shown
                .then_some((status.st_dev, status.st_ino)),
        ),
        stdio: recipe.stdio,
        terminal: recipe.terminal,
        credentials,
        limits: &LIMITS,
        apart: recipe.root.map(|root| Apart {
            root,
            network: recipe.own_network(),
            user: credentials.is_none(),
        }),
        own_network: recipe.own_network(),
        outside: recipe.canary.path(),
        witness: match recipe.root {
            Some(_) => view::WITNESS,
            None => recipe.canary.path(),
        },
        ruleset: recipe.ruleset,
        listener: listener.as_deref(),
        filter: &filter,
        target: recipe.target,
        argv: recipe.argv,
        envp: recipe.envp,
    };
    let child = HeldChild::fork(&child, ours)?;
    fail::point("child-forked");
    Ok(child)
}

/// Waits until the child is confined: what it could do before, and its listener.
pub(super) fn ready(child: &HeldChild) -> Result<(Observed, Option<OwnedFd>), SandboxError> {
    let (said, listener) = child.receive().map_err(SandboxError::prepare("recvmsg"))?;
    match said {
        Some(Message::Ready(before)) => Ok((before, listener)),
        Some(Message::Failed(step, errno)) => Err(SandboxError::step(step, errno)),
        Some(
            Message::Observed(_)
            | Message::ExecFailed(_)
            | Message::Placed(..)
            | Message::Unplaced(..),
        )
        | None => Err(SandboxError::Gone),
    }
}

/// Waits until the child is confined and proves it.
fn prove(
    child: &HeldChild,
    recipe: &Recipe<'_>,
    fallen: Option<&SandboxError>,
) -> Result<(Proof, Option<OwnedFd>), SandboxError> {
    let (before, listener) = ready(child)?;
    fail::point("child-parked");
    let proof = proof::read(
        child,
        &Claims {
            landlock: recipe.landlock,
            network: recipe.network,
            own_network: recipe.own_network(),
            identity: recipe.identity,
            before,
            gate: recipe.gate,
            listener: listener.as_ref().map(OwnedFd::as_fd),
            fallen,
        },
    )?;
    fail::point("proof-read");
    Ok((proof, listener))
}

/// Copies of the command's descriptors above 2, so that the child can put each in its place without
/// overwriting another, and which of them is its terminal.
fn above_stdio(stdio: [StdioFd; 3]) -> Result<([OwnedFd; 3], Option<i32>), SandboxError> {
    let mut terminal = None;
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let own = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let [zero, one, two] = stdio;
    let mut place = |number: i32, fd: StdioFd, own: BorrowedFd<'_>| match fd {
        StdioFd::Inherit => raised_copy(own),
        StdioFd::Given(fd) => raised(fd),
        StdioFd::Terminal(fd) => {
            terminal = Some(number);
            raised(fd)
        }
    };
    let [own_zero, own_one, own_two] = own;
    let placed = [
        place(0, zero, own_zero)?,
        place(1, one, own_one)?,
        place(2, two, own_two)?,
    ];
    Ok((placed, terminal))
}

/// `fd`, moved above 2 where it is not: a host program may have closed its own first three.
fn raised(fd: OwnedFd) -> Result<OwnedFd, SandboxError> {
    if fd.as_raw_fd() > 2 {
        Ok(fd)
    } else {
        raised_copy(fd.as_fd())
    }
}

/// A copy of `fd` above 2 that closes on exec. F_DUPFD_CLOEXEC, fcntl(2)
pub(super) fn raised_copy(fd: BorrowedFd<'_>) -> Result<OwnedFd, SandboxError> {
    sys::process::copy_above(fd, 3).map_err(SandboxError::prepare("fcntl"))
}

#[cfg(test)]
mod tests;
