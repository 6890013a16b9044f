//! Variables: which ones the shell obeys, and what changes them besides `NAME=value`.

use std::collections::BTreeSet;

use super::arithmetic::{assigned_names, holds_substitution};
use super::cursor::{continues_name, is_name};
use super::pieces::dynamic_word;
use super::{Parser, arrays};
use crate::model::script::{Assignment, Dynamic, Piece, Span, Word};

/// Whether the shell itself obeys a variable, so that assigning it changes what the line means.
pub(super) fn is_obeyed(name: &[u8]) -> bool {
    name.starts_with(b"LD_")
        || name.starts_with(b"BASH_FUNC_")
        || matches!(
            name,
            b"PATH"
                | b"IFS"
                | b"ENV"
                | b"BASH_ENV"
                | b"SHELLOPTS"
                | b"BASHOPTS"
                | b"PS4"
                | b"PROMPT_COMMAND"
                | b"POSIXLY_CORRECT"
                | b"BASH_ALIASES"
                | b"BASH_CMDS"
                | b"BASH_COMPAT"
                | b"BASH_LOADABLES_PATH"
                | b"EXECIGNORE"
                | b"GLOBIGNORE"
        )
}

/// Turns the value of `NAME+=value` into what it makes of the variable.
pub(super) fn appended(value: &mut Word, name: &[u8]) {
    let reason = Dynamic::Parameter;
    let before = Piece::Dynamic {
        reason,
        name: Some(name.to_vec()),
        quoted: true,
    };
    value.pieces.insert(0, before);
}

impl Parser<'_, '_> {
    /// Draws the conclusions from a variable that gets a value, in whatever way.
    pub(super) fn note_assignment(&mut self, name: &[u8], span: Span) {
        self.state.values.note_odd(name);
        self.note_meaning(name, span);
    }

    /// The same for an assignment whose value is followed.
    pub(super) fn note_meaning(&mut self, name: &[u8], span: Span) {
        if is_obeyed(name) {
            self.opaque(span, "an assignment to a variable the shell obeys");
        }
        if matches!(name, b"OLDPWD" | b"DIRSTACK") {
            self.state.whereabouts.meddle();
        }
        if name == b"CDPATH" {
            self.state.whereabouts.search();
        }
        self.state.evaluates |= self.state.evaluated.note_variable(name);
    }

    /// `IFS=, read a b`: before what reads it holds for this command alone, whose words are split by then.
    /// Anywhere else it changes what the rest of the line means.
    pub(super) fn take_separators(&mut self, index: usize) {
        let Some(sub) = self.reserved(index) else {
            return;
        };
        if sub.reads_fields() {
            return;
        }
        let mut assigned = sub.assignments.iter();
        let span = assigned
            .find(|each| each.name == b"IFS")
            .map(|each| each.value.span);
        if let Some(span) = span {
            self.note_meaning(b"IFS", span);
        }
    }

