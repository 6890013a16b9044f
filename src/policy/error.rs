//! Policy errors: every fault with file, line, column, caret and help.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::model::text::Escaped;

/// One mistake in a policy text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    text: String,
    span: Range<usize>,
}

impl Fault {
    pub(super) fn new(file: &str, text: &str, span: Range<usize>, message: String) -> Self {
        let span = within(text, span);
        let before = text.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: Escaped::from(file).to_string(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message,
            help: None,
            text: text.to_owned(),
            span,
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn render(&self) -> String {
        self.shown(Level::ERROR, None, &Renderer::plain())
    }

    /// The same as something to look at: a warning or a note with its code, coloured for a terminal.
    pub(super) fn render_finding(&self, warning: bool, code: &str, colour: bool) -> String {
        let level = if warning { Level::WARNING } else { Level::NOTE };
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        self.shown(level, Some(code), &renderer)
    }

    fn shown(&self, level: Level<'static>, code: Option<&str>, renderer: &Renderer) -> String {
        let snippet = Snippet::source(self.text.as_str())
            .path(self.file.as_str())
            .annotation(AnnotationKind::Primary.span(self.span.clone()));
        let title = level.primary_title(self.message.as_str());
        let title = match code {
            Some(code) => title.id(code),
            None => title,
        };
        let mut group = title.element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    }
}

/// A span on character borders and inside `text`, whatever a parser reported.
fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// A policy that cannot be loaded. Nothing runs under it: one bad file refuses every run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PolicyError {
    faults: Vec<Fault>,
}

impl PolicyError {
    pub(super) const fn new(faults: Vec<Fault>) -> Self {
        Self { faults }
    }

    /// Every mistake that was found, in the order of files and places.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The mistakes as people read them: message, place, the line with a caret, help. Plain text
    /// without colour; control characters of the file are made visible.
    pub fn render(&self) -> String {
        self.faults
            .iter()
            .map(Fault::render)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            let Fault {
                file,
                line,
                column,
                message,
                ..
            } = fault;
            write!(f, "{file}:{line}:{column}: {message}")?;
        }
        Ok(())
    }
}
