//! The rule language: text in, judgement out. Pure: no files, environment, clock or process.
//!
//! ```text
//! Source text --load--> Policy ─┐
//! Script --survey--> Survey ────┼──judge──> Judgement
//! Resolved, Facts ──────────────┘
//! ```
//!
//! * `load` reads policy texts strictly: whatever it does not understand is an error with its place.
//! * `survey` looks through carriers (`sh -c`, `env`, `xargs`, …) and lists what each sub-command
//!   accesses.
//! * `judge` gives the verdict; the strictest wins and the order of rules never matters.
//!
//! What programs do with their arguments is data: `policies/programs/*.toml`.
#![forbid(unsafe_code)]

mod danger;
mod date;
mod edit;
mod error;
mod examples;
mod glob;
mod index;
mod judge;
pub mod keys;
mod kind;
mod knowledge;
mod layout;
mod lex;
mod listing;
mod load;
mod path_pattern;
mod pattern;
mod reader;
mod rule;
mod settings;
mod suggest;
mod survey;
mod trial;
mod words;

use crate::model::access::Facts;
use crate::model::judgement::{Layer, RuleRef};
use crate::model::profile::Profile;
use crate::model::script::{Dialect, Script, SyntaxError};
use crate::model::verdict::Verdict;

pub use danger::{Danger, danger};
pub use edit::{EditError, Removed, add, remove};
pub use error::{Fault, PolicyError};
pub use judge::{Found, judge, judge_deed};
pub use knowledge::{Program, ProgramFile, program_files};
pub use layout::{LayoutError, laid_out};
pub use listing::{Listed, Standing};
pub use load::load;
pub use settings::{Approvals, Headless, Settings};
pub use suggest::nearest;
pub use survey::survey;
pub use trial::{Matched, Trial, Tried};

/// The JSON Schema (draft 2020-12) of a policy file, for editors; the loader is stricter.
pub const SCHEMA: &str = include_str!("../../docs/policy.schema.json");

/// The shell's parser, handed in so that this stage imports the model alone.
pub type Parse = fn(&[u8], Dialect) -> Result<Script, SyntaxError>;

/// One policy text and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its layer.
    pub layer: Layer,
    /// The file as people know it, for errors and explanations.
    pub name: String,
    /// The TOML text.
    pub text: String,
    /// Whether a person trusted exactly this text. Only a project text can be untrusted: its allow
    /// rules then do not count, its ask and deny rules do.
    pub trusted: bool,
}

/// All layers, checked and compiled.
#[derive(Debug)]
pub struct Policy {
    rules: index::Rules,
    /// Which of them name a profile to run in; few or none, and looked at for every line.
    confining: Vec<usize>,
    /// Rules that do not count, and why; they are listed and nothing else.
    aside: Vec<(rule::Rule, Standing)>,
    settings: Settings,
    read_only_defaults: bool,
    disabled: Vec<String>,
}

impl Policy {
    /// What the policy says beside its rules; where layers differ, the strictest.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same policy, in which every rule is looked at instead of those the index finds: what the index
    /// is tested against.
    #[doc(hidden)]
    #[must_use]
    pub fn scanned(self) -> Self {
        Self {
            rules: self.rules.scanned(),
            ..self
        }
    }

    /// Every rule with its verdict, in the order of layers and places; for `policy check`.
    pub fn rules(&self) -> impl Iterator<Item = (&RuleRef, Verdict)> {
        self.rules
            .iter()
            .map(|rule| (&rule.reference, rule.verdict))
    }

    /// The programs that deny and ask rules name without a wildcard: resolve finds copies of them.
    pub fn restricted_names(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = self
            .rules
            .iter()
            .filter(|rule| rule.verdict != Verdict::Allow)
            .flat_map(rule::Rule::program_names)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether the built-in read-only rules apply.
    pub const fn read_only_defaults(&self) -> bool {
        self.read_only_defaults
    }

    fn is_disabled(&self, id: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled == id)
    }
}

/// The deny rules on paths and hosts that a run in this profile could break: a program reaches the path
/// or host by means no command line shows, and nothing in the sandbox guards it. Such a run has to be
/// refused. Rules that say `advisory = true` are not among them.
pub fn unenforceable(policy: &Policy, profile: &Profile, facts: &Facts) -> Vec<RuleRef> {
    policy
        .rules
        .iter()
        .filter(|rule| rule.needs_guard(profile, facts))
        .map(|rule| rule.reference.clone())
        .collect()
}