    /// Built-ins that assign variables named by their arguments.
    pub(super) fn assigning(
        &mut self,
        name: &[u8],
        arguments: &[Option<Vec<u8>>],
        index: usize,
        span: Span,
    ) {
        match name {
            b"let" => return self.assigning_let(arguments, span),
            b"printf" => return self.assigning_option(b"-v", arguments, span),
            b"wait" => return self.assigning_option(b"-p", arguments, span),
            _ => {}
        }
        self.state.evaluates = true;
        let callback = |word: &[u8]| word.starts_with(b"-C");
        if matches!(name, b"mapfile" | b"readarray")
            && arguments
                .iter()
                .any(|word| word.as_deref().is_none_or(callback))
        {
            self.opaque(span, "commands run for the lines of an array");
        }
        let mut names: Vec<Vec<u8>> = match name {
            b"read" => vec![b"REPLY".to_vec()],
            b"mapfile" | b"readarray" => vec![b"MAPFILE".to_vec()],
            // What it puts into `OPTIND` is a number.
            b"getopts" => vec![b"OPTARG".to_vec()],
            _ => Vec::new(),
        };
        if matches!(name, b"declare" | b"typeset" | b"local" | b"readonly")
            && self.expands_again(arguments, index, name, span)
        {
            self.opaque(span, arrays::AGAIN);
        }
        let option = |letters: &[u8]| has_option(arguments, letters);
        let arrays = matches!(name, b"mapfile" | b"readarray") || option(b"aA");
        if option(b"n") && matches!(name, b"declare" | b"typeset" | b"local") {
            // From now on an assignment to one name may be one to `PATH`.
            self.opaque(span, "a variable that stands for another");
        }
        let declares = matches!(
            name,
            b"declare" | b"typeset" | b"local" | b"export" | b"readonly"
        );
        if declares && self.outer.is_none() {
            self.state.evaluated.note_declaration(arguments, span);
        }
        let integers = declares && option(b"i");
        let mut unknown = false;
        for (position, operand) in arguments.iter().enumerate() {
            // In `declare x=$y` the name is plain all the same.
            let found = match operand {
                Some(word) => Some(self.assigned_name(word)),
                None => self.operand_name(index, position, name),
            };
            if let Some(found) = &found {
                self.note_declared(found, arrays, integers);
                let word = self.declared(index, position, name).cloned();
                if let Some(word) = word {
                    self.named_element(&word, found);
                }
            }
            unknown |= found.is_none();
            names.extend(found);
        }
        if unknown {
            self.opaque(span, "an assignment to a variable known only at run time");
        }
        if name == b"readonly" || (declares && option(b"r")) {
            // An assignment that fails ends the line.
            self.state.values.lose();
        }
        if name == b"unset"
            || arguments
                .iter()
                .flatten()
                .any(|word| word.starts_with(b"-"))
        {
            // It may be the function of that name.
            for word in arguments.iter().flatten() {
                self.state.values.note_odd(&super::call::key(word));
            }
        }
        let operands = self.operands(index, arguments.len());
        let followed = declares && self.take_declared(name, &operands, index);
        if followed {
            self.assign_names(names, span);
        } else {
            self.assign_oddly(names, span);
        }
    }

    /// Whether a declaration surely may take text for `(…)`, which it then expands: `declare -a "x=$y"`.
    /// The others wait for the end of the line.
    fn expands_again(
        &mut self,
        arguments: &[Option<Vec<u8>>],
        index: usize,
        builtin: &[u8],
        span: Span,
    ) -> bool {
        let arrays = has_option(arguments, b"aA");
        let mut again = false;
        for (position, word) in arguments.iter().enumerate() {
            if let Some(text) = word {
                again |= text.windows(2).any(|two| two == b"=(") && holds_substitution(text);
            } else if !self.is_compound(index, position, builtin) {
                match self.operand_name(index, position, builtin) {
                    Some(name) if !arrays => self.state.arrays.declare(name, span),
                    Some(_) | None => again = true,
                }
            }
        }
        again
    }

    /// Whether the operand was written `NAME=(…)`, whose words the parser has read.
    fn is_compound(&mut self, index: usize, position: usize, builtin: &[u8]) -> bool {
        let word = self.declared(index, position, builtin);
        word.is_some_and(|word| {
            word.pieces.iter().all(|piece| match piece {
                Piece::Text(_) => true,
                Piece::Dynamic { reason, .. } => *reason == Dynamic::Array,
            })
        })
    }

    /// `let EXPRESSION…`
    fn assigning_let(&mut self, arguments: &[Option<Vec<u8>>], span: Span) {
        self.state.evaluates = true;
        for argument in arguments {
            match argument {
                Some(text) => {
                    self.state.smuggles |= holds_substitution(text);
                    self.state.evaluated.note(text);
                    self.note_elements(text);
                    self.assign_oddly(assigned_names(text).into_iter().collect(), span);
                }
                None => self.opaque(span, "an assignment to a variable known only at run time"),
            }
        }
    }

