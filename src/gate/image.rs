//! Which program a process runs, and which decision covers what that program starts.
//!
//! Every exec makes a new image in memory, and a fork copies it. The kernel puts stack, arguments and code
//! of each image at random places and shows them in `/proc/PID/stat`; no call that the command may make
//! moves those marks (prctl(2) PR_SET_MM and personality(2) are refused). So the marks with the file behind
//! `/proc/PID/exe` name the exec an image comes from, whatever became of the process that made it: an
//! orphan keeps its image, and a process number that is used again has another one. Where the marks are
//! not random they are not unique, and then they name nothing.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::executable::{Executable, FileId};
use crate::model::path::AbsolutePath;

/// Images that are kept before those nobody runs any more are looked for.
const MANY: usize = 2048;
/// Programs of a lineage that are kept: the first and the last ones tell the story.
const LINEAGE: usize = 16;

/// What a decision covers beside the program it was made about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Nothing: what it starts is judged by itself.
    Nothing,
    /// Whatever it starts, but for deny rules.
    Everything,
    /// Programs of these names.
    Helpers(Vec<String>),
}

/// One program, as it was started.
#[derive(Debug)]
pub struct Image {
    /// What covers its execs.
    pub cover: Cover,
    /// What it becomes next by itself: the program behind the `env` of a `#!` line, with the words that
    /// follow it.
    pub next: Option<(Executable, Vec<Vec<u8>>)>,
    /// The files of the programs that led to it, the outermost first, its own last.
    pub lineage: Vec<AbsolutePath>,
}

impl Image {
    /// The lineage of a program at `path` that this one starts.
    pub fn lineage_of(parent: Option<&Self>, path: &AbsolutePath) -> Vec<AbsolutePath> {
        let mut lineage = parent
            .map(|parent| parent.lineage.clone())
            .unwrap_or_default();
        if lineage.len() >= LINEAGE {
            lineage.remove(1);
        }
        lineage.push(path.clone());
        lineage
    }
}

/// The marks of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Print {
    file: (u64, u64),
    marks: [u64; 5],
}

impl Print {
    /// Those of the image that `tid` runs; `None` when they are hidden from us or it has none.
    pub(super) fn of(tid: i32) -> Option<Self> {
        let file = std::fs::metadata(format!("/proc/{tid}/exe")).ok()?;
        Self::with(tid, (file.dev(), file.ino()))
    }

    /// The same where the file is known.
    fn with(tid: i32, file: (u64, u64)) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{tid}/stat")).ok()?;
        Some(Self {
            file,
            marks: marks(&stat)?,
        })
    }
}

/// startcode, startstack, start_brk, arg_start, env_end. proc_pid_stat(5)
fn marks(stat: &[u8]) -> Option<[u64; 5]> {
    // The name stands in parentheses and may hold any byte.
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(after + 1..)?).ok()?;
    // The first field after the name is the third.
    let field = |number: usize| -> Option<u64> {
        fields
            .split_ascii_whitespace()
            .nth(number - 3)?
            .parse()
            .ok()
    };
    let marks = [field(26)?, field(28)?, field(47)?, field(48)?, field(51)?];
    // Zero or one stand for "not for you to see".
    marks.iter().all(|mark| *mark > 1).then_some(marks)
}

/// Every image that somebody may run.
#[derive(Debug)]
pub struct Images {
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    images: HashMap<Print, Option<Arc<Image>>>,
    many: usize,
}

impl Default for Images {
    fn default() -> Self {
        Self {
            known: Mutex::new(Known {
                images: HashMap::new(),
                many: MANY,
            }),
        }
    }
}

impl Images {
    /// The image of these marks, when they name just one.
    pub(super) fn find(&self, print: &Print) -> Option<Arc<Image>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.images.get(print).cloned().flatten()
    }

    /// Notes what `pid` runs, which stands stopped after its exec.
    pub fn note(&self, pid: i32, image: Image) {
        if let Some(print) = Print::of(pid) {
            self.keep(print, image);
        }
    }

    /// The same where the file it runs has been compared already.
    pub(super) fn note_of(&self, pid: i32, file: FileId, image: Image) {
        if let Some(print) = Print::with(pid, (file.dev, file.ino)) {
            self.keep(print, image);
        }
    }

    fn keep(&self, print: Print, image: Image) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.images.len() >= known.many {
            let alive = alive();
            known.images.retain(|print, _| alive.contains(print));
            known.many = MANY.max(2 * known.images.len());
        }
        known
            .images
            .entry(print)
            .and_modify(|image| *image = None)
            .or_insert_with(|| Some(Arc::new(image)));
    }
}

/// The marks of every process there is, threads of their own memory included: those share it.
fn alive() -> std::collections::HashSet<Print> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Print::of(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Cover, Image, Images, Print, marks};

    fn image() -> Image {
        Image {
            cover: Cover::Everything,
            next: None,
            lineage: Vec::new(),
        }
    }

    #[test]
    fn an_image_is_known_by_its_marks_until_two_share_them() {
        let own = std::process::id().cast_signed();
        let print = Print::of(own).unwrap();
        let images = Images::default();
        assert!(images.find(&print).is_none());
        images.note(own, image());
        assert_eq!(images.find(&print).unwrap().cover, Cover::Everything);
        images.note(own, image());
        assert!(
            images.find(&print).is_none(),
            "which of the two it is nobody knows"
        );
    }

    #[test]
    fn hidden_marks_and_strange_names_name_nothing() {
        let own = std::fs::read("/proc/self/stat").unwrap();
        assert!(marks(&own).is_some());
        let fields = |value: &str| vec![value; 52].join(" ");
        let text = |value: &str| format!("7 (a) b) {}", fields(value)).into_bytes();
        assert!(marks(&text("5")).is_some());
        assert!(marks(&text("1")).is_none());
        assert!(marks(&text("0")).is_none());
        assert!(marks(b"7 (a").is_none());
    }
}
