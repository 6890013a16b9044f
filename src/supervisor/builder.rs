//! Setting up a supervisor.

use std::path::PathBuf;

use crate::approval::{Approver, Terminal};
use crate::model::environment::Environment;
use crate::model::judgement::Layer;
use crate::model::path::AbsolutePath;
use crate::policy::Source;

use super::Supervisor;
use super::error::Error;
use super::house::House;

/// Which policies are in force beside the built-in and managed ones.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// The user's and the project's.
    Layers,
    /// This file instead.
    File(PathBuf),
    /// This text instead.
    Text(Source),
}

/// Sets up a [`Supervisor`].
#[derive(Default)]
pub struct Builder {
    environment: Environment,
    state: Option<AbsolutePath>,
    choice: Option<Choice>,
    approver: Option<Box<dyn Approver>>,
    command: Option<Vec<String>>,
    terminal: Option<Terminal>,
}

impl Builder {
    /// The supervisor's own environment: it says where policy and record lie (HOME, XDG folders).
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// The folder of records, trust and keys, instead of the one the environment names.
    pub fn state(mut self, folder: AbsolutePath) -> Self {
        self.state = Some(folder);
        self
    }

    /// A policy file that replaces the user and project layers.
    pub fn policy_file(mut self, file: PathBuf) -> Self {
        self.choice = Some(Choice::File(file));
        self
    }

    /// Policy text that replaces the user and project layers; `name` is what messages call it.
    pub fn policy_text(mut self, name: &str, text: String) -> Self {
        let source = Source {
            layer: Layer::Flag,
            name: name.to_owned(),
            text,
            trusted: true,
        };
        self.choice = Some(Choice::Text(source));
        self
    }

    /// Who answers questions, before anybody the policy names.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Box::new(approver));
        self
    }

    /// The command that answers questions, before the one the policy names: program and arguments.
    pub fn approver_command(mut self, argv: Vec<String>) -> Self {
        self.command = Some(argv);
        self
    }

    /// The terminal to ask at when neither the caller nor the policy names an approver.
    pub fn terminal(mut self, terminal: Terminal) -> Self {
        self.terminal = Some(terminal);
        self
    }

    /// The supervisor.
    ///
    /// # Errors
    /// [`Error::NoHome`] when nothing says where record and policy lie.
    pub fn build(self) -> Result<Supervisor, Error> {
        let mut house = House::find(&self.environment)?;
        if let Some(state) = self.state {
            house.state = state;
        }
        Ok(Supervisor {
            environment: self.environment,
            house,
            choice: self.choice.unwrap_or(Choice::Layers),
            approver: self.approver,
            command: self.command,
            terminal: self.terminal,
        })
    }
}
