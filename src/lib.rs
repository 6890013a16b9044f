//! tipstaff runs shell commands for programs that are not trusted to run them alone.

pub mod approval;
pub mod audit;
pub mod cli;
pub mod launch;
pub mod layers;
pub mod model;
pub mod plan;
pub mod policy;
pub mod resolve;
pub mod sandbox;
pub mod shell;
pub mod supervisor;
pub mod sys;
