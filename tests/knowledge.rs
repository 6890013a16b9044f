//! What the program knowledge claims, shown by the examples it carries.

mod support;

use support::{Machine, policy};
use tipstaff::policy::{Program, program_files};

fn programs() -> impl Iterator<Item = (&'static str, Program)> {
    program_files().into_iter().flat_map(|file| {
        let programs = file
            .programs()
            .unwrap_or_else(|error| panic!("{}: {error}", file.name));
        programs
            .into_iter()
            .map(move |program| (file.name, program))
    })
}

#[test]
fn every_example_is_judged_as_it_says() {
    let machine = Machine::default();
    let defaults = policy("");
    let mut wrong = Vec::new();
    for (file, program) in programs() {
        let examples = &program.examples;
        let classes = [
            ("read_only", &examples.read_only, true),
            ("acts", &examples.acts, false),
            ("unknown", &examples.unknown, false),
        ];
        for (class, lines, allowed) in classes {
            for line in lines {
                let answer = machine.answer(&defaults, line);
                if answer.starts_with("allow ") != allowed {
                    wrong.push(format!("{file}: {class}: `{line}`: {answer}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
