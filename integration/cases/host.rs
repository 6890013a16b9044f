//! What this host enforces, compared with what the caller of the suite says it has to.

use serde_json::Value;

use crate::harness::world::World;
use crate::harness::{Case, Outcome, case, expect, fail, skip};

pub const CASES: &[Case] = &[
    case("landlock_abi_is_what_is_expected", 6, landlock_abi),
    case("doctor_reports_the_expected_level", 6, doctor_level),
];

/// Asked of the kernel, not of the program under test.
fn landlock_abi(w: &World) -> Outcome {
    let abi = w
        .control(&["landlock-abi"])?
        .fact("abi")?
        .as_i64()
        .unwrap_or(0);
    let doctor = doctor(w)?;
    let told = find(&doctor, "landlock").and_then(Value::as_i64);
    expect(
        told == Some(abi),
        format!("the kernel has Landlock ABI {abi}, doctor says {told:?}"),
    )?;
    let Ok(wanted) = std::env::var("SANDBOX_EXPECT_ABI") else {
        return skip(format!(
            "SANDBOX_EXPECT_ABI is not set; this kernel has ABI {abi}"
        ));
    };
    let wanted: i64 = wanted.parse()?;
    expect(
        abi >= wanted,
        format!("Landlock ABI {abi}, expected {wanted} or newer"),
    )
}

fn doctor_level(w: &World) -> Outcome {
    let doctor = doctor(w)?;
    let Some(level) = find(&doctor, "level").and_then(Value::as_str) else {
        return fail(format!("doctor names no level: {doctor}"));
    };
    let Ok(wanted) = std::env::var("TIPSTAFF_EXPECT_LEVEL") else {
        return skip(format!(
            "TIPSTAFF_EXPECT_LEVEL is not set; this host reaches {level}"
        ));
    };
    // Without namespaces there is no L3. L0 < L1 < L2 < L3 in byte order too.
    let wanted = if w.apart {
        wanted.as_str()
    } else {
        wanted.as_str().min("L2")
    };
    expect(
        level >= wanted,
        format!("level {level}, expected {wanted} or higher"),
    )?;
    let proof = w.allowed()?.option("--mode", "bypass").line("true")?;
    expect(
        level < "L2" || proof.code == Some(0),
        "L2 is reported and bypass refused",
    )
}

fn doctor(w: &World) -> Outcome<Value> {
    let ran = w.tipstaff(&["doctor", "--json"])?;
    ran.exits(0)?;
    Ok(serde_json::from_str(&ran.out)?)
}

/// The first member called `name`, however deep.
fn find<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members
            .get(name)
            .or_else(|| members.values().find_map(|member| find(member, name))),
        Value::Array(items) => items.iter().find_map(|item| find(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
