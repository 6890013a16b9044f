//! What stays closed whatever PATH and the variables of a run say: whoever starts the run may set them.

use std::os::unix::fs::PermissionsExt as _;

use serde::Deserialize;

use super::{BrokenTable, paths, table};
use crate::model::path::AbsolutePath;

/// The table `closed.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    system: Vec<String>,
    names: Vec<String>,
    home: Vec<String>,
    whole: Vec<String>,
}

/// The table for the homes and the places of one run. Every candidate of a profile is held against
/// it, so its paths are made once.
#[derive(Debug)]
pub(super) struct Closed {
    /// Names of a folder of keys, wherever it stands.
    names: Vec<String>,
    /// Neither these, nor what is in them, nor what holds them.
    apart: Vec<AbsolutePath>,
    /// Not these and not what holds them; what is in them may be opened.
    whole: Vec<AbsolutePath>,
}

impl Closed {
    /// The table, for `homes` of the host and `own` places of ours.
    pub(super) fn load(homes: &[AbsolutePath], own: &[AbsolutePath]) -> Result<Self, BrokenTable> {
        let table: Table = table(
            "closed",
            include_str!("../../../policies/profiles/closed.toml"),
        )?;
        let keys = homes
            .iter()
            .flat_map(|home| table.home.iter().map(move |name| home.join(name)));
        let mut apart = paths(&table.system);
        apart.extend(keys);
        apart.extend_from_slice(own);
        let mut whole = paths(&table.whole);
        whole.extend_from_slice(homes);
        Ok(Self {
            names: table.names,
            apart,
            whole,
        })
    }

    /// Whether granting `real` (links followed) would open something closed.
    pub(super) fn holds(&self, real: &AbsolutePath) -> bool {
        let keys = real.as_path().components().any(|component| {
            let component = component.as_os_str();
            self.names.iter().any(|name| component == name.as_str())
        });
        keys || self
            .apart
            .iter()
            .any(|place| place.is_within(real) || real.is_within(place))
            || self.whole.iter().any(|place| place.is_within(real))
    }
}

/// Whether a folder holds a program. One of PATH that does not is there by mistake or to be read.
pub(super) fn has_program(folder: &AbsolutePath) -> bool {
    let entries = std::fs::read_dir(folder.as_path()).into_iter().flatten();
    entries.flatten().any(|entry| {
        std::fs::metadata(entry.path())
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}
