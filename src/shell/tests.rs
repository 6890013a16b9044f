use super::parse;
use crate::model::script::{
    Dialect, Dynamic, Folder, Piece, RedirectionKind, Script, SubCommand, SyntaxError, Word,
};

fn bash(line: &str) -> Script {
    parse(line.as_bytes(), Dialect::Bash).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn posix(line: &str) -> Script {
    parse(line.as_bytes(), Dialect::Posix).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// A word in one string: dynamic pieces as `<Reason name quoted>`.
fn show(word: &Word) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Piece::Dynamic {
            reason,
            name,
            quoted,
        } => {
            let name = name
                .as_deref()
                .map(String::from_utf8_lossy)
                .unwrap_or_default();
            format!(
                "<{reason:?} {name}{}>",
                if *quoted { " quoted" } else { "" }
            )
        }
    };
    word.pieces.iter().map(piece).collect()
}

fn words(line: &str) -> Vec<String> {
    let script = bash(line);
    script.subcommands[0].argv.iter().map(show).collect()
}

fn commands(script: &Script) -> Vec<&SubCommand> {
    script
        .subcommands
        .iter()
        .filter(|sub| !sub.argv.is_empty())
        .collect()
}

fn argvs(script: &Script) -> Vec<String> {
    let argv = |sub: &&SubCommand| sub.argv.iter().map(show).collect::<Vec<_>>().join(" ");
    commands(script).iter().map(argv).collect()
}

/// The folder of the first command named `name`.
fn folder(line: &str, name: &str) -> String {
    let script = bash(line);
    let found = script
        .subcommands
        .iter()
        .find(|sub| sub.program() == Some(name.as_bytes()));
    match &found.unwrap().folder {
        Folder::Start => ".".to_owned(),
        Folder::Moved(path) => String::from_utf8_lossy(path).into_owned(),
        Folder::Home(path) => format!("~/{}", String::from_utf8_lossy(path)),
        Folder::Unknown => "?".to_owned(),
    }
}

fn is_opaque(line: &str) -> bool {
    !bash(line).opaque.is_empty()
}

#[test]
fn texts_are_merged_and_keep_their_spans() {
    let script = bash("ls  a'b'\"c\"\\d$'\\x65'");
    let word = &script.subcommands[0].argv[1];
    assert_eq!(word.pieces, [Piece::Text(b"abcde".to_vec())]);
    assert_eq!((word.span.start, word.span.end), (4, 20));
    assert_eq!(
        bash("ls ''").subcommands[0].argv[1].pieces,
        [Piece::Text(Vec::new())]
    );
}

#[test]
fn a_word_in_backquotes_has_the_span_of_the_whole() {
    let script = bash("echo `id -u`");
    let span = script.subcommands[1].argv[1].span;
    assert_eq!((span.start, span.end), (5, 12));
    assert!(script.subcommands[1].context.substitution);
}

#[test]
fn dynamic_pieces_say_why_and_which_variable() {
    assert_eq!(words("a $x.y"), ["a", "<Parameter x>.y"]);
    assert_eq!(words("a \"${x}\""), ["a", "<Parameter x quoted>"]);
    assert_eq!(words("a ${x:-y}z"), ["a", "<Parameter >z"]);
    assert_eq!(
        words("a $(b)`c`"),
        ["a", "<CommandSubstitution ><CommandSubstitution >"]
    );
    assert_eq!(words("a \"$((1))\""), ["a", "<Arithmetic  quoted>"]);
    assert_eq!(words("a $\"x\""), ["a", "<Locale  quoted>"]);
    assert_eq!(words("a --f=<(b)"), ["a", "--f=<ProcessSubstitution >"]);
}

#[test]
fn what_can_be_many_words_is_not_called_quoted() {
    assert_eq!(
        words("a \"$@\" \"$*\""),
        ["a", "<Parameter >", "<Parameter  quoted>"]
    );
    assert_eq!(
        words("a \"${x[@]}\" \"${!x}\""),
        ["a", "<Parameter >", "<Parameter >"]
    );
    assert_eq!(words("a \"${1+\"$@\"}\""), ["a", "<Parameter >"]);
}

#[test]
fn patterns_are_dynamic_only_where_they_are_matched() {
    assert_eq!(words("a src/*.rs"), ["a", "src/<Glob >.rs"]);
    assert_eq!(
        words("a x[ab]y '*' \\? ["),
        ["a", "x<Glob >y", "*", "?", "["]
    );
    // The value could bring the closing bracket, and then even the start is not certain.
    assert_eq!(words("a b[$x"), ["a", "b<Glob ><Parameter x>"]);
    assert_eq!(show(&bash("x=*").subcommands[0].assignments[0].value), "*");
}

#[test]
fn a_plain_tilde_is_home_and_no_other_home_is_taken_for_it() {
    assert_eq!(
        words("a ~ ~/x"),
        ["a", "<Tilde HOME quoted>", "<Tilde HOME quoted>/x"]
    );
    assert_eq!(
        words("a ~root/x ~$x"),
        ["a", "<Tilde  quoted>/x", "<Tilde  quoted><Parameter x>"]
    );
    assert_eq!(words("a x~ '~' \\~"), ["a", "x~", "~", "~"]);
    assert_eq!(
        words("a x=~ --x=~"),
        ["a", "x=<Tilde HOME quoted>", "--x=~"]
    );
    // Only behind the first `=` of what could be an assignment, and not in what braces make.
    assert_eq!(
        words("a x=b:~ x+=~ x=a=~ 1x=~ a+b=~ ''x=~ x=~/{b,c} x{1,2}=~"),
        [
            "a",
            "x=b:<Tilde HOME quoted>",
            "x+=<Tilde HOME quoted>",
            "x=a=~",
            "1x=~",
            "a+b=~",
            "x=~",
            "x=~/b",
            "x=~/c",
            "x1=~",
            "x2=~"
        ]
    );
    assert_eq!(words("a x[$i]=~"), ["a", "x<Glob >=<Tilde  quoted>"]);
    let value = show(&bash("x=~:~/b").subcommands[0].assignments[0].value);
    assert_eq!(value, "<Tilde HOME quoted>:<Tilde HOME quoted>/b");
}

