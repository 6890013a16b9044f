//! What `check` and `explain` say: a judgement shown to people and to programs.

use serde::Serialize;

use crate::model::access::{Access, Resolved, Survey};
use crate::model::digest::Digest;
use crate::model::executable::{Lookup, Trust};
use crate::model::judgement::{
    AccessJudgement, Confined, Judgement, Reason, RuleRef, SubJudgement,
};
use crate::model::mode::Mode;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Network, ProfileName};
use crate::model::script::{Span, SubCommand, Word};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;

use super::cases;
use super::remedies::{self, what_to_do};

/// The judgement of one line, nothing run.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the mode makes of it: where the sandbox stands and somebody can be asked.
    pub(super) mode: Mode,
    pub(super) line: Vec<u8>,
    pub(super) survey: Survey,
    pub(super) resolved: Resolved,
    pub(super) judgement: Judgement,
    pub(super) profile: ProfileName,
    pub(super) network: Network,
}

/// `tipstaff.check/1`
#[derive(Debug, Serialize)]
pub struct AnswerJson<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a serde_json::Value>,
    verdict: Verdict,
    reason: Reason,
    profile: &'static str,
    network: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confined_by: Option<&'a RuleRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<ModeJson>,
    opaque: Vec<OpaqueJson>,
    subcommands: Vec<SubJson<'a>>,
}

/// What a mode makes of a verdict.
#[derive(Debug, Serialize)]
struct ModeJson {
    mode: &'static str,
    verdict: Verdict,
    reason: Reason,
    change: &'static str,
}

#[derive(Debug, Serialize)]
struct AccessJson<'a> {
    access: String,
    verdict: Verdict,
    reason: Reason,
    rule: Option<&'a RuleRef>,
    change: String,
}

#[derive(Debug, Serialize)]
struct OpaqueJson {
    span: Span,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct SubJson<'a> {
    argv: Vec<String>,
    program: Option<&'a AbsolutePath>,
    digest: Option<Digest>,
    verdict: Verdict,
    reason: Reason,
    rule: Option<&'a RuleRef>,
    span: Span,
    dynamic: Vec<DynamicJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accesses: Option<Vec<AccessJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
}

#[derive(Debug, Serialize)]
struct DynamicJson {
    word: usize,
    reason: &'static str,
}

impl Answer {
    /// The verdict on the line.
    pub fn verdict(&self) -> Verdict {
        self.judgement.verdict
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.judgement.reason
    }

    /// The judgement with every access and rule.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// The line with the inner commands of its carriers, and what each accesses.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// The program of each sub-command of the survey, by its index.
    pub fn lookups(&self) -> &[Lookup] {
        &self.resolved.lookups
    }

    /// The answer as `tipstaff.check/1`; `id` is the caller's, given back as it came.
    pub fn as_json<'a>(&'a self, id: Option<&'a serde_json::Value>) -> AnswerJson<'a> {
        self.in_json("tipstaff.check/1", id, false)
    }

