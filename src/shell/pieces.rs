//! From raw words to words: brace expansion, quote removal, and what is left for the running shell.

use super::brace::{self, Expansion};
use super::cursor::{continues_name, is_name};
use super::values::Values;
use super::word::{Part, RawWord};
use super::{Parsed, Parser};
use crate::model::script::{Dynamic, Piece, Span, Word};

/// A word that is one dynamic piece.
pub(super) fn dynamic_word(span: Span, reason: Dynamic) -> Word {
    Word {
        span,
        pieces: vec![Piece::Dynamic {
            reason,
            name: None,
            quoted: false,
        }],
    }
}

/// What happens to a word besides parameter expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// File name patterns are matched; `~` counts at the start, and after `NAME=`.
    Argument,
    /// An argument that brace expansion made: no longer an assignment, `~` counts at the start only.
    Generated,
    /// No patterns; `~` counts at the start and after each `:`.
    Value,
}

impl Parser<'_, '_> {
    /// Appends the arguments that a raw word becomes.
    pub(super) fn arguments(&mut self, raw: RawWord, argv: &mut Vec<Word>) -> Parsed<()> {
        if !self.is_bash() || !brace::may_expand(&raw.parts) {
            argv.push(self.finish_word(raw.span, &raw.parts, Fate::Argument));
            return Ok(());
        }
        match brace::expand(&raw.parts, &mut self.state.brace_budget) {
            Expansion::Unchanged => {
                argv.push(self.finish_word(raw.span, &raw.parts, Fate::Argument));
            }
            Expansion::Words(words) => {
                for parts in words {
                    self.tick()?;
                    argv.push(self.finish_word(raw.span, &parts, Fate::Generated));
                }
            }
            Expansion::Undecided => argv.push(dynamic_word(raw.span, Dynamic::Brace)),
        }
        Ok(())
    }

    /// The target of a redirection: one word, or bash refuses it.
    pub(super) fn target(&mut self, raw: RawWord) -> Parsed<Word> {
        let span = raw.span;
        let mut words = Vec::new();
        self.arguments(raw, &mut words)?;
        let first = words.pop().filter(|_| words.is_empty());
        Ok(first.unwrap_or_else(|| dynamic_word(span, Dynamic::Brace)))
    }

    /// The value of an assignment, or a here-string.
    pub(super) fn value(&self, raw: RawWord) -> Word {
        self.finish_word(raw.span, &raw.parts, Fate::Value)
    }

    fn finish_word(&self, span: Span, parts: &[Part], fate: Fate) -> Word {
        let sure = self.state.whereabouts.is_sure();
        let finisher = Finisher::new(parts, fate, self.is_bash(), &self.state.values, sure);
        let pieces = finisher.finish(parts);
        Word { span, pieces }
    }
}

/// The pieces of one word while they are made.
struct Finisher<'v> {
    values: &'v Values,
    /// Whether `$PWD` is the folder that the line is followed to.
    placed: bool,
    fate: Fate,
    bash: bool,
    pieces: Vec<Piece>,
    /// Part and byte of the last `]`: a `[` before it may start a bracket expression.
    last_bracket: Option<(usize, usize)>,
    /// The last part known only at run time: it may bring the `]`.
    last_dynamic: Option<usize>,
    /// Whether the word has the form of an assignment.
    form: Form,
    /// That `=` was taken.
    equals: bool,
    /// A `~` here is a home folder.
    tilde: bool,
}

/// What an argument looks like: bash expands `~` behind `NAME=` wherever it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `NAME=…` or `NAME+=…`
    Assignment,
    /// `NAME[…`, which may become one.
    Element,
    Other,
}

