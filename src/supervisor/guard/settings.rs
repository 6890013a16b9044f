//! Configuration of git: what a run may add or change of it.
//!
//! Only lines as git itself writes them are read; a file with others is taken as it was before the run or
//! put back whole, since what one reader passes over another may obey. git-config(1), "Syntax"

use serde::Deserialize;

/// What may be added or changed; everything else keeps the value it had.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Allowed {
    sections: Vec<String>,
    keys: Vec<String>,
    never_keys: Vec<String>,
    never_values: Vec<String>,
}

/// What is left of a changed file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// All of it.
    All,
    /// This text; the keys named are as they were before.
    Part { text: Vec<u8>, keys: Vec<String> },
    /// Nothing: it cannot be read line by line.
    Nothing,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    section: String,
    sub: Option<Vec<u8>>,
    name: String,
    value: Vec<u8>,
}

impl Setting {
    fn key(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    fn line(&self) -> Vec<u8> {
        let mut line = b"\t".to_vec();
        line.extend(self.name.as_bytes());
        line.extend(b" = ");
        line.extend(&self.value);
        line.push(b'\n');
        line
    }

    fn header(&self) -> Vec<u8> {
        let mut header = b"[".to_vec();
        header.extend(self.section.as_bytes());
        if let Some(sub) = &self.sub {
            header.extend(b" \"");
            header.extend(sub);
            header.push(b'"');
        }
        header.extend(b"]\n");
        header
    }
}

impl Allowed {
    fn covers(&self, setting: &Setting) -> bool {
        let key = setting.key();
        let value = setting.value.strip_prefix(b"\"").unwrap_or(&setting.value);
        let named = self.keys.contains(&key)
            || (setting.sub.is_none() && self.sections.contains(&setting.section));
        let never = self.never_keys.contains(&key)
            || self
                .never_values
                .iter()
                .any(|start| value.starts_with(start.as_bytes()));
        named && !never
    }

    /// What is left of `now`, which was `was` before the run.
    pub(super) fn left(&self, was: &[u8], now: &[u8]) -> Left {
        let (Some(was), Some(lines)) = (settings(was), lines(now)) else {
            return Left::Nothing;
        };
        let mut missing: Vec<Setting> = was
            .into_iter()
            .filter(|setting| !self.covers(setting))
            .collect();
        let mut text = Vec::new();
        let mut keys = Vec::new();
        for (line, setting) in lines {
            if let Some(setting) = setting.filter(|setting| !self.covers(setting)) {
                match missing.iter().position(|known| *known == setting) {
                    Some(known) => {
                        missing.remove(known);
                    }
                    None => {
                        keys.push(setting.key());
                        continue;
                    }
                }
            }
            text.extend(line);
        }
        for setting in &missing {
            text.extend(setting.header());
            text.extend(setting.line());
            keys.push(setting.key());
        }
        if keys.is_empty() {
            return Left::All;
        }
        keys.sort();
        keys.dedup();
        Left::Part { text, keys }
    }
}

/// The value of `core.hooksPath`, where the file can be read.
pub(super) fn hooks_path(text: &[u8]) -> Option<Vec<u8>> {
    settings(text)?
        .into_iter()
        .rfind(|setting| setting.key() == "core.hookspath")
        .map(|setting| unquoted(&setting.value))
}

/// The value of `core.worktree`.
pub(super) fn worktree(text: &[u8]) -> Option<Vec<u8>> {
    settings(text)?
        .into_iter()
        .rfind(|setting| setting.key() == "core.worktree")
        .map(|setting| unquoted(&setting.value))
}

fn unquoted(value: &[u8]) -> Vec<u8> {
    let inner = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    inner.unwrap_or(value).to_vec()
}

fn settings(text: &[u8]) -> Option<Vec<Setting>> {
    let lines = lines(text)?;
    Some(
        lines
            .into_iter()
            .filter_map(|(_, setting)| setting)
            .collect(),
    )
}

/// Every line with the setting it makes; `None` when one is not as git writes it.
fn lines(text: &[u8]) -> Option<Vec<(&[u8], Option<Setting>)>> {
    let mut found = Vec::new();
    let mut section: Option<(String, Option<Vec<u8>>)> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let whole = line.strip_suffix(b"\n").unwrap_or(line);
        let body = whole.trim_ascii();
        let plain = |byte: &u8| !matches!(byte, b'\r' | 0) && (*byte >= b' ' || *byte == b'\t');
        if body.ends_with(b"\\") || !whole.iter().all(plain) {
            return None;
        }
        match body.first() {
            None | Some(b'#' | b';') => found.push((line, None)),
            Some(b'[') => {
                section = Some(header(body)?);
                found.push((line, None));
            }
            Some(_) => {
                let (section, sub) = section.as_ref()?;
                let (name, value) = setting(body)?;
                let setting = Setting {
                    section: section.clone(),
                    sub: sub.clone(),
                    name,
                    value,
                };
                found.push((line, Some(setting)));
            }
        }
    }
    Some(found)
}

