//! Variables with a value that the line itself gives them: `D=/tmp/x; rm -rf "$D"`.
//!
//! A value is put in only where the assignment surely took effect and nothing can have changed it since;
//! in doubt the word stays dynamic. That takes two readings of the line. The first puts nothing in and
//! learns what changes variables anywhere in it: a loop turns text around, a function runs wherever it is
//! called, arithmetic assigns in the midst of a word. The second follows each value from its assignment
//! on, the way [`Whereabouts`](super::folder::Whereabouts) follows the folder.
//!
//! What rules a variable out for the whole line: an assignment in another form than `NAME=value` alone or
//! after a plain `export`, `declare` or `local` (so `read`, `unset`, `getopts`, `printf -v`, arithmetic,
//! arrays, `x=1 cmd`, loop variables, …), assignments in two different functions, a name the shell itself
//! gives a meaning. What rules out all of them: whatever makes the line opaque, `source`, attributes such
//! as `-i`, a command whose name is not known.
//!
//! An error in an expansion (`$((1/0))`, bash 5.2) ends the commands up to the next newline at the top
//! and goes on behind it, so what stood between the error and the newline may not have run.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Parser;
use super::builtin::Words;
use super::cursor::is_name;
use crate::model::script::{Dynamic, Piece, Word};

/// Variables followed at a time.
const NAMES: usize = 256;
/// Longest value followed, in bytes: what is longer is no argument anybody reads.
const LONGEST: usize = 4096;

/// The pieces of a value: text, and the home or the folder by name.
type Value = Rc<Vec<Piece>>;

/// Where a text that runs stands: the line itself is 0, each function and trap has a number of its own.
type Body = usize;

/// What a text that runs elsewhere leaves behind.
type Outside = (Point, Body, Option<Words>);

/// A loop, by the text it stands in and its place there.
type Place = (Option<(usize, usize)>, usize);

/// What the first reading finds out.
#[derive(Clone, Default)]
pub(super) struct Learned {
    /// Variables that get a value in a form that can be followed: where, and how often.
    plain: BTreeMap<Vec<u8>, (Body, usize)>,
    /// Variables that change in another way.
    odd: BTreeSet<Vec<u8>>,
    /// The variables that change in a loop.
    loops: BTreeMap<Place, BTreeSet<Vec<u8>>>,
    /// Something may change any variable.
    wild: bool,
    /// Some text runs at moments nobody foresees.
    traps: bool,
    /// Functions that are called behind their definition.
    called: BTreeSet<Vec<u8>>,
    /// The line defines functions.
    functions: BTreeSet<Vec<u8>>,
}

impl Learned {
    /// Whether the variable can be followed.
    fn follows(&self, name: &[u8]) -> bool {
        self.plain.contains_key(name) && !self.odd.contains(name) && is_ordinary(name)
    }

    /// Whether it gets one value only, at the top of the line: it keeps that in every text that runs later.
    fn is_final(&self, name: &[u8]) -> bool {
        self.plain.get(name) == Some(&(0, 1))
    }
}

/// What is known of variables here.
#[derive(Default)]
pub(super) struct Values {
    /// What the first reading found; none during it.
    first: Option<Learned>,
    learned: Learned,
    known: BTreeMap<Vec<u8>, Value>,
    /// Each change, with what was known before, so that the changes of a subshell can be taken back.
    changes: Vec<(Vec<u8>, Option<Value>)>,
    /// Grows with each change and each return: equal numbers mean equal knowledge.
    version: u64,
    /// Expansions so far that can end the commands up to the next newline.
    risks: usize,
    /// Every word can.
    risky: bool,
    body: Body,
    bodies: Body,
    /// What is known of `$1` and so on in the body of a function that is called.
    arguments: Option<Words>,
    /// What is read now is read again where it counts.
    postponed: bool,
    /// Nothing is put in for now.
    hidden: bool,
    /// The last simple command did nothing but give variables known values.
    settled: bool,
    /// A variable that can be followed is used.
    useful: Cell<bool>,
    /// A value was put in.
    filled: Cell<bool>,
    /// The second reading met what the first could not know.
    failed: bool,
}

