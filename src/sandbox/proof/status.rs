//! `/proc/PID/status`, as far as it tells of privileges. proc_pid_status(5)

use nix::errno::Errno;
use nix::unistd::Pid;

use super::Fact;
use crate::sandbox::error::SandboxError;

/// The lines that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) no_new_privs: Option<u64>,
    pub(super) seccomp: Option<u64>,
    /// `None` before Linux 5.9.
    pub(super) filters: Option<u64>,
    /// Inheritable, permitted, effective, ambient.
    pub(super) held: [Option<u64>; 4],
    pub(super) bounding: Option<u64>,
    /// Real, effective, saved, file system.
    pub(super) uids: Vec<u64>,
}

impl Status {
    /// Reads the status of `pid`, which must not be reaped meanwhile.
    pub(super) fn read(pid: Pid) -> Result<Self, SandboxError> {
        std::fs::read_to_string(format!("/proc/{pid}/status"))
            .map(|text| Self::parse(&text))
            .map_err(|error| {
                let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
                SandboxError::prepare("read of /proc/PID/status")(errno)
            })
    }

    pub(super) fn parse(text: &str) -> Self {
        let mut status = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            let decimal = value.parse().ok();
            let hex = u64::from_str_radix(value, 16).ok();
            let [inheritable, permitted, effective, ambient] = &mut status.held;
            match name {
                "NoNewPrivs" => status.no_new_privs = decimal,
                "Seccomp" => status.seccomp = decimal,
                "Seccomp_filters" => status.filters = decimal,
                "CapInh" => *inheritable = hex,
                "CapPrm" => *permitted = hex,
                "CapEff" => *effective = hex,
                "CapAmb" => *ambient = hex,
                "CapBnd" => status.bounding = hex,
                "Uid" => {
                    status.uids = value.split_whitespace().flat_map(str::parse).collect();
                }
                _ => {}
            }
        }
        status
    }

    /// What it says of every child, or the first thing that does not hold.
    pub(super) fn facts(&self) -> Result<Vec<Fact>, SandboxError> {
        let fact = |holds: bool, claim: &'static str, evidence: String| {
            if holds {
                Ok(Fact { claim, evidence })
            } else {
                Err(SandboxError::Unproved {
                    claim,
                    found: format!("/proc/PID/status says {evidence}"),
                })
            }
        };
        let bounding = match self.bounding {
            Some(0) => "bounding set empty",
            Some(_) | None => "bounding set beyond our right to change",
        };
        Ok(vec![
            fact(
                self.no_new_privs == Some(1),
                "no_new_privs",
                format!("NoNewPrivs {:?}", self.no_new_privs.unwrap_or_default()),
            )?,
            fact(
                self.held.iter().all(|set| *set == Some(0)),
                "no capability",
                format!(
                    "CapInh, CapPrm, CapEff, CapAmb {:?}, {bounding}",
                    self.held.map(Option::unwrap_or_default)
                ),
            )?,
            fact(
                self.seccomp == Some(2),
                "system-call filter on",
                format!(
                    "Seccomp {}, filters {}",
                    self.seccomp.unwrap_or_default(),
                    self.filters.unwrap_or_default()
                ),
            )?,
        ])
    }

    /// It runs as `uid` in every respect.
    pub(super) fn runs_as(&self, uid: u32) -> Result<Fact, SandboxError> {
        let claim = "runs as the user named";
        let evidence = format!("Uid {:?}", self.uids);
        if self.uids == [u64::from(uid); 4] {
            Ok(Fact { claim, evidence })
        } else {
            Err(SandboxError::Unproved {
                claim,
                found: evidence,
            })
        }
    }
}
