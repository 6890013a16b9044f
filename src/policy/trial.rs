//! A rule tried out alone: how it is read, and what of a line it covers.

use super::error::{Fault, PolicyError};
use super::glob::{Match, Purpose};
use super::index::Rules;
use super::judge::{CODE_RULES, Scene, View, command_matches, judge};
use super::kind;
use super::lex::{self, RuleWord};
use super::listing::Standing;
use super::rule::{Conditions, Rule, Target};
use super::{Policy, Settings};
use crate::model::access::{Access, Facts, PathAccess, Resolved, Survey};
use crate::model::judgement::{Layer, Reason, RuleRef, SubJudgement};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

const ID: &str = "trial";

/// A rule that stands nowhere yet.
#[derive(Debug)]
pub struct Trial {
    policy: Policy,
    text: String,
}

/// Whether a rule speaks of a sub-command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// It does.
    Yes,
    /// It depends on what the shell puts in.
    Maybe,
    /// It does not.
    No,
    /// There is nothing to speak of: no program, no file, no variable.
    Nothing,
}

/// What the rule is to one sub-command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Whether it speaks of it.
    pub matched: Matched,
    /// What else would have to be allowed, or why an allow rule does not cover it.
    pub notes: Vec<String>,
}

impl Trial {
    /// Reads a one-line rule.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn new(verdict: Verdict, text: &str) -> Result<Self, PolicyError> {
        let text = text.trim();
        let target = kind::one_line(text).map_err(|bad| {
            let fault = Fault::new("RULE", text, 0..text.len(), bad.message);
            PolicyError::new(vec![fault.help(bad.help)])
        })?;
        let rule = Rule {
            reference: RuleRef {
                id: ID.to_owned(),
                layer: Layer::Flag,
                place: None,
                text: text.to_owned(),
                why: None,
            },
            verdict,
            targets: vec![target],
            conditions: Conditions::default(),
            advisory: false,
        };
        Ok(Self {
            policy: Policy {
                rules: Rules::new(vec![rule]),
                confining: Vec::new(),
                aside: Vec::<(Rule, Standing)>::new(),
                settings: Settings::default(),
                read_only_defaults: false,
                disabled: CODE_RULES.map(str::to_owned).to_vec(),
            },
            text: text.to_owned(),
        })
    }

    /// The policy of this rule alone.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    fn rule(&self) -> Option<(&Rule, &Target)> {
        let rule = self.policy.rules.iter().next()?;
        Some((rule, rule.targets.first()?))
    }

    /// How the rule is read: what a part is, and what it stands for.
    pub fn reading(&self) -> Vec<(&'static str, String)> {
        let Some((rule, target)) = self.rule() else {
            return Vec::new();
        };
        let inside = self
            .text
            .split_once('(')
            .map_or("", |(_, rest)| rest.strip_suffix(')').unwrap_or(rest));
        match target {
            Target::Command(_) => command(&self.text, rule.verdict),
            Target::Write(_) => path("what the shell opens for writing", inside),
            Target::Read(_) => path("what the shell opens for reading", inside),
            Target::Delete(_) => path("what a request would delete", inside),
            Target::Env(_) => vec![("variable", quoted(inside))],
            Target::Network(_) => vec![("host", quoted(inside))],
            Target::Mcp(_) => vec![("tool", quoted(inside))],
        }
    }

    /// What the rule is to every sub-command of a line.
    pub fn on(&self, survey: &Survey, resolved: &Resolved, facts: &Facts) -> Vec<Tried> {
        let judgement = judge(&self.policy, survey, resolved, facts);
        let scene = Scene::new(survey, resolved, facts);
        judgement
            .subcommands
            .iter()
            .enumerate()
            .map(|(index, judged)| self.tried(survey, &scene, index, judged))
            .collect()
    }

    fn tried(
        &self,
        survey: &Survey,
        scene: &Scene<'_>,
        index: usize,
        judged: &SubJudgement,
    ) -> Tried {
        let Some((rule, target)) = self.rule() else {
            return Tried {
                matched: Matched::Nothing,
                notes: Vec::new(),
            };
        };
        let purpose = match rule.verdict {
            Verdict::Allow => Purpose::Allow,
            Verdict::Ask | Verdict::Deny => Purpose::Restrict,
        };
        let by_words = match target {
            Target::Command(pattern) => View::new(scene, index).map_or(Match::No, |view| {
                command_matches(rule, pattern, &view, purpose)
            }),
            Target::Write(_)
            | Target::Read(_)
            | Target::Delete(_)
            | Target::Env(_)
            | Target::Network(_)
            | Target::Mcp(_) => Match::No,
        };
        let given = judged
            .accesses
            .iter()
            .filter(|access| access.rule.as_ref().is_some_and(|by| by.id == ID))
            .map(|access| {
                // A deny rule that may match asks.
                if rule.verdict == Verdict::Deny && access.reason != Reason::RuleDeny {
                    Match::Maybe
                } else {
                    Match::Yes
                }
            })
            .max()
            .unwrap_or(Match::No);
        let is_command = matches!(target, Target::Command(_));
        let found = if is_command && rule.verdict != Verdict::Allow {
            by_words
        } else {
            by_words.max(given)
        };
        let matched = match found {
            _ if judged.accesses.is_empty() => Matched::Nothing,
            Match::Yes => Matched::Yes,
            Match::Maybe => Matched::Maybe,
            Match::No => Matched::No,
        };
        let notes = match rule.verdict {
            Verdict::Allow => notes(survey, index, judged, found),
            Verdict::Ask | Verdict::Deny => Vec::new(),
        };
        Tried { matched, notes }
    }
}

