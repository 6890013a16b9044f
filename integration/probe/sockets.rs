//! Probes of the network and of sockets.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram, UnixStream};

use nix::errno::Errno;
use nix::libc;

use crate::{Answer, Probe, argument, errno, number, ok, raw};

pub const PROBES: &[Probe] = &[
    Probe {
        name: "tcp-connect",
        attempt: |a| {
            TcpStream::connect(("127.0.0.1", number(a, 0)?))
                .map_err(errno)
                .and_then(|_| ok())
        },
    },
    Probe {
        name: "tcp6-connect",
        attempt: |a| {
            TcpStream::connect(("::1", number(a, 0)?))
                .map_err(errno)
                .and_then(|_| ok())
        },
    },
    Probe {
        name: "tcp-bind",
        attempt: |_| {
            TcpListener::bind(("127.0.0.1", 0))
                .map_err(errno)
                .and_then(|_| ok())
        },
    },
    Probe {
        name: "udp-send",
        attempt: udp_send,
    },
    Probe {
        name: "fastopen-send",
        attempt: fastopen_send,
    },
    Probe {
        name: "mptcp-connect",
        attempt: mptcp_connect,
    },
    Probe {
        name: "socket",
        attempt: any_socket,
    },
    Probe {
        name: "unix-connect",
        attempt: |a| {
            UnixStream::connect(argument(a, 0)?)
                .map_err(errno)
                .and_then(|_| ok())
        },
    },
    Probe {
        name: "loopback-up",
        attempt: loopback_up,
    },
    Probe {
        name: "unix-abstract",
        attempt: unix_abstract,
    },
    Probe {
        name: "unix-datagram",
        attempt: unix_datagram,
    },
    Probe {
        name: "socketpair",
        attempt: |_| UnixStream::pair().map_err(errno).and_then(|_| ok()),
    },
];

fn udp_send(a: &[String]) -> Answer {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).map_err(errno)?;
    socket
        .send_to(b"probe", ("127.0.0.1", number(a, 0)?))
        .map_err(errno)?;
    ok()
}

/// A socket of any family, type and protocol, by number.
fn open_socket(family: i32, kind: i32, protocol: i32) -> Result<OwnedFd, Errno> {
    let as_argument = |number: i32| usize::try_from(number).map_err(|_| Errno::EDOM);
    let fd = raw::call(
        libc::SYS_socket,
        &[
            as_argument(family)?,
            as_argument(kind)?,
            as_argument(protocol)?,
        ],
    )?;
    let fd = i32::try_from(fd).map_err(|_| Errno::EDOM)?;
    #[allow(
        unsafe_code,
        reason = "a number from socket(2) becomes an owned descriptor"
    )]
    // SAFETY: the kernel just gave this descriptor to us and nobody else knows it. socket(2)
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `socket FAMILY TYPE PROTOCOL`
fn any_socket(a: &[String]) -> Answer {
    open_socket(number(a, 0)?, number(a, 1)?, number(a, 2)?)?;
    ok()
}

/// A `sockaddr_in` for 127.0.0.1:PORT as ip(7) lays it out.
fn loopback(port: u16) -> [u8; 16] {
    let [family_low, family_high] = 2u16.to_ne_bytes();
    let [high, low] = port.to_be_bytes();
    [
        family_low,
        family_high,
        high,
        low,
        127,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ]
}

fn as_argument(fd: &OwnedFd) -> Result<usize, Errno> {
    usize::try_from(fd.as_raw_fd()).map_err(|_| Errno::EDOM)
}

/// TCP Fast Open carries a connect inside a send, past the hook that refuses connect(2)
/// (landlock-lsm/linux issue 41).
fn fastopen_send(a: &[String]) -> Answer {
    let socket = open_socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    let to = loopback(number(a, 0)?);
    let flags = usize::try_from(libc::MSG_FASTOPEN).map_err(|_| Errno::EDOM)?;
    let text = b"probe";
    raw::call(
        libc::SYS_sendto,
        &[
            as_argument(&socket)?,
            text.as_ptr().addr(),
            text.len(),
            flags,
            to.as_ptr().addr(),
            to.len(),
        ],
    )?;
    ok()
}

/// Multipath TCP is another protocol of the same family, which Landlock's TCP rules do not know
/// (landlock-lsm/linux issue 54).
fn mptcp_connect(a: &[String]) -> Answer {
    let socket = open_socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP)?;
    let to = loopback(number(a, 0)?);
    raw::call(
        libc::SYS_connect,
        &[as_argument(&socket)?, to.as_ptr().addr(), to.len()],
    )?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(b"probe").map_err(errno)?;
    ok()
}

/// Sets IFF_UP on the loopback interface of a new network namespace. netdevice(7)
fn loopback_up(_: &[String]) -> Answer {
    let socket = open_socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let fd = as_argument(&socket)?;
    // struct ifreq: 16 bytes of name, then a union of 24 bytes that starts with the flags.
    let mut request = [0u8; 40];
    for (byte, letter) in request.iter_mut().zip(b"lo") {
        *byte = *letter;
    }
    let flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(|_| Errno::EDOM)?;
    for (byte, value) in request.iter_mut().skip(16).zip(flags.to_ne_bytes()) {
        *byte = value;
    }
    raw::call(libc::SYS_ioctl, &[fd, 0x8914, request.as_mut_ptr().addr()])?;
    ok()
}

fn unix_abstract(a: &[String]) -> Answer {
    let name = UnixAddr::from_abstract_name(argument(a, 0)?).map_err(errno)?;
    UnixStream::connect_addr(&name).map_err(errno)?;
    ok()
}

fn unix_datagram(a: &[String]) -> Answer {
    let socket = UnixDatagram::unbound().map_err(errno)?;
    socket.send_to(b"probe", argument(a, 0)?).map_err(errno)?;
    ok()
}
