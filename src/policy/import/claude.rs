//! Claude Code: `permissions` of a settings.json.
//!
//! Deny, then ask, then allow: the first list that has a match decides, as with us. A `Bash` rule is
//! compared with the text of each command of a line; `*` is any text, ` *` and `:*` at the end any further
//! words or none. Some wrappers are looked through, and a fixed list of commands that only read runs
//! without a rule. Rules on files hold for redirections too.

use super::draft::{Draft, Kind, Origin, Spelling, Written};
use super::json::{self, Json};
use super::paths;
use super::wording::{Sym, Wording, exact, quote, restrict, split};
use super::{Host, Imported};
use crate::model::verdict::Verdict;
use crate::policy::error::PolicyError;

/// Programs that start another one and that no rule with a wildcard covers there.
const WRAPPERS: [&str; 4] = ["watch", "setsid", "ionice", "flock"];
/// Wrappers that are looked through there.
const SEEN_THROUGH: [&str; 4] = ["timeout", "nice", "nohup", "stdbuf"];
/// Commands that only read, as far as the list there goes and our words reach.
const READING: [&str; 10] = [
    "ls", "cat", "echo", "pwd", "head", "tail", "grep", "wc", "stat", "du",
];
/// Options of `find` that no rule with a wildcard covers there.
const FIND_ACTS: [&str; 5] = ["-exec", "-execdir", "-ok", "-okdir", "-delete"];
/// Writing to these asks there whatever allows it.
const PROTECTED: [&str; 5] = [
    "**/.git/**",
    "**/.claude/**",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.husky/**",
];
/// Fields of the shell tool that are not the command.
const FIELDS: [&str; 5] = [
    "run_in_background",
    "timeout",
    "description",
    "dangerouslyDisableSandbox",
    "command",
];

pub(super) fn import(name: &str, text: &str) -> Result<Imported, PolicyError> {
    let settings = json::read(name, text)?;
    let mut draft = Draft::new(Host::Claude, name);
    let user_settings = is_user_settings(name);
    let permissions = settings.get("permissions");
    if let Some(permissions) = permissions {
        mode(&mut draft, permissions);
        for (list, verdict) in [
            ("deny", Verdict::Deny),
            ("ask", Verdict::Ask),
            ("allow", Verdict::Allow),
        ] {
            for item in permissions.get(list).map_or(&[][..], Json::list) {
                let Some(rule) = item.text() else { continue };
                let origin = Origin {
                    line: item.line,
                    text: rule.to_owned(),
                };
                one(&mut draft, &origin, rule.trim(), verdict, user_settings);
            }
        }
        for folder in permissions
            .get("additionalDirectories")
            .map_or(&[][..], Json::list)
        {
            let origin = Origin {
                line: folder.line,
                text: format!("additionalDirectories: {}", folder.text().unwrap_or("…")),
            };
            draft.unsaid(
                &origin,
                "what a run may read and write is the profile's matter, not a rule's",
            );
        }
    }
    if let Some(hooks) = settings
        .get("hooks")
        .filter(|hooks| !hooks.table().is_empty())
    {
        let origin = Origin {
            line: hooks.line,
            text: "hooks".to_owned(),
        };
        draft.unsaid(
            &origin,
            "hooks are programs of that host; they may refuse more",
        );
    }
    brought_along(&mut draft);
    Ok(draft.finish())
}

/// Whether the file is the user's, so that `/path` is seen from its folder.
fn is_user_settings(name: &str) -> bool {
    let mut parts = name.rsplit('/').skip(1);
    parts.next() == Some(".claude")
        && (name.starts_with("~/.claude/")
            || name.starts_with("/root/.claude/")
            || (name.starts_with("/home/") && name.split('/').count() == 5))
}

fn mode(draft: &mut Draft, permissions: &Json) {
    let Some(given) = permissions.get("defaultMode") else {
        return;
    };
    let origin = Origin {
        line: given.line,
        text: format!("defaultMode: {}", given.text().unwrap_or("…")),
    };
    match given.text() {
        Some("plan") => draft.mode("plan"),
        Some("dontAsk") => draft.mode("dont-ask"),
        Some("default" | "manual") => draft.mode("default"),
        Some("acceptEdits") => {
            draft.mode("default");
            draft.stricter(&origin, "edits are asked about");
        }
        Some(_) | None => {
            draft.mode("default");
            draft.stricter(&origin, "what no rule decides is asked about");
        }
    }
}

fn one(draft: &mut Draft, origin: &Origin, rule: &str, verdict: Verdict, user_settings: bool) {
    let (tool, inside) = match rule.split_once('(') {
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(inside) => (tool, Some(inside)),
            None => {
                broken(draft, origin, verdict);
                return;
            }
        },
        None => (rule, None),
    };
    match tool {
        "Bash" => bash(draft, origin, inside, verdict),
        "Read" => read(draft, origin, inside, verdict, user_settings),
        "Edit" => edit(draft, origin, inside, verdict, user_settings),
        "WebFetch" => fetch(draft, origin, inside, verdict),
        "Write" | "NotebookEdit" | "MultiEdit" | "Glob" if inside.is_some() => {
            draft.unsaid(origin, "a path rule of this tool is never looked at there");
        }
        tool if tool.starts_with("mcp__") => {
            draft.unsaid(
                origin,
                "it speaks of a tool of a server; tipstaff judges commands",
            );
        }
        tool if verdict != Verdict::Allow && covers(tool, "Bash") => {
            draft.rule(
                origin,
                Written::new(verdict, Kind::Command, vec!["*".to_owned()]),
            );
        }
        _ => draft.unsaid(
            origin,
            "it speaks of another tool than the shell; tipstaff judges commands",
        ),
    }
}

/// What is written wrongly is ignored there when it allows; when it restricts nobody knows what was meant.
fn broken(draft: &mut Draft, origin: &Origin, verdict: Verdict) {
    let why = "the rule is not closed";
    if verdict == Verdict::Allow {
        draft.unsaid(origin, why);
    } else {
        draft.everything(origin, verdict, why);
    }
}

/// A tool name with wildcards: the parts between them, in order.
fn covers(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

fn bash(draft: &mut Draft, origin: &Origin, inside: Option<&str>, verdict: Verdict) {
    let text = match inside.map(str::trim) {
        None | Some("" | "*" | ":*") => {
            let all = Written::new(verdict, Kind::Command, vec!["*".to_owned()]);
            draft.rule(origin, all);
            return;
        }
        Some(text) => text,
    };
    if let Some((field, _)) = text.split_once(':')
        && FIELDS.contains(&field.trim())
    {
        draft.unsaid(
            origin,
            "it compares a field of the call that is not its command",
        );
        return;
    }
    // `:*` at the end is ` *`.
    let text = match text.strip_suffix(":*") {
        Some(before) => format!("{before} *"),
        None => text.to_owned(),
    };
    match verdict {
        Verdict::Allow => allow(draft, origin, &text),
        Verdict::Ask | Verdict::Deny => {
            let wide = restrict(&split(&text, true), true);
            if let Some(why) = wide.wider {
                draft.stricter(origin, format!("it reaches further: {why}"));
            }
            draft.rule(
                origin,
                Written::new(verdict, Kind::Command, vec![wide.pattern]),
            );
        }
    }
}

fn allow(draft: &mut Draft, origin: &Origin, text: &str) {
    let (pattern, open) = match allowed(text) {
        Ok(found) => found,
        Err(why) => {
            draft.unsaid(origin, why);
            return;
        }
    };
    let program = text.split_whitespace().next().unwrap_or_default();
    if open && WRAPPERS.contains(&program) {
        draft.unsaid(
            origin,
            "a wrapper asks there, unless the whole command is named",
        );
        return;
    }
    let mut written =
        Written::new(Verdict::Allow, Kind::Command, vec![pattern]).spelled(Spelling::Command);
    if open && program == "find" {
        written.without = FIND_ACTS.to_vec();
    }
    draft.rule(origin, written);
}

/// The pattern, and whether it leaves words open.
fn allowed(text: &str) -> Result<(String, bool), &'static str> {
    let stars = text.matches('*').count();
    if stars == 0 {
        return Ok((
            format!("= {}", exact(&split(text, false))?.join(" ")),
            false,
        ));
    }
    if let Some(before) = text.strip_suffix(" *").filter(|_| stars == 1) {
        return Ok((exact(&split(before, false))?.join(" "), true));
    }
    expression(&split(text, true), text).map(|pattern| (pattern, true))
}

/// Wildcards that are no whole word at the end: an expression over the argv.
fn expression(wording: &Wording, text: &str) -> Result<String, &'static str> {
    if let Some(why) = wording.cut {
        return Err(why);
    }
    if text.contains(['\'', '"', '\\', '?', '[', '~']) {
        return Err("quotes and patterns of file names cannot stand beside a wildcard");
    }
    let mut words = Vec::new();
    for word in &wording.words {
        let mut out = String::new();
        for sym in word {
            match sym {
                Sym::Any => out.push_str(".*"),
                Sym::Char(char) => out.push_str(&regex::escape(&char.to_string())),
            }
        }
        words.push(out);
    }
    if words.first().is_some_and(|word| word.contains('=')) {
        return Err("it starts with an assignment");
    }
    Ok(format!("re:{}", words.join(" ")))
}

fn files(
    draft: &mut Draft,
    origin: &Origin,
    kinds: &[Kind],
    text: &str,
    verdict: Verdict,
    user_settings: bool,
) {
    match paths::patterns(text, verdict, user_settings) {
        Ok(patterns) => {
            for kind in kinds {
                draft.rule(origin, Written::new(verdict, *kind, patterns.clone()));
            }
        }
        Err(why) if verdict == Verdict::Allow => draft.unsaid(origin, why),
        Err(why) => {
            draft.unsaid(origin, why);
            draft.stricter(origin, "every file of its kind stands in for it");
            for kind in kinds {
                let all = vec!["/**".to_owned()];
                draft.rule(origin, Written::new(verdict, *kind, all));
            }
        }
    }
}

fn read(
    draft: &mut Draft,
    origin: &Origin,
    inside: Option<&str>,
    verdict: Verdict,
    user_settings: bool,
) {
    match (verdict, inside) {
        (Verdict::Allow, _) => draft.unsaid(
            origin,
            "reading a file needs no allow rule; what a run may read is the profile's matter",
        ),
        // What may not be read may not be written either.
        (Verdict::Deny, Some(text)) => {
            let kinds = [Kind::Read, Kind::Write];
            files(draft, origin, &kinds, text, verdict, user_settings);
        }
        (Verdict::Ask, Some(text)) => {
            files(draft, origin, &[Kind::Read], text, verdict, user_settings);
        }
        (Verdict::Ask | Verdict::Deny, None) => {
            let all = vec!["/**".to_owned()];
            draft.rule(origin, Written::new(verdict, Kind::Read, all));
        }
    }
}

fn edit(
    draft: &mut Draft,
    origin: &Origin,
    inside: Option<&str>,
    verdict: Verdict,
    user_settings: bool,
) {
    match (verdict, inside) {
        (Verdict::Allow, None) => draft.unsaid(
            origin,
            "it allows every edit; name folders with rules on writing instead",
        ),
        (Verdict::Ask | Verdict::Deny, None) => {
            let all = vec!["/**".to_owned()];
            draft.rule(origin, Written::new(verdict, Kind::Write, all));
        }
        (_, Some(text)) => files(draft, origin, &[Kind::Write], text, verdict, user_settings),
    }
}

fn fetch(draft: &mut Draft, origin: &Origin, inside: Option<&str>, verdict: Verdict) {
    if verdict == Verdict::Allow {
        draft.unsaid(
            origin,
            "it opens hosts to a tool of that host; commands get the network of their profile",
        );
        return;
    }
    let host = match inside {
        None => "*",
        Some(text) => match text.strip_prefix("domain:") {
            Some(host) => host.trim().trim_end_matches('.'),
            None => "*",
        },
    };
    let pattern = host.split('*').map(plain).collect::<Vec<_>>().join("*");
    draft.rule(origin, Written::new(verdict, Kind::Network, vec![pattern]));
}

fn plain(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        quote(text)
    }
}

/// What that host does without any rule.
fn brought_along(draft: &mut Draft) {
    let origin = |text: &str| Origin {
        line: 1,
        text: format!("what the host does by itself: {text}"),
    };
    let commands = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut reading =
        Written::new(Verdict::Allow, Kind::Command, commands(&READING)).spelled(Spelling::Command);
    reading.in_workspace = true;
    draft.rule(&origin("commands that only read"), reading);
    let wrappers = Written::new(Verdict::Allow, Kind::Command, commands(&SEEN_THROUGH))
        .spelled(Spelling::Command);
    draft.rule(
        &origin("wrappers; the command they start needs a rule of its own"),
        wrappers,
    );
    draft.rule(
        &origin("protected folders"),
        Written::new(Verdict::Ask, Kind::Write, commands(&PROTECTED)),
    );
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn names_of_tools_have_wildcards() {
        for pattern in [
            "Bash", "*", "B*", "*sh", "B*h", "*a*", "**", "Bas*h", "Bash*",
        ] {
            assert!(covers(pattern, "Bash"), "{pattern}");
        }
        for pattern in ["", "bash", "Bas", "mcp__*", "*x*", "B*s", "Bash*h", "*hh"] {
            assert!(!covers(pattern, "Bash"), "{pattern}");
        }
    }
}
