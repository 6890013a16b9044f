//! Identifies a file: opened once, everything else read from the held descriptor.

use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, readlink};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use sha2::{Digest as _, Sha256};

use super::follow::{End, Trail, follow, kind};
use super::shebang::{HEAD, MAX_SCRIPTS, Shebang, env_program, shebang};
use super::trust::trust;
use super::{Held, Resolver};
use crate::model::digest::Digest;
use crate::model::executable::{Executable, FileId, Format, LookupError, Trust};
use crate::model::path::AbsolutePath;
use crate::model::text::Escaped;

/// Read at a time; 1 MiB is some 10 % faster than 64 KiB.
const CHUNK: usize = 1 << 20;

/// Larger files are not identified: hashing them would keep everybody waiting.
const MAX_SIZE: u64 = 4 << 30;

/// A file may be replaced between following its path and opening it, by a package manager for one;
/// then the path is followed again, this often.
const ATTEMPTS: usize = 3;

/// `#!` lines followed through `env` as well; the kernel counts its own only.
const MAX_HOPS: usize = 8;

/// How deep a chain of interpreters is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Depth {
    scripts: usize,
    hops: usize,
}

struct Content {
    digest: Digest,
    size: u64,
    head: Vec<u8>,
}

impl Resolver {
    /// Opens and identifies the file at `path`. `folder` is where a relative interpreter is looked for.
    pub(super) fn identify(
        &self,
        path: &AbsolutePath,
        folder: Option<&AbsolutePath>,
        depth: Depth,
    ) -> Result<Held, LookupError> {
        let mut opened = None;
        for _ in 0..ATTEMPTS {
            let trail = follow(path, b"");
            self.check(path, &trail)?;
            opened = open_unchanged(path, &trail)?.map(|(file, stat)| (file, stat, trail));
            if opened.is_some() {
                break;
            }
        }
        let (file, stat, trail) = opened.ok_or_else(|| LookupError::Unreadable(path.clone()))?;
        let content = read(&file, &stat).ok_or_else(|| LookupError::Unreadable(path.clone()))?;
        let format = self.format(path, folder, &content.head, depth)?;
        let own = trust(&trail, self.subject.uid, &self.write_roots);
        let executable = Executable {
            path: path.clone(),
            real: trail.real,
            id: file_id(&stat),
            size: content.size,
            digest: content.digest,
            trust: weakest(own, &format),
            format,
        };
        Ok(Held { executable, file })
    }

    /// Identifies a file whose text a program runs: it needs neither a right to execute nor a `#!`.
    pub(super) fn identify_text(&self, path: &AbsolutePath) -> Option<Executable> {
        let trail = follow(path, b"");
        let End::Found(stat) = &trail.end else {
            return None;
        };
        if kind(stat) != SFlag::S_IFREG || !self.subject.reaches(&trail) {
            return None;
        }
        let (file, stat) = open_unchanged(path, &trail).ok()??;
        let content = read(&file, &stat)?;
        Some(Executable {
            path: path.clone(),
            id: file_id(&stat),
            size: content.size,
            digest: content.digest,
            trust: trust(&trail, self.subject.uid, &self.write_roots),
            format: Format::Text,
            real: trail.real,
        })
    }

    /// Each way a path can be of no use, before anything is opened: opening a device or a pipe has
    /// effects of its own.
    fn check(&self, path: &AbsolutePath, trail: &Trail) -> Result<(), LookupError> {
        let stat = match &trail.end {
            End::Found(stat) => stat,
            End::Missing(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::ENAMETOOLONG) => {
                return Err(LookupError::NotFound(path.to_string()));
            }
            End::Missing(_) | End::Unknowable => {
                return Err(LookupError::Unreadable(path.clone()));
            }
        };
        let kind = kind(stat);
        if kind == SFlag::S_IFDIR {
            Err(LookupError::Directory(path.clone()))
        } else if !self.subject.reaches(trail) {
            Err(LookupError::Unreadable(path.clone()))
        } else if kind != SFlag::S_IFREG || !self.subject.executes(&trail.real, stat) {
            Err(LookupError::NotExecutable(path.clone()))
        } else {
            Ok(())
        }
    }

    fn format(
        &self,
        path: &AbsolutePath,
        folder: Option<&AbsolutePath>,
        head: &[u8],
        depth: Depth,
    ) -> Result<Format, LookupError> {
        if head.starts_with(b"\x7fELF") {
            return Ok(Format::Elf);
        }
        let Some(line) = shebang(head) else {
            return Ok(Format::Text);
        };
        let unusable = |reason: String| LookupError::Interpreter {
            script: path.clone(),
            reason,
        };
        let depth = Depth {
            scripts: depth.scripts + 1,
            hops: depth.hops + 1,
        };
        if depth.scripts > MAX_SCRIPTS || depth.hops > MAX_HOPS {
            return Err(unusable(
                "interpreters that are scripts nest too deep".into(),
            ));
        }
        let mut interpreter = self
            .interpreter(&line.interpreter, folder, depth)
            .map_err(unusable)?;
        if let Some(program) = self.behind_env(&interpreter, &line).map_err(unusable)? {
            let next = Depth {
                scripts: 0,
                hops: depth.hops,
            };
            let held = self
                .find_from(&program.interpreter, folder, next)
                .map_err(|error| unusable(error.to_string()))?;
            interpreter.trust = worse(interpreter.trust, held.executable.trust);
            interpreter.format = Format::Env {
                program: Box::new(held.executable),
            };
        }
        Ok(Format::Script {
            interpreter: Box::new(interpreter),
            argument: line.argument,
        })
    }

