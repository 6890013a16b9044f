//! Operands of built-in commands that bash evaluates: the variable behind `-v`, also where a value from
//! elsewhere brings the `-v`. With `-v a[$(id)]` in a file, `[ $(cat file) ]` runs `id`.

use super::Parser;
use crate::model::script::{Dynamic, Piece, Word};

impl Parser<'_, '_> {
    /// `test` and `[`: the word behind a `-v`, wherever that stands.
    pub(super) fn tested(&mut self, words: &[Word]) {
        if !self.is_bash() {
            return;
        }
        let mut after_option = false;
        for word in words {
            match word.as_static() {
                Some(text) => {
                    self.state.evaluates |= text == b"-v";
                    if after_option {
                        self.evaluate_subscript(text);
                    }
                    after_option = text == b"-v";
                }
                None => {
                    if after_option || splits(word) {
                        self.evaluate_word(word);
                    }
                    after_option = splits(word) || may_be(word, b"-v");
                }
            }
        }
    }

    /// `printf -v NAME` and `wait -p NAME`: words from elsewhere that may be the option, with the name
    /// glued to it or behind it.
    pub(super) fn optional_name(&mut self, option: &[u8], words: &[Word]) {
        if !self.is_bash() {
            return;
        }
        for (at, word) in words.iter().enumerate() {
            if let Some(text) = word.as_static() {
                let is_other = text.starts_with(b"-") && !text.starts_with(option);
                if !is_other || text == b"--" {
                    return;
                }
                continue;
            }
            let prefix = word.static_prefix();
            if !(prefix.is_empty() || prefix.starts_with(b"-")) {
                return;
            }
            let whole = may_be(word, option);
            if splits(word) || whole || ends_subscript(word) {
                self.evaluate_word(word);
            }
            match words.get(at + 1) {
                Some(next) if whole || splits(word) => match next.as_static() {
                    Some(text) => self.evaluate_subscript(text),
                    None => self.evaluate_word(next),
                },
                Some(_) | None => {}
            }
        }
    }

    /// An operand such as `"a[$x]"`, which names an element of the variable `name`.
    pub(super) fn named_element(&mut self, word: &Word, name: &[u8]) {
        let rest = word.static_prefix().strip_prefix(name);
        if rest.is_some_and(|rest| rest.starts_with(b"[")) {
            match word.as_static() {
                Some(text) => self.evaluate_subscript(text),
                None => self.evaluate_word(word),
            }
        }
    }

    fn evaluate_word(&mut self, word: &Word) {
        self.state.evaluates = true;
        self.state.evaluated.note_word(word.clone());
    }

    fn evaluate_subscript(&mut self, text: &[u8]) {
        if text.contains(&b'[') {
            self.state.evaluates = true;
            self.state.evaluated.note(text);
        }
    }
}

/// Whether the word can become several of which one is any text.
fn splits(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Text(_) => false,
        Piece::Dynamic { reason, quoted, .. } => match reason {
            Dynamic::Parameter
            | Dynamic::CommandSubstitution
            | Dynamic::Array
            | Dynamic::Brace
            | Dynamic::FunctionSubstitution => !quoted,
            Dynamic::Arithmetic
            | Dynamic::ProcessSubstitution
            | Dynamic::Glob
            | Dynamic::Tilde
            | Dynamic::Locale => false,
        },
    })
}

/// Whether the word, as one argument, can be `text`.
fn may_be(word: &Word, text: &[u8]) -> bool {
    let mut rest = text;
    let mut gap = false;
    for piece in &word.pieces {
        match piece {
            Piece::Dynamic { .. } => gap = true,
            Piece::Text(own) if own.is_empty() => {}
            Piece::Text(own) => {
                let at = rest.windows(own.len()).position(|window| window == own);
                let Some(at) = at.filter(|&at| gap || at == 0) else {
                    return false;
                };
                rest = rest.get(at + own.len()..).unwrap_or_default();
                gap = false;
            }
        }
    }
    gap || rest.is_empty()
}

/// Whether the word can end in a subscript.
fn ends_subscript(word: &Word) -> bool {
    match word.pieces.last() {
        Some(Piece::Text(text)) => text.ends_with(b"]"),
        Some(Piece::Dynamic { .. }) | None => true,
    }
}
