//! Word patterns: `*` and `?` match anything but `/`, `**` crosses it; three-valued, since a word can
//! hold pieces that are known only when the shell runs.

use crate::model::script::{Piece, Word};

/// Whether something matches. Ordered: `No < Maybe < Yes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    /// Whatever the shell puts in, it does not match.
    No,
    /// It depends on what the shell puts in.
    Maybe,
    /// It matches.
    Yes,
}

impl From<bool> for Match {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// What a match is wanted for: what only widens a denial may be looser than what widens an
/// allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// An allow rule: narrow.
    Allow,
    /// An ask or deny rule: wide.
    Restrict,
}

/// One token of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This byte.
    Byte(u8),
    /// `?`: one byte but `/`.
    One,
    /// `*`: any bytes but `/`.
    Star,
    /// `**`: any bytes.
    DoubleStar,
}

/// A pattern for one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
    /// Whether it starts with the home folder, which is known at judging only.
    home: bool,
    /// Its bytes, when it holds no wildcard and no home: most patterns are of this kind.
    literal: Option<Vec<u8>>,
}

/// One byte of a word, or a piece that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte(u8),
    Gap,
}

impl Glob {
    pub(super) fn new(tokens: Vec<Token>, home: bool) -> Self {
        let byte = |token: &Token| match token {
            Token::Byte(byte) => Some(*byte),
            Token::One | Token::Star | Token::DoubleStar => None,
        };
        let literal = tokens.iter().map(byte).collect();
        Self {
            literal: if home { None } else { literal },
            tokens,
            home,
        }
    }

    /// Its bytes, when it holds no wildcard and no home.
    pub(super) fn literal(&self) -> Option<&[u8]> {
        self.literal.as_deref()
    }

    /// The same with `*` matching `/` as well, for what is no path.
    pub(super) fn across_slashes(self) -> Self {
        let token = |token| match token {
            Token::Star => Token::DoubleStar,
            Token::Byte(_) | Token::One | Token::DoubleStar => token,
        };
        Self::new(self.tokens.into_iter().map(token).collect(), self.home)
    }

    /// The bytes it surely starts with.
    pub(super) fn starts_with(&self, prefix: &[u8]) -> bool {
        !self.home
            && self.tokens.len() >= prefix.len()
            && self
                .tokens
                .iter()
                .zip(prefix)
                .all(|(token, byte)| *token == Token::Byte(*byte))
    }

    /// Whether it can only match absolute paths.
    pub(super) fn is_absolute(&self) -> bool {
        self.home || self.starts_with(b"/")
    }

    /// Matches bytes that are all known.
    pub(super) fn matches(&self, bytes: &[u8], home: Option<&[u8]>, purpose: Purpose) -> bool {
        if let Some(literal) = self.literal() {
            return literal == bytes;
        }
        let units: Vec<Unit> = bytes.iter().map(|byte| Unit::Byte(*byte)).collect();
        self.run(&units, home, purpose) == Match::Yes
    }

    /// Matches a word, which may hold dynamic pieces.
    pub(super) fn matches_word(&self, word: &Word, home: Option<&[u8]>, purpose: Purpose) -> Match {
        if let (Some(literal), Some(bytes)) = (self.literal(), word.as_static()) {
            return (literal == bytes).into();
        }
        let mut units = Vec::new();
        for piece in &word.pieces {
            match piece {
                Piece::Text(text) => units.extend(text.iter().map(|byte| Unit::Byte(*byte))),
                Piece::Dynamic { .. } => units.push(Unit::Gap),
            }
        }
        self.run(&units, home, purpose)
    }

    fn run(&self, units: &[Unit], home: Option<&[u8]>, purpose: Purpose) -> Match {
        let mut tokens: Vec<Token> = Vec::new();
        if self.home {
            // Without a home folder the pattern names nothing.
            let Some(home) = home else { return Match::No };
            tokens.extend(home.iter().map(|byte| Token::Byte(*byte)));
        }
        tokens.extend(&self.tokens);
        if purpose == Purpose::Allow && climbs(units) > literal_climbs(&tokens) {
            return Match::No;
        }
        table(&tokens, units)
    }
}

/// How many `..` components the known bytes hold.
fn climbs(units: &[Unit]) -> usize {
    units
        .split(|unit| *unit == Unit::Byte(b'/'))
        .filter(|part| *part == [Unit::Byte(b'.'), Unit::Byte(b'.')])
        .count()
}