    /// The whole judgement for programs, `tipstaff.explain/1`: as `check` says it, with every access and
    /// what would change each.
    pub fn explained(&self) -> AnswerJson<'_> {
        self.in_json("tipstaff.explain/1", None, true)
    }

    fn in_json<'a>(
        &'a self,
        schema: &'static str,
        id: Option<&'a serde_json::Value>,
        whole: bool,
    ) -> AnswerJson<'a> {
        let (verdict, reason) = self.in_mode();
        AnswerJson {
            schema,
            id,
            mode: whole.then(|| ModeJson {
                mode: self.mode.word(),
                verdict,
                reason,
                change: what_to_do(reason),
            }),
            verdict: self.judgement.verdict,
            reason: self.judgement.reason,
            profile: self.profile.word(),
            network: self.network.word(),
            confined_by: self.confined().map(|confined| &confined.rule),
            opaque: self
                .survey
                .script
                .opaque
                .iter()
                .map(|opaque| OpaqueJson {
                    span: opaque.span,
                    reason: opaque.reason,
                    change: whole.then(|| what_to_do(Reason::Opaque)),
                })
                .collect(),
            subcommands: self
                .rows()
                .map(|(sub, lookup, judged)| self.sub_json(sub, lookup, judged, whole))
                .collect(),
        }
    }

    /// The rule that narrows the sandbox, where one does.
    fn confined(&self) -> Option<&Confined> {
        let confined = self.judgement.confined.as_ref();
        confined.filter(|confined| confined.profile == self.profile)
    }

    /// What comes of it in the mode of the run.
    fn in_mode(&self) -> (Verdict, Reason) {
        cases::in_mode(self.mode, &self.judgement, &self.survey)
    }

    fn rows(&self) -> impl Iterator<Item = (&SubCommand, &Lookup, &SubJudgement)> {
        self.survey
            .script
            .subcommands
            .iter()
            .zip(&self.resolved.lookups)
            .zip(&self.judgement.subcommands)
            .map(|((sub, lookup), judged)| (sub, lookup, judged))
    }

    fn sub_json<'a>(
        &self,
        sub: &SubCommand,
        lookup: &'a Lookup,
        judged: &'a SubJudgement,
        whole: bool,
    ) -> SubJson<'a> {
        let executable = lookup.executable();
        SubJson {
            argv: sub.argv.iter().map(|word| self.word(word)).collect(),
            program: executable.map(|file| &file.real),
            digest: executable.map(|file| file.digest),
            verdict: judged.verdict,
            reason: judged.reason,
            rule: judged.rule.as_ref(),
            span: sub.span,
            dynamic: sub
                .argv
                .iter()
                .enumerate()
                .filter_map(|(word, text)| {
                    Some(DynamicJson {
                        word,
                        reason: text.dynamic()?.reason(),
                    })
                })
                .collect(),
            accesses: whole.then(|| {
                let accesses = judged.accesses.iter();
                accesses.map(|access| access_json(sub, access)).collect()
            }),
            change: whole.then(|| match judged.accesses.as_slice() {
                [] => remedies::of_nothing(judged),
                accesses => accesses
                    .iter()
                    .filter(|access| access.verdict == judged.verdict)
                    .map(|access| remedies::of_access(sub, access))
                    .collect::<Vec<_>>()
                    .join("; "),
            }),
        }
    }

    /// A word's value, or its source text where the value is known only at run time.
    fn word(&self, word: &Word) -> String {
        let bytes = word.as_static().unwrap_or_else(|| {
            self.line
                .get(word.span.start..word.span.end)
                .unwrap_or(b"?")
        });
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// One line for people: the verdict, why, and each sub-command that is not allowed.
    pub fn summary(&self) -> String {
        let mut text = format!("{} ({})", self.judgement.verdict, self.judgement.reason);
        if let Some(confined) = self.confined() {
            text.push_str(&format!(
                "\n  sandbox {} ({})",
                self.profile,
                place(&confined.rule)
            ));
        }
        for opaque in &self.survey.script.opaque {
            text.push_str(&format!(
                "\n  opaque at byte {}: {}",
                opaque.span.start, opaque.reason
            ));
        }
        for (sub, _, judged) in self
            .rows()
            .filter(|(_, _, judged)| judged.verdict != Verdict::Allow)
        {
            text.push_str(&format!(
                "\n  {} {} ({}{})",
                judged.verdict,
                self.shown(sub),
                judged.reason,
                judged
                    .rule
                    .as_ref()
                    .map(|rule| format!(", {}", place(rule)))
                    .unwrap_or_default(),
            ));
        }
        text
    }

    pub(super) fn shown(&self, sub: &SubCommand) -> String {
        if sub.argv.is_empty() {
            let source = self
                .line
                .get(sub.span.start..sub.span.end)
                .unwrap_or_default();
            return Escaped(source).to_string();
        }
        let words: Vec<String> = sub
            .argv
            .iter()
            .map(|word| match word.as_static() {
                Some(_) => shell_words::quote(&self.word(word)).into_owned(),
                None => self.word(word),
            })
            .collect();
        Escaped(words.join(" ").as_bytes()).to_string()
    }

    /// The whole judgement for people: each sub-command with its file, digest, verdict, rule, and what
    /// would change it.
    pub fn explanation(&self) -> String {
        let mut text = format!(
            "{}\n  verdict  {} ({})\n  sandbox  profile {}{}, network {}\n",
            Escaped(&self.line),
            self.judgement.verdict,
            self.judgement.reason,
            self.profile,
            self.confined()
                .map(|confined| format!(" by {}", place(&confined.rule)))
                .unwrap_or_default(),
            self.network,
        );
        if self.mode != Mode::Default {
            let (verdict, reason) = self.in_mode();
            text.push_str(&format!(
                "  mode     {}: {verdict} ({reason}): {}\n",
                self.mode,
                what_to_do(reason)
            ));
        }
        for opaque in &self.survey.script.opaque {
            text.push_str(&format!(
                "  opaque   bytes {}: {}\n  change   {}\n",
                opaque.span,
                opaque.reason,
                what_to_do(Reason::Opaque)
            ));
        }
        for (number, (sub, lookup, judged)) in self.rows().enumerate() {
            text.push_str(&format!("\n{}. {}\n", number + 1, self.shown(sub)));
            text.push_str(&format!("   file     {}\n", file(lookup)));
            text.push_str(&format!(
                "   verdict  {} ({})\n",
                judged.verdict, judged.reason
            ));
            for access in &judged.accesses {
                let change = remedies::of_access(sub, access);
                text.push_str(&format!(
                    "   access   {}\n   change   {}\n",
                    described(access),
                    Escaped::from(change.as_str())
                ));
            }
            if judged.accesses.is_empty() {
                let change = remedies::of_nothing(judged);
                text.push_str(&format!("   change   {}\n", Escaped::from(change.as_str())));
            }
        }
        text
    }
}

