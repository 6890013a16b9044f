//! Claim 2, system calls: what reaches around files and sockets is refused by the filter.

use std::fs;

use crate::harness::world::World;
use crate::harness::{Case, Outcome, Red, case, expect, skip};

pub const CASES: &[Case] = &[
    case("ptrace", 2, |w| refused(w, &["syscall", "ptrace"], "EPERM")),
    case("memory_of_others", 2, memory_of_others),
    case("io_uring", 2, io_uring),
    case("keyrings", 2, keyrings),
    case("bpf", 2, |w| refused(w, &["syscall", "bpf"], "EPERM")),
    case("perf_event_open", 2, |w| {
        refused(w, &["syscall", "perf_event_open"], "EPERM")
    }),
    case("userfaultfd", 2, |w| {
        refused(w, &["syscall", "userfaultfd"], "EPERM")
    }),
    case("unshare", 2, unshare),
    case("clone3_falls_back", 2, |w| {
        refused(w, &["syscall", "clone3"], "ENOSYS")
    }),
    case("setns", 2, |w| refused(w, &["syscall", "setns"], "EPERM")),
    case("mount_interface", 2, mount_interface),
    case("handles_past_paths", 2, handles_past_paths),
    case("machine_controls", 2, machine_controls),
    case("device_nodes", 2, |w| {
        refused(w, &["mknod-device"], "EPERM")
    }),
    case("set_user_id_bit", 2, set_user_id_bit),
    case(
        "set_user_id_bit_at_creation",
        2,
        set_user_id_bit_at_creation,
    ),
    case("terminal_injection", 2, terminal_injection),
    case("personality", 2, |w| refused(w, &["personality"], "EPERM")),
    case("x32_table", 2, x32_table),
    case("int80_table", 2, int80_table),
    case("threads_still_start", 2, threads_still_start).red(Red::Refusing),
];

/// Control and attack of one call. Where the control is answered like the attack this host cannot show
/// the difference.
fn refused(w: &World, words: &[&str], errno: &str) -> Outcome {
    let control = w.fenced(words)?.errno_name();
    w.attack(words)?.errno(errno)?;
    if control == errno || control == "ENOSYS" {
        return skip(format!(
            "{}: without a sandbox the kernel answers {control} as well",
            words.join(" ")
        ));
    }
    Ok(())
}

/// Several calls of one kind; skipped ones are named, and one at least has to tell.
fn all_refused(w: &World, calls: &[&str], errno: &str) -> Outcome {
    let mut told = 0;
    for name in calls {
        match refused(w, &["syscall", name], errno) {
            Ok(()) => told += 1,
            Err(crate::harness::Stop::Skip(why)) => println!("{why}"),
            Err(stop) => return Err(stop),
        }
    }
    if told == 0 {
        skip("no call of this kind can be told on this host")
    } else {
        Ok(())
    }
}

fn memory_of_others(w: &World) -> Outcome {
    refused(w, &["process-vm-readv"], "EPERM")?;
    all_refused(
        w,
        &[
            "process_vm_writev",
            "process_madvise",
            "pidfd_getfd",
            "kcmp",
        ],
        "EPERM",
    )
}

/// io_uring makes system calls that no filter sees.
fn io_uring(w: &World) -> Outcome {
    all_refused(
        w,
        &["io_uring_setup", "io_uring_enter", "io_uring_register"],
        "ENOSYS",
    )
}

/// Keyrings outlive and cross sandboxes.
fn keyrings(w: &World) -> Outcome {
    all_refused(w, &["keyctl", "add_key", "request_key"], "ENOSYS")
}

fn unshare(w: &World) -> Outcome {
    refused(w, &["syscall", "unshare"], "EPERM")?;
    refused(w, &["clone-newuser"], "EPERM")
}

fn mount_interface(w: &World) -> Outcome {
    let calls = [
        "mount",
        "umount2",
        "move_mount",
        "open_tree",
        "fsopen",
        "fsconfig",
        "fsmount",
        "fspick",
        "mount_setattr",
        "pivot_root",
        "chroot",
    ];
    all_refused(w, &calls, "EPERM")
}

