//! Looking at rules: which are in force, what a new one would cover, and what it would change for the
//! lines of the record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::audit::{self, AuditError, Filter, Kind, Shown};
use crate::layers::{self, Places};
use crate::model::access::Facts;
use crate::model::judgement::Layer;
use crate::model::path::AbsolutePath;
use crate::model::profile::Network;
use crate::model::request::{Command, Request};
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::{self, Finding, Here, Listed, Matched, Policy, Source, Trial, Tried};

use super::Supervisor;
use super::call::judge;
use super::error::Error;
use super::ground::{self, Ground};

/// How many records are looked at for a preview, and how many of their lines are judged again.
const RECORDS: usize = 2000;
const LINES: usize = 200;

/// Which policy file is meant.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// The user's.
    User,
    /// The project's, of the present folder.
    Project,
    /// This one.
    File(&'a Path),
}

/// One sub-command a rule was tried on.
#[derive(Clone, Debug)]
pub struct TriedCommand {
    /// Its words, escaped.
    pub shown: String,
    /// What the rule is to it.
    pub tried: Tried,
}

/// A line a rule was tried on.
#[derive(Clone, Debug)]
pub struct TriedLine {
    /// Every sub-command.
    pub commands: Vec<TriedCommand>,
    /// Whether the rule speaks of the line: an allow rule of everything it does, another of anything.
    pub matched: bool,
}

/// What another policy text would change for the lines of the record.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// Distinct lines that were judged.
    pub judged: usize,
    /// Those whose verdict would be another one, newest first.
    pub changes: Vec<Change>,
}

/// One line that would be judged differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The line, escaped.
    pub line: String,
    /// The folder it ran in.
    pub cwd: String,
    /// The verdict today.
    pub from: Verdict,
    /// The verdict then.
    pub to: Verdict,
}

impl Supervisor {
    /// Every rule in force here, those included that do not count.
    ///
    /// # Errors
    /// A layer does not load.
    pub fn rules(&self) -> Result<Vec<Listed>, Error> {
        let (_, policy) = self.policy(&self.policy_workspace()?)?;
        Ok(policy.listing(ground::today()))
    }

    /// What of the policies in force here is likely not meant. `programs` are the names of those there
    /// are.
    ///
    /// # Errors
    /// A layer does not load.
    pub fn lint(&self, programs: BTreeSet<String>) -> Result<Vec<Finding>, Error> {
        let workspace = self.policy_workspace()?;
        let (sources, _) = self.policy(&workspace)?;
        let here = Here {
            facts: Facts {
                cwd: workspace.clone(),
                workspace,
                home: self.environment.home(),
                own: self.house.own(),
                today: ground::today(),
                network: Network::Off,
            },
            write_roots: vec![AbsolutePath::new("/tmp").map_err(|e| Error::usage(e.to_string()))?],
            programs: Some(programs),
        };
        Ok(policy::lint(&sources, &here)?)
    }

    /// What a rule is to a line, seen from the present folder.
    ///
    /// # Errors
    /// The line cannot be judged here.
    pub fn try_rule(&self, trial: &Trial, request: Request) -> Result<TriedLine, Error> {
        let verdict = trial
            .policy()
            .rules()
            .next()
            .map_or(Verdict::Ask, |(_, verdict)| verdict);
        let (answer, tried) = self.checked(request, |call, ground| {
            let mut resolved = call.pinned.resolved.clone();
            let names = trial.policy().restricted_names();
            resolved.copies = ground.resolver.copies(&resolved, &names);
            trial.on(&call.survey, &resolved, &ground.facts)
        })?;
        let opaque = !answer.survey.script.opaque.is_empty();
        let commands: Vec<TriedCommand> = answer
            .survey
            .script
            .subcommands
            .iter()
            .zip(tried)
            .map(|(sub, tried)| TriedCommand {
                shown: answer.shown(sub),
                tried,
            })
            .collect();
        let is = |wanted: Matched| move |command: &TriedCommand| command.tried.matched == wanted;
        let any = commands.iter().any(is(Matched::Yes));
        let matched = match verdict {
            Verdict::Allow => {
                let all = commands.iter().all(|command| {
                    matches!(command.tried.matched, Matched::Yes | Matched::Nothing)
                });
                any && all && !opaque
            }
            Verdict::Ask | Verdict::Deny => any,
        };
        Ok(TriedLine { commands, matched })
    }

    /// The layer and the file of a target.
    ///
    /// # Errors
    /// The environment names no home for a user policy, or the path is none.
    pub fn policy_file(&self, target: &Target<'_>) -> Result<(Layer, AbsolutePath), Error> {
        let workspace = self.policy_workspace()?;
        let places = Places::discover(&self.environment, &workspace);
        match target {
            Target::User => Ok((Layer::User, places.user_file.ok_or(Error::NoHome)?)),
            Target::Project => Ok((Layer::Project, places.project_file)),
            Target::File(path) => {
                let here = crate::resolve::workspace::current_folder()?;
                let path = here.join(path);
                // Named by its path, a file of a layer is still a file of that layer.
                let layer = if places.user_file.as_ref() == Some(&path) {
                    Layer::User
                } else if places.project_file == path {
                    Layer::Project
                } else if path.is_within(&places.managed_dir) {
                    Layer::Managed
                } else {
                    Layer::Flag
                };
                Ok((layer, path))
            }
        }
    }