fn file(lookup: &Lookup) -> String {
    match lookup {
        Lookup::Nothing => "none: nothing is started".to_owned(),
        Lookup::Builtin => "built into the shell".to_owned(),
        Lookup::Function => "a function of the line".to_owned(),
        Lookup::Dynamic => "known only when the shell runs".to_owned(),
        Lookup::Failed(error) => error.to_string(),
        Lookup::File(executable) => {
            let trust = match executable.trust {
                Trust::Trusted => String::new(),
                Trust::ForeignOwner
                | Trust::WritableByOthers
                | Trust::InWriteRoot
                | Trust::Changeable => {
                    format!(", not trusted: {}", executable.trust.reason())
                }
            };
            format!(
                "{} sha256:{}{trust}",
                executable.real,
                executable.digest.short()
            )
        }
    }
}

fn access_json<'a>(sub: &SubCommand, judged: &'a AccessJudgement) -> AccessJson<'a> {
    AccessJson {
        access: named(&judged.access),
        verdict: judged.verdict,
        reason: judged.reason,
        rule: judged.rule.as_ref(),
        change: remedies::of_access(sub, judged),
    }
}

/// An access as a rule would name it.
fn named(access: &Access) -> String {
    match access {
        Access::Command => "command".to_owned(),
        Access::Write(path) => format!("write({})", place_of(path.path.as_ref())),
        Access::Read(path) => format!("read({})", place_of(path.path.as_ref())),
        Access::Env(name) => format!("env({})", Escaped(name)),
        Access::Network { host, port } => match port {
            Some(port) => format!("network({}:{})", Escaped(host), Escaped(port)),
            None => format!("network({})", Escaped(host)),
        },
    }
}

fn described(judged: &AccessJudgement) -> String {
    let access = named(&judged.access);
    let rule = match &judged.rule {
        Some(rule) => format!(" by {}: {}", place(rule), Escaped::from(rule.text.as_str())),
        None => String::new(),
    };
    format!("{access} {} ({}){rule}", judged.verdict, judged.reason)
}

fn place_of(path: Option<&AbsolutePath>) -> String {
    path.map_or_else(
        || "known only when the shell runs".to_owned(),
        ToString::to_string,
    )
}

/// Where a rule stands: `FILE:LINE id`, or its layer.
pub fn place(rule: &RuleRef) -> String {
    match &rule.place {
        Some(place) => format!(
            "{}:{} {}",
            Escaped::from(place.file.as_str()),
            place.line,
            Escaped::from(rule.id.as_str())
        ),
        None => format!(
            "{} rule {}",
            rule.layer.word(),
            Escaped::from(rule.id.as_str())
        ),
    }
}
