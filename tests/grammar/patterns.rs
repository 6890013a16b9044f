//! One-line rules: command and path patterns.

use super::support::{Machine, at, file, rules};
use super::{ALLOW, DENY, OPEN, bullet, on};

use tipstaff::model::digest::Digest;
use tipstaff::model::executable::Trust;

const UNTRUSTED: &str = "ask program-untrusted";

#[test]
fn a_program_and_its_first_arguments() {
    bullet(
        &rules(&["git log"], &[], &[]),
        &[("git log", ALLOW), ("git log -p x", ALLOW)],
        &[("git logs", OPEN), ("git", OPEN), ("git -p log", OPEN)],
    );
}

#[test]
fn exactly_this_argv() {
    bullet(
        &rules(&["= cargo test"], &[], &[]),
        &[("cargo test", ALLOW)],
        &[("cargo test x", OPEN), ("cargo", OPEN)],
    );
}

#[test]
fn a_star_in_a_word_stops_at_slashes() {
    bullet(
        &rules(&["cat src/*.rs", "ls ?"], &[], &[]),
        &[("cat src/a.rs", ALLOW), ("ls x", ALLOW)],
        &[("cat src/a/b.rs", OPEN), ("ls xy", OPEN)],
    );
}

#[test]
fn two_stars_in_a_word_cross_slashes() {
    bullet(
        &rules(&["cat src/**.rs"], &[], &[]),
        &[("cat src/a/b.rs", ALLOW)],
        &[("cat doc/a.rs", OPEN)],
    );
}

#[test]
fn no_glob_matches_a_step_up() {
    bullet(
        &rules(&["cat src/**"], &[], &[]),
        &[("cat src/a/b", ALLOW)],
        &[("cat src/../x", OPEN), ("cat src/a/../../x", OPEN)],
    );
}

#[test]
fn a_tilde_at_the_start_is_the_home() {
    bullet(
        &rules(&["cat ~/x"], &[], &[]),
        &[
            ("cat ~/x", ALLOW),
            ("cat $HOME/x", ALLOW),
            ("cat /home/me/x", ALLOW),
        ],
        &[("cat /root/x", OPEN)],
    );
}

#[test]
fn two_stars_as_a_word_are_any_words() {
    bullet(
        &rules(&["git ** --force"], &[], &[]),
        &[("git push a --force", ALLOW), ("git --force", ALLOW)],
        &[("git push a", OPEN)],
    );
}

#[test]
fn braces_as_a_word_are_one_of_them() {
    bullet(
        &rules(&["git {log,show}"], &[], &[]),
        &[("git log", ALLOW), ("git show", ALLOW)],
        &[("git push", OPEN)],
    );
}

#[test]
fn quoted_characters_are_literal() {
    bullet(
        &rules(&["ls '*'"], &[], &[]),
        &[("ls '*'", ALLOW)],
        &[("ls x", OPEN)],
    );
}

#[test]
fn a_regular_expression_matches_the_whole_argv() {
    bullet(
        &rules(&["re:make [a-z]+"], &[], &[]),
        &[("make all", ALLOW), ("make 'all'", ALLOW)],
        &[("make all x", OPEN), ("make", OPEN), ("xmake all", OPEN)],
    );
}

#[test]
fn a_bare_name_allows_a_trusted_file_alone() {
    bullet(
        &rules(&["cat"], &[], &[]),
        &[("cat x", ALLOW)],
        &[("./cat x", UNTRUSTED), ("/ws/bin/cat x", UNTRUSTED)],
    );
}

#[test]
fn a_star_as_the_program_is_any_bare_name() {
    bullet(
        &rules(&["*"], &[], &[]),
        &[("anything x", ALLOW)],
        &[("./anything x", UNTRUSTED)],
    );
}

#[test]
fn a_path_is_that_file() {
    bullet(
        &rules(&["/ws/run.sh"], &[], &[]),
        &[("./run.sh x", ALLOW), ("/ws/run.sh", ALLOW)],
        &[("./sub/run.sh", OPEN)],
    );
}

#[test]
fn a_digest_is_that_content() {
    let content = Digest([9; 32]);
    let mut tool = file("/ws/tool", Trust::InWriteRoot);
    tool.digest = content;
    let machine = Machine::default().with(tool);
    on(
        &machine,
        &rules(&[&content.to_string()], &[], &[]),
        &[("./tool x", ALLOW)],
        &[("./other x", OPEN)],
    );
}

#[test]
fn deny_reaches_every_spelling() {
    let policy = rules(&["*", "./*"], &[], &["git push", "rm"]);
    bullet(
        &policy,
        &[
            ("/usr/bin/rm x", DENY),
            ("./rm x", DENY),
            ("env rm x", DENY),
            ("sh -c 'rm x'", DENY),
            ("git -C . --no-pager push", DENY),
            ("git -c a.b=c push", DENY),
            ("find . -exec rm {} +", DENY),
        ],
        &[("git log", ALLOW), ("rmdir x", ALLOW), ("echo rm", ALLOW)],
    );
}

#[test]
fn deny_reaches_the_resolved_file_and_its_copies() {
    let mut linked = file("/usr/bin/innocent", Trust::Trusted);
    linked.real = at("/usr/bin/rm");
    let mut copy = file("/ws/copied", Trust::InWriteRoot);
    copy.digest = Digest([3; 32]);
    let mut machine = Machine::default().with(linked).with(copy);
    machine.copies.insert(Digest([3; 32]), vec![b"rm".to_vec()]);
    on(
        &machine,
        &rules(&["*", "./*"], &[], &["rm"]),
        &[("innocent x", DENY), ("./copied x", DENY)],
        &[("other x", ALLOW)],
    );
}

#[test]
fn allow_is_narrow_about_global_options() {
    let machine = Machine::default().link("/ws/sub", "/ws/sub");
    on(
        &machine,
        &rules(&["git log"], &[], &[]),
        &[("git --no-pager log", ALLOW), ("git -C sub log", ALLOW)],
        &[
            ("git -p log", OPEN),
            ("git -c core.pager=x log", OPEN),
            ("git -C /etc log", OPEN),
        ],
    );
}

#[test]
fn a_relative_path_pattern_means_the_workspace() {
    bullet(
        &rules(&["echo", "write(out/**)"], &[], &[]),
        &[("echo > out/a", ALLOW), ("echo > /ws/out/a/b", ALLOW)],
        &[("echo > /out/a", OPEN), ("cd /tmp; echo > out/a", OPEN)],
    );
}

#[test]
fn links_are_followed_before_a_path_is_matched() {
    let machine = Machine::default()
        .link("/ws/out/link", "/etc/x")
        .link("/ws/free", "/ws/keep");
    let policy = rules(
        &["echo", "write(/ws/out/**)", "write(/ws/free)"],
        &[],
        &["write(/ws/keep)"],
    );
    on(
        &machine,
        &policy,
        &[("echo > out/link", OPEN), ("echo > free", DENY)],
        &[("echo > out/file", ALLOW)],
    );
}
