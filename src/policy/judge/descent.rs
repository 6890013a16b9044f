//! Programs that take a whole tree where their operand is a folder.

use super::view::View;

/// Which way a file is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Whether the sub-command reads, or writes, what lies below the folders it names.
pub(super) fn descends(view: &View<'_>, direction: Direction) -> bool {
    let has = |name: &str| view.reading.has(name);
    let recursive = || has("-r") || has("-R") || has("--recursive");
    let sub = view
        .reading
        .names_at
        .first()
        .and_then(|at| view.sub.argv.get(*at)?.as_static());
    match (view.base_name(), direction) {
        (Some(b"grep" | b"egrep" | b"fgrep" | b"diff" | b"zip" | b"scp"), _) => recursive(),
        (Some(b"rg"), Direction::Read) => true,
        (Some(b"cp"), _) => recursive() || has("-a"),
        (Some(b"rsync"), _) => recursive() || has("-a"),
        (Some(b"mv"), _) => true,
        (Some(b"tar"), Direction::Read) => has("-c") || has("-r") || has("-u") || has("-d"),
        (Some(b"rm" | b"chmod" | b"chown" | b"chgrp"), Direction::Write) => recursive(),
        (Some(b"find"), _) => has("-delete"),
        (Some(b"git"), _) => matches!(
            sub,
            Some(b"add" | b"mv" | b"rm" | b"checkout" | b"restore" | b"clean" | b"grep")
        ),
        (Some(_) | None, _) => false,
    }
}
