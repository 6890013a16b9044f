//! A judged line: what `run`, `check` and `explain` share, by the very same code.

use crate::approval::{Denial, why};
use crate::model::access::Survey;
use crate::model::executable::{Lookup, LookupError};
use crate::model::judgement::{Judgement, Reason, RuleRef};
use crate::model::outcome::Outcome;
use crate::model::path::AbsolutePath;
use crate::model::request::Command;
use crate::model::script::{
    Assignment, Dialect, Folder, Opaque, ReadBy, Script, Span, SubCommand, SyntaxError, Word,
};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::plan::{self, Plan, Runner, Setting};
use crate::policy;
use crate::resolve::{Held, Pinned, Resolver};
use crate::shell;
use crate::sys::fail;

use super::answer::place;
use super::error::Error;
use super::ground::Ground;

/// Where bash is looked for: system folders only, never the PATH of the run.
const SHELLS: [&[u8]; 3] = [b"/bin/bash", b"/usr/bin/bash", b"/usr/local/bin/bash"];

/// One line, judged.
#[derive(Debug)]
pub struct Call {
    /// The line; an argv is shown quoted.
    pub line: Vec<u8>,
    pub survey: Survey,
    pub pinned: Pinned,
    pub judgement: Judgement,
    shell: Option<Held>,
}

/// The first three stages and the policy: shell, survey, resolve, judge.
pub fn judge(command: &Command, ground: &Ground) -> Result<Call, Error> {
    let (line, script) = read(command)?;
    fail::point("line-parsed");
    let survey = policy::survey(script, &ground.facts, shell::parse);
    let mut pinned = ground.resolver.pin(&survey)?;
    ground
        .resolver
        .note_copies(&mut pinned, &ground.policy.restricted_names());
    fail::point("programs-pinned");
    let judgement = policy::judge(&ground.policy, &survey, &pinned.resolved, &ground.facts);
    fail::point("line-judged");
    Ok(Call {
        line,
        survey,
        pinned,
        judgement,
        shell: None,
    })
}

/// An exec of a running command, as it was read.
#[derive(Debug)]
pub struct Started<'a> {
    /// Its argv, under the name that rules know the program by.
    pub argv: &'a [Vec<u8>],
    /// The folder it starts in, when that has a name.
    pub folder: Option<&'a AbsolutePath>,
    /// What its environment has that the command's has not.
    pub assignments: Vec<Assignment>,
    /// Its file.
    pub held: Held,
}

/// Judges an exec like a line that is nothing else, with its file found already.
pub fn judge_exec(
    started: Started<'_>,
    ground: &Ground,
    resolver: &Resolver,
    restricted: &[Vec<u8>],
) -> Result<Call, Error> {
    let (line, mut script) = spelled(started.argv);
    for sub in &mut script.subcommands {
        sub.folder = started.folder.map_or(Folder::Unknown, |folder| {
            Folder::Moved(folder.as_bytes().to_vec())
        });
        sub.assignments.clone_from(&started.assignments);
    }
    script.single = started.assignments.is_empty();
    let survey = policy::survey(script, &ground.facts, shell::parse);
    let mut pinned = resolver.pin_exec(&survey, started.held)?;
    resolver.note_copies(&mut pinned, restricted);
    let judgement = policy::judge(&ground.policy, &survey, &pinned.resolved, &ground.facts);
    Ok(Call {
        line,
        survey,
        pinned,
        judgement,
        shell: None,
    })
}

/// The text of a command and its script. What is no script is opaque as a whole.
pub(super) fn read(command: &Command) -> Result<(Vec<u8>, Script), Error> {
    match command {
        Command::Line(line) => {
            if line.iter().all(u8::is_ascii_whitespace) {
                return Err(Error::Empty);
            }
            if line.contains(&0) {
                return Err(Error::usage(
                    "the line holds a NUL byte, which no program can be given",
                ));
            }
            let script =
                shell::parse(line, Dialect::Bash).unwrap_or_else(|error| unread(line, &error));
            Ok((line.clone(), script))
        }
        Command::Argv(argv) => {
            if argv.first().is_none_or(Vec::is_empty) {
                return Err(Error::Empty);
            }
            if argv.iter().any(|word| word.contains(&0)) {
                return Err(Error::usage(
                    "an argument holds a NUL byte, which no program can be given",
                ));
            }
            Ok(spelled(argv))
        }
    }
}

/// A script that says only that nothing is known of the line.
fn unread(line: &[u8], error: &SyntaxError) -> Script {
    let (start, reason) = match error {
        SyntaxError::Syntax { at, reason } => (*at, *reason),
        SyntaxError::Limit(limit) => (0, *limit),
    };
    Script {
        opaque: vec![Opaque {
            span: Span {
                start,
                end: line.len(),
            },
            reason,
        }],
        ..Script::default()
    }
}

/// The script of an argv, and its text as a shell would have to be given it.
fn spelled(argv: &[Vec<u8>]) -> (Vec<u8>, Script) {
    let mut line = Vec::new();
    let mut words = Vec::new();
    for word in argv {
        if !line.is_empty() {
            line.push(b' ');
        }
        let start = line.len();
        line.extend(quoted(word));
        words.push(Word::text(
            Span {
                start,
                end: line.len(),
            },
            word.clone(),
        ));
    }
    let subcommand = SubCommand {
        span: Span {
            start: 0,
            end: line.len(),
        },
        context: Default::default(),
        folder: Folder::Start,
        argv: words,
        assignments: Vec::new(),
        redirections: Vec::new(),
        carrier: None,
    };
    let script = Script {
        subcommands: vec![subcommand],
        single: true,
        read_by: ReadBy::Nobody,
        ..Script::default()
    };
    (line, script)
}

