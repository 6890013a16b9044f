//! The little world of one case: a workspace, something outside it, a home, a state folder, a policy
//! and people to ask.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::process::{self, Ran, Started};
use super::{Outcome, expect, fail, skip};

/// Everything is allowed by rule; the sandbox stays.
pub const ALLOW_ALL: &str =
    "version = 1\n[permissions]\nallow = [\"*\", \"env(*)\", \"write(**)\"]\n";

/// Nothing is allowed by rule: all is asked.
pub const ASK_ALL: &str = "version = 1\n[permissions]\nread_only_defaults = false\n";

/// What an approver does to let the command run.
pub const YES: &str = "allow";

/// What an approver does to refuse it.
pub const NO: &str = "deny";

/// The beginning of every approver: keeps the question, counts the call, and knows both answers.
const APPROVER: &str = r#"printf '%s\n' "$PATH" > approver.path
PATH=/usr/bin:/bin
cat > question.json
echo asked >> asked.log
object=$(grep -o '"object":"[^"]*"' question.json | head -n 1)
allow() { printf '{%s,"decision":"allow"}\n' "$object"; }
deny() { printf '{%s,"decision":"deny","note":"not today"}\n' "$object"; }
"#;

/// The PATH of every run.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where one case plays.
pub struct World {
    /// The folder that holds all the rest; removed at the end.
    pub top: PathBuf,
    /// The workspace, with `probe` in it.
    pub ws: PathBuf,
    /// A folder beside it that this user may write.
    pub outside: PathBuf,
    /// `XDG_STATE_HOME`
    pub state: PathBuf,
    /// The program under test.
    pub binary: PathBuf,
    /// The probe, outside the workspace.
    pub probe: PathBuf,
    /// Whether the program under test gets namespaces here, so that what lies outside is absent.
    pub apart: bool,
    /// A workspace whose `probe` is set-user-ID root, when the suite could prepare one.
    pub suid_ws: Option<PathBuf>,
}

impl World {
    /// Lays out a world under `top`, with the tools the suite copied to `tools`.
    pub fn new(top: PathBuf, tools: &Path, bare: bool) -> Outcome<Self> {
        let folder = |name: &str| -> Outcome<PathBuf> {
            let path = top.join(name);
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            Ok(path)
        };
        folder(".")?;
        let ws = folder("ws")?;
        let probe = tools.join("probe");
        fs::copy(&probe, ws.join("probe"))?;
        for name in ["home", "logs", "run", "approvers"] {
            folder(name)?;
        }
        fs::set_permissions(top.join("run"), fs::Permissions::from_mode(0o700))?;
        let suid_ws = tools.join("suid/ws");
        Ok(Self {
            outside: folder("outside")?,
            state: folder("state")?,
            binary: tools.join(if bare { "bare/tipstaff" } else { "tipstaff" }),
            apart: !bare,
            probe,
            suid_ws: suid_ws.join("probe").exists().then_some(suid_ws),
            ws,
            top,
        })
    }

    /// Whether this half runs as root.
    pub fn root(&self) -> bool {
        nix::unistd::geteuid().is_root()
    }

    /// What the kernel answers about something outside: that it is not there, where the run has a root of
    /// its own; otherwise `bare`.
    pub fn outside_is(&self, bare: &'static str) -> &'static str {
        if self.apart { "ENOENT" } else { bare }
    }

    /// The same for a write to what may only be read.
    pub fn read_only_is(&self) -> &'static str {
        if self.apart { "EROFS" } else { "EACCES" }
    }

