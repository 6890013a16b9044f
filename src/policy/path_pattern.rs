//! Path patterns: globs seen from the workspace, the home or the root.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;

use globset::{GlobBuilder, GlobMatcher};

use super::lex::{Bad, Char, after};
use crate::model::access::Facts;
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;

/// Where a pattern starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Root,
    Workspace,
    Home,
}

/// A compiled path pattern.
#[derive(Debug)]
pub(super) struct PathPattern {
    base: Base,
    /// What the path below the base surely starts with; saves building the matcher in most runs.
    prefix: Vec<u8>,
    glob: globset::Glob,
    /// Built at the first use: most patterns of most runs are never compared with a path.
    matcher: OnceLock<GlobMatcher>,
}

impl PathPattern {
    /// Compiles one word of a rule. `*` and `?` stop at `/`, `**` crosses it, `[…]` and `{a,b}` as
    /// usual; quoted characters stand for themselves.
    pub(super) fn new(word: &[Char]) -> Result<Self, Bad> {
        if word.is_empty() {
            return Err(Bad::new(
                "the path pattern is empty",
                "name a file, or `**` for every file of the workspace",
            ));
        }
        let (base, rest) = if let Some(rest) = below(word, b"/") {
            (Base::Root, rest)
        } else if let Some(rest) = home(word) {
            (Base::Home, rest)
        } else {
            (Base::Workspace, below(word, b"./").unwrap_or(word))
        };
        let rest = if rest.len() == 1 && after(rest, ".").is_some() {
            &[]
        } else {
            rest
        };
        if rest.last().is_some_and(|char| char.byte == b'/') {
            return Err(Bad::new(
                "the path pattern ends in `/` and would match nothing",
                "write `FOLDER/**` for everything below it, or leave the `/` out",
            ));
        }
        for part in rest.split(|char| char.byte == b'/') {
            let bytes: Vec<u8> = part.iter().map(|char| char.byte).collect();
            if matches!(bytes.as_slice(), b".." | b".") || (bytes.is_empty() && !rest.is_empty()) {
                return Err(Bad::new(
                    "the path pattern has an empty, `.` or `..` part, which no cleaned path has",
                    "write the path without it; an absolute path starts with `/`",
                ));
            }
        }
        let text = escaped(rest)?;
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| {
                Bad::new(
                    format!(
                        "the path pattern is no glob: {}",
                        Escaped::from(error.kind().to_string().as_str())
                    ),
                    "close brackets and braces, or quote them",
                )
            })?;
        let prefix = rest
            .iter()
            .take_while(|char| char.literal || !b"*?[{".contains(&char.byte))
            .map(|char| char.byte)
            .collect();
        Ok(Self {
            base,
            prefix,
            glob,
            matcher: OnceLock::new(),
        })
    }

    /// Where it starts.
    pub(super) const fn base(&self) -> Base {
        self.base
    }

    /// Whether it is the path itself, without a wildcard.
    fn is_whole(&self) -> bool {
        self.prefix.len() == self.glob.glob().len()
    }

    /// The folder below its base in which all its matches lie, or the one path it matches.
    pub(super) fn known(&self) -> &[u8] {
        match self.prefix.iter().rposition(|byte| *byte == b'/') {
            _ if self.is_whole() => self.prefix.as_slice(),
            Some(slash) => self.prefix.get(..slash).unwrap_or_default(),
            None => b"",
        }
    }

    /// The last component of everything it matches, where that is written out.
    pub(super) fn last_component(&self) -> Option<&[u8]> {
        let known = Some(self.known()).filter(|known| self.is_whole() && !known.is_empty())?;
        known.rsplit(|byte| *byte == b'/').next()
    }

    /// Whether nothing the pattern can match lies in any of `roots`, nor any of them in what it can
    /// match: the folder all its matches share is told from its literal beginning.
    pub(super) fn is_apart_from<'a>(
        &self,
        mut roots: impl Iterator<Item = &'a AbsolutePath>,
        facts: &Facts,
    ) -> bool {
        let root = || facts.workspace.join("/");
        let base = match self.base {
            Base::Root => root(),
            Base::Workspace => facts.workspace.clone(),
            Base::Home => match &facts.home {
                Some(home) => home.clone(),
                // Without a home it matches nothing.
                None => return true,
            },
        };
        let shared = base.join_bytes(self.known());
        !roots.any(|root| shared.is_within(root) || root.is_within(&shared))
    }

    /// Whether something the pattern can match may lie below the folder. A pattern that starts with a
    /// wildcard names no place, so it says nothing of any.
    pub(super) fn may_lie_below(&self, folder: &AbsolutePath, facts: &Facts) -> bool {
        if self.prefix.is_empty() {
            return false;
        }
        let base = match self.base {
            Base::Root => folder.join("/"),
            Base::Workspace => facts.workspace.clone(),
            Base::Home => match &facts.home {
                Some(home) => home.clone(),
                None => return false,
            },
        };
        let shared = base.join_bytes(self.known());
        // `s/**` reaches into every folder below `s`.
        let crosses =
            !self.is_whole() && self.glob.glob().contains("**") && folder.is_within(&shared);
        shared.is_within(folder) || crosses
    }

    /// The same, also for patterns that fix no folder at all, such as `**/.env`.
    pub(super) fn may_reach_below(&self, folder: &AbsolutePath, facts: &Facts) -> bool {
        if self.prefix.is_empty() {
            return !self.is_apart_from(std::iter::once(folder), facts);
        }
        self.may_lie_below(folder, facts)
    }

    /// Whether the cleaned path matches.
    pub(super) fn matches(&self, path: &AbsolutePath, facts: &Facts) -> bool {
        let base = match self.base {
            Base::Root => None,
            Base::Workspace => Some(&facts.workspace),
            Base::Home => match &facts.home {
                Some(home) => Some(home),
                None => return false,
            },
        };
        let bytes = path.as_bytes();
        let below = match base {
            Some(base) if path.is_within(base) => bytes.get(base.as_bytes().len()..),
            Some(_) => None,
            None => Some(bytes),
        };
        let Some(below) = below else { return false };
        let below = below.strip_prefix(b"/").unwrap_or(below);
        below.starts_with(&self.prefix)
            && self
                .matcher
                .get_or_init(|| self.glob.compile_matcher())
                .is_match(Path::new(OsStr::from_bytes(below)))
    }
}

