//! Judging what a caller wants to do itself: `check --kind KIND -- OBJECT`.

use serde::Serialize;

use crate::model::access::Facts;
use crate::model::deed::{Deed, DeedKind};
use crate::model::judgement::{DeedJudgement, Reason, RuleRef};
use crate::model::path::AbsolutePath;
use crate::model::profile::Network;
use crate::model::text::Escaped;
use crate::model::verdict::Verdict;
use crate::policy::{self, Found};
use crate::resolve;

use super::Supervisor;
use super::answer::place;
use super::error::Error;
use super::ground::{today, within};

/// What is wanted, and where.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The kind of deed.
    pub kind: DeedKind,
    /// What it is done to: a path, `HOST:PORT`, or `SERVER:TOOL`.
    pub object: Vec<u8>,
    /// The folder relative paths are seen from; the caller's own when `None`.
    pub cwd: Option<AbsolutePath>,
    /// Root of the workspace; found from the folder when `None`.
    pub workspace: Option<AbsolutePath>,
}

/// The judgement of one deed; nothing was done.
#[derive(Clone, Debug)]
pub struct DeedAnswer {
    deed: Deed,
    target: Option<AbsolutePath>,
    judgement: DeedJudgement,
}

/// `tipstaff.request/1`
#[derive(Debug, Serialize)]
pub struct DeedJson<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a serde_json::Value>,
    kind: &'static str,
    object: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a AbsolutePath>,
    verdict: Verdict,
    reason: Reason,
    rule: Option<&'a RuleRef>,
    remedy: Option<&'a str>,
}

impl Supervisor {
    /// Judges what the caller wants to do itself.
    ///
    /// # Errors
    /// The request, the policy or the workspace is unusable.
    pub fn check_deed(&self, wanted: &Wanted) -> Result<DeedAnswer, Error> {
        let (cwd, workspace) = self.workspace(wanted.cwd.as_ref(), wanted.workspace.as_ref())?;
        let deed = Deed::read(wanted.kind, &wanted.object, &cwd)
            .map_err(|error| Error::usage(error.to_string()))?;
        let (_, policy) = self.policy(&workspace.root)?;
        let home = self.environment.home();
        within(&workspace.root, &policy.settings().within, home.as_ref())?;
        let facts = Facts {
            workspace: workspace.root.clone(),
            cwd,
            home,
            own: self.house.own(),
            network: Network::Off,
            today: today(),
        };
        let found = found(&deed);
        let judgement = policy::judge_deed(&policy, &deed, &found, &facts);
        Ok(DeedAnswer {
            deed,
            target: found.target,
            judgement,
        })
    }
}

/// What stands at the deed's path now.
fn found(deed: &Deed) -> Found {
    let target = match deed {
        Deed::Write(path) => Some(resolve::real(path)),
        Deed::Delete(path) => path
            .parent()
            .map(|folder| resolve::real(&folder).join_bytes(path.base_name())),
        Deed::Network { .. } | Deed::Mcp { .. } => None,
    };
    let folder = target.as_ref().is_some_and(|target| {
        // A folder that cannot be looked at may still be one.
        std::fs::symlink_metadata(target).map_or_else(
            |error| error.kind() != std::io::ErrorKind::NotFound,
            |it| it.is_dir(),
        )
    });
    Found { target, folder }
}

impl DeedAnswer {
    /// The verdict.
    pub const fn verdict(&self) -> Verdict {
        self.judgement.verdict
    }

    /// The answer as `tipstaff.request/1`; `id` is the caller's, given back as it came.
    pub fn as_json<'a>(&'a self, id: Option<&'a serde_json::Value>) -> DeedJson<'a> {
        DeedJson {
            schema: "tipstaff.request/1",
            id,
            kind: self.deed.kind().word(),
            object: self.deed.object(),
            target: self.elsewhere(),
            verdict: self.judgement.verdict,
            reason: self.judgement.reason,
            rule: self.judgement.rule.as_ref(),
            remedy: self.judgement.remedy.as_deref(),
        }
    }

    /// For people: the verdict, why, and what would change it.
    pub fn summary(&self) -> String {
        let judged = &self.judgement;
        let mut text = format!("{} ({})\n  {}", judged.verdict, judged.reason, self.deed);
        if let Some(target) = self.elsewhere() {
            text.push_str(&format!(" leads to {target}"));
        }
        if let Some(rule) = &judged.rule {
            text.push_str(&format!(
                "\n  rule    {}: {}",
                place(rule),
                Escaped::from(rule.text.as_str())
            ));
        }
        if let Some(remedy) = &judged.remedy {
            text.push_str(&format!("\n  change  {}", Escaped::from(remedy.as_str())));
        }
        text
    }

    /// Where the path leads, when that is not what it reads.
    fn elsewhere(&self) -> Option<&AbsolutePath> {
        let target = self.target.as_ref();
        target.filter(|target| Some(*target) != self.deed.path())
    }
}
