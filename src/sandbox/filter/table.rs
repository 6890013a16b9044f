//! The calls the filter refuses, with the reason of each group.

use nix::libc;

/// `prctl` option that moves the marks of a process's own memory: argv, environment, the link of
/// /proc/PID/exe, which identity checks read. prctl(2)
pub(super) const PR_SET_MM: u64 = 35;

/// Refused with EPERM, which programs that probe for a privilege expect.
pub(super) const NOT_PERMITTED: &[i64] = &[
    // Reading or changing another process, also one that was just checked at its exec.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Large attack surface that no build or test needs.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    // Other views of the file tree: mounts, roots, namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Files by handle pass every path rule by. open_by_handle_at(2)
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The machine: kernel, clock, name, swap, accounting, quota, log, hardware.
    libc::SYS_kexec_load,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    // 16-bit segments: an old source of holes, used by Wine alone.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Linux 6.15; not in the C library's headers yet.
const OPEN_TREE_ATTR: i64 = 467;

/// Refused with ENOSYS, so that callers take the older way.
pub(super) const NOT_THERE: &[i64] = &[
    // Its flags stand in memory, where no filter can see them; the C library falls back to clone.
    libc::SYS_clone3,
    // Does by queue what this filter refuses by call. io_uring(7)
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Keyrings are shared with every process of the user, outside too. keyrings(7)
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_nfsservctl,
];

/// Bits of clone(2) that make a namespace. CLONE_NEWTIME shares its bit with the exit signal and means
/// nothing to clone.
pub(super) const NEW_NAMESPACES: &[u64] = &[
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWCGROUP as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
];

/// Requests of ioctl(2) that type into a terminal or change what reads it. ioctl_tty(2)
pub(super) const TERMINAL_REQUESTS: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, TIOCSETD];

/// asm-generic/ioctls.h
const TIOCSETD: u64 = 0x5423;

/// Calls that change a file's mode, with the argument that holds it. A set-id program left in the
/// workspace would give its owner's rights to whoever runs it later. One made by open(2) is empty, and
/// writing to it takes the bits away.
pub(super) const MODE_CHANGES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
];

/// Linux 6.6; one number on every architecture.
const FCHMODAT2: i64 = 452;

/// Calls that make device nodes, with the argument that holds the kind.
pub(super) const NODE_MAKERS: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
