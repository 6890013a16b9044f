//! Carriers, looked through: each inner command becomes a sub-command of its own.

use crate::model::access::Facts;
use crate::model::script::{Context, Dialect, Folder, Opaque, Script, Span, SubCommand, Word};
use crate::policy::Parse;
use crate::policy::knowledge::{Inner, carried};

/// Carriers inside carriers: more is nobody's work.
const DEPTH: usize = 24;
/// Sub-commands of one line, carried ones included.
const COUNT: usize = 4096;
/// Words of all carried commands: a program whose every word is tried as one copies the rest each time.
const WORDS: usize = 100_000;

pub(super) fn unfold(script: &mut Script, facts: &Facts, parse: Parse) {
    let mut at = 0;
    let mut words = 0_usize;
    while let Some(sub) = script.subcommands.get(at) {
        let carrier = sub.clone();
        let inner = match carrier.context.call {
            true => Vec::new(),
            false => carried(&carrier).inner,
        };
        words += inner.iter().map(Inner::words).sum::<usize>();
        let many = script.subcommands.len() > COUNT || words > WORDS;
        if !inner.is_empty() && (depth(script, at) >= DEPTH || many) {
            script.opaque.push(Opaque {
                span: carrier.span,
                reason: "commands nest too deep in other commands",
            });
            return;
        }
        for each in inner {
            match each {
                Inner::Argv {
                    argv,
                    assignments,
                    folder,
                } => {
                    let span = argv.first().map_or(carrier.span, |word| word.span);
                    let folder = match folder {
                        None => carrier.folder.clone(),
                        Some(word) => word.as_static().map_or(Folder::Unknown, |path| {
                            seen_from(&carrier.folder, &Folder::Moved(path.to_vec()))
                        }),
                    };
                    script.subcommands.push(SubCommand {
                        span,
                        context: nested(carrier.context),
                        folder,
                        argv,
                        assignments,
                        redirections: Vec::new(),
                        carrier: Some(at),
                    });
                }
                Inner::Text { text, dialects } => {
                    read(script, &carrier, at, &text, dialects, facts, parse);
                }
            }
        }
        at += 1;
    }
}

fn depth(script: &Script, mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(up) = script.subcommands.get(at).and_then(|sub| sub.carrier) {
        depth += 1;
        // A carrier stands before what it carries, so this ends.
        at = up;
    }
    depth
}

const fn nested(context: Context) -> Context {
    Context {
        depth: context.depth.saturating_add(1),
        ..context
    }
}

/// Parses a text for a shell and adds its sub-commands. Where shells that may read it differ, all
/// readings are added and the text is opaque.
fn read(
    script: &mut Script,
    carrier: &SubCommand,
    at: usize,
    text: &Word,
    dialects: &[Dialect],
    facts: &Facts,
    parse: Parse,
) {
    let Some(bytes) = text.as_static() else {
        return;
    };
    // What the line changes around the text, it changes inside.
    let constants = super::constants::are_kept(script);
    let mut kept: Vec<Script> = Vec::new();
    for dialect in dialects {
        match parse(bytes, *dialect) {
            Ok(mut inner) => {
                for sub in &mut inner.subcommands {
                    sub.folder = seen_from(&carrier.folder, &sub.folder);
                }
                if constants {
                    super::constants::fill(&mut inner, facts);
                } else {
                    super::constants::place_at_home(&mut inner, None);
                }
                super::loops::fill(&mut inner);
                if !kept.contains(&inner) {
                    kept.push(inner);
                }
            }
            Err(_) => script.opaque.push(Opaque {
                span: text.span,
                reason: "a text for a shell that cannot be read",
            }),
        }
    }
    if kept.len() > 1 {
        script.opaque.push(Opaque {
            span: text.span,
            reason: "a text that shells read differently",
        });
    }
    for inner in kept {
        adopt(script, carrier, at, text.span, inner);
    }
}

fn adopt(script: &mut Script, carrier: &SubCommand, at: usize, span: Span, inner: Script) {
    let first = script.subcommands.len();
    for mut sub in inner.subcommands {
        place(&mut sub, span);
        sub.context = Context {
            depth: carrier
                .context
                .depth
                .saturating_add(sub.context.depth)
                .saturating_add(1),
            substitution: carrier.context.substitution || sub.context.substitution,
            function_body: carrier.context.function_body || sub.context.function_body,
            piped: sub.context.piped,
            call: sub.context.call,
        };
        sub.carrier = Some(sub.carrier.map_or(at, |up| first + up));
        script.subcommands.push(sub);
    }
    script.opaque.extend(
        inner
            .opaque
            .into_iter()
            .map(|opaque| Opaque { span, ..opaque }),
    );
    script.functions.extend(inner.functions);
    script.loops.extend(inner.loops.into_iter().map(|mut each| {
        each.header += first;
        each.end += first;
        each
    }));
}

/// Places of the inner text do not stand in the line as they are read, so all get its whole range.
fn place(sub: &mut SubCommand, span: Span) {
    sub.span = span;
    let SubCommand {
        argv,
        assignments,
        redirections,
        ..
    } = sub;
    for word in argv
        .iter_mut()
        .chain(
            assignments
                .iter_mut()
                .map(|assignment| &mut assignment.value),
        )
        .chain(
            redirections
                .iter_mut()
                .map(|redirection| &mut redirection.target),
        )
    {
        word.span = span;
    }
}

/// A folder of an inner command, seen from the folder of its carrier.
fn seen_from(base: &Folder, inner: &Folder) -> Folder {
    match (base, inner) {
        (base, Folder::Start) => base.clone(),
        (_, Folder::Unknown) => Folder::Unknown,
        (_, Folder::Home(below)) => Folder::Home(below.clone()),
        (_, Folder::Moved(path)) if path.starts_with(b"/") => Folder::Moved(path.clone()),
        (Folder::Unknown, Folder::Moved(_)) => Folder::Unknown,
        (Folder::Start, Folder::Moved(path)) => Folder::Moved(path.clone()),
        (Folder::Moved(base), Folder::Moved(path)) => {
            Folder::Moved([base.as_slice(), b"/", path].concat())
        }
        (Folder::Home(base), Folder::Moved(path)) => {
            Folder::Home([base.as_slice(), b"/", path].concat())
        }
    }
}
