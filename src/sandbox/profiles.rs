//! The built-in profiles, filled in: names and facts in, folders out.
//!
//! The lists are data, `policies/profiles/*.toml`, compiled in. Toolchains are found from PATH; nothing
//! a run can write is followed on the way, so that no link in a workspace opens a folder outside it, and
//! what `closed.toml` lists stays closed, so that no variable opens a folder of keys.

mod closed;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Deserialize;

use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Network, Profile, ProfileName};
use closed::{Closed, has_program};

use super::links::Follower;

/// What a profile is filled from.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Root of the workspace, links followed.
    pub workspace: &'a AbsolutePath,
    /// The private temporary folder of the run.
    pub temporary: &'a AbsolutePath,
    /// The environment of the run: PATH, HOME and the toolchains' own variables.
    pub environment: &'a Environment,
    /// The user id the command runs as.
    pub uid: u32,
    /// Homes of the host, the caller's included: none is opened, nor the keys in one.
    pub homes: &'a [AbsolutePath],
    /// Our own places, which are not opened either.
    pub own: &'a [AbsolutePath],
}

/// A built-in table does not parse: a mistake of the build, which the tests would have found.
#[derive(Debug, thiserror::Error)]
#[error("built-in profile table `{table}` is broken")]
pub struct BrokenTable {
    table: &'static str,
    source: toml::de::Error,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    read: Vec<String>,
    etc: Vec<String>,
    etc_as_root: Vec<String>,
    etc_as_root_prefixes: Vec<String>,
    network: Vec<String>,
    devices: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    workspace: WorkspaceAccess,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WorkspaceAccess {
    Read,
    Write,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Toolchains {
    always: Vec<String>,
    toolchain: Vec<Toolchain>,
    prefix: Vec<Prefix>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Toolchain {
    #[expect(dead_code, reason = "names the entry for readers of the table")]
    name: String,
    seen: Vec<String>,
    read: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prefix {
    program: String,
    needs: String,
    read: Vec<String>,
}

/// Fills profile `name`: system folders, toolchains, the workspace and the temporary folder.
pub fn fill(
    name: ProfileName,
    network: Network,
    facts: &Facts<'_>,
) -> Result<Profile, BrokenTable> {
    let system: System = table(
        "system",
        include_str!("../../policies/profiles/system.toml"),
    )?;
    let toolchains: Toolchains = table(
        "toolchains",
        include_str!("../../policies/profiles/toolchains.toml"),
    )?;
    let named: Named = match name {
        ProfileName::ReadOnly => table(
            "read-only",
            include_str!("../../policies/profiles/read-only.toml"),
        ),
        ProfileName::Workspace => table(
            "workspace",
            include_str!("../../policies/profiles/workspace.toml"),
        ),
    }?;

    let mut read = paths(&system.read);
    read.extend(etc(&system, facts.uid));
    match network {
        Network::Off | Network::Loopback => {}
        Network::Full => read.extend(paths(&system.network)),
    }
    let home = facts.environment.home();
    let homes = [facts.homes, home.as_slice()].concat();
    let found = Search {
        facts,
        home,
        closed: Closed::load(&homes, facts.own)?,
    };
    for path in found.toolchains(&toolchains, &read) {
        if !read.iter().any(|known| path.is_within(known)) {
            read.push(path);
        }
    }
    let mut write = vec![facts.temporary.clone()];
    match named.workspace {
        WorkspaceAccess::Read => read.push(facts.workspace.clone()),
        WorkspaceAccess::Write => write.push(facts.workspace.clone()),
    }
    Ok(Profile {
        name,
        read,
        devices: paths(&system.devices),
        write,
        guarded: Vec::new(),
        network,
    })
}

fn table<T: serde::de::DeserializeOwned>(name: &'static str, text: &str) -> Result<T, BrokenTable> {
    toml::from_str(text).map_err(|source| BrokenTable {
        table: name,
        source,
    })
}

fn paths(texts: &[String]) -> Vec<AbsolutePath> {
    texts
        .iter()
        .filter_map(|text| AbsolutePath::new(text).ok())
        .collect()
}

/// `/etc`, or for uid 0 those of its entries that hold no secret.
fn etc(system: &System, uid: u32) -> Vec<AbsolutePath> {
    if uid != 0 {
        return paths(&system.etc);
    }
    let mut known = paths(&system.etc_as_root);
    let entries = std::fs::read_dir("/etc").into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let wanted = system
            .etc_as_root_prefixes
            .iter()
            .any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()));
        if let (true, Ok(path)) = (wanted, AbsolutePath::new(entry.path())) {
            known.push(path);
        }
    }
    known.retain(|path| path.as_path().exists());
    known
}

struct Search<'a> {
    facts: &'a Facts<'a>,
    home: Option<AbsolutePath>,
    closed: Closed,
}

