//! Rules on commands: deny and ask are wide, allow is narrow.

use super::Answer;
use super::conditions;
use super::forms::Form;
use super::read_only;
use super::view::View;
use crate::model::executable::{Lookup, LookupError, Trust};
use crate::model::judgement::Reason;
use crate::model::path::AbsolutePath;
use crate::model::profile::Network;
use crate::model::script::Word;
use crate::model::verdict::Verdict;
use crate::policy::Policy;
use crate::policy::glob::{Match, Purpose};
use crate::policy::index::Wanted;
use crate::policy::pattern::{Against, CommandPattern, ProgramPattern, text};
use crate::policy::rule::Rule;

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
    let mut offline = None;
    for (rule, pattern) in commands(policy, view, Verdict::Allow, &allowable(view)) {
        if matches(rule, pattern, view, Purpose::Allow) != Match::Yes {
            continue;
        }
        if !spelled_out(view, pattern) {
            blocked = Some(Answer::ask(Reason::Dynamic));
            continue;
        }
        if !covers_network(rule, view) {
            offline.get_or_insert_with(|| Answer::offline(&rule.reference));
            continue;
        }
        return Answer::by(Reason::RuleAllow, &rule.reference);
    }
    if let Some(rule) = read_only::command(policy, view) {
        return Answer::by(Reason::ReadOnlyDefault, &rule);
    }
    if let Some(blocked) = blocked.or(offline) {
        return blocked;
    }
    let named = |(_, pattern): (&Rule, &CommandPattern)| names(pattern, view.base_name());
    let by_name = Wanted {
        names: view.base_name().into_iter().collect(),
        digests: Vec::new(),
        arguments: None,
        texts: None,
    };
    if !view.is_trusted()
        && matches!(view.lookup, Lookup::File(_))
        && commands(policy, view, Verdict::Allow, &by_name).any(named)
    {
        return Answer::ask(Reason::ProgramUntrusted);
    }
    Answer::ask(Reason::Unmatched)
}

/// The strictest deny or ask rule. A rule that may match, depending on what the shell puts in, asks.
fn restricted(policy: &Policy, view: &View<'_>) -> Option<Answer> {
    let mut found: Option<Answer> = None;
    let wanted = restrictable(view);
    for (verdict, reason) in [
        (Verdict::Deny, Reason::RuleDeny),
        (Verdict::Ask, Reason::RuleAsk),
    ] {
        for (rule, pattern) in commands(policy, view, verdict, &wanted) {
            let answer = match matches(rule, pattern, view, Purpose::Restrict) {
                Match::Yes => Answer::by(reason, &rule.reference),
                Match::Maybe => Answer {
                    open: is_executed(view),
                    ..Answer::by(Reason::RuleAsk, &rule.reference)
                },
                Match::No => continue,
            };
            if answer.verdict == Verdict::Deny {
                return Some(answer);
            }
            // One that surely matches counts before one that may.
            if found
                .as_ref()
                .is_none_or(|found| found.open && !answer.open)
            {
                found = Some(answer);
            }
        }
    }
    found
}

/// Whether an exec will tell what the program is given; a built-in is never seen again.
const fn is_executed(view: &View<'_>) -> bool {
    match view.lookup {
        Lookup::File(_) | Lookup::Dynamic | Lookup::Failed(_) => true,
        Lookup::Nothing | Lookup::Builtin | Lookup::Function => false,
    }
}

/// Current rules on commands that could match.
fn commands<'p>(
    policy: &'p Policy,
    view: &View<'_>,
    verdict: Verdict,
    wanted: &Wanted<'_>,
) -> impl Iterator<Item = (&'p Rule, &'p CommandPattern)> {
    let today = view.scene.facts.today;
    policy
        .rules
        .commands(verdict, wanted)
        .into_iter()
        .filter(move |(rule, _)| rule.is_current(today))
}

