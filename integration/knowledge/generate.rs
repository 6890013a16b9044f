//! Lines over the program knowledge: programs with options of their grammars, sub-commands, carriers in
//! carriers, and the shell syntax between them.

use super::data::{self, Options, Program};
use super::support::rng::Rng;

/// Programs that are really themselves, since they start others by what their arguments say. Every other
/// known program is a stub.
pub const REAL: [&str; 17] = [
    "env", "xargs", "timeout", "nice", "nohup", "stdbuf", "setsid", "find", "sh", "bash", "dash",
    "ionice", "taskset", "chrt", "flock", "ash", "busybox",
];

/// Built-in rules deny these, and then nothing is compared.
const DENIED: [&str; 9] = [
    "sudo", "su", "doas", "pkexec", "runuser", "shutdown", "reboot", "halt", "mkfs",
];

/// Names of all stubs.
pub fn stubs(programs: &[Program]) -> Vec<String> {
    let names = programs.iter().flat_map(|program| program.names.iter());
    let mut names: Vec<String> = names
        .filter(|name| {
            !REAL.contains(&name.as_str()) && !name.contains('/') && *name != "." && *name != ":"
        })
        .cloned()
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// How deep lines nest.
const DEPTH: usize = 3;
const WORDS: [&str; 16] = [
    "a.txt",
    "b.txt",
    "src",
    "src/main.c",
    "-",
    "x",
    "one two",
    "it's",
    "*.c",
    "a|b",
    "$HOME",
    "10",
    "k=v",
    "",
    "--",
    "é",
];
const FOLDERS: [&str; 4] = ["src", ".", "src/lib", "/mnt/w/src"];

/// Makes lines.
pub struct Maker<'a> {
    rng: Rng,
    programs: Vec<&'a Program>,
    carriers: Vec<&'static str>,
    depth: usize,
    /// The text is for a shell that knows no more than POSIX.
    posix: bool,
    locks: usize,
}

