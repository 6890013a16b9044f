//! What Landlock the running kernel has. Rulesets are built by the `landlock` crate.

use nix::errno::Errno;
use nix::libc;

use super::raw;

/// `LANDLOCK_CREATE_RULESET_VERSION`
const VERSION: usize = 1;

/// The Landlock ABI of the running kernel. ENOSYS: not built in, or hidden; EOPNOTSUPP: built in and
/// not among the security modules chosen at boot. landlock_create_ruleset(2)
pub fn abi() -> Result<i32, Errno> {
    let abi = raw::plain(libc::SYS_landlock_create_ruleset, [0, 0, VERSION, 0, 0, 0])?;
    Ok(i32::try_from(abi).unwrap_or(i32::MAX))
}
