//! What a policy says beside its rules. Where layers differ, the strictest holds.

use std::time::Duration;

use toml::de::DeTable;

use super::keys;
use super::reader::{Reader, key_span};
use crate::model::judgement::Layer;
use crate::model::mode::Mode;
use crate::model::profile::{Network, ProfileName};

/// The longest an attached question may wait; longer is a slip of the unit.
const LONGEST_TIMEOUT: u64 = 7 * 24 * 3600;

/// What happens when somebody has to be asked and nobody is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headless {
    /// The command is refused.
    #[default]
    Refuse,
    /// The question waits.
    Wait,
}

impl std::str::FromStr for Headless {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "wait" => Ok(Self::Wait),
            other => Err(format!(
                "`{}` is not a headless setting; settings are refuse, wait",
                crate::model::text::Escaped::from(other)
            )),
        }
    }
}

/// How the gate judges what allowed programs start. Deny rules judge every exec either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Every exec by rule, whatever started it.
    Strict,
    /// An exec is covered by the nearest program above it that a rule or an approval covers.
    #[default]
    Lineage,
}

impl std::str::FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "lineage" => Ok(Self::Lineage),
            other => Err(format!(
                "`{}` is not a way of the gate; ways are strict, lineage",
                crate::model::text::Escaped::from(other)
            )),
        }
    }
}

/// How questions are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    timeout: Option<Duration>,
    /// An external approver: program and arguments.
    pub command: Option<Vec<String>>,
    /// What happens when nobody is attached; refused when no layer says.
    pub headless: Option<Headless>,
}

/// The settings of all layers together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    mode: Option<Mode>,
    profile: Option<ProfileName>,
    network: Option<Network>,
    gate: Option<Gate>,
    /// The user to run as when started as root.
    pub user: Option<String>,
    /// Whether a run may not stay uid 0.
    pub forbid_root: bool,
    /// Folders a workspace has to lie in: it must lie in one folder of every list. `~` is the home.
    pub within: Vec<Vec<String>>,
    /// Questions.
    pub approvals: Approvals,
}

/// The settings of one layer: what it leaves out it does not decide.
#[derive(Debug, Default)]
pub(super) struct Given {
    mode: Option<Mode>,
    profile: Option<ProfileName>,
    network: Option<Network>,
    gate: Option<Gate>,
    user: Option<String>,
    forbid_root: bool,
    within: Option<Vec<String>>,
    timeout: Option<Duration>,
    command: Option<Vec<String>>,
    headless: Option<Headless>,
}

impl Given {
    /// Reads `mode`, `[workspace]`, `[sandbox]` and `[approvals]`.
    pub(super) fn read(reader: &mut Reader<'_>, document: &DeTable<'_>, layer: Layer) -> Self {
        let mut given = Self {
            mode: reader.parsed(document, "mode").map(|mode| mode.value),
            ..Self::default()
        };
        if let Some(table) = reader.table(document, "workspace") {
            reader.keys(table, &keys::WORKSPACE, &[], "in [workspace]");
            given.within = given_within(reader, table);
        }
        if let Some(table) = reader.table(document, "sandbox") {
            reader.keys(table, &keys::SANDBOX, &[], "in [sandbox]");
            given.profile = reader.parsed(table, "profile").map(|profile| profile.value);
            given.network = reader.parsed(table, "network").map(|network| network.value);
            given.gate = reader.parsed(table, "gate").map(|gate| gate.value);
            given.user = reader.string(table, "user").and_then(|user| {
                if user.value.is_empty() {
                    reader.fault(user.span, "`user` is empty", "name a user of this machine");
                    return None;
                }
                Some(user.value)
            });
            if let Some(forbid) = reader.boolean(table, "forbid_root") {
                given.forbid_root = forbid.value;
                if layer != Layer::Managed {
                    reader.fault(
                        key_span(table, "forbid_root", &forbid.span),
                        "`forbid_root` is for the managed policy alone",
                        "put it into a file of /etc/tipstaff/policy.d/",
                    );
                }
            }
        }
        if let Some(table) = reader.table(document, "approvals") {
            given.approvals(reader, table);
        }
        given
    }

