//! `tipstaff doctor`: what this host can enforce, and whether policy and record are usable here.

use serde::Serialize;

use crate::model::level::Level;
use crate::model::text::Escaped;
use crate::sandbox::{self, Probe};
use crate::supervisor::Error;

use super::args::{Common, DoctorOptions};
use super::policy::trust;
use super::{FAILURE, output, setup};

/// `tipstaff.doctor/1`
#[derive(Debug, Serialize)]
struct Health {
    schema: &'static str,
    #[serde(flatten)]
    probe: Probe,
    bypass: &'static str,
    identity: Check,
    policy: Check,
    record: Check,
}

/// One thing that is right or not, in words.
#[derive(Debug, Serialize)]
struct Check {
    works: bool,
    seen: String,
}

impl Check {
    fn of(result: Result<String, Error>) -> Self {
        match result {
            Ok(seen) => Self { works: true, seen },
            Err(error) => Self {
                works: false,
                seen: error.render().trim_end().to_owned(),
            },
        }
    }
}

/// Bypass needs the gate, which judges every exec of the tree.
const fn bypass(level: Level) -> &'static str {
    match level {
        Level::L0 | Level::L1 => "refused: needs L2; the line `gate` says what is missing",
        Level::L2 | Level::L3 => "possible: the gate judges every exec, and deny rules hold",
    }
}

/// Probes and reports; 0 when a command could run here, 125 otherwise.
pub fn doctor(options: DoctorOptions) -> u8 {
    let supervisor = setup::builder(&Common::default()).build();
    let of = |look: &dyn Fn(&crate::supervisor::Supervisor) -> Result<String, Error>| {
        Check::of(match &supervisor {
            Ok(supervisor) => look(supervisor),
            Err(error) => Err(Error::usage(error.to_string())),
        })
    };
    let probe = sandbox::probe();
    let health = Health {
        schema: "tipstaff.doctor/1",
        bypass: bypass(probe.level),
        probe,
        identity: of(&|supervisor| supervisor.identity_here()),
        policy: of(&|supervisor| {
            let layers: Vec<String> = supervisor
                .check_layers()?
                .iter()
                .map(|source| format!("{}{}", Escaped::from(source.name.as_str()), trust(source)))
                .collect();
            Ok(if layers.is_empty() {
                "built-in rules only".to_owned()
            } else {
                layers.join(", ")
            })
        }),
        record: of(&|supervisor| supervisor.record_here()),
    };
    if options.json {
        output::print_json(&health);
    } else {
        output::print(&text(&health));
    }
    let usable = health.probe.level >= Level::L1
        && [&health.identity, &health.policy, &health.record]
            .iter()
            .all(|check| check.works);
    if usable { 0 } else { FAILURE }
}

fn text(health: &Health) -> String {
    let mut text = format!("level    {}\n", health.probe.level);
    let layers = health
        .probe
        .layers
        .iter()
        .map(|layer| (layer.name, layer.works, layer.seen.as_str()));
    let checks = [
        ("identity", &health.identity),
        ("policy", &health.policy),
        ("record", &health.record),
    ];
    let checks = checks
        .iter()
        .map(|(name, check)| (*name, check.works, check.seen.as_str()));
    for (name, works, seen) in layers.chain(checks) {
        let mark = if works { "ok" } else { "no" };
        text.push_str(&format!("{mark}       {name}: {seen}\n"));
    }
    text.push_str(&format!("bypass   {}\n", health.bypass));
    text
}