#[test]
fn an_escape_in_an_array_in_a_substitution_is_refused() {
    for line in ["b $(a=(\\;))", "b <(a+=(x \\`c\\`); d)"] {
        assert!(parse(line.as_bytes(), Dialect::Bash).is_err(), "{line}");
    }
    for line in ["a=(\\;)", "b $(a=('\\;' \"\\$x\"))", "b $(c \\;)"] {
        assert!(parse(line.as_bytes(), Dialect::Bash).is_ok(), "{line}");
    }
}

#[test]
fn a_substitution_that_starts_like_arithmetic_ends_where_parentheses_are_counted() {
    assert_eq!(bash("a \"$((b 'x y' | c) && d)\"").subcommands.len(), 4);
    for line in [
        "a $((b); case c in d) e;; esac)",
        "a $((b); cat <<E\n)\nE\n)",
    ] {
        assert!(parse(line.as_bytes(), Dialect::Bash).is_err(), "{line}");
    }
    assert!(bash("a $((b); case c in (d) e;; esac)").opaque.is_empty());
}

#[test]
fn an_escape_that_bash_doubles_is_refused() {
    for line in ["a $'\\\u{1}'", "a $'\\c\u{1}'", "a $'\\c\u{7f}'"] {
        assert!(parse(line.as_bytes(), Dialect::Bash).is_err(), "{line:?}");
    }
    for line in ["a $'\u{1}'", "a $'\\001\\ca'", "a \\\u{1}"] {
        assert!(parse(line.as_bytes(), Dialect::Bash).is_ok(), "{line:?}");
    }
}

#[test]
fn a_timed_compound_in_a_substitution_is_opaque() {
    for line in ["a $(time case b in c) d;; esac)", "a \"$(! time { b; })\""] {
        assert!(is_opaque(line), "{line}");
    }
    for line in ["time case b in c) d;; esac", "a $(time b)"] {
        assert!(!is_opaque(line), "{line}");
    }
}

#[test]
fn a_coprocess_in_a_substitution_is_opaque() {
    assert!(!bash("a $(coproc b c)").opaque.is_empty());
    assert!(bash("coproc b c").opaque.is_empty());
}

#[test]
fn a_descriptor_variable_may_be_written_over_several_lines() {
    for line in ["a {fd}>b", "a {\\\nfd}>b", "a {f\\\nd\\\n}\\\n>b"] {
        let script = bash(line);
        assert_eq!(
            script.subcommands[0].static_argv().unwrap(),
            [b"a"],
            "{line}"
        );
        assert_eq!(script.subcommands[0].redirections.len(), 1, "{line}");
    }
}

#[test]
fn braces_expand_as_in_bash() {
    for (word, expected) in [
        ("{a,b}{1..3}", "a1 a2 a3 b1 b2 b3"),
        ("x{,y}", "x xy"),
        ("{a}b,c}", "a}b c"),
        ("{},a}", "{},a}"),
        ("x{},y}", "x} xy"),
        ("{a,{b,c}d}", "a bd cd"),
        ("{01..3}", "01 02 03"),
        ("{3..1..2}", "3 1"),
        ("{a..e..2}", "a c e"),
        ("{1..x}", "{1..x}"),
        ("{'a,b',c}", "a,b c"),
        ("{\"\",x}", " x"),
        ("{1..5000}", "<Brace >"),
        ("{a..C}", "<Brace >"),
        ("{x..{a,b}}", "<Brace >"),
        ("{$,x}HOME", "<Brace >"),
        ("{a,${x:-{}}", "<Brace >"),
        ("$${1..2}", "<Brace >"),
        // The name grows: `$xa $xb`.
        ("$x{a,b}", "<Parameter > <Parameter >"),
        ("{\r1..3}", "<Brace >"),
        ("{p$x,q}b/c", "p<Parameter >/c qb/c"),
        ("$x/{a,b}", "<Parameter x>/a <Parameter x>/b"),
    ] {
        assert_eq!(
            words(&format!("echo {word}"))[1..].join(" "),
            expected,
            "{word}"
        );
    }
    assert_eq!(argvs(&bash("{,rm} x")), ["rm x"]);
    assert_eq!(argvs(&posix("{,rm} x")), ["{,rm} x"]);
    assert_eq!(bash("a {b,c}").subcommands[0].argv[1].span.end, 7);
}

#[test]
fn ansi_quotes_decode() {
    assert_eq!(words(r"a $'\x41\102\cA\n\q'"), ["a", "AB\u{1}\n\\q"]);
    assert_eq!(words(r"a $'b\0c'd"), ["a", "bd"]);
    assert!(is_opaque(r"a $'\u00e9'"));
    assert!(!is_opaque(r"a $'\u0041'"));
    assert_eq!(argvs(&posix("a $'b'")), ["a $b"]);
}