    /// The interpreter of a `#!` line. The kernel takes a relative one from the current folder.
    fn interpreter(
        &self,
        name: &[u8],
        folder: Option<&AbsolutePath>,
        depth: Depth,
    ) -> Result<Executable, String> {
        if name.ends_with(b"\r") {
            return Err(format!(
                "`{}` ends in a carriage return; the file has the line ends of another system",
                Escaped(name)
            ));
        }
        let path = self
            .place(name, folder)
            .ok_or("its path depends on a folder that is not known")?;
        let held = self
            .identify(&path, folder, depth)
            .map_err(|error| error.to_string())?;
        match held.executable.format {
            Format::Elf | Format::Script { .. } | Format::Env { .. } => Ok(held.executable),
            Format::Text => Err(format!("`{path}` is neither a binary nor a script")),
        }
    }

    /// What `#!/usr/bin/env …` starts next. It is kept as the interpreter of `env`, so that whoever
    /// walks the chain of a script meets every program that reads it.
    fn behind_env(
        &self,
        interpreter: &Executable,
        line: &Shebang,
    ) -> Result<Option<Shebang>, String> {
        if !interpreter.base_names().contains(&b"env".as_slice()) {
            return Ok(None);
        }
        let argument = line.argument.as_deref().ok_or("`env` is told no program")?;
        env_program(argument).map(Some).map_err(String::from)
    }
}

/// A script is trusted no more than what reads it.
fn weakest(own: Trust, format: &Format) -> Trust {
    match format {
        Format::Script { interpreter, .. } => worse(own, interpreter.trust),
        Format::Env { program } => worse(own, program.trust),
        Format::Elf | Format::Text => own,
    }
}

fn worse(one: Trust, other: Trust) -> Trust {
    if one == Trust::Trusted { other } else { one }
}

pub(super) fn file_id(stat: &FileStat) -> FileId {
    FileId {
        dev: stat.st_dev,
        ino: stat.st_ino,
    }
}

/// Opens the end of `trail` and makes sure that it is the very file that was judged on the way: same
/// inode, same path after links. `None`: it changed meanwhile.
fn open_unchanged(
    path: &AbsolutePath,
    trail: &Trail,
) -> Result<Option<(OwnedFd, FileStat)>, LookupError> {
    let End::Found(seen) = &trail.end else {
        return Ok(None);
    };
    // O_NONBLOCK: should a pipe have taken the place, open(2) must not wait for a writer.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = match open(trail.real.as_path(), flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(None),
        Err(_) => return Err(LookupError::Unreadable(path.clone())),
    };
    let stat = fstat(&file).map_err(|_| LookupError::Unreadable(path.clone()))?;
    if file_id(&stat) != file_id(seen) || kind(&stat) != SFlag::S_IFREG {
        return Ok(None);
    }
    let same = real_path(&file).is_none_or(|real| real == trail.real);
    Ok(same.then_some((file, stat)))
}

/// The kernel's own word on where an open file lies; `None` without `/proc`.
pub(super) fn real_path(file: &OwnedFd) -> Option<AbsolutePath> {
    let link = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()).as_str()).ok()?;
    link.as_bytes()
        .starts_with(b"/")
        .then(|| AbsolutePath::new(link).ok())
        .flatten()
}

/// Hashes the content at fixed offsets, so that the descriptor's own offset stays at the start.
/// `None` when it cannot be read or grows under our hands.
fn read(file: &OwnedFd, stat: &FileStat) -> Option<Content> {
    let expected = u64::try_from(stat.st_size).ok()?;
    if expected > MAX_SIZE {
        return None;
    }
    let file = File::from(file.try_clone().ok()?);
    let mut buffer = vec![0u8; CHUNK.min(usize::try_from(expected).ok()?.saturating_add(1))];
    let mut head = Vec::new();
    let mut hash = Sha256::new();
    let mut size = 0u64;
    loop {
        let count = match file.read_at(&mut buffer, size) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        if count == 0 {
            break;
        }
        let chunk = buffer.get(..count)?;
        hash.update(chunk);
        let missing = HEAD.saturating_sub(head.len());
        head.extend_from_slice(chunk.get(..missing.min(count))?);
        size += u64::try_from(count).ok()?;
        if size > expected.saturating_add(u64::try_from(CHUNK).ok()?) {
            return None;
        }
    }
    Some(Content {
        digest: Digest(hash.finalize().into()),
        size,
        head,
    })
}
