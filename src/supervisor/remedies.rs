//! What a person can do about every reason: the third column of docs/reasons.md, for `explain`.

use crate::model::access::Access;
use crate::model::judgement::{AccessJudgement, Reason, SubJudgement};
use crate::model::script::SubCommand;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

/// What to do about a reason, in words.
pub fn what_to_do(reason: Reason) -> &'static str {
    match reason {
        Reason::PolicyInvalid => "`tipstaff policy check` names file, line and remedy",
        Reason::RuleDeny => "do something else; the rule's owner can change it",
        Reason::SandboxUnavailable => "`tipstaff doctor` names what is missing",
        Reason::RuleAsk => "answer the question; no mode answers it for you",
        Reason::Opaque => "write it plainer, or answer the question",
        Reason::Dynamic => "write the value out, or answer the question",
        Reason::Unmatched => "answer the question, or add a rule",
        Reason::ProgramNotFound => "correct the name, or install the program",
        Reason::ProgramUnusable => "correct its permissions or its `#!` line",
        Reason::ProgramUntrusted => {
            "name it by path and `sha256:`, or move it out of what can be written"
        }
        Reason::RuleAllow => "narrow or remove the allow rule, or add an ask or deny rule",
        Reason::ReadOnlyDefault => {
            "add an ask or deny rule; `read_only_defaults = false` makes all such commands ask"
        }
        Reason::NoAccess => "nothing: no rule speaks of what starts and opens nothing",
        Reason::Approved => "nothing: it was approved, once",
        Reason::Refused => "follow the note; neither retry nor work around it",
        Reason::NoApprover => {
            "run it in the foreground of a terminal, name an approver, or add an allow rule"
        }
        Reason::DontAsk => "add an allow rule, or choose a mode that asks",
        Reason::PlanMode => "propose the change; leave the mode to make it",
        Reason::Timeout => "ask again when somebody is there; `[approvals] timeout` sets the time",
        Reason::ApproverError => "repair the approver; the message says what was wrong",
        Reason::CallChanged => "it is asked about anew; where nobody can be asked it is refused",
        Reason::Cancelled => "nothing ran; wait for new instructions",
        Reason::Bypass => "leave the mode to be asked again",
        Reason::ProgramHidden => "execute the program itself",
    }
}

/// What would change the verdict on one access.
pub(super) fn of_access(sub: &SubCommand, judged: &AccessJudgement) -> String {
    if let Some(remedy) = &judged.remedy {
        return remedy.clone();
    }
    if judged.verdict != Verdict::Allow {
        return what_to_do(judged.reason).to_owned();
    }
    let stricter = stricter(sub, judged);
    match (judged.reason, &judged.rule) {
        (Reason::RuleAllow, Some(rule)) => format!(
            "to be asked, remove the rule `{}` or add an ask rule such as `{stricter}`",
            Escaped::from(rule.called())
        ),
        (Reason::ReadOnlyDefault, Some(rule)) => format!(
            "to be asked, add an ask rule such as `{stricter}`; `disable = [\"{}\"]` makes all such commands ask",
            Escaped::from(rule.id.as_str())
        ),
        (_, _) => match judged.access {
            Access::Write(_) | Access::Read(_) => {
                format!("to be asked, add an ask rule such as `{stricter}`")
            }
            Access::Command | Access::Env(_) | Access::Network { .. } => {
                what_to_do(judged.reason).to_owned()
            }
        },
    }
}

/// What would change the verdict on a sub-command that accesses nothing.
pub(super) fn of_nothing(judged: &SubJudgement) -> String {
    let remedy = judged.remedy.clone();
    remedy.unwrap_or_else(|| what_to_do(judged.reason).to_owned())
}

/// The words of a rule that would speak of the access.
fn stricter(sub: &SubCommand, judged: &AccessJudgement) -> String {
    match &judged.access {
        Access::Command => {
            let words: Vec<String> = sub
                .argv
                .iter()
                .take(2)
                .map_while(|word| word.as_static())
                .enumerate()
                // The program, and what may be its sub-command.
                .take_while(|(at, word)| *at == 0 || word.iter().all(u8::is_ascii_lowercase))
                .map(|(_, word)| String::from_utf8_lossy(word).into_owned())
                .collect();
            Escaped::from(shell_words::join(words).as_str()).to_string()
        }
        Access::Write(path) => format!(
            "write({})",
            path.path
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default()
        ),
        Access::Read(path) => format!(
            "read({})",
            path.path
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default()
        ),
        Access::Env(name) => format!("env({})", Escaped(name)),
        Access::Network { host, .. } => format!("network({})", Escaped(host)),
    }
}

#[cfg(test)]
mod tests {
    use super::what_to_do;
    use crate::model::judgement::Reason;

    /// The page and the program give the same advice.
    #[test]
    fn every_reason_has_something_to_do_and_the_page_names_it() {
        let page = include_str!("../../docs/reasons.md");
        for reason in Reason::ALL {
            assert!(what_to_do(reason).len() > 10, "{reason}");
            let row = format!("| `{}` |", reason.code());
            assert!(page.contains(&row), "{reason}");
        }
    }
}
