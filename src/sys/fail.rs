//! Named fail points: where a test can kill the supervisor, to prove that nothing is lost there.
//!
//! Compiled into debug builds only; a release binary has no such door.

/// Every fail point, in the order a run passes them. The crash tests visit each one.
pub const POINTS: [&str; 20] = [
    "policy-loaded",
    "line-parsed",
    "programs-pinned",
    "line-judged",
    "plan-made",
    "child-forked",
    "child-parked",
    "proof-read",
    "question-open",
    "answer-taken",
    "identities-again",
    "decided-locked",
    "decided-half-written",
    "decided-written",
    "child-released",
    "exec-verified",
    "command-running",
    "command-ended",
    "finished-half-written",
    "finished-written",
];

/// Kills this process with SIGKILL, which no handler sees, when `TIPSTAFF_FAIL_AT` names `point`.
#[cfg(debug_assertions)]
pub fn point(point: &str) {
    if std::env::var_os("TIPSTAFF_FAIL_AT").is_some_and(|name| name == point) {
        // Nothing can be done about a kill that fails, and it cannot: the target is ourselves.
        nix::sys::signal::kill(nix::unistd::getpid(), nix::sys::signal::Signal::SIGKILL).ok();
        loop {
            nix::unistd::pause();
        }
    }
}

/// Does nothing: this is a release build.
#[cfg(not(debug_assertions))]
pub fn point(_point: &str) {}

/// Whether `point` is the one where a test kills this process: for places that have to do something
/// halfway first.
#[cfg(debug_assertions)]
pub fn armed(point: &str) -> bool {
    std::env::var_os("TIPSTAFF_FAIL_AT").is_some_and(|name| name == point)
}

/// Never: this is a release build.
#[cfg(not(debug_assertions))]
pub fn armed(_point: &str) -> bool {
    false
}