#[test]
fn single_means_no_shell_is_needed() {
    for line in [
        "ls",
        " ls -l 'a b' # why",
        "ls;",
        "ls\n",
        "{rm,-r,x}",
        "\\ls",
    ] {
        assert!(bash(line).single, "{line}");
    }
    for line in [
        "",
        "ls &",
        "ls; id",
        "x=1 ls",
        "ls >f",
        "(ls)",
        "{ ls; }",
        "! ls",
        "time ls",
        "ls $x",
        "ls *",
        "ls $(id)",
        "if ls; then :; fi",
        "coproc ls",
        "f() { ls; }",
        "[[ x ]]; ls",
        "((1)); ls",
        "x=1",
        "eval ls",
        "ls <<< x",
        "[[ x ]] && ls",
        "alias x",
    ] {
        assert!(!bash(line).single, "{line}");
    }
    assert!(posix("time ls").single);
}

#[test]
fn cd_is_followed_where_it_surely_ran() {
    assert_eq!(folder("cd a && rm x", "rm"), "a");
    assert_eq!(folder("cd a; cd b\nrm x", "rm"), "a/b");
    assert_eq!(folder("cd a && cd -P /b && rm x", "rm"), "/b");
    assert_eq!(folder("cd -- a; cd /b/; cd c; rm x", "rm"), "/b/c");
    assert_eq!(folder("command cd a; rm x", "rm"), "a");
    assert_eq!(folder("cd a && { rm x; }", "rm"), "a");
    assert_eq!(folder("{ cd a; }; rm x", "rm"), "a");
    assert_eq!(folder("eval 'cd a'; rm x", "rm"), "a");
    assert_eq!(folder("cd a; x=$(rm x)", "rm"), "a");
}

#[test]
fn a_move_in_a_process_of_its_own_ends_there() {
    assert_eq!(folder("(cd /x && rm y)", "rm"), "/x");
    assert_eq!(folder("(cd /x && ls); rm y", "rm"), ".");
    assert_eq!(folder("cd a | rm x", "rm"), ".");
    assert_eq!(folder("ls | cd a; rm x", "rm"), ".");
    assert_eq!(folder("cd a & rm x", "rm"), ".");
    assert_eq!(folder("echo $(cd a) `cd b`; rm x", "rm"), ".");
    assert_eq!(folder("for i in a b; do (cd a); done; rm x", "rm"), ".");
}

#[test]
fn a_move_that_may_not_have_happened_leaves_the_folder_unknown() {
    for line in [
        "cd a || ls; rm x",
        "cd a || rm x",
        "ls || cd a; rm x",
        "ls || cd a && rm x",
        "false && cd a; rm x",
        "! cd a && rm x",
        "if ls; then cd a; fi; rm x",
        "if cd a; then ls; else rm x; fi",
        "case x in x) cd a;; esac; rm x",
        "while ls; do rm x; cd a; done",
        "until cd a; do rm x; done",
        "f() { rm x; f; }; cd a; f",
        "pushd +1; rm x",
        "cd -; rm x",
        "cd $x; rm x",
        "$x a; rm x",
        "CDPATH=/b; cd a; rm x",
        "trap 'cd a' DEBUG; rm x",
        "source a; rm x",
        "eval \"$x\"; rm x",
    ] {
        assert_eq!(folder(line, "rm"), "?", "{line}");
    }
    // An error ends the text of `eval`, not the line around it.
    assert_eq!(folder("eval 'echo $((1 / 0)); cd a'; rm x", "rm"), "?");
    // What is absolute and surely ran is known again.
    assert_eq!(folder("cd $x; cd /a; rm x", "rm"), "/a");
}

#[test]
fn carried_text_is_split_too() {
    let script = bash("eval 'rm x; id' y; trap 'ls' EXIT");
    assert_eq!(
        argvs(&script),
        ["eval rm x; id y", "rm x", "id y", "trap ls EXIT", "ls"]
    );
    let carriers: Vec<_> = commands(&script).iter().map(|sub| sub.carrier).collect();
    assert_eq!(carriers, [None, Some(0), Some(0), None, Some(3)]);
    assert_eq!(argvs(&bash("eval 'eval \"rm x\"'"))[2], "rm x");
    // What runs before a mistake is still shown.
    let script = bash("eval 'rm x\nif'");
    assert!(argvs(&script).contains(&"rm x".to_owned()) && !script.opaque.is_empty());
}

#[test]
fn what_cannot_be_decided_is_marked() {
    for line in [
        "cat <<E\nx",
        "echo ${ id; }",
        "echo ${x@P}",
        "echo ${(P)x}",
        "echo ${=x}",
        "shopt -s extglob",
        "set -o posix",
        "set -k",
        "set +B",
        "set $x",
        "alias a=b",
        "enable -f x y",
        "hash -p /a b",
        "compgen -W '$(id)'",
        "compgen -C id",
        "declare -n r=PATH; r=/x",
        "compgen \"$x\"",
        "jobs -x id",
        "fc -s",
        "builtin hash -p /a b",
        "eval \"$x\"",
        "source $x",
        ". <(id)",
        "trap \"$x\" EXIT",
        "f() { ls; f; }; f",
        "f; f() { ls; }",
        "cd() { ls; }",
        "PATH=/x ls",
        "export PATH=/x",
        "read PATH",
        "printf -v PATH x",
        "declare \"$x=y\"",
        "for PATH in a; do ls; done",
        ": ${PATH:=x}",
        "((PATH=1))",
        "exec {PATH}<f",
        "LD_PRELOAD=./x ls",
        "IFS=x",
        "/bin/l?",
        "~/x",
        "exec 3<>/dev/tcp/h/1",
        "echo `if`",
        "x='a[$(id)]'; echo $((x))",
        "[ -v 'a[$(id)]' ]",
        "[[ 'a[$(id)]' -eq 0 ]]",
        "declare -i x='a[$(id)]'",
        "read 'a[$(id)]'",
        "mapfile -C id x",
        "echo >&'$(id)'",
        "echo >&$x",
        "echo ${x:'$(id)'}",
        "echo $(('$(id)'))",
        "a['$(id)']=1",
    ] {
        assert!(is_opaque(line), "{line}");
    }
}

