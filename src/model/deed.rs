//! What a caller wants to do itself, and has judged first.

use std::fmt;
use std::str::FromStr;

use super::path::AbsolutePath;
use super::text::Escaped;

/// One deed of an agent's runtime: tipstaff decides, the runtime acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Writing a file, with any content.
    Write(AbsolutePath),
    /// Deleting a file, or a folder with all that lies in it.
    Delete(AbsolutePath),
    /// Opening a connection.
    Network {
        /// Host name or address, without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// Calling a tool of a Model Context Protocol server.
    Mcp {
        /// The server as the caller's settings name it.
        server: String,
        /// The tool as the server names it.
        tool: String,
    },
}

/// Which kind of deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeedKind {
    /// [`Deed::Write`]
    Write,
    /// [`Deed::Delete`]
    Delete,
    /// [`Deed::Network`]
    Network,
    /// [`Deed::Mcp`]
    Mcp,
}

impl DeedKind {
    const ALL: [Self; 4] = [Self::Write, Self::Delete, Self::Network, Self::Mcp];

    /// The word of options, rules and answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Network => "network",
            Self::Mcp => "mcp",
        }
    }
}

impl FromStr for DeedKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.word() == text);
        known.ok_or_else(|| {
            format!(
                "`{}` is not a kind of request; kinds are write, delete, network, mcp",
                Escaped::from(text)
            )
        })
    }
}

/// Why a text names nothing that could be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDeed {
    /// No path.
    #[error("the path is empty or holds a NUL byte")]
    Path,
    /// Where it leads depends on links that are followed first. path_resolution(7)
    #[error(
        "the path holds `..`; write it without, since after a link it leads elsewhere than it reads"
    )]
    Climbs,
    /// No host with a port.
    #[error("write `HOST:PORT`, an IPv6 address in brackets")]
    Host,
    /// No tool of a server.
    #[error("write `SERVER:TOOL`")]
    Tool,
}

impl Deed {
    /// Reads what a deed is done to; a relative path is seen from `folder`.
    ///
    /// # Errors
    /// The object is none of this kind.
    pub fn read(kind: DeedKind, object: &[u8], folder: &AbsolutePath) -> Result<Self, BadDeed> {
        match kind {
            DeedKind::Write => path(object, folder).map(Self::Write),
            DeedKind::Delete => path(object, folder).map(Self::Delete),
            DeedKind::Network => network(object).ok_or(BadDeed::Host),
            DeedKind::Mcp => tool(object).ok_or(BadDeed::Tool),
        }
    }

    /// Which kind.
    pub const fn kind(&self) -> DeedKind {
        match self {
            Self::Write(_) => DeedKind::Write,
            Self::Delete(_) => DeedKind::Delete,
            Self::Network { .. } => DeedKind::Network,
            Self::Mcp { .. } => DeedKind::Mcp,
        }
    }

    /// The file or folder it is done to.
    pub const fn path(&self) -> Option<&AbsolutePath> {
        match self {
            Self::Write(path) | Self::Delete(path) => Some(path),
            Self::Network { .. } | Self::Mcp { .. } => None,
        }
    }

    /// What it is done to, escaped.
    pub fn object(&self) -> String {
        match self {
            Self::Write(path) | Self::Delete(path) => path.to_string(),
            Self::Network { host, port } if host.contains(':') => {
                format!("[{}]:{port}", Escaped::from(host.as_str()))
            }
            Self::Network { host, port } => format!("{}:{port}", Escaped::from(host.as_str())),
            Self::Mcp { server, tool } => format!(
                "{}:{}",
                Escaped::from(server.as_str()),
                Escaped::from(tool.as_str())
            ),
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind().word(), self.object())
    }
}

fn path(object: &[u8], folder: &AbsolutePath) -> Result<AbsolutePath, BadDeed> {
    if object.is_empty() || object.contains(&0) {
        return Err(BadDeed::Path);
    }
    if object.split(|byte| *byte == b'/').any(|part| part == b"..") {
        return Err(BadDeed::Climbs);
    }
    Ok(folder.join_bytes(object))
}

fn network(object: &[u8]) -> Option<Deed> {
    let text = std::str::from_utf8(object).ok()?;
    let (host, port) = text.rsplit_once(':')?;
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => Some(host).filter(|host| !host.contains(':'))?,
    };
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '[' | ']' | '@');
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| digits && *port > 0)?;
    (!bare.is_empty() && !bare.contains(odd)).then(|| Deed::Network {
        // Host names are compared without regard to case (RFC 4343), and the root's dot says nothing.
        host: bare.trim_end_matches('.').to_ascii_lowercase(),
        port,
    })
}

fn tool(object: &[u8]) -> Option<Deed> {
    let (server, tool) = std::str::from_utf8(object).ok()?.split_once(':')?;
    (!server.is_empty() && !tool.is_empty()).then(|| Deed::Mcp {
        server: server.to_owned(),
        tool: tool.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{BadDeed, Deed, DeedKind};
    use crate::model::path::AbsolutePath;

    fn read(kind: &str, object: &str) -> Result<String, BadDeed> {
        let folder = AbsolutePath::new("/ws").unwrap();
        let kind: DeedKind = kind.parse().unwrap();
        Deed::read(kind, object.as_bytes(), &folder).map(|deed| deed.to_string())
    }

    #[test]
    fn objects_are_read_by_their_kind() {
        let shown = |kind, object| read(kind, object).unwrap();
        assert_eq!(shown("write", "a/./b"), "write(/ws/a/b)");
        assert_eq!(shown("delete", "/x"), "delete(/x)");
        assert_eq!(
            shown("network", "Api.Example:443"),
            "network(api.example:443)"
        );
        assert_eq!(shown("network", "a.example.:80"), "network(a.example:80)");
        assert_eq!(shown("network", "[::1]:80"), "network([::1]:80)");
        assert_eq!(shown("mcp", "tickets:read:one"), "mcp(tickets:read:one)");
        assert_eq!(shown("mcp", "a\n:b"), "mcp(a\\n:b)");
    }

    #[test]
    fn what_names_nothing_is_refused() {
        assert_eq!(read("write", ""), Err(BadDeed::Path));
        assert_eq!(read("write", "a\0b"), Err(BadDeed::Path));
        assert_eq!(read("delete", "link/../x"), Err(BadDeed::Climbs));
        for host in [
            "a", "a:", "a:0", "a:65536", "a:+1", ":80", "::1:80", "[::1:80", "a/b:1", "u@h:1",
            "a b:1",
        ] {
            assert_eq!(read("network", host), Err(BadDeed::Host), "{host}");
        }
        for tool in ["", "a", ":b", "a:"] {
            assert_eq!(read("mcp", tool), Err(BadDeed::Tool), "{tool}");
        }
    }
}
