//! What strace(1) saw, as acts: writes, other changes, connections, starts, signals.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What kind of effect an act is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A file is opened for writing, or made.
    Write,
    /// A name, mode, owner, time, size or attribute is changed.
    Change,
    /// An address is connected to, bound, or sent to.
    Connect,
    /// A program is started.
    Start,
    /// A process outside the tree is signalled.
    Signal,
}

/// One act that was tried, whether the kernel let it or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Act {
    pub kind: Kind,
    pub call: String,
    /// The file, address or process.
    pub on: String,
}

/// The calls strace is told to show. Not tgkill(2): threads of one program interrupt each other by it.
pub const CALLS: &str = "open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,\
symlink,symlinkat,mkdir,mkdirat,rmdir,mknod,mknodat,chmod,fchmod,fchmodat,chown,lchown,fchown,fchownat,\
truncate,ftruncate,fallocate,utime,utimes,futimesat,utimensat,setxattr,lsetxattr,fsetxattr,removexattr,\
lremovexattr,fremovexattr,mount,umount2,execve,execveat,connect,bind,sendto,sendmsg,sendmmsg,kill,\
pidfd_send_signal";

/// The acts of a trace made with `strace -f -y`; failed starts of absent files left out.
pub fn acts(text: &str) -> Vec<Act> {
    let mut processes = BTreeSet::new();
    for line in text.lines() {
        processes.extend(line.split_whitespace().next());
    }
    text.lines()
        .filter_map(|line| act(line, &processes))
        .collect()
}

fn act(line: &str, processes: &BTreeSet<&str>) -> Option<Act> {
    let (_, rest) = line.split_once(' ')?;
    let (call, rest) = rest.trim_start().split_once('(')?;
    if !call
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return None;
    }
    let kind = match call {
        "open" | "openat" | "openat2" => {
            let writes = [
                "O_WRONLY",
                "O_RDWR",
                "O_CREAT",
                "O_TRUNC",
                "O_APPEND",
                "O_TMPFILE",
            ];
            let flags = after_strings(rest);
            if !writes.iter().any(|flag| flags.contains(flag)) {
                return None;
            }
            Kind::Write
        }
        "creat" => Kind::Write,
        "execve" | "execveat" => {
            // A search through PATH tries names that are not there.
            if rest.contains(" = -1 ENOENT") || rest.contains(" = -1 ENOTDIR") {
                return None;
            }
            Kind::Start
        }
        "connect" | "bind" => Kind::Connect,
        "sendto" | "sendmsg" | "sendmmsg" => {
            // Without an address it goes where a connection stands already.
            if !rest.contains("sa_family=") {
                return None;
            }
            Kind::Connect
        }
        "kill" | "pidfd_send_signal" => Kind::Signal,
        _ => Kind::Change,
    };
    let on = match kind {
        Kind::Signal => {
            let mut words = rest.split([',', ')']).map(str::trim);
            let target = words.next()?.to_owned();
            let asks_only = rest.contains(", 0)");
            if asks_only || processes.contains(target.as_str()) {
                return None;
            }
            target
        }
        Kind::Connect => address(rest)?,
        Kind::Write | Kind::Change | Kind::Start => place(call, rest)?,
    };
    (!is_nothing(kind, &on)).then(|| Act {
        kind,
        call: call.to_owned(),
        on,
    })
}

/// The arguments behind the quoted ones, where flags stand.
fn after_strings(rest: &str) -> &str {
    rest.rsplit_once('"').map_or(rest, |(_, after)| after)
}

/// What the call works on: its last quoted path seen from the folder before it, or its descriptor.
fn place(call: &str, rest: &str) -> Option<String> {
    if matches!(call, "execve" | "execveat") {
        return started(rest);
    }
    if call.starts_with('f') && !call.ends_with("at") || call == "ftruncate" {
        return descriptor(rest);
    }
    let mut found = None;
    let mut base = None;
    let mut left = rest;
    while let Some(at) = left.find(['"', '<']) {
        let (open, inside) = left.split_at(at);
        let inside = inside.get(1..)?;
        if left.as_bytes().get(at) == Some(&b'"') {
            let end = closing(inside)?;
            let path = inside.get(..end)?;
            // A null path means the descriptor itself.
            found = Some(joined(base.take(), path));
            left = inside.get(end + 1..)?;
        } else {
            let end = inside.find('>')?;
            let is_argument =
                open.ends_with("AT_FDCWD") || open.ends_with(|c: char| c.is_ascii_digit());
            if is_argument && !left.get(..at).is_some_and(|text| text.contains(" = ")) {
                base = inside.get(..end).map(str::to_owned);
            }
            left = inside.get(end + 1..)?;
        }
    }
    found.or(base)
}

/// `execve("/usr/bin/x", …`, `execveat(16</usr/bin/x>, "", …`
fn started(rest: &str) -> Option<String> {
    let quoted = rest.find('"')?;
    let before = rest.get(..quoted)?;
    let inside = rest.get(quoted + 1..)?;
    let path = inside.get(..closing(inside)?)?;
    if path.is_empty() {
        return descriptor(before);
    }
    Some(path.to_owned())
}

fn descriptor(rest: &str) -> Option<String> {
    let (_, inside) = rest.split_once('<')?;
    let end = inside.find('>')?;
    inside.get(..end).map(str::to_owned)
}

/// Where the string ends that starts here.
fn closing(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn joined(base: Option<String>, path: &str) -> String {
    match base {
        Some(base) if !path.starts_with('/') => {
            let base = base.trim_end_matches('/');
            let path = path.trim_start_matches("./");
            format!("{base}/{path}")
        }
        Some(_) | None => path.to_owned(),
    }
}

/// The address of a socket call.
fn address(rest: &str) -> Option<String> {
    let at = rest.find("sa_family=")?;
    let text = rest.get(at..)?;
    let end = text.find('}').unwrap_or(text.len());
    text.get(..end).map(str::to_owned)
}

/// Devices that hold nothing, our own /proc entries, memory without a name; the cache daemon the C library
/// asks for names, and the kernel's own answers about interfaces.
fn is_nothing(kind: Kind, on: &str) -> bool {
    match kind {
        Kind::Write | Kind::Change => {
            ["/dev/null", "/dev/tty", "/dev/full", "/dev/zero"].contains(&on)
                || on.starts_with("/proc/self/")
                || on.starts_with("/memfd:")
                || on.starts_with("/dev/pts/")
                || on.starts_with("pipe:")
        }
        Kind::Connect => {
            on.contains("/nscd/socket") || on.contains("AF_NETLINK") || on.contains("AF_UNSPEC")
        }
        Kind::Start | Kind::Signal => false,
    }
}
