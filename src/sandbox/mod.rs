//! Confined first: the child stands in its sandbox, proved, before anybody is asked.
//!
//! [`park`] turns a plan into kernel objects (a Landlock ruleset, a seccomp program), forks a child that
//! applies them to itself, and reads the [`Proof`] from outside. The child then waits in a read; what it
//! will execute is already fixed. [`profiles`] fills a profile from its name, [`filter`] is the deny-set,
//! [`probe`] reports what this host can do.

mod blueprint;
mod canary;
mod error;
pub mod filter;
mod held;
mod park;
pub mod profiles;
mod proof;
mod temporary;

pub use blueprint::Opened;
pub use error::SandboxError;
pub use held::{HeldChild, has_ended};
pub use park::{Order, Parked, Parts, StdioFd, park};
pub use proof::{Fact, Proof, Witness};
pub use temporary::Temporary;
