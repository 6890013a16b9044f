//! Which rules of a policy some case decided by.

use std::collections::BTreeSet;

use super::Policy;
use super::listing::{Listed, Standing};
use crate::model::judgement::{Judgement, Layer, RuleRef};

/// The rules that cases were decided by.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    hit: BTreeSet<(Layer, String)>,
}

impl Coverage {
    /// Notes every rule that has a say in a judgement.
    pub fn note(&mut self, judgement: &Judgement) {
        let rules = judgement
            .subcommands
            .iter()
            .flat_map(|sub| &sub.accesses)
            .filter_map(|access| access.rule.as_ref());
        for rule in rules {
            self.hit.insert(key(rule));
        }
    }

    /// The rules of people that count and that no case was decided by, in the order of the policy; and
    /// how many such rules there are in all.
    pub fn missing(&self, policy: &Policy, today: i64) -> (Vec<Listed>, usize) {
        let written: Vec<Listed> = policy
            .listing(today)
            .into_iter()
            .filter(|listed| {
                listed.rule.layer != Layer::BuiltIn && listed.standing == Standing::Counts
            })
            .collect();
        let all = written.len();
        let missing = written
            .into_iter()
            .filter(|listed| !self.hit.contains(&key(&listed.rule)))
            .collect();
        (missing, all)
    }
}

/// One-line rules on the same line of one file share an id, so the text belongs to it.
fn key(rule: &RuleRef) -> (Layer, String) {
    let place = rule
        .place
        .as_ref()
        .map(|place| format!("{}:{} ", place.file, place.line))
        .unwrap_or_default();
    (rule.layer, format!("{place}{} {}", rule.id, rule.text))
}