/// `word` in single quotes unless it is plain; works for bytes that are no text.
fn quoted(word: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        return word.to_vec();
    }
    let mut text = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

impl Call {
    /// Why nothing is even built: a deny rule, or a single program that could not start anyway, about
    /// which there is nothing to ask. With what the caller is told.
    pub fn refused(&self) -> Option<(Outcome, String)> {
        if self.judgement.verdict == Verdict::Deny {
            let rule = self
                .judgement
                .subcommands
                .iter()
                .filter(|sub| sub.verdict == Verdict::Deny);
            let rules: Vec<String> = rule
                .filter_map(|sub| sub.rule.as_ref())
                .map(because)
                .collect();
            let denial = Denial::of(self.judgement.reason);
            let message = [vec![denial.message()], rules].concat().join("\n");
            return Some((Outcome::Denied(self.judgement.reason), message));
        }
        match self.pinned.resolved.lookups.as_slice() {
            [Lookup::Failed(error)] if self.survey.script.single => Some((
                match error {
                    LookupError::NotFound(_) => Outcome::NotFound,
                    LookupError::Unreadable(_)
                    | LookupError::Directory(_)
                    | LookupError::NotExecutable(_)
                    | LookupError::Interpreter { .. } => Outcome::Denied(Reason::ProgramUnusable),
                },
                format!("not run: {error}\n{LOOK}"),
            )),
            _ => None,
        }
    }

    /// What has to be asked about and why, one line each: for whoever is told that nobody was asked.
    pub fn open_questions(&self) -> Vec<String> {
        let script = &self.survey.script;
        let opaque = script.opaque.iter().map(|opaque| {
            format!(
                "to be asked: the line cannot be understood: {}, at byte {}",
                opaque.reason, opaque.span.start
            )
        });
        let parts = script
            .subcommands
            .iter()
            .zip(&self.judgement.subcommands)
            .filter(|(_, judged)| judged.verdict == Verdict::Ask)
            .map(|(sub, judged)| {
                format!(
                    "to be asked: `{}`: {} ({})",
                    in_short(sub),
                    why(judged.reason),
                    judged.reason
                )
            });
        opaque.chain(parts).collect()
    }

    /// Stage 4: what will run.
    pub fn plan(&mut self, ground: &Ground) -> Result<Plan, Error> {
        // The shell is looked up and hashed only for what it has to read.
        let runner = match plan::direct(&self.survey, &self.pinned.resolved) {
            Some(direct) => Runner::Direct(direct),
            None => {
                let held = self.shell.insert(shell(ground)?);
                Runner::Shell(held.executable.clone())
            }
        };
        let setting = Setting {
            environment: ground.fixed.environment.clone(),
            cwd: ground.cwd.clone(),
            profile: ground.profile.clone(),
            temporary: ground.temporary.clone(),
            identity: ground.identity.clone(),
        };
        let plan = plan::plan(&self.line, runner, setting);
        fail::point("plan-made");
        Ok(plan)
    }

    /// The held file that `plan` executes.
    pub fn target(&self, plan: &Plan) -> Option<&Held> {
        match plan.start {
            plan::Start::Binary { subcommand } | plan::Start::Script { subcommand } => {
                self.pinned.held(subcommand)
            }
            plan::Start::Shell => self.shell.as_ref(),
        }
    }

    /// Every held file but the target's own.
    pub fn held(&self) -> impl Iterator<Item = &Held> {
        (0..self.survey.script.subcommands.len()).filter_map(|index| self.pinned.held(index))
    }

    /// What is no longer the same as when it was judged, in words.
    pub fn changes(&self, ground: &Ground) -> Vec<String> {
        let mut changes: Vec<String> = self
            .pinned
            .changes(&ground.resolver, &self.survey)
            .iter()
            .map(ToString::to_string)
            .collect();
        if let Some(shell) = &self.shell {
            let again = ground
                .resolver
                .find(shell.executable.path.as_bytes(), &Folder::Start);
            match again {
                Ok(again) if again.executable == shell.executable => {}
                Ok(_) => changes.push(format!("`{}` changed", shell.executable.path)),
                Err(error) => changes.push(error.to_string()),
            }
        }
        changes
    }
}

/// What to do about a program that cannot be started.
const LOOK: &str = "Correct the name or the file; `tipstaff explain` shows where a name leads.";

/// An argv on one line; a word that only the shell knows is `…`.
fn in_short(sub: &SubCommand) -> String {
    let words: Vec<String> = sub
        .argv
        .iter()
        .map(|word| {
            word.as_static().map_or_else(
                || "…".to_owned(),
                |bytes| shell_words::quote(&String::from_utf8_lossy(bytes)).into_owned(),
            )
        })
        .collect();
    Escaped::from(words.join(" ").as_str()).to_string()
}

/// Which rule denies, where it stands and why.
fn because(rule: &RuleRef) -> String {
    let why = rule
        .why
        .as_deref()
        .map(|why| format!(": {}", Escaped::from(why)))
        .unwrap_or_default();
    format!(
        "denied by {} `{}`{why}",
        place(rule),
        Escaped::from(rule.text.as_str())
    )
}

fn shell(ground: &Ground) -> Result<Held, Error> {
    let mut last = None;
    for path in SHELLS {
        match ground.resolver.find(path, &Folder::Start) {
            Ok(held) => return Ok(held),
            Err(error) => last = Some(error),
        }
    }
    Err(Error::NoShell(
        last.map(|error| error.to_string()).unwrap_or_default(),
    ))
}
