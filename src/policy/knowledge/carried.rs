//! Which further commands an argv starts.

use super::grammar::{Carrier, CarrierKind, Effect, OperandKind, ValueKind};
use super::reading::Reading;
use super::text::Safety;
use super::{Known, known, read};
use crate::model::script::{Assignment, Dialect, Piece, SubCommand, Word};
use crate::policy::words::{is_many, unknown_words, without_prefix};

/// A command inside an argv.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// Words that are executed.
    Argv {
        argv: Vec<Word>,
        assignments: Vec<Assignment>,
        /// The folder it starts in, when the carrier changes it.
        folder: Option<Word>,
    },
    /// Text that a shell reads.
    Text {
        text: Word,
        /// The shells that may read it; where they differ the text is opaque.
        dialects: &'static [Dialect],
    },
}

impl Inner {
    /// How many words it holds.
    pub(crate) fn words(&self) -> usize {
        match self {
            Self::Argv { argv, .. } => argv.len(),
            Self::Text { .. } => 1,
        }
    }
}

/// What an argv carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Commands that can be seen.
    pub(crate) inner: Vec<Inner>,
    /// Something is started that no word of the argv tells, or a word that is not known.
    pub(crate) unknown: Option<&'static str>,
    /// Words that may start something; an allow rule covers them only by spelling them out.
    pub(crate) suspects: Vec<usize>,
    /// The inner argv starts at this word and may be covered by a rule of the runner that reaches
    /// into it.
    pub(crate) runner_at: Option<usize>,
}

impl Carried {
    pub(super) fn dynamic(&mut self, reason: &'static str) {
        self.unknown.get_or_insert(reason);
    }
}

pub(super) const POSIX_OR_BASH: &[Dialect] = &[Dialect::Posix, Dialect::Bash];
const BASH: &[Dialect] = &[Dialect::Bash];

/// Looks into the argv of `sub`.
pub(crate) fn carried(sub: &SubCommand) -> Carried {
    let mut carried = Carried::default();
    let reading = read(sub);
    super::variables::variables(sub, &reading, &mut carried);
    let Some(name) = sub.program() else {
        return carried;
    };
    match known(name) {
        Known::Program(_) => {}
        Known::Unknown => return carried,
        Known::Broken => {
            carried.dynamic("what the program starts is not known");
            return carried;
        }
    }
    options(&reading, &mut carried);
    for (index, safety) in reading.texts() {
        match safety {
            Safety::Harmless => {}
            Safety::Unknown => carried.suspects.push(index),
        }
    }
    variables(sub, &reading, &mut carried);
    super::settings::settings(sub, &reading, &mut carried);
    // An option that could appear and start something.
    let starts = reading.level().is_some_and(|level| {
        let executes = level
            .options
            .iter()
            .any(|spec| spec.effect == Effect::Executes);
        executes
            || level
                .carrier
                .as_ref()
                .is_some_and(|carrier| carrier.kind == CarrierKind::Find)
    });
    if starts {
        carried.suspects.extend(&reading.loose);
    }
    if let Some(carrier) = reading.level().and_then(|level| level.carrier.as_ref()) {
        let idle = carrier.unless.iter().any(|option| reading.has(option))
            || !(carrier.only_with.is_empty()
                || carrier.only_with.iter().any(|option| reading.has(option)));
        if !idle {
            carrier_argv(sub, &reading, carrier, &mut carried);
        }
    }
    carried.suspects.sort_unstable();
    carried.suspects.dedup();
    carried
}

fn options(reading: &Reading<'_>, carried: &mut Carried) {
    for seen in &reading.seen {
        match (seen.kind(), &seen.value) {
            (Some(ValueKind::Command | ValueKind::Shell), Some(value))
                if value.as_static().is_none() =>
            {
                carried.dynamic("the program an option names is known only when it runs");
            }
            (Some(ValueKind::Command), Some(value)) => carried.inner.push(Inner::Argv {
                argv: vec![value.clone(), unknown_words(value)],
                assignments: Vec::new(),
                folder: None,
            }),
            (Some(ValueKind::Shell), Some(value)) => carried.inner.push(Inner::Text {
                text: value.clone(),
                dialects: POSIX_OR_BASH,
            }),
            (Some(_) | None, _) => {
                if seen.effect() == Some(Effect::Executes) {
                    carried.suspects.push(seen.index);
                }
            }
        }
    }
}

