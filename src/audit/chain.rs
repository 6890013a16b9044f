//! The format of the log: one record a line, each bound to the one before.
//!
//! ```text
//! {"check":"HEX","sequence":N,"time":T,"previous":"sha256:HEX","schema":S,"kind":K,"record":{…}}
//! ```
//!
//! `check` is the SHA-256 of everything after `"check":"HEX",` up to the newline: it tells which record
//! was edited, the last one included. `previous` is the SHA-256 of the whole line before, without its
//! newline; the first record has zeros. So an edit is found at the record itself, and a deletion,
//! insertion or exchange at the first record that does not follow.
//!
//! A writer that dies in the middle leaves bytes without a newline. The next writer never touches them:
//! on the same line it adds the byte RS (0x1e, which JSON text cannot hold; RFC 7464 uses it to the same
//! end) and a record of kind `recovered` that gives their number and SHA-256. A torn record is therefore
//! always `BYTES RS RECOVERED newline`, and a whole line that is anything else was not torn but tampered
//! with. A writer that dies while closing leaves a longer torn line, which closes in the same way.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hash::sha256;
use crate::model::digest::Digest;

/// Names the format of a record.
pub const SCHEMA: &str = "tipstaff.audit/1";

/// Stands between torn bytes and the record that closes them.
pub(super) const SEPARATOR: u8 = 0x1e;

const OPENING: &[u8] = b"{\"check\":\"";
const AFTER_CHECK: &[u8] = b"\",";
const CHECK_DIGITS: usize = 64;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A decision, before its effect.
    Decided,
    /// A decision about one exec of a running command, before the exec.
    Exec,
    /// How it ended.
    Finished,
    /// A torn record was closed.
    Recovered,
}

/// One record as it stands in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 1.
    pub sequence: u64,
    /// When it was written: UTC, RFC 3339, microseconds.
    pub time: String,
    /// SHA-256 of the line before.
    pub previous: String,
    /// The format.
    pub schema: String,
    /// What it says.
    pub kind: Kind,
    /// The saying.
    pub record: Value,
}

/// The body of a record of kind `recovered`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recovered {
    pub(super) torn_bytes: u64,
    pub(super) torn_hash: String,
}

impl Recovered {
    pub(super) fn of(torn: &[u8]) -> Self {
        Self {
            torn_bytes: u64::try_from(torn.len()).unwrap_or(u64::MAX),
            torn_hash: sha256(torn).to_string(),
        }
    }
}

/// The end of a chain: what the next record follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the last record, 0 in an empty log.
    pub sequence: u64,
    /// SHA-256 of its line.
    pub hash: Digest,
}

impl Head {
    /// Before the first record.
    pub const START: Self = Self {
        sequence: 0,
        hash: Digest([0; 32]),
    };

    /// The head after `line`, which holds the next record.
    pub(super) fn after(self, line: &[u8]) -> Self {
        Self {
            sequence: self.sequence + 1,
            hash: sha256(line),
        }
    }
}

/// Why a line is not the next record of a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It does not have the form of a record.
    #[error("it is not a record")]
    NotRecord,
    /// Its bytes are not those it was written with.
    #[error("its bytes do not match its check")]
    Check,
    /// Another record stands here.
    #[error("record {0} stands in its place")]
    Sequence(u64),
    /// It follows another line than the one before it.
    #[error("it does not follow the line before it")]
    Previous,
    /// The torn bytes before it are not those it was written to close, or there are none.
    #[error("the torn bytes it closes are not those it names")]
    Torn,
}

/// Writes the line of `record`, newline included.
pub(super) fn compose(record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let text = serde_json::to_vec(record)?;
    let rest = text.strip_prefix(b"{").unwrap_or(&text);
    let check = sha256(rest).hex();
    Ok([OPENING, check.as_bytes(), AFTER_CHECK, rest, b"\n"].concat())
}

/// Reads the record of a line without its newline. Torn bytes before it are checked against what it
/// says of them.
pub(super) fn read(line: &[u8]) -> Result<Record, Fault> {
    let split = line.iter().rposition(|byte| *byte == SEPARATOR);
    let (torn, text) = match split.and_then(|at| line.split_at_checked(at)) {
        Some((torn, rest)) => (Some(torn), rest.get(1..).unwrap_or_default()),
        None => (None, line),
    };
    let after = text.strip_prefix(OPENING).ok_or(Fault::NotRecord)?;
    let (check, after) = after
        .split_at_checked(CHECK_DIGITS)
        .ok_or(Fault::NotRecord)?;
    let rest = after.strip_prefix(AFTER_CHECK).ok_or(Fault::NotRecord)?;
    if sha256(rest).hex().as_bytes() != check {
        return Err(Fault::Check);
    }
    let record: Record =
        serde_json::from_slice(&[b"{", rest].concat()).map_err(|_| Fault::NotRecord)?;
    let closes = match record.kind {
        Kind::Recovered => Some(
            serde_json::from_value::<Recovered>(record.record.clone())
                .map_err(|_| Fault::NotRecord)?,
        ),
        Kind::Decided | Kind::Exec | Kind::Finished => None,
    };
    if closes == torn.map(Recovered::of) {
        Ok(record)
    } else {
        Err(Fault::Torn)
    }
}

/// Reads the record of a line and checks that it follows `head`.
pub(super) fn follow(head: Head, line: &[u8]) -> Result<Record, Fault> {
    let record = read(line)?;
    if record.sequence != head.sequence + 1 {
        return Err(Fault::Sequence(record.sequence));
    }
    if record.previous != head.hash.to_string() {
        return Err(Fault::Previous);
    }
    Ok(record)
}