    fn approvals(&mut self, reader: &mut Reader<'_>, table: &DeTable<'_>) {
        reader.keys(
            table,
            &keys::APPROVALS,
            &keys::APPROVALS_LATER,
            "in [approvals]",
        );
        if let Some(seconds) = reader.number(table, "timeout") {
            if (1..=LONGEST_TIMEOUT).contains(&seconds.value) {
                self.timeout = Some(Duration::from_secs(seconds.value));
            } else {
                reader.fault(
                    seconds.span,
                    "`timeout` is out of range",
                    "it is a number of seconds from 1 to 604800",
                );
            }
        }
        self.headless = reader
            .parsed(table, "headless")
            .map(|headless| headless.value);
        if table.contains_key("command") {
            let words = reader.strings(table, "command");
            match words.first() {
                Some(program) if program.value.starts_with('/') => {
                    self.command = Some(words.into_iter().map(|word| word.value).collect());
                }
                Some(program) => reader.fault(
                    program.span.clone(),
                    "the approver's program has to be an absolute path",
                    "a name would be looked up in a PATH that the caller chose",
                ),
                None => reader.fault(
                    key_span(table, "command", &(0..0)),
                    "`command` names no program",
                    "write the program and its arguments as a list of strings",
                ),
            }
        }
    }

    /// Adds this layer to the layers before it.
    pub(super) fn apply(self, settings: &mut Settings) {
        settings.mode = strictest(settings.mode, self.mode, loose_mode);
        settings.profile = strictest(settings.profile, self.profile, |profile| *profile);
        settings.network = strictest(settings.network, self.network, |network| *network);
        settings.gate = strictest(settings.gate, self.gate, |gate| *gate);
        let approvals = &mut settings.approvals;
        approvals.headless = strictest(approvals.headless, self.headless, |headless| *headless);
        approvals.timeout = strictest(approvals.timeout, self.timeout, Duration::as_secs);
        settings.forbid_root |= self.forbid_root;
        settings.within.extend(self.within);
        // Who runs and who answers is no matter of strictness: the outer layer decides.
        settings.user = settings.user.take().or(self.user);
        approvals.command = approvals.command.take().or(self.command);
    }
}

impl Settings {
    /// The mode of a run that asks for `asked`: the stricter of that and the policy's.
    pub fn mode(&self, asked: Option<Mode>) -> Mode {
        strictest(self.mode, asked, loose_mode).unwrap_or_default()
    }

    /// The profile of a run that asks for `asked`: the narrower of that and the policy's.
    pub fn profile(&self, asked: Option<ProfileName>) -> ProfileName {
        strictest(self.profile, asked, |profile| *profile).unwrap_or_default()
    }

    /// The network of a run that asks for `asked`: the narrower of that and the policy's.
    pub fn network(&self, asked: Option<Network>) -> Network {
        strictest(self.network, asked, |network| *network).unwrap_or_default()
    }

    /// How the gate judges what allowed programs start.
    pub fn gate(&self) -> Gate {
        self.gate.unwrap_or_default()
    }
}

impl Approvals {
    /// How long an attached approver has, in wall-clock time.
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_secs(600))
    }
}

/// The stricter of two values; one that says nothing leaves it to the other.
fn strictest<T, N: Ord>(
    one: Option<T>,
    other: Option<T>,
    looseness: impl Fn(&T) -> N,
) -> Option<T> {
    one.into_iter().chain(other).min_by_key(looseness)
}

/// How much a mode lets through without a person.
const fn loose_mode(mode: &Mode) -> u8 {
    match mode {
        Mode::Plan => 0,
        Mode::DontAsk => 1,
        Mode::Autopilot => 2,
        Mode::Default => 3,
        Mode::Audit => 4,
        Mode::AcceptEdits => 5,
        Mode::Review => 6,
        Mode::Bypass => 7,
    }
}

fn given_within(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Vec<String>> {
    let folders = reader.strings(table, "within");
    for folder in &folders {
        let absolute =
            folder.value.starts_with('/') || folder.value == "~" || folder.value.starts_with("~/");
        if !absolute || folder.value.split('/').any(|part| part == "..") {
            reader.fault(
                folder.span.clone(),
                "`within` needs absolute folders",
                "write `/srv/work` or `~/work`, without `..`",
            );
        }
    }
    table
        .contains_key("within")
        .then(|| folders.into_iter().map(|folder| folder.value).collect())
}
