//! Following `cd` as far as the line alone allows.
//!
//! The aim is not to follow every move but never to follow one wrongly: what may or may not have run
//! leaves the folder unknown, and only an absolute `cd` that surely ran makes it known again.

use super::{Parsed, Parser};
use crate::model::script::Folder;

/// The folder reached so far.
#[derive(Clone, Debug)]
pub(super) struct Whereabouts {
    folder: Folder,
    /// The folder before, where `cd -` leads; none where the line does not tell.
    previous: Option<Folder>,
    /// What `pushd` left behind; none once it cannot be told.
    stack: Option<Vec<Folder>>,
    /// `OLDPWD` or the stack may be changed by hand.
    meddled: bool,
    /// How often the folder was changed; compared before and after a part that may not run.
    moves: usize,
    /// Text that runs at unforeseen moments changes the folder: nothing is known any more.
    lost: bool,
    /// Every `cd` so far surely worked, as within a chain of `&&`; else `$PWD` may be an earlier folder.
    sure: bool,
    /// `CDPATH` was assigned, so a relative `cd` can lead anywhere.
    searched: bool,
}

impl Default for Whereabouts {
    fn default() -> Self {
        Self {
            folder: Folder::Start,
            previous: None,
            stack: Some(Vec::new()),
            meddled: false,
            moves: 0,
            lost: false,
            sure: true,
            searched: false,
        }
    }
}

impl Whereabouts {
    /// The folder of a command that stands here.
    pub(super) fn folder(&self) -> Folder {
        if self.lost {
            Folder::Unknown
        } else {
            self.folder.clone()
        }
    }

    /// `cd TARGET` succeeded.
    pub(super) fn enter(&mut self, target: &[u8]) {
        self.moves += 1;
        self.previous = Some(self.folder.clone());
        // An absolute one makes up for those before it, as long as it worked.
        self.sure |= target.starts_with(b"/");
        self.folder = if target.is_empty() || (self.searched && !target.starts_with(b"/")) {
            Folder::Unknown
        } else if target.starts_with(b"/") {
            Folder::Moved(target.to_vec())
        } else {
            match &self.folder {
                Folder::Start => Folder::Moved(target.to_vec()),
                Folder::Moved(base) if base.len() + target.len() < LONGEST => {
                    Folder::Moved(join(base, target))
                }
                Folder::Home(base) if base.len() + target.len() < LONGEST => {
                    Folder::Home(join(base, target))
                }
                Folder::Moved(_) | Folder::Home(_) | Folder::Unknown => Folder::Unknown,
            }
        };
    }

    /// `cd` without a folder, or with one below `~`.
    pub(super) fn go_home(&mut self, below: &[u8]) {
        self.moves += 1;
        self.previous = Some(self.folder.clone());
        self.sure = true;
        self.folder = Folder::Home(below.to_vec());
    }

    /// `cd -`
    pub(super) fn go_back(&mut self) {
        match self.previous.take().filter(|_| !self.meddled) {
            Some(folder) => {
                self.moves += 1;
                self.previous = Some(std::mem::replace(&mut self.folder, folder));
            }
            None => self.forget(),
        }
    }

    /// `pushd FOLDER` is about to enter one.
    pub(super) fn push(&mut self) {
        let here = self.folder.clone();
        let room = |stack: &Vec<Folder>| stack.len() < DEEPEST;
        self.stack = self.stack.take().filter(room).map(|mut stack| {
            stack.push(here);
            stack
        });
    }

    /// `popd`, or `pushd` alone, which leaves the present folder behind instead.
    pub(super) fn pop(&mut self, swaps: bool) {
        let top = match &mut self.stack {
            Some(stack) if !self.meddled => stack.pop(),
            Some(_) | None => None,
        };
        let Some(folder) = top else {
            return self.forget();
        };
        self.moves += 1;
        let here = std::mem::replace(&mut self.folder, folder);
        if let Some(stack) = self.stack.as_mut().filter(|_| swaps) {
            stack.push(here.clone());
        }
        self.previous = Some(here);
    }

    /// Something else than `cd` and `pushd` sets where they lead back to.
    pub(super) fn meddle(&mut self) {
        self.meddled = true;
    }

    /// The folder changed in a way that cannot be followed.
    pub(super) fn forget(&mut self) {
        self.moves += 1;
        self.folder = Folder::Unknown;
        self.previous = None;
        self.stack = None;
    }

    /// From now on the folder can change at any moment.
    pub(super) fn lose(&mut self) {
        self.moves += 1;
        self.lost = true;
    }

    /// What follows runs whether the moves before it worked or not.
    pub(super) fn doubt(&mut self) {
        self.sure = false;
    }

    /// Whether the shell surely stands where it is thought to.
    pub(super) fn is_sure(&self) -> bool {
        self.sure && !self.lost
    }

    /// `CDPATH` was given a value.
    pub(super) fn search(&mut self) {
        self.searched = true;
    }

    pub(super) fn moves(&self) -> usize {
        self.moves
    }

    /// Takes the folder of `earlier` again, as after a subshell. What is sticky stays.
    pub(super) fn return_to(&mut self, earlier: &Self) {
        self.folder = earlier.folder.clone();
        self.moves = earlier.moves;
        self.sure = earlier.sure;
        self.previous.clone_from(&earlier.previous);
        self.stack.clone_from(&earlier.stack);
    }
}

/// Longest path followed: what no system call takes is no folder (PATH_MAX, limits.h(0p)).
const LONGEST: usize = 4096;

/// Folders left behind that are remembered.
const DEEPEST: usize = 16;

fn join(base: &[u8], target: &[u8]) -> Vec<u8> {
    let separator: &[u8] = if base.ends_with(b"/") { b"" } else { b"/" };
    [base, separator, target].concat()
}

impl Parser<'_, '_> {
    /// A part that runs in a process of its own: its moves end with it.
    pub(super) fn isolated<T>(
        &mut self,
        production: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let before = self.state.whereabouts.clone();
        let point = self.state.values.point();
        let result = production(self);
        self.state.whereabouts.return_to(&before);
        self.state.values.return_to(point);
        result
    }

    /// A part that may or may not run: if it moves, the folder is unknown afterwards, and so are the
    /// variables it changes.
    pub(super) fn branch<T>(
        &mut self,
        production: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let before = self.state.whereabouts.moves();
        let point = self.state.values.point();
        let result = production(self);
        if self.state.whereabouts.moves() != before {
            self.state.whereabouts.forget();
        }
        self.state.values.forget_since(point);
        result
    }

    /// A part that may run again: if it moves, even its first command stands in an unknown folder.
    pub(super) fn repeated<T>(
        &mut self,
        production: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let first = self.state.script.subcommands.len();
        let before = self.state.whereabouts.moves();
        let result = self.rounds(production);
        if self.state.whereabouts.moves() != before {
            self.state.whereabouts.forget();
            for subcommand in self.state.script.subcommands.iter_mut().skip(first) {
                subcommand.folder = Folder::Unknown;
            }
        }
        result
    }

    /// A part that runs later, wherever the shell then stands. Gives back whether it moves.
    pub(super) fn deferred(
        &mut self,
        production: impl FnOnce(&mut Self) -> Parsed<()>,
    ) -> Parsed<bool> {
        let before = self.state.whereabouts.clone();
        self.state.whereabouts.forget();
        let start = self.state.whereabouts.moves();
        let result = self.elsewhere(production);
        let moves = self.state.whereabouts.moves() != start;
        self.state.whereabouts.return_to(&before);
        result.map(|()| moves)
    }
}
