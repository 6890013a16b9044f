//! What covers an exec without a decision of its own, and how far a decision reaches.

use crate::gate::{Attempt, Cover, Image};
use crate::model::executable::{Executable, Format, Trust};
use crate::model::judgement::Reason;
use crate::model::path::AbsolutePath;
use crate::model::script::{Folder, SubCommand};
use crate::model::verdict::Verdict;
use crate::policy::{self, reach};
use crate::resolve;

use super::{Call, Keeper};

impl Keeper<'_> {
    /// What covers the exec without a decision of its own, and how far that reaches.
    pub(super) fn covered(
        &self,
        attempt: &Attempt,
        parent: Option<&Image>,
        executable: &Executable,
        call: &Call,
        folder: Option<&AbsolutePath>,
    ) -> Option<Cover> {
        let parent = parent?;
        if let Some((program, words)) = &parent.next
            && executable.id == program.id
            && executable.digest == program.digest
            && attempt.argv.ends_with(words)
        {
            return Some(parent.cover.clone());
        }
        let strict = self.run.ground.policy.settings().gate() == policy::Gate::Strict;
        match &parent.cover {
            Cover::Nothing => self.by_line(attempt, executable, call, folder),
            Cover::Everything | Cover::Helpers(_) if strict => None,
            Cover::Everything => Some(Cover::Everything),
            Cover::Helpers(names) => {
                let helps = executable.trust == Trust::Trusted
                    && executable
                        .base_names()
                        .iter()
                        .all(|name| names.iter().any(|helper| is_named(helper, name)));
                helps.then(|| parent.cover.clone())
            }
        }
    }

    /// The sub-command of the line that says just this: same words, same file, same folder, and allowed
    /// by itself or approved with the line.
    fn by_line(
        &self,
        attempt: &Attempt,
        executable: &Executable,
        call: &Call,
        folder: Option<&AbsolutePath>,
    ) -> Option<Cover> {
        if !call.survey.script.single {
            return None;
        }
        let script = &self.call.survey.script;
        let words = attempt.argv.get(1..).unwrap_or_default();
        (0..script.subcommands.len()).find_map(|index| {
            let sub = script.subcommands.get(index)?;
            let judged = self.call.judgement.subcommands.get(index)?;
            let file = self.call.pinned.resolved.lookups.get(index)?.executable()?;
            let granted = judged.verdict == Verdict::Allow || self.granted == Reason::Approved;
            let [program, arguments @ ..] = sub.argv.as_slice() else {
                return None;
            };
            let same = granted
                && program.as_static().map(base_name) == Some(called(&attempt.argv))
                && arguments.len() == words.len()
                && arguments
                    .iter()
                    .zip(words)
                    .all(|(word, real)| word.as_static() == Some(real))
                && (file.id, file.digest) == (executable.id, executable.digest)
                && self.stands_in(&sub.folder, folder?);
            let reason = if judged.verdict == Verdict::Allow {
                judged.reason
            } else {
                self.granted
            };
            same.then(|| cover(sub, reason))
        })
    }

    fn stands_in(&self, named: &Folder, real: &AbsolutePath) -> bool {
        let named = match named {
            Folder::Start => self.run.ground.cwd.clone(),
            Folder::Moved(path) => self.run.ground.cwd.join_bytes(path),
            // The survey puts the home in.
            Folder::Home(_) | Folder::Unknown => return false,
        };
        resolve::real(&named) == *real
    }
}

/// How far the decision about `sub` reaches.
pub(in crate::supervisor) fn cover(sub: &SubCommand, reason: Reason) -> Cover {
    let reach = reach(sub);
    let reads = matches!(reason, Reason::ReadOnlyDefault | Reason::NoAccess);
    let allowed = matches!(
        reason,
        Reason::RuleAllow | Reason::Approved | Reason::Bypass
    );
    match (reach.below, reads, allowed) {
        (true, true, _) => Cover::Helpers(reach.helpers),
        (true, false, true) => Cover::Everything,
        (false, _, _) | (true, false, false) => Cover::Nothing,
    }
}

/// The image an exec becomes. `named` is the path as the kernel hands it to an interpreter.
pub(in crate::supervisor) fn image(
    parent: Option<&Image>,
    executable: &Executable,
    named: Vec<u8>,
    argv: &[Vec<u8>],
    cover: Cover,
) -> Image {
    let mut chain = std::iter::successors(Some(executable), |file| file.next());
    let next = chain.find_map(|file| match &file.format {
        Format::Env { program } => Some(program.as_ref().clone()),
        Format::Elf | Format::Script { .. } | Format::Text => None,
    });
    let arguments = argv.get(1..).unwrap_or_default();
    Image {
        cover,
        next: next.map(|program| (program, [&[named], arguments].concat())),
        lineage: Image::lineage_of(parent, &executable.real),
    }
}

/// The name a program is called by: `argv[0]` without its folder, and without the dash of a login shell.
pub(super) fn called(argv: &[Vec<u8>]) -> &[u8] {
    let name = argv.first().map(Vec::as_slice).unwrap_or_default();
    let name = base_name(name);
    name.strip_prefix(b"-").unwrap_or(name)
}

fn base_name(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b'/').next().unwrap_or(name)
}

fn is_named(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start.as_bytes()),
        None => name == pattern.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::{called, is_named};

    #[test]
    fn names_are_taken_as_programs_take_them() {
        for (argv, name) in [
            (&["/usr/bin/git", "log"][..], "git"),
            (&["-bash"], "bash"),
            (&["-/bin/sh"], "sh"),
            (&[""], ""),
            (&[], ""),
        ] {
            let argv: Vec<Vec<u8>> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
            assert_eq!(called(&argv), name.as_bytes());
        }
    }

    #[test]
    fn helpers_are_whole_names_or_beginnings() {
        assert!(is_named("git-*", b"git-log"));
        assert!(!is_named("git-*", b"git"));
        assert!(is_named("less", b"less"));
        assert!(!is_named("less", b"lesser"));
    }
}