/// Built-ins that evaluate names: a subscript holds arithmetic, and arithmetic holds substitutions.
fn variables(sub: &SubCommand, reading: &Reading<'_>, carried: &mut Carried) {
    if !reading.level().is_some_and(|level| level.reads_variables) {
        return;
    }
    for (index, word) in sub.argv.iter().enumerate().skip(1) {
        let runs = word.as_static().is_some_and(|text| {
            text.contains(&b'[')
                && (text.contains(&b'`') || text.windows(2).any(|pair| pair == b"$("))
        });
        if runs {
            carried.suspects.push(index);
        }
    }
    evaluated(sub, carried);
    // A name that is not known could be one the shell obeys.
    let named = reading.uses().into_iter().filter(|operand| {
        operand.kind == Some(OperandKind::Variable)
            && sub.argv.get(operand.index).is_some_and(|word| {
                word.as_static().is_none() && !word.static_prefix().contains(&b'=')
            })
    });
    carried.suspects.extend(named.map(|operand| operand.index));
}

/// Words that may turn into a name with a subscript, or into the operator that evaluates one.
fn evaluated(sub: &SubCommand, carried: &mut Carried) {
    let is_dynamic = |word: &Word| word.as_static().is_none();
    let words = || sub.argv.iter().enumerate().skip(1);
    match sub.program() {
        Some(b"let") => {
            carried.suspects.extend(
                words()
                    .filter(|(_, word)| is_dynamic(word))
                    .map(|(at, _)| at),
            );
        }
        Some(b"test" | b"[") => {
            for (at, word) in words().filter(|(_, word)| is_dynamic(word)) {
                let before = sub.argv.get(at - 1);
                let after_operator = before.is_some_and(|before| {
                    (at > 1 && is_dynamic(before))
                        || matches!(before.as_static(), Some(b"-v" | b"-R"))
                });
                // An unquoted word may become operator and name at once.
                if after_operator || is_many(word) {
                    carried.suspects.push(at);
                }
            }
        }
        Some(_) | None => {}
    }
}

fn carrier_argv(sub: &SubCommand, reading: &Reading<'_>, carrier: &Carrier, carried: &mut Carried) {
    let operands = &reading.operands;
    match carrier.kind {
        CarrierKind::Unknown => {
            carried.dynamic("what the program starts cannot be told from its arguments");
            if carrier.guess {
                guess(sub, carried);
            }
        }
        CarrierKind::Argv | CarrierKind::Runner => argv(sub, reading, carrier, carried),
        CarrierKind::Applet => {
            if let Some(index) = operands.first() {
                push_argv(carried, rest(sub, *index), Vec::new(), None);
            }
        }
        CarrierKind::Eval | CarrierKind::ShellOperands => {
            let words: Vec<&Word> = operands
                .iter()
                .skip(carrier.skip)
                .filter_map(|index| sub.argv.get(*index))
                .collect();
            text(&words, carrier.kind, carried);
        }
        CarrierKind::Find => find(sub, reading, carried),
        CarrierKind::Shell => shell(sub, reading, carried),
    }
}

/// Most words that are tried as programs: a line with more is no work for rules.
const GUESSES: usize = 16;

/// Every word that could be the program, as one; and as a text, where it holds several words.
fn guess(sub: &SubCommand, carried: &mut Carried) {
    let words = sub.argv.iter().enumerate().skip(1).take(GUESSES);
    for (at, word) in words {
        match word.as_static() {
            Some(text) if text.contains(&b' ') => carried.inner.push(Inner::Text {
                text: word.clone(),
                dialects: POSIX_OR_BASH,
            }),
            Some(text) if !text.is_empty() && !text.starts_with(b"-") => {
                push_argv(carried, rest(sub, at), Vec::new(), None);
            }
            Some(_) | None => {}
        }
    }
}

fn rest(sub: &SubCommand, from: usize) -> Vec<Word> {
    sub.argv.get(from..).unwrap_or_default().to_vec()
}

/// A program word that may vanish or become several cannot be told from its operands.
fn push_argv(
    carried: &mut Carried,
    argv: Vec<Word>,
    assignments: Vec<Assignment>,
    folder: Option<Word>,
) {
    if argv.first().is_some_and(|word| word.as_static().is_none()) {
        carried.dynamic("the program it starts is known only when it runs");
    }
    carried.inner.push(Inner::Argv {
        argv,
        assignments,
        folder,
    });
}

