//! The policy being written, and what is told of the rules it comes from.

use super::{Host, Imported, Remark};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::danger::{self, Hazard};
use crate::policy::kind;
use crate::policy::rule::Conditions;

/// Lists that are longer stand on several lines.
const WIDTH: usize = 100;

/// How close an allow rule keeps to what is spelled: the value of `as_written`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Command,
    Line,
}

/// One rule of the source.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) line: usize,
    pub(super) text: String,
}

/// What a written rule speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    Write,
    Read,
    Network,
}

impl Kind {
    const fn words(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::Command => (None, "commands"),
            Self::Write => (Some("write"), "paths"),
            Self::Read => (Some("read"), "paths"),
            Self::Network => (Some("network"), "hosts"),
        }
    }
}

/// A rule to be written.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) verdict: Verdict,
    pub(super) kind: Kind,
    pub(super) patterns: Vec<String>,
    pub(super) with: Vec<&'static str>,
    pub(super) without: Vec<&'static str>,
    pub(super) in_workspace: bool,
    pub(super) spelling: Option<Spelling>,
}

impl Written {
    pub(super) fn new(verdict: Verdict, kind: Kind, patterns: Vec<String>) -> Self {
        Self {
            verdict,
            kind,
            patterns,
            with: Vec::new(),
            without: Vec::new(),
            in_workspace: false,
            spelling: None,
        }
    }

    pub(super) fn spelled(mut self, spelling: Spelling) -> Self {
        self.spelling = Some(spelling);
        self
    }
}

/// The policy and its remarks.
pub(super) struct Draft {
    host: Host,
    file: String,
    rules: Vec<(Origin, Written)>,
    mode: Option<&'static str>,
    unsaid: Vec<Remark>,
    stricter: Vec<Remark>,
}

impl Draft {
    pub(super) fn new(host: Host, file: &str) -> Self {
        Self {
            host,
            file: Escaped::from(file).to_string(),
            rules: Vec::new(),
            mode: None,
            unsaid: Vec::new(),
            stricter: Vec::new(),
        }
    }

    pub(super) fn mode(&mut self, mode: &'static str) {
        self.mode = Some(mode);
    }

    /// A rule of the source that is left out.
    pub(super) fn unsaid(&mut self, origin: &Origin, why: impl Into<String>) {
        self.unsaid.push(remark(origin, why));
    }

    /// A rule of the source that now asks or denies more, or allows less.
    pub(super) fn stricter(&mut self, origin: &Origin, why: impl Into<String>) {
        self.stricter.push(remark(origin, why));
    }

    /// Takes a rule over. One that does not load, or that would allow every program, is left out when it
    /// allows; when it asks or denies, everything stands in for it.
    pub(super) fn rule(&mut self, origin: &Origin, written: Written) {
        match check(&written) {
            None => self.rules.push((origin.clone(), written)),
            Some(why) if written.verdict == Verdict::Allow => self.unsaid(origin, why),
            Some(why) => {
                let verdict = written.verdict;
                self.everything(origin, verdict, &why);
            }
        }
    }

    /// The rule that stands in for one that restricts and cannot be said.
    pub(super) fn everything(&mut self, origin: &Origin, verdict: Verdict, why: &str) {
        self.unsaid(origin, why);
        let does = match verdict {
            Verdict::Allow => return,
            Verdict::Ask => "everything asks",
            Verdict::Deny => "everything is denied",
        };
        self.stricter(
            origin,
            format!("{does} in its place; write what it means as a rule of your own instead"),
        );
        let any = Written::new(verdict, Kind::Command, vec!["*".to_owned()]);
        self.rules.push((origin.clone(), any));
    }

    pub(super) fn has(&self, verdict: Verdict) -> bool {
        self.rules
            .iter()
            .any(|(_, written)| written.verdict == verdict)
    }

    /// The text.
    pub(super) fn finish(self) -> Imported {
        let mut text = format!(
            "# The permissions of {} in {}, as a policy of tipstaff.\n# What could not be said is left out: `tipstaff policy import` lists it.\nversion = 1\n",
            self.host.title(),
            self.file
        );
        if let Some(mode) = self.mode {
            text.push_str(&format!("mode = \"{mode}\"\n"));
        }
        text.push_str("\n[permissions]\n# What the source does not name asks there. Without this line commands that are known to change nothing\n# are allowed as well.\nread_only_defaults = false\n");
        let (mut allowed, mut asked, mut denied) = (0, 0, 0);
        for (origin, written) in &self.rules {
            let count = match written.verdict {
                Verdict::Allow => &mut allowed,
                Verdict::Ask => &mut asked,
                Verdict::Deny => &mut denied,
            };
            *count += 1;
            text.push_str(&self.table(origin, written, *count));
        }
        let rules = self.rules.len();
        Imported {
            policy: text,
            rules,
            unsaid: self.unsaid,
            stricter: self.stricter,
        }
    }

    fn table(&self, origin: &Origin, written: &Written, number: usize) -> String {
        let (kind, list) = written.kind.words();
        let mut text = format!(
            "\n[[rule]]\n# {}:{}: {}\nid = \"{}.{}.{number}\"\nverdict = \"{}\"\n",
            self.file,
            origin.line,
            Escaped::from(origin.text.as_str()),
            self.host,
            written.verdict,
            written.verdict
        );
        if let Some(kind) = kind {
            text.push_str(&format!("kind = \"{kind}\"\n"));
        }
        text.push_str(&strings(list, &written.patterns));
        text.push_str(&strings("with", &written.with));
        text.push_str(&strings("without", &written.without));
        if written.in_workspace {
            text.push_str("args = \"workspace\"\n");
        }
        match written.spelling {
            Some(Spelling::Command) => text.push_str("as_written = \"command\"\n"),
            Some(Spelling::Line) => text.push_str("as_written = \"line\"\n"),
            None => {}
        }
        if kind.is_some() && written.verdict != Verdict::Allow {
            text.push_str("advisory = true\n");
        }
        text
    }
}

/// A list as `policy fmt` lays it out; nothing when it is empty.
fn strings(key: &str, values: &[impl AsRef<str>]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = values.iter().map(|value| quoted(value.as_ref())).collect();
    let line = format!("{key} = [{}]\n", quoted.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    format!("{key} = [\n    {},\n]\n", quoted.join(",\n    "))
}

fn remark(origin: &Origin, why: impl Into<String>) -> Remark {
    Remark {
        line: origin.line,
        rule: origin.text.clone(),
        why: why.into(),
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Why a rule cannot stand in a policy.
fn check(written: &Written) -> Option<String> {
    let (kind, _) = written.kind.words();
    for pattern in &written.patterns {
        let target = match kind {
            None => kind::command(pattern),
            Some(kind) => kind::Kind::named(kind).and_then(|kind| kind.target(pattern)),
        };
        let target = match target {
            Ok(target) => target,
            Err(bad) => return Some(format!("it cannot be written as a rule: {}", bad.message)),
        };
        if written.verdict == Verdict::Allow {
            let found = danger::of(&target, &Conditions::default());
            if found.is_some_and(|danger| danger.code == Hazard::AnyProgram) {
                return Some("it would allow every program".to_owned());
            }
        }
    }
    written
        .patterns
        .is_empty()
        .then(|| "nothing of it is left to say".to_owned())
}
