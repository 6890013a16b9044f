//! The rule language: every bullet of the grammar with what it covers and what it does not.

mod support;

use std::collections::BTreeSet;

use support::{Machine, at, file, policy, rules, source};
use tipstaff::model::digest::Digest;
use tipstaff::model::executable::{Format, Trust};
use tipstaff::model::judgement::Layer;
use tipstaff::model::mode::Mode;
use tipstaff::model::profile::{Network, Profile, ProfileName};
use tipstaff::policy::{Policy, load, program_files, unenforceable};

/// Checks `LINE => VERDICT REASON` on one policy; names every line that differs.
fn check(policy: &Policy, table: &[(&str, &str)]) {
    check_on(&Machine::default(), policy, table);
}

fn check_on(machine: &Machine, policy: &Policy, table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(line, wanted)| (line, wanted, machine.answer(policy, line)))
        .filter(|(_, wanted, got)| got != *wanted)
        .map(|(line, wanted, got)| format!("{line:?}: wanted {wanted}, got {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

mod files {
    use super::*;

    #[test]
    fn every_program_file_is_compiled_in_and_loads_with_the_names_it_is_listed_under() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/programs");
        let on_disk: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let listed: BTreeSet<String> = program_files()
            .iter()
            .map(|file| file.name.to_owned())
            .collect();
        assert_eq!(on_disk, listed);
        let mut all = BTreeSet::new();
        for file in program_files() {
            let programs = file
                .programs()
                .unwrap_or_else(|error| panic!("{}: {error}", file.name));
            let names: BTreeSet<&str> = programs
                .iter()
                .flat_map(|program| program.names.iter().map(String::as_str))
                .collect();
            let wanted: BTreeSet<&str> = file.names.iter().copied().collect();
            assert_eq!(names, wanted, "{}", file.name);
            for name in names {
                assert!(all.insert(name.to_owned()), "{name} is listed twice");
            }
        }
    }

    #[test]
    fn every_policy_file_loads_and_its_examples_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/policies");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                // As a user policy the examples are checked; its ids must not be those of the layer
                // below, so the built-in ones get another prefix.
                let text = std::fs::read_to_string(&path)
                    .unwrap()
                    .replace("id = \"builtin.", "id = \"copy.");
                let loaded = load(&[source(Layer::User, &text, true)]);
                assert!(loaded.is_ok(), "{path:?}: {}", loaded.unwrap_err().render());
                count += 1;
            }
        }
        assert!(count >= 2);
    }
}

mod verdicts {
    use super::*;

    #[test]
    fn the_strictest_wins_and_nothing_matched_asks() {
        let policy = rules(&["*"], &["git push"], &["rm"]);
        check(
            &policy,
            &[
                ("ls", "allow rule-allow"),
                ("git push", "ask rule-ask"),
                ("git push && rm x", "deny rule-deny"),
                ("ls; git push; ls", "ask rule-ask"),
            ],
        );
        check(
            &rules(&["ls"], &[], &[]),
            &[("cat x", "ask unmatched"), ("ls; cat x", "ask unmatched")],
        );
    }

