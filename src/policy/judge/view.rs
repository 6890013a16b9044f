//! One sub-command with everything judging looks at, worked out once.

use std::cell::OnceCell;

use super::forms::{self, Form};
use crate::model::access::{Access, Facts, Resolved, Survey};
use crate::model::executable::{Executable, Lookup, Trust};
use crate::model::path::AbsolutePath;
use crate::model::script::{Context, Dynamic, Folder, Piece, SubCommand, Word};
use crate::policy::knowledge::{self, Carried, Effect, Reading, ValueKind};
use crate::policy::rule::AsWritten;
use crate::policy::survey::absolute;

/// A line with its facts.
pub(in crate::policy) struct Scene<'a> {
    survey: &'a Survey,
    resolved: &'a Resolved,
    pub(super) facts: &'a Facts,
    /// Names that the line gives another meaning: functions, aliases, remembered paths.
    taken: Vec<Vec<u8>>,
}

impl<'a> Scene<'a> {
    pub(in crate::policy) fn new(
        survey: &'a Survey,
        resolved: &'a Resolved,
        facts: &'a Facts,
    ) -> Self {
        let mut taken = survey.script.functions.clone();
        for sub in &survey.script.subcommands {
            match sub.program() {
                Some(b"alias") => taken.extend(sub.argv.iter().skip(1).map(|word| {
                    let known = word.static_prefix();
                    let end = known.iter().position(|byte| *byte == b'=');
                    known
                        .get(..end.unwrap_or(known.len()))
                        .unwrap_or_default()
                        .to_vec()
                })),
                Some(b"hash" | b"enable") => {
                    let words = sub.argv.iter().skip(1);
                    taken.extend(words.map(|word| word.static_prefix().to_vec()));
                }
                Some(_) | None => {}
            }
        }
        Self {
            survey,
            resolved,
            facts,
            taken,
        }
    }

    /// Names of denied programs that this file is a copy of.
    pub(super) fn copies(&self, file: &Executable) -> Option<&Vec<Vec<u8>>> {
        self.resolved.copies.get(&file.digest)
    }

    /// Where a path really leads.
    pub(super) fn target<'p>(&'p self, path: &'p AbsolutePath) -> &'p AbsolutePath {
        self.resolved.targets.get(path).unwrap_or(path)
    }
}

/// One sub-command.
pub(in crate::policy) struct View<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) sub: &'a SubCommand,
    pub(super) lookup: &'a Lookup,
    pub(super) accesses: &'a [Access],
    pub(super) folder: Option<AbsolutePath>,
    pub(super) reading: Reading<'static>,
    pub(super) carried: Carried,
    index: usize,
    /// Worked out at the first use.
    forms: OnceCell<Vec<Form<'a>>>,
    past_neutral: OnceCell<Option<Vec<Word>>>,
}

/// What a program without a lookup counts as: nothing that could be allowed.
static UNKNOWN: Lookup = Lookup::Dynamic;

impl<'a> View<'a> {
    pub(in crate::policy) fn new(scene: &'a Scene<'a>, index: usize) -> Option<Self> {
        let sub = scene.survey.script.subcommands.get(index)?;
        let mut view = Self {
            scene,
            sub,
            lookup: scene.resolved.lookups.get(index).unwrap_or(&UNKNOWN),
            accesses: scene.survey.accesses.get(index).map_or(&[], Vec::as_slice),
            folder: absolute(&sub.folder, scene.facts),
            reading: knowledge::read(sub),
            carried: knowledge::carried(sub),
            index,
            forms: OnceCell::new(),
            past_neutral: OnceCell::new(),
        };
        let plain: Vec<usize> = view
            .reading
            .loose
            .iter()
            .copied()
            .filter(|at| sub.argv.get(*at).is_some_and(|word| view.is_plain(word)))
            .collect();
        view.reading.loose.retain(|at| !plain.contains(at));
        view.carried.suspects.retain(|at| !plain.contains(at));
        Some(view)
    }

    /// The forms in which deny and ask rules see it.
    pub(super) fn forms(&self) -> &[Form<'a>] {
        self.forms.get_or_init(|| forms::forms(self))
    }