impl<'a> Maker<'a> {
    /// `carriers` are those of [`REAL`] that are here.
    pub fn new(seed: u64, programs: &'a [Program], carriers: &[&'static str]) -> Self {
        let usable = |name: &String| {
            !data::is_built_in(name)
                && !REAL.contains(&name.as_str())
                && !DENIED.contains(&name.as_str())
        };
        Self {
            rng: Rng::new(seed),
            programs: programs
                .iter()
                .filter(|program| program.names.iter().all(usable))
                .collect(),
            carriers: carriers.to_vec(),
            depth: 0,
            posix: false,
            locks: 0,
        }
    }

    /// A whole line.
    pub fn line(&mut self) -> String {
        (self.depth, self.posix, self.locks) = (0, false, 0);
        self.list()
    }

    fn list(&mut self) -> String {
        let mut text = self.pipeline();
        for _ in 0..self.rng.below(3) {
            let between = self.rng.pick(&[" && ", " || ", "; ", "; ", "\n", " & "]);
            let next = self.pipeline();
            text = format!("{text}{between}{next}");
        }
        text
    }

    fn pipeline(&mut self) -> String {
        let mut text = match self.rng.below(10) {
            0 if self.depth < DEPTH => self.deeper(Self::compound),
            1 => format!("! {}", self.command()),
            _ => self.command(),
        };
        for _ in 0..self.rng.below(6).saturating_sub(3) {
            let next = self.command();
            text = format!("{text} | {next}");
        }
        text
    }

    fn deeper(&mut self, make: fn(&mut Self) -> String) -> String {
        self.depth += 1;
        let text = make(self);
        self.depth -= 1;
        text
    }

    fn compound(&mut self) -> String {
        let body = self.list();
        match self.rng.below(7) {
            0 => format!("({body})"),
            1 => format!("{{ {body}\n}}"),
            2 => {
                let test = self.command();
                format!("if {test}; then {body}\nelse {}\nfi", self.command())
            }
            3 => {
                let words: Vec<String> = (0..=self.rng.below(3)).map(|_| self.operand()).collect();
                let program = self.program();
                format!(
                    "for i in {}; do {program} -- \"$i\"; {body}\ndone",
                    words.join(" ")
                )
            }
            4 => format!("while {}; do {body}\nbreak; done", self.command()),
            5 => format!(
                "case {} in a*) {body};; *) {};; esac",
                self.operand(),
                self.command()
            ),
            _ => format!("until {}; do {body}\nbreak; done", self.command()),
        }
    }

    fn command(&mut self) -> String {
        let mut text = match self.rng.below(20) {
            0..=8 if self.depth < DEPTH && !self.carriers.is_empty() => self.deeper(Self::carried),
            9 => self.built_in(),
            _ => self.plain(),
        };
        match self.rng.below(14) {
            0 => text.push_str(" 2>/dev/null"),
            1 => text.push_str(" > out"),
            2 => text.push_str(" >> out 2>&1"),
            3 => text.push_str(" < a.txt"),
            4 if !self.posix => text.push_str(" <<< 'one two'"),
            5 => text = format!("LANG=C {text}"),
            6 if !self.posix => text.push_str(" &> out"),
            _ => {}
        }
        text
    }

    fn built_in(&mut self) -> String {
        match self.rng.below(7) {
            0 => format!("echo {}", self.operands()),
            1 => format!("cd {}", self.rng.pick(&FOLDERS)),
            2 => "printf 'a\\nb\\n'".to_owned(),
            3 => format!("word={}; {} \"$word\"", self.operand(), self.program()),
            4 => format!("test -n {}", self.operand()),
            5 => "true".to_owned(),
            _ => format!("[ -e {} ]", self.rng.pick(&["a.txt", "none"])),
        }
    }

    /// A program of the knowledge with arguments after its grammar, none of which starts anything here.
    fn plain(&mut self) -> String {
        let program = self.choice();
        let name = program.names[self.rng.below(program.names.len())].clone();
        let mut words = vec![self.disguised(&name)];
        self.options(&program.options, &mut words);
        if !program.subcommands.is_empty() && !self.rng.once_in(4) {
            let (sub, options) = &program.subcommands[self.rng.below(program.subcommands.len())];
            words.push(sub.clone());
            self.options(options, &mut words);
        }
        let operands = self.operands();
        if !operands.is_empty() {
            words.push(operands);
        }
        words.join(" ")
    }

    /// A program, seldom one that is known to start others by what its arguments say: as a stub it does not.
    fn choice(&mut self) -> &'a Program {
        loop {
            let program = self.programs[self.rng.below(self.programs.len())];
            if !program.is_carrier || self.rng.once_in(20) {
                return program;
            }
        }
    }

    /// A name to stand before operands.
    fn program(&mut self) -> String {
        let program = self.choice();
        program.names[self.rng.below(program.names.len())].clone()
    }

    fn disguised(&mut self, name: &str) -> String {
        let (first, rest) = name.split_at(1);
        match self.rng.below(24) {
            0 => format!("\\{name}"),
            1 => format!("'{name}'"),
            2 => format!("{first}''{rest}"),
            3 => format!("\"{first}\"{rest}"),
            4 => format!("/mnt/stubs/{name}"),
            5 if !self.posix => {
                let hex: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("$'{hex}'")
            }
            _ => quoted(name),
        }
    }

    fn options(&mut self, options: &Options, words: &mut Vec<String>) {
        for _ in 0..self.rng.below(4) {
            let texts = if self.rng.once_in(30) {
                &options.executing
            } else {
                &options.quiet
            };
            if texts.is_empty() {
                continue;
            }
            let text = &texts[self.rng.below(texts.len())];
            let option = self.option(text);
            words.push(option);
        }
    }

    /// `-o, --output WRITE`, `--color[=WHEN]`, `-i[SUFFIX]`, `-v`, as somebody would write it.
    fn option(&mut self, text: &str) -> String {
        let (spelled, glued, place) = match text.split_once('[') {
            Some((spelled, place)) => (spelled, true, Some(place)),
            None => match text.rsplit_once(' ') {
                Some((spelled, place)) if !place.starts_with(['-', '+']) => {
                    (spelled, false, Some(place))
                }
                Some(_) | None => (text, false, None),
            },
        };
        let spellings: Vec<&str> = spelled.split(", ").collect();
        let mut spelling = self.rng.pick(&spellings).to_owned();
        let is_long = spelling.starts_with("--") && spelling.len() > 6;
        if is_long && self.rng.once_in(8) {
            spelling.pop();
        }
        let Some(place) = place else {
            return quoted(&spelling);
        };
        if glued && self.rng.once_in(2) {
            return quoted(&spelling);
        }
        let value = match place {
            "COMMAND" => self.program(),
            "SHELL" => format!("{} -x", self.program()),
            _ => self.rng.pick(&["a.txt", "3", "name", "one two"]).to_owned(),
        };
        let long = spelling.starts_with("--");
        match (glued, long, self.rng.once_in(2)) {
            (true, true, _) | (false, true, true) => quoted(&format!("{spelling}={value}")),
            (true, false, _) | (false, false, true) => quoted(&format!("{spelling}{value}")),
            (false, _, false) => format!("{} {}", quoted(&spelling), quoted(&value)),
        }
    }

    fn operands(&mut self) -> String {
        let words: Vec<String> = (0..self.rng.below(4)).map(|_| self.operand()).collect();
        words.join(" ")
    }

    fn operand(&mut self) -> String {
        if self.depth < DEPTH && self.rng.once_in(30) {
            return self.deeper(Self::dynamic);
        }
        let word = self.rng.pick(&WORDS);
        match word {
            "" => "''".to_owned(),
            "$HOME" => "\"$HOME/x\"".to_owned(),
            word => quoted(word),
        }
    }

    fn dynamic(&mut self) -> String {
        let inner = self.command();
        match self.rng.below(5) {
            0 => "*.txt".to_owned(),
            1 => format!("\"$({inner})\""),
            2 => format!("$({inner})"),
            3 if !self.posix => format!("<({inner})"),
            _ => format!("\"${{none:-$({inner})}}\""),
        }
    }

    /// A command inside another.
    fn carried(&mut self) -> String {
        let carrier = self.carriers[self.rng.below(self.carriers.len())];
        let kind = match carrier {
            // Built-ins and keywords of the shell share the turn of what may be absent.
            "ash" | "dash" => self
                .rng
                .pick(&["dash", "command", "exec", "eval", "time", "group"]),
            other => other,
        };
        match kind {
            "sh" | "bash" | "dash" => self.shell(kind),
            "find" => self.found(),
            "xargs" => {
                let input =
                    self.rng
                        .pick(&["echo a b", "printf 'a\\nb\\n'", "echo", "echo \"it is\""]);
                let options = self.some(&[
                    "-r",
                    "-n 1",
                    "-n1",
                    "-0",
                    "-t",
                    "-P 2",
                    "-L 1",
                    "-L1",
                    "--max-args=2",
                    "--no-run-if-empty",
                    "-I {}",
                    "-I% ",
                    "-i",
                    "--replace",
                    "--replace=@",
                    "-d ' '",
                    "-x",
                    "--",
                    "-E end",
                    "-e",
                    "-l",
                    "-s 900",
                    "--verbose",
                    "-a a.txt",
                    "--arg-file=a.txt",
                ]);
                let inner = self.inner();
                let marks = self.rng.pick(&["", "", " {}", " x{}y", " %", " @"]);
                format!("{input} | xargs {options}{inner}{marks}")
            }
            "env" => {
                let options = self.some(&[
                    "-u X",
                    "-uX",
                    "--unset=X",
                    "A=b",
                    "LANG=C",
                    "A=b C=d",
                    "-",
                    "-C src",
                    "--chdir=src",
                    "--",
                    "-v",
                    "-i PATH=/mnt/stubs",
                ]);
                format!("env {options}{}", self.inner())
            }
            "timeout" => {
                let options = self.some(&[
                    "-k 5",
                    "-k5",
                    "--kill-after=9",
                    "-s KILL",
                    "-sTERM",
                    "--preserve-status",
                    "--foreground",
                    "-v",
                    "--",
                    "--signal INT",
                ]);
                format!(
                    "timeout {options}{} {}",
                    self.rng.pick(&["5", "10s", "0.5m", "'9'"]),
                    self.inner()
                )
            }
            "nice" => format!(
                "nice {}{}",
                self.some(&["-n 5", "-n5", "-5", "--adjustment=3", "--adj 3", "--"]),
                self.inner()
            ),
            "nohup" => format!("nohup {}{}", self.some(&["--"]), self.inner()),
            "stdbuf" => format!(
                "stdbuf {} {}",
                self.rng.pick(&[
                    "-oL",
                    "-o L",
                    "--output=0",
                    "-i0 -oL",
                    "--err L -o0",
                    "-oL --"
                ]),
                self.inner()
            ),
            "setsid" => format!(
                "setsid {}{}",
                self.some(&["-w", "-f", "--wait", "-c", "-fw", "--"]),
                self.inner()
            ),
            "ionice" => format!(
                "ionice {}{}",
                self.some(&["-c 3", "-c3", "-c2 -n7", "--class idle", "-t", "--ignore"]),
                self.inner()
            ),
            "taskset" => format!(
                "taskset {} {}",
                self.rng.pick(&["1", "0x1", "-c 0", "--cpu-list 0"]),
                self.inner()
            ),
            "chrt" => format!(
                "chrt {} {}",
                self.rng.pick(&["-o 0", "-i 0", "--other 0", "-b 0"]),
                self.inner()
            ),
            "flock" => {
                let options = self.some(&[
                    "-n",
                    "-x",
                    "-s",
                    "-w 5",
                    "-w5",
                    "--nonblock",
                    "-E 3",
                    "--close",
                    "-o",
                    "--verbose",
                ]);
                // One inside another would wait for ever on the same file.
                self.locks += 1;
                let lock = format!("lock{}", self.locks);
                if self.rng.once_in(3) {
                    let text = self.text();
                    let option = self.rng.pick(&["-c", "--command"]);
                    format!("flock {options}{lock} {option} {text}")
                } else {
                    format!("flock {options}{lock} {}", self.inner())
                }
            }
            "busybox" => format!(
                "busybox {}",
                self.rng.pick(&[
                    "echo a",
                    "true",
                    "ls src",
                    "sh -c 'ls x'",
                    "env ls a",
                    "xargs -r ls",
                    "timeout 5 ls b"
                ])
            ),
            "command" => format!("command {}{}", self.some(&["--", "-p"]), self.plain()),
            "exec" => format!("(exec {})", self.inner()),
            "eval" => {
                let text = self.list();
                format!("eval {}", quoted(&text))
            }
            "time" if !self.posix => format!("time {}{}", self.some(&["-p"]), self.inner()),
            _ => format!("{{ {}; }}", self.inner()),
        }
    }

    /// Some of these, each followed by a blank.
    fn some(&mut self, options: &[&str]) -> String {
        let count = self.rng.below(3);
        let picked: Vec<&str> = (0..count).map(|_| self.rng.pick(options)).collect();
        picked.iter().map(|option| format!("{option} ")).collect()
    }

    /// Words that a carrier can start: a program, or a carrier again.
    fn inner(&mut self) -> String {
        if self.depth < DEPTH && self.rng.once_in(3) {
            let text = self.deeper(Self::carried);
            let is_argv = !text.starts_with(['(', '{'])
                && !text.contains(['|', '\n'])
                && !["command", "exec", "eval", "time"]
                    .iter()
                    .any(|word| text.starts_with(word));
            if is_argv {
                return text;
            }
        }
        self.plain()
    }

    fn text(&mut self) -> String {
        let before = std::mem::replace(&mut self.posix, true);
        let text = self.deeper(Self::list);
        self.posix = before;
        if !text.contains(['"', '$', '`', '\\', '!']) && self.rng.once_in(3) {
            return format!("\"{text}\"");
        }
        quoted(&text)
    }

    fn shell(&mut self, name: &str) -> String {
        let before = self.posix;
        self.posix |= name != "bash";
        let text = self.text();
        self.posix = before;
        let options = match name {
            "bash" => self.rng.pick(&[
                "-c",
                "-c",
                "-ec",
                "-e -c",
                "-o pipefail -c",
                "--norc -c",
                "-c --",
                "--noprofile --norc -xc",
            ]),
            _ => self.rng.pick(&["-c", "-c", "-ec", "-e -c", "-c -e", "-uc"]),
        };
        let after = self.rng.pick(&["", "", "", " name", " name a b"]);
        format!("{name} {options} {text}{after}")
    }

    fn found(&mut self) -> String {
        let place = self.rng.pick(&[".", "src", "src .", "-H src", ""]);
        let tests = self.rng.pick(&[
            "-name '*.c'",
            "-type f",
            "-maxdepth 1 -name a.txt",
            "-maxdepth 0",
            "-name a.txt -o -name b.txt",
            "! -name x -type d",
            "",
        ]);
        let action = self.rng.pick(&["-exec", "-exec", "-execdir"]);
        let inner = self.plain();
        // What ends an -exec has to stand alone.
        let inner = inner.replace(" + ", " ").replace(" ; ", " ");
        let end = self
            .rng
            .pick(&["{} \\;", "{} +", "{} ';'", "\\;", "a{}b \\;"]);
        let more = self.rng.pick(&["", "", " -print", " -quit"]);
        format!("find {place} {tests} {action} {inner} {end}{more}")
    }
}

fn quoted(text: &str) -> String {
    shell_words::quote(text).into_owned()
}
