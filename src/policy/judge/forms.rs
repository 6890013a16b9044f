//! The forms in which a deny rule sees one command: under every name, past global options, as the
//! interpreters of a script are started, and as the program whose module runs.

use super::view::{View, chain};
use crate::model::executable::{Executable, Format};
use crate::model::path::AbsolutePath;
use crate::model::script::{SubCommand, Word};
use crate::policy::knowledge::{Inner, ValueKind, carried};

/// Global options a deny rule looks past one by one. A line with more is no work of people: it asks.
const STARTS: usize = 16;

/// One program that starts, with what it may be called and given.
#[derive(Debug)]
pub(super) struct Form<'a> {
    /// Its names, without folders.
    pub(super) names: Vec<Vec<u8>>,
    /// Where it is.
    pub(super) paths: Vec<AbsolutePath>,
    /// The file, whose content counts.
    pub(super) file: Option<&'a Executable>,
    /// Its argv, in every spelling.
    pub(super) argvs: Vec<Vec<Word>>,
    /// Whether there are more spellings than are worked out.
    pub(super) more: bool,
}

impl Form<'_> {
    /// Last components of its names and paths.
    pub(super) fn base_names(&self) -> impl Iterator<Item = &[u8]> {
        let paths = self.paths.iter().map(AbsolutePath::base_name);
        self.names.iter().map(Vec::as_slice).chain(paths)
    }
}

/// Every form; none for a command whose name is not known.
pub(super) fn forms<'a>(view: &View<'a>) -> Vec<Form<'a>> {
    let mut forms: Vec<Form<'a>> = as_written(view).into_iter().collect();
    if !forms.is_empty() {
        interpreters(view, &mut forms);
        forms.extend(module(view));
    }
    forms
}

fn as_written<'a>(view: &View<'a>) -> Option<Form<'a>> {
    let mut names = vec![view.base_name()?.to_vec()];
    let file = view.lookup.executable();
    let known = file.iter().flat_map(|file| file.base_names());
    let copied = file.and_then(|file| view.scene.copies(file));
    let copied = copied.into_iter().flatten().map(Vec::as_slice);
    for name in known.chain(copied) {
        if !names.iter().any(|other| other == name) {
            names.push(name.to_vec());
        }
    }
    let written = view.sub.program().filter(|name| name.contains(&b'/'));
    let written = written.and_then(|name| Some(view.folder.as_ref()?.join_bytes(name)));
    let found = file.iter().flat_map(|file| [&file.path, &file.real]);
    let starts = starts(view);
    Some(Form {
        paths: found.cloned().chain(written).collect(),
        file,
        argvs: spellings(&view.sub.argv, &names, starts.iter().take(STARTS)),
        more: starts.len() > STARTS,
        names,
    })
}

/// `python -m pip install` is `pip install`, though no file called pip is started.
fn module<'a>(view: &View<'_>) -> Option<Form<'a>> {
    let seen = &view.reading.seen;
    let seen = seen
        .iter()
        .find(|seen| seen.kind() == Some(ValueKind::Module))?;
    let name = seen.value.as_ref().and_then(Word::as_static)?;
    // Everything behind the module is its own.
    let option = view.sub.argv.get(seen.index)?.static_prefix();
    let apart = match option {
        [b'-', b'-', ..] => !option.contains(&b'='),
        // The letter comes last, or the module is glued to it.
        _ => {
            option
                .iter()
                .position(|byte| seen.spelling.last() == Some(byte))
                == option.len().checked_sub(1)
        }
    };
    let behind = seen.index + 1 + usize::from(apart);
    let outer = name.split(|byte| *byte == b'.').next().unwrap_or(name);
    let mut names = vec![name.to_vec()];
    if outer != name {
        names.push(outer.to_vec());
    }
    let mut own = vec![seen.value.clone()?];
    own.extend_from_slice(view.sub.argv.get(behind..).unwrap_or_default());
    let mut starts = vec![1];
    starts.extend(unread_starts(&own));
    Some(Form {
        argvs: spellings(&own, &names, starts.iter().take(STARTS)),
        more: starts.len() > STARTS,
        names,
        paths: Vec::new(),
        file: None,
    })
}