    /// Checks that a text would load in place of a file, with the layers around it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn would_load(&self, layer: Layer, file: &AbsolutePath, text: &str) -> Result<(), Error> {
        let workspace = self.policy_workspace()?;
        // A file of its own stands in for the other layers, whatever is wrong with those.
        let sources = match layer {
            Layer::Flag => layers::managed(&Places::discover(&self.environment, &workspace))?,
            Layer::BuiltIn | Layer::Managed | Layer::User | Layer::Project | Layer::Session => {
                ground::sources(&self.environment, &self.choice, &workspace)?
            }
        };
        policy::load(&with(sources, layer, file, Some(text)))?;
        Ok(())
    }

    /// Judges the lines of the record's newest decisions as they would be judged now and with `text` in
    /// place of the file. What cannot be judged any more is passed over.
    ///
    /// # Errors
    /// The record is there and cannot be read.
    pub fn preview(
        &self,
        layer: Layer,
        file: &AbsolutePath,
        old: Option<&str>,
        text: &str,
    ) -> Result<Preview, Error> {
        if !self.house.state.as_path().exists() {
            return Ok(Preview::default());
        }
        let shown = audit::show(
            &self.house.state,
            &Filter {
                last: Some(RECORDS),
                kind: Some(Kind::Decided),
                ..Filter::default()
            },
        );
        let shown = match shown {
            Ok(shown) => shown,
            // Nothing was decided here yet.
            Err(AuditError::Missing { .. }) => return Ok(Preview::default()),
            Err(error) => return Err(error.into()),
        };
        let mut preview = Preview::default();
        let mut seen = BTreeSet::new();
        let mut grounds: BTreeMap<(String, String), Option<Standing>> = BTreeMap::new();
        for record in shown.into_iter().rev() {
            let Shown::Record(record) = record else {
                continue;
            };
            let Some(asked) = Asked::of(&record.record) else {
                continue;
            };
            if preview.judged >= LINES || !seen.insert((asked.cwd.clone(), asked.shown())) {
                continue;
            }
            let place = (asked.cwd.clone(), asked.workspace.clone());
            let standing = grounds
                .entry(place)
                .or_insert_with(|| self.standing(&asked, layer, file, old, text).ok());
            let Some(standing) = standing else { continue };
            let Some((from, to)) = standing.verdicts(&asked.command) else {
                continue;
            };
            preview.judged += 1;
            if from != to {
                preview.changes.push(Change {
                    line: Escaped::from(asked.shown().as_str()).to_string(),
                    cwd: Escaped::from(asked.cwd.as_str()).to_string(),
                    from,
                    to,
                });
            }
        }
        Ok(preview)
    }

    fn standing(
        &self,
        asked: &Asked,
        layer: Layer,
        file: &AbsolutePath,
        old: Option<&str>,
        text: &str,
    ) -> Result<Standing, Error> {
        let path =
            |text: &str| AbsolutePath::new(text).map_err(|error| Error::usage(error.to_string()));
        let mut request = Request::new(asked.command.clone(), self.environment.clone());
        request.cwd = Some(path(&asked.cwd)?);
        request.workspace = Some(path(&asked.workspace)?);
        let mut ground = self.looked_at(&request)?;
        let sources = std::mem::take(&mut ground.sources);
        let now = policy::load(&with(sources.clone(), layer, file, old))?;
        let then = policy::load(&with(sources, layer, file, Some(text)))?;
        Ok(Standing { ground, now, then })
    }
}

/// The sources with another text of one file; `None` takes it out. A file that no layer has stands in
/// for user and project, as `--policy` makes it. What is added to a project counts as trusted, since
/// the question is what it would do then.
fn with(
    mut sources: Vec<Source>,
    layer: Layer,
    file: &AbsolutePath,
    text: Option<&str>,
) -> Vec<Source> {
    if layer == Layer::Flag {
        sources.retain(|source| source.layer == Layer::Managed);
    }
    let name = file.to_string();
    let at = sources
        .iter()
        .position(|source| source.layer == layer && source.name == name);
    let at = match at {
        Some(at) => {
            sources.remove(at);
            at
        }
        None => sources.len(),
    };
    if let Some(text) = text {
        sources.insert(
            at,
            Source {
                layer,
                name,
                text: text.to_owned(),
                trusted: true,
            },
        );
    }
    sources
}

/// A place with the policy of today and the one to come.
struct Standing {
    ground: Ground,
    now: Policy,
    then: Policy,
}

impl Standing {
    fn verdicts(&self, command: &Command) -> Option<(Verdict, Verdict)> {
        let call = judge(command, &self.ground).ok()?;
        let verdict = |policy: &Policy| {
            let mut resolved = call.pinned.resolved.clone();
            let names = policy.restricted_names();
            resolved.copies = self.ground.resolver.copies(&resolved, &names);
            policy::judge(policy, &call.survey, &resolved, &self.ground.facts).verdict
        };
        Some((verdict(&self.now), verdict(&self.then)))
    }
}

/// What a record of a decision says was asked for.
struct Asked {
    command: Command,
    cwd: String,
    workspace: String,
}

impl Asked {
    fn of(record: &serde_json::Value) -> Option<Self> {
        let text = |name: &str| record.get(name)?.as_str().map(str::to_owned);
        let command = record.get("command")?;
        let line = command.get("line").and_then(serde_json::Value::as_str);
        let command = match line {
            Some(line) => Command::Line(line.as_bytes().to_vec()),
            None => {
                let argv = command.get("argv")?.as_array()?;
                let words: Option<Vec<Vec<u8>>> = argv
                    .iter()
                    .map(|word| word.as_str().map(|word| word.as_bytes().to_vec()))
                    .collect();
                Command::Argv(words?)
            }
        };
        Some(Self {
            command,
            cwd: text("cwd")?,
            workspace: text("workspace")?,
        })
    }

    fn shown(&self) -> String {
        match &self.command {
            Command::Line(line) => String::from_utf8_lossy(line).into_owned(),
            Command::Argv(argv) => {
                shell_words::join(argv.iter().map(|word| String::from_utf8_lossy(word)))
            }
        }
    }
}
