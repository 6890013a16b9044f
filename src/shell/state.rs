//! What a parse has found so far, and the conclusions that need the whole line.

use std::collections::BTreeSet;

use super::arrays::Arrays;
use super::call::Body;
use super::document::Pending;
use super::evaluated::Evaluated;
use super::folder::Whereabouts;
use super::values::{Learned, Values};
use super::{builtin, limit};
use crate::model::script::{Context, Dialect, Opaque, Script, Span, SubCommand};

/// What is known so far, whatever text is being read.
pub(super) struct State {
    pub(super) dialect: Dialect,
    pub(super) script: Script,
    /// Steps left; see [`limit`].
    pub(super) fuel: u64,
    /// Recursion of the parser itself, which is finer than the nesting shown to rules.
    pub(super) nesting: u16,
    /// Bytes that brace expansion may still produce.
    pub(super) brace_budget: usize,
    pub(super) context: Context,
    pub(super) whereabouts: Whereabouts,
    pub(super) values: Values,
    /// Here-documents announced on this line whose bodies have not begun.
    pub(super) pending: Vec<Pending>,
    /// Whether extended patterns are words; in `bash -c` only inside `[[ … ]]`.
    pub(super) extended_globs: bool,
    /// Any syntax beyond one simple command was seen.
    pub(super) compound: bool,
    /// Where each function of the line is defined.
    pub(super) definitions: Vec<(Vec<u8>, Span)>,
    /// Some text will be evaluated as arithmetic, which expands subscripts of the values it meets.
    pub(super) evaluates: bool,
    /// Which text that is.
    pub(super) evaluated: Evaluated,
    /// The simple command that ends the list just read, where that is nothing but one pipeline.
    pub(super) ending: Option<usize>,
    /// Which variables may be arrays, and what is declared.
    pub(super) arrays: Arrays,
    /// Some literal text has the form of a subscript with a substitution in it.
    pub(super) smuggles: bool,
    /// The bodies of functions, as they were defined.
    pub(super) bodies: Vec<Body>,
    /// The functions that are being called.
    pub(super) calling: Vec<Vec<u8>>,
    /// How often something may have left a function before its end.
    pub(super) returns: usize,
    /// A pattern without a match may become no word.
    pub(super) vanishing: bool,
    /// The sub-command whose inner text is being read.
    pub(super) carrier: Option<usize>,
}

impl State {
    pub(super) fn new(length: usize, dialect: Dialect, values: Values) -> Self {
        Self {
            dialect,
            script: Script::default(),
            fuel: limit::fuel(length),
            nesting: 0,
            brace_budget: limit::BRACE_BYTES,
            context: Context::default(),
            whereabouts: Whereabouts::default(),
            values,
            pending: Vec::new(),
            extended_globs: false,
            compound: false,
            definitions: Vec::new(),
            evaluates: false,
            evaluated: Evaluated::default(),
            ending: None,
            arrays: Arrays::default(),
            smuggles: false,
            bodies: Vec::new(),
            calling: Vec::new(),
            returns: 0,
            vanishing: false,
            carrier: None,
        }
    }

    /// Draws the conclusions that need the whole line. After a first reading that a second can add to,
    /// gives back what that needs to know.
    pub(super) fn finish(mut self, line: &[u8]) -> (Script, Option<Learned>) {
        let shadows = |(name, _): &(Vec<u8>, Span)| builtin::is_shadowed(name);
        let mut undecided = !self.script.opaque.is_empty() || self.definitions.iter().any(shadows);
        self.note_calls();
        self.judge_functions();
        let arrays = std::mem::take(&mut self.arrays);
        self.script.opaque.extend(arrays.expanded_again());
        let smuggled = self.evaluates && self.smuggles;
        let reached = self.evaluated.reached(&self.script, line);
        undecided |= smuggled;
        if smuggled || reached.is_none() {
            // `x='a[$(id)]'; echo $((x))` runs `id`: arithmetic expands the subscripts it finds in
            // the *value* of a variable. Which text reaches which evaluation is not decidable here.
            let span = Span {
                start: 0,
                end: line.len(),
            };
            let reason = "text that arithmetic evaluation could run as a command";
            self.script.opaque.push(Opaque { span, reason });
        }
        self.script.beyond_list |= self.values.filled();
        self.script.single = self.is_single();
        let learned = self.values.worth_another(undecided, reached);
        (self.script, learned)
    }

    /// Calls that stand before their definition, in the body of another function.
    fn note_calls(&mut self) {
        if self.definitions.is_empty() {
            return;
        }
        let names = self
            .script
            .subcommands
            .iter()
            .filter_map(SubCommand::program);
        for name in names {
            self.values.note_call(name);
        }
    }

    /// A function is called instead of the file of its name, earlier and later in ways that depend on
    /// what has run; so its use is undecidable, and so is a definition that replaces a built-in.
    fn judge_functions(&mut self) {
        let names: BTreeSet<&[u8]> = self
            .definitions
            .iter()
            .map(|(name, _)| name.as_slice())
            .collect();
        if names.is_empty() {
            return;
        }
        let used = self
            .script
            .subcommands
            .iter()
            .filter(|sub| {
                !sub.context.call && sub.program().is_some_and(|name| names.contains(name))
            })
            .map(|sub| Opaque {
                span: sub.span,
                reason: "a call of a function of this line",
            });
        let shadowing = self
            .definitions
            .iter()
            .filter(|(name, _)| builtin::is_shadowed(name))
            .map(|&(_, span)| Opaque {
                span,
                reason: "a function in place of a built-in command",
            });
        let mut found: Vec<Opaque> = used.chain(shadowing).collect();
        self.script.opaque.append(&mut found);
    }

    fn is_single(&self) -> bool {
        let [only] = self.script.subcommands.as_slice() else {
            return false;
        };
        !self.compound
            && self.script.opaque.is_empty()
            && self.script.functions.is_empty()
            && !only.argv.is_empty()
            && only.static_argv().is_some()
            && only.assignments.is_empty()
            && only.redirections.is_empty()
    }
}
