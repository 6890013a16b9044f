//! Commands inside words: `$(…)`, `<(…)`, `${ …; }` and backquotes.

use super::keyword::Keyword;
use super::list::Until;
use super::word::Part;
use super::{Parsed, Parser};
use crate::model::script::{Dynamic, SyntaxError};

impl Parser<'_, '_> {
    /// The rest of `$(…)`, `<(…)` or `>(…)` after the opening parenthesis.
    pub(super) fn substitution(&mut self) -> Parsed<()> {
        let start = self.pos;
        self.within_substitution(|parser| {
            parser.isolated(|parser| {
                parser.nested(|parser| parser.list(Until::PARENTHESIS))?;
                let (span, ending) = (parser.span(start, parser.pos), parser.state.ending);
                parser.state.evaluated.substitutions.note(span, ending);
                parser.bump();
                Ok(())
            })
        })
    }

    /// The rest of `${ …; }` after the opening brace: it runs in the shell itself.
    pub(super) fn function_substitution(&mut self) -> Parsed<()> {
        if self.at(self.pos) == b'|' {
            self.pos += 1;
        }
        let span = self.span(self.pos, self.pos);
        self.state.evaluated.substitutions.note(span, None);
        self.within_substitution(|parser| {
            parser.branch(|parser| {
                parser.nested(|parser| parser.list(Until::keywords(&[Keyword::CloseBrace])))?;
                parser.expect_keyword(Keyword::CloseBrace, "`}` expected")
            })
        })
    }

    /// A substitution has here-documents of its own: a newline inside does not begin the bodies
    /// announced outside.
    fn within_substitution(
        &mut self,
        production: impl FnOnce(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        let held = std::mem::take(&mut self.state.pending);
        let context = self.state.context;
        self.state.context.substitution = true;
        self.state.compound = true;
        let result = production(self);
        self.state.context = context;
        let open = std::mem::replace(&mut self.state.pending, held);
        if !open.is_empty() {
            // Where its body is then looked for depends on the version.
            let span = self.span(self.pos, self.pos);
            self.opaque(span, "a here-document left open in a substitution");
        }
        result
    }

    /// The backquoted substitution here. In double quotes `\"` is unescaped too.
    pub(super) fn backquoted(&mut self, quoted: bool) -> Parsed<Part> {
        let start = self.pos;
        let text = self.backquoted_text(quoted)?;
        let span = self.span(start, self.pos);
        let context = self.state.context;
        self.state.context.substitution = true;
        self.state.context.depth += 1;
        self.state.compound = true;
        let result = self.isolated(|parser| parser.inner(&text, span, |inner| inner.script()));
        self.state.context = context;
        let ending = self.state.ending.filter(|_| result.is_ok());
        self.state.evaluated.substitutions.note(span, ending);
        match result {
            Err(SyntaxError::Syntax { .. }) if self.is_bash() => {
                // Bash reads this text only when it expands it, and runs the commands before the
                // mistake; so what was found stays.
                self.opaque(span, "backquoted text that does not parse");
            }
            result => result?,
        }
        let reason = Dynamic::CommandSubstitution;
        Ok(Part::Dynamic {
            reason,
            name: None,
            quoted,
            braces: false,
        })
    }

    /// The text between backquotes with one level of backslashes removed, whatever quotes it holds.
    fn backquoted_text(&mut self, quoted: bool) -> Parsed<Vec<u8>> {
        self.pos += 1;
        let mut text = Vec::new();
        loop {
            self.tick()?;
            if self.is_done() {
                return self.fail("an unclosed backquote");
            }
            let byte = self.at(self.pos);
            self.pos += 1;
            match (byte, self.at(self.pos)) {
                (b'`', _) => return Ok(text),
                (b'\\', next) if !self.is_done() => {
                    self.pos += 1;
                    match next {
                        b'$' | b'`' | b'\\' => text.push(next),
                        b'"' if quoted => text.push(next),
                        b'\n' => {}
                        _ => text.extend_from_slice(&[byte, next]),
                    }
                }
                _ => text.push(byte),
            }
        }
    }
}
