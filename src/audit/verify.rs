//! Reads the whole log and names the first record that does not fit.

use std::fmt;
use std::io::{BufRead as _, BufReader};

use super::chain::{Fault, Head, Kind, follow};
use super::error::AuditError;
use super::folder::Folder;
use crate::model::path::AbsolutePath;

/// What a log proves.
#[must_use = "a broken chain that nobody looks at proves nothing"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The end of the sound part: keep it elsewhere and compare it later, and a log that was cut or
    /// written anew is found too.
    pub head: Head,
    /// Torn records that a later one closed.
    pub recovered: u64,
    /// The last record was not written whole; the next writer closes it. No sign of tampering: the
    /// writer was killed, and what it wanted to record did not take effect.
    pub torn: Option<Torn>,
    /// The first record that does not fit. Nothing after it was read.
    pub broken: Option<Broken>,
}

/// A last line without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Line of the log, from 1.
    pub line: u64,
    /// How many bytes there are.
    pub bytes: u64,
}

/// A record that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Line of the log, from 1.
    pub line: u64,
    /// Number of the record that should stand there.
    pub sequence: u64,
    /// What is wrong.
    pub fault: Fault,
}

impl Verified {
    /// Whether every whole record fits.
    pub fn is_sound(&self) -> bool {
        self.broken.is_none()
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head { sequence, hash } = self.head;
        if let Some(Broken {
            line,
            sequence,
            fault,
        }) = &self.broken
        {
            return write!(f, "broken at record {sequence}, line {line}: {fault}");
        }
        if sequence == 0 && self.torn.is_none() {
            return write!(f, "nothing is recorded yet");
        }
        write!(
            f,
            "{sequence} records, consistent only: no anchored head; the last is {hash}"
        )?;
        if self.recovered > 0 {
            write!(f, "; {} torn and closed", self.recovered)?;
        }
        if let Some(Torn { line, bytes }) = self.torn {
            write!(f, "; torn last record, line {line}: {bytes} bytes")?;
        }
        Ok(())
    }
}

/// Reads the log of a state folder from its first record to its last. Writers wait meanwhile.
pub fn verify(state: &AbsolutePath) -> Result<Verified, AuditError> {
    let folder = Folder::open(state)?;
    let log = folder.log_to_read()?;
    let unreadable = |source| AuditError::Read {
        path: folder.log_path(),
        source,
    };
    log.lock_shared().map_err(|source| AuditError::Lock {
        path: folder.log_path(),
        source,
    })?;
    let mut lines = BufReader::with_capacity(1 << 20, log);
    let mut verified = Verified {
        head: Head::START,
        recovered: 0,
        torn: None,
        broken: None,
    };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        let Some(whole) = line.strip_suffix(b"\n") else {
            verified.torn = Some(Torn {
                line: number,
                bytes: u64::try_from(line.len()).unwrap_or(u64::MAX),
            });
            break;
        };
        match follow(verified.head, whole) {
            Ok(record) => {
                verified.recovered += u64::from(record.kind == Kind::Recovered);
                verified.head = verified.head.after(whole);
            }
            Err(fault) => {
                verified.broken = Some(Broken {
                    line: number,
                    sequence: verified.head.sequence + 1,
                    fault,
                });
                break;
            }
        }
    }
    Ok(verified)
}