#[test]
fn everyday_lines_are_not_marked() {
    for line in [
        "set -euo pipefail; ls",
        "set -e -u -o pipefail",
        "compgen -c git; jobs -l",
        "set -- a \"$x\"",
        "export A=1 B=\"$x\"",
        "read -r l",
        "i=$((i+1)); echo $i",
        "for i in a b; do ls \"$i\"; done",
        "trap - EXIT",
        "trap 'rm -f x' EXIT",
        "cat <<E\n$x\nE",
        "printf '%s\\n' \"$x\"",
        "command -v ls",
        "[ -f x ] && ls",
        "f() { ls; }",
        "grep 'a[b]' x | sed 's/$(x)/y/'",
    ] {
        assert_eq!(bash(line).opaque, [], "{line}");
    }
}

#[test]
fn redirections_know_what_they_do() {
    use RedirectionKind::*;
    for (text, kind) in [
        ("<f", Read),
        (">f", Write),
        (">|f", Write),
        ("2>>f", Append),
        ("<>f", ReadWrite),
        ("&>f", WriteBoth),
        ("&>>f", WriteBoth),
        (">&f", WriteBoth),
        (">&$x", WriteBoth),
        ("2>&1", Duplicate),
        ("2>&1-", Duplicate),
        ("3<&-", Duplicate),
        ("<<<f", HereString),
    ] {
        let script = bash(&format!("ls {text} -l"));
        assert_eq!(script.subcommands[0].redirections[0].kind, kind, "{text}");
        assert_eq!(argvs(&script), ["ls -l"], "{text}");
    }
    // The `-` that closes a descriptor is a token of its own.
    assert_eq!(argvs(&bash("ls 3<&-x >& -y")), ["ls x y"]);
    assert_eq!(bash("ls >&1>f").subcommands[0].redirections.len(), 2);
    // A number no descriptor can have is an argument.
    assert_eq!(argvs(&bash("ls 2147483648>f")), ["ls 2147483648"]);
    assert_eq!(argvs(&posix("ls 10>f")), ["ls 10"]);
}

#[test]
fn here_documents_have_bodies() {
    let script = bash("{ cat <<A; } <<-B; id\n$(ls)\nA\n\tx\n\tB\nrm");
    let bodies: Vec<_> = script
        .subcommands
        .iter()
        .flat_map(|sub| &sub.redirections)
        .map(|redirection| redirection.body.map(|body| (body.start, body.end)))
        .collect();
    assert_eq!(bodies, [Some((22, 28)), Some((30, 33))]);
    assert_eq!(argvs(&script), ["cat", "id", "ls", "rm"]);
    // A body runs where its command stands, not where the line has got to.
    assert_eq!(folder("cat <<E; cd /x\n$(rm y)\nE", "rm"), ".");
}

#[test]
fn the_redirection_of_a_group_is_opened_before_its_moves() {
    let script = bash("{ cd /x; } >f");
    assert_eq!(script.subcommands[1].redirections.len(), 1);
    assert_eq!(script.subcommands[1].folder, Folder::Start);
}

#[test]
fn contexts_tell_pipes_functions_and_depth() {
    let script = bash("a | b $(c); f() { (d); }");
    let context = |name: &[u8]| {
        script
            .subcommands
            .iter()
            .find(|sub| sub.program() == Some(name))
            .unwrap()
            .context
    };
    assert!(!context(b"a").piped && context(b"b").piped && context(b"c").piped);
    assert!(context(b"c").substitution && !context(b"b").substitution);
    assert!(context(b"d").function_body && context(b"d").depth == 3);
    assert_eq!(script.functions, [b"f".to_vec()]);
}

#[test]
fn a_loop_variable_is_assigned_and_its_words_are_kept() {
    let script = bash("for i in a {b,c}; do ls; done");
    let values: Vec<_> = script.loops[0].values.iter().map(show).collect();
    assert_eq!(values, ["a", "b", "c"]);
    let header = &script.subcommands[script.loops[0].header];
    assert_eq!(header.assignments[0].name, b"i");
    assert_eq!(header.assignments[0].value.dynamic(), Some(Dynamic::Array));
}

#[test]
fn variables_changed_on_the_side_become_dynamic() {
    for line in [
        "((x=1))",
        "echo ${x:=y}",
        "read x",
        "printf -v x y",
        "let x=1",
        "echo $((x++))",
    ] {
        let script = bash(line);
        let assigned = script.subcommands.iter().flat_map(|sub| &sub.assignments);
        let found = assigned
            .into_iter()
            .find(|assignment| assignment.name == b"x");
        assert!(
            found.is_some_and(|found| found.value.as_static().is_none()),
            "{line}"
        );
    }
    let script = bash("x+=b a[1]=c");
    assert_eq!(
        show(&script.subcommands[0].assignments[0].value),
        "<Parameter x quoted>b"
    );
    assert_eq!(
        show(&script.subcommands[0].assignments[1].value),
        "<Array >"
    );
}

