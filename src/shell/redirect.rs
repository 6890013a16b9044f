//! Redirections.

use super::cursor::{continues_name, starts_name};
use super::{Parsed, Parser};
use crate::model::script::{Redirection, RedirectionKind, Word};

/// An operator as written, before its target tells what it does.
#[derive(Clone, Copy)]
enum Operator {
    Plain(RedirectionKind),
    /// `>&`: a copy of a descriptor, or both outputs into a file.
    OutputCopy,
    HereDocument {
        strip: bool,
    },
}

impl Operator {
    fn copies(self) -> bool {
        match self {
            Self::OutputCopy | Self::Plain(RedirectionKind::Duplicate) => true,
            Self::Plain(_) | Self::HereDocument { .. } => false,
        }
    }
}

impl Parser<'_, '_> {
    /// The redirections after a compound command read by `production`, and the check that nothing
    /// else follows it. They are opened first, so they are filed under the folder before it.
    pub(super) fn with_redirections(
        &mut self,
        start: usize,
        production: impl FnOnce(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        let folder = self.state.whereabouts.folder();
        let point = self.state.values.point();
        production(self)?;
        // They are expanded before the command, too.
        let changed = self.state.values.changed(point);
        let hidden = self.state.values.hide(changed);
        self.state.values.hide(changed || hidden);
        let index = self.reserve(start);
        let mut redirections = Vec::new();
        loop {
            self.tick()?;
            self.blanks()?;
            match self.redirection(index, redirections.len())? {
                Some(redirection) => redirections.push(redirection),
                None => break,
            }
        }
        self.state.values.hide(hidden);
        if redirections.is_empty() {
            // Nothing was read since, so the place reserved is still the last.
            self.state.script.subcommands.pop();
        } else {
            if let Some(subcommand) = self.reserved(index) {
                subcommand.folder = folder;
            }
            // One that fails keeps the command from running.
            self.state.values.forget_since(point);
            self.fill_redirections(index, self.pos, redirections);
        }
        self.blanks()?;
        if self.peek() == b'(' || (self.at_word() && self.keyword().is_none()) {
            return self.fail("a word after a compound command");
        }
        Ok(())
    }

    /// The redirection here, if there is one: number `ordinal` of the sub-command at `index`.
    pub(super) fn redirection(
        &mut self,
        index: usize,
        ordinal: usize,
    ) -> Parsed<Option<Redirection>> {
        self.peek();
        let start = self.pos;
        let (variable, end) = self.descriptor()?;
        self.pos = end;
        let Some(operator) = self.operator(end == start) else {
            self.pos = start;
            return Ok(None);
        };
        if let Some(name) = variable {
            let span = self.span(start, self.pos);
            self.note_assignment(&name, span);
        }
        self.blanks_only()?;
        if self.peek() == b'#'
            || !self.at_word()
            || (!operator.copies() && self.number_before_operator())
        {
            return self.fail("a redirection target expected");
        }
        if self.is_bash() && operator.copies() && self.peek() == b'-' {
            // The shell takes the `-` alone: `<&-x` closes the input and goes on with a word `x`.
            let at = self.pos;
            self.pos += 1;
            return Ok(Some(Redirection {
                kind: RedirectionKind::Duplicate,
                target: Word::text(self.span(at, self.pos), "-"),
                body: None,
            }));
        }
        let redirection = match operator {
            Operator::HereDocument { strip } => Redirection {
                kind: RedirectionKind::HereDocument,
                target: self.announce_document(strip, index, ordinal)?,
                body: None,
            },
            Operator::Plain(RedirectionKind::HereString) => {
                let raw = self.word()?;
                let target = self.value(raw);
                Redirection {
                    kind: RedirectionKind::HereString,
                    target,
                    body: None,
                }
            }
            Operator::Plain(kind) => Redirection {
                kind,
                target: self.file_target()?,
                body: None,
            },
            Operator::OutputCopy => self.output_copy()?,
        };
        Ok(Some(redirection))
    }

    /// The target of `>&`: a descriptor, or a file for both outputs.
    fn output_copy(&mut self) -> Parsed<Redirection> {
        let target = self.file_target()?;
        if is_descriptor(&target) {
            let kind = RedirectionKind::Duplicate;
            return Ok(Redirection {
                kind,
                target,
                body: None,
            });
        }
        let plain = |text: &[u8]| !text.iter().any(|byte| b"$`~*?[\\'\"{".contains(byte));
        if self.is_bash() && !target.as_static().is_some_and(plain) {
            // Bash expands the name, and then, for a file, what came out of that once more.
            self.opaque(target.span, "a target of `>&` that is expanded twice");
        }
        let kind = RedirectionKind::WriteBoth;
        Ok(Redirection {
            kind,
            target,
            body: None,
        })
    }

    fn file_target(&mut self) -> Parsed<Word> {
        let raw = self.word()?;
        let target = self.target(raw)?;
        let prefix = target.static_prefix();
        if self.is_bash() && (prefix.starts_with(b"/dev/tcp/") || prefix.starts_with(b"/dev/udp/"))
        {
            self.opaque(target.span, "a socket opened by the shell itself");
        }
        Ok(target)
    }

    /// The descriptor glued to an operator, given as `{NAME}` or a number, and the offset after it.
    fn descriptor(&mut self) -> Parsed<(Option<Vec<u8>>, usize)> {
        let start = self.pos;
        let mut end = start;
        if self.at(start).is_ascii_digit() {
            while self.at(end).is_ascii_digit() {
                self.tick()?;
                end += 1;
            }
            let digits = self.slice(start, end);
            // Dash takes one digit; in bash a number too large is a word.
            let fits = if self.is_bash() {
                is_small(digits)
            } else {
                digits.len() == 1
            };
            let end = if fits && matches!(self.at(self.continued(end)), b'<' | b'>') {
                end
            } else {
                start
            };
            return Ok((None, end));
        }
        if !self.is_bash() || self.at(start) != b'{' {
            return Ok((None, start));
        }
        end = self.continued(start + 1);
        if !starts_name(self.at(end)) {
            return Ok((None, start));
        }
        let mut name = Vec::new();
        while continues_name(self.at(end)) {
            self.tick()?;
            name.push(self.at(end));
            end = self.continued(end + 1);
        }
        let subscript = end;
        if self.at(end) == b'[' {
            while !matches!(self.at(end), b']' | b'\n' | 0) {
                self.tick()?;
                end = self.continued(end + 1);
            }
            end = self.continued(end + 1);
        }
        if self.at(end) == b'}' && matches!(self.at(self.continued(end + 1)), b'<' | b'>') {
            let text = self.slice(subscript, end);
            if text.iter().any(|byte| b"$`'\"\\".contains(byte)) {
                // Evaluated, so it could run something.
                return self.fail("an expansion in the variable of a descriptor");
            }
            if !text.is_empty() {
                self.state.evaluates = true;
                self.note_evaluated(subscript, end);
            }
            return Ok((Some(name), end + 1));
        }
        Ok((None, start))
    }

    /// The operator here; moves past it only if there is one. `&>` takes no descriptor.
    fn operator(&mut self, bare: bool) -> Option<Operator> {
        let first = self.peek();
        let second = self.peek_second();
        match first {
            b'&' if bare && self.is_bash() && second == b'>' => {
                self.bump_by(2);
                let kind = RedirectionKind::WriteBoth;
                Some(self.operator_end(b'>', Operator::Plain(kind), Operator::Plain(kind)))
            }
            b'<' | b'>' if second == b'(' && self.is_bash() => None,
            b'<' => {
                self.pos += 1;
                Some(self.input_operator(second))
            }
            b'>' => {
                self.pos += 1;
                Some(self.output_operator(second))
            }
            _ => None,
        }
    }

    fn input_operator(&mut self, second: u8) -> Operator {
        match second {
            b'<' => {
                self.bump();
                if self.is_bash() && self.peek() == b'<' {
                    self.pos += 1;
                    return Operator::Plain(RedirectionKind::HereString);
                }
                let plain = Operator::HereDocument { strip: false };
                self.operator_end(b'-', Operator::HereDocument { strip: true }, plain)
            }
            b'&' => self.take_operator(RedirectionKind::Duplicate),
            b'>' => self.take_operator(RedirectionKind::ReadWrite),
            _ => Operator::Plain(RedirectionKind::Read),
        }
    }

    fn output_operator(&mut self, second: u8) -> Operator {
        match second {
            b'>' => self.take_operator(RedirectionKind::Append),
            b'|' => self.take_operator(RedirectionKind::Write),
            b'&' => {
                self.bump();
                Operator::OutputCopy
            }
            _ => Operator::Plain(RedirectionKind::Write),
        }
    }

    fn take_operator(&mut self, kind: RedirectionKind) -> Operator {
        self.bump();
        Operator::Plain(kind)
    }

    fn operator_end(&mut self, byte: u8, with: Operator, without: Operator) -> Operator {
        if self.peek() == byte {
            self.pos += 1;
            return with;
        }
        without
    }

    /// `> 2>f`: the shell takes the number for the next operator's descriptor and finds no target.
    fn number_before_operator(&self) -> bool {
        let mut end = self.pos;
        while self.at(end).is_ascii_digit() && end - self.pos < 11 {
            end += 1;
        }
        end > self.pos && matches!(self.at(self.continued(end)), b'<' | b'>')
    }
}

/// Whether a number can be a descriptor in bash.
fn is_small(digits: &[u8]) -> bool {
    std::str::from_utf8(digits).is_ok_and(|digits| digits.parse::<i32>().is_ok())
}

/// `1`, `1-` or `-`.
fn is_descriptor(target: &Word) -> bool {
    target.as_static().is_some_and(|text| {
        let digits = text.strip_suffix(b"-").unwrap_or(text);
        !text.is_empty() && digits.iter().all(u8::is_ascii_digit)
    })
}
