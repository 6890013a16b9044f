//! Whether a predicted sub-command covers a command that really started: word by word, a word known only
//! at run time by what its static pieces allow.

use tipstaff::model::script::{Dynamic, Piece, Word};

/// Whether the words can become `argv`.
pub fn matches(words: &[Word], argv: &[Vec<u8>]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return argv.is_empty();
    };
    if let Some(text) = word.as_static() {
        return argv.first().is_some_and(|first| first == text) && matches(rest, &argv[1..]);
    }
    // `declare x=(…)` is shown as the assignment and `declare x`.
    let name = word.static_prefix();
    let name = name.strip_suffix(b"=").unwrap_or(name);
    let name = name.strip_suffix(b"+").unwrap_or(name);
    if word.dynamic() == Some(Dynamic::Array)
        && argv.first().is_some_and(|first| first == name)
        && matches(rest, &argv[1..])
    {
        return true;
    }
    if !is_many(word) {
        return argv.first().is_some_and(|first| fits(&word.pieces, first))
            && matches(rest, &argv[1..]);
    }
    let solid = word
        .pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Text(_)));
    (usize::from(solid)..=argv.len()).any(|count| {
        let (own, others) = argv.split_at(count);
        let starts = own
            .first()
            .is_none_or(|first| first.starts_with(word.static_prefix()));
        let ends = match (word.pieces.last(), own.last()) {
            (Some(Piece::Text(text)), Some(last)) => last.ends_with(text),
            _ => true,
        };
        starts && ends && matches(rest, others)
    })
}

/// Whether the word can become none or several: what stands unquoted, as which `"$@"` and its like count.
fn is_many(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Text(_) => false,
        Piece::Dynamic { reason, quoted, .. } => {
            !quoted
                || match reason {
                    Dynamic::Array => true,
                    Dynamic::Parameter
                    | Dynamic::CommandSubstitution
                    | Dynamic::ProcessSubstitution
                    | Dynamic::Arithmetic
                    | Dynamic::Glob
                    | Dynamic::Tilde
                    | Dynamic::Locale
                    | Dynamic::Brace
                    | Dynamic::FunctionSubstitution => false,
                }
        }
    })
}

/// Whether one argument can be what the pieces make.
pub fn fits(pieces: &[Piece], text: &[u8]) -> bool {
    match pieces.split_first() {
        None => text.is_empty(),
        Some((Piece::Text(start), rest)) => text
            .strip_prefix(start.as_slice())
            .is_some_and(|text| fits(rest, text)),
        Some((Piece::Dynamic { .. }, rest)) => (0..=text.len()).any(|at| fits(rest, &text[at..])),
    }
}
