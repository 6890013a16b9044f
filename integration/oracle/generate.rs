//! Random command lines, from everyday to nasty, made by a small grammar.
//!
//! They are meant to run: loops end, folders exist, most programs "succeed". Calls of functions the line
//! defines, aliases and option changes are rare, since they make a line opaque by design; what is common
//! is what people and agents write, and the ways to write a command so that a splitter overlooks it.

use super::support::rng::Rng;

#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "ls", "cat", "git", "rm", "make", "cargo", "grep", "sed", "find", "curl", "npm", "python3", "node", "tar", "cp", "mv", "nope",
    "docker", "head", "tail", "sort", "wc", "tee", "mkdir", "touch", "chmod", "awk", "jq", "ssh", "nice-try", "id", "x", "go", "rg",
    "diff", "cut", "tr", "uniq", "which", "date", "sleep", "env", "xargs", "timeout", "sudo", "nohup", "a", "b", "pytest", "ninja",
];
#[rustfmt::skip]
const BUILT_INS: &[&str] = &["echo", "printf '%s\\n'", "true", "test -e", ":", "[ -n x ] &&:", "pwd", "false", "type", "umask", "export A=1;:", "unset A;:"];
#[rustfmt::skip]
const ARGUMENTS: &[&str] = &[
    "-r", "-rf", "--all", "-n", "5", "-5", "status", "src", "src/main.c", "a.txt", "./x", "../y", "/etc/passwd", "build/", "-o", "out",
    "--name=value", "origin", "HEAD~1", "s/a/b/g", "a:b", "@{u}", "a=b", "key=val", "%s", "+x", "a,b", "1..3", "a{b", "}", "{}", "{", "!",
    "if", "then", "fi", "done", "in", "]", "]]", "#x", "x#y", "-", "--", "^", "a@b.c:d", "100%", "C++", "é", "a~", "x=~/y",
];
const NAMES: &[&str] = &["x", "y", "file", "DIR", "A", "_z1"];
const FOLDERS: &[&str] = &[
    "src",
    "build",
    ".",
    "./src",
    "'a b'",
    "/mnt/w",
    "\"$PWD\"",
    "src/lib/..",
];

/// How deep a line nests.
const DEPTH: u32 = 3;

/// A line.
pub fn line(rng: &mut Rng) -> String {
    let mut maker = Maker {
        rng,
        documents: Vec::new(),
        depth: 0,
    };
    let mut line = maker.list();
    maker.close_documents(&mut line);
    if maker.rng.once_in(12) {
        line.push_str(
            maker
                .rng
                .pick(&["\n", ";", " &", " # note: rm -r x", "\n\n", " ;\n"]),
        );
    }
    line
}

struct Maker<'r> {
    rng: &'r mut Rng,
    /// Bodies of here-documents whose line has not ended.
    documents: Vec<String>,
    depth: u32,
}

