//! The deny-set as one seccomp program.
//!
//! What is not listed is allowed: an allow-list breaks on every new C library, and the floor under this
//! filter is Landlock and the empty capability sets. A listed call fails with an errno, so that programs
//! that probe for it fall back; only a call of a foreign architecture kills, since its number means
//! something else here. seccomp(2)
//!
//! The program has two halves. The first, assembled here, checks the architecture and finds the calls
//! that are refused whatever their arguments by binary search. The second, compiled by `seccompiler`,
//! looks at arguments; it is one program for each errno, joined end to end. A call that no half tells
//! apart by its arguments costs the same whatever the size, since the kernel caches its answer.

use std::collections::BTreeMap;

use nix::errno::Errno;
use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use crate::model::profile::Network;

mod table;

/// Whether unix sockets may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnixSockets {
    /// socket(2) is refused, since Landlock before ABI 9 cannot keep a socket from being connected to
    /// any path: docker, D-Bus or an agent would act for the command. Pairs stay.
    PairsOnly,
    /// Landlock decides about every path.
    ByPath,
}

/// `AUDIT_ARCH_…` of the architecture this is built for. audit.h
#[cfg(target_arch = "x86_64")]
pub const ARCH: u32 = 0xc000_003e;
/// `AUDIT_ARCH_…` of the architecture this is built for. audit.h
#[cfg(target_arch = "aarch64")]
pub const ARCH: u32 = 0xc000_00b7;

#[cfg(target_arch = "x86_64")]
const TARGET: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const TARGET: TargetArch = TargetArch::aarch64;

/// Numbers from here on are of the x32 convention, which x86-64 kernels may accept beside their own.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

// linux/bpf_common.h
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The whole program.
pub fn program(
    network: Network,
    sockets: UnixSockets,
) -> Result<Vec<libc::sock_filter>, BackendError> {
    let mut program = prologue();
    program.extend(search(&refused_whatever(network, sockets)));
    program.extend(joined(by_arguments(network, sockets)?));
    Ok(raw(program))
}

/// `SECCOMP_RET_USER_NOTIF`: the call waits for an answer from the listener. seccomp(2)
const NOTIFY: u32 = 0x7fc0_0000;

/// The gate's own program: every exec waits for the supervisor. It stands beside the other, whose
/// refusals and kills go before it; a call of a foreign architecture never gets here.
pub fn listener() -> Vec<libc::sock_filter> {
    let call = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let program = [
        statement(LOAD, ARCHITECTURE),
        jump(JUMP_EQUAL, ARCH, 1, 0),
        statement(RETURN, SeccompAction::KillProcess.into()),
        statement(LOAD, NUMBER),
        jump(JUMP_EQUAL, call(libc::SYS_execve), 1, 0),
        jump(JUMP_EQUAL, call(libc::SYS_execveat), 0, 1),
        statement(RETURN, NOTIFY),
        statement(RETURN, SeccompAction::Allow.into()),
    ];
    raw(program)
}

fn raw(program: impl IntoIterator<Item = sock_filter>) -> Vec<libc::sock_filter> {
    program
        .into_iter()
        .map(|one| libc::sock_filter {
            code: one.code,
            jt: one.jt,
            jf: one.jf,
            k: one.k,
        })
        .collect()
}

/// Calls refused whatever their arguments, sorted by number.
fn refused_whatever(network: Network, sockets: UnixSockets) -> Vec<(u32, Errno)> {
    let mut calls: BTreeMap<u32, Errno> = BTreeMap::new();
    let mut add = |number: i64, errno| {
        if let Ok(number) = u32::try_from(number) {
            calls.insert(number, errno);
        }
    };
    for number in table::NOT_PERMITTED {
        add(*number, Errno::EPERM);
    }
    for number in table::NOT_THERE {
        add(*number, Errno::ENOSYS);
    }
    if no_socket_at_all(network, sockets) {
        add(libc::SYS_socket, Errno::EACCES);
    }
    calls.into_iter().collect()
}

fn no_socket_at_all(network: Network, sockets: UnixSockets) -> bool {
    match (network, sockets) {
        (Network::Off, UnixSockets::PairsOnly) => true,
        (Network::Off, UnixSockets::ByPath) | (Network::Loopback | Network::Full, _) => false,
    }
}

