//! Codex: `.rules` files of `prefix_rule(…)` calls.
//!
//! A rule names the first words of an argv, each by one or several texts. The strictest of all that match
//! wins, as with us. A shell line is split only when it is a plain list of commands: no redirection, no
//! expansion, no assignment, no control flow; whatever else is one call of the shell. Hence
//! `as_written = "line"`.

use super::draft::{Draft, Kind, Origin, Spelling, Written};
use super::starlark::{Literal, Statement, What, statements};
use super::wording::{program, quote};
use super::{Host, Imported};
use crate::model::verdict::Verdict;
use crate::policy::error::{Fault, PolicyError};

/// More combinations of alternatives than this are written one by one.
const MOST: usize = 64;

pub(super) fn import(name: &str, text: &str) -> Result<Imported, PolicyError> {
    let mut draft = Draft::new(Host::Codex, name);
    let mut faults = Vec::new();
    for statement in statements(text) {
        let origin = Origin {
            line: statement.line,
            text: statement.text.clone(),
        };
        if let Err(message) = one(&mut draft, &origin, &statement) {
            let start = text
                .split_inclusive('\n')
                .take(statement.line - 1)
                .map(str::len)
                .sum::<usize>();
            let line = text.get(start..).unwrap_or_default();
            let end = start + line.lines().next().unwrap_or_default().len();
            let fault = Fault::new(name, text, start..end, message.to_owned());
            faults.push(fault.help("Codex refuses a file with such a rule"));
        }
    }
    if faults.is_empty() {
        Ok(draft.finish())
    } else {
        Err(PolicyError::new(faults))
    }
}

fn one(draft: &mut Draft, origin: &Origin, statement: &Statement) -> Result<(), &'static str> {
    let (name, positional, named) = match &statement.what {
        What::Nothing => return Ok(()),
        What::Call {
            name,
            positional,
            named,
        } => (name.as_str(), positional, named),
        What::Unknown => {
            draft.everything(
                origin,
                Verdict::Deny,
                "only calls with literal arguments are read, and this may forbid anything",
            );
            return Ok(());
        }
    };
    match name {
        "prefix_rule" => prefix(draft, origin, positional, named),
        "network_rule" => {
            network(draft, origin, positional, named);
            Ok(())
        }
        "host_executable" => {
            draft.stricter(
                origin,
                "an imported rule covers a program by its bare name alone, never by a path",
            );
            Ok(())
        }
        _ => {
            draft.everything(
                origin,
                Verdict::Deny,
                "this call is not known, and it may forbid anything",
            );
            Ok(())
        }
    }
}

fn argument<'a>(
    positional: &'a [Literal],
    named: &'a [(String, Literal)],
    at: usize,
    key: &str,
) -> Option<&'a Literal> {
    positional.get(at).or_else(|| {
        let mut named = named.iter();
        named.find(|(name, _)| name == key).map(|(_, value)| value)
    })
}

fn text(literal: Option<&Literal>) -> Option<&str> {
    match literal {
        Some(Literal::Text(text)) => Some(text),
        Some(Literal::List(_) | Literal::None | Literal::Other) | None => None,
    }
}

fn prefix(
    draft: &mut Draft,
    origin: &Origin,
    positional: &[Literal],
    named: &[(String, Literal)],
) -> Result<(), &'static str> {
    const KEYS: [&str; 5] = ["pattern", "decision", "match", "not_match", "justification"];
    if positional.len() > KEYS.len() {
        return Err("the rule has too many arguments");
    }
    if named.iter().any(|(name, _)| !KEYS.contains(&name.as_str())) {
        draft.everything(
            origin,
            Verdict::Deny,
            "it has an argument that is not known, and may forbid",
        );
        return Ok(());
    }
    let decision = argument(positional, named, 1, "decision");
    let verdict = match decision {
        None | Some(Literal::None) => Verdict::Allow,
        decision => match text(decision) {
            Some("allow") => Verdict::Allow,
            Some("prompt") => Verdict::Ask,
            Some("forbidden") => Verdict::Deny,
            Some(_) | None => return Err("the decision is none of allow, prompt, forbidden"),
        },
    };
    let Some(Literal::List(pattern)) = argument(positional, named, 0, "pattern") else {
        return Err("the rule has no pattern");
    };
    let words = words(pattern)?;
    let patterns = match verdict {
        Verdict::Allow => combined(&words, program),
        Verdict::Ask | Verdict::Deny => combined(&words, restricted),
    };
    let Some(patterns) = patterns else {
        let why = "it combines too many alternatives";
        if verdict == Verdict::Allow {
            draft.unsaid(origin, why);
        } else {
            draft.everything(origin, verdict, why);
        }
        return Ok(());
    };
    let written = Written::new(verdict, Kind::Command, patterns);
    let written = match verdict {
        Verdict::Allow => written.spelled(Spelling::Line),
        Verdict::Ask | Verdict::Deny => written,
    };
    draft.rule(origin, written);
    Ok(())
}

/// The texts of each word.
fn words(pattern: &[Literal]) -> Result<Vec<Vec<String>>, &'static str> {
    let mut words = Vec::new();
    for item in pattern {
        words.push(match item {
            Literal::Text(text) => vec![text.clone()],
            Literal::List(items) => {
                let texts: Option<Vec<String>> = items
                    .iter()
                    .map(|item| text(Some(item)).map(str::to_owned))
                    .collect();
                match texts {
                    Some(texts) if !texts.is_empty() => texts,
                    Some(_) | None => return Err("an alternative is no text"),
                }
            }
            Literal::None | Literal::Other => return Err("a word of the pattern is no text"),
        });
    }
    if words.is_empty() {
        return Err("the pattern is empty");
    }
    Ok(words)
}

/// The rules for every choice of the first word; later choices are one word `{a,b}` where they can.
fn combined(words: &[Vec<String>], first: fn(&str) -> String) -> Option<Vec<String>> {
    let (programs, rest) = words.split_first()?;
    let mut patterns: Vec<String> = programs.iter().map(|name| first(name)).collect();
    for texts in rest {
        let choices = choices(texts);
        if patterns.len() * choices.len() > MOST {
            return None;
        }
        patterns = patterns
            .iter()
            .flat_map(|pattern| choices.iter().map(move |word| format!("{pattern} {word}")))
            .collect();
    }
    Some(patterns)
}

fn choices(texts: &[String]) -> Vec<String> {
    let plain = |text: &String| *text == quote(text) && !text.contains(',');
    if texts.len() > 1 && texts.iter().all(plain) {
        return vec![format!("{{{}}}", texts.join(","))];
    }
    texts.iter().map(|text| quote(text)).collect()
}

/// A denial of a relative path holds wherever it is seen from.
fn restricted(name: &str) -> String {
    if name.starts_with('/') || !name.contains('/') {
        return quote(name);
    }
    quote(name.rsplit('/').next().unwrap_or(name))
}

fn network(
    draft: &mut Draft,
    origin: &Origin,
    positional: &[Literal],
    named: &[(String, Literal)],
) {
    let host = text(argument(positional, named, 0, "host"));
    let decision = text(argument(positional, named, 2, "decision"));
    let verdict = match decision {
        Some("allow") => {
            draft.unsaid(
                origin,
                "hosts are opened by the network setting, not by rules of this kind",
            );
            return;
        }
        Some("prompt") => Verdict::Ask,
        Some(_) | None => Verdict::Deny,
    };
    let host = host.unwrap_or("*").trim_end_matches('.');
    draft.rule(
        origin,
        Written::new(verdict, Kind::Network, vec![quote(host)]),
    );
}
