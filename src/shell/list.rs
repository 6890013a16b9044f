//! Lists, and-or lists and pipelines.

use super::keyword::Keyword;
use super::{Parsed, Parser, limit};
use crate::model::script::SyntaxError;

/// What ends a list.
#[derive(Clone, Copy)]
pub(super) struct Until {
    /// Any of these reserved words.
    keywords: &'static [Keyword],
    /// `;;`, `;&`, `;;&`
    clause: bool,
    /// This byte; NUL for none.
    close: u8,
}

impl Until {
    /// The end of the text.
    pub(super) const END: Self = Self {
        keywords: &[],
        clause: false,
        close: 0,
    };
    /// A closing parenthesis.
    pub(super) const PARENTHESIS: Self = Self {
        keywords: &[],
        clause: false,
        close: b')',
    };
    /// The end of a `case` clause.
    pub(super) const CLAUSE: Self = Self {
        keywords: &[Keyword::Esac],
        clause: true,
        close: 0,
    };

    /// Any of some reserved words.
    pub(super) const fn keywords(keywords: &'static [Keyword]) -> Self {
        Self {
            keywords,
            clause: false,
            close: 0,
        }
    }

    fn is_end(self) -> bool {
        self.keywords.is_empty() && !self.clause && self.close == 0
    }
}

/// What stands before a pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    None,
    Timed,
    Negated,
}

impl Parser<'_, '_> {
    /// Commands up to `until`, which stays unread. Gives back how many there are.
    pub(super) fn list(&mut self, until: Until) -> Parsed<usize> {
        let mut count = 0;
        self.state.ending = None;
        let mut moves = self.state.whereabouts.moves();
        let mut line = self.state.values.point();
        loop {
            self.tick()?;
            self.newlines()?;
            if self.peek() == 0 {
                return if until.is_end() {
                    Ok(count)
                } else {
                    self.fail("unexpected end")
                };
            }
            if self.at_end_of_list(until) {
                return Ok(count);
            }
            let before = self.state.whereabouts.clone();
            let point = self.state.values.point();
            self.and_or()?;
            count += 1;
            if count > 1 {
                self.state.ending = None;
            }
            self.blanks()?;
            if self.at_clause_end() {
                return if until.clause {
                    Ok(count)
                } else {
                    self.fail("unexpected `;;`")
                };
            }
            match self.peek() {
                b';' => self.pos += 1,
                b'&' => {
                    // A background list runs in a process of its own.
                    self.pos += 1;
                    self.state.compound = true;
                    self.state.script.beyond_list = true;
                    self.state.whereabouts.return_to(&before);
                    self.state.values.return_to(point);
                }
                b'\n' => {
                    // An error before it may have ended the line, of which the rest then did not run.
                    if self.state.values.line_ends(line) && self.state.whereabouts.moves() != moves
                    {
                        self.state.whereabouts.forget();
                    }
                    moves = self.state.whereabouts.moves();
                    line = self.state.values.point();
                }
                0 => {}
                // A compound command may be followed directly by a reserved word: `{ { ls; } }`.
                _ if self.at_end_of_list(until) => return Ok(count),
                _ => return self.fail("unexpected token"),
            }
        }
    }

    fn at_end_of_list(&mut self, until: Until) -> bool {
        let next = self.peek();
        (until.close != 0 && next == until.close)
            || (until.clause && self.at_clause_end())
            || self
                .keyword()
                .is_some_and(|(keyword, _)| until.keywords.contains(&keyword))
    }

    fn at_clause_end(&mut self) -> bool {
        self.peek() == b';'
            && (self.peek_second() == b';' || (self.is_bash() && self.peek_second() == b'&'))
    }

    /// A list that must hold a command, one level down.
    pub(super) fn body(&mut self, until: Until) -> Parsed<()> {
        match self.nested(|parser| parser.list(until))? {
            0 => self.fail("a command is missing"),
            _ => Ok(()),
        }
    }