    /// The same, as a shell says it.
    pub fn read_only_says(&self) -> &'static str {
        if self.apart {
            "Read-only file system"
        } else {
            "Permission denied"
        }
    }

    /// The same for a process outside.
    pub fn stranger_is(&self, bare: &'static str) -> &'static str {
        if self.apart { "ESRCH" } else { bare }
    }

    /// The same for a file, as a shell says it.
    pub fn outside_says(&self) -> &'static str {
        if self.apart {
            "No such file or directory"
        } else {
            "Permission denied"
        }
    }

    /// A file outside the workspace with `text` in it, writable for everybody, so that the permission
    /// bits can explain no refusal.
    pub fn outside_file(&self, name: &str, text: &str) -> Outcome<String> {
        let path = self.outside.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        Ok(path.display().to_string())
    }

    /// The text of a path inside the workspace, as an argument.
    pub fn inside(&self, name: &str) -> String {
        self.ws.join(name).display().to_string()
    }

    /// A path outside the workspace, as an argument.
    pub fn beside(&self, name: &str) -> String {
        self.outside.join(name).display().to_string()
    }

    /// A command with nothing of the tester's own environment in it.
    pub fn plain(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.top.join("home"))
            .env("LC_ALL", "C.UTF-8")
            .env("XDG_STATE_HOME", &self.state)
            .env("XDG_RUNTIME_DIR", self.top.join("run"))
            .env("XDG_CONFIG_HOME", self.top.join("home/.config"))
            .env("XDG_CACHE_HOME", self.top.join("home/.cache"))
            .current_dir(&self.ws)
            .stdin(Stdio::null());
        command
    }

    /// Runs a command that has nothing to do with the program under test.
    pub fn shell(&self, line: &str) -> Outcome<Ran> {
        let mut command = self.plain("bash");
        command.args(["-c", line]);
        process::start(command, &self.logs())?.end()
    }

    /// Where outputs are kept.
    pub fn logs(&self) -> PathBuf {
        self.top.join("logs")
    }

    /// The program under test with any subcommand.
    pub fn tipstaff(&self, arguments: &[&str]) -> Outcome<Ran> {
        let mut command = self.plain(&self.binary);
        command.args(arguments);
        process::start(command, &self.logs())?.end()
    }

    /// A run under a policy text.
    pub fn policy(&self, text: &str) -> Outcome<Run<'_>> {
        let path = self.top.join("policy.toml");
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(self.under(&path))
    }

    /// A run under a policy file that is already there.
    pub fn under(&self, policy: &Path) -> Run<'_> {
        let mut run = Run {
            world: self,
            prefix: Vec::new(),
            options: Vec::new(),
            cwd: None,
            env: Vec::new(),
        };
        run.options
            .extend([OsString::from("--policy"), policy.into()]);
        run
    }

    /// A run whose rules allow everything.
    pub fn allowed(&self) -> Outcome<Run<'_>> {
        self.policy(ALLOW_ALL)
    }

    /// A run whose every program is asked about; the approver runs `script` with sh, the question on its
    /// standard input, and its words are the answer.
    pub fn asked(&self, script: &str) -> Outcome<Run<'_>> {
        let approver = self.approver(script)?;
        Ok(self.policy(ASK_ALL)?.option("--approver", &approver))
    }

    /// Writes an approver. Each call adds a line to `asked.log`; the question is kept in
    /// `question.json`.
    pub fn approver(&self, script: &str) -> Outcome<String> {
        let path = self.top.join("approvers/approver");
        let top = self.top.display();
        let text = format!("#!/bin/sh\ncd '{top}' || exit 1\n{APPROVER}{script}\n");
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path.display().to_string())
    }

    /// How often the approver was asked.
    pub fn times_asked(&self) -> usize {
        fs::read_to_string(self.top.join("asked.log")).map_or(0, |text| text.lines().count())
    }

    /// Fails if the approver was never asked; forgets that it was.
    pub fn forget_questions(&self) -> Outcome {
        expect(self.times_asked() > 0, "the approver was never asked")?;
        fs::remove_file(self.top.join("asked.log"))?;
        Ok(())
    }

    /// The probe without a sandbox. For what can do no harm.
    pub fn control(&self, arguments: &[&str]) -> Outcome<Tried> {
        let mut command = self.plain("./probe");
        command.args(arguments);
        Tried::read(process::start(command, &self.logs())?.end()?)
    }

    /// The probe without a sandbox, in a throw-away user, mount, process and network namespace.
    pub fn fenced(&self, arguments: &[&str]) -> Outcome<Tried> {
        let mut command = self.plain("unshare");
        if !self.root() {
            command.args(["--user", "--map-root-user"]);
        }
        command
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--net",
                "--mount-proc",
                "./probe",
            ])
            .args(arguments);
        let ran = process::start(command, &self.logs())?.end()?;
        if ran.err.contains("unshare: ") {
            return skip(format!("the control needs namespaces: {}", ran.err.trim()));
        }
        Tried::read(ran)
    }

    /// The probe inside the sandbox, let through by an approver that says yes.
    pub fn attack(&self, arguments: &[&str]) -> Outcome<Tried> {
        self.asked(YES)?.attack(arguments)
    }

    /// Everything the audit log holds, as text; empty when there is none.
    pub fn audit_text(&self) -> String {
        fs::read(self.state.join("tipstaff/audit.jsonl"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Processes that still stand in this workspace.
    pub fn alive(&self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| {
                fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&self.ws))
            })
            .collect()
    }
}

