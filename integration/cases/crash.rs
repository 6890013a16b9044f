//! Claim 7, nothing is lost: whenever the supervisor dies, the chain verifies and nothing ran that is
//! not in it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tipstaff::sys::fail::POINTS;

use crate::harness::process::until;
use crate::harness::world::World;
use crate::harness::{Case, Outcome, case, expect, fail, skip};

pub const CASES: &[Case] = &[
    case("record_is_kept_after_a_kill", 7, record_is_kept),
    case("every_fail_point", 7, every_fail_point),
    case("random_kills", 7, random_kills),
    case("an_altered_record_is_named", 7, altered_record),
    case("concurrent_writers", 7, concurrent_writers),
    case("planted_token_is_in_no_file", 7, planted_token),
];

/// The chain holds, or its last record is torn and said to be.
fn verifies(w: &World) -> Outcome {
    if !w.state.join("tipstaff").exists() {
        // Killed before the first record was begun: there is nothing to verify, and nothing may have run.
        return Ok(());
    }
    let ran = w.tipstaff(&["audit", "verify"])?;
    let torn = ran.code != Some(0) && format!("{}{}", ran.out, ran.err).contains("torn");
    expect(
        ran.code == Some(0) || torn,
        format!("the chain does not verify: {ran}"),
    )
}

fn verifies_strictly(w: &World) -> Outcome {
    w.tipstaff(&["audit", "verify"])?.exits(0)?;
    Ok(())
}

/// Whether a whole record of a decision names `marker`.
fn decided(w: &World, marker: &str) -> bool {
    w.audit_text().lines().any(|line| {
        let whole = serde_json::from_str::<serde_json::Value>(line).is_ok();
        whole && line.contains("ecided") && line.contains(marker)
    })
}

fn record_is_kept(w: &World) -> Outcome {
    let mut started = w.allowed()?.start_line("touch begun; sleep 20")?;
    until("the command has begun", || w.ws.join("begun").exists())?;
    started.kill()?;
    let ran = started.end()?;
    expect(ran.signal == Some(9), format!("it was not killed: {ran}"))?;
    expect(
        decided(w, "begun"),
        "it began without a record of the decision",
    )?;
    verifies_strictly(w)?;
    until("nothing is left of the run", || w.alive().is_empty())?;
    w.allowed()?.line("true")?.exits(0)?;
    verifies_strictly(w)
}

/// Index of the point after which the command may have run.
fn released() -> Outcome<usize> {
    POINTS
        .iter()
        .position(|point| *point == "child-released")
        .map_or_else(|| fail("no such point"), Ok)
}

fn every_fail_point(w: &World) -> Outcome {
    if !cfg!(debug_assertions) {
        return skip("fail points exist in debug builds only");
    }
    let released = released()?;
    for (index, point) in POINTS.iter().enumerate() {
        let marker = format!("ran-{index:02}");
        let run = w.asked("allow")?.env("TIPSTAFF_FAIL_AT", point);
        let ran = run.line(&format!("touch {marker}"))?;
        expect(
            ran.signal == Some(9),
            format!("`{point}` was never reached: {ran}"),
        )?;
        until("nothing is left of the run", || w.alive().is_empty())?;
        let there = w.ws.join(&marker).exists();
        expect(
            !there || index >= released,
            format!("`{point}`: it ran before its time"),
        )?;
        expect(
            !there || decided(w, &marker),
            format!("`{point}`: it ran without a record"),
        )?;
        verifies(w)?;
        // The next run goes on where this one broke off, and closes what it tore.
        w.allowed()?.line("true")?.exits(0)?;
        verifies_strictly(w)?;
    }
    Ok(())
}

/// A small generator of our own: the seed is printed, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    /// The next number below `most`. (Knuth's constants; quality hardly matters here.)
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

const KILLS: usize = 200;