/// Kills what is not a call of this architecture; leaves the number loaded.
fn prologue() -> Vec<sock_filter> {
    let kill = u32::from(SeccompAction::KillProcess);
    let mut program = vec![
        statement(LOAD, ARCHITECTURE),
        jump(JUMP_EQUAL, ARCH, 1, 0),
        statement(RETURN, kill),
        statement(LOAD, NUMBER),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([
        // -1 is no x32 call but what libraries use for "no such call"; the kernel says ENOSYS.
        jump(JUMP_EQUAL, u32::MAX, 2, 0),
        jump(JUMP_AT_LEAST, X32, 0, 1),
        statement(RETURN, kill),
    ]);
    program
}

/// Entries of one leaf of the search tree; small, so that every jump fits its eight bits.
const LEAF: usize = 6;

/// A binary search that returns the errno of a listed number and otherwise runs off its end.
fn search(calls: &[(u32, Errno)]) -> Vec<sock_filter> {
    let mut program = branch(calls);
    // A leaf leaves by a jump whose offset only the finished tree knows.
    let length = program.len();
    for (at, one) in program.iter_mut().enumerate() {
        if one.code == JUMP {
            one.k = u32::try_from(length - at - 1).unwrap_or(u32::MAX);
        }
    }
    program
}

fn branch(calls: &[(u32, Errno)]) -> Vec<sock_filter> {
    if calls.len() <= LEAF {
        return leaf(calls);
    }
    let (low, high) = calls.split_at(calls.len() / 2);
    let Some((first_high, _)) = high.first() else {
        return leaf(calls);
    };
    let low = branch(low);
    // The whole table is about 110 calls: half a tree stays well under 255 instructions, and a test
    // runs every number through the result.
    let skip = u8::try_from(low.len()).unwrap_or(u8::MAX);
    let mut program = vec![jump(JUMP_AT_LEAST, *first_high, skip, 0)];
    program.extend(low);
    program.extend(branch(high));
    program
}

fn leaf(calls: &[(u32, Errno)]) -> Vec<sock_filter> {
    let mut errnos: Vec<Errno> = calls.iter().map(|(_, errno)| *errno).collect();
    errnos.sort_unstable_by_key(|errno| *errno as i32);
    errnos.dedup();
    let mut program = Vec::new();
    for (at, (number, errno)) in calls.iter().enumerate() {
        let place = errnos.iter().position(|one| one == errno).unwrap_or(0);
        // Over the comparisons left, over the way out, to the errno.
        let skip = u8::try_from(calls.len() - at + place).unwrap_or(u8::MAX);
        program.push(jump(JUMP_EQUAL, *number, skip, 0));
    }
    program.push(statement(JUMP, 0));
    program.extend(
        errnos
            .into_iter()
            .map(|errno| statement(RETURN, refuse(errno).into())),
    );
    program
}

fn refuse(errno: Errno) -> SeccompAction {
    SeccompAction::Errno((errno as i32).unsigned_abs())
}

/// One compiled program for each errno.
fn by_arguments(network: Network, sockets: UnixSockets) -> Result<Vec<BpfProgram>, BackendError> {
    let groups = [
        (Errno::EPERM, not_permitted()?),
        (Errno::EACCES, sockets_of(network, sockets)?),
    ];
    groups
        .into_iter()
        .map(|(errno, rules)| {
            SeccompFilter::new(rules, SeccompAction::Allow, refuse(errno), TARGET)?.try_into()
        })
        .collect()
}

/// Joins programs: where one allows, the next is asked; the last one's answer stands.
fn joined(programs: Vec<BpfProgram>) -> BpfProgram {
    let allow = u32::from(SeccompAction::Allow);
    let last = programs.len().saturating_sub(1);
    let mut whole = Vec::new();
    for (at, program) in programs.into_iter().enumerate() {
        let length = program.len();
        for (place, one) in program.into_iter().enumerate() {
            let passes_on = at != last && one.code == RETURN && one.k == allow;
            whole.push(if passes_on {
                statement(JUMP, u32::try_from(length - place - 1).unwrap_or(u32::MAX))
            } else {
                one
            });
        }
    }
    whole
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// What is refused with EPERM for certain arguments.
fn not_permitted() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for bit in table::NEW_NAMESPACES {
        rules
            .entry(libc::SYS_clone)
            .or_default()
            .push(all([bit_set(0, *bit)?])?);
    }
    for request in table::TERMINAL_REQUESTS {
        // The kernel reads 32 bits of the request; a filter on 64 could be passed by by the upper half.
        rules
            .entry(libc::SYS_ioctl)
            .or_default()
            .push(all([equal(1, *request)?])?);
    }
    for (call, argument) in table::MODE_CHANGES {
        for bit in [libc::S_ISUID, libc::S_ISGID] {
            rules
                .entry(*call)
                .or_default()
                .push(all([bit_set(*argument, bit.into())?])?);
        }
    }
    for (call, argument) in table::NODE_MAKERS {
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            let kind = masked(*argument, libc::S_IFMT.into(), kind.into())?;
            rules.entry(*call).or_default().push(all([kind])?);
        }
    }
    // Query and reset stay; any other value turns address randomisation or layout protections off.
    rules.insert(
        libc::SYS_personality,
        vec![all([differs(0, 0)?, differs(0, 0xffff_ffff)?])?],
    );
    rules.insert(libc::SYS_prctl, vec![all([equal(0, table::PR_SET_MM)?])?]);
    // A listener would let the command answer for its children's calls.
    rules.insert(
        libc::SYS_seccomp,
        vec![all([
            equal(0, libc::SECCOMP_SET_MODE_FILTER.into())?,
            bit_set(1, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?,
        ])?],
    );
    // Setting the limits of another process: the supervisor has the same user.
    rules.insert(
        libc::SYS_prlimit64,
        vec![all([
            differs(0, 0)?,
            condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?,
        ])?],
    );
    Ok(rules)
}

/// What is refused with EACCES, which socket(2) documents for this.
///
/// TCP Fast Open and MPTCP, which Landlock's rules miss, need no check of their own: where the network
/// is off no such socket can be made, and elsewhere Landlock restricts no port.
fn sockets_of(network: Network, sockets: UnixSockets) -> Result<Rules, BackendError> {
    let [unix, inet, inet6, netlink] = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ]
    .map(|family| u64::from(family.unsigned_abs()));
    let mut rules = Rules::new();
    // Pairs of stream or packet sockets are connected for good. A datagram one may still be connected
    // to a path, or send to one. unix(7)
    let mut pairs = vec![all([differs(0, unix)?])?];
    if sockets == UnixSockets::PairsOnly {
        // A raw unix socket is a datagram one; the kernel knows no further types here.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            pairs.push(all([masked(1, TYPE_MASK, kind.unsigned_abs().into())?])?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    if no_socket_at_all(network, sockets) {
        return Ok(rules);
    }
    let mut families = match network {
        Network::Off => Vec::new(),
        Network::Loopback | Network::Full => vec![inet, inet6, netlink],
    };
    if sockets == UnixSockets::ByPath {
        families.push(unix);
    }
    let other_family = families
        .iter()
        .map(|family| differs(0, *family))
        .collect::<Result<Vec<_>, _>>()?;
    let mut socket = vec![all(other_family)?];
    for family in [inet, inet6] {
        // Protocols: the default, TCP, UDP. Not MPTCP, nor anything that needs a privilege.
        let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
        let mut other_protocol = vec![equal(0, family)?];
        for protocol in protocols {
            other_protocol.push(differs(2, protocol.unsigned_abs().into())?);
        }
        socket.push(all(other_protocol)?);
        socket.push(all([
            equal(0, family)?,
            masked(1, TYPE_MASK, libc::SOCK_RAW.unsigned_abs().into())?,
        ])?);
    }
    // NETLINK_ROUTE lists interfaces, which name resolution needs; the others talk to more of the kernel.
    socket.push(all([equal(0, netlink)?, differs(2, 0)?])?);
    rules.insert(libc::SYS_socket, socket);
    Ok(rules)
}

/// The part of a socket's type that is no flag. socket(2)
const TYPE_MASK: u64 = 0xf;

fn all(conditions: impl Into<Vec<SeccompCondition>>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(mask),
        value,
    )
}

fn bit_set(argument: u8, bit: u64) -> Result<SeccompCondition, BackendError> {
    masked(argument, bit, bit)
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests;
