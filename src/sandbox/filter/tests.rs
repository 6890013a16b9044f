//! The program run by an interpreter of its own over every call number, against a second telling of
//! what each call should get.

use nix::errno::Errno;
use nix::libc::{self, sock_filter};

use super::{ARCH, UnixSockets, program};
use crate::model::profile::Network;

/// `struct seccomp_data`
#[derive(Clone, Copy)]
struct Call {
    number: u32,
    arch: u32,
    arguments: [u64; 6],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Allow,
    Kill,
    Refuse(Errno),
}

/// What the kernel does with the program (Documentation/networking/filter.rst), for the instructions
/// that seccomp admits and this program uses; any other is a failure of the test.
fn run(program: &[sock_filter], call: Call) -> (Answer, usize) {
    let word = |offset: u32| -> u32 {
        match offset {
            0 => call.number,
            4 => call.arch,
            16..64 if offset.is_multiple_of(4) => {
                let argument = call.arguments[(offset as usize - 16) / 8];
                (argument >> (32 * (u64::from(offset / 4) % 2))) as u32
            }
            _ => panic!("load at {offset}"),
        }
    };
    let (mut at, mut steps, mut accumulator) = (0usize, 0usize, 0u32);
    loop {
        let one = &program[at];
        steps += 1;
        at += 1;
        let truth = match one.code {
            0x20 => {
                accumulator = word(one.k);
                continue;
            }
            0x54 => {
                accumulator &= one.k;
                continue;
            }
            0x05 => {
                at += one.k as usize;
                continue;
            }
            0x06 => return (answer(one.k), steps),
            0x15 => accumulator == one.k,
            0x25 => accumulator > one.k,
            0x35 => accumulator >= one.k,
            code => panic!("instruction {code:#x}"),
        };
        at += usize::from(if truth { one.jt } else { one.jf });
    }
}

fn answer(returned: u32) -> Answer {
    match returned & 0xffff_0000 {
        0x7fff_0000 => Answer::Allow,
        0x8000_0000 => Answer::Kill,
        0x0005_0000 => Answer::Refuse(Errno::from_raw((returned & 0xffff) as i32)),
        other => panic!("action {other:#x}"),
    }
}

fn native(number: i64, arguments: [u64; 6]) -> Call {
    Call {
        number: number as u32,
        arch: ARCH,
        arguments,
    }
}

const ALL: [(Network, UnixSockets); 6] = [
    (Network::Off, UnixSockets::PairsOnly),
    (Network::Off, UnixSockets::ByPath),
    (Network::Loopback, UnixSockets::PairsOnly),
    (Network::Loopback, UnixSockets::ByPath),
    (Network::Full, UnixSockets::PairsOnly),
    (Network::Full, UnixSockets::ByPath),
];

const OFF: (Network, UnixSockets) = (Network::Off, UnixSockets::PairsOnly);

fn ask((network, sockets): (Network, UnixSockets), number: i64, arguments: [u64; 6]) -> Answer {
    let program = program(network, sockets).unwrap();
    run(&program, native(number, arguments)).0
}

/// The refused numbers once more, as numbers, so that a slip in the table shows. x86-64 only: the
/// table of the other architecture differs in a few legacy calls.
#[cfg(target_arch = "x86_64")]
const EPERM: &[u32] = &[
    101, 103, 134, 153, 154, 155, 156, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172,
    173, 175, 176, 179, 212, 227, 246, 256, 272, 279, 298, 300, 301, 303, 304, 305, 308, 310, 311,
    312, 313, 320, 321, 323, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 447, 448, 467,
];
#[cfg(target_arch = "x86_64")]
const ENOSYS: &[u32] = &[180, 248, 249, 250, 425, 426, 427, 435];

