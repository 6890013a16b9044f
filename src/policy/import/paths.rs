//! Path rules of Claude Code: patterns as in a .gitignore, from one of four places.

use super::wording::quote;
use crate::model::verdict::Verdict;

/// Path patterns of ours for one of theirs.
pub(super) fn patterns(
    text: &str,
    verdict: Verdict,
    user_settings: bool,
) -> Result<Vec<String>, &'static str> {
    let allows = verdict == Verdict::Allow;
    if text.is_empty() || text.contains('\\') || text.starts_with('!') {
        return Err("the path pattern is written in a way that is not known");
    }
    let (anchor, rest) = anchor(text, user_settings);
    if allows && anchor == "~/" {
        return Err("a redirection to a path that starts with `~` asks there whatever allows it");
    }
    let folder = rest.ends_with('/');
    let rest = rest.trim_end_matches('/');
    if rest
        .split('/')
        .any(|part| part == ".." || part == "." || part.is_empty())
        && !rest.is_empty()
    {
        return Err("the path has a part that no cleaned path has");
    }
    if rest.is_empty() {
        return Ok(vec![format!("{anchor}**")]);
    }
    let rest = escaped(rest)?;
    let single = !rest.trim_end_matches("/**").contains('/');
    let bare = !rest.contains('/');
    // A bare name is found at any depth; a folder with all below it only where it is not allowed.
    let deep = anchor.is_empty() && (bare || (single && !allows));
    let mut all = Vec::new();
    let start = if deep && !rest.starts_with("**/") {
        format!("{anchor}**/")
    } else {
        anchor.to_owned()
    };
    if !folder {
        all.push(format!("{start}{rest}"));
    }
    // What is said of a folder holds for all that lies in it.
    if !rest.ends_with("**") && (folder || !allows) {
        all.push(format!("{start}{rest}/**"));
    }
    if let Some(root) = rest.strip_suffix("/**").filter(|_| !allows) {
        all.push(format!("{start}{root}"));
    }
    Ok(all)
}

fn anchor(text: &str, user_settings: bool) -> (&'static str, &str) {
    if let Some(rest) = text.strip_prefix("//") {
        ("/", rest)
    } else if let Some(rest) = text.strip_prefix("~/") {
        ("~/", rest)
    } else if let Some(rest) = text.strip_prefix('/') {
        // Seen from where the settings lie.
        if user_settings {
            ("~/.claude/", rest)
        } else {
            ("./", rest)
        }
    } else {
        ("", text.strip_prefix("./").unwrap_or(text))
    }
}

/// The wildcards stay, the rest stands for itself.
fn escaped(text: &str) -> Result<String, &'static str> {
    let mut out = String::new();
    let mut plain = String::new();
    for char in text.chars() {
        if char.is_control() {
            return Err("the path holds a control character");
        }
        if matches!(char, '*' | '?') {
            out.push_str(&taken(&mut plain));
            out.push(char);
        } else if matches!(char, '[' | ']') {
            return Err("the path pattern holds a class of characters");
        } else {
            plain.push(char);
        }
    }
    out.push_str(&taken(&mut plain));
    Ok(out)
}

fn taken(plain: &mut String) -> String {
    if plain.is_empty() {
        return String::new();
    }
    quote(&std::mem::take(plain))
}

#[cfg(test)]
mod tests {
    use super::patterns;
    use crate::model::verdict::Verdict;

    #[test]
    fn each_anchor_has_its_place() {
        for (text, allow, deny) in [
            ("/src/**", "./src/**", "./src/**; ./src"),
            ("src/**", "src/**", "**/src/**; **/src"),
            (".env", "**/.env", "**/.env; **/.env/**"),
            ("//tmp/x", "/tmp/x", "/tmp/x; /tmp/x/**"),
            ("a/b.txt", "a/b.txt", "a/b.txt; a/b.txt/**"),
            ("./secrets/", "**/secrets/**", "**/secrets/**"),
        ] {
            let said = |verdict| patterns(text, verdict, false).unwrap().join("; ");
            assert_eq!(said(Verdict::Allow), allow, "{text}");
            assert_eq!(said(Verdict::Deny), deny, "{text}");
        }
        assert!(patterns("~/x", Verdict::Allow, false).is_err());
        assert_eq!(
            patterns("/x", Verdict::Deny, true).unwrap()[0],
            "~/.claude/x"
        );
    }
}
