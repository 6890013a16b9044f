//! Reserved words: plain unquoted words that mean something where a command could start.

use super::cursor::is_meta;
use super::{Parsed, Parser};

/// A reserved word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    If,
    Then,
    Else,
    Elif,
    Fi,
    Do,
    Done,
    Case,
    Esac,
    While,
    Until,
    For,
    OpenBrace,
    CloseBrace,
    Bang,
    In,
    Conditional,
    ConditionalEnd,
    Select,
    Function,
    Coprocess,
    Time,
}

impl Keyword {
    /// The reserved word spelled `text`, if the shell has it.
    fn from_text(text: &[u8], bash: bool) -> Option<Self> {
        Some(match text {
            b"if" => Self::If,
            b"then" => Self::Then,
            b"else" => Self::Else,
            b"elif" => Self::Elif,
            b"fi" => Self::Fi,
            b"do" => Self::Do,
            b"done" => Self::Done,
            b"case" => Self::Case,
            b"esac" => Self::Esac,
            b"while" => Self::While,
            b"until" => Self::Until,
            b"for" => Self::For,
            b"{" => Self::OpenBrace,
            b"}" => Self::CloseBrace,
            b"!" => Self::Bang,
            b"in" => Self::In,
            b"[[" if bash => Self::Conditional,
            b"]]" if bash => Self::ConditionalEnd,
            b"select" if bash => Self::Select,
            b"function" if bash => Self::Function,
            b"coproc" if bash => Self::Coprocess,
            b"time" if bash => Self::Time,
            _ => return None,
        })
    }
}

/// Longest reserved word.
const LONGEST: usize = 8;

impl Parser<'_, '_> {
    /// The short unquoted word here and the offset after it. Empty when there is none, when any part
    /// of it is quoted or expanded, or when it is longer than every reserved word.
    pub(super) fn plain_word(&mut self) -> (Vec<u8>, usize) {
        self.peek();
        let mut offset = self.pos;
        let mut word = Vec::new();
        loop {
            offset = self.continued(offset);
            let byte = self.at(offset);
            if is_meta(byte) {
                return (word, offset);
            }
            if word.len() == LONGEST || matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`') {
                return (Vec::new(), self.pos);
            }
            word.push(byte);
            offset += 1;
        }
    }

    /// The reserved word here and the offset after it.
    pub(super) fn keyword(&mut self) -> Option<(Keyword, usize)> {
        let (word, end) = self.plain_word();
        Keyword::from_text(&word, self.is_bash()).map(|keyword| (keyword, end))
    }

    /// Whether `keyword` stands here.
    pub(super) fn at_keyword(&mut self, keyword: Keyword) -> bool {
        self.keyword().is_some_and(|(found, _)| found == keyword)
    }

    /// Moves past `keyword`, if it stands here.
    pub(super) fn take_keyword(&mut self, keyword: Keyword) -> bool {
        match self.keyword() {
            Some((found, end)) if found == keyword => {
                self.pos = end;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Moves past `keyword`, which has to come next, newlines aside.
    pub(super) fn expect_keyword(&mut self, keyword: Keyword, reason: &'static str) -> Parsed<()> {
        self.newlines()?;
        if self.take_keyword(keyword) {
            Ok(())
        } else {
            self.fail(reason)
        }
    }
}