    /// The argv without global options, when there are some and every one of them is neutral.
    pub(super) fn past_neutral(&self) -> Option<&Vec<Word>> {
        self.past_neutral
            .get_or_init(|| without_neutral(self))
            .as_ref()
    }

    /// The program's name without its folder, as written.
    pub(super) fn base_name(&self) -> Option<&'a [u8]> {
        let name = self.sub.program()?;
        Some(name.rsplit(|byte| *byte == b'/').next().unwrap_or(name))
    }

    /// The name under which a lookup in PATH finds the program: bare as written, or a path that says
    /// the same.
    pub(super) fn looked_up_name(&self) -> Option<&'a [u8]> {
        const SYSTEM: [&[u8]; 5] = [
            b"/usr/bin",
            b"/bin",
            b"/usr/sbin",
            b"/sbin",
            b"/usr/local/bin",
        ];
        let name = self.sub.program()?;
        match name.iter().rposition(|byte| *byte == b'/') {
            None => Some(name),
            Some(slash) => {
                let (folder, base) = name.split_at_checked(slash)?;
                SYSTEM.contains(&folder).then(|| base.get(1..))?
            }
        }
    }

    /// The file, when allow rules by name may cover it, or `None` with the reason being its lookup.
    pub(super) fn is_trusted(&self) -> bool {
        match self.lookup {
            Lookup::Builtin => true,
            Lookup::File(file) => chain(file).all(|file| file.trust == Trust::Trusted),
            Lookup::Nothing | Lookup::Function | Lookup::Dynamic | Lookup::Failed(_) => false,
        }
    }

    /// Whether the line gives the program's name another meaning.
    pub(super) fn is_taken(&self) -> bool {
        self.sub.program().is_some_and(|name| {
            self.scene
                .taken
                .iter()
                .any(|taken| taken.as_slice() == name)
        }) || self.base_name().is_some_and(|name| {
            self.scene
                .taken
                .iter()
                .any(|taken| taken.as_slice() == name)
        })
    }

    /// Whether the command, or the whole line, keeps to the spelling that `as_written` asks for.
    pub(super) fn is_as_written(&self, wanted: AsWritten, bare: bool) -> bool {
        let script = &self.scene.survey.script;
        // What a carrier starts stands where the carrier stands.
        let context = |sub: &SubCommand| {
            let above = |sub: &&'a SubCommand| script.subcommands.get(sub.carrier?);
            let first = sub.carrier.and_then(|at| script.subcommands.get(at));
            std::iter::successors(first, above)
                .take(script.subcommands.len())
                .last()
                .map_or(sub.context, |outermost| outermost.context)
        };
        let here = context(self.sub);
        let named = !bare || self.sub.program().is_some_and(|name| !name.contains(&b'/'));
        let direct = self.reading.names_at.first().is_none_or(|at| *at == 1);
        let listed = here.depth == 0 && !here.substitution && !here.function_body;
        // A bare assignment changes what the words after it mean to the shell.
        let assigns = |sub: &SubCommand| sub.argv.is_empty() && !sub.assignments.is_empty();
        let simple = |sub: &SubCommand| {
            let context = context(sub);
            context
                == Context {
                    piped: context.piped,
                    ..Context::default()
                }
                && sub.assignments.is_empty()
                && sub.redirections.is_empty()
                && !sub.argv.is_empty()
                && sub.argv.iter().all(|word| word.as_static().is_some())
        };
        named
            && direct
            && listed
            && !script.negated
            && !script.subcommands.iter().any(assigns)
            && match wanted {
                AsWritten::Command => true,
                AsWritten::Line => {
                    !script.beyond_list
                        && script.functions.is_empty()
                        && script.loops.is_empty()
                        && script.subcommands.iter().all(simple)
                }
            }
    }

    /// Whether cleaning the path by its text alone leads where the kernel goes: `..` after a link
    /// leads to the parent of the link's target (path_resolution(7)).
    pub(super) fn is_straight(&self, path: &[u8]) -> bool {
        let mut parts = path
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty());
        let climbs = |part: &[u8]| part == b"..";
        if !path.split(|byte| *byte == b'/').any(climbs) {
            return true;
        }
        let leading_only =
            !path.starts_with(b"/") && !parts.by_ref().skip_while(|part| climbs(part)).any(climbs);
        let real_folder = match &self.sub.folder {
            Folder::Start => true,
            Folder::Moved(_) | Folder::Home(_) | Folder::Unknown => self
                .folder
                .as_ref()
                .is_some_and(|folder| self.scene.resolved.targets.get(folder) == Some(folder)),
        };
        leading_only && real_folder
    }

    /// Whether what stands in for the word is the output of programs that never print an option.
    fn is_plain(&self, word: &Word) -> bool {
        let substituted = word.pieces.iter().all(|piece| match piece {
            Piece::Text(_) => true,
            Piece::Dynamic { reason, .. } => *reason == Dynamic::CommandSubstitution,
        });
        let subs = &self.scene.survey.script.subcommands;
        let mut inside = subs
            .iter()
            .enumerate()
            .filter(|(index, sub)| {
                *index != self.index
                    && sub.context.substitution
                    && sub.span.start >= word.span.start
                    && sub.span.end <= word.span.end
                    && sub.span != word.span
            })
            .peekable();
        substituted
            && inside.peek().is_some()
            && inside.all(|(_, sub)| {
                let reading = knowledge::read(sub);
                reading.level().is_some_and(|level| level.plain_output)
                    && reading.loose.is_empty()
                    && !self
                        .scene
                        .taken
                        .iter()
                        .any(|name| sub.program() == Some(name))
                    && sub.argv.iter().all(|word| word.as_static().is_some())
                    && reading.seen.iter().all(|seen| {
                        matches!(seen.effect(), Some(Effect::Harmless | Effect::Neutral))
                    })
                    && reading.operands.iter().all(|at| {
                        sub.argv
                            .get(*at)
                            .is_some_and(|word| !word.static_prefix().starts_with(b"-"))
                    })
            })
    }
}

