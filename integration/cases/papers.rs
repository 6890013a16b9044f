//! The pages agree with the cases: every claim of docs/SECURITY.md has one, every case has a claim, and
//! README.md lists them all.

use std::collections::BTreeSet;

use crate::harness::world::World;
use crate::harness::{Case, Outcome, Red, case, expect};

pub const CASES: &[Case] =
    &[case("pages_and_cases_agree", 7, pages_and_cases_agree).red(Red::Neither)];

const SECURITY: &str = include_str!("../../docs/SECURITY.md");
const README: &str = include_str!("../README.md");

fn pages_and_cases_agree(_: &World) -> Outcome {
    let cases: Vec<Case> = super::ALL.concat();
    let claimed: BTreeSet<u8> = cases.iter().map(|case| case.claim).collect();
    let written: BTreeSet<u8> = SECURITY.lines().filter_map(claim).collect();
    expect(!written.is_empty(), "docs/SECURITY.md numbers no claim")?;
    expect(
        claimed == written,
        format!("claims with a case: {claimed:?}, written: {written:?}"),
    )?;
    let listed: BTreeSet<(u8, &str)> = README.lines().filter_map(row).collect();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    let ways: Vec<&str> = ways_out().collect();
    expect(
        ways.len() >= 28,
        format!("only {} ways out are listed", ways.len()),
    )?;
    for way in ways {
        expect(
            names.contains(way),
            format!("docs/SECURITY.md names the case `{way}`, which is not there"),
        )?;
    }
    let there: BTreeSet<(u8, &str)> = cases.iter().map(|case| (case.claim, case.name)).collect();
    expect(there.len() == cases.len(), "two cases have one name")?;
    let missing: Vec<_> = there.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&there).collect();
    expect(
        missing.is_empty() && stale.is_empty(),
        format!("integration/README.md: not listed {missing:?}, listed but absent {stale:?}"),
    )
}

/// `### Claim 3: …`
fn claim(line: &str) -> Option<u8> {
    line.strip_prefix("### Claim ")?
        .split(':')
        .next()?
        .parse()
        .ok()
}

/// `| 3 | `name` | … |`
fn row(line: &str) -> Option<(u8, &str)> {
    let mut cells = line.strip_prefix('|')?.split('|');
    let claim = cells.next()?.trim().parse().ok()?;
    let name = cells.next()?.trim().strip_prefix('`')?.strip_suffix('`')?;
    Some((claim, name))
}

/// The cases of the table `Ways out`.
fn ways_out() -> impl Iterator<Item = &'static str> {
    SECURITY
        .lines()
        .skip_while(|line| *line != "## Ways out")
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| {
            let name = line.strip_suffix("` |")?;
            name.rsplit('`').next()
        })
}
