//! Exactly what was judged starts, is watched to its end, and leaves nothing running.

mod error;
mod identity;
mod start;
mod tree;
mod wait;

pub use error::LaunchError;
pub use start::{Checked, Running, start};
pub use tree::{Felled, Process};
pub use wait::{Ended, GRACE, Pump};

#[cfg(test)]
mod tests;
