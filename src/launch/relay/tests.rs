use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollTimeout, poll};
use nix::pty::{PtyMaster, Winsize};
use nix::sys::termios::{LocalFlags, OutputFlags, SetArg, tcgetattr, tcsetattr};

use super::{Flow, Relay, Terminals, pty};
use crate::sys::tty;

const ALL: Terminals = Terminals {
    input: true,
    output: true,
    error: true,
};

/// A stand-in for the real terminal: we sit at `person`, tipstaff has `tty` as 0–2.
struct Desk {
    person: PtyMaster,
    tty: OwnedFd,
}

impl Desk {
    fn new() -> Self {
        let (person, tty) = pty().unwrap();
        Self { person, tty }
    }

    fn relay(&self) -> (Relay, File) {
        let relay = Relay::between(ALL, Some(self.tty.as_fd()), self.tty.as_fd()).unwrap();
        let command = File::from(relay.slave().unwrap().try_clone_to_owned().unwrap());
        (relay, command)
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.tty)
            .unwrap()
            .local_flags
            .contains(LocalFlags::ICANON)
    }

    /// Relays until the person has seen `text`.
    fn see(&mut self, relay: &mut Relay, text: &str) {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(text) {
            relay.ready().unwrap();
            let mut buffer = [0; 4096];
            if let Ok(count) = self.person.read(&mut buffer) {
                seen.extend_from_slice(&buffer[..count]);
            }
        }
    }
}

