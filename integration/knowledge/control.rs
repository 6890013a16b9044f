//! The controls of the examples: a line that writes, changes, connects, starts, signals or does no work has
//! to be called wrong, each by the witness that is meant to see it.

use std::collections::BTreeSet;

use super::Report;
use super::observe::{Bench, see};
use super::support::fence::Stage;
use super::trace::Kind;

/// Who has to see it.
#[derive(Clone, Copy, Debug)]
enum By {
    /// The trace, as this kind.
    Trace(Kind),
    /// The trace, and the comparison of folders.
    Both(Kind),
    /// The comparison alone; the line runs outside the sandbox meanwhile.
    Folders,
    /// The look at how it ended.
    End,
}

const CONTROLS: [(&str, By); 24] = [
    ("touch made", By::Both(Kind::Write)),
    ("sh -c ': > made'", By::Both(Kind::Write)),
    ("sh -c ': >> a.txt'", By::Trace(Kind::Write)),
    ("touch a.txt", By::Both(Kind::Write)),
    ("sh -c ': > $HOME/made'", By::Trace(Kind::Write)),
    ("sh -c ': > /var/tmp/made'", By::Trace(Kind::Write)),
    ("tee made", By::Both(Kind::Write)),
    ("touch -c -r b.txt a.txt", By::Both(Kind::Change)),
    ("mkdir made", By::Both(Kind::Change)),
    ("rm b.txt", By::Both(Kind::Change)),
    ("rmdir empty", By::Both(Kind::Change)),
    ("mv a.txt b.txt", By::Both(Kind::Change)),
    ("ln a.txt made", By::Both(Kind::Change)),
    ("ln -s a.txt made", By::Both(Kind::Change)),
    ("chmod 600 a.txt", By::Both(Kind::Change)),
    ("truncate -s 3 a.txt", By::Both(Kind::Change)),
    ("mkfifo made", By::Both(Kind::Change)),
    ("/mnt/bin/probe tcp-connect 9", By::Trace(Kind::Connect)),
    ("/mnt/bin/probe udp-send 9", By::Trace(Kind::Connect)),
    ("awk 'BEGIN { system(\"id\") }'", By::Trace(Kind::Start)),
    ("sh -c 'kill -TERM 1'", By::Trace(Kind::Signal)),
    ("printf x > meanwhile", By::Folders),
    ("ls --no-such-option", By::End),
    ("cat no-such-folder/", By::End),
];

pub fn run(bench: &Bench, stage: Stage, report: &mut Report) {
    let unseen = match unseen(bench, stage) {
        Ok(unseen) => unseen,
        Err(error) => vec![error.to_string()],
    };
    report.check(
        "examples: what writes, changes, connects, starts, signals or fails is noticed",
        unseen.is_empty(),
        &format!("{} controls, not noticed: {unseen:?}", CONTROLS.len()),
    );
}

fn unseen(bench: &Bench, mut stage: Stage) -> std::io::Result<Vec<String>> {
    let mut unseen = Vec::new();
    for (line, by) in CONTROLS {
        let mut job = bench.job("cat a.txt").map_err(std::io::Error::other)?;
        match by {
            By::Folders => job.meanwhile = Some(line.to_owned()),
            By::Trace(_) | By::Both(_) | By::End => line.clone_into(&mut job.line),
        }
        let seen = see(&mut stage, &job)?;
        let mut used = BTreeSet::new();
        let wrong = bench.complaints(&job.line, &seen, &mut used);
        let traced = |kind: Kind| {
            let start = format!("{kind:?}: ");
            wrong.iter().any(|complaint| complaint.starts_with(&start))
        };
        let changed = wrong
            .iter()
            .any(|complaint| complaint.starts_with("left changed: "));
        let noticed = match by {
            By::Trace(kind) => traced(kind),
            By::Both(kind) => traced(kind) && changed,
            By::Folders => changed,
            By::End => wrong
                .iter()
                .any(|complaint| complaint.starts_with("did not do its work")),
        };
        if !noticed {
            unseen.push(format!(
                "{line}: {wrong:?} (exit {:?}, {})",
                seen.code,
                seen.stderr.trim()
            ));
        }
    }
    // And the other way round: what does nothing is called nothing.
    for line in ["cat a.txt", "cat a.txt | head -n 1", "git log -1"] {
        let job = bench.job(line).map_err(std::io::Error::other)?;
        let seen = see(&mut stage, &job)?;
        let wrong = bench.complaints(line, &seen, &mut BTreeSet::new());
        if !wrong.is_empty() {
            unseen.push(format!("{line} was called wrong: {wrong:?}"));
        }
    }
    Ok(unseen)
}
