//! What a decision covers: one exact call, as a digest.

use std::fmt;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::model::access::{Resolved, Survey};
use crate::model::digest::Digest;
use crate::model::executable::{Executable, Format, Lookup};
use crate::model::path::AbsolutePath;
use crate::model::profile::Identity;
use crate::model::text::Escaped;
use crate::plan::{Plan, Start};

/// The identity of a call: SHA-256 over the canonical JSON of everything that decides what would run.
/// Shown as `#` and 12 hex digits, enough to compare by eye; compared in full.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectId(Digest);

impl ObjectId {
    /// An object for tests of later stages.
    #[cfg(test)]
    pub(crate) const fn for_tests() -> Self {
        Self(Digest([0; 32]))
    }

    /// The digest in full.
    pub const fn digest(&self) -> Digest {
        self.0
    }

    /// Whether `text` names this object: as it is shown, or by its whole digest.
    pub fn is_named(&self, text: &str) -> bool {
        text == self.to_string() || text == self.0.to_string()
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0.short())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0.hex())
    }
}

/// The object of a call: exact argv, folder, executables with digests (interpreters too), network,
/// profile, identity and environment bytes. Equal calls have equal objects; any difference in these
/// gives another one. The private temporary folder counts as one whatever it is called, since its name
/// is new in every run and it is empty in each.
pub fn identify(plan: &Plan, survey: &Survey, resolved: &Resolved) -> ObjectId {
    // serde_json sorts the keys of a `Value`; byte strings are escaped, which loses nothing.
    let canonical = json!({
        "schema": "tipstaff.object/1",
        "kind": "command",
        "start": match plan.start {
            Start::Binary { .. } => "binary",
            Start::Script { .. } => "script",
            Start::Shell => "shell",
        },
        "argv": plan.argv.iter().map(|word| bytes(word)).collect::<Vec<_>>(),
        "executable": executable(&plan.executable),
        "subcommands": survey.script.subcommands.len(),
        "programs": resolved.lookups.iter().map(lookup).collect::<Vec<_>>(),
        "scripts": resolved.scripts.values().map(executable).collect::<Vec<_>>(),
        "cwd": bytes(plan.cwd.as_bytes()),
        "environment": environment(plan),
        "profile": {
            "name": plan.profile.name.word(),
            "read": paths(plan.profile.read.iter()),
            "devices": paths(plan.profile.devices.iter()),
            "write": paths(plan.profile.write.iter().filter(|path| **path != plan.temporary)),
        },
        "network": plan.profile.network.word(),
        "identity": identity(&plan.identity),
    });
    ObjectId(Digest(Sha256::digest(canonical.to_string()).into()))
}

fn bytes(bytes: &[u8]) -> Value {
    Value::String(Escaped(bytes).to_string())
}

fn paths<'a>(paths: impl Iterator<Item = &'a AbsolutePath>) -> Vec<Value> {
    paths.map(|path| bytes(path.as_bytes())).collect()
}

fn environment(plan: &Plan) -> Vec<Value> {
    let temporary = plan.temporary.as_bytes();
    let entry = |(name, value): (&[u8], &[u8])| {
        if value == temporary {
            json!({ "temporary": bytes(name) })
        } else {
            bytes(&[name, b"=", value].concat())
        }
    };
    plan.environment.iter().map(entry).collect()
}

fn executable(file: &Executable) -> Value {
    json!({
        "path": bytes(file.path.as_bytes()),
        "real": bytes(file.real.as_bytes()),
        "digest": file.digest.to_string(),
        "format": match &file.format {
            Format::Elf => json!("elf"),
            Format::Text => json!("text"),
            Format::Env { program } => json!({ "env": executable(program) }),
            Format::Script { interpreter, argument } => json!({
                "interpreter": executable(interpreter),
                "argument": argument.as_deref().map(bytes),
            }),
        },
    })
}

fn lookup(lookup: &Lookup) -> Value {
    match lookup {
        Lookup::Nothing => json!("nothing"),
        Lookup::Builtin => json!("builtin"),
        Lookup::Function => json!("function"),
        Lookup::Dynamic => json!("dynamic"),
        Lookup::Failed(error) => json!({ "failed": error.to_string() }),
        Lookup::File(file) => executable(file),
    }
}

fn identity(identity: &Identity) -> Value {
    match identity {
        Identity::Unchanged => json!("unchanged"),
        Identity::RootWithoutCapabilities => json!("root-without-capabilities"),
        Identity::User {
            uid,
            gid,
            groups,
            name,
        } => json!({ "uid": uid, "gid": gid, "groups": groups, "name": name }),
    }
}

#[cfg(test)]
mod tests {
    use super::identify;
    use crate::approval::sample;
    use crate::model::profile::{Identity, Network, ProfileName};

    /// Every single change gives another object; the same call gives the same one.
    #[test]
    fn an_object_is_bound_to_everything_that_decides_what_runs() {
        let (plan, survey, resolved) = sample::call();
        let first = identify(&plan, &survey, &resolved);
        assert_eq!(first, identify(&plan.clone(), &survey, &resolved));
        assert!(first.is_named(&first.to_string()));
        assert!(first.is_named(&first.digest().to_string()));
        assert!(!first.is_named("#") && !first.is_named(""));

        let mut elsewhere = plan.clone();
        elsewhere.temporary = elsewhere.temporary.join("../another");
        elsewhere
            .environment
            .set(*b"TMPDIR", elsewhere.temporary.as_bytes());
        elsewhere.profile.write[1] = elsewhere.temporary.clone();
        assert_eq!(first, identify(&elsewhere, &survey, &resolved));

        let mut others = Vec::new();
        let mut with = |change: &dyn Fn(&mut crate::plan::Plan)| {
            let mut changed = plan.clone();
            change(&mut changed);
            others.push(identify(&changed, &survey, &resolved));
        };
        with(&|plan| plan.argv.push(b"x".to_vec()));
        with(&|plan| plan.argv = vec![plan.argv.concat()]);
        with(&|plan| plan.cwd = plan.cwd.join("sub"));
        with(&|plan| plan.environment.set(*b"A", *b"1"));
        with(&|plan| plan.environment.set(*b"A", *b"2"));
        with(&|plan| plan.executable.digest.0[31] ^= 1);
        with(&|plan| plan.executable.real = plan.cwd.join("other"));
        with(&|plan| plan.profile.name = ProfileName::ReadOnly);
        with(&|plan| plan.profile.write.push(plan.cwd.join("w")));
        with(&|plan| plan.profile.network = Network::Full);
        with(&|plan| plan.identity = Identity::RootWithoutCapabilities);
        let mut changed = resolved.clone();
        changed.lookups[1] = crate::model::executable::Lookup::Builtin;
        others.push(identify(&plan, &survey, &changed));
        let mut script = resolved.clone();
        script.lookups[0] = sample::script_lookup(1);
        others.push(identify(&plan, &survey, &script));
        script.lookups[0] = sample::script_lookup(2);
        others.push(identify(&plan, &survey, &script));

        others.push(first);
        let distinct: std::collections::HashSet<_> = others.iter().collect();
        assert_eq!(distinct.len(), others.len());
    }
}
