//! tipstaff runs shell commands for programs that are not trusted to run them alone.
//!
//! It judges every program a line would start, by its real argv and its real file; it confines a child
//! that will run the line, and proves that it is confined; only then it asks, where the policy says so;
//! it runs exactly what was shown, and records both the decision and the end.
//!
//! ```text
//! line -shell-> Script -survey-> Survey -resolve-> Pinned -policy-> Judgement -plan-> Plan
//!      -sandbox-> Parked child (proved) -approval-> Approval -launch-> Outcome -audit-> Record
//! ```
//!
//! [`supervisor::Supervisor`] walks the whole way. Each stage is a module of its own: [`shell`],
//! [`resolve`], [`policy`] (with [`layers`], where policies lie), [`plan`], [`sandbox`], [`approval`],
//! [`launch`], [`audit`]. [`model`] holds the nouns they share, [`sys`] the system calls.
//!
//! # Example
//!
//! A callback decides about what no rule decides. The child stands confined when it is called.
//!
//! ```
//! use tipstaff::approval::{Answer, Callback, Choice, Known, Question, Through, Who};
//! use tipstaff::model::outcome::Outcome;
//! use tipstaff::model::path::AbsolutePath;
//! use tipstaff::model::request::{Command, Request};
//! use tipstaff::supervisor::Supervisor;
//!
//! # let scratch = std::env::temp_dir().join(format!("tipstaff-doc-{}", std::process::id()));
//! # let workspace = scratch.join("work");
//! # std::fs::create_dir_all(&workspace)?;
//! # let environment: tipstaff::model::environment::Environment = [
//! #     (b"HOME".to_vec(), scratch.to_str().unwrap().as_bytes().to_vec()),
//! #     (b"PATH".to_vec(), b"/usr/bin:/bin".to_vec()),
//! # ].into_iter().collect();
//! let approver = Callback::new(|question: &Question| Answer {
//!     object: question.object,
//!     choice: Choice::Once,
//!     by: Who { name: "example".into(), known: Known::Asserted, through: Through::Callback },
//! });
//! let mut request = Request::new(
//!     Command::Line(b"true && mkdir made".to_vec()),
//!     environment.clone(),
//! );
//! request.cwd = Some(AbsolutePath::new(&workspace)?);
//!
//! let report = Supervisor::builder()
//!     .environment(environment)
//!     .approver(approver)
//!     .build()?
//!     .run(request)?;
//!
//! assert_eq!(report.outcome, Outcome::Exited(0));
//! assert!(workspace.join("made").is_dir());
//! # std::fs::remove_dir_all(&scratch)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod approval;
pub mod audit;
pub mod cli;
pub mod gate;
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
