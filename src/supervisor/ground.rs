//! What a run stands on before its line is read: policy, identity, workspace, environment, profile.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode as FileMode;
use nix::unistd::{Uid, User, geteuid};

use crate::approval;
use crate::layers::{self, LayerError};
use crate::model::access::Facts;
use crate::model::environment::Environment;
use crate::model::judgement::Judgement;
use crate::model::mode::Mode;
use crate::model::path::AbsolutePath;
use crate::model::profile::{Identity, Profile, ProfileName};
use crate::model::request::Request;
use crate::policy::{self, Policy, Source};
use crate::resolve::environment::{Account, Fixed, Fixing, Why, fix};
use crate::resolve::workspace::{Forbidden, Standing, Workspace, current_folder};
use crate::resolve::{self, Resolver};
use crate::sandbox::{SandboxError, profiles};

use super::error::Error;
use super::guard;
use super::identity::identity;
use super::{Choice, Supervisor};

/// The ground of one run.
#[derive(Debug)]
pub struct Ground {
    pub sources: Vec<Source>,
    pub policy: Policy,
    pub mode: Mode,
    pub identity: Identity,
    pub workspace: Workspace,
    pub cwd: AbsolutePath,
    cwd_folder: OwnedFd,
    pub fixed: Fixed,
    pub profile: Profile,
    /// The profile before any rule narrowed it.
    pub ceiling: ProfileName,
    pub temporary: AbsolutePath,
    /// The git folder of the workspace, where it lies outside and points back.
    pub data_folder: Option<AbsolutePath>,
    pub facts: Facts,
    pub resolver: Resolver,
    forbidden: Forbidden,
}

impl Supervisor {
    /// Loads the policy in force for `workspace`.
    pub(super) fn policy(&self, workspace: &AbsolutePath) -> Result<(Vec<Source>, Policy), Error> {
        let sources = sources(&self.environment, &self.choice, workspace)?;
        let policy = policy::load(&sources)?;
        Ok((sources, policy))
    }

    /// Opens the folder and workspace of a request: those it names, else the caller's own.
    pub(super) fn workspace(
        &self,
        cwd: Option<&AbsolutePath>,
        workspace: Option<&AbsolutePath>,
    ) -> Result<(AbsolutePath, Workspace), Error> {
        let cwd = match cwd {
            Some(cwd) => cwd.clone(),
            None => current_folder()?,
        };
        let forbidden = Forbidden::new(self.environment.home(), self.house.own());
        let workspace = Workspace::open(workspace, &cwd, &forbidden)?;
        Ok((resolve::real(&cwd), workspace))
    }

    /// Everything about a request but its line. `temporary` names the run's private folder, once it is
    /// known who it will belong to.
    pub(super) fn ground(
        &self,
        request: &Request,
        temporary: impl FnOnce(&Identity) -> Result<AbsolutePath, Error>,
    ) -> Result<Ground, Error> {
        let forbidden = Forbidden::new(self.environment.home(), self.house.own());
        let (cwd, workspace) = self.workspace(request.cwd.as_ref(), request.workspace.as_ref())?;
        let (sources, policy) = self.policy(&workspace.root)?;
        let settings = policy.settings();
        within(
            &workspace.root,
            &settings.within,
            self.environment.home().as_ref(),
        )?;
        let who = identity(
            request.user.as_deref(),
            &self.environment,
            settings.user.as_deref(),
            settings.forbid_root,
        )?;
        let temporary = temporary(&who)?;
        let account = account(&who);
        let fixed = fix(
            &request.environment,
            &Fixing {
                temporary: &temporary,
                account: account.as_ref(),
                keep: &[],
            },
        );
        let uid = uid_of(&who);
        let mode = settings.mode(request.mode);
        let name = approval::profile_for(mode, settings.profile(request.profile));
        let network = settings.network(request.network);
        let profile = profiles::fill(
            name,
            network,
            &profiles::Facts {
                workspace: &workspace.root,
                temporary: &temporary,
                environment: &fixed.environment,
                uid,
                homes: &forbidden.homes,
                own: &forbidden.own,
            },
        )
        .map_err(SandboxError::from)?;
        let data_folder = guard::data_folder(&workspace.root);
        let profile = with_data(profile, data_folder.as_ref());
        // Trust looks at what any profile could write, not only at this one.
        let mut roots = profile.write.clone();
        roots.push(workspace.root.clone());
        let facts = Facts {
            workspace: workspace.root.clone(),
            cwd: cwd.clone(),
            home: fixed.environment.home(),
            own: self.house.own(),
            network,
            today: today(),
        };
        let resolver = Resolver::new(&fixed.environment, &cwd, &roots, uid);
        let cwd_folder = open_folder(&cwd)?;
        Ok(Ground {
            sources,
            policy,
            mode,
            identity: who,
            workspace,
            cwd,
            cwd_folder,
            fixed,
            profile,
            ceiling: name,
            temporary,
            data_folder,
            facts,
            resolver,
            forbidden,
        })
    }
}

/// The git folder of a linked worktree or a submodule is part of what is worked on: a profile that writes
/// the workspace writes it too.
fn with_data(mut profile: Profile, folder: Option<&AbsolutePath>) -> Profile {
    match profile.name {
        ProfileName::Workspace => profile.write.extend(folder.cloned()),
        ProfileName::ReadOnly => profile.read.extend(folder.cloned()),
    }
    profile
}

