//! `policies/README.md` is the reference of the rule language: every policy in it loads, every line it
//! shows gets the verdict it shows, and every mistake it names is refused with that message.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod support;

use support::{Machine, file, source};
use tipstaff::model::deed::Deed;
use tipstaff::model::digest::Digest;
use tipstaff::model::executable::Trust;
use tipstaff::model::judgement::Layer;
use tipstaff::policy::{
    Coverage, Found, LINT_CODES, Policy, PolicyError, ProgramFile, Source, judge_deed, load,
    read_cases,
};
use tipstaff::supervisor::rehearse;

/// One fenced block, with the remark `<!-- layer: … -->` above it.
struct Block<'a> {
    language: &'a str,
    layer: Option<&'a str>,
    text: String,
    /// Where it opens, counted from one.
    line: usize,
    /// The last heading above it.
    heading: &'a str,
}

fn page() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/README.md");
    std::fs::read_to_string(file).unwrap()
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut layer, mut heading, mut open) = (None, "", None::<Block<'_>>);
    for (index, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.text.extend([line, "\n"]),
            (None, Some(language)) => {
                open = Some(Block {
                    language,
                    layer: layer.take(),
                    text: String::new(),
                    line: index + 1,
                    heading,
                });
            }
            (None, None) if line.starts_with('#') => heading = line,
            (None, None) => {
                layer = line
                    .strip_prefix("<!-- layer: ")
                    .and_then(|rest| rest.strip_suffix(" -->"))
                    .or(layer);
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// The machine the page speaks of, with the two contents that its digests name.
fn machine() -> Machine {
    let mut tool = file("/ws/tool", Trust::InWriteRoot);
    tool.digest = Digest([9; 32]);
    let mut old = file("/ws/old-tool", Trust::InWriteRoot);
    old.digest = Digest([5; 32]);
    Machine::default()
        .with(tool)
        .with(old)
        .link("/ws/out/link", "/srv/elsewhere")
}

fn versioned(text: &str) -> String {
    if text.starts_with("version = ") {
        text.to_owned()
    } else {
        format!("version = 1\n{text}")
    }
}

fn source_of(block: &Block<'_>) -> Source {
    let (layer, trusted) = match block.layer {
        None | Some("user") => (Layer::User, true),
        Some("managed") => (Layer::Managed, true),
        Some("project") => (Layer::Project, false),
        Some("trusted project") => (Layer::Project, true),
        Some(other) => panic!("line {}: no layer `{other}`", block.line),
    };
    source(layer, &versioned(&block.text), trusted)
}

fn loaded(sources: &[Source], line: usize) -> Policy {
    load(sources).unwrap_or_else(|error| panic!("line {line}: {}", error.render()))
}

/// `VERDICT REASON LINE`, with any number of blanks between.
fn example(text: &str) -> (String, &str) {
    let (verdict, rest) = text.split_once(' ').unwrap();
    let (reason, line) = rest.trim_start().split_once(' ').unwrap();
    (format!("{verdict} {reason}"), line.trim_start())
}

/// `VERDICT REASON` of a request, `KIND OBJECT`.
fn request(machine: &Machine, policy: &Policy, text: &str) -> String {
    let (kind, object) = text.split_once(' ').unwrap();
    let deed = Deed::read(kind.parse().unwrap(), object.as_bytes(), &machine.facts.cwd).unwrap();
    let judgement = judge_deed(policy, &deed, &Found::default(), &machine.facts);
    format!("{} {}", judgement.verdict, judgement.reason)
}

#[test]
fn every_line_of_the_reference_is_judged_as_it_says() {
    let page = page();
    let machine = machine();
    let (mut wrong, mut allowed, mut held) = (Vec::new(), 0, 0);
    let mut sources: Vec<Source> = Vec::new();
    let (mut shown, mut heading) = (true, "");
    for block in blocks(&page) {
        match block.language {
            // A policy stands alone unless it names its layer; then it joins the layers above it.
            "toml" if block.text.starts_with("[[case]]") => {
                let policy = loaded(&sources, block.line);
                let file = read_cases("README.md", &block.text).unwrap();
                let mut coverage = Coverage::default();
                for came in rehearse(&file, &policy, &mut coverage).unwrap() {
                    assert!(came.wrong.is_empty(), "below line {}: {came:?}", block.line);
                }
                shown = true;
            }
            "toml" if !block.text.starts_with("[[program]]") => {
                let new = source_of(&block);
                if block.layer.is_none() || block.layer == Some("user") {
                    sources.clear();
                }
                sources.retain(|source| source.layer != new.layer);
                sources.push(new);
                loaded(&sources, block.line);
                shown = false;
                heading = block.heading;
            }
            "toml" => {}
            language @ ("text" | "requests") => {
                // What holds without any rule is shown without a policy above it.
                let none = heading != block.heading && shown;
                let policy = loaded(if none { &[] } else { &sources }, block.line);
                shown = true;
                for text in block.text.lines() {
                    let (wanted, line) = example(text);
                    let got = if language == "text" {
                        machine.answer(&policy, line)
                    } else {
                        request(&machine, &policy, line)
                    };
                    if got == wanted {
                        *(if got.starts_with("allow") {
                            &mut allowed
                        } else {
                            &mut held
                        }) += 1;
                    } else {
                        wrong.push(format!(
                            "below line {}: `{line}`: the page says {wanted}, judged {got}",
                            block.line
                        ));
                    }
                }
            }
            other => panic!("line {}: no such block: {other}", block.line),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(allowed >= 30 && held >= 30, "{allowed} and {held}");
}

/// Each section of the language shows a line that is allowed and one that is not.
#[test]
fn every_section_shows_what_matches_and_what_does_not() {
    let page = page();
    let blocks = blocks(&page);
    let language = page
        .lines()
        .filter(|line| line.starts_with('#'))
        .skip(1)
        .filter(|heading| !["## Mistakes", "## Tools"].contains(heading))
        .filter(|heading| !heading.starts_with("## Adding"));
    for heading in language {
        let lines: Vec<&str> = blocks
            .iter()
            .filter(|block| {
                block.heading == heading && ["text", "requests"].contains(&block.language)
            })
            .flat_map(|block| block.text.lines())
            .collect();
        let allowed = lines
            .iter()
            .filter(|line| line.starts_with("allow "))
            .count();
        assert!(
            allowed > 0 && allowed < lines.len(),
            "`{heading}` needs an example of each kind"
        );
    }
}

#[test]
fn every_mistake_of_the_reference_is_refused_with_its_message() {
    let page = page();
    let mut count = 0;
    for (opening, wrapping) in [
        ("| in [permissions] |", "[permissions]\n"),
        ("| in a `[[rule]]` |", "[[rule]]\n"),
    ] {
        let rows = page
            .lines()
            .skip_while(|line| !line.starts_with(opening))
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let [mistake, message] = cells.as_slice() else {
                panic!("two cells: {row}");
            };
            let text = format!("version = 1\n{wrapping}{}\n", mistake.trim_matches('`'));
            let said = load(&[source(Layer::User, &text, true)])
                .err()
                .as_ref()
                .map(PolicyError::render)
                .unwrap_or_else(|| panic!("{mistake} loads"));
            assert!(
                said.contains(message),
                "{mistake}: `{message}` not in\n{said}"
            );
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn the_program_of_the_reference_is_well_formed() {
    let page = page();
    let mut programs = 0;
    for block in blocks(&page) {
        if block.text.starts_with("[[program]]") {
            let file = ProgramFile {
                name: "README.md",
                names: &[],
                text: Box::leak(block.text.into_boxed_str()),
            };
            programs += file.programs().unwrap().len();
        }
    }
    assert!(programs > 0);
}

#[test]
fn every_code_of_lint_stands_in_the_reference() {
    let page = page();
    for (code, what) in LINT_CODES {
        assert!(page.contains(&format!("| `{code}` | {what} |\n")), "{code}");
    }
}
