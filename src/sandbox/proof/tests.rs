use nix::errno::Errno;

use super::status::Status;
use super::{Seen, refused};

const GOOD: &str = "Name:\tx\nUid:\t7\t7\t7\t7\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n\
    CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n\
    NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";

#[test]
fn a_status_proves_only_when_every_line_does() {
    let good = Status::parse(GOOD);
    assert_eq!(good.facts().unwrap().len(), 3);
    assert!(good.runs_as(7).is_ok());
    assert!(good.runs_as(8).is_err());
    for (line, other) in [
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
        ("NoNewPrivs:\t1\n", ""),
        ("Seccomp:\t2", "Seccomp:\t0"),
        ("CapEff:\t0000000000000000", "CapEff:\t0000000000000400"),
        ("CapAmb:\t0000000000000000\n", ""),
        ("CapPrm:\t0000000000000000", "CapPrm:\t000001ffffffffff"),
    ] {
        assert_ne!(GOOD.replace(line, other), GOOD);
        assert!(
            Status::parse(&GOOD.replace(line, other)).facts().is_err(),
            "{other}"
        );
    }
}

#[test]
fn only_what_worked_before_and_fails_as_expected_proves() {
    let prove = |before, after| refused("claim", "attempt", before, after, Errno::EACCES);
    assert!(prove(Ok(()), Err(Errno::EACCES)).is_ok());
    assert!(prove(Ok(()), Ok(())).is_err());
    assert!(prove(Ok(()), Err(Errno::ENOENT)).is_err());
    assert!(prove(Err(Errno::EACCES), Err(Errno::EACCES)).is_err());
}

#[test]
fn a_missing_attempt_is_no_proof() {
    let mut seen = Seen::default();
    for (number, result) in [(257, -13), (41, -13), (62, -1)] {
        seen.note(Some(number), result);
    }
    assert!(seen.all().is_none());
}
