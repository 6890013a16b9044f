//! Bounds on what one line may cost.
//!
//! A line is hostile until judged. Recursion is bounded by depth, time by fuel, memory by the length
//! cap and the budgets of the two constructs whose output outgrows their text.

use super::{Parsed, Parser};
use crate::model::script::SyntaxError;

/// Longest line read.
pub(super) const LINE: usize = 1 << 20;

/// Deepest recursion. At about 8 KiB a level in debug builds this stays under half of a 2 MiB stack.
pub(super) const DEPTH: u16 = 100;

/// Here-documents that may wait for their bodies at once; bash refuses the seventeenth.
pub(super) const DOCUMENTS: usize = 16;

/// Words one brace expansion may yield.
pub(super) const BRACE_WORDS: usize = 4096;

/// Bytes that all brace expansions of a line may yield, each word counted with its overhead.
pub(super) const BRACE_BYTES: usize = 8 << 20;

/// Repetitions of `!` before one command; each would be a level of recursion in the shell.
pub(super) const BANGS: usize = 64;

/// Commands in one pipeline; bash parses a pipeline by recursion and refuses long ones.
pub(super) const MEMBERS: usize = 1000;

/// Steps for a line of `length` bytes. Honest text needs a few steps a byte; the retry of `((` as a
/// subshell doubles the work at every level, and that is what runs dry.
pub(super) fn fuel(length: usize) -> u64 {
    32_u64.saturating_mul(length as u64).saturating_add(200_000)
}

impl Parser<'_, '_> {
    /// Uses up one step.
    pub(super) fn tick(&mut self) -> Parsed<()> {
        match self.state.fuel.checked_sub(1) {
            Some(left) => {
                self.state.fuel = left;
                Ok(())
            }
            None => Err(SyntaxError::Limit("work")),
        }
    }

    /// Runs `production` one level of recursion further down.
    pub(super) fn deeper<T>(
        &mut self,
        production: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        if self.state.nesting >= DEPTH {
            return Err(SyntaxError::Limit("nesting"));
        }
        self.state.nesting += 1;
        let result = production(self);
        self.state.nesting -= 1;
        result
    }
}
