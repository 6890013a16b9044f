//! Writes records: whole, in turn, each bound to the one before.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use serde::Serialize;
use serde_json::Value;

use super::chain::{Head, Kind, Record, Recovered, SCHEMA, SEPARATOR, compose, read};
use super::error::AuditError;
use super::folder::Folder;
use super::hash::sha256;
use super::record::{Decided, Exec, Finished};
use super::scrub::Scrubber;
use crate::model::path::AbsolutePath;
use crate::sys::fail;

/// Space kept for the record of a run's end, in bytes: several times what one takes.
const FOR_THE_END: i64 = 4096;

/// Read at a time when looking for the last line.
const CHUNK: u64 = 64 << 10;

/// How long a record has to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives the end of this process, however it ends: written, not synced.
    Process,
    /// It survives the loss of power as well (fdatasync(2)): for what a person decided, since nobody
    /// can decide it again.
    Power,
}

/// The open log.
pub struct Journal {
    folder: Folder,
    path: AbsolutePath,
    log: File,
    scrubber: Scrubber,
    /// Secrets that records of this journal held.
    found: Mutex<Vec<Vec<u8>>>,
    /// Where the log ended after our last record. Also keeps threads apart, which share one lock.
    end: Mutex<Option<End>>,
}

/// The end of the log: what follows it, and at which length.
#[derive(Clone, Debug)]
struct End {
    length: u64,
    head: Head,
    /// Bytes after the last newline.
    torn: Vec<u8>,
}

impl std::fmt::Debug for Journal {
    /// No secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the log of the state folder; makes folder (0700), log and key (0600) when absent.
    pub fn open(state: &AbsolutePath) -> Result<Self, AuditError> {
        let folder = Folder::create(state)?;
        let log = folder.log()?;
        let path = folder.log_path();
        lock(&log, &path)?;
        let key = folder.key();
        unlock(&log);
        Ok(Self {
            folder,
            path,
            log,
            scrubber: Scrubber::new(key?, &[]),
            found: Mutex::new(Vec::new()),
            end: Mutex::new(None),
        })
    }

    /// The same journal that also hides these secrets wherever they appear: the values of the caller's
    /// secret variables. Values of less than six bytes would hide half of the log and are passed over.
    pub fn hiding(mut self, secrets: &[Vec<u8>]) -> Self {
        self.scrubber = self.scrubber.hiding(secrets);
        self
    }

    /// Hides secrets the same way in what is shown.
    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// Records a decision. If this fails nothing may run.
    pub fn decided(&self, decided: &Decided, lasts: Durability) -> Result<Head, AuditError> {
        self.append(Kind::Decided, decided, lasts)
    }

    /// Records a decision about an exec of a running command. If this fails the exec may not happen.
    pub fn exec(&self, exec: &Exec, lasts: Durability) -> Result<Head, AuditError> {
        self.append(Kind::Exec, exec, lasts)
    }

    /// Records how a decided run ended.
    pub fn finished(&self, finished: &Finished) -> Result<Head, AuditError> {
        self.append(Kind::Finished, finished, Durability::Process)
    }

    fn append(
        &self,
        kind: Kind,
        body: &impl Serialize,
        lasts: Durability,
    ) -> Result<Head, AuditError> {
        let mut body = serde_json::to_value(body).map_err(|source| self.encode(source))?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        self.scrubber.scrub_record(&mut body, &mut found);
        drop(found);
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        lock(&self.log, &self.path)?;
        if kind == Kind::Decided {
            fail::point("decided-locked");
        }
        let written = self.write_locked(&mut end, kind, body, lasts);
        unlock(&self.log);
        if written.is_ok() {
            fail::point(match kind {
                Kind::Decided => "decided-written",
                Kind::Exec => "exec-written",
                Kind::Finished | Kind::Recovered => "finished-written",
            });
        }
        written
    }

    fn write_locked(
        &self,
        cached: &mut Option<End>,
        kind: Kind,
        body: Value,
        lasts: Durability,
    ) -> Result<Head, AuditError> {
        if !self.folder.holds(&self.log) {
            return Err(AuditError::Replaced {
                path: self.path.clone(),
            });
        }
        let length = self.length()?;
        let mut end = match cached.take() {
            Some(end) if end.length == length => end,
            Some(_) | None => self.find_end(length)?,
        };
        if !end.torn.is_empty() {
            let recovered = serde_json::to_value(Recovered::of(&end.torn))
                .map_err(|source| self.encode(source))?;
            end = self.write(&end, Kind::Recovered, recovered)?;
        }
        let first = end.head == Head::START;
        let end = self.write(&end, kind, body)?;
        let head = end.head;
        *cached = Some(end);
        if lasts == Durability::Power {
            let synced = self.log.sync_data().and_then(|()| match first {
                true => self.folder.sync(),
                false => Ok(()),
            });
            synced.map_err(|source| AuditError::Sync {
                path: self.path.clone(),
                source,
            })?;
        }
        Ok(head)
    }

