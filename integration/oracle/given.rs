//! Lines that give variables values, change them in every way there is, and use them: what the parser puts
//! in for a variable must be what bash puts in.
//!
//! Each value is given once and each use starts a program of its own, so that no other command of the line
//! can cover one that was predicted with the wrong value.

use super::support::rng::Rng;

/// Forms that give `@` the value `#`.
#[rustfmt::skip]
const GIVES: &[&str] = &[
    "@=#", "@=#", "@=#", "@=#", "@=#", "@='#'", "@=\"# #\"", "@=$'#\\t'", "@='# *'", "@=/#/x", "@=", "@=~/#", "@=$HOME/#", "@=$PWD/#", "@=%", "@=$%",
    "@=$%/#", "@=\"${%}#\"", "@=${%:-#}", "@=# %=#", "@=# %=$@", "%=$@ @=#", "export @=#", "export @=# %=#", "export @=$%", "export @", "declare @=#",
    "declare @=\"$%\"", "typeset @=#", "local @=#", "local @", "declare @", "@=#:#", "@=a,b=#", "@={#,#}", "@=-#", "@=#; %=$@",
];

/// Forms that change `@`, or seem to.
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    "@=# use $@", "@=# > /dev/null", "@=# > /none/x", "@=# < a.txt", "@+=#", "@=(# #)", "@[0]=#", "@[%=5]=#", "@=$(use)", "@=$((5))", "@=*", "readonly @=#", "readonly %",
    "export -n @=#", "export -n @", "declare -i @=5", "declare -i @", "declare -u @", "declare -l @=#", "declare -n @=%", "declare -n %=@; %=#", "declare -r @=#", "declare -g @=#",
    "declare -a @", "declare -x @=#", "local -i @=5", "unset @", "unset -v @ %", "unset -f @", "unset '@[0]'", "unset 'z[@=5]'", "read @ < a.txt", "read -r @ <<< #", "read % @ <<< '# #'",
    "use | read @", "echo # | while read -r @; do use \"$@\"; done", "printf -v @ #", "printf -v @ %s #", "printf -v% %s #", "printf '%n' @", "printf %sab%n x @", "printf \"$%\" @", "printf 'z%n' \"$%\"",
    "mapfile -t @ < a.txt", "readarray @ < a.txt", "getopts ab @ -a", "getopts ab @", "let @=5", "let '@ = 5'", "((@=5))", "((@++))", "((@ += 1)) || use", ": $((@=7))", ": $((@++))", ": ${@:=#}",
    ": ${@=#}", ": ${%:=${@:=#}}", "echo $[@=3]", "%='@=5'; ((%))", "%='@=5'; : $((%))", "%='@=5'; [[ $% -eq 5 ]]", "%='@=5'; [[ % -eq 5 ]]", "[[ '@=5' -eq 5 ]]", "[[ @=5 -eq 5 ]]", "%='@=5'; declare -i %=%",
    "[ -v 'z[@=5]' ]", "test -v 'z[@=1]'", ": ${z[@=5]}", ": ${y:@=1}", ": ${#z[@=1]}", "%=@; : ${!%:=#}", "%=@; unset $%", "%=@; read $% <<< #", "%=@; printf -v $% #", "%=@; declare $%=#", "%=@=5; let $%", "%=@; export $%=#",
    "for @ in # #; do use $@; done", "for @ in # '# #'; do use \"$@\"; %=$@; done", "for @; do use $@; done", "select @ in #; do break; done < a.txt", "exec {@}> /dev/null", "use {@}> /dev/null", "{ use; } {@}> /dev/null",
    "coproc @ { use; }", "for ((@ = 0; @ < 2; @++)); do use $@; done", "trap '@=#' EXIT", "trap '@=#' DEBUG", "trap '@=#' ERR", "trap '@=#' USR1; kill -USR1 $$", "trap 'use $@' EXIT", "trap 'use \"$@\"' ERR",
    "trap \"use $@\" EXIT", "trap 'f' DEBUG", "trap 'echo $((1/0))' DEBUG", "trap 'echo $((1/0))' ERR", "f() { @=#; }", "f() { @=#; use $@; }", "f() { use \"$1\" $2; }; f # $@", "f() { use $1; }; f \"# #\"", "f() { cd \"$1\" && use $PWD; }; f src", "f() { use \"${1}\" $#; @=#; use $@; }; f $% #", "f() { local @=$1; use $@; shift; use $1; }; f # #", "f() { use $1 && return; cd src; }; f #; use $PWD", "f() { for i in 1 2; do use \"$1\" $@; done; }; f #", "f2() { f # \"$1\"; }; f2 $@", "f() { eval \"use $1\"; }; f #", "unset -f f", "f() { $1 use; }; f eval", "f() { use \"$@\" $1; set -- #; use $1; }; f #", "f() { use $10 $1; }; f #", "(f; use); f & f # | f #", "export -f f; f", "f > /none/x", "f() { local @=#; use $@; f2; }", "f() { local @; use $@; }",
    "f() { use $@; }", "f() { local @=#; unset @; use $@; }", "function f { declare @=#; use \"$@\"; }", "f() { @=#; return; @=#; }", "f() { if use; then @=#; return; fi; @=#; use $@; }", "f() ( @=#; use $@ )", "f", "f", "f; use $@", "f2() { use $@; @=#; }", "f2", "use; f &",
    "eval '@=#'", "eval '@=#; use $@'", "eval 'use $@'", "eval \"use $@\"", "eval 'echo $((1/0)); @=#'", "eval '@=#' 2> /none/x", "%='@=#'; eval \"$%\"", "command eval '@=#'", "builtin eval '@=#'", "%=eval; $% '@=#'", "%=read; $% @ <<< #", "%=unset; $% @",
    "%=export; $% @=#", "%='unset @'; $%", "%='unset @ '; $%/x", "E=; $E unset @", "$E read @ <<< #", "\"$E\" unset @", "$(use) unset @", "command unset @", "command $% @", "builtin unset @", "\\unset @", "'read' @ <<< #",
    ". ./none", "source none", "cd src && use $PWD ~+", "cd / && use ~+", "cd && use $PWD", "cd src && cd - && use $PWD", "cd none", "cd none; use $PWD", "pushd src && use $PWD", "popd && use $PWD", "pushd / && pushd && use ~+", "cd ~ && use $PWD", "cd \"$PWD\" && use $PWD", "@=src; cd $@ && use $PWD", "@=$PWD && cd src && use $@", "IFS=#", "IFS=", "PATH=/x", "set -- # #", "set -f", "set -u", "set +u", "set -e", "set -a", "shift", "wait -n -p @", "alias @=#", "shopt -s extglob", "alias", "hash", "IFS=v read -r @ % <<< '# #'", "IFS= read @ < a.txt", "IFS=v use $@", "shopt -s nullglob", "shopt -s failglob", "shopt -s failglob; use *.zz; @=#", "shopt", "shopt -s dotglob globstar",
    "break", "continue", "return", "exit", "exec use", "echo $((1/0))", "echo $((1/0)); @=#", "echo ${none?}; @=#", "echo ${none@Z}; @=#", "echo ${!none}; @=#", "q[-3]=1; @=#", "UID=5; @=#", "@=# UID=5", "BASHPID=5; @=#", "PPID=1", "echo ${q[-1]}; @=#",
    "RANDOM=#; use $RANDOM", "SECONDS=5; use $SECONDS", "LINENO=7; use $LINENO", "OLDPWD=/#; cd src; use $OLDPWD", "_=#; use $_", "REPLY=#; read < a.txt; use $REPLY", "PWD=/#; use $PWD", "HOME=/#; use ~ $HOME", "DIRSTACK=#; use $DIRSTACK", "BASH_COMMAND=#; use $BASH_COMMAND",
    "OPTARG=#; getopts ab: % -b #; use $OPTARG", "OPTIND=1", "MAPFILE=#; mapfile < a.txt; use \"$MAPFILE\"", "FUNCNAME=#; use $FUNCNAME", "PIPESTATUS=#; use $PIPESTATUS", "EPOCHSECONDS=#; use $EPOCHSECONDS", "SRANDOM=#; use $SRANDOM", "BASH_REMATCH=#; [[ a =~ a ]]; use $BASH_REMATCH",
    "COPROC=#; coproc { use; }; use $COPROC", "SHLVL=#; use $SHLVL", "HISTCMD=#; use $HISTCMD", "GROUPS=#; use $GROUPS", "COMP_WORDBREAKS=#; use $COMP_WORDBREAKS", "BASH_ARGV0=#; use $BASH_ARGV0 $0", "TIMEFORMAT=#; use $TIMEFORMAT", "LC_ALL=C; use $LC_ALL", "x_PID=#; coproc x { use; }; use $x_PID",
];