/// `[name]` or `[name "sub"]`, and nothing behind it.
fn header(body: &[u8]) -> Option<(String, Option<Vec<u8>>)> {
    let inner = body.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let (name, sub) = match inner.iter().position(|byte| *byte == b' ') {
        None => (inner, None),
        Some(space) => {
            let (name, sub) = inner.split_at_checked(space)?;
            let sub = sub.trim_ascii().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            // A quote inside stands behind a backslash.
            let mut escaped = false;
            for byte in sub {
                if *byte == b'"' && !escaped {
                    return None;
                }
                escaped = *byte == b'\\' && !escaped;
            }
            if escaped {
                return None;
            }
            (name, Some(sub.to_vec()))
        }
    };
    word(name).map(|name| (name, sub))
}

/// `name = value`, or a name alone. The value has its quotes closed and no comment behind it.
fn setting(body: &[u8]) -> Option<(String, Vec<u8>)> {
    let Some(equals) = body.iter().position(|byte| *byte == b'=') else {
        return word(body).map(|name| (name, b"true".to_vec()));
    };
    let (name, value) = body.split_at_checked(equals)?;
    let value = value.get(1..)?.trim_ascii();
    let (mut quoted, mut escaped) = (false, false);
    for byte in value {
        if escaped {
            escaped = false;
        } else if *byte == b'\\' {
            escaped = true;
        } else if *byte == b'"' {
            quoted = !quoted;
        } else if matches!(byte, b'#' | b';') && !quoted {
            return None;
        }
    }
    let name = word(name.trim_ascii())?;
    (!quoted && !escaped).then(|| (name, value.to_vec()))
}

/// A name of letters, digits, dashes and dots, in lower case: git does not tell cases apart.
fn word(name: &[u8]) -> Option<String> {
    let fine = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    if name.is_empty() || !name.iter().all(fine) {
        return None;
    }
    Some(String::from_utf8_lossy(name).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Left, hooks_path};

    fn left(was: &str, now: &str) -> Left {
        let table = crate::supervisor::guard::table().unwrap();
        table.settings.left(was.as_bytes(), now.as_bytes())
    }

    const WAS: &str = "[core]\n\tbare = false\n\teditor = vi\n";

    #[test]
    fn what_git_writes_stays() {
        for more in [
            "[remote \"origin\"]\n\turl = ../up.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n",
            "[submodule \"sub\"]\n\turl = ../sub\n\tactive = true\n",
            "[user]\n\tname = Some Body\n# a remark \\ in the middle\n",
        ] {
            assert_eq!(left(WAS, &format!("{WAS}{more}")), Left::All, "{more}");
        }
    }

    #[test]
    fn what_starts_programs_goes() {
        for (key, more) in [
            ("core.fsmonitor", "[core]\n\tfsmonitor = ./x\n"),
            ("core.hookspath", "[core]\n\thooksPath = .x\n"),
            ("alias.st", "[alias]\n\tst = !./x\n"),
            ("filter.clean", "[filter \"x\"]\n\tclean = ./x\n"),
            ("include.path", "[include]\n\tpath = ../x\n"),
            ("includeif.path", "[includeIf \"gitdir:.\"]\n\tpath = x\n"),
            ("remote.url", "[remote \"o\"]\n\turl = ext::sh -c x\n"),
            ("submodule.update", "[submodule \"o\"]\n\tupdate = !./x\n"),
            (
                "submodule.url",
                "[submodule \"o\"]\n\turl = --upload-pack=./x\n",
            ),
            ("user.signingkey", "[user]\n\tsigningkey = x\n"),
        ] {
            let Left::Part { text, keys } = left(WAS, &format!("{WAS}{more}")) else {
                panic!("{more}");
            };
            assert_eq!(keys, [key], "{more}");
            assert!(!String::from_utf8(text).unwrap().contains(" x\n"), "{more}");
        }
    }

    #[test]
    fn what_was_there_comes_back() {
        let Left::Part { text, keys } = left(WAS, "[core]\n\tbare = false\n\teditor = ./x\n")
        else {
            panic!();
        };
        assert_eq!(keys, ["core.editor"]);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, "[core]\n\tbare = false\n[core]\n\teditor = vi\n");
    }

    #[test]
    fn what_readers_may_read_differently_is_put_back_whole() {
        for text in [
            "[core] fsmonitor = ./x\n",
            "[user]\n\tname = a \\\n[core]\n\tfsmonitor = ./x\n",
            "[user]\n\tname = a # b \\\n\tfsmonitor = x\n",
            "[core.x]\n\ty = z\n",
            "[user]\r\n\tname = a\n",
            "name = a\n",
            "[user]\n\tname = \"a\n",
            "[a \"b\" c\"]\n",
        ] {
            assert_eq!(left(WAS, text), Left::Nothing, "{text}");
        }
    }

    #[test]
    fn the_last_hooks_path_counts() {
        let text = b"[core]\n\thooksPath = a\n[core]\n\tHOOKSPATH = \".husky/_\"\n";
        assert_eq!(hooks_path(text).unwrap(), b".husky/_");
    }
}
