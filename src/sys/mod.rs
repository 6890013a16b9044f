//! The kernel's edge: the only place with `unsafe`, in kernel terms and without domain words.

pub mod fail;
pub mod tty;
