//! Exactly what was judged starts, is watched to its end, and leaves nothing running.
#![forbid(unsafe_code)]

mod error;
pub mod relay;
mod signals;
mod start;
mod tree;
mod wait;

pub use error::LaunchError;
pub use relay::{Relay, RelayError, Terminals};
pub use signals::Signals;
pub use start::{Checked, Running, start};
pub use tree::{Felled, Process};
pub use wait::{Ended, GRACE, Pump, Turn};

#[cfg(test)]
mod tests;
