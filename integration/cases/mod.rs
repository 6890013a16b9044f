//! The cases, a file for each group of claims.

mod apart;
mod closed;
mod crash;
mod decisions;
mod files;
mod host;
mod life;
mod live;
mod network;
mod papers;
mod process;
mod question;
mod swaps;
mod syscalls;

use crate::harness::Case;

/// Every case.
pub const ALL: &[&[Case]] = &[
    decisions::CASES,
    swaps::CASES,
    files::CASES,
    network::CASES,
    syscalls::CASES,
    process::CASES,
    apart::CASES,
    life::CASES,
    live::CASES,
    question::CASES,
    closed::CASES,
    host::CASES,
    crash::CASES,
    papers::CASES,
];
