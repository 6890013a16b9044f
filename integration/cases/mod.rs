//! The cases, a file for each group of claims.

mod agent;
mod apart;
mod closed;
mod crash;
mod decisions;
mod files;
mod gate;
mod gate_attacks;
mod guarded;
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
    gate::CASES,
    gate_attacks::CASES,
    files::CASES,
    network::CASES,
    syscalls::CASES,
    process::CASES,
    apart::CASES,
    life::CASES,
    live::CASES,
    question::CASES,
    closed::CASES,
    guarded::CASES,
    host::CASES,
    crash::CASES,
    agent::CASES,
    papers::CASES,
];
