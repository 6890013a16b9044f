//! Our own policy, state and binary: no subject may write or command them, whatever a policy says.

use super::view::View;
use crate::model::access::{Access, PathAccess};
use crate::model::path::AbsolutePath;

/// Programs that take a whole folder away, and with it what lies below.
const REMOVERS: [&[u8]; 4] = [b"rm", b"mv", b"shred", b"unlink"];

/// Whether the access concerns one of our own files.
pub(super) fn concerns(view: &View<'_>, access: &Access) -> bool {
    match access {
        Access::Command => runs_ours(view) || names_ours(view),
        Access::Write(path) => writes_ours(view, path),
        Access::Read(_) | Access::Env(_) | Access::Network { .. } => false,
    }
}

fn is_ours(view: &View<'_>, path: &AbsolutePath) -> bool {
    let own = &view.scene.facts.own;
    let target = view.scene.target(path);
    own.iter()
        .any(|own| path.is_within(own) || target.is_within(own))
}

fn runs_ours(view: &View<'_>) -> bool {
    view.lookup
        .executable()
        .is_some_and(|file| is_ours(view, &file.path) || is_ours(view, &file.real))
}

/// An operand of a program whose grammar is not known may be written by it.
fn names_ours(view: &View<'_>) -> bool {
    view.reading.level().is_none()
        && view.sub.argv.iter().skip(1).any(|word| {
            let path = word
                .as_static()
                .filter(|text| !text.is_empty())
                .and_then(|text| Some(view.folder.as_ref()?.join_bytes(text)));
            path.is_some_and(|path| is_ours(view, &path))
        })
}

fn writes_ours(view: &View<'_>, access: &PathAccess) -> bool {
    let Some(path) = &access.path else {
        return false;
    };
    let target = view.scene.target(path);
    let removes = view
        .base_name()
        .is_some_and(|name| REMOVERS.contains(&name));
    is_ours(view, path)
        || removes
            && view
                .scene
                .facts
                .own
                .iter()
                .any(|own| own.is_within(path) || own.is_within(target))
}
