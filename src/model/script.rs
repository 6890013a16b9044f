//! A parsed command line: flat sub-commands in source order.

use std::fmt;

/// Which shell reads the line, and so which grammar holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// GNU bash 5.
    Bash,
    /// A POSIX shell; dash is the one measured.
    Posix,
}

/// A byte range of the line: `start..end`. Text inside backquotes carries the range of the whole
/// substitution, since its bytes do not stand in the line as they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// Why the bytes of a word are known only when the shell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dynamic {
    /// `$x`, `${…}`
    Parameter,
    /// `$(…)`, backquotes
    CommandSubstitution,
    /// `<(…)`, `>(…)`
    ProcessSubstitution,
    /// `$((…))`, `$[…]`
    Arithmetic,
    /// `*`, `?`, `[…]`, extended globs
    Glob,
    /// `~`, `~user`
    Tilde,
    /// `$"…"`
    Locale,
    /// an array element or compound array value
    Array,
    /// a brace expansion too large or undecidable
    Brace,
    /// `${ …; }`
    FunctionSubstitution,
}

impl Dynamic {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Parameter => "a parameter expansion",
            Self::CommandSubstitution => "a command substitution",
            Self::ProcessSubstitution => "a process substitution",
            Self::Arithmetic => "an arithmetic expansion",
            Self::Glob => "a file name pattern",
            Self::Tilde => "a tilde expansion",
            Self::Locale => "a translated string",
            Self::Array => "an array",
            Self::Brace => "a brace expansion",
            Self::FunctionSubstitution => "a function substitution",
        }
    }
}

/// One piece of a word, after quote removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes known now.
    Text(Vec<u8>),
    /// Bytes known only when the shell runs. `name` is the parameter of a plain `$name` or `${name}`.
    Dynamic {
        /// Why.
        reason: Dynamic,
        /// The variable, where it is a plain one.
        name: Option<Vec<u8>>,
        /// Whether it stands in quotes, so that it can become neither several words nor none.
        quoted: bool,
    },
}

/// A word of a command after brace expansion and quote removal: one argument, unless an unquoted
/// dynamic piece splits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where it stands.
    pub span: Span,
    /// Its pieces; adjacent texts are merged, the empty word `''` is one empty text.
    pub pieces: Vec<Piece>,
}

impl Word {
    /// A word whose bytes are known.
    pub fn text(span: Span, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            span,
            pieces: vec![Piece::Text(bytes.into())],
        }
    }

    /// Its bytes, when all are known.
    pub fn as_static(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Why it is not static.
    pub fn dynamic(&self) -> Option<Dynamic> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Dynamic { reason, .. } => Some(*reason),
        })
    }

    /// The bytes it surely starts with.
    pub fn static_prefix(&self) -> &[u8] {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            Some(Piece::Dynamic { .. }) | None => b"",
        }
    }
}

/// `NAME=value` before a command or alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: Vec<u8>,
    /// Its value; an array value is one dynamic piece.
    pub value: Word,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedirectionKind {
    /// `<`
    Read,
    /// `>`, `>|`
    Write,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `&>`, `&>>`, `>& WORD` that is no descriptor
    WriteBoth,
    /// `<&`, `>&` with a descriptor or `-`
    Duplicate,
    /// `<<`, `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}

/// One redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What it does.
    pub kind: RedirectionKind,
    /// The file, descriptor, delimiter or string.
    pub target: Word,
    /// The body of a here-document.
    pub body: Option<Span>,
}

/// The folder a sub-command runs in, as far as the line tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// The folder the line starts in.
    Start,
    /// A folder named by `cd` with a static word: absolute, or relative to the start.
    Moved(Vec<u8>),
    /// A folder below the home, by its path there; the home itself for an empty one.
    Home(Vec<u8>),
    /// After a `cd` that cannot be followed.
    Unknown,
}

