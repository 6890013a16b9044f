//! How far a decision about a command reaches among what the command starts.

use super::knowledge::{CarrierKind, Inner, carried, known, read};
use crate::model::script::SubCommand;

/// What a decision about one command covers beside the command itself, as its program's knowledge tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Whether it reaches what the program starts. It does not reach through a carrier: what that starts
    /// is named in its argv, judged by itself, and judged again when it starts.
    pub below: bool,
    /// The names of the program's own helpers: all that an allowance as read-only reaches.
    pub helpers: Vec<String>,
}

/// The reach of a decision about `sub`.
pub fn reach(sub: &SubCommand) -> Reach {
    let reading = read(sub);
    let carrier = reading.level().and_then(|level| level.carrier.as_ref());
    let carried = carried(sub);
    let starts = !carried.inner.is_empty() || carried.unknown.is_some();
    let below = match carrier.map(|carrier| carrier.kind) {
        None => !matches!(
            sub.program().map(known),
            Some(super::knowledge::Known::Broken)
        ),
        // A runner runs what it fetched, or runs it elsewhere: the rule that spells it out covers both.
        Some(CarrierKind::Runner) => true,
        // A shell that reads a script is that script.
        Some(CarrierKind::Shell) => matches!(carried.inner.as_slice(), [Inner::Argv { .. }]),
        Some(
            CarrierKind::Argv
            | CarrierKind::Eval
            | CarrierKind::ShellOperands
            | CarrierKind::Find
            | CarrierKind::Applet
            | CarrierKind::Unknown,
        ) => !starts,
    };
    let helpers = reading
        .levels
        .iter()
        .flat_map(|level| level.helpers.iter().cloned())
        .collect();
    Reach { below, helpers }
}

#[cfg(test)]
mod tests {
    use super::reach;
    use crate::model::script::{Context, Folder, Span, SubCommand, Word};

    fn below(words: &[&str]) -> bool {
        reach(&sub(words)).below
    }

    fn sub(words: &[&str]) -> SubCommand {
        SubCommand {
            span: Span::default(),
            context: Context::default(),
            folder: Folder::Start,
            argv: words
                .iter()
                .map(|word| Word::text(Span::default(), word.as_bytes()))
                .collect(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            carrier: None,
        }
    }

    #[test]
    fn programs_and_scripts_reach_down_and_carriers_do_not() {
        for words in [
            &["make"][..],
            &["./tool", "x"],
            &["sh", "./script.sh", "x"],
            &["npx", "prettier"],
            &["find", ".", "-name", "x"],
        ] {
            assert!(below(words), "{words:?}");
        }
        for words in [
            &["sh", "-c", "make"][..],
            &["bash"],
            &["env", "make"],
            &["xargs", "rm"],
            &["timeout", "5", "make"],
            &["find", ".", "-exec", "rm", "{}", ";"],
        ] {
            assert!(!below(words), "{words:?}");
        }
    }

    #[test]
    fn helpers_are_those_of_the_program_and_its_command() {
        assert!(
            reach(&sub(&["git", "log"]))
                .helpers
                .contains(&"less".to_owned())
        );
        assert!(reach(&sub(&["ls"])).helpers.is_empty());
    }
}
