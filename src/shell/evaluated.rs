//! Values that arithmetic meets: bash evaluates the *value* of a name, and a subscript in it runs
//! what it substitutes (`read x < f; echo $((x))` with `a[$(id)]` in the file).

use std::collections::{BTreeMap, BTreeSet};

use super::Parser;
use super::cursor::{continues_name, is_name};
use super::printed::Substitutions;
use crate::model::script::{Assignment, Dynamic, Loop, Piece, Script, Span, Word};

/// Evaluated texts and values with a substitution that are looked at; more count as foreign.
const TEXTS: usize = 64;

/// What a variable is given.
enum Given<'a> {
    Word(&'a Word),
    /// A declared value, of which the names are known.
    Names(&'a Vec<Vec<u8>>),
}

/// What the line evaluates as arithmetic.
#[derive(Default)]
pub(super) struct Evaluated {
    /// Every name in an evaluated text.
    names: BTreeSet<Vec<u8>>,
    /// Evaluated texts.
    texts: Vec<Span>,
    /// Words whose value is evaluated, or may be.
    words: Vec<Word>,
    /// The names in the values of declarations that are known: by variable and place.
    declared: BTreeMap<(Vec<u8>, usize, usize), Vec<Vec<u8>>>,
    /// All command substitutions, evaluated or not.
    pub(super) substitutions: Substitutions,
    /// An evaluated text holds an argument of the shell or of a function.
    positional: bool,
    /// An evaluated text makes a name out of parts: `$((a$x))`.
    glued: bool,
}

/// Whether bash, in one version or another, evaluates whatever is assigned to the variable: it is an
/// integer from the start.
fn is_integer(name: &[u8]) -> bool {
    matches!(
        name,
        b"RANDOM" | b"SRANDOM" | b"SECONDS" | b"OPTIND" | b"HISTCMD" | b"LINENO" | b"BASHPID"
    )
}

/// Variables that bash fills without an assignment of the line, with text from anywhere: `: $(cat f)`
/// fills `_`, `[[ $(cat f) =~ … ]]` fills `BASH_REMATCH`.
const FILLED: [&[u8]; 7] = [
    b"_",
    b"BASH_REMATCH",
    b"BASH_COMMAND",
    b"BASH_ARGV",
    b"DIRSTACK",
    b"PWD",
    b"OLDPWD",
];

impl Parser<'_, '_> {
    /// Records that the text between two offsets is evaluated.
    pub(super) fn note_evaluated(&mut self, start: usize, end: usize) {
        let text = self.slice(start, end);
        let span = self.span(start, end);
        if text.windows(2).any(|two| two == b"$'") {
            // What it decodes to may be the name of any variable.
            self.state.values.lose();
        }
        let evaluated = &mut self.state.evaluated;
        evaluated.names.extend(names(text));
        if text.iter().any(|byte| QUOTES.contains(byte)) {
            let bare: Vec<u8> = unquoted(text).collect();
            evaluated.names.extend(names(&bare));
        }
        evaluated.positional |= holds_argument(text);
        evaluated.glued |= is_glued(text);
        if text.contains(&b'`') || text.windows(2).any(|two| two == b"$(" || two == b"${") {
            evaluated.texts.push(span);
        }
    }
}

impl Evaluated {
    /// Records that a text known now, an argument of `let`, is evaluated.
    pub(super) fn note(&mut self, text: &[u8]) {
        self.names.extend(names(text));
    }

    /// Records the values in `declare x=5 y=6` of the line itself, when all are known.
    pub(super) fn note_declaration(&mut self, arguments: &[Option<Vec<u8>>], span: Span) {
        if arguments.iter().any(Option::is_none) {
            return;
        }
        for word in arguments.iter().flatten() {
            let mut parts = word.splitn(2, |&byte| byte == b'=');
            if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
                let name = name.strip_suffix(b"+").unwrap_or(name).to_vec();
                let found = self.declared.entry((name, span.start, span.end));
                found.or_default().extend(names(value));
            }
        }
    }

    /// Records a word whose value is evaluated.
    pub(super) fn note_word(&mut self, word: Word) {
        self.words.push(word);
    }

    /// Records that a variable becomes an integer: whatever it is given is evaluated.
    pub(super) fn note_integer(&mut self, name: &[u8]) {
        self.names.insert(name.to_vec());
    }

    /// Records an assignment to a variable: `RANDOM=$x` evaluates. True if it does.
    pub(super) fn note_variable(&mut self, name: &[u8]) -> bool {
        let integer = is_integer(name);
        if integer {
            self.names.insert(name.to_vec());
        }
        integer
    }

    /// The variables whose values are evaluated; none if something evaluated may be text that a program
    /// or a file gave.
    pub(super) fn reached(&self, script: &Script, line: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
        if self.positional || self.texts.len() + self.words.len() > TEXTS {
            return None;
        }
        let mut names = self.names.clone();
        for span in &self.texts {
            names.extend(self.substitutions.printed(script, *span)?);
        }
        for word in &self.words {
            names.extend(self.links(script, word, line)?);
        }
        if names.is_empty() {
            return Some(names);
        }
        self.follow_names(names, script, line)
    }

    /// Follows the evaluated names through the values they get, and the names in those.
    fn follow_names(
        &self,
        names: BTreeSet<Vec<u8>>,
        script: &Script,
        line: &[u8],
    ) -> Option<BTreeSet<Vec<u8>>> {
        let values = self.values(script);
        let mut left: Vec<Vec<u8>> = names.iter().cloned().collect();
        let mut reached = names;
        let (mut substitutions, mut all) = (0_usize, false);
        let mut glued = self.glued;
        loop {
            if glued && !all {
                // Any name may come of it, and `_` or `BASH_REMATCH` hold what was substituted.
                if self.substitutions.len() > 0 {
                    return None;
                }
                all = true;
                reached.extend(values.keys().map(|name| name.to_vec()));
                left.extend(values.keys().map(|name| name.to_vec()));
            }
            let Some(name) = left.pop() else {
                return Some(reached);
            };
            if FILLED.contains(&name.as_slice()) {
                return None;
            }
            for given in values.get(name.as_slice()).into_iter().flatten() {
                let names = match given {
                    Given::Names(names) => (*names).clone(),
                    Given::Word(word) => {
                        substitutions +=
                            usize::from(word.dynamic() == Some(Dynamic::CommandSubstitution));
                        glued |= joins(word);
                        match self.links(script, word, line) {
                            Some(names) if substitutions <= TEXTS => names,
                            Some(_) | None => return None,
                        }
                    }
                };
                for name in names {
                    if reached.insert(name.clone()) {
                        left.push(name);
                    }
                }
            }
        }
    }

    /// What each variable of the line is given.
    fn values<'a>(&'a self, script: &'a Script) -> BTreeMap<&'a [u8], Vec<Given<'a>>> {
        let loops: BTreeMap<usize, &Loop> = script
            .loops
            .iter()
            .map(|each| (each.header, each))
            .collect();
        let mut values: BTreeMap<&[u8], Vec<Given<'_>>> = BTreeMap::new();
        for (index, sub) in script.subcommands.iter().enumerate() {
            for Assignment { name, value } in &sub.assignments {
                let given = values.entry(name).or_default();
                let place = (name.clone(), value.span.start, value.span.end);
                match (self.declared.get(&place), loops.get(&index)) {
                    (Some(names), _) => given.push(Given::Names(names)),
                    (None, Some(each)) => given.extend(each.values.iter().map(Given::Word)),
                    (None, None) => given.push(Given::Word(value)),
                }
            }
        }
        values
    }

    /// The names a value is made of; none if its text comes from elsewhere.
    fn links(&self, script: &Script, value: &Word, line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let written = line.get(value.span.start..value.span.end);
        let mut found = Vec::new();
        for piece in &value.pieces {
            match piece {
                Piece::Text(text) => found.extend(names(text)),
                Piece::Dynamic {
                    name: Some(name), ..
                } => found.push(name.clone()),
                Piece::Dynamic { reason, .. } => match reason {
                    Dynamic::Arithmetic => {}
                    Dynamic::CommandSubstitution => {
                        found.extend(self.substitutions.printed(script, value.span)?);
                    }
                    // `x=$1=$?` ends in one, too.
                    Dynamic::Parameter if value.pieces.len() > 1 => return None,
                    Dynamic::Parameter => found.extend(parameter(written?)?),
                    Dynamic::Array => found.extend(elements(written?)?),
                    Dynamic::ProcessSubstitution
                    | Dynamic::Glob
                    | Dynamic::Tilde
                    | Dynamic::Locale
                    | Dynamic::Brace
                    | Dynamic::FunctionSubstitution => return None,
                },
            }
        }
        Some(found)
    }
}

