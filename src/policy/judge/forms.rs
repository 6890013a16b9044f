//! The forms in which a deny rule sees one argv: under every name, and past global options.

use super::view::View;
use crate::model::script::Word;

/// Global options a deny rule looks past one by one. A line with more is no work of people: it asks.
pub(super) const STARTS: usize = 16;

/// Where the words a rule speaks of may start: after the name, and past every global option.
pub(super) fn starts(view: &View<'_>) -> Vec<usize> {
    let argv = &view.sub.argv;
    let reading = &view.reading;
    let mut starts: Vec<usize> = vec![1];
    let known = reading.names_at.first();
    if let Some(name_at) = known.or(reading.unknown_name_at.as_ref()) {
        let seen = reading.seen.iter().map(|seen| seen.index);
        let words = seen.chain(reading.loose.iter().copied());
        starts.extend(words.filter(|at| at < name_at));
        starts.push(*name_at);
    }
    let unknown_option = reading
        .seen
        .iter()
        .any(|seen| seen.spec.is_none() && known.is_some_and(|name_at| seen.index < *name_at));
    if known.is_none() || unknown_option {
        // What the options take is not known: every word up to the second in a row that is none.
        for (at, word) in argv.iter().enumerate().skip(1) {
            let after_option = at > 1 && argv.get(at - 1).is_some_and(is_option);
            if !is_option(word) && !after_option {
                break;
            }
            starts.push(at + 1);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Whether the word looks like a global option; `cargo +nightly` has one too.
fn is_option(word: &Word) -> bool {
    word.static_prefix().starts_with(b"-") || word.static_prefix().starts_with(b"+")
}

/// The argv in every form a deny rule sees: under each name, and past global options.
pub(super) fn spellings<'a>(
    view: &View<'_>,
    names: &[&[u8]],
    starts: impl Iterator<Item = &'a usize>,
) -> Vec<Vec<Word>> {
    let argv = &view.sub.argv;
    let span = argv.first().map(|word| word.span).unwrap_or_default();
    let mut spellings = Vec::new();
    for start in starts {
        let rest = argv.get(*start..).unwrap_or_default();
        for name in names {
            let mut spelled = vec![Word::text(span, *name)];
            spelled.extend_from_slice(rest);
            if !spellings.contains(&spelled) {
                spellings.push(spelled);
            }
        }
    }
    spellings
}
