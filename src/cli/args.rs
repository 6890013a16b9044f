//! Every verb and option: the help text and the man page are made from this table.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::model::deed::DeedKind;
use crate::model::mode::Mode;
use crate::model::profile::{Network, ProfileName};
use crate::model::verdict::Verdict;
use crate::policy::Host;

/// Runs shell commands for programs that are not trusted to run them alone.
#[derive(Debug, Parser)]
#[command(name = "tipstaff", version, max_term_width = 100, after_help = AFTER)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What `--help` says below the verbs.
const AFTER: &str = "\
`tipstaff VERB --help` says more, with the exit statuses of the verb.

Files:
  ~/.config/tipstaff/policy.toml  the user's policy (XDG_CONFIG_HOME)
  .tipstaff/policy.toml           the project's policy, in the workspace
  /etc/tipstaff/policy.d/*.toml   the managed policies
  ~/.local/state/tipstaff/        the record, which projects are trusted, and in quarantine/
                                  what runs left at guarded paths (XDG_STATE_HOME)";

const RUNS: &str = "\
Exit status: the command's own, or
  124  its time ran out; everything it had started was killed
  125  wrong usage, or the policy, supervisor or sandbox failed; nothing ran
  126  denied, or nobody answered; nothing ran
  127  the program does not exist
  130  cancelled
  128+n  killed by signal n
`run --status-fd N` and `run --json` tell which of them it was.";

const JUDGES: &str = "\
Exit status: 0 allow, 1 deny, 3 ask, 2 wrong usage or broken policy. With --jsonl: 0 when every line
was answered.";

const TELLS: &str = "Exit status: 0, or 2 on wrong usage or a broken policy.";

const POLICIES: &str = "\
Exit status: 0, or 2 on wrong usage or a broken policy. `add` refused as dangerous, `fmt --check` with a
file to change, `test` with a case that fails, `lint` with a finding: 1. `try` with a line not matched: 3.";

const RECORDS: &str =
    "Exit status: 0, or 1 when the record is damaged or cannot be read, 2 on wrong usage.";

const LOOKS: &str = "Exit status: 0 when commands can run here, 125 when not, 2 on wrong usage.";

const RUN_USAGE: &str = "\
tipstaff run [OPTIONS] -c <LINE>
       tipstaff run [OPTIONS] -- <ARGV>...";
const CHECK_USAGE: &str = "\
tipstaff check [OPTIONS] -c <LINE>
       tipstaff check [OPTIONS] -- <ARGV>...
       tipstaff check [OPTIONS] --kind <KIND> -- <OBJECT>
       tipstaff check [OPTIONS] --jsonl";
const EXPLAIN_USAGE: &str = "\
tipstaff explain [OPTIONS] -c <LINE>
       tipstaff explain [OPTIONS] -- <ARGV>...";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Judge a line or an argv, confine it, ask where the policy says so, and run it
    #[command(override_usage = RUN_USAGE, after_help = RUNS)]
    Run(Box<RunOptions>),
    /// Drop-in for `bash -c LINE`: no other option of bash, and every setting from the policy
    #[command(after_help = RUNS)]
    Sh(ShOptions),
    /// Say what the policy says of a line; nothing is run
    #[command(override_usage = CHECK_USAGE, after_help = JUDGES)]
    Check(CheckOptions),
    /// Show each sub-command of a line with its file, digest, verdict, rule, and what would change it
    #[command(override_usage = EXPLAIN_USAGE, after_help = TELLS)]
    Explain(ExplainOptions),
    /// Check, lint, test, list, try, change, lay out and import policies, and trust project policies
    #[command(after_help = POLICIES)]
    Policy(PolicyOptions),
    /// Show and verify the record of decisions
    #[command(after_help = RECORDS)]
    Audit(AuditOptions),
    /// Say what this host can enforce, by doing it in a throw-away child
    #[command(after_help = LOOKS)]
    Doctor(DoctorOptions),
}

/// What is run or judged.
#[derive(Debug, Args)]
pub struct CommandArgs {
    /// A shell line
    #[arg(
        short = 'c',
        value_name = "LINE",
        allow_hyphen_values = true,
        conflicts_with = "argv",
        required_unless_present = "argv"
    )]
    pub line: Option<OsString>,
    /// A program with its arguments; no shell reads them
    #[arg(last = true, value_name = "ARGV")]
    pub argv: Vec<OsString>,
}

/// Options shared by run, check and explain.
#[derive(Debug, Default, Args)]
pub struct Common {
    /// Policy that replaces the user and project layers; built-in and managed rules stay
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Sandbox profile: read-only, workspace; the narrower of this and the policy's
    #[arg(long, value_name = "NAME")]
    pub profile: Option<ProfileName>,
    /// Network of the command: off, loopback, full; the narrower of this and the policy's;
    /// off when neither says
    #[arg(long, value_name = "SETTING")]
    pub network: Option<Network>,
    /// What happens to what no rule decides: default (ask), dont-ask, plan, accept-edits, review, audit,
    /// autopilot, bypass; never wider than the policy's mode
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
    /// Root of the workspace; else the version-control root above the folder, else the folder
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Folder to run in; else the present one
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// User to run as, when started as root; else the user of sudo, else the policy's, else root without
    /// capabilities
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Give the result as one line of JSON: on standard output, of `run` on standard error
    #[arg(long)]
    pub json: bool,
}

/// Identifiers the caller gives.
#[derive(Debug, Default, Args)]
pub struct IdArgs {
    /// The caller's session; this and the ids below also from TIPSTAFF_SESSION, TIPSTAFF_RUN, …
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The agent's run
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// The agent's task
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The agent's name
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// The caller's id of this call
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,
}

/// `tipstaff run`
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Shared options.
    #[command(flatten)]
    pub common: Common,
    /// Kill the command and everything it started after this long: 90s, 5m, 2h, 500ms; plain numbers are
    /// seconds
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Command, by its absolute path, that answers questions: JSON question on its input, JSON answer on
    /// its output
    #[arg(long, value_name = "COMMAND")]
    pub approver: Option<String>,
    /// Descriptor that gets one line of JSON saying how the run ended
    #[arg(long, value_name = "N")]
    pub status_fd: Option<i32>,
    /// The caller's own words on why; shown to the approver as a claim
    #[arg(long, value_name = "TEXT")]
    pub claim: Option<String>,
    /// Identifiers.
    #[command(flatten)]
    pub ids: IdArgs,
    /// What to run.
    #[command(flatten)]
    pub command: CommandArgs,
}

/// `tipstaff sh`
#[derive(Debug, Args)]
pub struct ShOptions {
    /// A shell line
    #[arg(short = 'c', value_name = "LINE", allow_hyphen_values = true)]
    pub line: OsString,
}

/// `tipstaff check`
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Shared options.
    #[command(flatten)]
    pub common: Common,
    /// Judge what the caller would do itself: write PATH, delete PATH, network HOST:PORT, mcp SERVER:TOOL
    #[arg(long, value_name = "KIND", conflicts_with_all = ["line", "jsonl"], requires = "argv")]
    pub kind: Option<DeedKind>,
    /// Judge one JSON object a line from standard input: {"id","line","cwd","policy"}, or
    /// {"kind","object"} instead of the line
    #[arg(long, conflicts_with_all = ["line", "argv"])]
    pub jsonl: bool,
    /// A shell line
    #[arg(short = 'c', value_name = "LINE", allow_hyphen_values = true, conflicts_with = "argv", required_unless_present_any = ["argv", "jsonl"])]
    pub line: Option<OsString>,
    /// A program with its arguments; no shell reads them
    #[arg(last = true, value_name = "ARGV")]
    pub argv: Vec<OsString>,
}

/// `tipstaff explain`
#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// Shared options.
    #[command(flatten)]
    pub common: Common,
    /// What to explain.
    #[command(flatten)]
    pub command: CommandArgs,
}

/// `tipstaff policy`
#[derive(Debug, Args)]
pub struct PolicyOptions {
    /// What to do with policies.
    #[command(subcommand)]
    pub verb: PolicyVerb,
    /// Give the result as one line of JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
}

/// The verbs of `tipstaff policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyVerb {
    /// Load policy files strictly and say what is wrong, with file, line and column
    Check {
        /// Files to check; without any, the layers in force here
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Trust the allow rules of the project policy here, for exactly its present content
    Trust,
    /// List every rule of every layer here: verdict, text, id, place, and whether it counts
    List,
    /// Say how a rule is read and whether it matches lines; nothing is added. Exit 0 when every line is
    /// matched, 3 when one is not, 2 when the rule is broken
    Try(TryOptions),
    /// Add a rule to a policy file in place, after showing what it would change for recent lines. Exit 1
    /// when it is refused as dangerous
    Add(AddOptions),
    /// Remove a rule from a policy file in place, by its text or id
    Remove(RemoveOptions),
    /// Write policy files in their canonical layout, comments kept
    Fmt {
        /// Change nothing; exit 1 when a file would change
        #[arg(long)]
        check: bool,
        /// The files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of policy files
    Schema,
    /// Judge files of cases and compare: line, folder, expected verdict and rule. Exit 1 when a case does
    /// not hold
    Test(TestOptions),
    /// Say what is likely not meant: rules that never decide, that contradict, or that give away more than
    /// they seem to. Exit 1 when anything but a note is found
    Lint(LintOptions),
    /// Write another tool's permissions as a policy, never wider than they were. The policy goes to standard
    /// output; what could not be said and what became stricter to standard error
    Import(ImportOptions),
}

/// `tipstaff policy test`
#[derive(Debug, Args)]
pub struct TestOptions {
    /// Files of cases; without any, NAME.test.toml beside each policy NAME.toml in force
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Policy that the cases are for; else the one a file names, else the one in force here
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Exit 1 when no case was decided by some rule of the policy
    #[arg(long)]
    pub cover: bool,
}

/// `tipstaff policy lint`
#[derive(Debug, Args)]
pub struct LintOptions {
    /// Policies to look at, each for itself; without any, the layers in force here
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `tipstaff policy import`
#[derive(Debug, Args)]
pub struct ImportOptions {
    /// Whose permissions: claude (settings.json), codex (.rules), gemini (policy TOML), vscode
    /// (settings.json)
    #[arg(value_name = "HOST", value_parser = host)]
    pub host: Host,
    /// The file that holds them
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `tipstaff policy try`
#[derive(Debug, Args)]
pub struct TryOptions {
    /// The rule, as it would stand in the lists of a policy
    #[arg(value_name = "RULE")]
    pub rule: String,
    /// Lines to try it on
    #[arg(value_name = "LINE")]
    pub lines: Vec<OsString>,
    /// What the rule would say: allow, ask, deny; ask and deny match wider
    #[arg(long, value_name = "VERDICT", default_value = "allow", value_parser = verdict)]
    pub verdict: Verdict,
}

/// Which policy file is changed.
#[derive(Debug, Default, Args)]
#[group(multiple = false)]
pub struct TargetArgs {
    /// This file
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The user's policy (the default)
    #[arg(long)]
    pub user: bool,
    /// The project's policy, .tipstaff/policy.toml
    #[arg(long)]
    pub project: bool,
}

/// `tipstaff policy add`
#[derive(Debug, Args)]
pub struct AddOptions {
    /// The rule: words of a command, or write(PATH), read(PATH), delete(PATH), env(NAME), network(HOST),
    /// mcp(SERVER:TOOL)
    #[arg(value_name = "RULE")]
    pub rule: String,
    /// What it says: allow, ask, deny
    #[arg(long, value_name = "VERDICT", default_value = "allow", value_parser = verdict)]
    pub verdict: Verdict,
    /// Which file.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Show what would change and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Add an allow rule that gives away more than it seems to
    #[arg(long)]
    pub even_if_dangerous: bool,
}

/// `tipstaff policy remove`
#[derive(Debug, Args)]
pub struct RemoveOptions {
    /// The text of a one-line rule, or an id as `policy list` shows it
    #[arg(value_name = "RULE|ID")]
    pub rule: String,
    /// Only a rule that says this: allow, ask, deny
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    pub verdict: Option<Verdict>,
    /// Which file.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Show what would change and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `tipstaff audit`
#[derive(Debug, Args)]
pub struct AuditOptions {
    /// What to do with the record.
    #[command(subcommand)]
    pub verb: AuditVerb,
}

/// The verbs of `tipstaff audit`.
#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Show the newest records
    Show {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        last: usize,
        /// Print the records as they stand
        #[arg(long)]
        json: bool,
    },
    /// Verify the whole chain and name the first broken record
    Verify {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// `tipstaff doctor`
#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A host whose permissions can be read.
fn host(text: &str) -> Result<Host, String> {
    text.parse::<Host>().map_err(|error| error.to_string())
}

/// `allow`, `ask` or `deny`.
fn verdict(text: &str) -> Result<Verdict, String> {
    match text {
        "allow" => Ok(Verdict::Allow),
        "ask" => Ok(Verdict::Ask),
        "deny" => Ok(Verdict::Deny),
        other => Err(format!(
            "`{other}` is no verdict; verdicts are allow, ask, deny"
        )),
    }
}

/// `90s`, `5m`, `2h`, `500ms`, or plain seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let wrong = || format!("`{text}` is not a time; write it like 90s, 5m, 2h or 500ms");
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "" | "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => return Err(wrong()),
    };
    match milliseconds {
        Some(0) => {
            Err("a time limit of zero would let nothing run; leave it out for no limit".into())
        }
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_table_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_read_with_their_unit() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        assert!(duration("0s").is_err());
        assert!(duration("5 parsecs").is_err());
        assert!(duration("-5s").is_err());
    }
}