/// Relays until the command can read something, and reads it.
fn listen(relay: &mut Relay, command: &mut File) -> Vec<u8> {
    loop {
        relay.ready().unwrap();
        let mut fds = [PollFd::new(command.as_fd(), nix::poll::PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::from(10u8)).unwrap() > 0 {
            let mut buffer = [0; 4096];
            let count = command.read(&mut buffer).unwrap();
            return buffer[..count].to_vec();
        }
    }
}

#[test]
fn no_terminal_no_relay() {
    assert!(Relay::open(Terminals::default()).unwrap().is_none());
}

#[test]
fn the_pty_starts_with_modes_and_size_of_the_real_terminal() {
    let desk = Desk::new();
    let mut modes = tcgetattr(&desk.tty).unwrap();
    modes.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&desk.tty, SetArg::TCSANOW, &modes).unwrap();
    let size = Winsize {
        ws_row: 33,
        ws_col: 77,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tty::set_size(&desk.person, &size).unwrap();
    let (relay, command) = desk.relay();
    assert_eq!(tcgetattr(&command).unwrap(), modes);
    assert_eq!(tty::size(&command).unwrap(), size);

    let wider = Winsize { ws_col: 99, ..size };
    tty::set_size(&desk.person, &wider).unwrap();
    relay.resize().unwrap();
    assert_eq!(tty::size(&command).unwrap(), wider);
}

#[test]
fn the_real_terminal_is_raw_only_while_the_relay_runs() {
    let desk = Desk::new();
    let found = tcgetattr(&desk.tty).unwrap();
    let (mut relay, _command) = desk.relay();
    assert!(!desk.is_raw());
    relay.run().unwrap();
    assert!(desk.is_raw());
    relay.hold().unwrap();
    assert_eq!(tcgetattr(&desk.tty).unwrap(), found);
    relay.run().unwrap();
    assert!(desk.is_raw());
    drop(relay);
    assert_eq!(tcgetattr(&desk.tty).unwrap(), found);
}

#[test]
fn bytes_go_both_ways() {
    let mut desk = Desk::new();
    let (mut relay, mut command) = desk.relay();
    relay.run().unwrap();
    desk.person.write_all(b"hello\r").unwrap();
    assert_eq!(listen(&mut relay, &mut command), b"hello\n");
    command.write_all(b"world\n").unwrap();
    // The echo of the pty comes first; the command's own newline is translated once.
    desk.see(&mut relay, "hello\r\nworld\r\n");
}

#[test]
fn keys_are_not_read_while_a_question_is_open() {
    let mut desk = Desk::new();
    let (mut relay, mut command) = desk.relay();
    relay.run().unwrap();
    relay.hold().unwrap();
    desk.person.write_all(b"y\n").unwrap();
    relay.ready().unwrap();
    relay.ready().unwrap();
    // Still there for whoever asks.
    let mut asker = File::from(desk.tty.try_clone().unwrap());
    let mut buffer = [0; 16];
    let count = asker.read(&mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"y\n");
    relay.run().unwrap();
    desk.person.write_all(b"z\r").unwrap();
    assert_eq!(listen(&mut relay, &mut command), b"z\n");
}

#[test]
fn all_output_is_shown_before_the_end_and_nobody_is_overrun() {
    let mut desk = Desk::new();
    let (mut relay, command) = desk.relay();
    let mut modes = tcgetattr(&command).unwrap();
    modes.output_flags.remove(OutputFlags::OPOST);
    tcsetattr(&command, SetArg::TCSANOW, &modes).unwrap();
    relay.run().unwrap();
    relay.release();
    const TOTAL: usize = 1 << 20;
    let writer = std::thread::spawn(move || {
        let mut command = command;
        command.write_all(&vec![b'x'; TOTAL]).unwrap();
        command.write_all(b"end").unwrap();
    });
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    let mut flow = Flow::Open;
    loop {
        if flow == Flow::Open {
            flow = relay.ready().unwrap();
        }
        assert!(relay.to_screen.len() < super::MOST + 8192);
        match desk.person.read(&mut buffer) {
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
            Err(_) if flow == Flow::Ended => break,
            Err(_) => {}
        }
    }
    writer.join().unwrap();
    assert_eq!(seen.len(), TOTAL + 3);
    assert!(seen.ends_with(b"end"));
    relay.finish(Duration::ZERO).unwrap();
}

#[test]
fn a_survivor_that_holds_the_pty_does_not_hold_us() {
    let mut desk = Desk::new();
    let (mut relay, mut command) = desk.relay();
    relay.run().unwrap();
    command.write_all(b"last words").unwrap();
    relay.finish(Duration::from_millis(50)).unwrap();
    let mut buffer = [0; 64];
    let count = desk.person.read(&mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"last words");
    assert!(!desk.is_raw());
}

#[test]
fn a_real_terminal_that_hangs_up_is_an_end_of_file_for_the_command() {
    let desk = Desk::new();
    let (mut relay, mut command) = desk.relay();
    relay.run().unwrap();
    let Desk { person, tty } = desk;
    drop(tty);
    drop(person);
    assert_eq!(listen(&mut relay, &mut command), b"");
}

#[test]
fn without_keys_the_real_terminal_keeps_its_modes() {
    let mut desk = Desk::new();
    let found = tcgetattr(&desk.tty).unwrap();
    let terminals = Terminals {
        input: false,
        ..ALL
    };
    let mut relay = Relay::between(terminals, None, desk.tty.as_fd()).unwrap();
    let mut command = File::from(relay.slave().unwrap().try_clone_to_owned().unwrap());
    relay.run().unwrap();
    assert_eq!(tcgetattr(&desk.tty).unwrap(), found);
    // ISIG: the interrupt key still signals whoever runs in the foreground.
    assert!(found.local_flags.contains(LocalFlags::ISIG));
    command.write_all(b"shown").unwrap();
    desk.see(&mut relay, "shown");
}

#[test]
fn in_a_pipeline_lines_are_passed_on_and_a_pager_keeps_its_keys() {
    let mut desk = Desk::new();
    let found = tcgetattr(&desk.tty).unwrap();
    let terminals = Terminals {
        output: false,
        ..ALL
    };
    let (input, output) = (desk.tty.as_fd(), desk.tty.as_fd());
    let mut relay = Relay::between(terminals, Some(input), output).unwrap();
    let mut command = File::from(relay.slave().unwrap().try_clone_to_owned().unwrap());
    relay.run().unwrap();
    assert_eq!(tcgetattr(&desk.tty).unwrap(), found);
    desk.person.write_all(b"line\n").unwrap();
    assert_eq!(listen(&mut relay, &mut command), b"line\n");

    // A pager takes the keyboard.
    let mut modes = found.clone();
    modes.local_flags.remove(LocalFlags::ICANON);
    tcsetattr(&desk.tty, SetArg::TCSANOW, &modes).unwrap();
    desk.person.write_all(b"q").unwrap();
    relay.ready().unwrap();
    relay.ready().unwrap();
    assert!(relay.to_command.is_empty());
    let mut pager = File::from(desk.tty.try_clone().unwrap());
    let mut buffer = [0; 16];
    assert_eq!(pager.read(&mut buffer).unwrap(), 1);
    drop(relay);
    assert_eq!(tcgetattr(&desk.tty).unwrap(), modes);

    // Echoed once, by the real terminal alone.
    command.write_all(b"said").ok();
    let mut echoed: Vec<u8> = Vec::new();
    while echoed.len() < b"line\r\nq".len() {
        let mut buffer = [0; 64];
        let count = desk.person.read(&mut buffer).unwrap();
        echoed.extend_from_slice(&buffer[..count]);
    }
    assert_eq!(echoed, b"line\r\nq");
}

#[test]
fn an_end_of_file_key_in_a_pipeline_is_passed_on() {
    let mut desk = Desk::new();
    let terminals = Terminals {
        output: false,
        ..ALL
    };
    let (input, output) = (desk.tty.as_fd(), desk.tty.as_fd());
    let mut relay = Relay::between(terminals, Some(input), output).unwrap();
    let mut command = File::from(relay.slave().unwrap().try_clone_to_owned().unwrap());
    relay.run().unwrap();
    desk.person.write_all(b"\x04").unwrap();
    assert_eq!(listen(&mut relay, &mut command), b"");
}