    /// A built-in that assigns only the variable after `option`, which may be glued to it.
    fn assigning_option(&mut self, option: &[u8], arguments: &[Option<Vec<u8>>], span: Span) {
        let relevant = |word: &Option<Vec<u8>>| {
            word.as_deref()
                .is_none_or(|word| !word.starts_with(b"-") || word.starts_with(option))
        };
        let Some(at) = arguments.iter().position(relevant) else {
            return;
        };
        let word = arguments.get(at).and_then(Option::as_deref);
        let variable = match word {
            // Known only at run time, it could be the option.
            None => arguments.get(at + 1).and_then(Option::as_deref),
            Some(word) if word == option => {
                let variable = arguments.get(at + 1).and_then(Option::as_deref);
                if variable.is_none() {
                    self.opaque(span, "an assignment to a variable known only at run time");
                }
                variable
            }
            Some(word) => word.strip_prefix(option),
        };
        if let Some(variable) = variable {
            self.state.evaluates = true;
            let name = self.assigned_name(variable);
            self.assign_oddly(vec![name], span);
        }
    }

    fn note_declared(&mut self, name: &[u8], array: bool, integer: bool) {
        if array {
            self.state.arrays.note(name);
        }
        if integer {
            self.state.evaluates = true;
            self.state.evaluated.note_integer(name);
        }
    }

    /// The variable that a word such as `x` or `x[1]` names to a built-in command.
    fn assigned_name(&mut self, word: &[u8]) -> Vec<u8> {
        self.state.arrays.note_element(word);
        leading_name(word)
    }

    /// The plain name that a dynamic operand of a declaration starts with.
    fn operand_name(&mut self, index: usize, position: usize, builtin: &[u8]) -> Option<Vec<u8>> {
        let prefix = self.declared(index, position, builtin)?.static_prefix();
        let name = leading_name(prefix);
        (prefix.len() > name.len() && is_name(&name)).then_some(name)
    }

    /// The word of a built-in's operand.
    fn declared(&mut self, index: usize, position: usize, builtin: &[u8]) -> Option<&Word> {
        let argv = &self.reserved(index)?.argv;
        let start = argv
            .iter()
            .position(|word| word.as_static() == Some(builtin))?;
        argv.get(start + 1 + position)
    }

    /// The same for variables whose values are not followed.
    fn assign_oddly(&mut self, names: Vec<Vec<u8>>, span: Span) {
        for name in names.iter().filter(|name| is_name(name)) {
            self.state.values.note_odd(name);
        }
        self.assign_names(names, span);
    }

    /// Records values not known here for some variables, as a sub-command after the built-in.
    fn assign_names(&mut self, names: Vec<Vec<u8>>, span: Span) {
        let names: BTreeSet<Vec<u8>> = names.into_iter().filter(|name| is_name(name)).collect();
        if names.is_empty() {
            return;
        }
        let index = self.reserve(self.pos);
        for name in &names {
            self.note_meaning(name, span);
        }
        let value = dynamic_word(span, Dynamic::Parameter);
        if let Some(subcommand) = self.reserved(index) {
            subcommand.span = span;
            subcommand.assignments = names
                .into_iter()
                .map(|name| Assignment {
                    name,
                    value: value.clone(),
                })
                .collect();
        }
    }
}

/// Whether a word has the form of options with one of `letters`.
pub(super) fn has_option(arguments: &[Option<Vec<u8>>], letters: &[u8]) -> bool {
    arguments
        .iter()
        .flatten()
        .any(|word| word.starts_with(b"-") && word.iter().any(|letter| letters.contains(letter)))
}

/// The variable name that some text starts with.
fn leading_name(text: &[u8]) -> Vec<u8> {
    text.iter()
        .copied()
        .take_while(|&byte| continues_name(byte))
        .collect()
}
