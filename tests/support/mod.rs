//! A machine that is a table: judging needs neither shell, files nor environment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test helper fails by panicking"
)]

use std::collections::BTreeMap;

use tipstaff::model::access::{Facts, Resolved, Survey};
use tipstaff::model::digest::Digest;
use tipstaff::model::executable::{Executable, FileId, Format, Lookup, LookupError, Trust};
use tipstaff::model::judgement::{Judgement, Layer};
use tipstaff::model::path::AbsolutePath;
use tipstaff::model::profile::Network;
use tipstaff::model::script::{Dialect, SubCommand};
use tipstaff::policy::{Policy, Source, judge, load, survey};
use tipstaff::resolve::is_bash_builtin;
use tipstaff::shell;

pub fn at(path: &str) -> AbsolutePath {
    AbsolutePath::new(path).unwrap()
}

/// What the table machine holds.
pub struct Machine {
    pub facts: Facts,
    /// Files by path; a bare name is looked up in /usr/bin, where everything else exists too.
    pub files: BTreeMap<AbsolutePath, Executable>,
    /// Names that are nowhere.
    pub absent: Vec<&'static str>,
    /// Links, followed.
    pub targets: BTreeMap<AbsolutePath, AbsolutePath>,
    /// Names of denied programs by the content of their copies.
    pub copies: BTreeMap<Digest, Vec<Vec<u8>>>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            facts: Facts {
                workspace: at("/ws"),
                cwd: at("/ws"),
                home: Some(at("/home/me")),
                own: vec![at("/home/me/.config/tipstaff"), at("/opt/tipstaff")],
                network: Network::Off,
                today: 20_000,
            },
            files: BTreeMap::new(),
            absent: vec!["nowhere"],
            targets: BTreeMap::new(),
            copies: BTreeMap::new(),
        }
    }
}

/// A file with everything but its path made up.
pub fn file(path: &str, trust: Trust) -> Executable {
    Executable {
        path: at(path),
        real: at(path),
        id: FileId { dev: 1, ino: 1 },
        size: 1,
        digest: Digest([7; 32]),
        format: Format::Elf,
        trust,
    }
}

impl Machine {
    pub fn with(mut self, file: Executable) -> Self {
        self.files.insert(file.path.clone(), file);
        self
    }

    pub fn link(mut self, from: &str, to: &str) -> Self {
        self.targets.insert(at(from), at(to));
        self
    }

    fn lookup(&self, survey: &Survey, sub: &SubCommand) -> Lookup {
        if sub.argv.is_empty() {
            return Lookup::Nothing;
        }
        let Some(name) = sub
            .program()
            .map(|name| String::from_utf8_lossy(name).into_owned())
        else {
            return Lookup::Dynamic;
        };
        let carrier = sub
            .carrier
            .and_then(|at| survey.script.subcommands[at].program());
        let by_shell = carrier.is_none_or(|name| {
            matches!(
                name,
                b"sh" | b"bash" | b"eval" | b"command" | b"builtin" | b"watch"
            )
        });
        if survey
            .script
            .functions
            .iter()
            .any(|function| function == name.as_bytes())
            && by_shell
        {
            return Lookup::Function;
        }
        if by_shell && is_bash_builtin(name.as_bytes()) {
            return Lookup::Builtin;
        }
        let path = if name.contains('/') {
            self.facts.cwd.join(&name)
        } else {
            at("/usr/bin").join(&name)
        };
        if self.absent.contains(&name.as_str()) {
            return Lookup::Failed(LookupError::NotFound(name));
        }
        let trust = if path.is_within(&self.facts.workspace) {
            Trust::InWriteRoot
        } else {
            Trust::Trusted
        };
        let known = self.files.get(&path).cloned();
        Lookup::File(Box::new(
            known.unwrap_or_else(|| file(&path.to_string(), trust)),
        ))
    }

    /// Judges a line of bash. A line that does not parse is a mistake of the test.
    pub fn judge(&self, policy: &Policy, line: &str) -> Judgement {
        let script = shell::parse(line.as_bytes(), Dialect::Bash).expect(line);
        let survey = survey(script, &self.facts, shell::parse);
        let lookups = survey
            .script
            .subcommands
            .iter()
            .map(|sub| self.lookup(&survey, sub))
            .collect();
        let resolved = Resolved {
            lookups,
            targets: self.targets.clone(),
            copies: self.copies.clone(),
        };
        judge(policy, &survey, &resolved, &self.facts)
    }

    /// `VERDICT REASON` of a line.
    pub fn answer(&self, policy: &Policy, line: &str) -> String {
        let judgement = self.judge(policy, line);
        format!("{} {}", judgement.verdict, judgement.reason)
    }
}

pub fn source(layer: Layer, text: &str, trusted: bool) -> Source {
    Source {
        layer,
        name: format!("{}.toml", layer.word()),
        text: text.to_owned(),
        trusted,
    }
}

/// One user policy.
pub fn policy(text: &str) -> Policy {
    let text = format!("version = 1\n{text}");
    match load(&[source(Layer::User, &text, true)]) {
        Ok(policy) => policy,
        Err(error) => panic!("{}", error.render()),
    }
}

/// One-line rules without the read-only defaults.
pub fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
    policy(&format!(
        "[permissions]\nread_only_defaults = false\nallow = {allow:?}\nask = {ask:?}\ndeny = {deny:?}\n"
    ))
}
