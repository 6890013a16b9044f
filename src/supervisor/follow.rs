//! Live rules: while a question is open the files of every layer are followed, and the open call is
//! judged again under the policy in force.
//!
//! What tightens counts at once, what loosens only after its content has stood still: a file half
//! written may well be a policy that allows more than the whole one. A layer that breaks or vanishes
//! refuses.

use std::io::PipeReader;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::launch::Signals;
use crate::model::environment::Environment;
use crate::model::judgement::{AccessJudgement, Judgement, Reason};
use crate::model::outcome::Outcome;
use crate::model::profile::ProfileName;
use crate::model::verdict::Verdict;
use crate::policy::{self, Policy, Settings, Source};

use super::builder::Choice;
use super::call::Call;
use super::error::{Error, chain};
use super::ground::{self, Ground};
use super::run::Run;
use super::{Attempt, Supervisor};

/// How often the files are read; a policy is small and read from the page cache.
const TICK: Duration = Duration::from_millis(250);
/// How long a loosening has to stand unchanged.
const STILL: Duration = Duration::from_secs(1);
/// How long a policy may be broken or gone while an editor writes it.
const WRITING: Duration = Duration::from_millis(400);

/// What became of the call before this attempt.
#[derive(Debug, Default)]
pub struct Story {
    /// What changed under it, in words.
    pub changes: Vec<String>,
    /// What it was judged as before the policy changed.
    pub before: Option<Before>,
}

impl Story {
    /// Until when a question may stay open: the clock of the first one runs on.
    pub fn deadline(&self, timeout: Duration) -> Instant {
        let own = Instant::now() + timeout;
        self.before
            .as_ref()
            .map_or(own, |before| before.deadline.min(own))
    }
}

/// The policy changed while the question was open.
#[derive(Debug)]
pub struct Changed {
    /// The content that stood still, where the change is a loosening.
    pub sources: Option<Vec<Source>>,
    /// When the question ends.
    pub deadline: Instant,
}

/// The judgement that a changed policy overtook.
#[derive(Debug)]
pub struct Before {
    verdict: Verdict,
    profile: ProfileName,
    settings: Settings,
    layers: Vec<Source>,
    still: Option<Vec<Source>>,
    deadline: Instant,
}

impl Before {
    /// What the attempt stood on.
    pub fn of(ground: &Ground, call: &Call, changed: Changed) -> Self {
        Self {
            verdict: call.judgement.verdict,
            profile: ground.profile.name,
            settings: ground.policy.settings().clone(),
            layers: ground.sources.clone(),
            still: changed.sources,
            deadline: changed.deadline,
        }
    }
}

/// What following found in the end.
#[derive(Debug)]
pub enum Found {
    /// The policy in force says of the call what it said before.
    Same,
    /// It says something else; with the content that stood still, where it has to.
    Changed(Option<Vec<Source>>),
    /// A layer is broken or gone.
    Invalid(String),
}

/// How a policy text changes what is said of the call.
enum Says {
    Same,
    Tighter,
    Looser,
    Invalid(String),
}

/// A call whose question is open.
pub struct Watch<'a> {
    pub environment: &'a Environment,
    pub choice: &'a Choice,
    pub ground: &'a Ground,
    pub call: &'a Call,
}

impl Watch<'_> {
    /// Asks, with a descriptor that becomes readable when the policy in force judges differently.
    pub fn during<T>(&self, ask: impl FnOnce(BorrowedFd<'_>) -> T) -> Result<(T, Found), Error> {
        let pipe = || std::io::pipe().map_err(Error::Follow);
        let (changed, wake) = pipe()?;
        let (over, asking) = pipe()?;
        let (said, found) = std::thread::scope(|scope| {
            let follower = scope.spawn(move || {
                let found = self.follow(&over);
                // Its end is what wakes the one who asks.
                if !matches!(found, Found::Same) {
                    drop(wake);
                    return (found, None);
                }
                (found, Some(wake))
            });
            let said = ask(changed.as_fd());
            drop(asking);
            (said, follower.join())
        });
        let found = match found {
            Ok((found, _)) => found,
            Err(_) => Found::Invalid("following the policy failed".to_owned()),
        };
        Ok((said, found))
    }

    /// Follows the files until they say something else of the call, or `over` is closed.
    fn follow(&self, over: &PipeReader) -> Found {
        let mut known = self.ground.sources.clone();
        let mut seen: Option<(Result<Vec<Source>, String>, Instant)> = None;
        loop {
            let last = waited(over.as_fd(), TICK);
            let now = self.read();
            if now.as_ref() == Ok(&known) {
                if last {
                    return Found::Same;
                }
                seen = None;
                continue;
            }
            let since = match &seen {
                Some((before, since)) if *before == now => *since,
                Some(_) | None => Instant::now(),
            };
            let still = since.elapsed();
            match self.says(&now) {
                Says::Same => {
                    if let Ok(sources) = now {
                        known = sources;
                    }
                    if last {
                        return Found::Same;
                    }
                    seen = None;
                    continue;
                }
                Says::Tighter => return Found::Changed(None),
                Says::Invalid(what) if last || still >= WRITING => return Found::Invalid(what),
                // The answer came first; whoever gave it saw the stricter judgement.
                Says::Looser if last => return self.overtaken(now),
                Says::Looser if still >= STILL => return Found::Changed(now.ok()),
                Says::Looser | Says::Invalid(_) => {}
            }
            seen = Some((now, since));
        }
    }

    /// An answer was given while a looser policy had not stood still: it stands unless the run itself
    /// would be another one.
    fn overtaken(&self, now: Result<Vec<Source>, String>) -> Found {
        let same_run = now
            .as_ref()
            .ok()
            .and_then(|sources| policy::load(sources).ok())
            .is_some_and(|policy| {
                policy.settings() == self.ground.policy.settings()
                    && self.profile(&self.judge(&policy)) == self.ground.profile.name
            });
        if same_run {
            Found::Same
        } else {
            Found::Changed(None)
        }
    }

    fn read(&self) -> Result<Vec<Source>, String> {
        let root = &self.ground.workspace.root;
        ground::sources(self.environment, self.choice, root).map_err(|error| chain(&error))
    }

    fn says(&self, now: &Result<Vec<Source>, String>) -> Says {
        let sources = match now {
            Ok(sources) => sources,
            Err(what) => return Says::Invalid(what.clone()),
        };
        if let Some(gone) = vanished(&self.ground.sources, sources) {
            return Says::Invalid(gone);
        }
        let policy = match policy::load(sources) {
            Ok(policy) => policy,
            Err(error) => return Says::Invalid(error.to_string()),
        };
        let judgement = self.judge(&policy);
        let before = &self.call.judgement;
        let run = policy.settings() == self.ground.policy.settings();
        if judgement.verdict > before.verdict {
            Says::Tighter
        } else if judgement.verdict < before.verdict
            || !run
            || self.profile(&judgement) > self.ground.profile.name
        {
            Says::Looser
        } else if self.profile(&judgement) == self.ground.profile.name && alike(&judgement, before)
        {
            Says::Same
        } else {
            Says::Tighter
        }
    }

    /// The profile the call would run in.
    fn profile(&self, judgement: &Judgement) -> ProfileName {
        judgement.profile(self.ground.ceiling)
    }

    fn judge(&self, policy: &Policy) -> Judgement {
        let mut resolved = self.call.pinned.resolved.clone();
        let names = policy.restricted_names();
        resolved.copies = self.ground.resolver.copies(&resolved, &names);
        policy::judge(policy, &self.call.survey, &resolved, &self.ground.facts)
    }
}

