//! Short lines in which text from files and programs meets what the shell evaluates. Every such text
//! tries to start `pwned`; so a line that the parser accepts without a mark must not start it.

use super::support::rng::Rng;

/// Where a value comes from. `@` stands for a variable.
#[rustfmt::skip]
const SOURCES: &[&str] = &[
    "read -r @ < a.txt", "read @ < a.txt", "read -ra @ < a.txt", "mapfile -t @ < a.txt", "@=$(cat f)", "@=$(< a.txt)", "@=`ls`", "@+=$(x)",
    "@=($(x))", "@[0]=$(x)", "printf -v @ %s \"$(x)\"", "set -- $(x)", "set -- \"$(x)\"", "for @ in $(x); do :; done", "for @ in \"$(x)\"; do :; done",
    "declare @=$(x)", "export @=\"$(x)\"", "declare -i @", "declare -a @", "declare -n @=y", "local @=$(x)", "readonly @=$(x)", ": ${@:=$(x)}", ": $(x)",
    "IFS=, read -r @ < a.txt", "while IFS= read -r @; do break; done < a.txt", "@=$1", "@=$y", "@=x", "@=5", "@=$(wc -l < a.txt)", "@=$(echo 5)", "@=$(x | wc -l)", "@=$(x && wc -l)", "@=$({ x; wc -l; })", "@=$(x; wc -l)",
    "@=$(grep -c a b.txt)", "@=$(date +%s)", "@=$((1 + 2))", "@=$?", "@=$#", "declare -i @=5", "local @=5", "@=(1 2)", "@+=($!)", "[[ $(x) =~ (.*) ]]",
    "getopts a: @ -a \"$(x)\"", "x | read @", "x | while read -r @; do :; done", "exec 5< a.txt; read @ <&5", "read @ <<< \"$(x)\"", "read @ << E\n$(x)\nE\n",
    "@=$(x)y", "@=1$(x)", "@=\"$(x)\"", "@=${z:-$(x)}", "@=~", "@=a.txt", "@='5 + y'", "@=$(echo x)", "@=$(printf %d 5)", "@=$(pwd)", "cd \"$(x)\"; @=$PWD",
    "@=${y[@]}", "@=$*", "@=\"$@\"", "@=${!y}", "@=${y}", "@=${y#a}", "@=${#y}", "f() { @=$1; }", "trap '@=$(x)' DEBUG", "coproc @ { x; }",
    "@=x$k", "@=x\"y\"", "@=(x\"y\")", "@=(x$k)", "@=$k$y", "@+=y", "@=y", "@=k", "@=(x\\y)", "@='x'y", "@=({x,k}y)", "@=x$#", "x0=$(x)", "@=(*)", "@=(~)", "@=*", "@=(a.txt)", "select @ in a; do break; done < a.txt",
];

