//! What a word can become when the shell expands it.

use crate::model::script::{Dynamic, Piece, Word};

/// Whether this piece may become any number of words, none included.
fn splits(piece: &Piece) -> bool {
    match piece {
        Piece::Text(_) => false,
        Piece::Dynamic { reason, quoted, .. } => match reason {
            // A quoted `"${x:-y}"` is one word; the parser calls `"$@"`, `"${a[@]}"` and the like unquoted.
            Dynamic::Array | Dynamic::Brace => true,
            Dynamic::Parameter
            | Dynamic::CommandSubstitution
            | Dynamic::FunctionSubstitution
            | Dynamic::Arithmetic
            | Dynamic::Glob => !quoted,
            // One word each: a descriptor's path, a home, a translated text in quotes.
            Dynamic::ProcessSubstitution | Dynamic::Tilde | Dynamic::Locale => false,
        },
    }
}

/// Whether the word may become any number of words, none included.
pub(super) fn is_many(word: &Word) -> bool {
    !is_compound(word) && word.pieces.iter().any(splits)
}

/// Whether it is the `NAME=(…)` of a declaration, the only word of that form: one argument.
fn is_compound(word: &Word) -> bool {
    match word.pieces.as_slice() {
        [Piece::Text(name), Piece::Dynamic { reason, .. }] => {
            *reason == Dynamic::Array && name.ends_with(b"=")
        }
        _ => false,
    }
}

/// Whether some expansion of the word starts with `-`.
pub(super) fn could_be_option(word: &Word) -> bool {
    if is_compound(word) {
        return false;
    }
    for (index, piece) in word.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) if index == 0 && !text.is_empty() => {
                if text.starts_with(b"-") {
                    return true;
                }
            }
            Piece::Text(_) => {}
            Piece::Dynamic { reason, .. } => match reason {
                // `/dev/fd/N`, a home.
                Dynamic::ProcessSubstitution | Dynamic::Tilde => {}
                // File names keep the text before the pattern.
                Dynamic::Glob if has_text_before(word, index) => {}
                Dynamic::Parameter
                | Dynamic::CommandSubstitution
                | Dynamic::Arithmetic
                | Dynamic::Glob
                | Dynamic::Locale
                | Dynamic::Array
                | Dynamic::Brace
                | Dynamic::FunctionSubstitution => {
                    if splits(piece) || !has_text_before(word, index) {
                        return true;
                    }
                }
            },
        }
    }
    false
}

fn has_text_before(word: &Word, index: usize) -> bool {
    word.pieces.iter().take(index).any(|piece| match piece {
        Piece::Text(text) => !text.is_empty(),
        Piece::Dynamic { reason, .. } => matches!(reason, Dynamic::Tilde),
    })
}

/// The word without its first `count` bytes, which have to be known ones.
pub(super) fn without_prefix(word: &Word, count: usize) -> Word {
    let mut pieces = word.pieces.clone();
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        text.drain(..count.min(text.len()));
        if text.is_empty() && pieces.len() > 1 {
            pieces.remove(0);
        }
    }
    Word {
        span: word.span,
        pieces,
    }
}

/// `word` seen with its neighbours: one of several words that nobody knows yet.
pub(super) fn unknown_words(word: &Word) -> Word {
    Word {
        span: word.span,
        pieces: vec![Piece::Dynamic {
            reason: Dynamic::Parameter,
            name: None,
            quoted: false,
        }],
    }
}

/// The words as a shell would read them back, dynamic pieces as `…`; for people only.
pub(super) fn spoken(words: &[Word]) -> String {
    let texts = words.iter().map(|word| {
        let bytes: Vec<u8> = word
            .pieces
            .iter()
            .flat_map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Dynamic { .. } => "…".as_bytes().to_vec(),
            })
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    shell_words::join(texts)
}
