//! Rules on commands: deny and ask are wide, allow is narrow.

use super::Answer;
use super::conditions;
use super::forms::{STARTS, spellings, starts};
use super::read_only;
use super::view::{View, chain};
use crate::model::executable::{Format, Lookup, LookupError};
use crate::model::judgement::Reason;
use crate::model::path::AbsolutePath;
use crate::model::script::{SubCommand, Word};
use crate::model::verdict::Verdict;
use crate::policy::Policy;
use crate::policy::glob::{Match, Purpose};
use crate::policy::knowledge::{Effect, Inner, ValueKind, carried};
use crate::policy::pattern::{Against, CommandPattern, ProgramPattern};
use crate::policy::rule::{Rule, Target};

/// The answer for starting the program.
pub(super) fn answer(policy: &Policy, view: &View<'_>) -> Answer {
    if let Some(answer) = restricted(policy, view) {
        return answer;
    }
    // Before the lookup: the program is looked up where the runner takes it, not here.
    if let Some(answer) = covered_by_runner(policy, view) {
        return answer;
    }
    match view.lookup {
        Lookup::Nothing => return Answer::nothing(),
        Lookup::Dynamic => return Answer::ask(Reason::Dynamic),
        Lookup::Failed(LookupError::NotFound(_)) => return Answer::ask(Reason::ProgramNotFound),
        Lookup::Failed(_) => return Answer::ask(Reason::ProgramUnusable),
        Lookup::Builtin | Lookup::Function | Lookup::File(_) => {}
    }
    if view.sub.program().is_none() || view.carried.unknown.is_some() {
        return Answer::ask(Reason::Dynamic);
    }
    let mut blocked = None;
    for (rule, pattern) in commands(policy, view, Verdict::Allow) {
        if matches(rule, pattern, view, Purpose::Allow) != Match::Yes {
            continue;
        }
        if !spelled_out(view, pattern) {
            blocked = Some(Answer::ask(Reason::Dynamic));
            continue;
        }
        return Answer::by(Reason::RuleAllow, &rule.reference);
    }
    if let Some(rule) = read_only::command(policy, view) {
        return Answer::by(Reason::ReadOnlyDefault, &rule);
    }
    if let Some(blocked) = blocked {
        return blocked;
    }
    let named = |(_, pattern): (&Rule, &CommandPattern)| names(pattern, view.base_name());
    if !view.is_trusted()
        && matches!(view.lookup, Lookup::File(_))
        && commands(policy, view, Verdict::Allow).any(named)
    {
        return Answer::ask(Reason::ProgramUntrusted);
    }
    Answer::ask(Reason::Unmatched)
}

/// The strictest deny or ask rule. A rule that may match, depending on what the shell puts in, asks.
fn restricted(policy: &Policy, view: &View<'_>) -> Option<Answer> {
    let mut found: Option<Answer> = None;
    for (verdict, reason) in [
        (Verdict::Deny, Reason::RuleDeny),
        (Verdict::Ask, Reason::RuleAsk),
    ] {
        for (rule, pattern) in commands(policy, view, verdict) {
            let answer = match matches(rule, pattern, view, Purpose::Restrict) {
                Match::Yes => Answer::by(reason, &rule.reference),
                Match::Maybe => Answer::by(Reason::RuleAsk, &rule.reference),
                Match::No => continue,
            };
            if answer.verdict == Verdict::Deny {
                return Some(answer);
            }
            found.get_or_insert(answer);
        }
    }
    found
}

fn commands<'p>(
    policy: &'p Policy,
    view: &View<'_>,
    verdict: Verdict,
) -> impl Iterator<Item = (&'p Rule, &'p CommandPattern)> {
    let today = view.scene.facts.today;
    policy
        .rules
        .iter()
        .filter(move |rule| rule.verdict == verdict && rule.is_current(today))
        .flat_map(|rule| {
            rule.targets.iter().filter_map(move |target| match target {
                Target::Command(pattern) => Some((rule, pattern)),
                Target::Write(_) | Target::Read(_) | Target::Env(_) | Target::Network(_) => None,
            })
        })
}

