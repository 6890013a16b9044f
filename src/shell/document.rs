//! Here-documents: announced by an operator, read when the line of that operator ends.

use super::cursor::is_meta;
use super::folder::Whereabouts;
use super::values::Point;
use super::{Parsed, Parser, limit};
use crate::model::script::{Context, SyntaxError, Word};

/// A here-document whose body has not begun.
pub(super) struct Pending {
    delimiter: Vec<u8>,
    /// Any quote in the delimiter makes the body literal.
    quoted: bool,
    /// `<<-`: leading tabs are no part of the body.
    strip: bool,
    /// The sub-command and its redirection that the body belongs to.
    subcommand: usize,
    redirection: usize,
    /// Where that sub-command stands: what its body runs, runs there.
    context: Context,
    whereabouts: Whereabouts,
    values: Point,
}

/// The body of a here-document with tabs stripped, and whether its delimiter was found.
struct Body {
    text: Vec<u8>,
    end: usize,
    closed: bool,
}

impl Parser<'_, '_> {
    /// The delimiter after `<<`, announced for redirection number `redirection` of `subcommand`.
    pub(super) fn announce_document(
        &mut self,
        strip: bool,
        subcommand: usize,
        redirection: usize,
    ) -> Parsed<Word> {
        let start = self.pos;
        let (delimiter, quoted) = self.delimiter()?;
        let word = Word::text(self.span(start, self.pos), delimiter.clone());
        self.state.pending.push(Pending {
            delimiter,
            quoted,
            strip,
            subcommand,
            redirection,
            context: self.state.context,
            whereabouts: self.state.whereabouts.clone(),
            values: self.state.values.point(),
        });
        if self.state.pending.len() > limit::DOCUMENTS {
            return Err(SyntaxError::Limit("open here-documents"));
        }
        Ok(word)
    }

    fn delimiter(&mut self) -> Parsed<(Vec<u8>, bool)> {
        let mut text = Vec::new();
        let mut quoted = false;
        loop {
            self.tick()?;
            let byte = self.peek();
            if is_meta(byte) {
                return Ok((text, quoted));
            }
            quoted |= matches!(byte, b'\'' | b'"' | b'\\');
            match byte {
                b'\'' => text.append(&mut self.single_quoted()?),
                b'"' => self.delimiter_quoted(&mut text)?,
                b'\\' => {
                    if self.pos + 1 < self.text.len() {
                        text.push(self.at(self.pos + 1));
                    }
                    self.pos += 2;
                }
                b'$' if self.is_bash() && self.peek_second() == b'\'' => {
                    quoted = true;
                    self.bump();
                    self.peek();
                    text.append(&mut self.ansi_quoted()?);
                }
                b'$' if matches!(self.peek_second(), b'(' | b'{' | b'[' | b'"') => {
                    return self.fail("an expansion in a here-document delimiter");
                }
                b'`' => return self.fail("an expansion in a here-document delimiter"),
                b'$' => {
                    let span = self.span(self.pos, self.pos);
                    self.opaque(span, "an expansion in a here-document delimiter");
                    text.push(byte);
                    self.pos += 1;
                }
                _ => {
                    text.push(byte);
                    self.pos += 1;
                }
            }
        }
    }

    fn delimiter_quoted(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        self.pos += 1;
        loop {
            self.tick()?;
            let escaped = self.at(self.pos + 1);
            match self.peek() {
                0 => return self.fail("an unclosed double quote"),
                b'"' => {
                    self.pos += 1;
                    return Ok(());
                }
                b'\\' if matches!(escaped, b'"' | b'\\' | b'$' | b'`') => {
                    text.push(escaped);
                    self.pos += 2;
                }
                b'$' | b'`' => return self.fail("an expansion in a here-document delimiter"),
                byte => {
                    text.push(byte);
                    self.pos += 1;
                }
            }
        }
    }

    /// Reads the bodies that begin here, at the start of a line.
    pub(super) fn read_documents(&mut self) -> Parsed<()> {
        for pending in std::mem::take(&mut self.state.pending) {
            self.read_document(pending)?;
        }
        Ok(())
    }

    fn read_document(&mut self, pending: Pending) -> Parsed<()> {
        let start = self.pos;
        let body = self.document_lines(&pending)?;
        let span = self.span(start, body.end);
        if !body.closed {
            self.opaque(span, "a here-document without its end");
        }
        let redirections = self
            .reserved(pending.subcommand)
            .map(|sub| sub.redirections.as_mut_slice());
        if let Some(redirection) = redirections
            .unwrap_or_default()
            .get_mut(pending.redirection)
        {
            redirection.body = Some(span);
        }
        if pending.quoted {
            return Ok(());
        }
        let context = std::mem::replace(&mut self.state.context, pending.context);
        let here = std::mem::replace(&mut self.state.whereabouts, pending.whereabouts);
        // A value given behind the command, on the same line, is not the one it sees.
        let changed = self.state.values.changed(pending.values);
        let hidden = self.state.values.hide(changed);
        self.state.values.hide(changed || hidden);
        let result = self.inner(&body.text, span, |inner| inner.document_expansions());
        self.state.values.hide(hidden);
        self.state.context = context;
        self.state.whereabouts = here;
        result
    }

    fn document_lines(&mut self, pending: &Pending) -> Parsed<Body> {
        let mut text = Vec::new();
        while !self.is_done() {
            let start = self.pos;
            let line = self.document_line(pending.quoted)?;
            let ended = !self.is_done();
            if ended {
                self.pos += 1;
            }
            let tabs = line
                .iter()
                .take_while(|&&byte| pending.strip && byte == b'\t')
                .count();
            let line = line.get(tabs..).unwrap_or_default();
            if line == pending.delimiter {
                return Ok(Body {
                    text,
                    end: start,
                    closed: true,
                });
            }
            text.extend_from_slice(line);
            if ended {
                text.push(b'\n');
            }
        }
        Ok(Body {
            text,
            end: self.pos,
            closed: false,
        })
    }

    /// One line of a body. Where the body expands, a backslash joins the next line to it.
    fn document_line(&mut self, literal: bool) -> Parsed<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            self.tick()?;
            let byte = self.at(self.pos);
            if self.is_done() || byte == b'\n' {
                return Ok(line);
            }
            if !literal && byte == b'\\' && self.pos + 1 < self.text.len() {
                let next = self.at(self.pos + 1);
                self.pos += 2;
                if next != b'\n' {
                    line.extend_from_slice(&[byte, next]);
                }
                continue;
            }
            line.push(byte);
            self.pos += 1;
        }
    }

    /// What a body expands when the document is made.
    pub(super) fn document_expansions(&mut self) -> Parsed<()> {
        while !self.is_done() {
            self.tick()?;
            match self.peek() {
                b'\\' => self.pos += 2,
                b'$' => drop(self.dollar(true)?),
                b'`' => drop(self.backquoted(false)?),
                _ => self.pos += 1,
            }
        }
        Ok(())
    }

    /// Marks here-documents whose line never ended.
    pub(super) fn abandon_documents(&mut self) {
        if !std::mem::take(&mut self.state.pending).is_empty() {
            let span = self.span(self.text.len(), self.text.len());
            self.opaque(span, "a here-document without its end");
        }
    }
}
