//! tipstaff runs shell commands for programs that are not trusted to run them alone.

pub mod launch;
pub mod model;
pub mod plan;
pub mod sandbox;
pub mod sys;
