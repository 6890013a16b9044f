//! Probes of single system calls. Wrong pointers and impossible descriptors are meant.

use std::os::fd::AsFd as _;

use nix::errno::Errno;
use nix::libc;

use crate::{Answer, Facts, Probe, argument, number, ok, raw};

/// -1 as an argument: no such descriptor.
const NO_FD: usize = usize::MAX;

pub const PROBES: &[Probe] = &[
    Probe {
        name: "syscall",
        attempt: by_name,
    },
    Probe {
        name: "clone-newuser",
        attempt: |_| raw::clone_with(libc::CLONE_NEWUSER).and_then(|_| ok()),
    },
    Probe {
        name: "process-vm-readv",
        attempt: process_vm_readv,
    },
    Probe {
        name: "kill",
        attempt: |a| signal(number(a, 0)?),
    },
    Probe {
        name: "kill-parent",
        // A parent in another process namespace has no number here, and 0 would mean the own group.
        attempt: |_| match nix::unistd::getppid().as_raw() {
            0 => Err(nix::errno::Errno::ESRCH),
            parent => signal(parent),
        },
    },
    Probe {
        name: "tiocsti",
        attempt: |_| ioctl(0x5412),
    },
    Probe {
        name: "tiocsti-high",
        attempt: |_| ioctl(0x5412 | 1 << 40),
    },
    Probe {
        name: "tioclinux",
        attempt: |_| ioctl(0x541c),
    },
    Probe {
        name: "personality",
        attempt: |_| raw::call(libc::SYS_personality, &[0x0004_0000]).and_then(|_| ok()),
    },
    Probe {
        name: "x32",
        attempt: x32,
    },
    Probe {
        name: "int80",
        attempt: int80,
    },
    Probe {
        name: "landlock-abi",
        attempt: landlock_abi,
    },
];

/// A call and arguments that cannot do harm wherever it is reached.
struct Harmless {
    name: &'static str,
    number: libc::c_long,
    arguments: &'static [usize],
}

const HARMLESS: &[Harmless] = &[
    Harmless {
        name: "io_uring_setup",
        number: libc::SYS_io_uring_setup,
        arguments: &[1, 0],
    },
    Harmless {
        name: "io_uring_enter",
        number: libc::SYS_io_uring_enter,
        arguments: &[NO_FD],
    },
    Harmless {
        name: "io_uring_register",
        number: libc::SYS_io_uring_register,
        arguments: &[NO_FD, 1 << 20],
    },
    Harmless {
        name: "clone3",
        number: libc::SYS_clone3,
        arguments: &[0, 0],
    },
    // KEYCTL_GET_KEYRING_ID of the process keyring, without creating one.
    Harmless {
        name: "keyctl",
        number: libc::SYS_keyctl,
        arguments: &[0, NO_FD - 1, 0],
    },
    Harmless {
        name: "add_key",
        number: libc::SYS_add_key,
        arguments: &[0, 0],
    },
    Harmless {
        name: "request_key",
        number: libc::SYS_request_key,
        arguments: &[0, 0],
    },
    Harmless {
        name: "ptrace",
        number: libc::SYS_ptrace,
        arguments: &[libc::PTRACE_TRACEME as usize],
    },
    Harmless {
        name: "process_vm_writev",
        number: libc::SYS_process_vm_writev,
        arguments: &[1, 0, 0, 0, 0, 1],
    },
    Harmless {
        name: "process_madvise",
        number: libc::SYS_process_madvise,
        arguments: &[NO_FD],
    },
    Harmless {
        name: "kcmp",
        number: libc::SYS_kcmp,
        arguments: &[0x7fff_ffff, 0x7fff_ffff],
    },
    Harmless {
        name: "pidfd_getfd",
        number: libc::SYS_pidfd_getfd,
        arguments: &[NO_FD],
    },
    Harmless {
        name: "bpf",
        number: libc::SYS_bpf,
        arguments: &[999, 0, 0],
    },
    Harmless {
        name: "perf_event_open",
        number: libc::SYS_perf_event_open,
        arguments: &[0],
    },
    // UFFD_USER_MODE_ONLY | O_CLOEXEC, which every user may have.
    Harmless {
        name: "userfaultfd",
        number: libc::SYS_userfaultfd,
        arguments: &[1 | libc::O_CLOEXEC as usize],
    },
    Harmless {
        name: "mount",
        number: libc::SYS_mount,
        arguments: &[0],
    },
    Harmless {
        name: "umount2",
        number: libc::SYS_umount2,
        arguments: &[0, 1 << 20],
    },
    Harmless {
        name: "move_mount",
        number: libc::SYS_move_mount,
        arguments: &[NO_FD, 0, NO_FD, 0, 1 << 20],
    },
    Harmless {
        name: "open_tree",
        number: libc::SYS_open_tree,
        arguments: &[NO_FD, 0, 0],
    },
    Harmless {
        name: "fsopen",
        number: libc::SYS_fsopen,
        arguments: &[0, 1 << 20],
    },
    Harmless {
        name: "fsconfig",
        number: libc::SYS_fsconfig,
        arguments: &[NO_FD],
    },
    Harmless {
        name: "fsmount",
        number: libc::SYS_fsmount,
        arguments: &[NO_FD, 1 << 20],
    },
    Harmless {
        name: "fspick",
        number: libc::SYS_fspick,
        arguments: &[NO_FD, 0, 1 << 20],
    },
    Harmless {
        name: "mount_setattr",
        number: libc::SYS_mount_setattr,
        arguments: &[NO_FD, 0, 1 << 20],
    },
    Harmless {
        name: "pivot_root",
        number: libc::SYS_pivot_root,
        arguments: &[0, 0],
    },
    Harmless {
        name: "chroot",
        number: libc::SYS_chroot,
        arguments: &[0],
    },
    Harmless {
        name: "unshare",
        number: libc::SYS_unshare,
        arguments: &[libc::CLONE_NEWUSER as usize],
    },
    Harmless {
        name: "setns",
        number: libc::SYS_setns,
        arguments: &[NO_FD, 0],
    },
    Harmless {
        name: "kexec_load",
        number: libc::SYS_kexec_load,
        arguments: &[0, 1 << 20, 0, 1 << 20],
    },
    Harmless {
        name: "init_module",
        number: libc::SYS_init_module,
        arguments: &[0, 0, 0],
    },
    Harmless {
        name: "finit_module",
        number: libc::SYS_finit_module,
        arguments: &[NO_FD, 0, 0],
    },
    Harmless {
        name: "delete_module",
        number: libc::SYS_delete_module,
        arguments: &[0, 0],
    },
    Harmless {
        name: "open_by_handle_at",
        number: libc::SYS_open_by_handle_at,
        arguments: &[NO_FD, 0, 0],
    },
    Harmless {
        name: "name_to_handle_at",
        number: libc::SYS_name_to_handle_at,
        arguments: &[NO_FD, 0, 0, 0, 1 << 20],
    },
    Harmless {
        name: "swapon",
        number: libc::SYS_swapon,
        arguments: &[0, 1 << 30],
    },
    Harmless {
        name: "swapoff",
        number: libc::SYS_swapoff,
        arguments: &[0],
    },
    // Wrong magic numbers: reboot(2) answers EINVAL.
    Harmless {
        name: "reboot",
        number: libc::SYS_reboot,
        arguments: &[0, 0, 0],
    },
    Harmless {
        name: "settimeofday",
        number: libc::SYS_settimeofday,
        arguments: &[1, 0],
    },
    Harmless {
        name: "clock_settime",
        number: libc::SYS_clock_settime,
        arguments: &[0, 0],
    },
    Harmless {
        name: "quotactl",
        number: libc::SYS_quotactl,
        arguments: &[NO_FD, 0],
    },
    Harmless {
        name: "fanotify_init",
        number: libc::SYS_fanotify_init,
        arguments: &[1 << 30],
    },
    Harmless {
        name: "sethostname",
        number: libc::SYS_sethostname,
        arguments: &[0, 1 << 20],
    },
    Harmless {
        name: "setdomainname",
        number: libc::SYS_setdomainname,
        arguments: &[0, 1 << 20],
    },
    Harmless {
        name: "memfd_secret",
        number: libc::SYS_memfd_secret,
        arguments: &[1 << 20],
    },
    Harmless {
        name: "move_pages",
        number: libc::SYS_move_pages,
        arguments: &[0, 0, 0, 0, 0, 1 << 20],
    },
];