impl Ground {
    /// The same ground with the profile that the rules want for a line. They narrow it, and never widen it.
    pub fn confined(mut self, judgement: &Judgement) -> Result<Self, Error> {
        let name = judgement.profile(self.ceiling);
        if name != self.profile.name {
            self.profile = profiles::fill(
                name,
                self.profile.network,
                &profiles::Facts {
                    workspace: &self.workspace.root,
                    temporary: &self.temporary,
                    environment: &self.fixed.environment,
                    uid: uid_of(&self.identity),
                    homes: &self.forbidden.homes,
                    own: &self.forbidden.own,
                },
            )
            .map_err(SandboxError::from)?;
            self.profile = with_data(self.profile, self.data_folder.as_ref());
        }
        Ok(self)
    }

    /// The same ground with what a run may not write inside of what it may.
    pub fn guarded(mut self) -> Result<Self, Error> {
        if self.profile.name == ProfileName::Workspace {
            let (root, data) = (&self.workspace.root, self.data_folder.as_ref());
            self.profile.guarded = guard::standing(root, data)?;
        }
        Ok(self)
    }

    /// The folder the command starts in.
    pub fn cwd_folder(&self) -> BorrowedFd<'_> {
        self.cwd_folder.as_fd()
    }

    /// The environment of an approver command: the supervisor's own without what starts code by itself
    /// and without folders of PATH that the run can write, so that nothing in a workspace can answer.
    /// Its secrets stay: it is on our side, and may need them to reach whoever decides.
    pub fn approver_environment(&self, own: &Environment) -> Environment {
        let fixing = Fixing {
            temporary: &self.temporary,
            account: None,
            keep: &[],
        };
        let fixed = fix(own, &fixing);
        let mut environment = fixed.environment;
        for removed in fixed
            .removed
            .iter()
            .filter(|removed| removed.why == Why::Secret)
        {
            if let Some(value) = own.get(&removed.name) {
                environment.set(removed.name.clone(), value);
            }
        }
        match own.get(b"TMPDIR") {
            Some(folder) => environment.set("TMPDIR", folder),
            None => {
                environment.remove(b"TMPDIR");
            }
        }
        let safe = |folder: &AbsolutePath| {
            let real = resolve::real(folder);
            !self
                .profile
                .write
                .iter()
                .chain([&self.workspace.root])
                .any(|root| folder.is_within(root) || real.is_within(root))
        };
        let path: Vec<Vec<u8>> = environment
            .path_folders()
            .iter()
            .filter(|folder| safe(folder))
            .map(|folder| folder.as_bytes().to_vec())
            .collect();
        environment.set("PATH", path.join(&b':'));
        environment
    }

    /// What has become of the workspace and the folder since they were opened, in words; `None` when
    /// both stand where they stood.
    pub fn moved(&self) -> Option<String> {
        match self.workspace.still_there() {
            Standing::Here => {}
            Standing::Moved(to) => return Some(format!("the workspace was renamed to `{to}`")),
            Standing::Replaced => {
                return Some(format!(
                    "another folder stands at `{}`",
                    self.workspace.root
                ));
            }
            Standing::Gone => {
                return Some(format!(
                    "the workspace `{}` was deleted",
                    self.workspace.root
                ));
            }
        }
        let same = nix::sys::stat::fstat(&self.cwd_folder)
            .ok()
            .zip(nix::sys::stat::stat(self.cwd.as_path()).ok());
        match same {
            Some((held, there)) if (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino) => {
                None
            }
            Some(_) | None => Some(format!("the folder `{}` was moved or replaced", self.cwd)),
        }
    }
}

/// Reads the policy files in force for `workspace`.
pub fn sources(
    environment: &Environment,
    choice: &Choice,
    workspace: &AbsolutePath,
) -> Result<Vec<Source>, LayerError> {
    let places = layers::Places::discover(environment, workspace);
    match choice {
        Choice::Layers => layers::gather(&places, None),
        Choice::File(file) => layers::gather(&places, Some(file)),
        Choice::Text(source) => {
            let mut sources = layers::managed(&places)?;
            sources.push(source.clone());
            Ok(sources)
        }
    }
}

/// Whether the workspace lies where the policy wants it: in one folder of each list, links followed.
pub fn within(
    root: &AbsolutePath,
    lists: &[Vec<String>],
    home: Option<&AbsolutePath>,
) -> Result<(), Error> {
    let folder = |text: &String| match text.strip_prefix('~') {
        Some(below) => Some(home?.join(below.trim_start_matches('/'))),
        None => AbsolutePath::new(text).ok(),
    };
    let holds =
        |text: &String| folder(text).is_some_and(|folder| root.is_within(&resolve::real(&folder)));
    if lists.iter().all(|list| list.iter().any(holds)) {
        Ok(())
    } else {
        Err(Error::WorkspaceOutside(root.to_string()))
    }
}

/// The uid the command runs as.
pub fn uid_of(identity: &Identity) -> u32 {
    match identity {
        Identity::Unchanged => geteuid().as_raw(),
        Identity::User { uid, .. } => *uid,
        Identity::RootWithoutCapabilities => 0,
    }
}

/// The account whose home and name the environment gets; `None` where the caller's own stay.
fn account(identity: &Identity) -> Option<Account> {
    let Identity::User { uid, name, .. } = identity else {
        return None;
    };
    let user = User::from_uid(Uid::from_raw(*uid)).ok().flatten()?;
    Some(Account {
        name: name.clone().into_bytes(),
        home: AbsolutePath::new(&user.dir).ok()?,
        shell: AbsolutePath::new(&user.shell).ok()?,
    })
}

fn open_folder(path: &AbsolutePath) -> Result<OwnedFd, Error> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    open(path.as_path(), flags, FileMode::empty()).map_err(|_| {
        Error::Workspace(resolve::workspace::WorkspaceError::FolderMissing(
            path.clone(),
        ))
    })
}

pub fn today() -> i64 {
    let seconds = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    i64::try_from(seconds / 86_400).unwrap_or(i64::MAX)
}