/// Whether the rule speaks of this sub-command.
pub(in crate::policy) fn matches(
    rule: &Rule,
    pattern: &CommandPattern,
    view: &View<'_>,
    purpose: Purpose,
) -> Match {
    let words = match purpose {
        Purpose::Allow => allowed(pattern, view),
        Purpose::Restrict => restricts(pattern, view),
    };
    let bare = matches!(pattern.program, ProgramPattern::Names(_));
    let written = rule
        .conditions
        .as_written
        .is_none_or(|wanted| view.is_as_written(wanted, bare));
    words.min(if words == Match::No || !written {
        Match::No
    } else {
        conditions::hold(&rule.conditions, view, purpose)
    })
}

fn allowed(pattern: &CommandPattern, view: &View<'_>) -> Match {
    let program = match &pattern.program {
        ProgramPattern::Names(_) => {
            names(pattern, view.looked_up_name()) && view.is_trusted() && !view.is_taken()
        }
        ProgramPattern::Path(path) => match view.lookup {
            Lookup::File(file) => {
                let facts = view.scene.facts;
                let arrived =
                    file.path == file.real || path.matches(&file.real, facts) || view.is_trusted();
                path.matches(&file.path, facts) && arrived && !view.is_taken()
            }
            Lookup::Nothing
            | Lookup::Builtin
            | Lookup::Function
            | Lookup::Dynamic
            | Lookup::Failed(_) => false,
        },
        ProgramPattern::Content(digest) => {
            view.lookup
                .executable()
                .is_some_and(|file| file.digest == *digest)
                && !view.is_taken()
        }
    };
    if !program {
        return Match::No;
    }
    let against = against(view, Purpose::Allow);
    let written = pattern.matches_arguments(&view.sub.argv, &against);
    match past_neutral(view) {
        Some(shorter) => written.max(pattern.matches_arguments(&shorter, &against)),
        None => written,
    }
}

/// `re:` names its program inside the expression, which is compared with the argv as written.
fn names(pattern: &CommandPattern, name: Option<&[u8]>) -> bool {
    let ProgramPattern::Names(globs) = &pattern.program else {
        return false;
    };
    name.is_some_and(|name| {
        globs
            .iter()
            .any(|glob| glob.matches(name, None, Purpose::Allow))
    })
}

fn against<'a>(view: &'a View<'_>, purpose: Purpose) -> Against<'a> {
    Against {
        purpose,
        home: view.scene.facts.home.as_ref().map(AbsolutePath::as_bytes),
        folder: view.folder.as_ref(),
    }
}

/// The argv without global options, when every one of them is neutral.
fn past_neutral(view: &View<'_>) -> Option<Vec<Word>> {
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
                .is_some_and(|folder| read_only::is_in_workspace(view, folder)),
            (Some(_) | None, _) => false,
        });
    let loose = view.reading.loose.iter().any(|at| *at < name_at);
    (neutral && !loose && name_at > 1).then(|| without(&view.sub.argv, 1..name_at))
}

fn without(argv: &[Word], range: std::ops::Range<usize>) -> Vec<Word> {
    argv.iter()
        .enumerate()
        .filter(|(at, _)| !range.contains(at))
        .map(|(_, word)| word.clone())
        .collect()
}

/// Every word that may start something is one the pattern writes out.
fn spelled_out(view: &View<'_>, pattern: &CommandPattern) -> bool {
    let words_fine = view.carried.suspects.iter().all(|at| {
        view.sub
            .argv
            .get(*at)
            .and_then(Word::as_static)
            .is_some_and(|word| pattern.spells(word))
    });
    // A reading program that could turn into a writing one.
    let turns = !view.reading.loose.is_empty()
        && view.reading.level().is_some_and(|level| level.read_only)
        && view.reading.has_dangerous_options();
    words_fine && !turns
}

