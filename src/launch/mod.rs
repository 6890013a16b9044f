//! The start of what was approved.
#![forbid(unsafe_code)]

pub mod relay;