fn handles_past_paths(w: &World) -> Outcome {
    all_refused(w, &["open_by_handle_at", "name_to_handle_at"], "EPERM")
}

fn machine_controls(w: &World) -> Outcome {
    let calls = [
        "kexec_load",
        "init_module",
        "finit_module",
        "delete_module",
        "swapon",
        "swapoff",
        "reboot",
        "settimeofday",
        "clock_settime",
        "quotactl",
        "fanotify_init",
        "sethostname",
        "setdomainname",
        "memfd_secret",
        "move_pages",
    ];
    all_refused(w, &calls, "EPERM")
}

/// A set-user-ID file left in the workspace would run as its owner for whoever starts it later.
fn set_user_id_bit(w: &World) -> Outcome {
    for (name, probe) in [
        ("a", "chmod-suid"),
        ("b", "fchmod-suid"),
        ("c", "fchmodat2-suid"),
    ] {
        let path = w.inside(name);
        fs::write(&path, "")?;
        let control = w.control(&[probe, &path])?;
        if control.errno_name() == "ENOSYS" {
            println!("{probe}: this kernel does not have it");
            continue;
        }
        control.is("suid", "true")?;
        fs::remove_file(&path)?;
        fs::write(&path, "")?;
        w.attack(&[probe, &path])?.errno("EPERM")?;
    }
    Ok(())
}

/// No filter sees the mode that openat2(2) is given. It need not: the bit falls with the first byte
/// written by whoever lacks CAP_FSETID, so that the program it would start is empty. An ordinary user
/// lacks it without a sandbox too.
fn set_user_id_bit_at_creation(w: &World) -> Outcome {
    for (probe, name) in [("create-suid", "a"), ("openat2-suid", "b")] {
        let path = w.inside(name);
        let control = w.control(&[probe, &path])?;
        if w.root() {
            control.is("suid", "true")?;
        }
        fs::remove_file(&path)?;
        w.attack(&[probe, &path])?.ok()?.is("suid", "false")?;
    }
    if w.root() {
        Ok(())
    } else {
        skip("an ordinary user loses the bit without a sandbox as well")
    }
}

/// The low half of the request decides in the kernel, so bits above it must not fool the filter.
fn terminal_injection(w: &World) -> Outcome {
    for probe in ["tiocsti", "tiocsti-high", "tioclinux"] {
        w.control(&[probe])?.errno("ENOTTY")?;
        w.attack(&[probe])?.errno("EPERM")?;
    }
    Ok(())
}

fn only_on_x86_64() -> Outcome {
    if cfg!(target_arch = "x86_64") {
        Ok(())
    } else {
        skip("only x86-64 has this entry")
    }
}

/// A filter that knows one table of numbers must not be passed by another.
fn x32_table(w: &World) -> Outcome {
    only_on_x86_64()?;
    let control = w.control(&["x32"])?.errno_name();
    expect(
        control == "ok" || control == "ENOSYS",
        format!("the control ended with {control}"),
    )?;
    w.attack(&["x32"])?.errno("signal 31")?;
    Ok(())
}

fn int80_table(w: &World) -> Outcome {
    only_on_x86_64()?;
    let control = w.control(&["int80"])?.errno_name();
    if control != "ok" {
        return skip(format!("this kernel has no 32-bit entry: {control}"));
    }
    w.attack(&["int80"])?.errno("signal 31")?;
    Ok(())
}

/// The C library falls back to clone(2) when clone3 is not there; a filter that breaks threads is no
/// use to anybody.
fn threads_still_start(w: &World) -> Outcome {
    let ran = w.allowed()?.line("( echo one & echo two & wait ) | sort")?;
    ran.exits(0)?;
    expect(ran.out == "one\ntwo\n", format!("unexpected output: {ran}"))
}