fn random_kills(w: &World) -> Outcome {
    let seed = std::env::var("ENFORCE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("ENFORCE_SEED={seed}");
    let mut dice = Dice(seed);
    let run = w.allowed()?;
    let begin = Instant::now();
    run.line("touch control")?.exits(0)?;
    expect(w.ws.join("control").exists(), "the control did not run")?;
    let whole = u64::try_from(begin.elapsed().as_micros())
        .unwrap_or(u64::MAX)
        .max(1000);
    let begin = Instant::now();
    let mut killed = 0;
    for number in 0..KILLS {
        let mut started = run.start_line(&format!("touch ran-{number:03}"))?;
        std::thread::sleep(Duration::from_micros(dice.below(whole + whole / 4)));
        started.kill()?;
        killed += usize::from(started.end()?.signal == Some(9));
        if number % 20 == 0 {
            verifies(w)?;
        }
        if begin.elapsed() > Duration::from_secs(150) {
            return fail(format!("only {number} of {KILLS} kills in 150 seconds"));
        }
    }
    until("nothing is left of the runs", || w.alive().is_empty())?;
    expect(
        killed > KILLS / 4,
        format!("only {killed} of {KILLS} were killed in time"),
    )?;
    for number in 0..KILLS {
        let marker = format!("ran-{number:03}");
        let there = w.ws.join(&marker).exists();
        expect(
            !there || decided(w, &marker),
            format!("{marker} ran without a record"),
        )?;
    }
    verifies(w)?;
    run.line("true")?.exits(0)?;
    verifies_strictly(w)
}

fn altered_record(w: &World) -> Outcome {
    for number in 0..3 {
        w.allowed()?
            .line(&format!("touch made-{number}"))?
            .exits(0)?;
    }
    verifies_strictly(w)?;
    let path = w.state.join("tipstaff/audit.jsonl");
    let text = fs::read_to_string(&path)?;
    let altered = text.replacen("made-1", "made-9", 1);
    expect(altered != text, "the log does not name what ran")?;
    fs::write(&path, altered)?;
    let ran = w.tipstaff(&["audit", "verify"])?;
    expect(
        ran.code.is_some_and(|code| code != 0),
        format!("an altered chain verifies: {ran}"),
    )?;
    let line = text
        .lines()
        .position(|line| line.contains("made-1"))
        .unwrap_or(0)
        + 1;
    let said = format!("{}{}", ran.out, ran.err);
    expect(
        said.contains(&line.to_string()),
        format!("it does not name record {line}: {ran}"),
    )
}

fn concurrent_writers(w: &World) -> Outcome {
    let run = w.allowed()?;
    let mut started = Vec::new();
    for number in 0..8 {
        started.push(run.start_line(&format!("touch together-{number}"))?);
    }
    for one in started {
        one.end()?.exits(0)?;
    }
    for number in 0..8 {
        expect(
            decided(w, &format!("together-{number}")),
            format!("record {number} is missing"),
        )?;
    }
    verifies_strictly(w)
}

/// In the environment and in the line itself.
fn planted_token(w: &World) -> Outcome {
    let token = format!("ghp_{}", "Zq7".repeat(12));
    let line = format!("printf %s 'Authorization: Bearer {token}' > /dev/null; touch made");
    let run = w
        .asked("allow")?
        .env("DEPLOY_TOKEN", &token)
        .env("GITHUB_TOKEN", &token);
    run.line(&line)?.exits(0)?;
    expect(w.ws.join("made").exists(), "the control did not run")?;
    expect(
        w.audit_text().contains("printf"),
        "the run is not recorded at all",
    )?;
    let mut seen = 0;
    search(&w.state, token.as_bytes(), &mut seen)?;
    expect(seen > 0, "there is no file under the state folder")
}

fn search(folder: &Path, token: &[u8], seen: &mut usize) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            search(&path, token, seen)?;
        } else if kind.is_file() {
            *seen += 1;
            let bytes = fs::read(&path)?;
            let found = bytes.windows(token.len()).any(|window| window == token);
            expect(!found, format!("the token stands in `{}`", path.display()))?;
        }
    }
    Ok(())
}