/// A point to come back to.
#[derive(Clone, Copy)]
pub(super) struct Point {
    changes: usize,
    risks: usize,
    version: u64,
}

impl Values {
    /// For the second reading.
    pub(super) fn second(learned: Learned) -> Self {
        Self {
            first: Some(learned),
            ..Self::default()
        }
    }

    /// What the first reading learned, if a second one can put a value in.
    pub(super) fn worth_another(
        &mut self,
        opaque: bool,
        evaluated: Option<BTreeSet<Vec<u8>>>,
    ) -> Option<Learned> {
        let evaluated = evaluated.filter(|_| self.useful.get() && !opaque)?;
        let mut learned = std::mem::take(&mut self.learned);
        learned.odd.extend(evaluated);
        let interrupted = learned.traps && !learned.functions.is_empty();
        let some = learned.plain.keys().any(|name| learned.follows(name));
        (some && !learned.wild && !interrupted).then_some(learned)
    }

    /// Whether what the second reading found holds.
    pub(super) fn holds(&self) -> bool {
        !self.failed
    }

    pub(super) fn filled(&self) -> bool {
        self.filled.get()
    }

    pub(super) fn point(&self) -> Point {
        Point {
            changes: self.changes.len(),
            risks: self.risks,
            version: self.version,
        }
    }

    /// Takes back every change since `point`, as after a subshell.
    pub(super) fn return_to(&mut self, point: Point) {
        if self.changes.len() > point.changes {
            self.version += 1;
        }
        while self.changes.len() > point.changes {
            if let Some((name, before)) = self.changes.pop() {
                match before {
                    Some(value) => drop(self.known.insert(name, value)),
                    None => drop(self.known.remove(&name)),
                }
            }
        }
    }

    /// Forgets every variable that changed since `point`: the changes may not have happened.
    pub(super) fn forget_since(&mut self, point: Point) {
        for name in self.changed_since(point) {
            self.forget(&name);
        }
    }

    /// Whether anything changed since `point`.
    pub(super) fn changed(&self, point: Point) -> bool {
        self.version != point.version
    }

    /// The same as [`Self::forget_since`], if an expansion since `point` can have ended what followed it. True if so.
    pub(super) fn line_ends(&mut self, point: Point) -> bool {
        let risky = self.risky || self.risks != point.risks;
        if risky {
            self.forget_since(point);
        }
        risky
    }