/// Forms that use `@`. `use` becomes a program of its own each time.
#[rustfmt::skip]
const USES: &[&str] = &[
    "use $@", "use $@", "use \"$@\"", "use \"$@\"", "use ${@}", "use \"${@}\"", "use a$@", "use \"$@/b\"", "use $@ $%", "use \"$@\" \"$%\"", "use $@$%", "use --x=$@", "use '$@'", "use \\$@", "use x{$@,b}", "use [$@]", "use $@*",
    "use ~/$@", "use {a,b}$@", "use $@:~", "%=$@ use", "use $(use $@)", "use \"$(use \"$@\")\"", "use `use $@`", "use > >(use $@)", "use < <(use $@)", "use <<< \"$(use $@)\"", "use > \"$(use $@; echo out)\"", "use <<E; @=#\n$(use $@)\nE\n", "use <<E\n$(use \"$@\")\nE\n",
    "{ use $@; } > \"$(use $@; echo out)\"", "{ @=#; use $@; } > \"$(use $@; echo out)\"", "$@ use", "\"$@\" use", "$@/x use", "/bin/$@ use", "command $@", "exec $@", "env use $@", "eval use $@", "use $((@=6)) $@", "use $@ $((@=6))", "use $@ ${@:=#}", "use ${@:=#} $@", "@=$(use $%) use $((%=6))",
    "use > \"$(use $@; echo out)\" $((@=8))", "use ${@#x}", "use \"${@:-#}\"", "use ${#@}", "use ${!@}", "[[ -n $(use $@) ]]", "case $(use $@) in *) use \"$@\";; esac", "for i in 1 2; do use $@ $i; done", "for i in $@ \"$@\"; do use $i; done", "for i in $@ #; do use \"$i\" $@; done", "use \"${@@Q}\"", "\"u$@\" x", "use -- \"$@\" &",
    "for i in # #; do @=$i; use $@; done", "for i in 1 2; do use $@; @=#; done", "while use $@; do @=#; break; done", "declare z=$@; use $z", "z=$@; use \"$z\"", "z=\"$@ b\"; use \"$z\"", "! use $@", "time use $@", "coproc use $@", "cd $@ && use $PWD", "cd /$@; use ~+",
];

