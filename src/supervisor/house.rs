//! Where our own things lie: the record, the policies, the sockets, the program itself. No subject may
//! write or command them, and no workspace may contain them.

use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;

use super::error::Error;

/// Our own places.
#[derive(Clone, Debug)]
pub struct House {
    /// Records, trust and keys: `$XDG_STATE_HOME/tipstaff`, else `~/.local/state/tipstaff`.
    pub state: AbsolutePath,
    /// The user's policy: `$XDG_CONFIG_HOME/tipstaff`, else `~/.config/tipstaff`.
    pub config: AbsolutePath,
    /// Sockets: `$XDG_RUNTIME_DIR/tipstaff`, where there is one.
    pub runtime: Option<AbsolutePath>,
    /// This program.
    pub binary: Option<AbsolutePath>,
}

/// The managed policies of the host.
pub const MANAGED: &str = "/etc/tipstaff";

impl House {
    /// Finds the places from the supervisor's own environment (XDG Base Directory Specification 0.8:
    /// a relative value is invalid and passed over).
    pub fn find(environment: &Environment) -> Result<Self, Error> {
        let base = |variable: &[u8], below_home: &str| {
            let named = environment.get(variable).and_then(absolute);
            named.or_else(|| Some(environment.home()?.join(below_home)))
        };
        let state = base(b"XDG_STATE_HOME", ".local/state").ok_or(Error::NoHome)?;
        let config = base(b"XDG_CONFIG_HOME", ".config").ok_or(Error::NoHome)?;
        let binary = std::env::current_exe()
            .ok()
            .and_then(|path| AbsolutePath::new(path).ok());
        Ok(Self {
            state: state.join("tipstaff"),
            config: config.join("tipstaff"),
            runtime: environment
                .get(b"XDG_RUNTIME_DIR")
                .and_then(absolute)
                .map(|folder| folder.join("tipstaff")),
            binary,
        })
    }

    /// Every place of ours.
    pub fn own(&self) -> Vec<AbsolutePath> {
        let managed = AbsolutePath::new(MANAGED).ok();
        [
            Some(self.state.clone()),
            Some(self.config.clone()),
            self.runtime.clone(),
        ]
        .into_iter()
        .chain([self.binary.clone(), managed])
        .flatten()
        .collect()
    }
}

fn absolute(path: &[u8]) -> Option<AbsolutePath> {
    use std::os::unix::ffi::OsStrExt as _;
    AbsolutePath::new(std::path::Path::new(std::ffi::OsStr::from_bytes(path))).ok()
}
