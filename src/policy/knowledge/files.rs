//! The files of `policies/programs/`, compiled in.

/// One data file with the names it speaks of.
#[derive(Clone, Copy, Debug)]
pub struct ProgramFile {
    /// File name below `policies/programs/`.
    pub name: &'static str,
    /// Names of its programs, so that the text is parsed only when one of them is used.
    pub names: &'static [&'static str],
    /// Its TOML text.
    pub text: &'static str,
}

// By `build.rs`: `FILES`, and in `NAMES` each program with the file it stands in, sorted.
include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// The compiled-in files, for the tests that check them.
pub fn program_files() -> Vec<ProgramFile> {
    FILES.to_vec()
}

impl ProgramFile {
    /// Its programs.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in words.
    pub fn programs(&self) -> Result<Vec<super::Program>, String> {
        super::grammar::parse(self.text)
    }
}
