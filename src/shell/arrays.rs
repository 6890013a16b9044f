//! Which variables may be arrays. A declaration of one expands its value a second time: after
//! `declare -a x`, a `(` at the start of `$y` makes `declare x=$y` run what `$y` substitutes.

use std::collections::BTreeSet;

use super::cursor::is_name;
use crate::model::script::{Opaque, Span};

/// What a declaration that expands its operand again is called.
pub(super) const AGAIN: &str = "text that a declaration expands as an array";

/// What the line says about arrays, in whatever order: a loop or a function turns it around.
#[derive(Default)]
pub(super) struct Arrays {
    names: BTreeSet<Vec<u8>>,
    /// Declared variables whose value is not known here.
    declared: Vec<(Vec<u8>, Span)>,
}

/// Arrays of the shell itself, one day or another.
fn is_own(name: &[u8]) -> bool {
    name.starts_with(b"BASH_")
        || name.starts_with(b"COMP")
        || matches!(
            name,
            b"COPROC" | b"DIRSTACK" | b"FUNCNAME" | b"GROUPS" | b"MAPFILE" | b"PIPESTATUS"
        )
}

impl Arrays {
    /// Records that a variable becomes an array.
    pub(super) fn note(&mut self, name: &[u8]) {
        if !self.names.contains(name) {
            self.names.insert(name.to_vec());
        }
    }

    /// Records the array of a word such as `x[1]` that a built-in command assigns.
    pub(super) fn note_element(&mut self, word: &[u8]) {
        let mut parts = word.splitn(2, |&byte| byte == b'[');
        if let (Some(name), Some(_)) = (parts.next(), parts.next())
            && is_name(name)
        {
            self.note(name);
        }
    }

    /// Records the declaration of a variable with a value not known here.
    pub(super) fn declare(&mut self, name: Vec<u8>, span: Span) {
        self.declared.push((name, span));
    }

    /// The declarations that expand their value again.
    pub(super) fn expanded_again(self) -> impl Iterator<Item = Opaque> {
        let names = self.names;
        self.declared
            .into_iter()
            .filter(move |(name, _)| is_own(name) || names.contains(name))
            .map(|(_, span)| Opaque {
                span,
                reason: AGAIN,
            })
    }
}