    /// Pipelines joined by `&&` and `||`.
    ///
    /// Within a chain of `&&` a later part runs only if every `cd` before it worked, so the folder is
    /// followed; after the chain it is known only if nothing but `cd` decided whether they ran.
    fn and_or(&mut self) -> Parsed<()> {
        let start = self.state.whereabouts.moves();
        let chain = self.state.values.point();
        let mut unsure = None;
        let mut certain = true;
        let mut alternative = false;
        let mut uncertain_move = false;
        let mut chained = false;
        let mut settled = true;
        loop {
            let before = self.state.whereabouts.moves();
            let point = self.state.values.point();
            self.pipeline()?;
            if alternative {
                self.state.values.forget_since(point);
            }
            if chained && !settled {
                // Whether it ran depends on what ran before it.
                unsure = unsure.or(Some(point));
            }
            settled &= self.state.values.is_settled();
            let moved = self.state.whereabouts.moves() != before;
            uncertain_move |= moved && !certain;
            if moved && alternative {
                self.state.whereabouts.forget();
            }
            certain &= moved;
            self.blanks()?;
            match (self.peek(), self.peek_second()) {
                (b'&', b'&') => {}
                (b'|', b'|') => {
                    // The right side runs because something on the left failed, perhaps the `cd`.
                    alternative = true;
                    settled = false;
                    self.state.values.forget_since(chain);
                    certain = false;
                    if self.state.whereabouts.moves() != start {
                        self.state.whereabouts.forget();
                    }
                }
                _ => break,
            }
            chained = true;
            self.state.compound = true;
            self.bump_by(2);
            self.newlines()?;
        }
        if uncertain_move {
            self.state.whereabouts.forget();
        }
        if self.state.whereabouts.moves() != start {
            self.state.whereabouts.doubt();
        }
        if let Some(point) = unsure {
            self.state.values.forget_since(point);
        }
        if chained {
            self.state.ending = None;
        }
        Ok(())
    }

    /// Commands joined by `|`, after any `!` and `time`.
    fn pipeline(&mut self) -> Parsed<()> {
        let start = self.state.whereabouts.moves();
        let prefix = self.pipeline_prefix()?;
        self.state.ending = None;
        if prefix != Prefix::None {
            self.state.compound = true;
            self.state.script.beyond_list = true;
            self.state.script.negated |= prefix == Prefix::Negated;
            self.blanks()?;
            if self.is_bash() && matches!(self.peek(), 0 | b'\n' | b';' | b'&' | b')') {
                self.state.values.settle(false);
                return Ok(());
            }
        }
        let before = self.state.whereabouts.clone();
        let point = self.state.values.point();
        let piped = self.state.context.piped;
        let mut members = 0_usize;
        loop {
            if members > 0 && self.at_keyword(Keyword::Time) {
                // Behind a `|` it is the program of that name.
                self.simple()?;
                self.state.ending = None;
            } else {
                self.command()?;
            }
            members += 1;
            if members > limit::MEMBERS {
                return Err(SyntaxError::Limit("commands in a pipeline"));
            }
            self.blanks()?;
            if self.peek() != b'|' || self.peek_second() == b'|' {
                break;
            }
            self.state.compound = true;
            self.pos += 1;
            if self.is_bash() && self.peek() == b'&' {
                self.pos += 1;
                self.state.script.beyond_list = true;
            }
            self.newlines()?;
            self.blanks()?;
            // Every member of a pipeline runs in a process of its own, from the same folder.
            self.state.whereabouts.return_to(&before);
            self.state.values.return_to(point);
            self.state.context.piped = true;
        }
        self.state.context.piped = piped;
        if members > 1 {
            self.state.whereabouts.return_to(&before);
            self.state.values.return_to(point);
        }
        let alone = members == 1 && prefix == Prefix::None && self.state.ending.is_some();
        self.state
            .values
            .settle(alone && self.state.values.is_settled());
        if prefix == Prefix::Negated && self.state.whereabouts.moves() != start {
            // What `! cd x &&` goes on to runs where the `cd` failed.
            self.state.whereabouts.forget();
        }
        Ok(())
    }

    fn pipeline_prefix(&mut self) -> Parsed<Prefix> {
        let mut bangs = 0;
        let mut found = Prefix::None;
        loop {
            self.tick()?;
            self.blanks()?;
            if self.take_keyword(Keyword::Bang) {
                bangs += 1;
                if !self.is_bash() && bangs > 1 {
                    return self.fail("a second `!`");
                }
                if bangs > limit::BANGS {
                    return Err(SyntaxError::Limit("repeated `!`"));
                }
                found = Prefix::Negated;
            } else if self.take_keyword(Keyword::Time) {
                self.time_options()?;
                self.timed_in_substitution()?;
                if found == Prefix::None {
                    found = Prefix::Timed;
                }
            } else {
                return Ok(found);
            }
        }
    }

    /// Bash 5.2 reads a substitution, writes it anew and reads that: behind `time` it takes a compound
    /// command for words, so that `$(time case x in a) b;; esac)` ends at the first `)`.
    fn timed_in_substitution(&mut self) -> Parsed<()> {
        self.blanks()?;
        let compound = self.at_compound() || self.at_keyword(Keyword::Bang);
        if self.is_bash() && self.state.context.substitution && compound {
            let span = self.span(self.pos, self.pos);
            self.opaque(span, "a timed compound command in a substitution");
        }
        Ok(())
    }

    fn time_options(&mut self) -> Parsed<()> {
        for option in [b"-p", b"--"] {
            self.blanks()?;
            let (word, end) = self.plain_word();
            if word == option {
                self.pos = end;
            }
        }
        Ok(())
    }
}
