//! Strings and arrays as execve(2) takes them, laid out before a fork.

use std::ffi::{CStr, CString, NulError, c_char};
use std::ptr;

/// A null-terminated array of pointers to strings: `argv` or `envp`. The array lives exactly as long
/// as the strings it points at, which nothing can change.
#[derive(Debug)]
pub struct Arguments {
    strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Arguments {
    /// Lays out `strings` in order; a NUL inside one cannot be passed and is an error.
    pub fn new<S: Into<Vec<u8>>>(strings: impl IntoIterator<Item = S>) -> Result<Self, NulError> {
        let strings = strings
            .into_iter()
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()?;
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([ptr::null()])
            .collect();
        Ok(Self { strings, pointers })
    }

    /// The strings.
    pub fn iter(&self) -> impl Iterator<Item = &CStr> {
        self.strings.iter().map(CString::as_c_str)
    }

    /// The array; valid while `self` is.
    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}