#[cfg(target_arch = "x86_64")]
#[test]
fn every_number_gets_its_answer() {
    for (network, sockets) in ALL {
        let program = program(network, sockets).unwrap();
        for number in 0..1024u32 {
            let expected = if EPERM.contains(&number) {
                Answer::Refuse(Errno::EPERM)
            } else if ENOSYS.contains(&number) {
                Answer::Refuse(Errno::ENOSYS)
            } else if number == libc::SYS_socket as u32 || number == libc::SYS_socketpair as u32 {
                continue;
            } else {
                Answer::Allow
            };
            let (answer, _) = run(&program, native(number.into(), [0; 6]));
            assert_eq!(answer, expected, "call {number} with network {network}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn x32_and_foreign_architectures_kill() {
    const I386: u32 = 0x4000_0003;
    let program = program(Network::Off, UnixSockets::PairsOnly).unwrap();
    for number in 0..600 {
        let x32 = Call {
            number: number | 0x4000_0000,
            arch: ARCH,
            arguments: [0; 6],
        };
        assert_eq!(run(&program, x32).0, Answer::Kill);
        let foreign = Call {
            number,
            arch: I386,
            arguments: [0; 6],
        };
        assert_eq!(run(&program, foreign).0, Answer::Kill);
    }
    assert_eq!(run(&program, native(-1, [0; 6])).0, Answer::Allow);
}

#[test]
fn arguments_decide_and_upper_halves_do_not_deceive() {
    let refused = Answer::Refuse(Errno::EPERM);
    let high = 0xdead_beef_0000_0000u64;
    for case in ALL {
        // A thread of the C library.
        assert_eq!(
            ask(case, libc::SYS_clone, [0x3d_0f00, 0, 0, 0, 0, 0]),
            Answer::Allow
        );
        for bit in [
            0x2_0000u64,
            0x0200_0000,
            0x0400_0000,
            0x0800_0000,
            0x1000_0000,
            0x2000_0000,
            0x4000_0000,
        ] {
            assert_eq!(
                ask(case, libc::SYS_clone, [bit | 17, 0, 0, 0, 0, 0]),
                refused
            );
        }
        for request in [0x5412, 0x541c, 0x5423] {
            assert_eq!(
                ask(case, libc::SYS_ioctl, [0, request | high, 0, 0, 0, 0]),
                refused
            );
        }
        assert_eq!(
            ask(case, libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0]),
            Answer::Allow
        );
        for mode in [0o4755, 0o2755, 0o6000] {
            assert_eq!(
                ask(case, libc::SYS_fchmod, [0, mode | high, 0, 0, 0, 0]),
                refused
            );
            assert_eq!(
                ask(case, libc::SYS_fchmodat, [0, 0, mode, 0, 0, 0]),
                refused
            );
            assert_eq!(ask(case, 452, [0, 0, mode, 0, 0, 0]), refused);
        }
        assert_eq!(
            ask(case, libc::SYS_fchmod, [0, 0o1777, 0, 0, 0, 0]),
            Answer::Allow
        );
        for kind in [0o20_000, 0o60_000] {
            assert_eq!(
                ask(case, libc::SYS_mknodat, [0, 0, kind | 0o666, 0, 0, 0]),
                refused
            );
        }
        assert_eq!(
            ask(case, libc::SYS_mknodat, [0, 0, 0o10_666, 0, 0, 0]),
            Answer::Allow
        );
        for (persona, expected) in [
            (0, Answer::Allow),
            (0xffff_ffff, Answer::Allow),
            (0x4_0000, refused),
        ] {
            assert_eq!(
                ask(case, libc::SYS_personality, [persona, 0, 0, 0, 0, 0]),
                expected
            );
        }
        assert_eq!(
            ask(case, libc::SYS_prctl, [35 | high, 0, 0, 0, 0, 0]),
            refused
        );
        assert_eq!(
            ask(case, libc::SYS_prctl, [15, 0, 0, 0, 0, 0]),
            Answer::Allow
        );
        assert_eq!(ask(case, libc::SYS_seccomp, [1, 8, 0, 0, 0, 0]), refused);
        assert_eq!(
            ask(case, libc::SYS_seccomp, [1, 0, 0, 0, 0, 0]),
            Answer::Allow
        );
        assert_eq!(
            ask(case, libc::SYS_prlimit64, [1, 7, 0x7f00_0000_0000, 0, 0, 0]),
            refused
        );
        assert_eq!(
            ask(case, libc::SYS_prlimit64, [1, 7, 0, 0x7f00_0000_0000, 0, 0]),
            Answer::Allow
        );
        assert_eq!(
            ask(case, libc::SYS_prlimit64, [0, 7, 0x7f00_0000_0000, 0, 0, 0]),
            Answer::Allow
        );
    }
}

#[test]
fn sockets_follow_the_network() {
    let refused = Answer::Refuse(Errno::EACCES);
    // family, type, protocol: off pairs, off paths, on pairs, on paths
    let cases: [(u64, u64, u64, [bool; 4]); 15] = [
        (1, 1, 0, [false, true, false, true]),
        (1, 2, 0, [false, true, false, true]),
        (2, 1, 0, [false, false, true, true]),
        (2, 1 | 0o2_000_000, 6, [false, false, true, true]),
        (2, 2, 17, [false, false, true, true]),
        (10, 1, 6, [false, false, true, true]),
        (2, 1, 262, [false, false, false, false]),
        (10, 1, 262, [false, false, false, false]),
        (2, 2, 1, [false, false, false, false]),
        (2, 3 | 0o2_000_000, 0, [false, false, false, false]),
        (10, 3, 17, [false, false, false, false]),
        (16, 3, 0, [false, false, true, true]),
        (16, 3, 9, [false, false, false, false]),
        (17, 3, 0, [false, false, false, false]),
        (40, 1, 0, [false, false, false, false]),
    ];
    for (family, kind, protocol, expected) in cases {
        let settings = [ALL[0], ALL[1], ALL[4], ALL[5]];
        for (setting, allowed) in settings.into_iter().zip(expected) {
            let expected = if allowed { Answer::Allow } else { refused };
            let answer = ask(setting, libc::SYS_socket, [family, kind, protocol, 0, 0, 0]);
            assert_eq!(
                answer, expected,
                "socket({family}, {kind}, {protocol}) {setting:?}"
            );
        }
    }
    for (family, kind, allowed) in [
        (1, 1, true),
        (1, 5 | 0o2_000_000, true),
        (1, 2, false),
        (1, 3, false),
        (2, 1, false),
        (30, 5, false),
    ] {
        let expected = if allowed { Answer::Allow } else { refused };
        assert_eq!(
            ask(OFF, libc::SYS_socketpair, [family, kind, 0, 0, 0, 0]),
            expected
        );
    }
}

#[test]
fn every_jump_lands_inside_and_hot_calls_are_short() {
    for (network, sockets) in ALL {
        let program = program(network, sockets).unwrap();
        assert!(program.len() < 400, "{} instructions", program.len());
        for (at, one) in program.iter().enumerate() {
            let furthest = match one.code {
                0x05 => one.k as usize,
                0x15 | 0x25 | 0x35 => usize::from(one.jt.max(one.jf)),
                _ => 0,
            };
            assert!(at + 1 + furthest < program.len() || one.code == 0x06);
        }
        for number in [libc::SYS_ioctl, libc::SYS_clone, libc::SYS_socketpair] {
            let (_, steps) = run(&program, native(number, [1, 1, 0, 0, 0, 0]));
            assert!(steps < 120, "call {number} takes {steps} steps");
        }
    }
}