impl Search<'_> {
    /// Real paths of the toolchains that PATH shows, and of the folders of PATH themselves.
    fn toolchains(&self, table: &Toolchains, known: &[AbsolutePath]) -> Vec<AbsolutePath> {
        let folders: Vec<AbsolutePath> = self
            .facts
            .environment
            .path_folders()
            .into_iter()
            .filter(|folder| !known.iter().any(|known| folder.is_within(known)))
            .collect();
        let home: Vec<AbsolutePath> = self.home.iter().cloned().collect();
        let mut found: Vec<AbsolutePath> = self.named(&table.always, &home).collect();
        for toolchain in &table.toolchain {
            let shown = shown_homes(&toolchain.seen, &folders);
            let homes = [home.as_slice(), &shown].concat();
            let seen: Vec<AbsolutePath> = self.named(&toolchain.seen, &homes).collect();
            let used = folders
                .iter()
                .any(|folder| seen.iter().any(|place| folder.is_within(place)));
            if used {
                found.extend(self.named(&toolchain.read, &homes));
            }
        }
        for folder in folders {
            if let Some(above) = folder.parent() {
                for prefix in &table.prefix {
                    let there = folder.join(&prefix.program).as_path().exists()
                        && above.join(&prefix.needs).as_path().exists();
                    if there {
                        found.extend(prefix.read.iter().map(|name| above.join(name)));
                    }
                }
            }
            if has_program(&folder) {
                found.push(folder);
            }
        }
        found.dedup();
        let mut follower = Follower::default();
        found
            .iter()
            .filter_map(|path| self.grantable(&mut follower, path))
            .collect()
    }

    /// Expands `~/…`, for each of `homes`, and `$NAME/…`; entries whose base is not known are left out.
    fn named(
        &self,
        texts: &[String],
        homes: &[AbsolutePath],
    ) -> impl Iterator<Item = AbsolutePath> {
        texts.iter().flat_map(|text| {
            let (base, rest) = text.split_once('/').unwrap_or((text, ""));
            if base == "~" {
                homes.iter().map(|home| home.join(rest)).collect()
            } else if let Some(name) = base.strip_prefix('$') {
                self.variable(name)
                    .map(|base| base.join(rest))
                    .into_iter()
                    .collect()
            } else {
                AbsolutePath::new(text).into_iter().collect::<Vec<_>>()
            }
        })
    }

    fn variable(&self, name: &str) -> Option<AbsolutePath> {
        let value = self.facts.environment.get(name.as_bytes())?;
        AbsolutePath::new(Path::new(OsStr::from_bytes(value))).ok()
    }

    /// The real path, unless granting it would open what stays closed, or it is reached through what a
    /// run can write.
    fn grantable(&self, follower: &mut Follower, path: &AbsolutePath) -> Option<AbsolutePath> {
        let written = [self.facts.workspace, self.facts.temporary];
        let followed = follower.follow(path.as_path(), |step| {
            written.iter().any(|root| step.starts_with(root))
        })?;
        let real = AbsolutePath::new(followed.real).ok()?;
        (!self.closed.holds(&real)).then_some(real)
    }
}

/// Homes that PATH itself shows: where a folder of PATH is `X/.pyenv/shims` and the toolchain is seen
/// at `~/.pyenv`, X is where it was installed, whatever HOME says in this run.
fn shown_homes(seen: &[String], folders: &[AbsolutePath]) -> Vec<AbsolutePath> {
    let places = seen.iter().filter_map(|text| text.strip_prefix("~/"));
    let mut homes = Vec::new();
    for (place, folder) in
        places.flat_map(|place| folders.iter().map(move |folder| (place, folder)))
    {
        let above = folder
            .as_path()
            .ancestors()
            .filter(|above| above.ends_with(place))
            .filter_map(|above| above.ancestors().nth(Path::new(place).components().count()));
        homes.extend(above.filter_map(|home| AbsolutePath::new(home).ok()));
    }
    homes
}

#[cfg(test)]
mod tests;