fn argv(sub: &SubCommand, reading: &Reading<'_>, carrier: &Carrier, carried: &mut Carried) {
    let words: Vec<usize> = reading.operands.clone();
    // A word before the inner program that may become several moves everything after it.
    let moved = words
        .iter()
        .take(carrier.skip)
        .chain(&reading.loose)
        .filter(|index| words.get(carrier.skip).is_none_or(|start| *index <= start))
        .filter_map(|index| sub.argv.get(*index))
        .any(is_many);
    if moved {
        carried.dynamic("the program it starts is known only when it runs");
    }
    let mut operands = words.into_iter().skip(carrier.skip).peekable();
    let mut assignments = Vec::new();
    while carrier.assignments
        && let Some(assignment) = operands
            .peek()
            .and_then(|index| sub.argv.get(*index))
            .and_then(assignment)
    {
        assignments.push(assignment);
        operands.next();
    }
    let folder = reading
        .seen
        .iter()
        .filter(|seen| seen.kind() == Some(ValueKind::Folder))
        .filter_map(|seen| seen.value.clone())
        .next_back();
    let Some(start) = operands.next() else {
        if let (Some(alone), Some(last)) = (&carrier.alone, sub.argv.last()) {
            // What it starts stands in no word of the line; more words are added where it runs.
            let mut argv: Vec<Word> = alone
                .iter()
                .map(|word| Word::text(last.span, word.as_bytes().to_vec()))
                .collect();
            if !argv.is_empty() {
                if carrier.appends {
                    argv.push(unknown_words(last));
                }
                push_argv(carried, argv, Vec::new(), None);
            }
        } else if !assignments.is_empty() {
            carried.inner.push(Inner::Argv {
                argv: Vec::new(),
                assignments,
                folder: None,
            });
        }
        return;
    };
    if reading
        .seen
        .iter()
        .any(|seen| seen.kind() == Some(ValueKind::Shell))
    {
        // `env -S TEXT WORD…`: the words belong to the command of the text.
        carried.dynamic("an option and the words after it make one command");
    }
    let mut inner = rest(sub, start);
    // `flock FILE -c TEXT`; its own options end at the file, so this one is not abbreviated.
    let takes_text = matches!(
        inner.first().and_then(Word::as_static),
        Some(b"-c" | b"--command")
    );
    if carrier.skip > 0 && takes_text {
        let words: Vec<&Word> = inner.iter().skip(1).collect();
        return text(&words, CarrierKind::ShellOperands, carried);
    }
    if let (true, Some(last)) = (carrier.appends, sub.argv.last()) {
        replaced(reading, &mut inner);
        inner.push(unknown_words(last));
    }
    if carrier.kind == CarrierKind::Runner {
        carried.runner_at = Some(start);
    }
    if carrier.joins {
        joined(&inner, carried);
    }
    push_argv(carried, inner, assignments, folder);
}

/// `xargs -I {}` puts its input in place of the mark.
fn replaced(reading: &Reading<'_>, inner: &mut [Word]) {
    for seen in &reading.seen {
        let mark = match seen.spelling.as_slice() {
            b"-I" | b"--replace" | b"-i" => match seen.value.as_ref().map(Word::as_static) {
                Some(Some(mark)) => mark.to_vec(),
                Some(None) | None => b"{}".to_vec(),
            },
            _ => continue,
        };
        for word in inner.iter_mut() {
            let hit = !mark.is_empty()
                && word
                    .as_static()
                    .is_some_and(|text| text.windows(mark.len()).any(|window| window == mark));
            if hit {
                *word = unknown_words(word);
            }
        }
    }
}

/// `ssh HOST 'a; b'`: where the words hold more than words, they are a text too.
fn joined(inner: &[Word], carried: &mut Carried) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:=,@%+-".contains(byte);
    let plain = |word: &Word| {
        word.as_static()
            .is_some_and(|text| text.iter().all(is_word))
    };
    if !inner.iter().all(plain) {
        let words: Vec<&Word> = inner.iter().collect();
        text(&words, CarrierKind::ShellOperands, carried);
    }
}

fn assignment(word: &Word) -> Option<Assignment> {
    let known = word.static_prefix();
    let equals = known.iter().position(|byte| *byte == b'=')?;
    Some(Assignment {
        name: known.get(..equals)?.to_vec(),
        value: without_prefix(word, equals + 1),
    })
}

