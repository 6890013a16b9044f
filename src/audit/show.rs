//! Records for display. What is shown is not verified; [`super::verify()`] does that.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};

use super::chain::{Fault, Kind, Record, read};
use super::error::AuditError;
use super::folder::Folder;
use crate::model::path::AbsolutePath;

/// Which records to show; everything by default.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only the last so many of those that match.
    pub last: Option<usize>,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only those of the decision with this id.
    pub id: Option<String>,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// A record.
    Record(Box<Record>),
    /// A line that is none; never hidden by a filter.
    Damaged {
        /// Line of the log, from 1.
        line: u64,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl Filter {
    fn takes(&self, shown: &Shown) -> bool {
        match shown {
            Shown::Damaged { .. } => true,
            Shown::Record(record) => {
                let id = record.record.get("id").and_then(serde_json::Value::as_str);
                self.kind.is_none_or(|kind| kind == record.kind)
                    && self.id.as_deref().is_none_or(|wanted| id == Some(wanted))
            }
        }
    }
}

/// Reads the records of a state folder that match, in order.
pub fn show(state: &AbsolutePath, filter: &Filter) -> Result<Vec<Shown>, AuditError> {
    let folder = Folder::open(state)?;
    let mut lines = BufReader::with_capacity(1 << 20, folder.log_to_read()?);
    let mut shown = VecDeque::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let count = lines
            .read_until(b'\n', &mut line)
            .map_err(|source| AuditError::Read {
                path: folder.log_path(),
                source,
            })?;
        if count == 0 {
            break;
        }
        let entry = match read(line.strip_suffix(b"\n").unwrap_or(&line)) {
            Ok(record) => Shown::Record(Box::new(record)),
            Err(fault) => Shown::Damaged {
                line: number,
                fault,
            },
        };
        if filter.takes(&entry) {
            shown.push_back(entry);
        }
        if filter.last.is_some_and(|last| shown.len() > last) {
            shown.pop_front();
        }
    }
    Ok(shown.into())
}
