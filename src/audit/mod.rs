//! Stage 7: every decision is on record before its effect, in a chain that proves itself.
//!
//! One file, `audit.jsonl` in the state folder, holds one JSON record a line ([`chain`] describes the
//! format). Writers of any number of processes take turns under flock(2). Secrets are replaced by keyed
//! hashes before anything is written ([`scrub`]). [`verify()`] names the first record that does not fit;
//! without a head that was kept elsewhere it proves consistency only.

mod bytes;
pub mod chain;
mod error;
mod folder;
mod hash;
mod journal;
mod record;
pub mod scrub;
mod shapes;
mod show;
#[cfg(test)]
mod tests;
mod verify;

pub use bytes::{Bytes, decode, encode};
pub use chain::{Fault, Head, Kind, Record, SCHEMA};
pub use error::AuditError;
pub use journal::{Durability, Journal};
pub use record::{
    Asked, Decided, DecidedPart, Decider, Exec, Finished, PolicySource, Process, RemovedName,
    new_id,
};
pub use scrub::Scrubber;
pub use show::{Filter, Shown, show};
pub use verify::{Broken, Torn, Verified, verify};

/// Name of the log in the state folder.
pub const LOG: &str = "audit.jsonl";
