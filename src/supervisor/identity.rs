//! Who the command runs as.

use nix::unistd::{Uid, User, geteuid, getgrouplist};

use crate::model::environment::Environment;
use crate::model::profile::Identity;
use crate::model::text::Escaped;

use super::error::Error;

/// The identity of a run. Started as root the command runs as `asked` (`--user`), else as the user
/// `sudo` was called by, else as the policy's user, else as uid 0 without any capability; that last
/// one only where `forbid_root` is not set. Started as anybody else it stays who it is.
pub fn identity(
    asked: Option<&str>,
    environment: &Environment,
    policy: Option<&str>,
    forbid_root: bool,
) -> Result<Identity, Error> {
    if !geteuid().is_root() {
        return match asked {
            Some(name) if lookup(name)?.uid != geteuid() => Err(Error::usage(format!(
                "--user {}: only root can run a command as another user",
                Escaped::from(name)
            ))),
            Some(_) | None => Ok(Identity::Unchanged),
        };
    }
    let sudo = environment
        .get(b"SUDO_UID")
        .and_then(|uid| std::str::from_utf8(uid).ok());
    match asked.or(sudo).or(policy) {
        Some(name) => become_user(lookup(name)?, forbid_root),
        None if forbid_root => Err(Error::RootForbidden),
        None => Ok(Identity::RootWithoutCapabilities),
    }
}

/// A user by name or number.
fn lookup(name: &str) -> Result<User, Error> {
    let found = match name.parse::<u32>() {
        Ok(uid) => User::from_uid(Uid::from_raw(uid)),
        Err(_) => User::from_name(name),
    };
    found
        .map_err(|error| {
            Error::usage(format!(
                "user `{}` cannot be looked up: {error}",
                Escaped::from(name)
            ))
        })?
        .ok_or_else(|| {
            Error::usage(format!(
                "user `{}` does not exist on this host; name another with `--user` or `[sandbox] user`",
                Escaped::from(name)
            ))
        })
}

fn become_user(user: User, forbid_root: bool) -> Result<Identity, Error> {
    if user.uid.is_root() {
        return if forbid_root {
            Err(Error::RootForbidden)
        } else {
            Ok(Identity::RootWithoutCapabilities)
        };
    }
    let name = std::ffi::CString::new(user.name.as_str())
        .map_err(|_| Error::usage("a user name holds a NUL byte".to_owned()))?;
    let groups = getgrouplist(&name, user.gid).map_err(|error| {
        Error::usage(format!("groups of `{}` cannot be read: {error}", user.name))
    })?;
    Ok(Identity::User {
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        groups: groups.into_iter().map(nix::unistd::Gid::as_raw).collect(),
        name: user.name,
    })
}