/// Whether the text holds `$1`, `$@`, `${1…}` or their like. `$#` is a number.
fn holds_argument(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'$').skip(1).any(|after| {
        let name = after.strip_prefix(b"{").unwrap_or(after);
        name.first()
            .is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'@' | b'*'))
    })
}

/// Every name in a text.
pub(super) fn names(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    text.split(|&byte| !continues_name(byte))
        .filter(|name| is_name(name))
        .map(<[u8]>::to_vec)
}

/// The names in `$?` and its like or in `${NAME[@]}`, alone or as the whole value of an assignment.
fn parameter(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let value = text.rsplit(|&byte| byte == b'=').next().unwrap_or(text);
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let value = value.strip_suffix(b"\"").unwrap_or(value);
    if matches!(value, b"$?" | b"$#" | b"$$" | b"$!") {
        return Some(Vec::new());
    }
    let (name, index) = value
        .strip_prefix(b"${")?
        .strip_suffix(b"]}")
        .and_then(|inside| {
            let at = inside.iter().position(|&byte| byte == b'[')?;
            Some((inside.get(..at)?, inside.get(at + 1..)?))
        })?;
    let plain = matches!(index, b"@" | b"*") || index.iter().all(u8::is_ascii_digit);
    (is_name(name) && plain).then(|| vec![name.to_vec()])
}