/// Whether two judgements would be shown as the same question. Where a rule stands is no matter: a
/// comment above it moves it.
fn alike(one: &Judgement, other: &Judgement) -> bool {
    let access = |one: &AccessJudgement, other: &AccessJudgement| {
        let text = |judged: &AccessJudgement| {
            judged
                .rule
                .as_ref()
                .map(|rule| (rule.layer, rule.text.clone(), rule.why.clone()))
        };
        one.verdict == other.verdict && one.reason == other.reason && text(one) == text(other)
    };
    one.reason == other.reason
        && one.subcommands.len() == other.subcommands.len()
        && one
            .subcommands
            .iter()
            .zip(&other.subcommands)
            .all(|(one, other)| {
                one.accesses.len() == other.accesses.len()
                    && one
                        .accesses
                        .iter()
                        .zip(&other.accesses)
                        .all(|(one, other)| access(one, other))
            })
}

/// The first layer that was there and is not any more, in words.
fn vanished(before: &[Source], now: &[Source]) -> Option<String> {
    let gone = before.iter().find(|source| {
        !now.iter()
            .any(|other| other.layer == source.layer && other.name == source.name)
    })?;
    Some(format!(
        "the policy `{}` is gone; put it back, or run the command again without it",
        crate::model::text::Escaped::from(gone.name.as_str())
    ))
}

/// Waits for the time; whether the descriptor became readable or was closed.
fn waited(fd: BorrowedFd<'_>, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = u16::try_from(left.as_millis()).unwrap_or(u16::MAX);
        let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::from(left)) {
            Err(Errno::EINTR) => {}
            Ok(0) => return false,
            // An error of the descriptor ends the waiting as its closing does.
            Ok(_) | Err(_) => return true,
        }
    }
}

impl Supervisor {
    /// What has to be true of an attempt that follows a change of the policy: every layer is still there,
    /// and what loosens has stood still. `None` when the attempt may go on.
    pub(super) fn under_new_policy(
        &self,
        run: &Run<'_>,
        call: &Call,
        story: &Story,
        signals: &Signals,
    ) -> Result<Option<Attempt>, Error> {
        let Some(before) = &story.before else {
            return Ok(None);
        };
        let now = &run.ground.sources;
        if let Some(what) = vanished(&before.layers, now) {
            let reason = Reason::PolicyInvalid;
            let message = crate::approval::Denial::policy(what).message();
            return run.refuse(call, Outcome::Denied(reason), message).map(Some);
        }
        let looser = call.judgement.verdict < before.verdict
            || run.ground.profile.name > before.profile
            || *run.ground.policy.settings() != before.settings;
        if !looser || before.still.as_ref() == Some(now) {
            return Ok(None);
        }
        // It changed once more since it was last looked at.
        let since = Instant::now();
        while since.elapsed() < STILL {
            if waited(signals.as_fd(), TICK) {
                let message = "not run: tipstaff was told to stop".to_owned();
                return run.refuse(call, Outcome::Cancelled, message).map(Some);
            }
            let root = &run.ground.workspace.root;
            if ground::sources(&self.environment, &self.choice, root)? != *now {
                break;
            }
        }
        let still = (since.elapsed() >= STILL).then(|| now.clone());
        Ok(Some(Attempt::PolicyChanged(Box::new(Before {
            still,
            settings: before.settings.clone(),
            layers: before.layers.clone(),
            ..*before
        }))))
    }
}
