//! From options to a request: the one place where the command line meets the library's types.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::model::deed::DeedKind;
use crate::model::environment::Environment;
use crate::model::path::AbsolutePath;
use crate::model::request::{Command, Ids, Request};
use crate::supervisor::{Builder, Supervisor, Wanted};

use super::args::{Common, IdArgs};

/// This process's environment as a value.
pub fn environment() -> Environment {
    std::env::vars_os()
        .map(|(name, value)| (name.into_vec(), value.into_vec()))
        .collect()
}

/// A builder with the options every verb shares.
pub fn builder(common: &Common) -> Builder {
    let builder = Supervisor::builder().environment(environment());
    match &common.policy {
        Some(file) => builder.policy_file(file.clone()),
        None => builder,
    }
}

/// What is to be run or judged.
pub fn command(line: Option<OsString>, argv: Vec<OsString>) -> Command {
    match line {
        Some(line) => Command::Line(line.into_vec()),
        None => Command::Argv(argv.into_iter().map(OsString::into_vec).collect()),
    }
}

/// The caller's identifiers: from options, else from the environment (`TIPSTAFF_SESSION` and so on),
/// since `sh` has no options of its own.
pub fn ids(given: IdArgs) -> Ids {
    let or = |given: Option<String>, name: &str| given.or_else(|| std::env::var(name).ok());
    Ids {
        session: or(given.session, "TIPSTAFF_SESSION"),
        run: or(given.run, "TIPSTAFF_RUN"),
        task: or(given.task, "TIPSTAFF_TASK"),
        agent: or(given.agent, "TIPSTAFF_AGENT"),
        conversation: or(given.conversation, "TIPSTAFF_CONVERSATION"),
        call: or(given.call, "TIPSTAFF_CALL"),
    }
}

/// The request of `common`, its folders seen from the present one.
pub fn request(common: &Common, command: Command) -> Result<Request, String> {
    let mut request = Request::new(command, environment());
    request.cwd = folder("--cwd", common.cwd.as_deref())?;
    request.workspace = folder("--workspace", common.workspace.as_deref())?;
    request.profile = common.profile;
    request.network = common.network;
    request.mode = common.mode;
    request.user = common.user.clone();
    Ok(request)
}

/// What the caller of `common` would do itself.
pub fn wanted(common: &Common, kind: DeedKind, object: Vec<u8>) -> Result<Wanted, String> {
    Ok(Wanted {
        kind,
        object,
        cwd: folder("--cwd", common.cwd.as_deref())?,
        workspace: folder("--workspace", common.workspace.as_deref())?,
    })
}

fn folder(option: &str, path: Option<&Path>) -> Result<Option<AbsolutePath>, String> {
    let Some(path) = path else { return Ok(None) };
    if path.as_os_str().as_bytes().is_empty() {
        return Err(format!("{option} is empty; name a folder"));
    }
    let whole = if path.is_absolute() {
        path.to_path_buf()
    } else {
        here()?.join(path)
    };
    AbsolutePath::new(whole)
        .map(Some)
        .map_err(|error| format!("{option}: {error}"))
}

fn here() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| {
        format!("the present folder cannot be found ({error}); name one with --cwd")
    })
}
