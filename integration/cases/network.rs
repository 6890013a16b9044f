//! Claim 2, network: with `--network off` no byte leaves, by whatever family, type or trick.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use crate::harness::world::{World, YES};
use crate::harness::{Case, Outcome, Red, case, expect, skip};

/// What the socket filter answers: the family is refused, not the peer.
const REFUSED: &str = "EACCES";

pub const CASES: &[Case] = &[
    case("tcp_connect", 2, tcp_connect),
    case("tcp_connect_by_ip6", 2, tcp_connect_by_ip6),
    case("tcp_bind", 2, tcp_bind),
    case("udp_send", 2, udp_send),
    case(
        "fast_open_carries_no_connect",
        2,
        fast_open_carries_no_connect,
    ),
    case("multipath_tcp", 2, multipath_tcp),
    case("other_families", 2, other_families),
    case("unix_socket_by_path", 2, unix_socket_by_path),
    case("unix_datagram_by_path", 2, unix_datagram_by_path),
    case(
        "unix_socket_by_abstract_name",
        2,
        unix_socket_by_abstract_name,
    ),
    case("socketpair_works", 2, socketpair_works).red(Red::Refusing),
    case("full_network_connects", 2, full_network_connects).red(Red::Refusing),
    case(
        "network_full_keeps_the_odd_families_out",
        2,
        full_keeps_the_odd_families_out,
    ),
];

fn listener() -> Outcome<(TcpListener, String)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port().to_string();
    Ok((listener, port))
}

/// Fails if anybody has connected.
fn nobody_came(listener: &TcpListener) -> Outcome {
    expect(listener.accept().is_err(), "a connection arrived")
}

fn tcp_connect(w: &World) -> Outcome {
    let (listener, port) = listener()?;
    w.control(&["tcp-connect", &port])?.ok()?;
    listener.accept()?;
    w.attack(&["tcp-connect", &port])?.errno(REFUSED)?;
    nobody_came(&listener)
}

fn tcp_connect_by_ip6(w: &World) -> Outcome {
    let Ok(listener) = TcpListener::bind(("::1", 0)) else {
        return skip("this host has no IPv6 loopback");
    };
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port().to_string();
    w.control(&["tcp6-connect", &port])?.ok()?;
    listener.accept()?;
    w.attack(&["tcp6-connect", &port])?.errno(REFUSED)?;
    nobody_came(&listener)
}

fn tcp_bind(w: &World) -> Outcome {
    w.control(&["tcp-bind"])?.ok()?;
    w.attack(&["tcp-bind"])?.errno(REFUSED)?;
    Ok(())
}

fn udp_send(w: &World) -> Outcome {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.set_nonblocking(true)?;
    let port = socket.local_addr()?.port().to_string();
    let mut bytes = [0u8; 16];
    w.control(&["udp-send", &port])?.ok()?;
    expect(
        socket.recv(&mut bytes)? == 5,
        "the control's datagram did not arrive",
    )?;
    w.attack(&["udp-send", &port])?.errno(REFUSED)?;
    expect(socket.recv(&mut bytes).is_err(), "a datagram arrived")
}

/// Landlock below Linux 6.18's fix lets a connect pass that hides in a send.
fn fast_open_carries_no_connect(w: &World) -> Outcome {
    let (listener, port) = listener()?;
    let control = w.control(&["fastopen-send", &port])?;
    if control.errno_name() == "EOPNOTSUPP" {
        return skip("this kernel has client TCP Fast Open switched off");
    }
    control.ok()?;
    listener.accept()?;
    w.attack(&["fastopen-send", &port])?.errno(REFUSED)?;
    nobody_came(&listener)
}

fn multipath_tcp(w: &World) -> Outcome {
    let (listener, port) = listener()?;
    let control = w.control(&["mptcp-connect", &port])?;
    if control.errno_name() != "ok" {
        return skip(format!(
            "this kernel has no multipath TCP: {}",
            control.errno_name()
        ));
    }
    listener.accept()?;
    w.attack(&["mptcp-connect", &port])?.errno(REFUSED)?;
    nobody_came(&listener)
}

