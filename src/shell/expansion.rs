//! What a `$` starts.

use super::cursor::{continues_name, starts_name};
use super::word::Part;
use super::{Parsed, Parser};
use crate::model::script::Dynamic;

impl Parser<'_, '_> {
    /// The expansion at a `$`, or none where the `$` stands for itself; moves past what it read.
    /// `quoted` says whether the text around it is in double quotes.
    pub(super) fn dollar(&mut self, quoted: bool) -> Parsed<Option<Part>> {
        self.tick()?;
        let next = self.peek_second();
        self.bump();
        self.peek();
        let part = match next {
            b'(' => self.dollar_parenthesis(quoted)?,
            b'{' => {
                self.pos += 1;
                self.dollar_brace(quoted)?
            }
            b'[' if self.is_bash() => {
                self.pos += 1;
                self.deeper(|parser| parser.arithmetic(b']'))?;
                // Brace expansion sees the text of this old form.
                Part::Dynamic {
                    reason: Dynamic::Arithmetic,
                    name: None,
                    quoted,
                    braces: true,
                }
            }
            _ if starts_name(next) => {
                let mut name = Vec::new();
                while continues_name(self.peek()) {
                    self.tick()?;
                    name.push(self.at(self.pos));
                    self.pos += 1;
                }
                Part::Dynamic {
                    reason: Dynamic::Parameter,
                    name: Some(name),
                    quoted,
                    braces: false,
                }
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.pos += 1;
                if let Some(text) = self.state.values.argument(next, quoted) {
                    return Ok(Some(Part::Text {
                        bytes: text.to_vec(),
                        quoted: true,
                    }));
                }
                // `"$@"` is as many words as there are arguments, quotes or not.
                let quoted = quoted && next != b'@';
                Part::Dynamic {
                    reason: Dynamic::Parameter,
                    name: None,
                    quoted,
                    // Brace expansion takes the end of `$$` for the start of `${`.
                    braces: next == b'$' && self.peek() == b'{',
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(part))
    }

    /// `$(…)`, or `$((…))` where the text is arithmetic.
    fn dollar_parenthesis(&mut self, quoted: bool) -> Parsed<Part> {
        self.pos += 1;
        let mut counted = None;
        if self.peek() == b'(' {
            let mark = self.mark();
            self.pos += 1;
            match self.deeper(|parser| parser.arithmetic(b')')) {
                Ok(()) if self.peek() == b')' => {
                    self.pos += 1;
                    return Ok(Part::Dynamic {
                        reason: Dynamic::Arithmetic,
                        name: None,
                        quoted,
                        braces: false,
                    });
                }
                Ok(()) if self.is_bash() => {
                    self.deeper(|parser| parser.arithmetic(b')'))?;
                    counted = Some(self.pos);
                    self.rewind(mark);
                }
                Err(error) => return Err(error),
                Ok(()) => return self.fail("unfinished arithmetic"),
            }
        }
        self.substitution()?;
        if counted.is_some_and(|end| end != self.pos) {
            // Bash counts parentheses to the end of anything that starts like arithmetic, and reads as
            // commands only what is in there: a `)` behind a pattern of `case` ends it.
            return self.fail("a substitution whose end depends on how parentheses are counted");
        }
        let reason = Dynamic::CommandSubstitution;
        Ok(Part::Dynamic {
            reason,
            name: None,
            quoted,
            braces: false,
        })
    }

    /// `${…}`, whichever kind; the brace is read.
    fn dollar_brace(&mut self, quoted: bool) -> Parsed<Part> {
        if self.is_bash() && matches!(self.at(self.pos), b' ' | b'\t' | b'\n' | b'|') {
            let start = self.pos;
            self.function_substitution()?;
            let span = self.span(start, self.pos);
            // Bash 5.3 runs this in the shell itself, older ones refuse it when they come to it.
            self.opaque(span, "a function substitution");
            let reason = Dynamic::FunctionSubstitution;
            return Ok(Part::Dynamic {
                reason,
                name: None,
                quoted,
                braces: true,
            });
        }
        self.deeper(|parser| parser.parameter(quoted))
    }
}
