//! Confinement and its proof.
#![forbid(unsafe_code)]

use crate::model::level::Level;

/// What is proved of a parked child. Only this stage can make one.
#[derive(Debug)]
pub struct Proof {
    level: Level,
}

impl Proof {
    /// The level that is proved.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// A proof for tests of later stages.
    #[cfg(test)]
    pub(crate) const fn for_tests(level: Level) -> Self {
        Self { level }
    }
}