/// Where a value is evaluated, or seems to be.
#[rustfmt::skip]
const SINKS: &[&str] = &[
    "echo $((@))", "echo $((@ + 1))", "((@))", "((@ > 1)) || a", "((@++))", "let @", "let \"@ = @ + 1\"", "echo $[@]", "echo ${z[@]}", "echo ${z[@ + 1]}",
    "echo ${y:@}", "echo ${y:0:@}", "z[@]=1", "z[$@]=1", "[[ @ -eq 1 ]]", "[[ $@ -gt 1 ]]", "[[ -v @ ]]", "[[ -v $@ ]]", "[[ $@ == x ]]", "[[ -n $@ ]]",
    "test -v @", "test -v \"$@\"", "[ -v \"$@\" ]", "[ -v \"z[$@]\" ]", "[ $@ ]", "[ $@ = x ]", "[ \"$@\" = x ]", "[ -n \"$@\" ]", "[ ! $@ ]", "[ \"$@\" -eq 1 ]",
    "[ $@ -gt 1 ]", "test $@ -o 1 -eq 1", "printf $@", "printf \"$@\"", "printf \"$@\" x", "printf '%s' \"$@\"", "printf %d \"$@\"", "printf -v z %s \"$@\"",
    "printf -v \"$@\" x", "printf -v \"z[$@]\" x", "wait $@", "wait \"$@\"", "wait -p z $@", "unset \"$@\"", "unset \"z[$@]\"", "unset 'z[@]'", "unset @",
    "read \"z[$@]\" < a.txt", "read @ < a.txt", "declare z=$@", "declare -a z=$@", "declare -a z; declare z=$@", "z=(1); declare z=$@", "declare -i z=$@",
    "declare -i z; z=$@", "declare -i @; @=1", "declare \"z[$@]=1\"", "export z=$@", "readonly z=$@", "local z=$@", "z=$@", "z=($@)", "z+=$@", "RANDOM=$@", "OPTIND=$@",
    "SECONDS=$@", "for ((i = @; i < 2; i++)); do :; done", "for ((i = 0; i < $@; i++)); do break; done", "case $((@)) in 1) a;; esac", "echo ${!@}", "echo ${@@P}",
    "echo ${@@Q}", "echo ${@@A}", "echo ${#@}", "echo ${#z[@]}", "echo \"${@//a/b}\"", "echo ${@:-1}", "exit $@", "return $@", "shift $@", "break $@", "ulimit -n $@", "umask $@",
    "echo {$@..3}", "exec {z[@]}> /dev/null", "echo > \"$@\"", "kill -0 $@", "trap - $@", "cd \"$@\"", "echo $((BASH_REMATCH[1]))", "echo $((_))", "echo $((REPLY))",
    "echo $(($1))", "let $1", "[[ $1 -eq 1 ]]", "f $@", "f() { echo $(($1)); }; f $@", "a \"$@\"", "a $@", "eval a", "echo $((OPTARG))", "echo $((MAPFILE))", "echo $(( $(x) ))",
    "echo $(( $(wc -l < a.txt) + @ ))", "while ((@)); do break; done", "if [[ $@ -lt 3 ]]; then a; fi", "type $@", "hash $@", "mapfile -O $@ z < a.txt", "readarray -n \"$@\" z < a.txt",
    "read -N $@ z < a.txt", "read -u $@ z", "getopts \"$@\" z", "compgen -W \"$@\"", "echo \"$((@))\"", "cat <<E\n$((@))\nE\n", "cat <<< $((@))", "echo $((${@}))", "echo $((\"$@\"))", "echo $(('@'))",
    "((z = @, z))", "z=@; ((z))", "declare -n z=@; ((z))", "declare -n z=@; echo $z", "declare -n z=$@", "pushd \"$@\"", "dirs $@", "set -- $@", "set $@", "history $@", "fc $@", "alias z=$@", "times $@", "echo $((x$@))", "echo $((${@}y))", "((x$k))", "[[ x$@ -eq 1 ]]", "echo ${z[x$@]}", "let x$@", "test -v \"z[x$@]\"", "test -v \"${@[@]}\"",
    "shopt -s nullglob; [ -v *.zz \"$@\" ]", "[ -v *.txt \"$@\" ]", "shopt -s failglob; [ *.zz ]", "[ -n \"${@:-x}\" ]", "[ -v \"${@:-y}\" ]", "[ \"${@:+$@}\" = x ]", "[ \"${@:-${!y}}\" -o x ]", "a \"${@:-${!y}}\"", "a \"${@:-$*}\" \"$*\"",
    "[ -v \"${@[0]}\" ]", "wait \"${@[@]}\"", "((${@[0]}))", "((@[0]))", "((@[x$k]))",
];

const NAMES: &[&str] = &["x", "y", "k", "xy"];

/// A line of one to three sources and one or two sinks, in any order.
pub fn line(rng: &mut Rng) -> String {
    let mut parts: Vec<String> = Vec::new();
    for _ in 0..=rng.below(3) {
        parts.push(filled(rng, SOURCES));
    }
    for _ in 0..=rng.below(2) {
        let at = if rng.once_in(5) {
            rng.below(parts.len())
        } else {
            parts.len()
        };
        let sink = filled(rng, SINKS);
        parts.insert(at, sink);
    }
    let line = parts.join(rng.pick(&["; ", "\n", " && ", "; "]));
    match rng.below(12) {
        0 => format!("for i in 1 2; do {line}\ndone"),
        1 => format!("if true; then {line}\nfi"),
        2 => format!("{{ {line}\n}}"),
        3 => format!("f() {{ {line}\n}}"),
        _ => line,
    }
}

/// One of `forms` with its variable. A source that needs a newline behind it ends with one.
fn filled(rng: &mut Rng, forms: &[&str]) -> String {
    let name = rng.pick(NAMES);
    // `"$@"` and `${x[@]}` are meant as they stand in a few forms, and as good as any elsewhere.
    rng.pick(forms).replace('@', name)
}