/// One run of the program under test, being put together.
#[must_use = "nothing runs before `line` or `argv`"]
pub struct Run<'w> {
    world: &'w World,
    prefix: Vec<OsString>,
    options: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

impl Run<'_> {
    /// Adds `--name value`.
    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.options.extend([name.into(), value.into()]);
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Starts it through another program.
    pub fn prefix(mut self, words: &[&str]) -> Self {
        self.prefix.extend(words.iter().map(OsString::from));
        self
    }

    /// Starts it in another folder, which becomes its workspace.
    pub fn cwd(mut self, folder: &Path) -> Self {
        self.cwd = Some(folder.to_owned());
        self
    }

    /// The finished command line.
    pub fn command<S: AsRef<OsStr>>(&self, tail: &[S]) -> Command {
        let mut words = self.prefix.clone();
        words.push(self.world.binary.clone().into());
        words.push("run".into());
        words.extend(self.options.iter().cloned());
        let folder = self.cwd.as_ref().unwrap_or(&self.world.ws);
        words.extend([OsString::from("--workspace"), folder.into()]);
        words.extend(tail.iter().map(|word| word.as_ref().to_owned()));
        let mut words = words.into_iter();
        let mut command = self.world.plain(words.next().unwrap_or_default());
        command.args(words).current_dir(folder);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a shell line.
    pub fn line(&self, line: &str) -> Outcome<Ran> {
        self.start_line(line)?.end()
    }

    /// Starts a shell line.
    pub fn start_line(&self, line: &str) -> Outcome<Started> {
        process::start(self.command(&["-c", line]), &self.world.logs())
    }

    /// Runs an argv.
    pub fn argv<S: AsRef<OsStr>>(&self, argv: &[S]) -> Outcome<Ran> {
        let mut tail = vec![OsStr::new("--")];
        tail.extend(argv.iter().map(AsRef::as_ref));
        process::start(self.command(&tail), &self.world.logs())?.end()
    }

    /// Runs the probe of the workspace.
    pub fn attack(&self, arguments: &[&str]) -> Outcome<Tried> {
        let mut argv = vec!["./probe"];
        argv.extend(arguments);
        Tried::read(self.argv(&argv)?)
    }
}

/// What a probe came to.
#[derive(Debug)]
pub struct Tried {
    /// How it ended.
    pub ran: Ran,
    /// Its answer, when it lived to give one.
    pub answer: Option<Value>,
}

impl Tried {
    fn read(ran: Ran) -> Outcome<Self> {
        let answer = serde_json::from_str(ran.out.trim()).ok();
        if answer.is_none() && ran.signal.is_none() && ran.code.is_none_or(|code| code < 129) {
            return fail(format!("the probe gave no answer: {ran}"));
        }
        Ok(Self { ran, answer })
    }

    /// The errno's name, `ok`, or `signal N`.
    pub fn errno_name(&self) -> String {
        match (&self.answer, self.ran.signal, self.ran.code) {
            (Some(answer), _, _) => answer
                .get("errno")
                .and_then(Value::as_str)
                .unwrap_or("no errno")
                .to_owned(),
            (None, Some(signal), _) => format!("signal {signal}"),
            (None, None, Some(code)) => format!("signal {}", code - 128),
            (None, None, None) => "no end".to_owned(),
        }
    }

    /// Fails unless the kernel answered with exactly this.
    pub fn errno(&self, name: &str) -> Outcome<&Self> {
        let got = self.errno_name();
        expect(
            got == name,
            format!("expected {name}, got {got}: {}", self.ran),
        )?;
        Ok(self)
    }

    /// Fails unless it worked.
    pub fn ok(&self) -> Outcome<&Self> {
        self.errno("ok")
    }

    /// One of the facts it printed.
    pub fn fact(&self, name: &str) -> Outcome<&Value> {
        match self.answer.as_ref().and_then(|answer| answer.get(name)) {
            Some(value) => Ok(value),
            None => fail(format!("the probe did not print `{name}`: {}", self.ran)),
        }
    }

    /// Fails unless a fact has this text.
    pub fn is(&self, name: &str, text: &str) -> Outcome<&Self> {
        let value = self.fact(name)?;
        let got = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        expect(
            got == text,
            format!("expected {name} to be `{text}`, it is `{got}`"),
        )?;
        Ok(self)
    }
}