impl Maker<'_> {
    fn list(&mut self) -> String {
        let mut list = self.and_or();
        let more = if self.depth == 0 { 4 } else { 2 };
        for _ in 0..self.rng.below(more) {
            let between = self.rng.pick(&[
                "; ",
                ";",
                " ; ",
                "\n",
                "\n\n  ",
                " & ",
                "; ",
                "\n# no $( comment\n",
            ]);
            list.push_str(between);
            if between.starts_with('\n') {
                let at = list.rfind(between).map_or(0, |at| at + 1);
                self.bodies_at(&mut list, at);
            }
            list.push_str(&self.and_or());
        }
        list
    }

    fn and_or(&mut self) -> String {
        let mut text = self.pipeline();
        while self.rng.once_in(3) {
            text.push_str(
                self.rng
                    .pick(&[" && ", "&&", " || ", " && \\\n  ", " ||\t"]),
            );
            text.push_str(&self.pipeline());
        }
        text
    }

    fn pipeline(&mut self) -> String {
        let mut text = String::new();
        if self.rng.once_in(25) {
            text.push_str(
                self.rng
                    .pick(&["! ", "time ", "time -p ", "! time ", "! ! "]),
            );
        }
        text.push_str(&self.command());
        while self.rng.once_in(4) {
            text.push_str(
                self.rng
                    .pick(&[" | ", "|", " |& ", " |\\\n ", " | ! "])
                    .trim_end_matches("! "),
            );
            text.push_str(&self.command());
        }
        text
    }

    fn command(&mut self) -> String {
        if self.depth >= DEPTH || !self.rng.once_in(5) {
            return self.simple();
        }
        self.depth += 1;
        let mut text = self.compound();
        self.depth -= 1;
        if self.rng.once_in(5) {
            text.push_str(&self.redirection());
        }
        text
    }

    /// A list and the separator before a closing word.
    fn body(&mut self) -> String {
        let mut text = self.list();
        if self.documents.is_empty() {
            text.push_str(self.rng.pick(&["; ", "\n", ";\n"]));
        } else {
            text.push('\n');
            let at = text.len();
            self.bodies_at(&mut text, at);
        }
        text
    }

    fn compound(&mut self) -> String {
        let word = self.word();
        let name = self.rng.pick(NAMES);
        match self.rng.below(15) {
            0 => format!("({})", self.closed()),
            1 => format!("{{ {}}}", self.body()),
            2 => format!("if {}then {}fi", self.body(), self.body()),
            3 => format!(
                "if {}then {}else {}fi",
                self.body(),
                self.body(),
                self.body()
            ),
            4 => {
                let words = self.loop_words();
                format!("for {name} in {words}; do {}done", self.body())
            }
            5 if self.rng.once_in(2) => {
                let words = self.loop_words();
                let used = self.used(name);
                format!("for {name} in {words}\ndo {} {used}; done", self.program())
            }
            6 => format!("while false; do {}done", self.body()),
            7 => format!("until {}true; do {}done", self.body(), self.body()),
            8 => format!(
                "case {word} in\n  a|b*) {};;\n  (*) {};;\nesac",
                self.closed(),
                self.closed()
            ),
            9 => format!(
                "case {word} in {}) {};& x) {};; esac",
                self.literal(),
                self.closed(),
                self.closed()
            ),
            10 => format!(
                "[[ {word} == {} && -n {} ]] && {}",
                self.literal(),
                self.word(),
                self.simple()
            ),
            11 => {
                let operands = self.operands();
                format!("(( {operands} )) || {}", self.simple())
            }
            12 if self.rng.once_in(2) => format!(
                "echo one | while read -r {name}; do {} \"${name}\"; done",
                self.program()
            ),
            13 => format!("for ((i = 0; i < 2; i++)); do {}done", self.body()),
            _ => {
                let number = self.rng.below(1000);
                let head =
                    self.rng
                        .pick(&["fn#() ", "function fn# ", "fn# ()\n", "function fn# () "]);
                let body = self.body();
                // A call that may come without its definition is opaque, and so rare.
                let top = self.depth == 1 && self.rng.once_in(30);
                let call = match self.rng.below(2) {
                    _ if !top => String::new(),
                    1 => format!("; fn{number} {}", self.static_word()),
                    _ => format!("\n{} && fn{number}", self.simple()),
                };
                format!(
                    "{}{{ {body}}}{call}",
                    head.replace('#', &number.to_string())
                )
            }
        }
    }

    fn loop_words(&mut self) -> String {
        let words: Vec<String> = (0..=self.rng.below(3))
            .map(|_| self.static_word())
            .collect();
        words.join(" ")
    }

    /// A list without open here-documents, for where no line can end.
    fn closed(&mut self) -> String {
        let mut text = self.list();
        if !self.documents.is_empty() {
            text.push('\n');
            let at = text.len();
            self.bodies_at(&mut text, at);
        }
        text
    }

    fn used(&mut self, name: &str) -> String {
        let form = self.rng.pick(&[
            "\"$#\"",
            "$#",
            "\"${#}\"",
            "pre-\"$#\"",
            "\"$#.o\"",
            "'$#'",
            "\\$#",
        ]);
        form.replace('#', name)
    }

    fn simple(&mut self) -> String {
        match self.rng.below(200) {
            0 => return format!("cd {}", self.rng.pick(FOLDERS)),
            1 => return format!("eval '{} {}'", self.rng.pick(PROGRAMS), self.rng.below(9)),
            2 => {
                return format!(
                    "eval \"{} && {} x\"",
                    self.rng.pick(PROGRAMS),
                    self.rng.pick(PROGRAMS)
                );
            }
            3 => {
                let (name, word) = (self.rng.pick(NAMES), self.static_word());
                let used = self.used(name);
                return format!("{name}={word}; {} {used}", self.program());
            }
            4 => return format!("{}={}", self.rng.pick(NAMES), self.word()),
            11..=14 => {
                let (name, word) = (self.rng.pick(NAMES), self.static_word());
                let between = self.rng.pick(&["; ", " && ", "\n", "; ls;"]);
                let given = self.rng.pick(&["", "", "export ", "declare "]);
                let used = self.used(name);
                return format!("{given}{name}={word}{between}{} {used}", self.program());
            }
            15 => {
                return format!(
                    "{} read -r {} < a.txt",
                    self.rng.pick(&["IFS=", "IFS=,", "IFS=$'\\t'"]),
                    self.rng.pick(NAMES)
                );
            }
            16 => {
                return format!(
                    "shopt -s {}",
                    self.rng.pick(&["nullglob", "globstar", "dotglob"])
                );
            }
            9 | 10 => return format!("{}=$({})", self.rng.pick(NAMES), self.simple_inside()),
            5 => {
                return format!(
                    "trap '{} {}' {}",
                    self.rng.pick(PROGRAMS),
                    self.rng.below(9),
                    self.rng.pick(&["EXIT", "ERR", "0", "INT"])
                );
            }
            6 => {
                return format!(
                    "{} -c '{} {}'",
                    self.rng.pick(&["sh", "bash", "command sh"]),
                    self.rng.pick(PROGRAMS),
                    self.rng.below(9)
                );
            }
            7 => {
                return format!(
                    "a=({} {}); {} \"${{a[@]}}\"",
                    self.static_word(),
                    self.word(),
                    self.rng.pick(PROGRAMS)
                );
            }
            8 => {
                return format!(
                    "{{{},{},{}}}",
                    self.rng.pick(PROGRAMS),
                    self.rng.pick(ARGUMENTS),
                    self.rng.pick(&["x", "", "1"])
                );
            }
            _ => {}
        }
        let mut text = String::new();
        if self.rng.once_in(10) {
            text.push_str(&format!("{}={} ", self.rng.pick(NAMES), self.word()));
        }
        if self.rng.once_in(40) {
            text.push_str(self.redirection().trim_start());
            text.push(' ');
        }
        text.push_str(&self.program());
        for _ in 0..self.rng.below(4) {
            text.push_str(self.rng.pick(&[" ", " ", " ", "  ", "\t", " \\\n "]));
            text.push_str(&self.word());
        }
        if self.rng.once_in(6) {
            text.push_str(&self.redirection());
        }
        text
    }

    /// A program's name, plain or in disguise.
    fn program(&mut self) -> String {
        let name = self.rng.pick(PROGRAMS);
        match self.rng.below(24) {
            0 => format!("\\{name}"),
            1 => format!("'{name}'"),
            2 => format!("{}''{}", &name[..1], &name[1..]),
            3 => format!("\"{}\"{}", &name[..1], &name[1..]),
            4 => {
                let hex: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("$'{hex}'")
            }
            5 => format!("{}\\\n{}", &name[..1], &name[1..]),
            6 => format!(
                "{} {name}",
                self.rng
                    .pick(&["command", "command --", "command -p", "builtin echo"])
            ),
            7 => format!("./{name}"),
            8 => format!("/usr/local/nowhere/{name}"),
            9..=12 => self.rng.pick(BUILT_INS).to_owned(),
            13 => format!("$'\\{:03o}'{}", name.as_bytes()[0], &name[1..]),
            _ => name.to_owned(),
        }
    }

    fn word(&mut self) -> String {
        if self.rng.once_in(110) {
            self.dynamic()
        } else if self.rng.once_in(5) {
            let (left, right) = (self.static_word(), self.static_word());
            format!("{left}{right}")
        } else {
            self.static_word()
        }
    }

    /// Text that means itself as a pattern or a word.
    fn literal(&mut self) -> &'static str {
        self.rng
            .pick(&["a", "b.c", "'x y'", "\"q\"", "\\*", "$'t\\t'", "x-1"])
    }

    fn static_word(&mut self) -> String {
        let argument = self.rng.pick(ARGUMENTS);
        match self.rng.below(24) {
            0 => format!("'{argument} $(id) `id` ; rm'"),
            1 => format!("\"{argument} 'x' ; (rm) {{a,b}}\""),
            2 => "''".to_owned(),
            3 => format!("$'{argument}\\n\\'q'"),
            4 => format!("{argument}{{a,b}}"),
            5 => format!("{{{argument},x{{1,2}}}}y"),
            6 => format!("{argument}\\ \\;\\&\\|\\$\\`x"),
            7 => "{1..3}".to_owned(),
            8 => format!("\"a\\\"b\\\\c\\$d\\`e{argument}\""),
            9 => format!("\"two\nlines {argument}\""),
            10 => format!("{argument}\\\n{argument}"),
            // Beside quoted substitutions and arithmetic it would make a line opaque, and rightly so.
            11 if self.rng.once_in(20) => self.rng.pick(&["[", "a[0]", "[x]"]).to_owned(),
            _ if argument.starts_with('#') => format!("a{argument}"),
            _ => argument.to_owned(),
        }
    }

    /// Arithmetic: counters and what counts. Text from elsewhere, which makes a line opaque, is for
    /// `bait.rs`, and rare here as it is rare in what people write.
    fn operands(&mut self) -> String {
        if self.rng.once_in(100) {
            return format!("$({} 1) + x", self.rng.pick(PROGRAMS));
        }
        self.rng
            .pick(&[
                "1 + 2",
                "i = 3, i++",
                "n > 1 || m",
                "n++ < 3",
                "$(echo 1) + 1",
                "$(wc -l < a.txt) + 1",
                "$(ls | wc -l) > n",
                "$(date +%s) - start",
                "$(grep -c one a.txt) + $(nproc)",
                "$# + $?",
                "0",
            ])
            .to_owned()
    }

    fn dynamic(&mut self) -> String {
        let name = self.rng.pick(NAMES);
        if self.depth >= DEPTH {
            return self
                .rng
                .pick(&["$x", "\"$x\"", "*.c", "~", "$?"])
                .to_owned();
        }
        self.depth += 1;
        let text = match self.rng.below(22) {
            0..=2 => format!("$({})", self.closed()),
            3 => format!("\"$({})\"", self.closed()),
            4 => format!("`{} {}`", self.rng.pick(PROGRAMS), self.rng.below(9)),
            5 => format!(
                "\"pre `{} \\`{}\\`` post\"",
                self.rng.pick(PROGRAMS),
                self.rng.pick(PROGRAMS)
            ),
            6 => format!("<({})", self.closed()),
            7 => format!("${name}"),
            8 => format!("\"${name}\""),
            9 => format!("${{{name}:-{}}}", self.static_word()),
            10 => format!(
                "${{{name}:-$({} {})}}",
                self.rng.pick(PROGRAMS),
                self.rng.below(9)
            ),
            11 => format!("\"${{{name}:=\"$({})\"}}\"", self.simple_inside()),
            12 => format!("${{{name}%%*.}}"),
            13 => format!("\"${{{name}//a/$({})}}\"", self.simple_inside()),
            14 => "$((1 + 2))".to_owned(),
            15 => format!("$(( {} ))", self.operands()),
            16 => self
                .rng
                .pick(&["*.txt", "src/*", "[ab].txt", "?", "**/*.c"])
                .to_owned(),
            17 => self.rng.pick(&["~", "~/x", "~root/y", "~+"]).to_owned(),
            18 => "\"$@\"".to_owned(),
            19 => format!(
                "$({} | (cat; {}))",
                self.simple_inside(),
                self.simple_inside()
            ),
            20 => format!(
                "$((({}); ({})))",
                self.rng.pick(PROGRAMS),
                self.rng.pick(PROGRAMS)
            ),
            _ => self
                .rng
                .pick(&["$?", "$#", "$$", "$!", "$-", "$0", "$1", "$*"])
                .to_owned(),
        };
        self.depth -= 1;
        text
    }

    /// A command without quotes of its own, for inside other quotes.
    fn simple_inside(&mut self) -> String {
        format!(
            "{} {}",
            self.rng.pick(PROGRAMS),
            self.rng.pick(&[
                "-r x",
                "1",
                "a b",
                "--all",
                "| wc",
                "-n 5 && ls",
                "2>&1",
                "src",
                "|| id"
            ])
        )
    }

    fn redirection(&mut self) -> String {
        match self.rng.below(16) {
            0..=2 => " 2>&1".to_owned(),
            3..=4 => " 2>/dev/null".to_owned(),
            5 => " > out.log".to_owned(),
            6 => " >>out.log 2>&1".to_owned(),
            7 => " &> /dev/null".to_owned(),
            8 => " < a.txt".to_owned(),
            9 => format!(" <<< {}", self.word()),
            10 => " 3>&1 1>&2".to_owned(),
            11 => format!(" > >({})", self.simple_inside()),
            12 => format!(" > \"$({} > x; echo out)\"", self.rng.pick(PROGRAMS)),
            13 => " {fd}> out.fd".to_owned(),
            _ => self.document(),
        }
    }

    /// The head of a here-document; its body waits for the end of the line.
    fn document(&mut self) -> String {
        if self.depth > 0 || self.documents.len() > 3 {
            return " </dev/null".to_owned();
        }
        let number = self.documents.len();
        let inside = match self.rng.below(5) {
            0 => format!("$({})", self.simple_inside()),
            1 => format!(
                "`{}` ${{x:-$({})}}",
                self.rng.pick(PROGRAMS),
                self.simple_inside()
            ),
            2 => "it's \"text\" ( ; | & \\$(id)".to_owned(),
            _ => "plain text".to_owned(),
        };
        let (head, end) = match self.rng.below(4) {
            0 => (format!(" <<'E{number}'"), format!("E{number}")),
            1 => (format!(" <<-E{number}"), format!("\t\tE{number}")),
            2 => (format!(" << \\E{number}"), format!("E{number}")),
            _ => (format!(" <<E{number}"), format!("E{number}")),
        };
        self.documents.push(format!("{inside}\nrm -r x\n{end}\n"));
        head
    }

    /// Puts the bodies that wait at `at`, the start of a line.
    fn bodies_at(&mut self, text: &mut String, at: usize) {
        let bodies: String = self.documents.drain(..).collect();
        text.insert_str(at, &bodies);
    }

    fn close_documents(&mut self, line: &mut String) {
        if !self.documents.is_empty() {
            line.push('\n');
            let at = line.len();
            self.bodies_at(line, at);
        }
    }
}
