//! How much enforcement is proved.

use std::fmt;

/// The enforcement level of a sandbox, established by doing the real steps, never inferred
/// from version numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing.
    L0,
    /// no_new_privs, no effective capability, system-call filter, Landlock ABI 3 or newer.
    L1,
    /// L1 and the gate: exec listener and exec stop work.
    L2,
    /// L2, namespaces and a reliable kill of the whole tree.
    L3,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        })
    }
}

impl serde::Serialize for Level {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
