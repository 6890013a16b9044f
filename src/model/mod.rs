//! The nouns of tipstaff: checked types that every stage shares. Nothing here does I/O.
//!
//! The pipeline (the order is the product) hands these values on:
//!
//! ```text
//! line -shell-> Script -survey-> Survey -resolve-> Pinned -policy-> Judgement -plan-> Plan
//!      -sandbox-> Parked (proved) -approval-> Approval -launch-> Outcome -audit-> Record
//! ```
#![forbid(unsafe_code)]

pub mod access;
pub mod deed;
pub mod digest;
pub mod environment;
pub mod executable;
pub mod judgement;
pub mod level;
pub mod mode;
pub mod outcome;
pub mod path;
pub mod profile;
pub mod request;
pub mod script;
pub mod text;
pub mod verdict;
