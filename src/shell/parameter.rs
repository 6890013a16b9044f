//! `${…}`: its parameter, its operator, and what its operand runs.

use std::collections::BTreeSet;

use super::arithmetic::holds_substitution;
use super::cursor::{continues_name, is_name, starts_name};
use super::word::Part;
use super::{Parsed, Parser};
use crate::model::script::Dynamic;

impl Parser<'_, '_> {
    /// The rest of `${…}` after the opening brace.
    pub(super) fn parameter(&mut self, quoted: bool) -> Parsed<Part> {
        let start = self.pos;
        let name = self.parameter_name()?;
        let operator = self.pos;
        // Quotes in a pattern are quotes even where the whole stands in double quotes.
        let pattern = matches!(self.peek(), b'#' | b'%' | b'/' | b'^' | b',');
        let known = name.is_some() && self.at_operator();
        self.parameter_operand(quoted && !pattern)?;
        let text = self.slice(start, self.pos.saturating_sub(1));
        if text.is_empty() {
            return self.fail("an empty `${}`");
        }
        self.note_operator(known, name.as_deref().unwrap_or_default(), start, operator);
        if let [digit] = text
            && let Some(text) = self.state.values.argument(*digit, quoted)
        {
            return Ok(Part::Text {
                bytes: text.to_vec(),
                quoted: true,
            });
        }
        let variable = is_name(text).then(|| text.to_vec());
        if variable.is_none() {
            // It may be one that this shell refuses, or refuses for this value.
            self.state.values.risk();
        }
        let nested = text.windows(3).any(|three| three == b"${!");
        let many = text.contains(&b'@') || indirect(text) || nested;
        Ok(Part::Dynamic {
            reason: Dynamic::Parameter,
            name: variable,
            // `"${a[@]}"`, `"${@:2}"` and what stands behind `"${!x}"` can be any number of words.
            quoted: quoted && !many,
            braces: text.iter().any(|byte| b"{}'\"`\\".contains(byte)),
        })
    }

    /// The parameter: a name, a position or a special one, after any `#` or `!`, and its subscript.
    fn parameter_name(&mut self) -> Parsed<Option<Vec<u8>>> {
        if matches!(self.peek(), b'#' | b'!') {
            let next = self.peek_second();
            if next == b'}' {
                self.pos += 1;
                return Ok(Some(Vec::new()));
            }
            if continues_name(next)
                || matches!(next, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
            {
                self.pos += 1;
            } else {
                // `${!:-x}`, `${#%y}`: it was the parameter itself.
                self.pos += 1;
                return Ok(Some(Vec::new()));
            }
        }
        let mut name = Vec::new();
        while continues_name(self.peek()) {
            self.tick()?;
            name.push(self.at(self.pos));
            self.pos += 1;
        }
        let valid = match name.first() {
            Some(&first) => starts_name(first) || name.iter().all(u8::is_ascii_digit),
            None => {
                let special = matches!(self.peek(), b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!');
                if special {
                    self.pos += 1;
                }
                special
            }
        };
        if self.is_bash() && self.peek() == b'[' {
            self.pos += 1;
            self.deeper(|parser| parser.arithmetic(b']'))?;
        }
        Ok(valid.then_some(name))
    }

    /// Whether what follows the parameter can follow one.
    fn at_operator(&mut self) -> bool {
        match self.peek() {
            b'}' | b':' | b'-' | b'=' | b'?' | b'+' | b'#' | b'%' => true,
            b'/' | b'^' | b',' | b'@' | b'*' => self.is_bash(),
            _ => false,
        }
    }

    /// Text up to the closing brace; moves past it.
    fn parameter_operand(&mut self, quoted: bool) -> Parsed<()> {
        loop {
            self.tick()?;
            match self.peek() {
                0 => return self.fail("an unclosed `${`"),
                b'}' => {
                    self.pos += 1;
                    return Ok(());
                }
                b'\\' => self.pos += 2,
                b'\'' if quoted && self.is_bash() => self.paired_quotes()?,
                b'\'' if quoted => self.pos += 1,
                b'\'' => drop(self.single_quoted()?),
                b'"' => drop(self.double_quoted()?),
                b'$' if !quoted && self.is_bash() && self.peek_second() == b'\'' => {
                    self.bump();
                    self.peek();
                    self.ansi_quoted()?;
                }
                b'$' if quoted && self.is_bash() && self.peek_second() == b'\'' => {
                    // Decoded or not, and where it ends, depends on the version.
                    return self.fail("`$'` in `${` in double quotes");
                }
                b'$' => drop(self.dollar(quoted)?),
                b'`' => drop(self.backquoted(quoted)?),
                b'<' | b'>' if !quoted && self.at_process_substitution() => {
                    self.bump_by(2);
                    self.substitution()?;
                }
                _ => self.pos += 1,
            }
        }
    }

    /// Single quotes in `"${x:-'…'}"`. Bash looks for the closing brace behind the pair, yet expands
    /// what is between them: they hide a `}` or a `"`, but no `$(…)`.
    fn paired_quotes(&mut self) -> Parsed<()> {
        let start = self.pos;
        let text = self.single_quoted()?;
        let span = self.span(start, self.pos);
        if text.iter().any(|byte| b"$`\\\"".contains(byte)) {
            self.opaque(
                span,
                "single quotes that do not quote, in `${` in double quotes",
            );
            self.inner(&text, span, |inner| inner.document_expansions())?;
        }
        Ok(())
    }

    /// Marks what an operator does beyond yielding text. `start` and `operator` are offsets of the
    /// text and of the operator in it; the closing brace has been read.
    fn note_operator(&mut self, known: bool, name: &[u8], start: usize, operator: usize) {
        let end = self.pos.saturating_sub(1);
        let span = self.span(start, end);
        let text = self.slice(start, end);
        let rest = self.slice(operator, end);
        if !known {
            // Such as the flags of zsh; bash finds out only when it gets there.
            self.opaque(span, "a substitution this shell does not know");
        }
        if text.ends_with(b"@P") {
            self.opaque(
                span,
                "an expansion as a prompt, which runs commands in the value",
            );
        }
        if indirect(text) {
            // The value is expanded as the name of a parameter, subscript included.
            self.state.evaluates = true;
            self.note_evaluated(start, end);
        }
        let assigns = rest.starts_with(b"=") || rest.starts_with(b":=");
        if assigns && is_name(name) {
            self.state.arrays.note_element(text);
            let names = BTreeSet::from([name.to_vec()]);
            if indirect(text) {
                self.state.values.lose();
            }
            self.assign_dynamically(names, start, end, Dynamic::Parameter);
        } else if let [b':', next, ..] = rest
            && !matches!(next, b'-' | b'=' | b'?' | b'+')
        {
            // Quotes in an expression keep nothing from being expanded.
            self.state.evaluates = true;
            self.state.smuggles |= rest.contains(&b'\'') && holds_substitution(rest);
            self.note_arithmetic(operator, end);
        }
    }
}

/// Whether it is the variable that another one names: `${!x}`.
fn indirect(text: &[u8]) -> bool {
    text.len() > 1 && text.starts_with(b"!")
}
