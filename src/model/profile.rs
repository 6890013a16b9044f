//! A sandbox in words.

use std::fmt;
use std::str::FromStr;

use super::path::AbsolutePath;

/// What the run may do on the network, from narrow to wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Network {
    /// Nothing.
    #[default]
    Off,
    /// Addresses of this host only.
    Loopback,
    /// Everything the host can reach.
    Full,
}

impl Network {
    /// The word of options, policies and records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "loopback" => Ok(Self::Loopback),
            "full" => Ok(Self::Full),
            other => Err(format!(
                "`{}` is not a network setting; settings are off, loopback, full",
                super::text::Escaped::from(other)
            )),
        }
    }
}

/// Which built-in profile, from narrow to wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileName {
    /// Reads by list, writes nothing but a private temporary folder.
    ReadOnly,
    /// Reads by list, writes the workspace and a private temporary folder.
    #[default]
    Workspace,
}

impl ProfileName {
    /// The word of options, policies and records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
        }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for ProfileName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "read-only" => Ok(Self::ReadOnly),
            "workspace" => Ok(Self::Workspace),
            other => Err(format!(
                "`{}` is not a profile; profiles are read-only, workspace",
                super::text::Escaped::from(other)
            )),
        }
    }
}

/// Who the command runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The user who started tipstaff, who is not root.
    Unchanged,
    /// Started as root: the command runs as this user.
    User {
        /// `uid`
        uid: u32,
        /// Primary `gid`.
        gid: u32,
        /// Supplementary groups.
        groups: Vec<u32>,
        /// The name, for the question and the record.
        name: String,
    },
    /// Started as root and no user named: uid 0 without any capability. Question, record and `doctor`
    /// say so.
    RootWithoutCapabilities,
}

/// A profile with its folders filled in: what the sandbox turns into kernel objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// Files and folders that may be read and executed. Absent ones are passed over.
    pub read: Vec<AbsolutePath>,
    /// Files (devices) that may be read and written but neither executed nor replaced.
    pub devices: Vec<AbsolutePath>,
    /// Folders that may be written, read and executed.
    pub write: Vec<AbsolutePath>,
    /// Files and folders in those that are only read: a mount keeps them where the run has namespaces.
    pub guarded: Vec<AbsolutePath>,
    /// Network access.
    pub network: Network,
}