fn without_neutral(view: &View<'_>) -> Option<Vec<Word>> {
    let name_at = *view.reading.names_at.first()?;
    let neutral = view
        .reading
        .seen
        .iter()
        .filter(|seen| seen.index < name_at)
        .all(|seen| match (seen.effect(), seen.kind()) {
            (Some(Effect::Neutral), _) => true,
            (Some(Effect::Known), Some(ValueKind::Folder)) => seen
                .value
                .as_ref()
                .is_some_and(|folder| is_in_workspace(view, folder)),
            (Some(_) | None, _) => false,
        });
    let loose = view.reading.loose.iter().any(|at| *at < name_at);
    let words = view.sub.argv.iter().enumerate();
    (neutral && !loose && name_at > 1).then(|| {
        words
            .filter(|(at, _)| *at == 0 || *at >= name_at)
            .map(|(_, word)| word.clone())
            .collect()
    })
}

/// The file and its interpreters.
pub(super) fn chain(file: &Executable) -> impl Iterator<Item = &Executable> {
    std::iter::successors(Some(file), |file| file.next())
}

/// Whether the word surely names a place in the workspace, links followed as far as resolve told.
pub(super) fn is_in_workspace(view: &View<'_>, word: &Word) -> bool {
    // `cd` itself cleans a path by its text.
    let by_text = view.base_name() == Some(b"cd") && !view.reading.has("-P");
    if !by_text && !word.as_static().is_some_and(|text| view.is_straight(text)) {
        return false;
    }
    let path = word
        .as_static()
        .filter(|text| !text.is_empty())
        .and_then(|text| {
            if text.starts_with(b"/") {
                AbsolutePath::new(std::path::Path::new(
                    <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(text),
                ))
                .ok()
            } else {
                Some(view.folder.as_ref()?.join_bytes(text))
            }
        });
    path.is_some_and(|path| {
        let workspace = &view.scene.facts.workspace;
        path.is_within(workspace) && view.scene.target(&path).is_within(workspace)
    })
}