    fn changed_since(&self, point: Point) -> BTreeSet<Vec<u8>> {
        let changes = self.changes.get(point.changes..).unwrap_or_default();
        changes.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn forget(&mut self, name: &[u8]) {
        self.put(name, None);
    }

    fn put(&mut self, name: &[u8], value: Option<Value>) {
        let before = match value {
            Some(value) => self.known.insert(name.to_vec(), value),
            None => self.known.remove(name),
        };
        self.version += 1;
        self.changes.push((name.to_vec(), before));
    }

    /// Forgets every value that can change.
    fn forget_all(&mut self) {
        let names: Vec<Vec<u8>> = self.known.keys().cloned().collect();
        for name in names {
            let first = self.first.as_ref();
            let kept = first.is_some_and(|first| first.is_final(&name));
            if !kept || self.names_folder(&name) {
                self.forget(&name);
            }
        }
    }

    /// An expansion that can fail, and with it the rest of the line.
    pub(super) fn risk(&mut self) {
        self.risks += 1;
    }

    /// From now on any word may fail.
    pub(super) fn always_risky(&mut self) {
        self.risky = true;
        self.lose();
    }

    /// Anything may change.
    pub(super) fn lose(&mut self) {
        self.learned.wild = true;
        self.fail();
    }

    /// The second reading met a command whose name is not known: it may be a built-in one. In the first
    /// it may be a variable that the second fills in.
    pub(super) fn fail(&mut self) {
        self.failed |= !self.postponed;
    }

    /// Whether what is read now counts later, where it is read again; gives back what held before.
    pub(super) fn postpone(&mut self, postponed: bool) -> bool {
        std::mem::replace(&mut self.postponed, postponed)
    }

    pub(super) fn is_postponed(&self) -> bool {
        self.postponed
    }

    /// Some text may run at any moment from now on.
    pub(super) fn note_trap(&mut self) {
        self.learned.traps = true;
    }

    /// Whether an expansion since `point` can fail.
    pub(super) fn risked(&self, point: Point) -> bool {
        self.risks != point.risks
    }

    /// A variable changes in a form that is not followed.
    pub(super) fn note_odd(&mut self, name: &[u8]) {
        if !is_ordinary(name) {
            self.risk();
        }
        self.learned.odd.insert(name.to_vec());
        self.forget(name);
    }

    /// Every name in a text that a built-in command may evaluate.
    pub(super) fn note_text(&mut self, text: &[u8]) {
        for name in super::evaluated::names(text) {
            self.note_odd(&name);
        }
    }

    /// A variable gets `value` by itself; none where that is not known.
    pub(super) fn note_plain(&mut self, name: &[u8], value: Option<Vec<Piece>>) {
        if !is_ordinary(name) {
            self.note_odd(name);
            return;
        }
        let body = self.body;
        let entry = self.learned.plain.entry(name.to_vec()).or_insert((body, 0));
        entry.1 += 1;
        if entry.0 != body {
            self.learned.odd.insert(name.to_vec());
        }
        let followed = self.first.as_ref().is_some_and(|first| first.follows(name));
        let room = self.known.len() < NAMES;
        let value = value.filter(|_| followed && room).map(Rc::new);
        self.put(name, value);
    }

    /// The name of a function of the line.
    pub(super) fn note_function(&mut self, name: &[u8]) {
        self.learned.functions.insert(name.to_vec());
    }

    pub(super) fn is_function(&self, name: &[u8]) -> bool {
        let first = self.first.as_ref().unwrap_or(&self.learned);
        first.functions.contains(name)
    }

    /// A function of the line may be called, which can fail and can be the one this stands in.
    pub(super) fn called(&mut self, program: &[u8]) {
        self.risk();
        if self.is_first() {
            self.note_call(program);
        } else if self.body != 0 {
            self.forget_all();
        }
    }

    /// A call seen by the first reading.
    pub(super) fn note_call(&mut self, program: &[u8]) {
        if self.learned.functions.contains(program) {
            self.useful.set(true);
            self.learned.called.insert(program.to_vec());
        }
    }

    /// Whether this is the first reading.
    pub(super) fn is_first(&self) -> bool {
        self.first.is_none()
    }

    /// Whether the second reading puts the body of the function in place of its calls.
    pub(super) fn is_called(&self, function: &[u8]) -> bool {
        self.first.as_ref().is_some_and(|first| {
            first.called.contains(function) && first.follows(&super::call::key(function))
        })
    }

    /// Which body the function has here.
    pub(super) fn body(&self, function: &[u8]) -> Option<usize> {
        let value = self
            .known
            .get(&super::call::key(function))
            .filter(|_| !self.hidden)?;
        match value.as_slice() {
            [Piece::Text(number)] => std::str::from_utf8(number).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The arguments of the function that is called; gives back those of the caller.
    pub(super) fn take_arguments(&mut self, arguments: Option<Words>) -> Option<Words> {
        std::mem::replace(&mut self.arguments, arguments)
    }

    /// The arguments change. A body that does so was to be known by its words.
    pub(super) fn shifted(&mut self) {
        if self.arguments.is_some() {
            self.fail();
        }
    }

    /// `$1` to `$9`, where it stands as it is put in.
    pub(super) fn argument(&self, digit: u8, quoted: bool) -> Option<&[u8]> {
        let at = usize::from(digit.checked_sub(b'1')?);
        let text = self.arguments.as_ref()?.get(at)?.as_deref()?;
        let stays = !text.is_empty() && text.iter().all(|byte| stays_itself(*byte));
        (quoted || stays).then(|| {
            self.filled.set(true);
            text
        })
    }

    /// Starts a text that runs later and elsewhere; what it changes ends with it.
    fn enter_body(&mut self) -> Outside {
        let outside = (self.point(), self.body, self.arguments.take());
        self.bodies += 1;
        self.body = self.bodies;
        self.forget_all();
        outside
    }

    fn names_folder(&self, name: &[u8]) -> bool {
        let value = self.known.get(name);
        value.is_some_and(|value| value.iter().any(|piece| variable(piece) == Some(b"PWD")))
    }

    fn leave_body(&mut self, (point, body, arguments): Outside) {
        self.return_to(point);
        self.arguments = arguments;
        self.body = body;
    }

    /// Forgets what a loop changes, before its first round.
    fn enter_loop(&mut self, place: &Place) {
        let Some(first) = &self.first else { return };
        match first.loops.get(place).filter(|_| self.body == 0) {
            Some(changed) => {
                for name in changed.clone() {
                    self.forget(&name);
                }
            }
            None => self.forget_all(),
        }
    }

    fn leave_loop(&mut self, place: Place, point: Point) {
        let changed = self.changed_since(point);
        self.forget_since(point);
        self.learned.loops.entry(place).or_default().extend(changed);
    }

    /// The value of `$name`, where it stands as it is put in: unquoted text that would be split or matched
    /// stays a variable.
    pub(super) fn get(&self, name: &[u8], whole: bool) -> Option<&[Piece]> {
        if self.first.is_none() {
            if self.learned.plain.contains_key(name) {
                self.useful.set(true);
            }
            return None;
        }
        let value = self.known.get(name).filter(|_| !self.hidden)?;
        let stays = |piece: &Piece| match piece {
            Piece::Text(text) => text.iter().all(|byte| stays_itself(*byte)),
            Piece::Dynamic { .. } => true,
        };
        let empty = value
            .iter()
            .all(|piece| matches!(piece, Piece::Text(text) if text.is_empty()));
        if !whole && (empty || !value.iter().all(stays)) {
            return None;
        }
        self.filled.set(true);
        Some(value)
    }

    /// Whether nothing is put in for now: text that the shell expands earlier than it is read. Gives back
    /// whether that was so before.
    pub(super) fn hide(&mut self, hidden: bool) -> bool {
        std::mem::replace(&mut self.hidden, hidden)
    }

    /// The folder changes, and with it what `$PWD` in a value meant.
    pub(super) fn moved(&mut self) {
        let names: Vec<Vec<u8>> = self.known.keys().cloned().collect();
        for name in names {
            if self.names_folder(&name) {
                self.forget(&name);
            }
        }
    }

    pub(super) fn settle(&mut self, settled: bool) {
        self.settled = settled;
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }
}

/// What a value is made of, where all of it is known: text, and the home and the folder, which the policy
/// puts in.
pub(super) fn known_pieces(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let known = |piece: &Piece| match piece {
        Piece::Text(text) => text.len() <= LONGEST,
        Piece::Dynamic { .. } => matches!(variable(piece), Some(b"HOME" | b"PWD")),
    };
    let many = pieces.len() > 8;
    (!many && pieces.iter().all(known)).then(|| pieces.to_vec())
}

/// The variable that a piece is, whole.
fn variable(piece: &Piece) -> Option<&[u8]> {
    match piece {
        Piece::Dynamic {
            reason: Dynamic::Parameter | Dynamic::Tilde,
            name: Some(name),
            ..
        } => Some(name),
        Piece::Dynamic { .. } | Piece::Text(_) => None,
    }
}

/// Whether a byte of an unquoted value is neither split at nor part of a pattern, whatever stands around
/// it. Control characters are bash's own marks.
fn stays_itself(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f && !b"*?[]\\()".contains(&byte)
}

/// Whether the shell gives the variable no meaning of its own: bash(1), Shell Variables; dash(1).
fn is_ordinary(name: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 13] = [
        b"BASH",
        b"COMP",
        b"COPROC",
        b"DIRSTACK",
        b"EPOCH",
        b"FUNC",
        b"GLOB",
        b"HIST",
        b"LC_",
        b"LD_",
        b"OPT",
        b"PROMPT",
        b"READLINE",
    ];
    !(PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || super::variables::is_obeyed(name)
        || name == b"_"
        || matches!(
            name,
            b"CDPATH"
                | b"CHILD_MAX"
                | b"COLUMNS"
                | b"EMACS"
                | b"EUID"
                | b"EXECIGNORE"
                | b"FCEDIT"
                | b"FIGNORE"
                | b"FPATH"
                | b"GROUPS"
                | b"HOME"
                | b"HOSTFILE"
                | b"HOSTNAME"
                | b"HOSTTYPE"
                | b"IGNOREEOF"
                | b"INPUTRC"
                | b"INSIDE_EMACS"
                | b"LANG"
                | b"LANGUAGE"
                | b"LINENO"
                | b"LINES"
                | b"MACHTYPE"
                | b"MAIL"
                | b"MAILCHECK"
                | b"MAILPATH"
                | b"MAPFILE"
                | b"OLDPWD"
                | b"OSTYPE"
                | b"PIPESTATUS"
                | b"PPID"
                | b"PS0"
                | b"PS1"
                | b"PS2"
                | b"PS3"
                | b"PWD"
                | b"RANDOM"
                | b"REPLY"
                | b"SECONDS"
                | b"SHELL"
                | b"SHLVL"
                | b"SRANDOM"
                | b"TERM"
                | b"TEXTDOMAIN"
                | b"TEXTDOMAINDIR"
                | b"TIMEFORMAT"
                | b"TMOUT"
                | b"TMPDIR"
                | b"UID"
                | b"auto_resume"
                | b"histchars"
        ))
}

impl Parser<'_, '_> {
    /// A text that runs later, wherever the line then is: what it changes stays in it.
    pub(super) fn elsewhere<T>(&mut self, production: impl FnOnce(&mut Self) -> T) -> T {
        let outside = self.state.values.enter_body();
        let result = production(self);
        self.state.values.leave_body(outside);
        result
    }

    /// A part that may run several times.
    pub(super) fn rounds<T>(&mut self, production: impl FnOnce(&mut Self) -> T) -> T {
        let place = (self.outer.map(|span| (span.start, span.end)), self.pos);
        self.state.values.enter_loop(&place);
        let point = self.state.values.point();
        let result = production(self);
        self.state.values.leave_loop(place, point);
        result
    }

    /// `NAME=value` with nothing else in the command: from here on the variables have these values.
    /// With a command behind it, or a redirection, which may fail, they are known no longer.
    pub(super) fn take_assignments(&mut self, index: usize) {
        let Some(sub) = self.state.script.subcommands.get(index) else {
            return;
        };
        let alone = sub.argv.is_empty() && sub.redirections.is_empty();
        let mut settled = alone;
        let array = |word: &Word| word.dynamic() == Some(Dynamic::Array);
        for assignment in &sub.assignments {
            if alone && !array(&assignment.value) {
                let value = known_pieces(&assignment.value.pieces);
                settled &= value.is_some();
                self.state.values.note_plain(&assignment.name, value);
            } else {
                settled = false;
                self.state.values.note_odd(&assignment.name);
            }
        }
        self.state
            .values
            .settle(settled && !sub.assignments.is_empty());
    }

    /// The operands of `export` and its like: each a name, or an assignment as if it stood alone. False
    /// where they are something else, or not only that.
    pub(super) fn take_declared(&mut self, builtin: &[u8], words: &[Word], index: usize) -> bool {
        let local = self.state.context.function_body || !self.state.calling.is_empty();
        let outside = matches!(builtin, b"export")
            || (self.is_bash() && matches!(builtin, b"declare" | b"typeset"));
        let alone = self
            .reserved(index)
            .is_some_and(|sub| sub.redirections.is_empty() && sub.assignments.is_empty());
        if !alone || !(outside || (local && builtin == b"local")) {
            return false;
        }
        let Some(declared) = words.iter().map(declared).collect::<Option<Vec<_>>>() else {
            return false;
        };
        for (name, value) in declared {
            match value {
                Some(pieces) => {
                    let value = known_pieces(&pieces);
                    self.state.values.note_plain(&name, value);
                }
                // `local x` has no value; `export x` keeps it.
                None if builtin == b"export" => {}
                None => self.state.values.note_plain(&name, None),
            }
        }
        true
    }

    /// Whether the shell runs it in itself.
    pub(super) fn is_of_the_shell(&self, name: &[u8]) -> bool {
        super::builtin::is_shadowed(name) || self.state.values.is_function(name)
    }

    /// Records what a built-in command that evaluates subscripts may assign in one: `unset 'a[x=5]'`.
    pub(super) fn note_subscripts(&mut self, builtin: &[u8], arguments: &[Option<Vec<u8>>]) {
        if builtin == b"echo"
            || (builtin == b"printf" && !super::variables::has_option(arguments, b"v"))
        {
            return;
        }
        for text in arguments
            .iter()
            .flatten()
            .filter(|text| text.contains(&b'['))
        {
            self.state.values.note_text(text);
        }
    }

    /// `printf '%n' x` puts a number into `x`.
    pub(super) fn note_counted(&mut self, arguments: &[Option<Vec<u8>>]) {
        let mut rest = arguments;
        while let Some((Some(option), others)) = rest.split_first() {
            if !option.starts_with(b"-") {
                break;
            }
            let named = option == b"-v";
            rest = if named {
                others.get(1..).unwrap_or_default()
            } else {
                others
            };
        }
        let Some((format, operands)) = rest.split_first() else {
            return;
        };
        if format.as_deref().is_some_and(|format| !counts(format)) {
            return;
        }
        for operand in operands {
            match operand {
                Some(name) if is_name(name) => self.state.values.note_odd(name),
                Some(_) => {}
                None => self.state.values.lose(),
            }
        }
    }
}

/// Whether a format of `printf` holds a directive `n`.
fn counts(format: &[u8]) -> bool {
    format.split(|byte| *byte == b'%').skip(1).any(|directive| {
        let modifier = |byte: &&u8| !b"-+ #0'123456789.*hlLjzt".contains(byte);
        directive.iter().find(modifier) == Some(&b'n')
    })
}

/// The name in a word such as `x` or `x=value`, and the pieces of its value.
fn declared(word: &Word) -> Option<(Vec<u8>, Option<Vec<Piece>>)> {
    let (first, rest) = word.pieces.split_first()?;
    let Piece::Text(text) = first else {
        return None;
    };
    let equals = text.iter().position(|byte| *byte == b'=');
    let (name, value) = text.split_at(equals.unwrap_or(text.len()));
    if !is_name(name) || (equals.is_none() && !rest.is_empty()) {
        return None;
    }
    let value = value.split_first().map(|(_, value)| {
        let start = (!value.is_empty() || rest.is_empty()).then(|| Piece::Text(value.to_vec()));
        start.into_iter().chain(rest.iter().cloned()).collect()
    });
    Some((name.to_vec(), value))
}
