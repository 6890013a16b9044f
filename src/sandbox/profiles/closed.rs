//! What stays closed whatever PATH and the variables of a run say: whoever starts the run may set them.

use std::os::unix::fs::PermissionsExt as _;

use serde::Deserialize;

use super::{BrokenTable, table};
use crate::model::path::AbsolutePath;

/// The table `closed.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closed {
    system: Vec<String>,
    names: Vec<String>,
    home: Vec<String>,
    whole: Vec<String>,
}

impl Closed {
    pub(super) fn load() -> Result<Self, BrokenTable> {
        table(
            "closed",
            include_str!("../../../policies/profiles/closed.toml"),
        )
    }

    /// Whether granting `real` (links followed) would open something closed: for `homes` themselves,
    /// `own` places of ours, and the table.
    pub(super) fn holds(
        &self,
        real: &AbsolutePath,
        homes: &[AbsolutePath],
        own: &[AbsolutePath],
    ) -> bool {
        let holds = |place: &AbsolutePath| place.is_within(real);
        let touches = |place: &AbsolutePath| holds(place) || real.is_within(place);
        let named = |text: &String| AbsolutePath::new(text).ok();
        let keys = real.as_path().components().any(|component| {
            let component = component.as_os_str();
            self.names.iter().any(|name| component == name.as_str())
        });
        let below = |home: &AbsolutePath| self.home.iter().any(|name| touches(&home.join(name)));
        keys || self.system.iter().filter_map(named).any(|at| touches(&at))
            || self.whole.iter().filter_map(named).any(|at| holds(&at))
            || own.iter().any(touches)
            || homes.iter().any(|home| holds(home) || below(home))
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
