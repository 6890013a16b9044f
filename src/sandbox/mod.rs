//! Confined first: the child stands in its sandbox, proved, before anybody is asked.
//!
//! [`park`] turns a plan into kernel objects (a Landlock ruleset, a seccomp program), forks a child that
//! applies them to itself, and reads the [`Proof`] from outside. The child then waits in a read; what it
//! will execute is already fixed. [`profiles`] fills a profile from its name, [`filter`] is the deny-set,
//! [`probe`] reports what this host can do.

mod blueprint;
mod canary;
mod capabilities;
mod error;
pub mod filter;
mod gate;
mod held;
mod links;
mod park;
mod probe;
pub mod profiles;
mod proof;
#[cfg(test)]
pub(crate) mod sample;
mod temporary;
mod view;

pub use blueprint::Opened;
pub use error::SandboxError;
pub use held::{HeldChild, live};
pub use park::{Gate, Order, Parked, Parts, StdioFd, park};
pub use probe::{Layer, Probe, probe};
pub use proof::{Fact, Proof, Witness};
pub use temporary::Temporary;
