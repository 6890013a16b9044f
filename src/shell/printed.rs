//! What command substitutions print, as far as arithmetic is concerned: numbers and known text are
//! harmless there, text from files and programs is not.

use super::evaluated::names;
use crate::model::script::{RedirectionKind, Script, Span, SubCommand};

/// The command substitutions of a line.
#[derive(Default)]
pub(super) struct Substitutions(Vec<Substitution>);

/// Where one stands, and the sub-command that alone prints: the last of the only pipeline.
struct Substitution {
    span: Span,
    ending: Option<usize>,
}

impl Substitutions {
    /// Records one. Those inside it have been recorded before.
    pub(super) fn note(&mut self, span: Span, ending: Option<usize>) {
        self.0.push(Substitution { span, ending });
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets all but the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// The names in all that the substitutions within `span` print; none if one may print anything.
    pub(super) fn printed(&self, script: &Script, span: Span) -> Option<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        // The outer ones come later: what stands inside one prints into its command.
        let mut outer: Option<Span> = None;
        for each in self.0.iter().rev() {
            let inside = each.span.start >= span.start && each.span.end <= span.end;
            if !inside || outer.is_some_and(|outer| holds(outer, each.span)) {
                continue;
            }
            outer = Some(each.span);
            found.extend(
                each.ending
                    .and_then(|at| printed(script.subcommands.get(at)?))?,
            );
        }
        Some(found)
    }
}

/// Whether `inner` is a part of `outer`. Texts read a second time all have the same span.
fn holds(outer: Span, inner: Span) -> bool {
    outer != inner && outer.start <= inner.start && inner.end <= outer.end
}

/// The names in what a command prints; none if that can be anything.
fn printed(sub: &SubCommand) -> Option<Vec<Vec<u8>>> {
    let mixes = |kind| {
        matches!(
            kind,
            RedirectionKind::Duplicate | RedirectionKind::WriteBoth
        )
    };
    if sub.redirections.iter().any(|each| mixes(each.kind)) {
        // A message about what was found may quote it.
        return None;
    }
    if sub.context.call {
        return None;
    }
    let words = sub.static_argv()?;
    match words.as_slice() {
        [b"echo", words @ ..] if words.iter().all(|word| is_plain(word)) => {
            Some(words.iter().flat_map(|word| names(word)).collect())
        }
        words => counts(words).then(Vec::new),
    }
}

/// Neither a subscript nor an escape, whatever `echo` makes of it.
fn is_plain(word: &[u8]) -> bool {
    word.iter()
        .all(|&byte| byte.is_ascii_alphanumeric() || b" _+-*/%.,:=".contains(&byte))
}

/// Whether a command prints nothing but numbers.
fn counts(words: &[&[u8]]) -> bool {
    let is_operand = |word: &&[u8]| !word.starts_with(b"-");
    match words {
        [b"wc", b"-l" | b"-c" | b"-w" | b"-m"] | [b"nproc"] | [b"id", b"-u" | b"-g"] => true,
        [b"jobs", b"-p"] | [b"pgrep", b"-f" | b"-x", _] => true,
        [b"printf", b"%d" | b"%i" | b"%u", ..] => true,
        [b"date", format] | [b"date", b"-d", _, format] => is_clock(format),
        [
            b"stat",
            b"-c",
            b"%s" | b"%Y" | b"%X" | b"%u" | b"%g" | b"%a",
            files @ ..,
        ] => files.iter().all(is_operand),
        [b"git", b"rev-list", b"--count", names @ ..] => names.iter().all(is_operand),
        [b"seq", numbers @ ..] => numbers
            .iter()
            .all(|word| word.iter().all(u8::is_ascii_digit)),
        [b"grep", words @ ..] => {
            let operands = words.iter().position(is_operand);
            let (options, operands) = words.split_at(operands.unwrap_or(words.len()));
            counts_matches(options) && operands.len() < 3 && operands.iter().all(is_operand)
        }
        _ => false,
    }
}

/// Options of grep(1) under which it prints one number for one input.
fn counts_matches(options: &[&[u8]]) -> bool {
    let harmless = |option: &&[u8]| match option {
        [b'-', letters @ ..] => letters.iter().all(|letter| b"civwxEFGPsa".contains(letter)),
        _ => false,
    };
    options.iter().all(harmless) && options.iter().any(|option| option.contains(&b'c'))
}

/// A format of date(1) that makes numbers.
fn is_clock(format: &[u8]) -> bool {
    let Some(mut rest) = format.strip_prefix(b"+") else {
        return false;
    };
    loop {
        rest = match rest {
            [] => return true,
            [b'%', letter, after @ ..] if b"sNYmdHMSjuy".contains(letter) => after,
            [byte, after @ ..] if byte.is_ascii_digit() || b"-:/. ".contains(byte) => after,
            _ => return false,
        };
    }
}