/// The names in `NAME=(…)`, where nothing but words and numbers stands in it.
fn elements(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let at = text.windows(2).position(|two| two == b"=(")?;
    let inside = text.get(at + 2..)?.strip_suffix(b")")?;
    let mut found = Vec::new();
    for word in inside.split(u8::is_ascii_whitespace) {
        if matches!(word, b"$!" | b"\"$!\"" | b"$?" | b"\"$?\"" | b"$#" | b"$$") {
            continue;
        }
        if word.iter().any(|byte| b"$`*?[~<>({#\n".contains(byte)) {
            return None;
        }
        // Quotes vanish: `a"b"` is `ab`.
        let bare: Vec<u8> = unquoted(word).collect();
        found.extend(names(&bare));
    }
    Some(found)
}

/// Whether an expansion in an evaluated text touches a name or another expansion.
fn is_glued(text: &[u8]) -> bool {
    let bare: Vec<u8> = unquoted(text).collect();
    let at = |place: usize| bare.get(place).copied().unwrap_or(0);
    let joins = |byte: u8| continues_name(byte) || b"})$`".contains(&byte);
    let mut backquoted = false;
    (0..bare.len()).any(|place| {
        let before = place.checked_sub(1).map_or(0, at);
        match at(place) {
            b'`' => {
                backquoted = !backquoted;
                joins(if backquoted { before } else { at(place + 1) })
            }
            b'$' if is_special(at(place + 1)) => joins(before) || joins(at(place + 2)),
            b'$' => joins(before),
            b'}' | b')' => continues_name(at(place + 1)),
            _ => false,
        }
    })
}

const QUOTES: &[u8] = b"'\"\\";

/// A text without its quotes.
fn unquoted(text: &[u8]) -> impl Iterator<Item = u8> {
    text.iter().copied().filter(|byte| !QUOTES.contains(byte))
}

fn is_special(byte: u8) -> bool {
    b"?#$!-".contains(&byte)
}

/// Whether the parts of a value can make a name together: `a$x`.
fn joins(word: &Word) -> bool {
    word.pieces.windows(2).any(|two| match two {
        [Piece::Text(text), Piece::Dynamic { .. }] => {
            text.last().is_some_and(|byte| continues_name(*byte))
        }
        [Piece::Dynamic { .. }, Piece::Text(text)] => {
            text.first().is_some_and(|byte| continues_name(*byte))
        }
        _ => true,
    })
}