fn literal_climbs(tokens: &[Token]) -> usize {
    tokens
        .split(|token| *token == Token::Byte(b'/'))
        .filter(|part| *part == [Token::Byte(b'.'), Token::Byte(b'.')])
        .count()
}

/// Rows are positions in the pattern from its end, columns positions in the word from its end: time
/// and space are the product of both lengths, whatever the pattern.
fn table(tokens: &[Token], units: &[Unit]) -> Match {
    let get = |row: &[Match], at: usize| row.get(at).copied().unwrap_or(Match::No);
    // Pattern used up: matches the empty rest, or a rest of gaps that all turn out empty.
    let mut below = vec![Match::Yes; units.len() + 1];
    for at in (0..units.len()).rev() {
        let rest = match units.get(at) {
            Some(Unit::Gap) => get(&below, at + 1).min(Match::Maybe),
            Some(Unit::Byte(_)) | None => Match::No,
        };
        if let Some(cell) = below.get_mut(at) {
            *cell = rest;
        }
    }
    for token in tokens.iter().rev() {
        let mut row = vec![Match::No; units.len() + 1];
        for at in (0..=units.len()).rev() {
            let skip = get(&below, at);
            let many = matches!(token, Token::Star | Token::DoubleStar);
            let value = match (units.get(at), token) {
                (None, _) => {
                    if many {
                        skip
                    } else {
                        Match::No
                    }
                }
                // The gap is empty, or yields what the token wants and perhaps more.
                (Some(Unit::Gap), _) => {
                    let empty = get(&row, at + 1);
                    skip.max(empty).min(Match::Maybe)
                }
                (Some(Unit::Byte(byte)), Token::Byte(wanted)) if byte == wanted => {
                    get(&below, at + 1)
                }
                (Some(Unit::Byte(_)), Token::Byte(_)) => Match::No,
                (Some(Unit::Byte(b'/')), Token::One) => Match::No,
                (Some(Unit::Byte(_)), Token::One) => get(&below, at + 1),
                (Some(Unit::Byte(b'/')), Token::Star) => skip,
                (Some(Unit::Byte(_)), Token::Star | Token::DoubleStar) => {
                    skip.max(get(&row, at + 1))
                }
            };
            if let Some(cell) = row.get_mut(at) {
                *cell = value;
            }
        }
        below = row;
    }
    get(&below, 0)
}

#[cfg(test)]
mod tests {
    use super::{Glob, Match, Purpose, Token};
    use crate::model::script::{Dynamic, Piece, Span, Word};

    fn glob(text: &str) -> Glob {
        let mut tokens = Vec::new();
        for byte in text.bytes() {
            match (byte, tokens.last()) {
                (b'*', Some(Token::Star)) => *tokens.last_mut().unwrap() = Token::DoubleStar,
                (b'*', _) => tokens.push(Token::Star),
                (b'?', _) => tokens.push(Token::One),
                (byte, _) => tokens.push(Token::Byte(byte)),
            }
        }
        Glob::new(tokens, false)
    }

    fn matches(pattern: &str, text: &str) -> bool {
        glob(pattern).matches(text.as_bytes(), None, Purpose::Allow)
    }

    #[test]
    fn wildcards_stop_at_slashes_and_double_star_does_not() {
        assert!(matches("a*c", "abbc"));
        assert!(!matches("a*c", "ab/c"));
        assert!(matches("a**c", "ab/c"));
        assert!(matches("?", "x"));
        assert!(!matches("?", "/"));
        assert!(!matches("a", "ab"));
    }

    #[test]
    fn no_glob_allows_a_parent_component() {
        assert!(!matches("wt/**", "wt/../x"));
        assert!(matches("../*", "../x"));
        assert!(glob("wt/**").matches(b"wt/../x", None, Purpose::Restrict));
    }

    #[test]
    fn unknown_pieces_may_match_unless_the_known_ones_forbid_it() {
        let gap = Piece::Dynamic {
            reason: Dynamic::Parameter,
            name: None,
            quoted: true,
        };
        let word = Word {
            span: Span::default(),
            pieces: vec![Piece::Text(b"--fo".to_vec()), gap],
        };
        let ask = |pattern: &str| glob(pattern).matches_word(&word, None, Purpose::Restrict);
        assert_eq!(ask("--force"), Match::Maybe);
        assert_eq!(ask("--fo"), Match::Maybe);
        assert_eq!(ask("--all"), Match::No);
        assert_eq!(ask("--f"), Match::No);
        assert_eq!(ask("*"), Match::Maybe);
    }
}