/// Where a sub-command stands; several may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Nesting: groups, substitutions, function bodies.
    pub depth: u16,
    /// In `$(…)`, backquotes, `<(…)` or `>(…)`.
    pub substitution: bool,
    /// In the body of a function definition.
    pub function_body: bool,
    /// Reads the output of the command before it in a pipeline.
    pub piped: bool,
    /// Calls a function of the line; what that does follows as sub-commands.
    pub call: bool,
}

/// One thing the shell starts or does: an argv with its assignments and redirections. `argv` is empty
/// for a plain assignment, a redirection alone, or the redirections of a compound command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubCommand {
    /// Where it stands.
    pub span: Span,
    /// Where it runs.
    pub context: Context,
    /// The folder it runs in.
    pub folder: Folder,
    /// The words, the program first.
    pub argv: Vec<Word>,
    /// `NAME=value` before the program, or alone.
    pub assignments: Vec<Assignment>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// The sub-command (by index in the script) whose argv carries this one: `sh -c`, `env`, `xargs`, …
    pub carrier: Option<usize>,
}

impl SubCommand {
    /// The program's name as written, when it is static.
    pub fn program(&self) -> Option<&[u8]> {
        self.argv.first().and_then(Word::as_static)
    }

    /// Whether it is a built-in that splits what it reads: an `IFS` before it holds for it alone, bash and
    /// dash give their special built-ins other rights only.
    pub fn reads_fields(&self) -> bool {
        matches!(self.program(), Some(b"read" | b"mapfile" | b"readarray"))
    }

    /// The whole argv, when every word is static.
    pub fn static_argv(&self) -> Option<Vec<&[u8]>> {
        self.argv.iter().map(Word::as_static).collect()
    }
}

/// Legal text that the parser cannot decide. No allow rule covers a script that has one; deny rules
/// still see what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Where.
    pub span: Span,
    /// Why, in words.
    pub reason: &'static str,
}

/// The words a `for` or `select` runs over. Its variable is also assigned in the script, as a dynamic
/// value, by the sub-command `header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Index of the sub-command that stands for the loop's head: no argv, one dynamic assignment.
    pub header: usize,
    /// Index after the last sub-command of the body: `header + 1..end` run with one of the values.
    /// Equal to `header` where other commands may stand among them.
    pub end: usize,
    /// The loop variable.
    pub name: Vec<u8>,
    /// Its values, in order.
    pub values: Vec<Word>,
}

/// Who reads the words of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadBy {
    /// A shell, with its built-ins and functions.
    #[default]
    Shell,
    /// Nobody: the words are an argv that the kernel is given as it stands.
    Nobody,
}

/// A parsed line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every sub-command, nested ones included, in source order.
    pub subcommands: Vec<SubCommand>,
    /// What could not be decided.
    pub opaque: Vec<Opaque>,
    /// Names of the functions the line defines.
    pub functions: Vec<Vec<u8>>,
    /// What the loops of the line run over, where it is written out.
    pub loops: Vec<Loop>,
    /// Whether the line is exactly one sub-command with a plain argv, no assignment, no redirection
    /// and no shell syntax around it: such a line needs no shell to run.
    pub single: bool,
    /// Whether it holds more than a list of plain commands that nesting, words and redirections do not
    /// tell: something in the background, negated, timed, piped with its errors, or a word filled in.
    pub beyond_list: bool,
    /// Whether some of it is negated with `!`.
    pub negated: bool,
    /// Who reads it.
    pub read_by: ReadBy,
}

/// Why a line is no script. Whatever the cause, the line is opaque to the policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// The shell would reject it too.
    #[error("{reason} at byte {at}")]
    Syntax {
        /// Offset in the line.
        at: usize,
        /// What was expected.
        reason: &'static str,
    },
    /// A limit of the parser: nesting, fuel, length, pending here-documents.
    #[error("the line exceeds the parser's limit on {0}")]
    Limit(&'static str),
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