/// The first of them are plain.
const CALM: usize = 13;
const CALM_GIVES: usize = 10;

const NAMES: &[&str] = &["x", "y", "D"];

/// A line.
pub fn line(rng: &mut Rng) -> String {
    let mut maker = Maker {
        rng,
        values: 0,
        uses: 0,
        depth: 0,
        calm: false,
    };
    maker.calm = maker.rng.once_in(2);
    let mut line = String::new();
    while maker.calm && maker.rng.once_in(2) {
        line.push_str(&maker.filled(&GIVES[..CALM_GIVES]));
        line.push_str(maker.rng.pick(&["; ", "\n"]));
    }
    line.push_str(&maker.list());
    line.push('\n');
    let last = maker.filled(USES);
    line + &last
}

struct Maker<'r> {
    rng: &'r mut Rng,
    values: usize,
    uses: usize,
    depth: u32,
    /// Few changes, and uses of the simplest kind: more values are put in.
    calm: bool,
}

impl Maker<'_> {
    fn list(&mut self) -> String {
        let mut list = self.and_or();
        let more = if self.depth == 0 { 5 } else { 3 };
        for _ in 0..self.rng.below(more) {
            let between = self.rng.pick(&["; ", "; ", "; ", "\n", "\n", " & "]);
            // A here-document ends its line itself.
            let between = if list.ends_with('\n') { "" } else { between };
            list.push_str(between);
            list.push_str(&self.and_or());
        }
        list
    }

    fn and_or(&mut self) -> String {
        let mut text = self.part();
        while self.rng.once_in(5) && !text.ends_with('\n') {
            text.push_str(self.rng.pick(&[" && ", " && ", " || ", " | "]));
            text.push_str(&self.part());
        }
        text
    }

    fn part(&mut self) -> String {
        if self.depth < 2 && self.rng.once_in(6) {
            self.depth += 1;
            let text = self.compound();
            self.depth -= 1;
            return text;
        }
        let text = match self.rng.below(if self.calm { 7 } else { 8 }) {
            0..3 => self.filled(GIVES),
            3 if !self.calm || self.rng.once_in(12) => self.filled(CHANGES),
            _ if self.calm => self.filled(&USES[..CALM]),
            _ => self.filled(USES),
        };
        match self.rng.below(40) {
            0 => format!("! {text}"),
            _ => text,
        }
    }

    fn compound(&mut self) -> String {
        let form = self.rng.pick(&[
            "( 1\n)",
            "{ 1\n}",
            "{ 1\n}",
            "if 1\nthen 2\nfi",
            "if use; then 1\nelse 2\nfi",
            "if nope; then 1\nelif use; then 2\nfi",
            "for i in 1 2; do 1\ndone",
            "for i in 1 2; do 1\n2\ndone",
            "while 1\ndo 2\nbreak; done",
            "while use; do 1\nbreak; 2\ndone",
            "until use; do 1\ndone",
            "case a in b) 1\n;; *) 2\n;; esac",
            "case a in a) 1\n;& b) 2\n;; esac",
            "case a in a) 1\n;;& *) 2\n;; esac",
            "f() { 1\n}",
            "f() { 1\n}; f",
            "f2() { 1\n}",
            "eval '1'",
            "use $(1\n)",
            "{ 1\n} > out",
            "{ 1\n} > /none/x",
            "{ 1\n} | { 2\n}",
            "for ((i = 0; i < 2; i++)); do 1\ndone",
            "coproc { 1\n}",
        ]);
        let mut text = String::new();
        for part in form.split_inclusive(['1', '2']) {
            let hole = part.ends_with('1') || part.ends_with('2');
            let fixed = form.contains("in 1 2") && text.len() < "for i in 1 2".len();
            if !hole || fixed {
                text.push_str(&self.programs(part));
                continue;
            }
            text.push_str(&self.programs(&part[..part.len() - 1]));
            let mut list = self.list();
            if form.starts_with("eval") {
                list = list.replace('\'', "");
            }
            text.push_str(&list);
        }
        text
    }

    /// One of `forms` with names, values and programs of its own.
    fn filled(&mut self, forms: &[&str]) -> String {
        let (name, other) = (self.rng.pick(NAMES), self.rng.pick(NAMES));
        let form = self.rng.pick(forms);
        let printf = form.contains("printf");
        let mut text = String::new();
        for letter in form.chars() {
            match letter {
                // As in `"$@"`, the variable; `${@@Q}` and `${@:-x}` are operators behind it.
                '@' if text.ends_with("{x") || text.ends_with("{y") || text.ends_with("{D") => {
                    text.push('@')
                }
                '@' => text.push_str(name),
                '%' if printf && !text.ends_with('$') && !text.ends_with("-v") => text.push('%'),
                '%' => text.push_str(other),
                '#' if text.ends_with("${") || text.ends_with(['x', 'y', 'D']) => text.push('#'),
                '#' => {
                    self.values += 1;
                    text.push_str(&format!("v{}", self.values));
                }
                letter => text.push(letter),
            }
        }
        self.programs(&text)
    }

    /// Numbers the programs.
    fn programs(&mut self, text: &str) -> String {
        let mut parts = text.split("use");
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            self.uses += 1;
            let failing = if self.rng.once_in(6) { "n" } else { "u" };
            named.push_str(&format!("{failing}{}{part}", self.uses));
        }
        named
    }
}
