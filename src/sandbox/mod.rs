//! Confined first: the child stands in its sandbox, proved, before anybody is asked.

mod blueprint;
mod error;
pub mod filter;
pub mod profiles;
mod temporary;

pub use blueprint::Opened;
pub use error::SandboxError;
pub use temporary::Temporary;
