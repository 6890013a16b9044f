//! Questions of a running command: its exec waits in the kernel while the thread that runs it asks.

use std::io::{PipeReader, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::approval::{self, Approval, Cause, Denial, Wait};
use crate::launch::{Pump, Relay, Signals, Turn};
use crate::model::judgement::Reason;
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;
use crate::plan::Plan;
use crate::sandbox::Proof;

use super::Supervisor;
use super::asking::question;
use super::call::Call;
use super::run::Run;

/// An exec to be asked about.
pub(super) struct Errand {
    pub call: Call,
    pub plan: Plan,
    /// Why, and whether only a person may answer.
    pub why: (Reason, bool),
    /// The programs that led to it.
    pub lineage: Vec<AbsolutePath>,
    /// Its process.
    pub process: OwnedFd,
    pub reply: Sender<(Result<Approval, Denial>, Duration)>,
}

/// Serves errands, and the terminal, while a command runs.
pub(super) struct Counter<'a> {
    pub supervisor: &'a Supervisor,
    pub run: Run<'a>,
    pub proof: &'a Proof,
    pub signals: &'a Signals,
    /// Becomes readable when the command itself ends.
    pub command: OwnedFd,
    pub relay: Option<Relay>,
    pub errands: Receiver<Errand>,
    /// A byte for each errand.
    pub wake: PipeReader,
}

impl Pump for Counter<'_> {
    fn fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let mut fds = self.relay.as_ref().map(Relay::fds).unwrap_or_default();
        fds.push((self.wake.as_fd(), PollFlags::POLLIN));
        fds
    }

    fn ready(&mut self) -> Turn {
        if let Some(relay) = &mut self.relay {
            Pump::ready(relay);
        }
        let mut turn = Turn::default();
        if !self.is_woken() {
            return turn;
        }
        // An errand is sent before its byte, so all whose bytes are taken here are found below.
        let mut bytes = [0; 64];
        let Ok(1..) = self.wake.read(&mut bytes) else {
            return turn;
        };
        while let Ok(errand) = self.errands.try_recv() {
            let asked = Instant::now();
            let said = self.serve(&errand);
            let waited = asked.elapsed();
            turn.uncharged += waited;
            turn.stop |= said
                .as_ref()
                .is_err_and(|denial| denial.reason() == Reason::Cancelled && denial.by().is_some());
            // The thread that sent it waits for this.
            errand.reply.send((said, waited)).ok();
        }
        turn
    }

    fn resized(&mut self) {
        if let Some(relay) = &mut self.relay {
            Pump::resized(relay);
        }
    }
}

impl Counter<'_> {
    fn is_woken(&self) -> bool {
        let mut fds = [PollFd::new(self.wake.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
    }

    /// Asks, with the terminal given back to the person meanwhile.
    fn serve(&mut self, errand: &Errand) -> Result<Approval, Denial> {
        let desk = self
            .supervisor
            .desk(&self.run)
            .map_err(|_| Denial::of(Reason::ApproverError))?;
        let approver = desk.approver().map_err(Denial::nobody)?;
        let started_by: Vec<String> = errand
            .lineage
            .iter()
            .map(|path| Escaped(path.as_bytes()).to_string())
            .collect();
        let news = [format!(
            "the command runs already, and {} wants to start this",
            started_by.join(" > ")
        )];
        let question = question(
            &self.run,
            &errand.call,
            &errand.plan,
            self.proof,
            &news,
            errand.why,
        );
        let timeout = self.run.ground.policy.settings().approvals.timeout();
        let wait = Wait {
            deadline: Instant::now() + timeout,
            cancel: vec![
                (errand.process.as_fd(), Cause::ChildDied),
                (self.command.as_fd(), Cause::ChildDied),
                (self.signals.as_fd(), Cause::Signal),
            ],
        };
        if let Some(relay) = &mut self.relay {
            relay.hold().ok();
        }
        let said = approval::obtain(approver, &question, &wait, self.proof);
        if let Some(relay) = &mut self.relay {
            relay.run().ok();
        }
        said
    }
}
