//! ETXTBSY: whether a file system refuses to execute what somebody can write, so that a running program
//! keeps the content it was executed with. execve(2), ETXTBSY

use std::num::NonZeroUsize;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::stat::Mode;
use nix::unistd::write;

use super::raw;

/// No format of the kernel, so that executing it fails whatever the file system says; printable, so that
/// the kernel looks for no module that knows it. ENOEXEC, execve(2)
const TEXT: &[u8] = b"nothing that can be executed\n";

/// Tries it in `folder` with a file that has no name: executing it while a descriptor can write it, and
/// while a shared mapping can. Linux 6.11 and 6.12 let the first pass, overlayfs the second.
pub fn is_enforced(folder: &Path) -> Result<bool, Errno> {
    let flags = OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC;
    let file = open(folder, flags, Mode::S_IRWXU)?;
    write(&file, TEXT)?;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    let handle = open(
        name.as_str(),
        OFlag::O_PATH | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    let open_for_writing = execute(handle.as_fd());
    let mapped = while_mapped(file, handle.as_fd())?;
    Ok(open_for_writing == Errno::ETXTBSY && mapped == Errno::ETXTBSY)
}

fn while_mapped(file: OwnedFd, handle: BorrowedFd<'_>) -> Result<Errno, Errno> {
    let length = NonZeroUsize::new(TEXT.len()).ok_or(Errno::EINVAL)?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a fresh mapping at a place of the kernel's choice, which nothing here reads or writes. mmap(2)
    let mapping = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, &file, 0) }?;
    drop(file);
    let answer = execute(handle);
    // SAFETY: the whole of the mapping made above, of which no reference exists. munmap(2)
    unsafe { munmap(mapping, length.get()) }?;
    Ok(answer)
}

/// execveat(2) of a file that is no program.
fn execute(handle: BorrowedFd<'_>) -> Errno {
    let words = [
        raw::word(handle.as_raw_fd()),
        c"".as_ptr() as usize,
        0,
        0,
        raw::word(libc::AT_EMPTY_PATH),
        0,
    ];
    // SAFETY: the path is an empty string and both arrays are null. execveat(2)
    unsafe { raw::call(libc::SYS_execveat, words) }
        .err()
        .unwrap_or(Errno::ENOEXEC)
}

#[cfg(test)]
mod tests {
    use super::is_enforced;

    #[test]
    fn it_is_told_without_becoming_anything() {
        // What the answer is hangs on the file system; that there is one, and that we are still here.
        assert!(is_enforced(&std::env::temp_dir()).is_ok());
        assert!(is_enforced(std::path::Path::new("/proc")).is_err());
    }
}
