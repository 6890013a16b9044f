//! Why a sandbox does not stand.

use nix::errno::Errno;

use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::sys::child::Step;

use super::profiles::BrokenTable;

/// Why no child is parked. Nothing of the command has run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The host lacks something the level or the profile needs.
    #[error("{feature} is not available ({found}): {remedy}")]
    Missing {
        /// What is needed.
        feature: &'static str,
        /// What the kernel said.
        found: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A system call of the preparation failed.
    #[error("cannot prepare the sandbox: {call} fails")]
    Prepare {
        /// The call.
        call: &'static str,
        /// Its errno.
        source: Errno,
    },
    /// A folder the profile writes cannot be opened.
    #[error("cannot open `{path}` for the sandbox")]
    Open {
        /// The folder.
        path: AbsolutePath,
        /// Why.
        source: Errno,
    },
    /// The private temporary folder cannot be made.
    #[error(
        "cannot make a private temporary folder in `{base}`; set TMPDIR to a folder you can write"
    )]
    Temporary {
        /// Where.
        base: AbsolutePath,
        /// Why.
        source: std::io::Error,
    },
    /// The Landlock ruleset cannot be built as the profile needs it.
    #[error("cannot build the Landlock ruleset")]
    Ruleset(#[source] landlock::RulesetError),
    /// The system-call filter cannot be built.
    #[error("cannot build the system-call filter")]
    Filter(#[source] seccompiler::BackendError),
    /// A built-in profile is broken.
    #[error("cannot fill the profile")]
    Profile(#[from] BrokenTable),
    /// An argument or a variable holds a NUL byte, which cannot be passed on.
    #[error("`{0}` holds a NUL byte and cannot be passed to a program")]
    Nul(String),
    /// A step of the child failed.
    #[error("cannot confine the command: {} fails", step.name())]
    Step {
        /// The step.
        step: Step,
        /// Its errno.
        source: Errno,
    },
    /// The host gives no namespaces.
    #[error("no namespaces ({found}): {remedy}")]
    NoNamespaces {
        /// The call and its errno.
        found: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The child ended before it was parked or proved.
    #[error("the parked child ended before it was proved")]
    Gone,
    /// The command's own terminal cannot be handed over.
    #[error("cannot pass the command its terminal")]
    Terminal(#[source] std::io::Error),
    /// There is no place for the file that proves the file rules.
    #[error(
        "no folder outside the sandbox takes a test file, so the file rules cannot be proved; make `/tmp` or TMPDIR writable, or choose a smaller workspace"
    )]
    NoCanary,
    /// The child does not stand as confined as the level says.
    #[error("the sandbox is not proved: {claim}, but {found}")]
    Unproved {
        /// What has to hold.
        claim: &'static str,
        /// What was seen.
        found: String,
    },
}

impl SandboxError {
    /// The command's terminal cannot be copied.
    pub const fn terminal(source: std::io::Error) -> Self {
        Self::Terminal(source)
    }

    pub(super) fn prepare(call: &'static str) -> impl Fn(Errno) -> Self {
        move |source| Self::Prepare { call, source }
    }

    pub(super) fn nul(error: std::ffi::NulError) -> Self {
        Self::Nul(Escaped(&error.into_vec()).to_string())
    }

    /// Landlock is missing altogether.
    pub(super) fn no_landlock(errno: Errno) -> Self {
        Self::Missing {
            feature: "Landlock",
            found: format!("landlock_create_ruleset: {}", name(errno)),
            remedy: if errno == Errno::EOPNOTSUPP {
                "boot with `lsm=landlock,…`: the kernel has it, but it is not switched on"
            } else {
                "boot with `lsm=landlock,…` or Linux 6.2 or newer; in a container, let its seccomp profile pass the landlock calls"
            },
        }
    }

    /// Landlock is older than the level needs.
    pub(super) fn old_landlock(abi: i32) -> Self {
        Self::Missing {
            feature: "Landlock ABI 3",
            found: format!("the kernel has ABI {abi}, under which truncate passes the write rules"),
            remedy: "run Linux 6.2 or newer",
        }
    }

    /// A step failed: a missing feature where its errno says so.
    pub(super) fn step(step: Step, errno: Errno) -> Self {
        let found = format!("{}: {}", step.name(), name(errno));
        match (step, errno) {
            (Step::Filter, Errno::ENOSYS | Errno::EINVAL | Errno::EPERM) => Self::Missing {
                feature: "the system-call filter (seccomp)",
                found,
                remedy: "run a kernel with CONFIG_SECCOMP_FILTER; in a container, let its seccomp profile pass seccomp(2)",
            },
            (Step::Landlock, Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EPERM) => Self::Missing {
                feature: "Landlock",
                found,
                remedy: "boot with `lsm=landlock,…` or Linux 6.2 or newer; in a container, let its seccomp profile pass the landlock calls",
            },
            (Step::Namespaces, _) => Self::NoNamespaces {
                found,
                remedy: if errno == Errno::ENOSPC {
                    "raise user.max_user_namespaces"
                } else {
                    "allow user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container, let its seccomp profile pass unshare)"
                },
            },
            (Step::Root, _) => Self::NoNamespaces {
                found,
                remedy: "let the container mount: its /proc must not be masked, and AppArmor or SELinux must let user namespaces mount",
            },
            (Step::Network, _) => Self::Missing {
                feature: "a network namespace, which `--network loopback` needs,",
                found,
                remedy: "allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or run with `--network off` or `--network full`",
            },
            _ => Self::Step {
                step,
                source: errno,
            },
        }
    }
}

/// The name of an errno, as manual pages write it.
pub(super) fn name(errno: Errno) -> String {
    format!("{errno:?}")
}