/// A script runs its interpreter: `#!/usr/bin/env python3` starts env, and env starts python3.
fn interpreters<'a>(view: &View<'a>, forms: &mut Vec<Form<'a>>) {
    let Some(file) = view.lookup.executable() else {
        return;
    };
    let span = view
        .sub
        .argv
        .first()
        .map(|word| word.span)
        .unwrap_or_default();
    let mut argv = view.sub.argv.clone();
    for file in chain(file) {
        let Format::Script {
            interpreter,
            argument,
        } = &file.format
        else {
            break;
        };
        let mut started = vec![Word::text(span, interpreter.path.as_bytes())];
        started.extend(
            argument
                .iter()
                .map(|argument| Word::text(span, argument.as_slice())),
        );
        started.push(Word::text(span, file.path.as_bytes()));
        started.extend(argv.iter().skip(1).cloned());
        argv = started;
        let inner = inside(view, &argv);
        forms.push(run_by(interpreter, argv.clone(), &interpreter.base_names()));
        forms.extend(inner.into_iter().map(|argv| run_by(interpreter, argv, &[])));
    }
}

/// What an interpreter is started as, or starts itself.
fn run_by<'a>(interpreter: &'a Executable, argv: Vec<Word>, known: &[&[u8]]) -> Form<'a> {
    let first = argv.first().and_then(Word::as_static);
    let called = first.and_then(|name| name.rsplit(|byte| *byte == b'/').next());
    Form {
        names: called
            .into_iter()
            .chain(known.iter().copied())
            .map(<[u8]>::to_vec)
            .collect(),
        // A program whose name is not known is no file that a rule could name either.
        paths: match first {
            Some(_) => vec![interpreter.path.clone(), interpreter.real.clone()],
            None => Vec::new(),
        },
        file: first.map(|_| interpreter),
        argvs: vec![argv],
        more: false,
    }
}

/// The argvs a carrier argv starts, one level down.
fn inside(view: &View<'_>, argv: &[Word]) -> Vec<Vec<Word>> {
    let sub = SubCommand {
        argv: argv.to_vec(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        carrier: None,
        ..view.sub.clone()
    };
    let inner = carried(&sub).inner;
    inner
        .into_iter()
        .filter_map(|inner| match inner {
            Inner::Argv { argv, .. } => Some(argv),
            Inner::Text { .. } => None,
        })
        .collect()
}

/// Where the words a rule speaks of may start: after the name, and past every global option.
fn starts(view: &View<'_>) -> Vec<usize> {
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
        starts.extend(unread_starts(argv));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The same where it is not known what the options take: behind every word up to the second in a row that
/// is none.
fn unread_starts(argv: &[Word]) -> impl Iterator<Item = usize> {
    let option = |at: usize| argv.get(at).is_some_and(is_option);
    (1..argv.len())
        .take_while(move |at| option(*at) || (*at > 1 && option(at - 1)))
        .map(|at| at + 1)
}

/// Whether the word looks like a global option; `cargo +nightly` has one too.
fn is_option(word: &Word) -> bool {
    word.static_prefix().starts_with(b"-") || word.static_prefix().starts_with(b"+")
}

/// The argv in every form a deny rule sees: under each name, and past global options.
fn spellings<'a>(
    argv: &[Word],
    names: &[Vec<u8>],
    starts: impl Iterator<Item = &'a usize>,
) -> Vec<Vec<Word>> {
    let span = argv.first().map(|word| word.span).unwrap_or_default();
    let mut spellings = Vec::new();
    for start in starts {
        let rest = argv.get(*start..).unwrap_or_default();
        for name in names {
            let mut spelled = vec![Word::text(span, name.as_slice())];
            spelled.extend_from_slice(rest);
            if !spellings.contains(&spelled) {
                spellings.push(spelled);
            }
        }
    }
    spellings
}