fn by_name(a: &[String]) -> Answer {
    let name = argument(a, 0)?;
    let found = HARMLESS
        .iter()
        .find(|call| call.name == name)
        .ok_or(Errno::EDOM)?;
    raw::call(found.number, found.arguments)?;
    ok()
}

/// Reads one byte of this very process: the kernel allows it whoever asks.
fn process_vm_readv(_: &[String]) -> Answer {
    let source = [7u8; 1];
    let mut target = [0u8; 1];
    let local = [target.as_mut_ptr().addr(), 1];
    let remote = [source.as_ptr().addr(), 1];
    let pid = usize::try_from(nix::unistd::getpid().as_raw()).map_err(|_| Errno::EDOM)?;
    raw::call(
        libc::SYS_process_vm_readv,
        &[pid, local.as_ptr().addr(), 1, remote.as_ptr().addr(), 1, 0],
    )?;
    ok()
}

/// Signal 0 asks whether one might send a signal and sends none. kill(2)
fn signal(pid: i32) -> Answer {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None)?;
    let mut facts = Facts::new();
    facts.insert("pid".to_owned(), pid.into());
    Ok(facts)
}

/// An ioctl on standard input; a harmless one where that is no terminal, since ENOTTY comes first.
fn ioctl(request: usize) -> Answer {
    let stdin = std::io::stdin();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&stdin.as_fd());
    let letter = [b'\n'];
    let fd = usize::try_from(fd).map_err(|_| Errno::EDOM)?;
    raw::call(libc::SYS_ioctl, &[fd, request, letter.as_ptr().addr()])?;
    ok()
}

/// getpid through the x32 table, number 39 with bit 30 set.
#[cfg(target_arch = "x86_64")]
fn x32(_: &[String]) -> Answer {
    raw::call(0x4000_0000 | 39, &[]).and_then(|_| ok())
}

#[cfg(target_arch = "x86_64")]
fn int80(_: &[String]) -> Answer {
    let pid = raw::int80_getpid();
    if pid == i64::from(nix::unistd::getpid().as_raw()) {
        ok()
    } else {
        Err(Errno::ENOSYS)
    }
}

// Other machines have neither entry; the case is skipped there.
#[cfg(not(target_arch = "x86_64"))]
fn x32(_: &[String]) -> Answer {
    Err(Errno::ENOSYS)
}

#[cfg(not(target_arch = "x86_64"))]
fn int80(_: &[String]) -> Answer {
    Err(Errno::ENOSYS)
}

/// Asks the kernel which Landlock ABI it speaks: landlock_create_ruleset(2), flag 1.
fn landlock_abi(_: &[String]) -> Answer {
    let version = raw::call(libc::SYS_landlock_create_ruleset, &[0, 0, 1])?;
    let mut facts = Facts::new();
    facts.insert("abi".to_owned(), version.into());
    Ok(facts)
}