/// What an allow rule leaves to ask about.
fn notes(survey: &Survey, index: usize, judged: &SubJudgement, found: Match) -> Vec<String> {
    let mut notes = Vec::new();
    for access in judged
        .accesses
        .iter()
        .filter(|access| access.verdict != Verdict::Allow)
    {
        notes.push(match &access.access {
            Access::Command => match (&judged.remedy, found) {
                (Some(remedy), Match::Yes) if access.reason == Reason::Dynamic => {
                    format!("asks all the same: {remedy}")
                }
                (Some(remedy), _) => format!("starting the program is not covered: {remedy}"),
                (None, _) => format!("starting the program is not covered ({})", access.reason),
            },
            Access::Write(path) => format!(
                "the redirection is not covered: it needs `write({})`",
                written(path)
            ),
            Access::Read(path) => format!("reading `{}` is not covered", written(path)),
            Access::Env(name) => format!(
                "the assignment is not covered: it needs `env({})`",
                Escaped(name)
            ),
            Access::Network { host, port } => format!(
                "the connection is not covered: it needs `network({}{})`",
                Escaped(host),
                port.as_ref()
                    .map(|port| format!(":{}", Escaped(port)))
                    .unwrap_or_default()
            ),
        });
    }
    let carries = survey
        .script
        .subcommands
        .iter()
        .any(|sub| sub.carrier == Some(index));
    if carries && found == Match::Yes {
        notes.push("the program it starts needs a rule of its own".to_owned());
    }
    notes
}

fn written(path: &PathAccess) -> String {
    match (path.written.as_static(), &path.path) {
        (Some(text), _) => Escaped(text).to_string(),
        (None, Some(path)) => path.to_string(),
        (None, None) => "…".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", Escaped::from(text.trim()))
}

fn path(what: &'static str, pattern: &str) -> Vec<(&'static str, String)> {
    let pattern = pattern.trim();
    let base = if pattern.starts_with('/') {
        "an absolute path"
    } else if pattern.starts_with('~') || pattern.starts_with("$HOME") {
        "seen from the home"
    } else {
        "seen from the workspace"
    };
    vec![
        ("path", format!("{}, {base}", quoted(pattern))),
        ("covers", what.to_owned()),
    ]
}

fn command(text: &str, verdict: Verdict) -> Vec<(&'static str, String)> {
    if let Some(regex) = text.strip_prefix("re:") {
        return vec![(
            "expression",
            format!(
                "{} has to match the whole command, quoted as a shell needs it",
                quoted(regex)
            ),
        )];
    }
    let (exact, rest) = match text.strip_prefix('=') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let Ok(words) = lex::words(rest) else {
        return Vec::new();
    };
    let Some((first, others)) = words.split_first() else {
        return Vec::new();
    };
    let mut lines = vec![("program", program(first, verdict))];
    lines.extend(others.iter().map(|word| ("word", one_word(word))));
    lines.push((
        "arguments",
        match (exact, others.is_empty()) {
            (true, true) => "none".to_owned(),
            (true, false) => "exactly these words".to_owned(),
            (false, true) => "any".to_owned(),
            (false, false) => "these words first, then any others".to_owned(),
        },
    ));
    lines
}

fn program(word: &RuleWord, verdict: Verdict) -> String {
    let shown = alternatives(word);
    let text = lex::text(word);
    let narrow = verdict == Verdict::Allow;
    if lex::is_bare(word, "*") {
        "any program called by a bare name".to_owned()
    } else if text.starts_with("sha256:") {
        format!("the content {shown}, wherever it lies")
    } else if text.contains('/') || text.starts_with('~') || text.starts_with("$HOME") {
        format!("the file {shown}")
    } else if narrow {
        format!(
            "{shown}: what PATH finds where only root and the user can change it, or the built-in"
        )
    } else {
        format!("{shown}: any file of that name, its links and copies, through every carrier")
    }
}

fn one_word(word: &RuleWord) -> String {
    let shown = alternatives(word);
    if lex::is_bare(word, "**") {
        return "any number of words".to_owned();
    }
    let glob = word
        .iter()
        .any(|char| !char.literal && matches!(char.byte, b'*' | b'?'));
    if glob {
        format!("{shown}, a pattern")
    } else {
        shown
    }
}

fn alternatives(word: &RuleWord) -> String {
    match lex::alternatives(word) {
        Ok(parts) if parts.len() > 1 => {
            let parts: Vec<String> = parts.iter().map(|part| quoted(&lex::text(part))).collect();
            format!("one of {}", parts.join(", "))
        }
        Ok(_) | Err(_) => quoted(&lex::text(word)),
    }
}