    /// Writes one record after `end`. A record that closes torn bytes stands on their line.
    fn write(&self, end: &End, kind: Kind, body: Value) -> Result<End, AuditError> {
        let record = Record {
            sequence: end.head.sequence + 1,
            time: format!("{:.6}", jiff::Timestamp::now()),
            previous: end.head.hash.to_string(),
            schema: SCHEMA.into(),
            kind,
            record: body,
        };
        let mut bytes = compose(&record).map_err(|source| self.encode(source))?;
        if kind == Kind::Recovered {
            bytes.insert(0, SEPARATOR);
        }
        // The space for the end moves on with every record before it.
        if matches!(kind, Kind::Decided | Kind::Exec) {
            self.reserve(end.length, bytes.len())?;
        }
        self.die_halfway(kind, &bytes);
        self.write_whole(end.length, &bytes)
            .map_err(|source| AuditError::Write {
                path: self.path.clone(),
                source,
            })?;
        let written = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let line = [end.torn.as_slice(), written].concat();
        Ok(End {
            length: end.length + u64::try_from(bytes.len()).unwrap_or_default(),
            head: end.head.after(&line),
            torn: Vec::new(),
        })
    }

    /// Takes disk space for this record and for the one of its end, so that a run that may start can
    /// also be recorded as ended. fallocate(2); a file system that cannot do it says so, and then the
    /// end may fail to be recorded on a full disk.
    fn reserve(&self, from: u64, bytes: usize) -> Result<(), AuditError> {
        let wanted = i64::try_from(bytes)
            .unwrap_or(i64::MAX)
            .saturating_add(FOR_THE_END);
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        match fallocate(&self.log, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, wanted) {
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINTR) => Ok(()),
            Err(errno) => Err(AuditError::Write {
                path: self.path.clone(),
                source: errno.into(),
            }),
        }
    }

    /// One write(2) for the whole record. Where the kernel takes only a part (write(2): disk full, file
    /// size limit) the rest is tried once more to learn why, and the part is taken back.
    fn write_whole(&self, length: u64, bytes: &[u8]) -> io::Result<()> {
        let written = (&self.log).write_all(bytes);
        if written.is_err() {
            // Should this fail too, the part stays as a torn record, which the next writer closes.
            self.log.set_len(length).ok();
        }
        written
    }

    /// In debug builds: where a test asks for it, writes the first half and dies.
    fn die_halfway(&self, kind: Kind, bytes: &[u8]) {
        let point = match kind {
            Kind::Decided => "decided-half-written",
            Kind::Finished => "finished-half-written",
            Kind::Exec | Kind::Recovered => return,
        };
        if fail::armed(point) {
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            (&self.log).write_all(half).ok();
            fail::point(point);
        }
    }

    fn length(&self) -> Result<u64, AuditError> {
        let metadata = self
            .log
            .metadata()
            .map_err(|source| self.unreadable(source))?;
        Ok(metadata.len())
    }

    /// Reads the last whole line and what stands after it.
    fn find_end(&self, length: u64) -> Result<End, AuditError> {
        let mut tail = Vec::new();
        let mut start = length;
        // Two newlines, or the start of the file, bound the last whole line.
        while start > 0 && tail.iter().filter(|byte| **byte == b'\n').count() < 2 {
            let step = CHUNK.min(start);
            start -= step;
            let mut chunk = vec![0u8; usize::try_from(step).unwrap_or_default()];
            self.log
                .read_exact_at(&mut chunk, start)
                .map_err(|source| self.unreadable(source))?;
            chunk.append(&mut tail);
            tail = chunk;
        }
        let Some(newline) = tail.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(End {
                length,
                head: Head::START,
                torn: tail,
            });
        };
        let torn = tail.split_off(newline + 1);
        tail.pop();
        let from = tail
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let line = tail.get(from..).unwrap_or_default();
        let last = read(line).map_err(|fault| AuditError::Damaged {
            path: self.path.clone(),
            fault,
        })?;
        Ok(End {
            length,
            head: Head {
                sequence: last.sequence,
                hash: sha256(line),
            },
            torn,
        })
    }

    fn unreadable(&self, source: io::Error) -> AuditError {
        AuditError::Read {
            path: self.path.clone(),
            source,
        }
    }

    fn encode(&self, source: serde_json::Error) -> AuditError {
        AuditError::Encode {
            path: self.path.clone(),
            source,
        }
    }
}

/// Waits for the lock of the log; flock(2) frees it when its holder dies.
fn lock(log: &File, path: &AbsolutePath) -> Result<(), AuditError> {
    loop {
        match log.lock() {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(AuditError::Lock {
                    path: path.clone(),
                    source,
                });
            }
        }
    }
}

fn unlock(log: &File) {
    // The record is written either way; a lock that stays is freed with the descriptor.
    log.unlock().ok();
}