/// What an allow rule could match: the command as it is written, and past neutral global options.
fn allowable<'v>(view: &'v View<'_>) -> Wanted<'v> {
    let file = view.lookup.executable();
    let paths = file.into_iter().flat_map(|file| [&file.path, &file.real]);
    let argvs = || {
        [Some(&view.sub.argv), view.past_neutral()]
            .into_iter()
            .flatten()
    };
    Wanted {
        names: view
            .looked_up_name()
            .into_iter()
            .chain(paths.map(AbsolutePath::base_name))
            .collect(),
        digests: file.map(|file| file.digest).into_iter().collect(),
        arguments: first_arguments(argvs().map(|argv| argv.get(1))),
        texts: argvs().map(|argv| text(argv)).collect(),
    }
}

/// What a deny or ask rule could match: every form.
fn restrictable<'v>(view: &'v View<'_>) -> Wanted<'v> {
    let forms = view.forms();
    let argvs = || forms.iter().flat_map(|form| &form.argvs);
    let all = forms.iter().any(|form| form.more);
    Wanted {
        names: forms.iter().flat_map(Form::base_names).collect(),
        digests: forms
            .iter()
            .filter_map(|form| form.file)
            .map(|file| file.digest)
            .collect(),
        arguments: first_arguments(argvs().map(|argv| argv.get(1))).filter(|_| !all),
        texts: argvs()
            .map(|argv| text(argv))
            .collect::<Option<_>>()
            .filter(|_| !all),
    }
}

/// The words as bytes; `None` when one of them is not known. A word that is not there is none.
fn first_arguments<'w>(words: impl Iterator<Item = Option<&'w Word>>) -> Option<Vec<&'w [u8]>> {
    words.flatten().map(Word::as_static).collect()
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
                .is_some_and(|file| file.digest == *digest && file.trust != Trust::Changeable)
                && !view.is_taken()
        }
    };
    if !program {
        return Match::No;
    }
    let against = against(view, Purpose::Allow);
    let written = pattern.matches_arguments(&view.sub.argv, &against);
    match view.past_neutral() {
        Some(shorter) => written.max(pattern.matches_arguments(shorter, &against)),
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
    commands(policy, &runner, Verdict::Allow, &allowable(&runner))
        .find(|(rule, pattern)| {
            pattern.fixed_words() >= start
                && covers_network(rule, &runner)
                && matches(rule, pattern, &runner, Purpose::Allow) == Match::Yes
        })
        .map(|(rule, _)| Answer::by(Reason::RuleAllow, &rule.reference))
}

/// Whether a deny or ask pattern speaks of any form of the command.
fn restricts(pattern: &CommandPattern, view: &View<'_>) -> Match {
    let against = against(view, Purpose::Restrict);
    let mut best = Match::No;
    for form in view
        .forms()
        .iter()
        .filter(|form| names_form(pattern, form, view))
    {
        if form.more {
            best = best.max(Match::Maybe);
        }
        for argv in &form.argvs {
            best = best.max(pattern.matches_arguments(argv, &against));
        }
    }
    best
}

fn names_form(pattern: &CommandPattern, form: &Form<'_>, view: &View<'_>) -> bool {
    match &pattern.program {
        ProgramPattern::Names(globs) => form.names.iter().any(|name| {
            globs
                .iter()
                .any(|glob| glob.matches(name, None, Purpose::Restrict))
        }),
        ProgramPattern::Path(path) => form
            .paths
            .iter()
            .any(|found| path.matches(found, view.scene.facts)),
        ProgramPattern::Content(digest) => form.file.is_some_and(|file| file.digest == *digest),
    }
}

/// Whether an allow rule covers the run the line would have: one that reaches other hosts only when it says
/// so. Loopback is a network of the run's own, in which it meets nobody.
pub(super) fn covers_network(rule: &Rule, view: &View<'_>) -> bool {
    match view.scene.facts.network {
        Network::Off | Network::Loopback => true,
        Network::Full => rule.conditions.network,
    }
}
