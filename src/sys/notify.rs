//! The seccomp listener: system calls that wait until another process has answered them.
//! seccomp_unotify(2)

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use super::raw;

/// `SECCOMP_FILTER_FLAG_NEW_LISTENER`, and since Linux 5.19 `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`:
/// once a call is received, no signal but a deadly one takes the question back. seccomp(2)
pub const LISTENER_FLAGS: usize = (1 << 3) | (1 << 5);

// linux/seccomp.h; `_IOWR('!', 0, struct seccomp_notif)` and the like.
const RECEIVE: usize = 0xc050_2100;
const SEND: usize = 0xc018_2101;
const ID_VALID: usize = 0x4008_2102;
const SET_FLAGS: usize = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`
const CONTINUE: u32 = 1;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`
const SYNC_WAKE_UP: usize = 1;

/// `struct seccomp_notif` with its `struct seccomp_data`.
#[repr(C)]
struct Received {
    id: u64,
    tid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`
#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// A call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Names this very call to the kernel; never used again.
    pub id: u64,
    /// The thread that made it, which can be gone already: see [`is_waiting`].
    pub tid: i32,
    /// The number of the call.
    pub number: i64,
    /// Its arguments as words.
    pub arguments: [u64; 6],
}

/// Takes the next waiting call. Blocks when there is none, so poll(2) first; ENOENT when the caller was
/// killed meanwhile. SECCOMP_IOCTL_NOTIF_RECV
pub fn receive(listener: BorrowedFd<'_>) -> Result<Waiting, Errno> {
    let mut received = MaybeUninit::<Received>::zeroed();
    ioctl(listener, RECEIVE, received.as_mut_ptr() as usize)?;
    // SAFETY: zeroed above, which the call demands, and every bit pattern is valid for integers.
    let received = unsafe { received.assume_init() };
    Ok(Waiting {
        id: received.id,
        tid: i32::try_from(received.tid).map_err(|_| Errno::ESRCH)?,
        number: received.number.into(),
        arguments: received.arguments,
    })
}

/// Whether the call still waits; so that what was read of its thread by number was read of that thread.
/// SECCOMP_IOCTL_NOTIF_ID_VALID
pub fn is_waiting(listener: BorrowedFd<'_>, id: u64) -> bool {
    ioctl(listener, ID_VALID, ptr::from_ref(&id) as usize).is_ok()
}

/// Lets the kernel carry the call out, with whatever its arguments point at by then.
/// SECCOMP_USER_NOTIF_FLAG_CONTINUE
pub fn proceed(listener: BorrowedFd<'_>, id: u64) -> Result<(), Errno> {
    respond(
        listener,
        &Response {
            id,
            value: 0,
            error: 0,
            flags: CONTINUE,
        },
    )
}

/// Ends the call with an errno. SECCOMP_IOCTL_NOTIF_SEND
pub fn fail(listener: BorrowedFd<'_>, id: u64, errno: Errno) -> Result<(), Errno> {
    respond(
        listener,
        &Response {
            id,
            value: 0,
            error: -(errno as i32),
            flags: 0,
        },
    )
}

fn respond(listener: BorrowedFd<'_>, response: &Response) -> Result<(), Errno> {
    ioctl(listener, SEND, ptr::from_ref(response) as usize)
}

/// Asks the kernel to hand the processor over with each call and answer, which saves some 25 µs an
/// exec; since Linux 6.6, and of no consequence before. SECCOMP_IOCTL_NOTIF_SET_FLAGS
pub fn hand_over(listener: BorrowedFd<'_>) {
    let words = [
        raw::word(listener.as_raw_fd()),
        SET_FLAGS,
        SYNC_WAKE_UP,
        0,
        0,
        0,
    ];
    raw::plain(libc::SYS_ioctl, words).ok();
}

/// ioctl(2) whose argument is the address of a structure that fits `request`.
fn ioctl(listener: BorrowedFd<'_>, request: usize, address: usize) -> Result<(), Errno> {
    let words = [raw::word(listener.as_raw_fd()), request, address, 0, 0, 0];
    loop {
        // SAFETY: this module's callers pass the address of the structure whose size the request
        // names, alive across the call. seccomp_unotify(2)
        match unsafe { raw::call(libc::SYS_ioctl, words) } {
            Err(Errno::EINTR) => {}
            answer => return answer.map(|_| ()),
        }
    }
}
