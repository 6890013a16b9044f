//! What would make a sub-command allowed, in words.

use super::Answer;
use super::view::View;
use crate::model::access::Access;
use crate::model::judgement::{Layer, Reason, RuleRef};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::words::spoken;

type Words = fn(&View<'_>, &Access, &Answer) -> String;

/// What to say to each reason that a change can do something about.
const REMEDIES: [(Reason, Words); 7] = [
    (Reason::RuleDeny, |_, _, answer| match &answer.rule {
        Some(rule) => format!("{}; no allow rule outweighs a denial", lift(rule)),
        None => "whoever wrote the rule that denies it can change that rule".to_owned(),
    }),
    (Reason::RuleAsk, |_, _, answer| match &answer.rule {
        Some(rule) => format!("answer the question, or {}", lift(rule)),
        None => "answer the question".to_owned(),
    }),
    (Reason::Dynamic, |view, access, _| dynamic(view, access)),
    (Reason::ProgramNotFound, |_, _, _| {
        "install the program, or name one that the run's PATH holds".to_owned()
    }),
    (Reason::ProgramUnusable, |_, _, _| {
        "make the file readable and executable, so that it can be identified".to_owned()
    }),
    (Reason::ProgramUntrusted, |view, _, _| {
        match view.lookup.executable() {
            Some(file) => format!(
                "a rule that names the file or its content: `{}` or `{}` ({})",
                file.path,
                file.digest,
                file.trust.reason()
            ),
            None => "a rule that names the file".to_owned(),
        }
    }),
    (Reason::Unmatched, |view, access, answer| {
        match &answer.offline {
            Some(rule) => format!(
                "a run without the full network, or `network = true` in the rule `{}`",
                Escaped::from(rule.id.as_str())
            ),
            None => unmatched(view, access),
        }
    }),
];

/// The smallest change that would allow this access, or why none can.
pub(super) fn remedy(view: &View<'_>, access: &Access, answer: &Answer) -> Option<String> {
    if answer.verdict == Verdict::Allow {
        return None;
    }
    let (_, words) = REMEDIES
        .iter()
        .find(|(reason, _)| *reason == answer.reason)?;
    Some(words(view, access, answer))
}

/// What a person does about a rule that stands in the way.
fn lift(rule: &RuleRef) -> String {
    let id = Escaped::from(rule.called());
    match (&rule.place, rule.layer) {
        (Some(place), _) => format!(
            "narrow or remove the rule `{id}` at {}:{}",
            Escaped::from(place.file.as_str()),
            place.line
        ),
        (None, Layer::BuiltIn) => format!(
            "switch the built-in rule off with `disable = [\"{id}\"]` in [permissions] of the managed or user policy"
        ),
        (None, _) => format!("narrow or remove the rule `{id}`"),
    }
}

fn dynamic(view: &View<'_>, access: &Access) -> String {
    match access {
        Access::Command => match view.carried.unknown {
            Some(reason) => format!("write the inner command out: {reason}"),
            None if view.sub.program().is_none() => {
                "write the program's name out: it is known only when the shell runs".to_owned()
            }
            None => {
                "write the words out that could start or write something, or allow exactly these"
                    .to_owned()
            }
        },
        Access::Write(_) | Access::Read(_) => "write the file's path out".to_owned(),
        Access::Env(_) => "write the variable's name out".to_owned(),
        Access::Network { .. } => "write host and port out".to_owned(),
    }
}

fn unmatched(view: &View<'_>, access: &Access) -> String {
    let rule = match access {
        Access::Command => {
            let until = view.reading.names_at.last().copied().unwrap_or(0);
            let words = view.sub.argv.get(..=until).unwrap_or_default();
            spoken(words)
        }
        Access::Write(path) => format!("write({})", named(path)),
        Access::Read(path) => format!("read({})", named(path)),
        Access::Env(name) => format!("env({})", String::from_utf8_lossy(name)),
        Access::Network { host, port } => {
            let host = String::from_utf8_lossy(host);
            match port {
                Some(port) => format!("network({host}:{})", String::from_utf8_lossy(port)),
                None => format!("network({host})"),
            }
        }
    };
    format!("an allow rule such as `{}`", Escaped::from(rule.as_str()))
}

fn named(path: &crate::model::access::PathAccess) -> String {
    match path.written.as_static() {
        Some(_) => spoken(std::slice::from_ref(&path.written)),
        None => path
            .path
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    }
}
