//! The kernel's edge: the only place with `unsafe`, in kernel terms and without domain words.
#![allow(
    unsafe_code,
    reason = "system calls that no crate wraps; every other module is denied unsafe by the manifest"
)]

pub mod arguments;
pub mod busy;
pub mod child;
pub mod fail;
pub mod landlock;
mod loopback;
pub mod notify;
pub mod process;
pub mod raw;
pub mod trace;
pub mod tty;
