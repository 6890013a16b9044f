//! What /proc tells of a process. proc_pid_stat(5), proc_pid_status(5)

use std::fs;

use super::{Process, entries, is_process};
use crate::model::text::Escaped;

/// The fields of `/proc/PID/stat` that count here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    name: Vec<u8>,
    state: u8,
    parent: i32,
    pub(super) session: i32,
    /// Clock ticks since boot; with the process id it names one process for good.
    pub(super) started: u64,
}

impl Stat {
    pub(super) fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name stands in brackets and may hold any byte, brackets too; the last one ends it.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let open = bytes.iter().position(|byte| *byte == b'(')?;
        let close = bytes.iter().rposition(|byte| *byte == b')')?;
        let name = bytes.get(open + 1..close)?.to_vec();
        let rest = std::str::from_utf8(bytes.get(close + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // Counted from the field after the name: state 0, parent 1, group 2, session 3, start time 19.
        Some(Self {
            name,
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    pub(super) fn process(&self, pid: i32) -> Process {
        Process {
            pid,
            name: Escaped(&self.name).to_string(),
        }
    }
}

/// The marks of a sandbox in `/proc/PID/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Privileges {
    pub(super) no_new_privs: bool,
    pub(super) filtered: bool,
    pub(super) filters: u64,
}

impl Privileges {
    pub(super) fn read(pid: &str) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/status")).ok()?;
        let text = String::from_utf8_lossy(&text);
        let field = |name: &str| -> u64 {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(field, _)| *field == name)
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0)
        };
        Some(Self {
            no_new_privs: field("NoNewPrivs") == 1,
            filtered: field("Seccomp") == 2,
            filters: field("Seccomp_filters"),
        })
    }
}

/// Children of every thread of `pid`, from its own lists; by a walk over all processes where the kernel
/// keeps no such lists (CONFIG_PROC_CHILDREN).
pub(super) fn children(pid: &str) -> Vec<i32> {
    let mut found = Vec::new();
    let mut listed = false;
    for thread in entries(&format!("/proc/{pid}/task")) {
        let thread = thread.to_string_lossy();
        if let Ok(list) = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")) {
            listed = true;
            found.extend(list.split_whitespace().flat_map(str::parse::<i32>));
        }
    }
    if listed {
        return found;
    }
    let parent = match pid {
        "self" => std::process::id().cast_signed(),
        number => number.parse().unwrap_or(0),
    };
    entries("/proc")
        .filter_map(|name| is_process(&name))
        .filter(|child| Stat::read(*child).is_some_and(|stat| stat.parent == parent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn a_name_cannot_forge_fields() {
        let line = b"7 (a) Z 1 1 (b) S 5 6 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.session, stat.started), (5, 9, 4242));
        assert!(!stat.is_dead());
        assert_eq!(stat.process(7).name, "a) Z 1 1 (b");
        assert_eq!(Stat::parse(b"7 (x"), None);
    }
}
