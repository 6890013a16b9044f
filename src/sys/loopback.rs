//! A network namespace with nothing but its loopback device. network_namespaces(7)

use nix::errno::Errno;
use nix::libc;

use super::raw::{call, plain, prctl, word};

/// `struct ifreq`: 16 bytes of name and, for the flags, a short at the start of the union.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

/// Moves the caller into a new network namespace and brings its loopback device up. Needs
/// CAP_SYS_ADMIN, or user namespaces: then the caller keeps its ids in a user namespace of its own.
pub(super) fn enter() -> Result<(), Errno> {
    let (uid, gid) = (
        plain(libc::SYS_getuid, [0; 6])?,
        plain(libc::SYS_getgid, [0; 6])?,
    );
    match plain(libc::SYS_unshare, [word(libc::CLONE_NEWNET), 0, 0, 0, 0, 0]) {
        Ok(_) => {}
        Err(Errno::EPERM) => {
            let both = libc::CLONE_NEWUSER | libc::CLONE_NEWNET;
            plain(libc::SYS_unshare, [word(both), 0, 0, 0, 0, 0])?;
            map_ids(uid, gid)?;
        }
        Err(errno) => return Err(errno),
    }
    up()
}

/// The caller's ids stand for themselves in the user namespace it has just made. user_namespaces(7)
pub(super) fn map_ids(uid: std::ffi::c_long, gid: std::ffi::c_long) -> Result<(), Errno> {
    write(c"/proc/self/setgroups", b"deny")?;
    let mut line = [0u8; 48];
    write(c"/proc/self/uid_map", identity_map(&mut line, uid))?;
    write(c"/proc/self/gid_map", identity_map(&mut line, gid))?;
    // Gaining the namespace's capabilities took it away, and with it the parent's right to trace this
    // child. prctl(2), PR_SET_DUMPABLE
    prctl(libc::PR_SET_DUMPABLE, 1, 0).map(|_| ())
}

/// SIOCSIFFLAGS, IFF_UP on `lo`. netdevice(7)
pub(super) fn up() -> Result<(), Errno> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    let socket = plain(
        libc::SYS_socket,
        [word(libc::AF_INET), word(kind), 0, 0, 0, 0],
    )?;
    let mut name = [0u8; 16];
    for (to, from) in name.iter_mut().zip(b"lo") {
        *to = *from;
    }
    let request = Request {
        name,
        flags: (libc::IFF_UP | libc::IFF_RUNNING) as i16,
        rest: [0; 22],
    };
    let socket = socket.cast_unsigned() as usize;
    let words = [
        socket,
        libc::SIOCSIFFLAGS as usize,
        std::ptr::from_ref(&request) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel copies one `struct ifreq`, 40 bytes, from `request`. netdevice(7)
    let up = unsafe { call(libc::SYS_ioctl, words) };
    plain(libc::SYS_close, [socket, 0, 0, 0, 0, 0])?;
    up.map(|_| ())
}

/// `ID ID 1` in decimal.
fn identity_map(line: &mut [u8; 48], id: std::ffi::c_long) -> &[u8] {
    let mut digits = [0u8; 20];
    let mut count = 0;
    let mut rest = id.cast_unsigned();
    for digit in digits.iter_mut() {
        *digit = b'0'.wrapping_add((rest % 10) as u8);
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    let number = digits.iter().take(count).rev();
    let text = number.clone().chain(b" ").chain(number).chain(b" 1");
    let mut length = 0;
    for (to, from) in line.iter_mut().zip(text) {
        *to = *from;
        length += 1;
    }
    line.get(..length).unwrap_or_default()
}

fn write(path: &std::ffi::CStr, bytes: &[u8]) -> Result<(), Errno> {
    let flags = libc::O_WRONLY | libc::O_CLOEXEC;
    let words = [
        word(libc::AT_FDCWD),
        path.as_ptr() as usize,
        word(flags),
        0,
        0,
        0,
    ];
    // SAFETY: `path` is a NUL-terminated string that outlives the call. openat(2)
    let fd = unsafe { call(libc::SYS_openat, words) }?.cast_unsigned() as usize;
    let words = [fd, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
    // SAFETY: the kernel reads exactly the bytes of the slice. write(2)
    let written = unsafe { call(libc::SYS_write, words) };
    plain(libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    written.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::identity_map;

    #[test]
    fn an_id_maps_to_itself() {
        assert_eq!(identity_map(&mut [0; 48], 0), b"0 0 1");
        assert_eq!(
            identity_map(&mut [0; 48], 4_294_967_294),
            b"4294967294 4294967294 1"
        );
    }
}