impl Form {
    fn of(parts: &[Part]) -> Self {
        let Some(Part::Text {
            bytes,
            quoted: false,
        }) = parts.first()
        else {
            return Self::Other;
        };
        let end = bytes.iter().position(|&byte| !continues_name(byte));
        let (name, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        match rest {
            [b'=', ..] | [b'+', b'=', ..] if is_name(name) => Self::Assignment,
            [b'[', ..] if is_name(name) => Self::Element,
            _ => Self::Other,
        }
    }
}

impl<'v> Finisher<'v> {
    fn new(parts: &[Part], fate: Fate, bash: bool, values: &'v Values, placed: bool) -> Self {
        let mut last_bracket = None;
        let mut last_dynamic = None;
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Text { bytes, .. } => {
                    if let Some(at) = bytes.iter().rposition(|&byte| byte == b']') {
                        last_bracket = Some((index, at));
                    }
                }
                Part::Dynamic { .. } => last_dynamic = Some(index),
            }
        }
        Self {
            values,
            placed,
            fate,
            bash,
            pieces: Vec::new(),
            last_bracket,
            last_dynamic,
            form: match fate {
                Fate::Argument if bash => Form::of(parts),
                Fate::Argument | Fate::Generated | Fate::Value => Form::Other,
            },
            equals: false,
            tilde: true,
        }
    }

    fn finish(mut self, parts: &[Part]) -> Vec<Piece> {
        let mut skip_to = None;
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Dynamic {
                    reason,
                    name,
                    quoted,
                    ..
                } => {
                    self.tilde = false;
                    if skip_to.is_none_or(|end| end < (index, 0)) {
                        self.push_expansion(*reason, name.as_deref(), *quoted);
                    }
                }
                Part::Text {
                    bytes,
                    quoted: true,
                } => {
                    self.tilde = false;
                    let kept = match skip_to {
                        Some((part, at)) if part == index => bytes.get(at + 1..),
                        Some(end) if end > (index, 0) => None,
                        Some(_) | None => Some(bytes.as_slice()),
                    };
                    self.push_text(kept.unwrap_or_default());
                }
                Part::Text {
                    bytes,
                    quoted: false,
                } => {
                    let last = index + 1 == parts.len();
                    let mut at = 0;
                    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                        if skip_to.is_some_and(|end| (index, at) <= end) {
                            at += 1;
                            continue;
                        }
                        at += self.unquoted(rest, (index, at), last, &mut skip_to);
                    }
                }
            }
        }
        if self.pieces.is_empty() {
            self.pieces.push(Piece::Text(Vec::new()));
        }
        self.pieces
    }

    /// Takes the start of some unquoted text; gives back how many bytes.
    fn unquoted(
        &mut self,
        rest: &[u8],
        place: (usize, usize),
        last: bool,
        skip_to: &mut Option<(usize, usize)>,
    ) -> usize {
        let Some(&byte) = rest.first() else { return 1 };
        let tilde = std::mem::replace(&mut self.tilde, false);
        if byte == b'~' && tilde {
            return self.tilde(rest, last);
        }
        if self.fate != Fate::Value && self.is_pattern(byte, place) {
            self.pieces.push(Piece::Dynamic {
                reason: Dynamic::Glob,
                name: None,
                quoted: false,
            });
            if byte == b'[' {
                // The whole bracket expression, or more: less would be a guess.
                *skip_to = self.last_bracket.filter(|&end| end > place);
            }
            return 1;
        }
        match (self.fate, byte) {
            (Fate::Value, b':') => self.tilde = true,
            (Fate::Argument, b'=' | b':') => {
                // Bash expands `x=~` and `x=a:~` among arguments too, but `x=a=~` no further.
                self.tilde = self.form != Form::Other && (byte == b'=') != self.equals;
            }
            _ => {}
        }
        self.equals |= byte == b'=';
        self.push_text(&[byte]);
        1
    }

    fn is_pattern(&self, byte: u8, (part, at): (usize, usize)) -> bool {
        match byte {
            b'*' | b'?' => true,
            b'[' => {
                self.last_bracket.is_some_and(|end| end > (part, at))
                    || self.last_dynamic.is_some_and(|dynamic| dynamic > part)
            }
            _ => false,
        }
    }

    /// A `~` and its user. A plain one is the variable HOME; a named user has no name here, so that
    /// nobody takes one home for another.
    fn tilde(&mut self, rest: &[u8], last: bool) -> usize {
        let ends = |byte: &u8| *byte == b'/' || (*byte == b':' && self.fate == Fate::Value);
        let end = rest.iter().position(ends);
        let user = rest.get(1..end.unwrap_or(rest.len())).unwrap_or_default();
        let complete = end.is_some() || last;
        let name: Option<&[u8]> = match user {
            // `x[i]=~` is taken for an assignment if the subscript ends where it seems to.
            _ if self.equals && self.form == Form::Element => None,
            b"" if complete => Some(b"HOME"),
            b"+" if complete && self.bash && self.placed => Some(b"PWD"),
            b"-" if complete && self.bash => Some(b"OLDPWD"),
            _ => None,
        };
        let name = name.map(<[u8]>::to_vec);
        // The result is neither split nor matched, as if it were quoted.
        self.pieces.push(Piece::Dynamic {
            reason: Dynamic::Tilde,
            name,
            quoted: true,
        });
        1 + user.len()
    }

    /// An expansion, or the value that the line gave the variable.
    fn push_expansion(&mut self, reason: Dynamic, name: Option<&[u8]>, quoted: bool) {
        let whole = quoted || self.fate == Fate::Value;
        let value = name
            .filter(|_| reason == Dynamic::Parameter)
            .and_then(|name| self.values.get(name, whole));
        let Some(value) = value else {
            let known = |name: &&[u8]| self.placed || *name != b"PWD";
            let name = name.filter(known).map(<[u8]>::to_vec);
            self.pieces.push(Piece::Dynamic {
                reason,
                name,
                quoted,
            });
            return;
        };
        for piece in value {
            match piece {
                Piece::Text(text) => self.push_text(text),
                Piece::Dynamic { name, .. } => self.pieces.push(Piece::Dynamic {
                    reason: Dynamic::Parameter,
                    name: name.clone(),
                    quoted: whole,
                }),
            }
        }
    }

    fn push_text(&mut self, bytes: &[u8]) {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            text.extend_from_slice(bytes);
        } else if !bytes.is_empty() {
            self.pieces.push(Piece::Text(bytes.to_vec()));
        }
    }
}
