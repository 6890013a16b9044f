//! Reading what an exec points at, from the memory of the task that makes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use nix::errno::Errno;

/// Read at a time: strings of an argv mostly lie side by side.
const PAGE: u64 = 4096;
/// The kernel takes no longer argument (MAX_ARG_STRLEN, execve(2)).
const LONGEST: usize = 128 * 1024;
/// The kernel takes no more in sum (three quarters of 8 MiB), pointers included. execve(2)
const MOST: usize = 8 << 20;
/// PATH_MAX, path_resolution(7)
const PATH: usize = 4096;

/// The memory of one task.
#[derive(Debug)]
pub(super) struct Memory {
    file: File,
    page: Vec<u8>,
    at: u64,
    left: usize,
}

impl Memory {
    /// Opens it. The caller has to make sure afterwards that `tid` still means the task it meant.
    pub(super) fn open(tid: i32) -> Result<Self, Errno> {
        let file = File::open(format!("/proc/{tid}/mem")).map_err(|error| errno(&error))?;
        Ok(Self {
            file,
            page: Vec::new(),
            at: 0,
            left: MOST,
        })
    }

    /// A path.
    pub(super) fn path(&mut self, at: u64) -> Result<Vec<u8>, Errno> {
        self.string(at, PATH, Errno::ENAMETOOLONG)
    }

    /// The strings of an array that a null pointer ends; none for a null array.
    pub(super) fn strings(&mut self, array: u64) -> Result<Vec<Vec<u8>>, Errno> {
        if array == 0 {
            return Ok(Vec::new());
        }
        let mut pointers = Vec::new();
        let mut at = array;
        loop {
            let mut word = [0u8; 8];
            for (byte, offset) in word.iter_mut().zip(0..) {
                *byte = self.byte(at.wrapping_add(offset))?;
            }
            match u64::from_ne_bytes(word) {
                0 => break,
                pointer => pointers.push(pointer),
            }
            self.take(8)?;
            at = at.wrapping_add(8);
        }
        pointers
            .into_iter()
            .map(|pointer| self.string(pointer, LONGEST, Errno::E2BIG))
            .collect()
    }

    fn string(&mut self, at: u64, longest: usize, long: Errno) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        let mut at = at;
        loop {
            let chunk = self.from(at)?;
            let end = chunk.iter().position(|byte| *byte == 0);
            let chunk = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            text.extend_from_slice(chunk);
            let length = chunk.len();
            if text.len() >= longest {
                return Err(long);
            }
            self.take(length + 1)?;
            if end.is_some() {
                return Ok(text);
            }
            at = at.wrapping_add(u64::try_from(length).unwrap_or(PAGE));
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Errno> {
        self.left = self.left.checked_sub(bytes).ok_or(Errno::E2BIG)?;
        Ok(())
    }

    fn byte(&mut self, at: u64) -> Result<u8, Errno> {
        self.from(at)?.first().copied().ok_or(Errno::EFAULT)
    }

    /// The bytes from `at` to the end of its page.
    fn from(&mut self, at: u64) -> Result<&[u8], Errno> {
        let start = at - at % PAGE;
        if self.page.is_empty() || self.at != start {
            self.page.resize(usize::try_from(PAGE).unwrap_or(4096), 0);
            let read = self.file.read_at(&mut self.page, start);
            let length = read
                .map_err(|error| errno(&error))
                .inspect_err(|_| self.page.clear())?;
            self.page.truncate(length);
            self.at = start;
        }
        let offset = usize::try_from(at - start).map_err(|_| Errno::EFAULT)?;
        match self.page.get(offset..) {
            Some(bytes) if !bytes.is_empty() => Ok(bytes),
            Some(_) | None => Err(Errno::EFAULT),
        }
    }
}

/// What execve(2) says of memory that cannot be read is EFAULT; proc_pid_mem(5) says EIO.
fn errno(error: &io::Error) -> Errno {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EIO) | None => Errno::EFAULT,
        Some(errno) => errno,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{CString, c_char};

    use super::{LONGEST, Memory};
    use nix::errno::Errno;

    fn own() -> Memory {
        Memory::open(std::process::id().cast_signed()).unwrap()
    }

    #[test]
    fn strings_of_any_length_and_place_are_read_whole() {
        let words = ["", "a", &"x".repeat(5000), "ends here"];
        let held: Vec<CString> = words
            .iter()
            .map(|word| CString::new(*word).unwrap())
            .collect();
        let mut array: Vec<*const c_char> = held.iter().map(|word| word.as_ptr()).collect();
        array.push(std::ptr::null());
        let read = own().strings(array.as_ptr() as u64).unwrap();
        let read: Vec<&[u8]> = read.iter().map(Vec::as_slice).collect();
        assert_eq!(read, words.map(str::as_bytes));
    }

    #[test]
    fn what_cannot_be_read_or_is_too_long_has_its_errno() {
        assert_eq!(own().strings(8), Err(Errno::EFAULT));
        assert_eq!(own().strings(0), Ok(Vec::new()));
        let long = CString::new(vec![b'x'; LONGEST]).unwrap();
        let array = [long.as_ptr(), std::ptr::null()];
        assert_eq!(own().strings(array.as_ptr() as u64), Err(Errno::E2BIG));
        assert_eq!(own().path(long.as_ptr() as u64), Err(Errno::ENAMETOOLONG));
    }
}