/// Both readings of the quotes parse; bash takes the one that runs `rm`.
#[test]
fn single_quotes_in_a_quoted_parameter_come_in_pairs() {
    let script = bash(r#"echo "${x:-'"'}" ; rm y; echo "'}" '}"' \'"#);
    assert_eq!(argvs(&script)[1], "rm y");
    let script = bash(r#"echo "${x:-'$(rm y)'}""#);
    assert_eq!(argvs(&script)[1], "rm y");
    assert_eq!(argvs(&bash(r#"echo "${x:-'}'}""#)).len(), 1);
    assert!(parse(br#"echo "${x:-it's}""#, Dialect::Bash).is_err());
    assert_eq!(argvs(&posix(r#"echo "${x:-it's}""#)).len(), 1);
}

#[test]
fn only_the_first_of_a_pipeline_is_timed() {
    assert_eq!(argvs(&bash("time a | time b")), ["a", "time b"]);
}

#[test]
fn syntax_errors_tell_where() {
    let error = parse(b"ls; ; id", Dialect::Bash).unwrap_err();
    assert_eq!(
        error,
        SyntaxError::Syntax {
            at: 4,
            reason: "a command expected"
        }
    );
    for line in [
        "ls > 2>f",
        "]]",
        "for ((;)); do ls; done",
        "x =(a)",
        "for x (a b) ls",
        "exec {a[$(id)]}>f",
        "a[$${(id)]=1",
        "() { ls; }",
    ] {
        assert!(parse(line.as_bytes(), Dialect::Bash).is_err(), "{line}");
    }
}

/// Nesting, length and repetition end in an answer or an error, on the stack a thread gets.
#[test]
fn hostile_lines_end() {
    let nested = [
        ("( ", " )"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("if a; then ", "; fi"),
        ("{a,", "}"),
        ("${x:-", "}"),
        ("$((", "))"),
        ("((", "))"),
        ("`", "`"),
        ("a[", "]"),
        ("$[", "]"),
        ("f() { ", "; }"),
        ("[[ ( ", " ) ]]"),
        ("case x in x) ", ";; esac"),
        ("eval ", ""),
        ("a=([", "])"),
        ("! ", ""),
        ("coproc { ", "; }"),
        ("<(", ")"),
        ("\"${x:-", "}\""),
        ("while a; do ", "; done"),
        ("for i in a; do ", "; done"),
        ("cat <<E\n$(", ")\nE\n"),
    ];
    let mut lines: Vec<String> = Vec::new();
    for (open, close) in nested {
        for levels in [49, 99, 10_000] {
            lines.push(format!("{}x{}", open.repeat(levels), close.repeat(levels)));
            lines.push(format!(
                "echo {}x{}",
                open.repeat(levels),
                close.repeat(levels)
            ));
        }
    }
    for (start, repeated, count) in [
        ("echo ", "a", 1_000_000),
        ("ls", " && ls", 100_000),
        ("ls", " | ls", 20_000),
        ("", "cd a;", 20_000),
        ("", "{1..4000} ", 10_000),
        ("", "{a[ ", 20_000),
        ("", "{", 100_000),
        ("", "f() { :; }\n", 10_000),
        ("", "((", 200),
    ] {
        lines.push(format!("{start}{}", repeated.repeat(count)));
    }
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            for line in lines {
                for dialect in [Dialect::Bash, Dialect::Posix] {
                    drop(parse(line.as_bytes(), dialect));
                }
            }
        });
    thread.unwrap().join().unwrap();
    let long = vec![b'a'; (1 << 20) + 1];
    assert_eq!(
        parse(&long, Dialect::Bash),
        Err(SyntaxError::Limit("length"))
    );
}

#[test]
fn a_declaration_of_what_may_be_an_array_is_opaque() {
    for line in [
        "x=(1); declare x=$y",
        "declare -a x; declare x=$y",
        "declare -a x=(1); typeset x=\"$y\"",
        "f() { local -a x; local x=$y; }",
        "readonly -A x; readonly x=$y",
        "export x=(1); declare x=$y",
        "x[1]=2; declare x=$y",
        "read -ra x; declare x=$y",
        "read 'x[1]'; declare x=$y",
        "mapfile -t x; declare x=$y",
        "printf -v 'x[1]' a; declare x=$y",
        "let 'x[1]=2'; declare x=$y",
        "((x[1]=2)); declare x=$y",
        ": ${x[1]:=2}; declare x=$y",
        "coproc x { a; }; declare x=$y",
        "declare PIPESTATUS=$y",
        "for i in 1 2; do declare x=$y; declare -a x; done",
        "declare -a x=$y",
    ] {
        assert!(is_opaque(line), "{line}");
    }
    for line in [
        "x=(1); declare z=$y",
        "declare x=$y; x=1",
        "declare -a x=($y)",
        "x=(1); export x=$y",
        "read -n 1 x; declare z=$y",
        "for i in 1 2; do declare x=$y; done",
    ] {
        assert!(!is_opaque(line), "{line}");
    }
}

#[test]
fn arithmetic_on_text_from_elsewhere_is_opaque() {
    for line in [
        "read x < f; echo $((x))",
        "read -r x < f; echo ${a[x]}",
        "read x < f; y=abc; echo ${y:x}",
        "read x < f; a[x]=1",
        "read x < f; echo ${!x}",
        "read x < f; [[ $x -eq 1 ]]",
        "read x < f; (( x ))",
        "read x < f; let y=x",
        "x=$(cat f); echo $((x + 1))",
        "x=$(cat f); y=$x; echo $((y))",
        "x=$(cat f); y=x; echo $((y))",
        "echo $(( $(cat f) ))",
        "echo $(( `cat f` ))",
        "[[ $(cat f) -gt 1 ]]",
        "for x in $(cat f); do echo $((x)); done",
        "for x in *; do echo $((x)); done",
        "x=$(cat f; wc -l); echo $((x))",
        "x=$(wc -l f); echo $((x))",
        "mapfile -t x < f; echo $((x))",
        "[[ $y =~ (.*) ]]; echo $((BASH_REMATCH[1]))",
        "RANDOM=$(cat f)",
        "read k < f; RANDOM=$k",
        "read k < f; RANDOM=$k ls",
        "read RANDOM < f",
        "k=$(cat f); OPTIND=$k",
        "k=$(cat f); SECONDS+=$k",
        "k=$(cat f); export SECONDS=$k",
        "k=$(cat f); echo ${RANDOM:=$k}",
        "for RANDOM in $(cat f); do :; done",
        "RANDOM='a[$(id)]'",
        "set -- $(cat f); echo $(($1))",
        "set -- $(cat f); echo $((${1}))",
        "set -- $(cat f); echo $(($*))",
        "set -- $(cat f); let $1",
        "set -- $(cat f); [[ $1 -eq 2 ]]",
        "set -- $(cat f); echo ${x:$1}",
        "set -- $(cat f); y=$1; echo $((y))",
        "set -- $(cat f); y=$1=$?; echo $((y))",
        "set -- $(cat f); for y; do echo $((y)); done",
        "set -- $(cat f); for y in \"$@\"; do echo $((y)); done",
        "select y in a b; do echo $((REPLY)); done < f",
        ": $(cat f); echo $((_))",
        ": $(cat f); echo $(($_))",
        // What a list, a group or a message prints is more than its last command.
        "echo $(( $(a | { cat f; wc -l; }) ))",
        "echo $(( $(a | cat f && a | wc -l) ))",
        "echo $(( $((cat f); wc -l) ))",
        "echo $(( $(git rev-list --count HEAD 2>&1) ))",
        "echo $(( $(grep -c -r x) ))",
        "echo $(( $(wc -l < f) + $(cat f) ))",
        "x=$(cat f); echo $(( $(echo x) ))",
        "echo $(( $(echo $x) + $(cat f) ))",
        "declare -i k; k=$(cat f)",
        "f() { local -i k; read k; }",
        "declare -i k=$(cat f)",
        "declare -i k=5 k=$(cat f)",
        "k=$(cat f); declare -i n=k",
        "x=$(cat f); [ -v \"$x\" ]",
        "x=$(cat f); test -v \"a[$x]\"",
        "x=$(cat f); [ -v 'a[x]' ]",
        "[ $(cat f) ]",
        "x=$(cat f); [ $x = y ]",
        "x=$(cat f); o=-v; [ \"$o\" \"$x\" ]",
        "x=$(cat f); unset \"a[$x]\"",
        "x=$(cat f); unset 'a[x]'",
        "read \"a[$(cat f)]\"",
        "printf $(cat f)",
        "printf \"$(cat f)\" x",
        "wait $(cat f)",
        "x=$(cat f); wait -n \"$x\"",
        "x=$(cat f); exec {a[x]}>y",
        // Names made of parts.
        "ab=$(cat f); x=b; y=a$x; echo $((y))",
        "ab=$(cat f); x=a; x+=b; echo $((x))",
        "ab=$(cat f); x=b; echo $((a$x))",
        "ab=$(cat f); x=b; [[ a${x} -eq 1 ]]",
        "read ab < f; x=b; echo $((a$x))",
        "read ab < f; x=(a\"b\"); wait \"${x[@]}\"; ((x))",
        "x=($(cat f)); wait \"${x[@]}\"",
    ] {
        assert!(is_opaque(line), "{line}");
    }
    for line in [
        "x=5; echo $((x + 1))",
        "i=0; while [ \"$i\" -lt 3 ]; do i=$((i + 1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in $(seq 1 3); do echo $((i * 2)); done",
        "for ((i = 0; i < 3; i++)); do echo \"$i\"; done",
        "n=$(ls | wc -l); echo $((n + 1))",
        "n=$(wc -l < f); [[ $n -gt 3 ]]",
        "echo $(( $(date +%s) - 5 ))",
        "false; r=$?; (( r ))",
        "read x < f; [[ $x == y && -n $x ]]",
        "read x < f; echo \"$x\" $((1 + 2))",
        "echo $((HOME_COUNT))",
        "RANDOM=5; SECONDS=0; OPTIND=1",
        "n=3; RANDOM=$n",
        "RANDOM=$$",
        "echo $(($# + $?))",
        "echo $((RANDOM % 6))",
        "while getopts ab: o; do :; done; shift $((OPTIND - 1))",
        "echo $(( $(echo 5) + 1 ))",
        "echo $(( $(wc -l < f) + $(nproc) ))",
        "n=$(grep -c TODO src/main.rs); echo $((n + 1))",
        "a=$(date +%s); a; echo $(( $(date +%s) - a ))",
        "declare -i n=0; n+=1; ((n++))",
        "x=$(wc -l < f); [[ \"$x\" -gt 1 && ${x} -lt 3 ]] && (( \"$x\" + `nproc` ))",
        "f() { local i=0; while ((i < 3)); do ((i++)); done; }",
        "x=$(cat f); [ \"$x\" = y ] && [ -n \"$x\" ]",
        "[ $? -eq 0 ] && [ $# -gt 1 ]",
        "x=5; [ $x -gt 3 ]",
        "[ $(ls | wc -l) -gt 3 ]",
        "x=$(cat f); printf '%s\\n' \"$x\"",
        "printf \"$(date)\\n\"",
        "a & p=$!; wait $p",
        "p=(); a & p+=($!); wait \"${p[@]}\"",
        "a & wait $(jobs -p)",
    ] {
        assert!(!is_opaque(line), "{line}");
    }
}

#[test]
fn a_declaration_that_expands_its_text_again_is_opaque() {
    for line in [
        "declare -a 'x=($(id))'",
        "x=(); declare 'x=($(id))'",
        "readonly -a 'x=($(id))'",
        "typeset -A 'x=([`id`]=1)'",
        "declare -a \"x=$y\"",
        "declare -ga x=$y",
        "x=(); declare x=\"$y\"",
    ] {
        assert!(is_opaque(line), "{line}");
    }
    for line in [
        "declare -a x=(1 2)",
        "declare -a x=($(ls))",
        "declare x=\"$y\"",
        "declare -a x",
    ] {
        assert!(!is_opaque(line), "{line}");
    }
}

/// The argv of every command of a bash line, `<…>` where a word is not known.
fn started(line: &str) -> Vec<String> {
    argvs(&bash(line))
}

#[test]
fn a_variable_with_a_literal_value_is_static() {
    let cases: &[(&str, &[&str])] = &[
        ("D=/tmp/x; rm -rf $D", &["rm -rf /tmp/x"]),
        ("f=a; cat \"$f\"", &["cat a"]),
        ("f='a b'; cat \"$f\" $f", &["cat a b <Parameter f>"]),
        ("f='*'; cat \"$f\" $f", &["cat * <Parameter f>"]),
        ("f=; cat \"$f\" $f", &["cat  <Parameter f>"]),
        ("a=x; b=$a/y; c \"${b}z\"", &["c x/yz"]),
        ("P=rm; $P -rf x", &["rm -rf x"]),
        ("B=/usr/bin; \"$B/env\" x", &["/usr/bin/env x"]),
        ("export D=/x; a $D", &["export D=/x", "a /x"]),
        ("D=~/x; a $D", &["a <Parameter HOME>/x"]),
        ("x=1 && a $x", &["a 1"]),
        ("x=1; x=2; a $x", &["a 2"]),
        ("x=1; (x=2; a $x); b $x", &["a 2", "b 1"]),
        ("x=1; { x=2; }; a $x", &["a 2"]),
        ("x=1; for i in 1 2; do a $x; done", &["a 1"]),
        ("f() { x=1; a $x; }", &["a 1"]),
        ("f() { local x=1; a $x; }", &["local x=1", "a 1"]),
        ("x=1; trap 'a $x' EXIT", &["trap a $x EXIT", "a 1"]),
        ("x=1; eval 'a $x'; b", &["eval a $x", "a 1", "b"]),
        ("eval 'x=1'; a $x", &["eval x=1", "a 1"]),
        ("x=1; echo $(a $x)", &["echo <CommandSubstitution >", "a 1"]),
        ("x=1 | b; x=2\na $x", &["b", "a 2"]),
    ];
    for (line, expected) in cases {
        assert_eq!(started(line), *expected, "{line}");
    }
}

#[test]
fn a_variable_that_may_have_changed_is_not_static() {
    let lines = [
        "x=1 a $x",
        "x=1; x=2 a $x",
        "x=1 > f; a $x",
        "b && x=1; a $x",
        "x=0; b || x=1; a $x",
        "x=0; b && x=1 || a $x",
        "x=0; ! x=1 && b; x=$(c); a $x",
        "if b; then x=1; fi; a $x",
        "while b; do a $x; x=1; done",
        "x=0; while b; do a $x; x=1; done",
        "for i in 1 2; do a $x; x=1; done",
        "case b in c) x=1;; esac; a $x",
        "x=1 | b; a $x",
        "x=1 & a $x",
        "(x=1); a $x",
        "x=1; read x; a $x",
        "x=1; read -r y x < f; a $x",
        "x=1; unset x; a $x",
        "x=1; f() { x=2; }; f; a $x",
        "x=1; printf -v x 2; a $x",
        "x=1; printf '%n' x; a $x",
        "x=1; getopts ab x; a $x",
        "x=1; mapfile x < f; a $x",
        "x=1; . ./f; a $x",
        "x=1; let x=2; a $x",
        "x=1; ((x++)); a $x",
        "x=1; ((x=2)); a $x",
        "x=; : ${x:=2}; a $x",
        "x=1; y='x=2'; : $((y)); a $x",
        "x=1; y='x=2'; [[ $y -eq 2 ]]; a $x",
        "declare -i x; x=1+1; a $x",
        "declare -u x; x=b; a $x",
        "declare -n x=y; x=b; a $x",
        "x=1; $b x; a $x",
        "x=1; $b/c x; a $x",
        "x=1; command $b x; a $x",
        "x=b; x+=c; a $x",
        "x=(b); a $x",
        "x=1; x[0]=2; a $x",
        "RANDOM=1; a $RANDOM",
        "SECONDS=1; a $SECONDS",
        "OLDPWD=/x; cd /y; a $OLDPWD",
        "_=1; a $_",
        "x=1; trap 'x=2' USR1; a $x",
        "x=1; trap 'f' USR1; f() { b; }; a $x",
        "select x in 1; do a $x; done",
        "x=1; exec {x}> f; a $x",
        "x=1; coproc x { b; }; a $x",
        "x=1; wait -n -p x; a $x",
        "echo $((1 / 0)); x=1\na $x",
        "x=0\necho ${y?}; x=1\na $x",
        "readonly y=1; y=2; x=1\na $x",
        "eval 'echo $((1 / 0)); x=1'; a $x",
        "x=0; eval 'y=1' 2> c && x=1; a $x",
        "cat <<E; x=1\n$(a $x)\nE\n",
        "x=0; cat <<E; x=1\n$(a $x)\nE\n",
        "x=0; { x=1; } > \"$(a $x)\"",
        "x=0; { x=1; } > f; a $x",
        "IFS=b; x=cbd; a $x",
        "e=eval; $e 'x=1'; a $x",
        "export x; read x; a $x",
        "f() { x=1; f; a $x; }; f",
        "f() { a $x; x=2; }; x=1; f",
        "unset 'b[x=5]'; x=1; a $x",
        "x=1; b=x; a ${!b}",
        "x=1; a ${x#y}",
    ];
    for line in lines {
        let found: Vec<String> = started(line);
        let found = found.iter().find(|argv| argv.starts_with("a "));
        assert!(
            found.is_some_and(|argv| argv.contains("<Parameter")),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn separators_for_one_reading_change_nothing_else() {
    for line in [
        "IFS= read -r x",
        "IFS=, read a b <<< 1,2",
        "while IFS= read -r x; do a; done",
    ] {
        assert!(bash(line).opaque.is_empty(), "{line}");
    }
    for line in [
        "IFS=, a",
        "IFS=,; read x",
        "IFS=, eval 'a $x'",
        "IFS=, command read x",
        "read() { a; }; IFS= read x",
    ] {
        assert!(!bash(line).opaque.is_empty(), "{line}");
    }
}

#[test]
fn options_that_only_change_patterns_are_no_change_of_the_language() {
    for line in [
        "shopt",
        "shopt -p",
        "shopt -q extglob",
        "shopt -s nullglob dotglob",
        "shopt -u failglob",
        "alias",
        "hash -l",
    ] {
        assert!(bash(line).opaque.is_empty(), "{line}");
    }
    for line in [
        "shopt -s extglob",
        "shopt -s nullglob lastpipe",
        "shopt -so posix",
        "shopt -s $x",
        "alias a=b",
        "hash -p x a",
        "shopt -s nullglob; [ -v *.c \"$x\" ]",
    ] {
        assert!(!bash(line).opaque.is_empty(), "{line}");
    }
}

#[test]
fn moves_home_and_back_are_followed() {
    for (line, expected) in [
        ("cd; a", "~/"),
        ("cd ~; a", "~/"),
        ("cd ~/x; a", "~/x"),
        ("cd \"$HOME/x\" && cd y; a", "~/x/y"),
        ("D=/x; cd $D/y; a", "/x/y"),
        ("cd /x; cd /y; cd -; a", "/x"),
        ("cd /x; cd -; a", "."),
        ("cd -; a", "?"),
        ("cd /x; cd /y; OLDPWD=/z; cd -; a", "?"),
        ("cd /x; (cd /y); cd -; a", "."),
        ("cd /x; cd $y; cd -; a", "?"),
        ("pushd /x; a", "/x"),
        ("pushd /x; popd; a", "."),
        ("pushd /x; pushd y; popd; a", "/x"),
        ("pushd /x; cd /y; pushd; a", "."),
        ("pushd /x; pushd; pushd; a", "/x"),
        ("popd; a", "?"),
        ("pushd +1; a", "?"),
        ("pushd -n /x; a", "?"),
        ("pushd /x; dirs -c; popd; a", "?"),
        ("pushd /x; DIRSTACK[1]=/z; popd; a", "?"),
        ("pushd /x; if b; then popd; fi; a", "?"),
        ("echo $((1 / 0)); cd /x\na", "?"),
    ] {
        assert_eq!(folder(line, "a"), expected, "{line}");
    }
}

#[test]
fn a_call_of_a_function_is_its_body_where_it_is_called() {
    let cases: &[(&str, &[&str])] = &[
        ("f() { a \"$1\"; }; f x", &["f x", "a x"]),
        (
            "f() { a $1 ${2} $3; }; f x y",
            &["f x y", "a x y <Parameter >"],
        ),
        ("f() { a $1; }; f 'x y'", &["f x y", "a <Parameter >"]),
        ("f() { a; }; g() { f; b; }; g", &["g", "f", "a", "b"]),
        ("g() { f; b; }; f() { a; }; g", &["g", "f", "a", "b"]),
        ("f() { a; }; f() { b; }; f", &["f", "b"]),
        ("f() { local d=/x; a $d; }; f", &["f", "local d=/x", "a /x"]),
        ("d=/x; f() { a $d; }; f", &["f", "a /x"]),
        (
            "f() { a; }; b $(f)",
            &["b <CommandSubstitution >", "f", "a"],
        ),
        ("f() { a; }; f | f", &["f", "a", "f", "a"]),
        (
            "f() { while a; do b; done; }; if f; then f; fi",
            &["f", "a", "b", "f", "a", "b"],
        ),
        ("f() { a; }", &["a"]),
    ];
    for (line, expected) in cases {
        assert_eq!(started(line), *expected, "{line}");
        assert!(bash(line).opaque.is_empty(), "{line}");
    }
    for (line, expected) in [
        ("f() { rm x; }; cd a; f", "a"),
        ("f() { cd a; }; f; rm x", "a"),
        ("f() { cd \"$1\"; }; f /b; rm x", "/b"),
        ("f() { b && return; cd a; }; f; rm x", "?"),
        ("f() { cd a; }; f | b; rm x", "."),
        ("f() { cd a; }; f > c; rm x", "?"),
    ] {
        assert_eq!(folder(line, "rm"), expected, "{line}");
    }
}

#[test]
fn a_call_that_cannot_be_followed_is_opaque() {
    for line in [
        "f; f() { a; }",
        "f() { f; }; f",
        "f() { g; }; g() { f; }; f",
        "b && f() { a; }; f",
        "if b; then f() { a; }; fi; f",
        "(f() { a; }); f",
        "f() { a; } | b; f",
        "f() { a; }; unset -f f; f",
        "f() { a; }; unset f; f",
        "f() { a; }; g() { unset -f f; }; f",
        "f() { a; }; $b; f",
        "f() { a; }; . ./b; f",
        "f() { a; }; trap f EXIT; f",
        "cd() { a; }; cd",
        "f() { $1 b; }; f eval",
        "f() { a; shift; a \"$1\"; set -- b; $1; }; f x",
        "f() { g() { a; }; }; f; g",
        "f() { a; }; x=$((1 + $(f)))",
        "f() { a; }; IFS=, f",
        "eval 'f() { a; }'; f",
    ] {
        assert!(is_opaque(line), "{line}: {:?}", started(line));
    }
}
