//! Confined first: the child stands in its sandbox, proved, before anybody is asked.

pub mod filter;
