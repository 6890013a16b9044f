//! tipstaff runs shell commands for programs that are not trusted to run them alone.

pub mod model;
pub mod plan;
pub mod shell;
pub mod sys;
