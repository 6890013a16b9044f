//! Fixes the environment of a run, before anything is judged: the same bytes then serve lookup, object
//! and exec.
//!
//! A variable goes when it makes a shell or a tool run code that nobody judged, when it makes the shell
//! read the line otherwise than we do, when it names a way out of the sandbox, or when it holds a
//! secret. Everything else passes.

mod table;
#[cfg(test)]
mod tests;

use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;
use table::{ACCOUNTS, Names, OF_THE_CALLER, SECRETS, TABLE};

/// The PATH of a run whose caller has none, or none with an absolute part.
pub const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// A user the command runs as, when that is not the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: Vec<u8>,
    /// Home folder.
    pub home: AbsolutePath,
    /// Login shell.
    pub shell: AbsolutePath,
}

/// What the caller decides about the environment.
#[derive(Clone, Copy, Debug)]
pub struct Fixing<'a> {
    /// The private temporary folder of the run: `TMPDIR`.
    pub temporary: &'a AbsolutePath,
    /// The user the command runs as, when another one than the caller is named.
    pub account: Option<&'a Account>,
    /// Names that a policy lists and that pass whatever the table says.
    pub keep: &'a [Vec<u8>],
}

/// Why a variable, or a part of it, is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The shell runs it, imports it, or reads the line otherwise because of it. bash(1)
    Shell,
    /// The loader or the C library loads code or tables from where it says. ld.so(8)
    Loader,
    /// A tool runs, loads or configures itself from what it names.
    Hook,
    /// It names a socket, a session or a display outside the sandbox.
    Reach,
    /// Its name is that of a secret, or its value holds a password.
    Secret,
    /// A part of PATH is empty or relative, so the current folder would decide which program runs.
    PathPart,
    /// It describes the caller, and the command runs as another user.
    OtherUser,
    /// It is a setting of tipstaff itself.
    Own,
}

impl Why {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Shell => "it changes what the shell runs",
            Self::Loader => "it makes the loader or the C library load other files",
            Self::Hook => "it makes a tool run or load other code",
            Self::Reach => "it names a way out of the sandbox",
            Self::Secret => "it holds a secret",
            Self::PathPart => {
                "an empty or relative part would let the current folder name programs"
            }
            Self::OtherUser => "it describes another user than the one the command runs as",
            Self::Own => "it is a setting of tipstaff",
        }
    }
}

/// One variable that was taken away, or PATH with a part less. Values are never kept: they may be
/// secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The variable.
    pub name: Vec<u8>,
    /// Why.
    pub why: Why,
}

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// What the command gets.
    pub environment: Environment,
    /// What it does not get.
    pub removed: Vec<Removed>,
    /// Values of the caller's secrets, kept or not: the audit replaces them wherever they appear.
    pub secrets: Vec<Vec<u8>>,
}

/// Whether a variable or option of this name holds a secret. `-` counts as `_`.
pub fn is_secret_name(name: &[u8]) -> bool {
    let name: Vec<u8> = name
        .iter()
        .map(|byte| match byte {
            b'-' => b'_',
            byte => byte.to_ascii_uppercase(),
        })
        .collect();
    SECRETS.iter().any(|names| names.cover(&name))
}

/// The passwords of every `scheme://user:password@host` in a value.
fn passwords(value: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(value);
    text.split("://")
        .skip(1)
        .filter_map(|rest| {
            let authority = rest.split(['/', '?', '#', ' ']).next()?;
            let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
            (!password.is_empty()).then(|| password.as_bytes().to_vec())
        })
        .collect()
}

fn why(name: &[u8], account: Option<&Account>) -> Option<Why> {
    let covered = |names: &[Names]| names.iter().any(|entry| entry.cover(name));
    if covered(ACCOUNTS) {
        return Some(Why::Secret);
    }
    if account.is_some() && covered(OF_THE_CALLER) {
        return Some(Why::OtherUser);
    }
    TABLE
        .iter()
        .find(|(_, names)| covered(names))
        .map(|(why, _)| *why)
}

/// Fixes the environment of a run from the caller's.
pub fn fix(given: &Environment, fixing: &Fixing<'_>) -> Fixed {
    let mut fixed = Fixed {
        environment: Environment::default(),
        removed: Vec::new(),
        secrets: Vec::new(),
    };
    for (name, value) in given.iter() {
        let mut secrets = passwords(value);
        if is_secret_name(name) {
            secrets.push(value.to_vec());
        }
        let why = match secrets.is_empty() {
            true => why(name, fixing.account),
            false => Some(Why::Secret),
        };
        fixed.secrets.append(&mut secrets);
        match why {
            Some(why) if !fixing.keep.iter().any(|kept| kept == name) => {
                fixed.removed.push(Removed {
                    name: name.to_vec(),
                    why,
                });
            }
            Some(_) | None => fixed.environment.set(name, value),
        }
    }
    fix_path(&mut fixed);
    for name in [b"TMP".as_slice(), b"TEMP"] {
        if fixed.environment.get(name).is_some() {
            fixed.environment.set(name, fixing.temporary.as_bytes());
        }
    }
    fixed.environment.set("TMPDIR", fixing.temporary.as_bytes());
    if let Some(account) = fixing.account {
        fixed.environment.set("HOME", account.home.as_bytes());
        fixed.environment.set("USER", account.name.as_slice());
        fixed.environment.set("LOGNAME", account.name.as_slice());
        fixed.environment.set("SHELL", account.shell.as_bytes());
    }
    fixed
}

/// Leaves the absolute parts of PATH. They are written clean, so that the kernel cannot follow a `..`
/// behind a link to another folder than lookup did.
fn fix_path(fixed: &mut Fixed) {
    let given = fixed.environment.get(b"PATH").map(<[u8]>::to_vec);
    let folders = fixed.environment.path_folders();
    let parts = given
        .as_deref()
        .map_or(0, |path| path.split(|byte| *byte == b':').count());
    if parts > folders.len() {
        fixed.removed.push(Removed {
            name: b"PATH".to_vec(),
            why: Why::PathPart,
        });
    }
    let folders: Vec<&[u8]> = folders.iter().map(AbsolutePath::as_bytes).collect();
    if folders.is_empty() {
        fixed.environment.set("PATH", DEFAULT_PATH);
    } else {
        fixed.environment.set("PATH", folders.join(&b':'));
    }
}
