//! Every rule of every layer, those included that do not count.

use super::date;
use super::judge::code_rules;
use super::{Policy, rule};
use crate::model::judgement::RuleRef;
use crate::model::verdict::Verdict;

/// Whether a rule has a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Counts,
    /// It allows, and stands in a project policy that nobody trusted as it is now.
    Untrusted,
    /// It is built in, and a managed or user policy switched it off.
    Disabled,
    /// Its last day is over.
    Expired,
}

impl Standing {
    /// The word of lists.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counts => "counts",
            Self::Untrusted => "untrusted",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
        }
    }
}

/// One rule of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its text, id, layer and place.
    pub rule: RuleRef,
    /// What it says.
    pub verdict: Verdict,
    /// Whether it has a say.
    pub standing: Standing,
    /// The last day it applies, `YYYY-MM-DD`.
    pub expires: Option<String>,
    /// The profile it runs in, where it names one.
    pub sandbox: Option<String>,
    /// Whether it covers a run with the full network too.
    pub network: bool,
    /// How a command or a line has to be written for it, where that matters: `command` or `line`.
    pub as_written: Option<&'static str>,
    /// The programs it names without a wildcard.
    pub programs: Vec<Vec<u8>>,
}

impl Policy {
    /// Every rule, in the order of layers, files and lines. `today` is counted as in `Facts::today`.
    pub fn listing(&self, today: i64) -> Vec<Listed> {
        let code = code_rules()
            .into_iter()
            .enumerate()
            .map(|(at, (verdict, rule))| {
                let off = at > 0 && !self.read_only_defaults || self.is_disabled(&rule.id);
                Listed {
                    rule,
                    verdict,
                    standing: if off {
                        Standing::Disabled
                    } else {
                        Standing::Counts
                    },
                    expires: None,
                    sandbox: None,
                    network: false,
                    as_written: None,
                    programs: Vec::new(),
                }
            });
        let current = self.rules.iter().map(|rule| {
            let standing = if rule.is_current(today) {
                Standing::Counts
            } else {
                Standing::Expired
            };
            listed(rule, standing)
        });
        let aside = self
            .aside
            .iter()
            .map(|(rule, standing)| listed(rule, *standing));
        let mut all: Vec<Listed> = code.chain(current).chain(aside).collect();
        // Stable: what has no place of its own stays in front of its layer.
        all.sort_by(|one, other| {
            let place = |listed: &Listed| {
                listed
                    .rule
                    .place
                    .as_ref()
                    .map(|place| (place.file.clone(), place.line))
            };
            (one.rule.layer, place(one)).cmp(&(other.rule.layer, place(other)))
        });
        all
    }
}

fn listed(rule: &rule::Rule, standing: Standing) -> Listed {
    Listed {
        rule: rule.reference.clone(),
        verdict: rule.verdict,
        standing,
        expires: rule.conditions.expires.and_then(date::text),
        sandbox: rule.conditions.sandbox.as_ref().map(ToString::to_string),
        network: rule.conditions.network,
        as_written: rule.conditions.as_written.map(|how| match how {
            rule::AsWritten::Command => "command",
            rule::AsWritten::Line => "line",
        }),
        programs: rule.program_names(),
    }
}
