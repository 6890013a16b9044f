//! The machinery under the cases: a process per case, exact answers, and a run that can only be green
//! when every case was.

pub mod process;
pub mod selftest;
pub mod suite;
pub mod terminal;
pub mod world;

use std::fmt::Display;

/// Why a case did not pass.
#[derive(Debug)]
pub enum Stop {
    /// This host cannot show it either way; the reason is printed.
    Skip(String),
    /// The claim does not hold, or could not be tested though it should.
    Fail(String),
}

/// What a case or one of its steps comes to.
pub type Outcome<T = ()> = Result<T, Stop>;

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fail(format!("the test itself failed: {error}"))
    }
}

/// A failure in words.
pub fn fail<T>(why: impl Display) -> Outcome<T> {
    Err(Stop::Fail(why.to_string()))
}

/// A skip in words.
pub fn skip<T>(why: impl Display) -> Outcome<T> {
    Err(Stop::Skip(why.to_string()))
}

/// Fails with `why` unless `holds`.
pub fn expect(holds: bool, why: impl Display) -> Outcome {
    if holds { Ok(()) } else { fail(why) }
}

/// Which fakes have to turn a case red (`enforce --self-test`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Red {
    /// A program that always refuses and one that never confines.
    Both,
    /// Only the one that always refuses: the case shows that something allowed works.
    Refusing,
    /// Neither: the case tests the suite's own papers.
    Neither,
}

/// One claim, shown to hold.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name, a sentence in snake case.
    pub name: &'static str,
    /// Number of the claim in docs/SECURITY.md.
    pub claim: u8,
    /// Which fakes turn it red.
    pub red: Red,
    /// Whether it shows what only namespaces give.
    pub apart: bool,
    /// Setup, control, attack.
    pub run: fn(&world::World) -> Outcome,
}

/// An ordinary case.
pub const fn case(name: &'static str, claim: u8, run: fn(&world::World) -> Outcome) -> Case {
    Case {
        name,
        claim,
        red: Red::Both,
        apart: false,
        run,
    }
}

impl Case {
    /// The same case, only for hosts that give namespaces.
    pub const fn apart(self) -> Self {
        Self {
            apart: true,
            ..self
        }
    }

    /// The same case, red under other fakes.
    pub const fn red(self, red: Red) -> Self {
        Self { red, ..self }
    }
}