/// The words of `eval` and of programs that hand their operands to a shell, joined by blanks.
fn text(words: &[&Word], kind: CarrierKind, carried: &mut Carried) {
    let Some(first) = words.first() else {
        return;
    };
    let texts: Option<Vec<&[u8]>> = words.iter().map(|word| word.as_static()).collect();
    match texts {
        Some(texts) => carried.inner.push(Inner::Text {
            text: Word::text(first.span, texts.join(&b' ')),
            dialects: if kind == CarrierKind::Eval {
                BASH
            } else {
                POSIX_OR_BASH
            },
        }),
        None => carried.dynamic("the command line it reads is known only when it runs"),
    }
}

/// `-exec`, `-execdir`, `-ok`, `-okdir` up to `;` or `+`.
fn find(sub: &SubCommand, reading: &Reading<'_>, carried: &mut Carried) {
    let start = starting_points(sub, reading);
    let mut words = sub.argv.iter().skip(1);
    while let Some(word) = words.next() {
        let (folder, start) = match word.as_static() {
            Some(b"-exec" | b"-ok") => (None, start.as_deref()),
            // It starts in the folder of what was found, and is told `./NAME`.
            Some(b"-execdir" | b"-okdir") => (Some(unknown_words(word)), Some(b".".as_slice())),
            Some(_) | None => continue,
        };
        let mut inner: Vec<Word> = Vec::new();
        // `+` is an end right after `{}` alone.
        let mut may_end = false;
        for word in words.by_ref() {
            let text = word.as_static();
            if text == Some(b";") || may_end && text == Some(b"+") {
                break;
            }
            may_end = text == Some(b"{}");
            let holds_mark = text.is_some_and(|text| text.windows(2).any(|pair| pair == b"{}"));
            inner.push(if holds_mark {
                found_file(word, start)
            } else {
                word.clone()
            });
        }
        push_argv(carried, inner, Vec::new(), folder);
    }
}

/// What every starting point starts with, `.` without any; `None` where that could be an option or is
/// not known.
fn starting_points(sub: &SubCommand, reading: &Reading<'_>) -> Option<Vec<u8>> {
    let mut common: Option<&[u8]> = None;
    if !reading.loose.is_empty() {
        return None;
    }
    for index in &reading.operands {
        let text = sub.argv.get(*index)?.as_static()?;
        let first = text
            .get(..1)
            .filter(|first| !matches!(*first, b"-" | b"(" | b"!" | b","))?;
        if common.is_some_and(|common| common != first) {
            return None;
        }
        common = Some(first);
    }
    Some(common.unwrap_or(b".").to_vec())
}

/// The names find puts in place of `{}`: they start with the starting point and are never split.
/// `-execdir` puts `./` before them.
fn found_file(word: &Word, start: Option<&[u8]>) -> Word {
    let mut found = unknown_words(word);
    if let (Some(start), Some(b"{}")) = (start, word.as_static()) {
        found.pieces.insert(0, Piece::Text(start.to_vec()));
    }
    found
}

/// A shell with `-c TEXT`, with a script file, or reading its input.
fn shell(sub: &SubCommand, reading: &Reading<'_>, carried: &mut Carried) {
    let idle = ["--version", "--help"]
        .iter()
        .any(|option| reading.has(option));
    if idle {
        return;
    }
    let name = sub.program().unwrap_or_default();
    let base = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let (dialects, foreign): (&'static [Dialect], bool) = match base {
        b"bash" | b"rbash" => (BASH, false),
        b"sh" | b"dash" | b"ash" => (POSIX_OR_BASH, false),
        _ => (POSIX_OR_BASH, true),
    };
    if foreign {
        carried.dynamic("the text is for a shell whose grammar is not known here");
    }
    let first = reading
        .operands
        .first()
        .and_then(|index| sub.argv.get(*index));
    if !reading.loose.is_empty() {
        carried.dynamic("what the shell reads is known only when it runs");
    }
    match (reading.has("-c"), first) {
        (true, Some(text)) if text.as_static().is_some() => carried.inner.push(Inner::Text {
            text: text.clone(),
            dialects,
        }),
        (true, _) => carried.dynamic("the command line it reads is known only when it runs"),
        (false, Some(script)) if !reading.has("-s") => {
            let mut argv = reading
                .operands
                .first()
                .map(|index| rest(sub, *index))
                .unwrap_or_default();
            if let (Some(first), Some(text)) = (argv.first_mut(), script.as_static())
                && !text.contains(&b'/')
            {
                // The shell opens it in its folder before it looks in PATH.
                *first = Word::text(script.span, [b"./", text].concat());
            }
            push_argv(carried, argv, Vec::new(), None);
        }
        (false, _) => carried.dynamic("the shell reads its commands from its input"),
    }
}