/// Family, type, protocol: raw, packet, netlink, vsock, bluetooth, the kernel's crypto.
const ODD: [(&str, [&str; 3]); 6] = [
    ("raw", ["2", "3", "1"]),
    ("packet", ["17", "3", "768"]),
    ("netlink route", ["16", "3", "0"]),
    ("netlink audit", ["16", "3", "9"]),
    ("vsock", ["40", "1", "0"]),
    ("alg", ["38", "5", "0"]),
];

fn other_families(w: &World) -> Outcome {
    let mut shown = 0;
    for (name, [family, kind, protocol]) in ODD {
        let words = ["socket", family, kind, protocol];
        let control = w.fenced(&words)?.errno_name();
        if control == REFUSED || control == "EAFNOSUPPORT" {
            println!("{name}: this host refuses it without a sandbox too ({control})");
            continue;
        }
        shown += usize::from(control == "ok");
        w.attack(&words)?.errno(REFUSED)?;
    }
    expect(shown > 0, "no family could be opened without a sandbox")
}

/// The way to docker, D-Bus and ssh-agent.
fn unix_socket_by_path(w: &World) -> Outcome {
    let path = w.beside("socket");
    let listener = UnixListener::bind(&path)?;
    listener.set_nonblocking(true)?;
    w.control(&["unix-connect", &path])?.ok()?;
    listener.accept()?;
    w.attack(&["unix-connect", &path])?
        .errno(w.outside_is(REFUSED))?;
    expect(listener.accept().is_err(), "a connection arrived")
}

fn unix_datagram_by_path(w: &World) -> Outcome {
    let path = w.beside("socket");
    let socket = UnixDatagram::bind(&path)?;
    socket.set_nonblocking(true)?;
    let mut bytes = [0u8; 16];
    w.control(&["unix-datagram", &path])?.ok()?;
    expect(
        socket.recv(&mut bytes)? == 5,
        "the control's datagram did not arrive",
    )?;
    w.attack(&["unix-datagram", &path])?
        .errno(w.outside_is(REFUSED))?;
    expect(socket.recv(&mut bytes).is_err(), "a datagram arrived")
}

fn unix_socket_by_abstract_name(w: &World) -> Outcome {
    let name = format!("tipstaff-enforce-{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    listener.set_nonblocking(true)?;
    w.control(&["unix-abstract", &name])?.ok()?;
    listener.accept()?;
    // A network namespace has names of its own.
    let answer = if w.apart { "ECONNREFUSED" } else { REFUSED };
    w.attack(&["unix-abstract", &name])?.errno(answer)?;
    expect(listener.accept().is_err(), "a connection arrived")?;
    // With the host's network its names are there, and only the scope keeps them away.
    let answer = if w.apart { "EPERM" } else { REFUSED };
    let run = w.asked(YES)?.option("--network", "full");
    run.attack(&["unix-abstract", &name])?.errno(answer)?;
    expect(listener.accept().is_err(), "a connection arrived")
}

/// Programs talk to their children through pairs; those have no peer outside.
fn socketpair_works(w: &World) -> Outcome {
    w.attack(&["socketpair"])?.ok()?;
    Ok(())
}

fn full_network_connects(w: &World) -> Outcome {
    let (listener, port) = listener()?;
    w.asked(YES)?
        .option("--network", "full")
        .attack(&["tcp-connect", &port])?
        .ok()?;
    listener.accept()?;
    Ok(())
}

/// `full` means addresses, not every interface of the kernel.
fn full_keeps_the_odd_families_out(w: &World) -> Outcome {
    let words = ["socket", "2", "3", "1"];
    w.fenced(&words)?.ok()?;
    let run = w.asked(YES)?.option("--network", "full");
    run.attack(&words)?.errno(REFUSED)?;
    run.attack(&["socket", "17", "3", "768"])?.errno(REFUSED)?;
    Ok(())
}
