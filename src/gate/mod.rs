//! Every exec of the tree waits here until it is judged by its real argv, and is compared with what was
//! judged before its first instruction runs.
//!
//! An exec is held twice. The seccomp listener holds it before it happens: its path, argv and environment
//! are read ([`Attempt`]) and the [`Judge`] answers. That answer alone would be worth little, since another
//! thread can change all three until the kernel has copied them. So what may start is traced over its exec
//! and stopped after it, where file, content, argv and environment stand in memory of its own and are
//! compared ([`Judged`]); what differs is killed. seccomp_unotify(2), ptrace(2)
//!
//! Which decision covers an exec hangs on the program that makes it. Programs are told apart by their
//! memory ([`Images`]), not by process numbers, so that an orphan still belongs where it came from and a
//! number that is used again belongs nowhere.
#![forbid(unsafe_code)]

mod attempt;
mod identity;
mod image;
mod memory;
mod serve;

pub use attempt::Attempt;
pub use identity::{Judged, Mismatch};
pub use image::{Cover, Image, Images};
pub use serve::{Answer, Gate, Judge, Start, Stopped};
