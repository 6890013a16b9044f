//! Execs of a running command that did not happen.

use std::time::Duration;

use serde::Serialize;

use crate::approval::{Denial, Note, Who};
use crate::gate::Attempt;
use crate::model::digest::Digest;
use crate::model::executable::Executable;
use crate::model::judgement::{Reason, RuleRef};
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

use super::answer::place;
use super::record::ExecDecision;

/// Refusals that are listed one by one; the record holds all.
const LISTED: usize = 100;
/// Bytes of an argv that are shown.
const SHOWN: usize = 400;

/// One exec that was refused, or killed before its first instruction.
#[derive(Clone, Debug)]
pub struct Refusal {
    argv: Vec<Vec<u8>>,
    program: Vec<u8>,
    digest: Option<Digest>,
    lineage: Vec<AbsolutePath>,
    verdict: Verdict,
    reason: Reason,
    rule: Option<RuleRef>,
    detail: Option<String>,
    by: Option<Who>,
    note: Option<Note>,
    waited: Duration,
}

impl Refusal {
    /// Whether nobody said no: the command ended while the question was open.
    pub(super) fn is_for_the_end(&self) -> bool {
        self.reason == Reason::Cancelled && self.by.is_none()
    }

    pub(super) fn of(attempt: &Attempt, reason: Reason) -> Self {
        Self {
            argv: attempt.argv.clone(),
            program: attempt.named(),
            digest: None,
            lineage: attempt
                .image
                .as_ref()
                .map(|image| image.lineage.clone())
                .unwrap_or_default(),
            verdict: Verdict::Deny,
            reason,
            rule: None,
            detail: None,
            by: None,
            note: None,
            waited: Duration::ZERO,
        }
    }

    pub(super) fn about(self, executable: &Executable) -> Self {
        Self {
            program: executable.real.as_bytes().to_vec(),
            digest: Some(executable.digest),
            ..self
        }
    }

    pub(super) fn because(self, detail: String) -> Self {
        Self {
            detail: Some(detail),
            ..self
        }
    }

    pub(super) fn by_rule(self, rule: Option<RuleRef>) -> Self {
        Self { rule, ..self }
    }

    pub(super) fn judged(self, verdict: Verdict) -> Self {
        Self { verdict, ..self }
    }

    pub(super) fn said(self, denial: &Denial, waited: Option<Duration>) -> Self {
        Self {
            by: denial.by().cloned(),
            note: denial.note().cloned(),
            waited: waited.unwrap_or_default(),
            ..self
        }
    }

    pub(super) fn decision(&self) -> ExecDecision<'_> {
        ExecDecision {
            verdict: self.verdict,
            outcome: Verdict::Deny,
            reason: self.reason,
            by: self.by.as_ref(),
            note: self.note.as_ref(),
            object: None,
            waited: self.waited,
            program: &self.program,
            digest: self.digest,
            rule: self.rule.as_ref().map(|rule| rule.id.as_str()),
            detail: self.detail.as_deref(),
        }
    }

    /// Why it was refused.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Its words, cut where they are very long; the record has them.
    fn shown(&self) -> String {
        let words = self.argv.iter().map(|word| String::from_utf8_lossy(word));
        let mut text = Escaped::from(shell_words::join(words).as_str()).to_string();
        if let Some((at, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(at);
            text.push('…');
        }
        text
    }

    fn started_by(&self) -> String {
        self.lineage
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" > ")
    }
}

/// Every exec that was refused.
#[derive(Debug, Default)]
pub struct Refused {
    listed: Vec<Refusal>,
    more: usize,
}

/// The refusals as part of `tipstaff.result/1`.
#[derive(Debug, Serialize)]
pub struct RefusalJson<'a> {
    argv: Vec<String>,
    program: String,
    reason: Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a RuleRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a Note>,
    started_by: Vec<String>,
}

impl Refused {
    pub(super) fn add(&mut self, refusal: Refusal) {
        if self.listed.len() < LISTED {
            self.listed.push(refusal);
        } else {
            self.more += 1;
        }
    }

    /// The first of them.
    pub fn listed(&self) -> &[Refusal] {
        &self.listed
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.listed.len() + self.more
    }

    pub(super) fn as_json(&self) -> Vec<RefusalJson<'_>> {
        self.listed
            .iter()
            .map(|refusal| RefusalJson {
                argv: refusal
                    .argv
                    .iter()
                    .map(|word| String::from_utf8_lossy(word).into_owned())
                    .collect(),
                program: String::from_utf8_lossy(&refusal.program).into_owned(),
                reason: refusal.reason,
                rule: refusal.rule.as_ref(),
                detail: refusal.detail.as_deref(),
                note: refusal.note.as_ref(),
                started_by: refusal.lineage.iter().map(ToString::to_string).collect(),
            })
            .collect()
    }

    /// What the caller is told of them; `None` when there are none.
    pub(super) fn message(&self) -> Option<String> {
        if self.count() == 0 {
            return None;
        }
        let mut text = format!(
            "{} program(s) did not start while the command ran:",
            self.count()
        );
        for refusal in self.listed.iter().take(10) {
            text.push_str(&format!("\n  `{}`: {}", refusal.shown(), refusal.reason));
            if let Some(rule) = &refusal.rule {
                text.push_str(&format!(
                    ", {} `{}`",
                    place(rule),
                    Escaped::from(rule.text.as_str())
                ));
            }
            if let Some(detail) = &refusal.detail {
                text.push_str(&format!(": {}", Escaped::from(detail.as_str())));
            }
            if let Some(note) = &refusal.note {
                text.push_str(&format!(", note: \"{note}\""));
            }
            text.push_str(&format!(" (started by {})", refusal.started_by()));
        }
        if self.count() > 10 {
            text.push_str(&format!(
                "\n  and {} more; `tipstaff audit` has them all",
                self.count() - 10
            ));
        }
        text.push_str(
            "\nThese decisions are final. Do not retry them, and do not reach the same effect another way.",
        );
        Some(text)
    }
}