/// The allow rule of a runner (`npx X`, `ssh HOST X`) that carries this sub-command, if it reaches
/// into it.
fn covered_by_runner(policy: &Policy, view: &View<'_>) -> Option<Answer> {
    let runner = View::new(view.scene, view.sub.carrier?)?;
    let start = runner.carried.runner_at?;
    if view.carried.unknown.is_some()
        || !view.carried.suspects.is_empty()
        || view.sub.program().is_none()
    {
        return None;
    }
    commands(policy, &runner, Verdict::Allow)
        .find(|(rule, pattern)| {
            pattern.fixed_words() >= start
                && matches(rule, pattern, &runner, Purpose::Allow) == Match::Yes
        })
        .map(|(rule, _)| Answer::by(Reason::RuleAllow, &rule.reference))
}

fn restricts(pattern: &CommandPattern, view: &View<'_>) -> Match {
    let Some(name) = view.base_name() else {
        return Match::No;
    };
    let mut best = Match::No;
    let file = view.lookup.executable();
    let mut names: Vec<&[u8]> = vec![name];
    names.extend(file.iter().flat_map(|file| file.base_names()));
    let copied = file.and_then(|file| view.scene.copies(file));
    names.extend(copied.into_iter().flatten().map(Vec::as_slice));
    let named = match &pattern.program {
        ProgramPattern::Names(globs) => names.iter().any(|name| {
            globs
                .iter()
                .any(|glob| glob.matches(name, None, Purpose::Restrict))
        }),
        ProgramPattern::Path(path) => {
            let written = view.sub.program().filter(|name| name.contains(&b'/'));
            let written = written.and_then(|name| Some(view.folder.as_ref()?.join_bytes(name)));
            let found = file.iter().flat_map(|file| [&file.path, &file.real]);
            found
                .chain(&written)
                .any(|found| path.matches(found, view.scene.facts))
        }
        ProgramPattern::Content(digest) => file.is_some_and(|file| file.digest == *digest),
    };
    if named {
        let against = against(view, Purpose::Restrict);
        let starts = starts(view);
        if starts.len() > STARTS {
            best = Match::Maybe;
        }
        for argv in spellings(view, &names, starts.iter().take(STARTS)) {
            best = best.max(pattern.matches_arguments(&argv, &against));
        }
    }
    best.max(interpreters(pattern, view))
}

/// A script runs its interpreter: `#!/usr/bin/env python3` starts env, and env starts python3.
fn interpreters(pattern: &CommandPattern, view: &View<'_>) -> Match {
    let Some(file) = view.lookup.executable() else {
        return Match::No;
    };
    let against = against(view, Purpose::Restrict);
    let span = view
        .sub
        .argv
        .first()
        .map(|word| word.span)
        .unwrap_or_default();
    let mut best = Match::No;
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
        let mut all = vec![argv.clone()];
        all.extend(inside(view, &argv));
        for argv in &all {
            let Some(first) = argv.first().and_then(Word::as_static) else {
                continue;
            };
            let base = first.rsplit(|byte| *byte == b'/').next().unwrap_or(first);
            let named = match &pattern.program {
                ProgramPattern::Names(globs) => {
                    let mut names = vec![base];
                    if all.first() == Some(argv) {
                        names.extend(interpreter.base_names());
                    }
                    names.iter().any(|name| {
                        globs
                            .iter()
                            .any(|glob| glob.matches(name, None, Purpose::Restrict))
                    })
                }
                ProgramPattern::Path(path) => [&interpreter.path, &interpreter.real]
                    .into_iter()
                    .any(|found| path.matches(found, view.scene.facts)),
                ProgramPattern::Content(digest) => interpreter.digest == *digest,
            };
            if named {
                best = best.max(pattern.matches_arguments(argv, &against));
            }
        }
    }
    best
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
