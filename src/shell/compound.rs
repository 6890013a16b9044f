//! Commands: which kind stands here, and the compound ones without a loop.

use super::keyword::Keyword;
use super::list::Until;
use super::{Parsed, Parser};
use crate::model::script::SyntaxError;

impl Parser<'_, '_> {
    /// One command of any kind.
    pub(super) fn command(&mut self) -> Parsed<()> {
        let index = self.state.script.subcommands.len();
        let simple = self.simple_or_compound()?;
        self.state.ending = simple.then_some(index);
        Ok(())
    }

    /// One command; true for a simple one.
    fn simple_or_compound(&mut self) -> Parsed<bool> {
        self.tick()?;
        self.blanks()?;
        let start = self.pos;
        if self.peek() == b'(' {
            return self.parenthesis(start).map(|()| false);
        }
        let Some((keyword, end)) = self.keyword() else {
            return self.simple().map(|()| true);
        };
        self.pos = end;
        self.state.compound = true;
        match keyword {
            Keyword::Function => return self.function(start).map(|()| false),
            Keyword::Coprocess => return self.coprocess().map(|()| false),
            Keyword::OpenBrace
            | Keyword::If
            | Keyword::While
            | Keyword::Until
            | Keyword::For
            | Keyword::Select
            | Keyword::Case
            | Keyword::Conditional => {}
            Keyword::Then
            | Keyword::Else
            | Keyword::Elif
            | Keyword::Fi
            | Keyword::Do
            | Keyword::Done
            | Keyword::Esac
            | Keyword::CloseBrace
            | Keyword::Bang
            | Keyword::In
            | Keyword::ConditionalEnd
            | Keyword::Time => {
                self.pos = start;
                return self.fail("a reserved word out of place");
            }
        }
        self.with_redirections(start, |parser| parser.reserved_compound(keyword))?;
        Ok(false)
    }

    fn reserved_compound(&mut self, keyword: Keyword) -> Parsed<()> {
        match keyword {
            Keyword::OpenBrace => self.brace_group(),
            Keyword::If => self.conditional_branches(),
            Keyword::While | Keyword::Until => self.while_loop(),
            Keyword::For => self.deeper(Self::for_loop),
            Keyword::Select => self.deeper(Self::select_loop),
            Keyword::Case => self.deeper(Self::case),
            Keyword::Conditional => self.deeper(Self::conditional),
            Keyword::Then
            | Keyword::Else
            | Keyword::Elif
            | Keyword::Fi
            | Keyword::Do
            | Keyword::Done
            | Keyword::Esac
            | Keyword::CloseBrace
            | Keyword::Bang
            | Keyword::In
            | Keyword::ConditionalEnd
            | Keyword::Function
            | Keyword::Coprocess
            | Keyword::Time => self.fail("a reserved word out of place"),
        }
    }

    /// Whether a compound command starts here.
    pub(super) fn at_compound(&mut self) -> bool {
        self.peek() == b'('
            || self.keyword().is_some_and(|(keyword, _)| {
                matches!(
                    keyword,
                    Keyword::OpenBrace
                        | Keyword::If
                        | Keyword::While
                        | Keyword::Until
                        | Keyword::For
                        | Keyword::Select
                        | Keyword::Case
                        | Keyword::Conditional
                )
            })
    }

    /// The rest of `{ …; }`.
    pub(super) fn brace_group(&mut self) -> Parsed<()> {
        self.body(Until::keywords(&[Keyword::CloseBrace]))?;
        self.expect_keyword(Keyword::CloseBrace, "`}` expected")
    }

    /// `(…)`, or `((…))` where the text is arithmetic.
    ///
    /// `((` starts arithmetic if `))` ends it, else two subshells; only reading on can tell.
    fn parenthesis(&mut self, start: usize) -> Parsed<()> {
        self.state.compound = true;
        if self.is_bash() && self.peek_second() == b'(' {
            let mark = self.mark();
            self.bump_by(2);
            match self.deeper(|parser| parser.arithmetic(b')')) {
                Ok(()) if self.at(self.pos) == b')' => {
                    self.pos += 1;
                    return self.with_redirections(start, |_| Ok(()));
                }
                Err(error @ SyntaxError::Limit(_)) => return Err(error),
                Ok(()) | Err(SyntaxError::Syntax { .. }) => self.rewind(mark),
            }
        }
        self.with_redirections(start, |parser| {
            parser.bump();
            parser.isolated(|parser| parser.body(Until::PARENTHESIS))?;
            parser.bump();
            Ok(())
        })
    }

    /// The rest of `if …; then …; fi`.
    fn conditional_branches(&mut self) -> Parsed<()> {
        const THEN: Until = Until::keywords(&[Keyword::Then]);
        const REST: Until = Until::keywords(&[Keyword::Elif, Keyword::Else, Keyword::Fi]);
        const FI: Until = Until::keywords(&[Keyword::Fi]);
        loop {
            self.branch(|parser| parser.body(THEN))?;
            self.expect_keyword(Keyword::Then, "`then` expected")?;
            self.branch(|parser| parser.body(REST))?;
            if self.take_keyword(Keyword::Elif) {
                continue;
            }
            if self.take_keyword(Keyword::Else) {
                self.branch(|parser| parser.body(FI))?;
            }
            return self.expect_keyword(Keyword::Fi, "`fi` expected");
        }
    }

    /// The rest of `case WORD in … esac`.
    fn case(&mut self) -> Parsed<()> {
        self.blanks()?;
        if !self.at_word() {
            return self.fail("a word after `case` expected");
        }
        self.word()?;
        self.expect_keyword(Keyword::In, "`in` expected")?;
        loop {
            self.tick()?;
            self.newlines()?;
            if self.take_keyword(Keyword::Esac) {
                return Ok(());
            }
            self.case_patterns()?;
            self.branch(|parser| parser.nested(|parser| parser.list(Until::CLAUSE)))?;
            if self.take_keyword(Keyword::Esac) {
                return Ok(());
            }
            self.clause_end()?;
        }
    }

    fn case_patterns(&mut self) -> Parsed<()> {
        if self.peek() == b'(' {
            self.pos += 1;
            self.blanks()?;
        }
        loop {
            self.blanks()?;
            if !self.at_word() {
                return self.fail("a pattern expected");
            }
            self.word()?;
            self.blanks()?;
            match self.peek() {
                b'|' => self.pos += 1,
                b')' => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return self.fail("`)` after a pattern expected"),
            }
        }
    }

    /// `;;`, and in bash `;&` and `;;&`.
    fn clause_end(&mut self) -> Parsed<()> {
        self.bump();
        match self.peek() {
            b';' => {
                self.pos += 1;
                if self.is_bash() && self.peek() == b'&' {
                    self.pos += 1;
                }
                Ok(())
            }
            b'&' if self.is_bash() => {
                self.pos += 1;
                Ok(())
            }
            _ => self.fail("`;;` expected"),
        }
    }
}