/// The rest of a word that starts with this, quoted or not: quotes do not change what a path is.
fn below<'a>(word: &'a [Char], start: &[u8]) -> Option<&'a [Char]> {
    let (head, rest) = word.split_at_checked(start.len())?;
    head.iter()
        .map(|char| char.byte)
        .eq(start.iter().copied())
        .then_some(rest)
}

/// The rest after `~/` or `$HOME/`, or nothing after a lone `~`.
fn home(word: &[Char]) -> Option<&[Char]> {
    let rest = after(word, "~").or_else(|| after(word, "$HOME"))?;
    if rest.is_empty() {
        return Some(rest);
    }
    after(rest, "/")
}

/// The glob text with quoted characters escaped.
fn escaped(word: &[Char]) -> Result<String, Bad> {
    let mut bytes = Vec::with_capacity(word.len());
    for char in word {
        if char.literal && b"*?[]{}\\,!-".contains(&char.byte) {
            bytes.push(b'\\');
        }
        bytes.push(char.byte);
    }
    String::from_utf8(bytes).map_err(|_| {
        Bad::new(
            "the path pattern is not UTF-8",
            "escape whole characters only",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::PathPattern;
    use crate::model::access::Facts;
    use crate::model::path::AbsolutePath;
    use crate::policy::lex;

    fn matches(pattern: &str, path: &str) -> bool {
        let at = |path: &str| AbsolutePath::new(path).unwrap();
        let facts = Facts {
            workspace: at("/ws"),
            cwd: at("/ws/sub"),
            home: Some(at("/home/me")),
            own: Vec::new(),
            network: crate::model::profile::Network::Off,
            today: 0,
        };
        let words = lex::words(pattern).unwrap();
        PathPattern::new(&words[0])
            .unwrap()
            .matches(&at(path), &facts)
    }

    #[test]
    fn relative_means_the_workspace_whatever_the_folder() {
        assert!(matches("a.txt", "/ws/a.txt"));
        assert!(matches("./**", "/ws/x/y"));
        assert!(!matches("./**", "/wsx/y"));
        assert!(!matches("*", "/ws/x/y"));
        assert!(matches(".", "/ws"));
        assert!(matches("**", "/ws"));
    }

    #[test]
    fn home_root_and_quotes() {
        assert!(matches("~/**", "/home/me/.zshrc"));
        assert!(matches("$HOME/.ssh/*", "/home/me/.ssh/id"));
        assert!(matches("/etc/**", "/etc/a/b"));
        assert!(matches("/**", "/etc"));
        assert!(matches("'a*b'", "/ws/a*b"));
        assert!(!matches("'a*b'", "/ws/axb"));
        assert!(matches("/dev/{sd,nvme}*", "/dev/sda1"));
        assert!(matches("**/.env", "/ws/.env"));
    }
}
