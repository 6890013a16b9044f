//! An approver that is a function of the program that uses the library.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::approver::{Answer, Approver, ApproverError};
use super::question::Question;
use super::wait::Wait;

/// Calls a function with the question. A panic in it denies; so does an answer given after the deadline
/// or after the question was cancelled, since a function cannot be interrupted.
pub struct Callback<F>(F);

impl<F: Fn(&Question) -> Answer> Callback<F> {
    /// An approver that answers as `function` does.
    pub const fn new(function: F) -> Self {
        Self(function)
    }
}

impl<F: Fn(&Question) -> Answer> Approver for Callback<F> {
    fn ask(&self, question: &Question, _wait: &Wait<'_>) -> Result<Answer, ApproverError> {
        // The function gets nothing of ours that it could leave half changed.
        catch_unwind(AssertUnwindSafe(|| (self.0)(question))).map_err(|_| ApproverError::Panicked)
    }
}
