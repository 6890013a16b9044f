//! tipstaff runs shell commands for programs that are not trusted to run them alone.

pub mod layers;
pub mod model;
pub mod plan;
pub mod policy;
pub mod shell;
pub mod sys;