    #[test]
    fn a_line_that_accesses_nothing_is_allowed() {
        check(
            &rules(&[], &[], &[]),
            &[
                ("# only a remark", "allow no-access"),
                ("x=1", "allow no-access"),
                ("[[ -n $x ]]", "allow no-access"),
                ("[[ -n $(id) ]]", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn the_same_pattern_in_allow_and_deny_denies() {
        check(&rules(&["rm"], &[], &["rm"]), &[("rm x", "deny rule-deny")]);
    }

    #[test]
    fn not_found_and_unusable_ask() {
        check(
            &rules(&["*"], &[], &[]),
            &[("nowhere x", "ask program-not-found")],
        );
        check(
            &rules(&["*"], &[], &["nowhere"]),
            &[("nowhere x", "deny rule-deny")],
        );
    }
}

mod command_patterns {
    use super::*;

    #[test]
    fn words_are_whole_words_and_more_may_follow() {
        check(
            &rules(&["git log"], &[], &[]),
            &[
                ("git log", "allow rule-allow"),
                ("git log --oneline -3", "allow rule-allow"),
                ("'git' lo'g'", "allow rule-allow"),
                ("git logs", "ask unmatched"),
                ("git", "ask unmatched"),
                ("git status log", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn exact_is_exact() {
        check(
            &rules(&["= cargo test"], &[], &[]),
            &[
                ("cargo test", "allow rule-allow"),
                ("cargo test --all", "ask unmatched"),
                ("cargo test $x", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn globs_stop_at_slashes_and_never_climb() {
        check(
            &rules(&["cat wt/*", "ls src/**", "wc ?.txt"], &[], &[]),
            &[
                ("cat wt/a", "allow rule-allow"),
                ("cat wt/a/b", "ask unmatched"),
                ("cat wt/..", "ask unmatched"),
                ("ls src/a/b", "allow rule-allow"),
                ("ls src/a/../../../etc", "ask unmatched"),
                ("wc a.txt", "allow rule-allow"),
                ("wc ab.txt", "ask unmatched"),
                ("cat \"$x\"", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn double_star_is_any_number_of_words_and_braces_are_one_of_them() {
        check(
            &rules(&["git {log,show}"], &[], &["git ** --force"]),
            &[
                ("git show HEAD", "allow rule-allow"),
                ("git diff", "ask unmatched"),
                ("git push origin --force", "deny rule-deny"),
                ("git --force", "deny rule-deny"),
                ("git log --forced", "allow rule-allow"),
            ],
        );
    }

    #[test]
    fn quoted_characters_in_a_rule_are_literal() {
        check(
            &rules(&["cat 'a*'", "ls \\*"], &[], &[]),
            &[
                ("cat 'a*'", "allow rule-allow"),
                ("cat abc", "ask unmatched"),
                ("ls '*'", "allow rule-allow"),
                ("ls x", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn home_at_the_start_of_a_word() {
        check(
            &rules(&["*"], &[], &["rm ** ~", "rm ** ~/*", "cat $HOME/.netrc"]),
            &[
                ("rm -rf ~", "deny rule-deny"),
                ("rm -rf \"$HOME\"", "deny rule-deny"),
                ("rm -rf /home/me/x", "deny rule-deny"),
                ("rm -rf ../home/me/x", "deny rule-deny"),
                ("cat ~/.netrc", "deny rule-deny"),
                ("rm -rf build", "allow rule-allow"),
                ("HOME=/tmp; rm -rf \"$HOME\"", "ask rule-ask"),
                (
                    "for HOME in /tmp; do rm -rf \"$HOME\"; done",
                    "ask rule-ask",
                ),
                ("read -r HOME; rm -rf \"$HOME\"", "ask rule-ask"),
            ],
        );
    }

    #[test]
    fn regular_expressions_match_the_whole_line() {
        check(
            &rules(
                &["re:git (log|show)( --[a-z]+)*", "re:npm .*"],
                &[],
                &["re:rm .*important.*"],
            ),
            &[
                ("git log --oneline", "allow rule-allow"),
                ("git log; git show", "allow rule-allow"),
                ("git log x", "ask unmatched"),
                ("git log --oneline $x", "ask rule-ask"),
                ("/usr/bin/rm very-important", "deny rule-deny"),
                ("./git log", "ask program-untrusted"),
            ],
        );
    }

    #[test]
    fn a_path_is_that_file_and_a_digest_that_content() {
        let content = Digest([9; 32]);
        let mut planted = file("/ws/tool", Trust::InWriteRoot);
        planted.digest = content;
        let machine = Machine::default().with(planted);
        check_on(
            &machine,
            &rules(&["./gradlew build", &content.to_string()], &[], &[]),
            &[
                ("./gradlew build --info", "allow rule-allow"),
                ("./gradlew publish", "ask unmatched"),
                ("gradlew build", "ask unmatched"),
                ("./tool x", "allow rule-allow"),
                ("./other x", "ask unmatched"),
            ],
        );
        check_on(
            &machine,
            &rules(&["*", "./tool"], &[], &[&content.to_string()]),
            &[("./tool", "deny rule-deny")],
        );
    }
}

mod narrow_and_wide {
    use super::*;

    #[test]
    fn allow_covers_trusted_files_alone() {
        let machine = Machine::default()
            .with(file("/usr/bin/foreign", Trust::ForeignOwner))
            .with(file("/usr/bin/loose", Trust::WritableByOthers));
        check_on(
            &machine,
            &rules(&["cat", "git", "foreign", "loose"], &[], &[]),
            &[
                ("cat x", "allow rule-allow"),
                ("/bin/cat x", "allow rule-allow"),
                ("./cat x", "ask program-untrusted"),
                ("/tmp/git x", "ask unmatched"),
                ("foreign", "ask program-untrusted"),
                ("loose", "ask program-untrusted"),
            ],
        );
    }

    #[test]
    fn a_script_is_trusted_when_its_interpreter_is() {
        let mut script = file("/usr/bin/mytool", Trust::Trusted);
        script.format = Format::Script {
            interpreter: Box::new(file("/ws/python", Trust::InWriteRoot)),
            argument: None,
        };
        let machine = Machine::default().with(script);
        check_on(
            &machine,
            &rules(&["mytool"], &[], &[]),
            &[("mytool", "ask program-untrusted")],
        );
    }

    #[test]
    fn deny_reaches_links_paths_and_interpreters() {
        let mut link = file("/ws/fetch", Trust::InWriteRoot);
        link.real = at("/usr/bin/curl");
        let mut script = file("/ws/run.py", Trust::InWriteRoot);
        let mut env = file("/usr/bin/env", Trust::Trusted);
        env.digest = Digest([3; 32]);
        script.format = Format::Script {
            interpreter: Box::new(env),
            argument: Some(b"python3".to_vec()),
        };
        let machine = Machine::default().with(link).with(script);
        check_on(
            &machine,
            &rules(&["*"], &[], &["curl", "python3"]),
            &[
                ("./fetch x", "deny rule-deny"),
                ("/opt/x/curl x", "deny rule-deny"),
                ("./run.py", "deny rule-deny"),
            ],
        );
    }

    #[test]
    fn deny_reaches_past_global_options_and_allow_past_neutral_ones() {
        check(
            &rules(&["*"], &[], &["git push", "foo push"]),
            &[
                ("git -C . --no-pager push origin", "deny rule-deny"),
                ("git -c a.b=c push", "deny rule-deny"),
                ("git --git-dir=x push", "deny rule-deny"),
                ("git commit -m push", "allow rule-allow"),
                ("foo --verbose -C dir push", "deny rule-deny"),
                ("foo pull push", "allow rule-allow"),
                ("git --no-pager log push", "allow rule-allow"),
            ],
        );
        check(
            &rules(&["*"], &[], &["cargo publish", "kubectl delete", "rm"]),
            &[
                ("cargo +nightly publish", "deny rule-deny"),
                (
                    "kubectl --kubeconfig f --context c delete x",
                    "deny rule-deny",
                ),
                // An option nobody knows may take the word after it.
                ("kubectl --new-option f delete x", "deny rule-deny"),
                ("docker --config d exec c rm x", "deny rule-deny"),
                ("kubectl get delete", "allow rule-allow"),
            ],
        );
        check(
            &rules(&["git status", "git -c x.y=z log"], &["git -p"], &[]),
            &[
                ("git --no-pager status", "allow rule-allow"),
                ("git -C sub status", "allow rule-allow"),
                ("git -C /etc status", "ask unmatched"),
                ("git -C \"$x\" status", "ask unmatched"),
                ("git -c core.pager=x status", "ask unmatched"),
                ("git -c x.y=z log", "allow rule-allow"),
                ("git -p status", "ask rule-ask"),
                ("git --no-pager -p status", "ask rule-ask"),
            ],
        );
    }

    #[test]
    fn names_the_line_takes_void_allow_rules() {
        let policy = rules(&["ls", "f", "alias", "hash"], &[], &[]);
        for line in [
            "ls() { id; }; ls",
            "alias ls=id; ls",
            "hash -p /ws/x ls; ls",
        ] {
            assert!(
                Machine::default().answer(&policy, line).starts_with("ask"),
                "{line}"
            );
        }
    }
}

mod dynamic_words {
    use super::*;

    #[test]
    fn a_dynamic_program_asks() {
        check(
            &rules(&["*"], &[], &["rm"]),
            &[
                ("$x -rf data", "ask dynamic"),
                ("env $x data", "ask dynamic"),
                ("xargs", "allow rule-allow"),
                ("xargs $x", "ask dynamic"),
                ("timeout 5 \"$cmd\"", "ask dynamic"),
            ],
        );
    }

    #[test]
    fn a_dynamic_operand_spoils_nothing_but_what_it_could_turn() {
        check(
            &rules(
                &[
                    "cat",
                    "tar",
                    "sort",
                    "find",
                    "unknown-tool",
                    "git diff",
                    "git merge-base",
                ],
                &[],
                &[],
            ),
            &[
                ("cat $x", "allow rule-allow"),
                ("unknown-tool $x", "allow rule-allow"),
                ("tar cf x *", "ask dynamic"),
                ("tar cf x -- *", "allow rule-allow"),
                ("tar cf x ./*", "allow rule-allow"),
                ("sort $x", "ask dynamic"),
                ("sort \"./$x\"", "allow rule-allow"),
                ("sort ./$x", "ask dynamic"),
                ("find . $x", "ask dynamic"),
                ("git diff $(git merge-base main HEAD)", "allow rule-allow"),
                ("git diff $(cat x)", "ask dynamic"),
                ("git diff $x", "ask dynamic"),
            ],
        );
    }

    #[test]
    fn a_loop_variable_over_literals_is_each_of_them_inside_the_body_alone() {
        check(
            &rules(
                &[
                    "ls",
                    "git -C {a,b} status",
                    "echo",
                    "printf",
                    "write(out/*)",
                    "touch a",
                ],
                &[],
                &["git push"],
            ),
            &[
                (
                    "for d in a b; do git -C \"$d\" status; done",
                    "allow rule-allow",
                ),
                ("for d in a c; do git -C $d status; done", "ask unmatched"),
                ("for d in push; do git $d; done", "deny rule-deny"),
                ("for d in log push; do git \"$d\"; done", "deny rule-deny"),
                (
                    "for d in a; do (git -C $d status); done",
                    "allow rule-allow",
                ),
                (
                    "for d in a; do echo $(git -C $d status); done",
                    "allow rule-allow",
                ),
                ("sh -c 'for d in push; do git $d; done'", "deny rule-deny"),
                // Every value of one with every value of the other; an inner loop may reuse the name.
                (
                    "for d in a; do for e in status push; do git -C $d $e; done; done",
                    "deny rule-deny",
                ),
                (
                    "for d in b; do for d in a; do touch $d; done; done",
                    "allow rule-allow",
                ),
                (
                    "for d in a; do for d in b; do ls; done; touch $d; done",
                    "ask unmatched",
                ),
                // After and before it, and in its own redirections.
                ("for d in a; do ls; done; touch $d", "ask unmatched"),
                ("(for d in a; do ls; done); touch $d", "ask unmatched"),
                ("touch $d; for d in a; do ls; done", "ask unmatched"),
                ("for d in x; do ls > \"out/$d\"; done", "allow rule-allow"),
                ("for d in x; do ls; done > \"out/$d\"", "ask dynamic"),
                (
                    "cat <<E; for d in a; do\n$(touch $d)\nE\nls; done",
                    "ask unmatched",
                ),
                // Another value, perhaps.
                ("for d in a; do d=b; touch $d; done", "ask unmatched"),
                ("for d in a; do (d=b; touch $d); done", "ask unmatched"),
                ("for d in a; do read d; touch $d; done", "ask unmatched"),
                ("for d in a; do ((d++)); touch $d; done", "ask unmatched"),
                (
                    "declare -u d; for d in a; do touch $d; done",
                    "ask unmatched",
                ),
                (
                    "declare -n e=d; for d in a; do e=b; touch $d; done",
                    "ask opaque",
                ),
                (
                    "trap 'd=b' DEBUG; for d in a; do touch $d; done",
                    "ask dynamic",
                ),
                ("for d in a $x; do touch $d; done", "ask unmatched"),
                ("for d in 'a b'; do touch $d; done", "ask unmatched"),
                ("for d in *; do touch $d; done", "ask unmatched"),
                ("for RANDOM in a; do touch $RANDOM; done", "ask unmatched"),
                // What a name means was decided when the line was read.
                ("for d in ls; do $d; done", "ask dynamic"),
                ("for d in -v; do [ $d x ]; done", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn a_deny_rule_that_may_match_asks() {
        check(
            &rules(&["*"], &[], &["git push --force", "rm ** secret"]),
            &[
                ("git push $x", "ask rule-ask"),
                ("git push \"$x\"", "ask rule-ask"),
                ("git push \"a$x\"", "allow rule-allow"),
                ("git $x", "ask rule-ask"),
                ("rm \"$x\"", "ask rule-ask"),
                ("rm \"$x\" secret", "deny rule-deny"),
            ],
        );
    }

    #[test]
    fn opaque_lines_ask_and_denials_still_see_them() {
        let policy = rules(&["*", "env(*)"], &[], &["rm"]);
        check(
            &policy,
            &[
                ("shopt -s extglob; ls", "ask opaque"),
                ("shopt -s extglob; rm x", "deny rule-deny"),
            ],
        );
    }
}

mod carriers {
    use super::*;

    #[test]
    fn a_rule_of_the_carrier_does_not_cover_what_it_carries() {
        let carriers = [
            "bash -c 'touch x'",
            "sh -c 'touch x'",
            "env touch x",
            "env A=1 touch x",
            "xargs touch",
            "xargs -I{} touch {}",
            "timeout 5 touch x",
            "timeout -k 1 5 touch x",
            "nice -n 5 touch x",
            "nice -5 touch x",
            "nohup touch x",
            "setsid touch x",
            "stdbuf -oL touch x",
            "time touch x",
            "command touch x",
            "exec touch x",
            "builtin eval touch x",
            "eval 'touch x'",
            "find . -exec touch {} \\;",
            "find . -execdir touch {} +",
            "find . -ok touch {} \\;",
            "find . -exec find {} + -exec touch {} \\;",
            "find . -exec find x {} + -o -exec touch {} +",
            "busybox touch x",
            "flock f touch x",
            "flock f -c 'touch x'",
            "flock f --command 'touch x'",
            "flock -n f -c 'touch x'",
            "watch touch x",
            "script -qc 'touch x' f",
            "strace -f touch x",
            "env -S 'touch x'",
            "env -- touch x",
            "env -u A -C d touch x",
            "ssh host touch x",
            "docker exec c touch x",
            "npx touch x",
            "bash ./touch",
            "rg --pre touch x",
            "sort --compress-program=touch x",
            "tar -I touch -cf a b",
            "tar --to-command=touch -xf a",
            "git grep --open-files-in-pager=touch x",
            "git rebase -x 'touch x' main",
            "man -P touch ls",
            "rsync -e touch a b",
            "sh -c 'sh -c \"sh -c \\\"touch x\\\"\"'",
            "env nice timeout 1 touch x",
            "mapfile -C touch a",
            "compgen -C 'touch x' y",
        ];
        let rest = [
            "bash", "sh", "env", "xargs", "timeout", "nice", "nohup", "setsid", "stdbuf", "time",
            "command", "exec", "builtin", "eval", "find", "busybox", "flock", "watch", "script",
            "strace", "ssh", "docker", "npx", "rg", "sort", "tar", "git", "man", "rsync",
            "mapfile", "compgen", "env(*)",
        ];
        let allow = rules(&rest, &[], &[]);
        let deny = rules(&["*", "env(*)"], &[], &["touch"]);
        let machine = Machine::default();
        for line in carriers {
            let answer = machine.answer(&allow, line);
            assert!(
                answer.starts_with("ask"),
                "{line:?} without a rule for touch: {answer}"
            );
            let answer = machine.answer(&deny, line);
            assert!(
                answer.starts_with("deny"),
                "{line:?} with touch denied: {answer}"
            );
        }
    }

    #[test]
    fn both_rules_together_cover_it() {
        check(
            &rules(
                &[
                    "bash -c",
                    "env",
                    "xargs",
                    "timeout",
                    "find",
                    "ls",
                    "grep",
                    "npx eslint",
                    "env(A)",
                ],
                &[],
                &[],
            ),
            &[
                ("bash -c 'ls; ls -l'", "allow rule-allow"),
                ("env A=1 ls", "allow rule-allow"),
                ("env B=1 ls", "ask unmatched"),
                ("find . | xargs grep x", "allow rule-allow"),
                ("find . -exec grep x {} +", "allow rule-allow"),
                ("timeout 5 ls", "allow rule-allow"),
                ("npx eslint src", "allow rule-allow"),
                ("npx other src", "ask unmatched"),
                ("bash -c 'ls > f'", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn what_a_carrier_starts_from_its_input_is_dynamic() {
        check(
            &rules(&["*", "env(*)"], &[], &["touch"]),
            &[
                ("cat x | sh", "ask dynamic"),
                ("cat x | bash -s", "ask dynamic"),
                ("xargs sh -c \"$X\"", "ask dynamic"),
                ("printf x | xargs -0 sh -c", "ask dynamic"),
                ("bash -c \"$X\"", "ask dynamic"),
                ("zsh -c 'ls'", "ask dynamic"),
                ("echo x | ed f", "ask dynamic"),
                ("bash --version", "allow rule-allow"),
            ],
        );
    }

    #[test]
    fn text_for_sh_that_shells_read_differently_is_opaque() {
        let policy = rules(&["*"], &[], &["rm"]);
        check(
            &policy,
            &[
                ("sh -c '{rm,-r,x}'", "deny rule-deny"),
                ("bash -c 'ls {a,b}'", "allow rule-allow"),
            ],
        );
    }

    #[test]
    fn an_option_that_starts_something_has_to_be_spelled_out() {
        check(
            &rules(&["*", "less +G"], &[], &[]),
            &[
                ("less '+!touch x' y", "ask dynamic"),
                ("less +G y", "allow rule-allow"),
                ("diff -l a b", "ask dynamic"),
                ("compgen -W '$(id)'", "ask opaque"),
                (
                    "cargo test --config 'build.rustc-wrapper=\"x\"'",
                    "ask dynamic",
                ),
                ("cargo test -- --config x", "allow rule-allow"),
                ("bash -l -c ls", "ask dynamic"),
            ],
        );
    }

    #[test]
    fn programs_that_start_others_are_seen_through() {
        let started = [
            "split --filter='rm x' f",
            "split --filt 'rm x' f",
            "npm exec -- rm x",
            "npm x rm x",
            "npm exec -c 'rm x'",
            "pnpm dlx rm x",
            "perf stat rm x",
            "perf stat -e cycles -- rm x",
            "perf record -o f rm x",
            "perf stat --pre 'rm x' ls",
            "perf trace rm x",
            "valgrind --leak-check=full rm x",
            "ssh-agent -t 5 rm x",
            "make SHELL='rm x'",
            "make all CC='rm x' V=1",
            "make 'X!=rm x'",
            "go test -exec 'rm x' ./...",
            "go test ./... -exec='rm x'",
            "go build --toolexec rm .",
            "go vet -vettool=/bin/rm .",
        ];
        let denied = rules(&["*"], &[], &["rm"]);
        let carriers = rules(
            &[
                "split",
                "npm",
                "pnpm",
                "perf",
                "valgrind",
                "ssh-agent",
                "run-parts",
                "make",
                "go",
            ],
            &[],
            &[],
        );
        let machine = Machine::default();
        for line in started {
            assert_eq!(machine.answer(&denied, line), "deny rule-deny", "{line}");
            let answer = machine.answer(&carriers, line);
            assert!(answer.starts_with("ask"), "{line}: {answer}");
        }
        for line in [
            "run-parts d",
            "make -f other",
            "make \"$x\"",
            "make X='$(shell id)'",
            "make MAKEFLAGS=--eval=x",
            "go build -ldflags '-extld=./x' .",
        ] {
            let answer = machine.answer(&carriers, line);
            assert!(answer.starts_with("ask"), "{line}: {answer}");
        }
        for line in [
            "split -l 5 f",
            "npm test",
            "npm run build",
            "make -j4 all V=1 PREFIX=/usr",
            "go test -run X -count=1 ./...",
            "run-parts --list d",
        ] {
            assert_eq!(
                machine.answer(&carriers, line),
                "allow rule-allow",
                "{line}"
            );
        }
    }

    #[test]
    fn program_texts_are_further_programs() {
        check(
            &rules(&["sed", "awk", "awk '{print > \"f\"}'"], &[], &[]),
            &[
                ("sed -n '1,5p' x", "allow rule-allow"),
                ("sed 's/a/b/g' x", "allow rule-allow"),
                ("sed '1e id' x", "ask dynamic"),
                ("sed -e p -e 's/a/b/e' x", "ask dynamic"),
                ("sed -f script x", "ask dynamic"),
                ("sed \"$x\" y", "ask dynamic"),
                ("awk '{print $1}' x", "allow rule-allow"),
                ("awk 'BEGIN{system(\"id\")}'", "ask dynamic"),
                ("awk '{print > \"f\"}'", "allow rule-allow"),
                ("awk -f prog x", "ask dynamic"),
            ],
        );
    }

    #[test]
    fn more_global_options_than_a_deny_rule_looks_past_ask() {
        let line = format!("git {}push", "-P ".repeat(60));
        let denying = rules(&["*"], &[], &["git push"]);
        assert_eq!(Machine::default().answer(&denying, &line), "ask rule-ask");
        let other = rules(&["*"], &[], &["rm"]);
        assert_eq!(Machine::default().answer(&other, &line), "allow rule-allow");
    }

    #[test]
    fn deep_nesting_ends_and_asks() {
        let line = format!("{}ls", "env ".repeat(60));
        let answer = Machine::default().answer(&rules(&["*"], &[], &[]), &line);
        assert_eq!(answer, "ask opaque");
        // Every word of it may be a program: the rest of the line is not copied for each.
        let line = "parallel ".repeat(10_000);
        let answer = Machine::default().answer(&rules(&["*"], &[], &[]), &line);
        assert_eq!(answer, "ask opaque");
    }
}

mod hostile {
    use super::*;

    /// Everything but the payload is allowed; the payload must not get through.
    #[test]
    fn nothing_starts_the_payload_unseen() {
        let policy = rules(
            &[
                "echo",
                "printf",
                "test",
                "[",
                "read",
                "let",
                "declare",
                "local",
                "export",
                "unset",
                "cat",
                "git",
                "ls",
                "sort",
                "find",
                "tar",
                "env",
                "xargs",
                "sed",
                "awk",
                "man",
                "less",
                "set",
                "wait",
                "getopts",
                "mapfile",
                "true",
                ":",
                "env(X)",
                "env(FOO)",
                "write(./**)",
                "bash",
                "sh",
                "command",
                "builtin",
                "exec",
                "eval",
                "trap",
                "time",
                "timeout",
                "complete",
                "shopt",
                "f",
                "alias",
                "hash",
                "enable",
                "cd",
                "diff",
                "rg",
                "fd",
                "make",
                "if",
                "kill",
                "type",
                "pwd",
                "tee",
                "cp",
            ],
            &[],
            &[],
        );
        let lines = [
            "x='a[$(payload)]'; echo $((x))",
            "x='a[$(payload)]'; ((x))",
            "x='a[$(payload)]'; [[ $x -eq 0 ]]",
            "x='a[$(payload)]'; [ -v \"$x\" ]",
            "o=-v; x='a[$(payload)]'; [ $o \"$x\" ]",
            "o=-v; x='a[$(payload)]'; [ \"$o\" \"$x\" ]",
            "o='-v a[$(payload)]'; test $o",
            "x='a[$(payload)]'; let \"$x\"",
            "let 'a[$(payload)]'",
            "x='a[$(payload)]'; read \"$x\" <<< y",
            "x=-v; printf \"$x\" 'a[$(payload)]' y",
            "printf -v 'a[$(payload)]' y",
            "unset 'a[$(payload)]'",
            "x='a[$(payload)]'; echo ${y:x}",
            "x='a[$(payload)]'; echo ${y[x]}",
            "export 'PATH=/ws'; ls",
            "x=PATH=/ws; export \"$x\"; ls",
            "declare -n r=PATH; r=/ws; ls",
            "echo ${PATH:=/ws}; payload",
            "f() { payload; }; f",
            "function ls { payload; }; ls",
            "ls() payload; ls",
            "eval \"$x\"",
            "eval 'eval payload'",
            "trap payload EXIT",
            "trap 'payload x' DEBUG; ls",
            "builtin eval payload",
            "command eval payload",
            "exec -a ls payload",
            "env -i FOO=1 payload",
            "env -S 'payload x'",
            "env -S 'git' payload",
            "env -C /tmp ./payload",
            "bash -c 'bash -c payload'",
            "bash -c $'pay\\x6coad'",
            "bash <<< payload",
            "bash < script",
            "echo payload | bash",
            "sh -c 'echo $(payload)'",
            "sh payload",
            "bash --rcfile payload -i",
            "find . -name x -exec payload {} +",
            "find . -ok payload \\;",
            "find . \"$x\"",
            "git -c alias.x='!payload' x",
            "git -c core.pager=payload log",
            "git --exec-path=/ws x",
            "git -p log",
            "git grep -Opayload x",
            "git rebase --exec payload",
            "git bisect run payload",
            "git submodule foreach payload",
            "git clone -u payload x",
            "git difftool -x payload",
            "tar --checkpoint-action=exec=payload -cf a b",
            "tar -cf a b --use-compress-prog=payload",
            "tar -Ipayload -cf a b",
            "tar cIf payload a b",
            "tar cf a *",
            "sort --compress-prog payload x",
            "sort -T /x --compress=payload x",
            "sed 's/x/payload/e' y",
            "sed -n '/x/e payload' y",
            "sed --expression='1e payload' y",
            "awk 'BEGIN { \"payload\" | getline }'",
            "awk 'BEGIN { print | \"payload\" }'",
            "man -P payload ls",
            "man --pager=payload ls",
            "less '+!payload' x",
            "rg --pre payload x",
            "rg --pre=payload x",
            "fd -x payload",
            "mapfile -C payload -c 1 x",
            "complete -C payload x",
            "enable -f ./payload.so x",
            "hash -p ./payload ls; ls",
            "alias ls=payload; ls",
            "shopt -s expand_aliases\nalias ls=payload\nls",
            "xargs -I{} {} x <<< payload",
            "xargs payload",
            "timeout 1 payload",
            "timeout -s 9 1 payload",
            "time payload",
            "time -p payload",
            "! payload",
            "coproc payload",
            "coproc NAME { payload; }",
            "cat <(payload)",
            "cat > >(payload)",
            "cat <<E\n$(payload)\nE",
            "echo `payload`",
            "echo \"${x:-$(payload)}\"",
            "echo ${x/#a/$(payload)}",
            "a[$(payload)]=1",
            "case x in $(payload)) ;; esac",
            "for i in $(payload); do ls; done",
            "until payload; do ls; done",
            "select i in a; do payload; done",
            "[[ -v a[$(payload)] ]]",
            "((a[$(payload)]))",
            "{ payload; } 2>&1",
            "ls & payload",
            "ls |& payload",
            "ls;payload",
            "ls\npayload",
            "cat < /dev/tcp/x/1",
            "LD_PRELOAD=./payload.so ls",
            "PATH=/ws:$PATH ls",
            "BASH_ENV=./payload bash -c ls",
            "GIT_SSH_COMMAND=payload git fetch",
            "cp -t .. payload > ../x",
            "ls > ../payload",
            "ls > link/../../payload",
            "cd link && ls > ../payload",
            "cd .. && ls > payload",
            "cd \"$x\" && ls > payload",
            "diff -l a b",
            "./ls",
            "source payload",
            ". ./payload",
            "pay{,}load",
            "{pay,x}load",
            "pay\\\nload",
            "$'payload'",
            "$\"payload\"",
            "p''ayload",
            "${x}payload",
            "~/payload",
            "./pay*",
            "/usr/bin/pay?oad",
        ];
        let machine = Machine::default().link("/ws/link", "/tmp/out");
        let through: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|line| {
                let dialect = tipstaff::model::script::Dialect::Bash;
                tipstaff::shell::parse(line.as_bytes(), dialect).is_ok()
                    && machine.answer(&policy, line).starts_with("allow")
            })
            .collect();
        assert_eq!(through, Vec::<&str>::new());
    }
}

mod accesses {
    use super::*;

    #[test]
    fn a_redirection_needs_a_rule_of_its_own() {
        let machine = Machine::default().link("/ws/link/x", "/etc/x");
        check_on(
            &machine,
            &rules(
                &["echo", "cat", "write(./**)", "write(/tmp/out)"],
                &[],
                &["write(secret.txt)", "read(secret.env)", "write(/etc/**)"],
            ),
            &[
                ("echo a > b", "allow rule-allow"),
                ("echo a >> sub/b", "allow rule-allow"),
                ("echo a > /tmp/out", "allow rule-allow"),
                ("echo a > /tmp/other", "ask unmatched"),
                ("echo a > ../b", "ask unmatched"),
                ("echo a > sub/../../b", "ask dynamic"),
                ("cd sub && echo a > ../../b", "ask dynamic"),
                ("echo a > \"$x\"", "ask rule-ask"),
                ("echo a > secret.txt", "deny rule-deny"),
                ("echo a > \"$PWD/secret.txt\"", "deny rule-deny"),
                ("echo a > link/x", "deny rule-deny"),
                ("cat < secret.env", "deny rule-deny"),
                ("cat secret.env", "deny rule-deny"),
                ("cat < other", "allow rule-allow"),
                ("x=$(<secret.env)", "deny rule-deny"),
                ("tee secret.txt", "deny rule-deny"),
                ("cp a secret.txt", "deny rule-deny"),
                ("dd if=a of=secret.txt", "deny rule-deny"),
                ("sort -osecret.txt a", "deny rule-deny"),
                ("curl -o secret.txt u", "deny rule-deny"),
            ],
        );
    }

    #[test]
    fn a_copy_into_a_folder_writes_the_file_in_it() {
        check(
            &rules(&["*"], &[], &["write(x.txt)"]),
            &[
                ("cp sub/x.txt .", "deny rule-deny"),
                ("/bin/cp -t . a sub/x.txt", "deny rule-deny"),
                ("mv a sub/x.txt ./", "deny rule-deny"),
                ("ln -s sub/x.txt", "deny rule-deny"),
                ("cd sub && install x.txt ..", "deny rule-deny"),
                ("cp x.txt sub", "allow rule-allow"),
                ("cp sub/y.txt .", "allow rule-allow"),
            ],
        );
    }

    #[test]
    fn paths_are_seen_in_every_program_that_takes_them() {
        check(
            &rules(&["*"], &[], &["read(s.key)", "write(s.key)"]),
            &[
                ("patch s.key p", "deny rule-deny"),
                ("patch -o s.key a p", "deny rule-deny"),
                ("split s.key", "deny rule-deny"),
                ("gcc -o s.key a.c", "deny rule-deny"),
                ("gcc -os.key a.c", "deny rule-deny"),
                ("gcc -I s -Wall -fno-common a.c", "allow rule-allow"),
                ("openssl enc -in s.key", "deny rule-deny"),
                ("openssl rand -out s.key 5", "deny rule-deny"),
                ("ssh-keygen -y -f s.key", "deny rule-deny"),
                ("ssh-keygen -fs.key", "deny rule-deny"),
                ("base64 s.key", "deny rule-deny"),
                ("zip a.zip s.key", "deny rule-deny"),
                ("zip s.key a", "deny rule-deny"),
                ("scp s.key host:", "deny rule-deny"),
                ("scp host:x s.key", "deny rule-deny"),
                ("curl -d @s.key u", "deny rule-deny"),
                ("curl -F f=@s.key\\;type=a u", "deny rule-deny"),
                ("curl -T s.key u", "deny rule-deny"),
                ("curl -o s.key u", "deny rule-deny"),
                ("curl -O 'http://h/s.key?x'", "deny rule-deny"),
                ("curl -O \"$u\"", "ask rule-ask"),
                ("curl FILE:///ws/s.key", "deny rule-deny"),
                ("curl -d a@b.c u", "allow rule-allow"),
                ("git checkout HEAD s.key", "deny rule-deny"),
                ("git mv s.key x", "deny rule-deny"),
                ("git apply s.key", "deny rule-deny"),
                ("git show HEAD:s.key", "deny rule-deny"),
                ("git cat-file -p HEAD:./s.key", "deny rule-deny"),
                ("git show HEAD:other", "allow rule-allow"),
            ],
        );
    }

    #[test]
    fn a_folder_is_all_that_lies_in_it() {
        for rule in ["(s/**)", "(s/a/key)", "(s/*.pem)"] {
            let rule = |kind: &str| format!("{kind}{rule}");
            let policy = rules(&["*"], &[], &[&rule("read"), &rule("write")]);
            let machine = Machine::default();
            for line in [
                "grep -r x s",
                "grep -R x .",
                "grep -r x",
                "rg x",
                "rg x s",
                "cp -r s t",
                "cp -a . /t",
                "mv s t",
                "tar cf x s",
                "tar -c .",
                "rm -rf s",
                "chmod -R 0 s",
                "zip -r x s",
                "diff -r s t",
                "git add .",
                "git checkout .",
            ] {
                let answer = machine.answer(&policy, line);
                assert!(!answer.starts_with("allow"), "{line}: {answer}");
            }
            for line in [
                "grep x t",
                "grep -r x t",
                "rg x t",
                "mv a b",
                "ls .",
                "tar cf x t",
            ] {
                assert_eq!(machine.answer(&policy, line), "allow rule-allow", "{line}");
            }
        }
    }

    #[test]
    fn open_streams_are_no_access() {
        check(
            &rules(&["ls"], &[], &[]),
            &[
                ("ls > /dev/null 2>&1", "allow rule-allow"),
                (
                    "ls 2> /dev/stderr > /dev/stdout < /dev/null",
                    "allow rule-allow",
                ),
                ("ls > /dev/tty", "allow rule-allow"),
                ("ls <<< x", "allow rule-allow"),
                ("ls > /dev/sda", "deny rule-deny"),
            ],
        );
    }

    #[test]
    fn variables_that_are_set() {
        check(
            &rules(
                &[
                    "ls", "export", "env", "printf", "read", "declare", "set", "env(A)",
                ],
                &[],
                &["env(LD_*)"],
            ),
            &[
                ("A=1 ls", "allow rule-allow"),
                ("B=1 ls", "ask unmatched"),
                ("B=1; ls", "allow rule-allow"),
                ("export A=1", "allow rule-allow"),
                ("export B=1", "ask unmatched"),
                ("declare -x B=1", "ask unmatched"),
                ("env B=1 ls", "ask unmatched"),
                ("LD_PRELOAD=x ls", "deny rule-deny"),
                ("set -a; B=1", "ask opaque"),
            ],
        );
        let policy = rules(&["*"], &[], &[]);
        for line in [
            "PATH=/ws",
            "IFS=x",
            "PS4=x; ls",
            "BASH_ENV=x",
            "read -r PATH",
            "printf -v PATH x",
        ] {
            assert!(
                Machine::default().answer(&policy, line).starts_with("ask"),
                "{line}"
            );
        }
    }

    #[test]
    fn connections_of_the_shell() {
        let policy = rules(
            &["cat", "network(good.example:80)"],
            &[],
            &["network(bad.example)"],
        );
        let machine = Machine::default();
        assert!(
            machine
                .answer(&policy, "cat < /dev/tcp/other.example/80")
                .starts_with("ask")
        );
        assert!(
            machine
                .answer(&policy, "cat < /dev/tcp/BAD.example/80")
                .starts_with("deny")
        );
    }

    #[test]
    fn own_files_are_out_of_reach_whatever_a_policy_says() {
        check(
            &rules(&["*", "write(/**)"], &[], &[]),
            &[
                ("echo x > ~/.config/tipstaff/policy.toml", "deny rule-deny"),
                ("tee ~/.config/tipstaff/policy.toml", "deny rule-deny"),
                ("rm -rf ~/.config", "deny rule-deny"),
                ("editor ~/.config/tipstaff/policy.toml", "deny rule-deny"),
                ("/opt/tipstaff run x", "deny rule-deny"),
                ("cat ~/.config/tipstaff/policy.toml", "allow rule-allow"),
                ("rm -rf build", "allow rule-allow"),
            ],
        );
    }
}

mod long_rules {
    use super::*;

    #[test]
    fn options_are_known_in_every_spelling() {
        let policy = policy(
            r#"
            [permissions]
            allow = ["*"]
            [[rule]]
            verdict = "deny"
            commands = ["git push"]
            with = ["-f", "--force"]
            [[rule]]
            verdict = "deny"
            commands = ["rm"]
            with_all = ["-r", "-f"]
            [[rule]]
            verdict = "deny"
            commands = ["unknown"]
            with = ["--danger", "-d"]
            "#,
        );
        check(
            &policy,
            &[
                ("git push --forc", "deny rule-deny"),
                ("git push -uf origin", "deny rule-deny"),
                ("git push -o f", "allow rule-allow"),
                ("git push -- -f", "allow rule-allow"),
                ("git commit -m '-f'", "allow rule-allow"),
                ("git push $x", "ask rule-ask"),
                ("rm -rf x", "deny rule-deny"),
                ("rm --recursive --force x", "deny rule-deny"),
                ("rm -r x", "allow rule-allow"),
                ("rm x -fr", "deny rule-deny"),
                ("unknown --dang", "deny rule-deny"),
                ("unknown --danger=1", "deny rule-deny"),
                ("unknown -xd", "deny rule-deny"),
                ("unknown x", "allow rule-allow"),
            ],
        );
    }

    #[test]
    fn without_fails_when_the_option_might_be_there() {
        let policy = policy(
            r#"
            [permissions]
            read_only_defaults = false
            [[rule]]
            verdict = "allow"
            commands = ["sort", "unknown", "find"]
            without = ["-o", "--output", "-exec", "-delete"]
            "#,
        );
        check(
            &policy,
            &[
                ("sort -n x", "allow rule-allow"),
                ("sort -no x y", "ask unmatched"),
                ("sort -ox y", "ask unmatched"),
                ("sort --outp=x y", "ask unmatched"),
                ("sort -t o x", "allow rule-allow"),
                ("sort $x", "ask unmatched"),
                ("unknown $x", "ask unmatched"),
                ("unknown -- $x", "allow rule-allow"),
                ("find . -name -delete", "allow rule-allow"),
                ("find . -name x -delete", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn operands_and_folders_of_the_workspace() {
        let policy = policy(
            r#"
            [permissions]
            read_only_defaults = false
            [[rule]]
            verdict = "allow"
            commands = ["cat", "cd", "grep", "unknown"]
            args = "workspace"
            [[rule]]
            verdict = "allow"
            commands = ["make"]
            cwd = [".", "sub/**"]
            "#,
        );
        let machine = Machine::default()
            .link("/ws/out", "/etc")
            .link("/ws/sub", "/ws/sub");
        check_on(
            &machine,
            &policy,
            &[
                ("cat a sub/b", "allow rule-allow"),
                ("cat /ws/a", "allow rule-allow"),
                ("cat /etc/passwd", "ask unmatched"),
                ("cat ../x", "ask unmatched"),
                ("cat ~/x", "ask unmatched"),
                ("cat out", "ask unmatched"),
                ("cat \"$x\"", "ask unmatched"),
                ("grep /etc/passwd a", "allow rule-allow"),
                ("unknown --file=/etc/passwd", "ask unmatched"),
                ("cd", "ask unmatched"),
                ("cd -", "ask unmatched"),
                ("cd sub && cat ../a", "allow rule-allow"),
                ("cd sub && cat ../../a", "ask unmatched"),
                ("make", "allow rule-allow"),
                ("cd sub/x && make", "allow rule-allow"),
                ("cd other && make", "ask unmatched"),
                ("cd \"$x\" && make", "ask unmatched"),
            ],
        );
    }

    #[test]
    fn expired_rules_do_not_apply() {
        let text = |date: &str| {
            policy(&format!(
                "[[rule]]\nverdict = \"allow\"\ncommands = [\"make\"]\nexpires = \"{date}\"\n"
            ))
        };
        // Day 20000 is 2024-10-04.
        check(&text("2024-10-04"), &[("make", "allow rule-allow")]);
        check(&text("2024-10-03"), &[("make", "ask unmatched")]);
    }

    #[test]
    fn explanations_name_the_rule_and_its_place() {
        let policy = policy(
            "[[rule]]\nid = \"no-rm\"\nverdict = \"deny\"\ncommands = [\"rm\"]\nwhy = \"because\"\n",
        );
        let judgement = Machine::default().judge(&policy, "rm x");
        let rule = judgement.subcommands[0].rule.clone().unwrap();
        assert_eq!(rule.id, "no-rm");
        assert_eq!(rule.why.as_deref(), Some("because"));
        let place = rule.place.unwrap();
        assert_eq!((place.file.as_str(), place.line), ("user.toml", 2));
        let judgement = Machine::default().judge(&policy, "git push x");
        assert_eq!(
            judgement.subcommands[0].remedy.as_deref(),
            Some("an allow rule such as `git push`")
        );
    }
}

mod read_only {
    use super::*;

    #[test]
    fn reading_is_allowed_and_everything_near_it_is_not() {
        let policy = policy("");
        let allowed = [
            "ls -la src",
            "cat x",
            "head -n 5 x",
            "head -50 x",
            "tail -5 x",
            "wc -l x",
            "grep -rn x src",
            "rg -n x",
            "git status -sb",
            "git --no-pager log -3 --oneline",
            "git diff HEAD~1 --stat",
            "git show HEAD:x",
            "git branch -a",
            "git branch",
            "git rev-parse HEAD",
            "git remote -v",
            "find . -name '*.rs' -not -path './x/*'",
            "sed -n '1,5p' x",
            "sort x | uniq -c",
            "diff -u a b",
            "stat x",
            "du -sh .",
            "basename x",
            "date +%s",
            "echo hi",
            "printf '%s' x",
            "test -f x",
            "[ -n x ]",
            "true",
            ":",
            "pwd",
            "cd sub",
            "set -euo pipefail",
            "set -x; ls",
            "while IFS= read -r line; do echo \"$line\"; done < x",
            "shopt -s nullglob; ls",
            "[ -z \"${FOO:-}\" ]",
            "declare -A m; m[a]=1; echo \"${m[a]}\"",
            "help cd",
            "D=src; ls $D",
            "command -v git",
            "type ls",
            "read -r x",
            "wait",
            "export LC_ALL=C",
            "git tag -l 'v*'",
            "git tag -n3",
            "git branch --list 'x*'",
            "git branch --contains HEAD",
            "git branch --merged main",
            "git --version",
            "git remote get-url origin",
            "git stash list",
            "git config --get user.name",
            "git reflog",
            "git reflog show HEAD",
            "grep --version",
            "make --version",
            "sort --help",
            "curl --version",
            "unzip -l x.zip",
            "zcat x.gz",
            "base64 -d x",
            "find . -exec ls {} +",
            "xargs ls",
            "jq . x",
            "command ls",
            "awk '$1 > 3' x",
            "for f in *; do head \"$f\"; done",
            "awk '{print $1}' x",
            "cat < x",
            "ls $x",
        ];
        let asked = [
            "ls --unknown-option",
            "git log --output=x",
            "git log --ext-diff",
            "git log --format='%h %G?'",
            "git show --pretty=format:%GK",
            "git log --pretty=\"$x\"",
            "git for-each-ref --format='%(signature)'",
            "git branch new",
            "git branch -D x",
            "git branch -D --list x",
            "git branch --contains HEAD -f x",
            "git tag v1",
            "git tag -l -d v1",
            "git tag -d v1",
            "git remote get-url --add x y",
            "git remote rename x y",
            "git stash",
            "git stash drop",
            "git reflog expire --all",
            "git config user.name x",
            "git config --get --unset user.name",
            "git config --get -f x y",
            "git config --list",
            "git --version push",
            "env --version ls",
            "./grep --version",
            "unzip x.zip",
            "unzip -l -d y x.zip",
            "tar tf host:x",
            "awk '{x=\"}\"; print > \"f\"}' x",
            "git -c a=b status",
            "git -C /etc status",
            "git push",
            "git remote add x y",
            "git grep -O x",
            "find . -delete",
            "find . -fprint x",
            "find $x",
            "sed -i s/a/b/ x",
            "sed '1e id' x",
            "sort -o x y",
            "sort $x",
            "uniq a b",
            "uniq $x",
            // One pattern, two operands, the second of which is written.
            "uniq ./*",
            "uniq -- $x",
            "xxd ./*",
            "xxd a.txt -u",
            "tree -Lo 2 x",
            "rg --pre cat x",
            "rg $x",
            "date -s x",
            "cd",
            "cd ..",
            "cd -",
            "cd /etc",
            "cd \"$x\"",
            "set -a",
            "PS4=x; set -x",
            "set -e x",
            "export PATH=/x",
            "export FOO=1",
            "export \"$x\"",
            "printf -v x y",
            "tee x",
            "rm x",
            "env",
            "printenv",
            "[ -v 'a[$(id)]' ]",
            "declare -i x=1",
            "less x",
            "man ls",
            "hostname x",
            "./ls",
            "ls > x",
            "awk 'BEGIN{system(\"id\")}'",
            "tree -o x",
            "command -p ls",
        ];
        let machine = Machine::default();
        for line in allowed {
            let answer = machine.answer(&policy, line);
            assert_eq!(answer, "allow read-only-default", "{line}");
        }
        for line in asked {
            let answer = machine.answer(&policy, line);
            assert!(answer.starts_with("ask"), "{line}: {answer}");
        }
    }

    #[test]
    fn it_can_be_switched_off_whole_or_by_id() {
        check(
            &policy("[permissions]\nread_only_defaults = false\n"),
            &[("ls", "ask unmatched")],
        );
        check(
            &policy("[permissions]\ndisable = [\"builtin.read-only\"]\n"),
            &[("ls", "ask unmatched")],
        );
    }
}

mod layers {
    use super::*;

    #[test]
    fn an_untrusted_project_can_only_tighten() {
        let text = "version = 1\n[permissions]\nallow = [\"make\"]\nask = [\"ls\"]\ndeny = [\"git push\"]\nread_only_defaults = true\n";
        let untrusted = load(&[source(Layer::Project, text, false)]).unwrap();
        check(
            &untrusted,
            &[
                ("make", "ask unmatched"),
                ("ls", "ask rule-ask"),
                ("git push", "deny rule-deny"),
            ],
        );
        let trusted = load(&[source(Layer::Project, text, true)]).unwrap();
        check(&trusted, &[("make", "allow rule-allow")]);
    }

    #[test]
    fn layers_add_up() {
        let managed = source(
            Layer::Managed,
            "version = 1\n[permissions]\ndeny = [\"curl\"]\n",
            true,
        );
        let user = source(
            Layer::User,
            "version = 1\n[permissions]\nallow = [\"curl\", \"make\"]\n",
            true,
        );
        for order in [[managed.clone(), user.clone()], [user, managed]] {
            let policy = load(&order).unwrap();
            check(
                &policy,
                &[("curl x", "deny rule-deny"), ("make", "allow rule-allow")],
            );
        }
    }

    #[test]
    fn built_in_denials_hold_until_their_id_is_disabled() {
        let lines = [
            "sudo ls",
            "su -c id",
            "mkfs.ext4 x",
            "reboot",
            "/sbin/halt",
            "dd if=x of=/dev/sda",
            "env sudo ls",
        ];
        let machine = Machine::default();
        for line in lines {
            assert_eq!(
                machine.answer(&rules(&["*"], &[], &[]), line),
                "deny rule-deny",
                "{line}"
            );
        }
        let without = policy("[permissions]\nallow = [\"*\"]\ndisable = [\"builtin.privilege\"]\n");
        check(
            &without,
            &[
                ("sudo ls", "allow rule-allow"),
                ("reboot", "deny rule-deny"),
            ],
        );
    }

    #[test]
    fn the_strictest_setting_holds() {
        let managed = source(
            Layer::Managed,
            "version = 1\nmode = \"default\"\n[sandbox]\nnetwork = \"loopback\"\nforbid_root = true\n[approvals]\ntimeout = 60\n",
            true,
        );
        let user = source(
            Layer::User,
            "version = 1\nmode = \"bypass\"\n[sandbox]\nnetwork = \"full\"\nprofile = \"read-only\"\n[approvals]\ntimeout = 600\ncommand = [\"/usr/bin/approve\"]\n",
            true,
        );
        let policy = load(&[managed, user]).unwrap();
        let settings = policy.settings();
        // What a run asks for narrows what the policy says, and never widens it.
        assert_eq!(settings.mode(None), Mode::Default);
        assert_eq!(settings.mode(Some(Mode::Bypass)), Mode::Default);
        assert_eq!(settings.mode(Some(Mode::DontAsk)), Mode::DontAsk);
        assert_eq!(settings.network(Some(Network::Full)), Network::Loopback);
        assert_eq!(settings.network(Some(Network::Off)), Network::Off);
        assert_eq!(
            settings.profile(Some(ProfileName::Workspace)),
            ProfileName::ReadOnly
        );
        // Where no layer says anything, the run's own word stands.
        let silent = load(&[]).unwrap();
        assert_eq!(
            silent.settings().network(Some(Network::Full)),
            Network::Full
        );
        assert_eq!(silent.settings().network(None), Network::Off);
        assert!(settings.forbid_root);
        assert_eq!(settings.approvals.timeout().as_secs(), 60);
        assert_eq!(
            settings.approvals.command.as_deref(),
            Some(["/usr/bin/approve".to_owned()].as_slice())
        );
    }

    #[test]
    fn denials_that_need_the_sandbox_are_named() {
        let policy = policy(
            r#"
            [permissions]
            deny = [
                "write(secret)", "write(/etc/**)", "read(~/.ssh/**)", "read(/usr/share/x)", "read(/u*)", "rm",
            ]
            ask = ["read(x)"]
            [[rule]]
            id = "told"
            verdict = "deny"
            kind = "network"
            hosts = ["bad.example"]
            advisory = true
            [[rule]]
            id = "hosts"
            verdict = "deny"
            kind = "network"
            hosts = ["bad.example"]
            "#,
        );
        let path = at;
        let facts = Machine::default().facts;
        let mut profile = Profile {
            name: ProfileName::Workspace,
            read: vec![path("/usr")],
            devices: vec![path("/dev/null")],
            write: vec![facts.workspace.clone()],
            guarded: Vec::new(),
            network: Network::Full,
        };
        let texts = |profile: &Profile| -> Vec<String> {
            unenforceable(&policy, profile, &facts)
                .into_iter()
                .map(|rule| rule.text)
                .collect()
        };
        // The sandbox keeps what lies outside all that the profile opens: /etc is not written, ~/.ssh
        // not read.
        let inside = [
            "write(secret)",
            "read(/usr/share/x)",
            "read(/u*)",
            "network(bad.example)",
        ];
        assert_eq!(texts(&profile), inside);
        // Without any network no rule about hosts can be broken, and what is not written is not denied
        // in vain.
        profile.network = Network::Off;
        profile.write.clear();
        assert_eq!(texts(&profile), ["read(/usr/share/x)", "read(/u*)"]);
    }
}
