//! Command patterns: the words of a rule, compiled.

use regex::{Regex, RegexBuilder};

use super::glob::{Glob, Match, Purpose, Token};
use super::lex::{self, Bad, Char, RuleWord};
use super::path_pattern::PathPattern;
use super::words::is_many;
use crate::model::digest::Digest;
use crate::model::script::{Span, Word};
use crate::model::text::Escaped;

/// Longest a compiled expression may get; it is the policy's own, but a typing slip such as
/// `(x{999}){999}` must not eat the machine.
const REGEX_LIMIT: usize = 1 << 20;

/// What the first word of a rule names.
#[derive(Debug)]
pub(super) enum ProgramPattern {
    /// A bare name or a pattern of names: any of these.
    Names(Vec<Glob>),
    /// A path: that file.
    Path(PathPattern),
    /// A content, wherever it lies.
    Content(Digest),
}

/// One further word of a rule.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// `**`: any number of words.
    Many,
    /// One word, any of these.
    One(Vec<Glob>),
}

/// What the arguments have to be.
#[derive(Debug)]
pub(super) enum Arguments {
    /// These words, then anything.
    Prefix(Vec<Item>),
    /// These words and no more.
    Exact(Vec<Item>),
    /// The whole argv as `shell_words::join` writes it.
    Regex(Regex),
}

/// A compiled command pattern.
#[derive(Debug)]
pub(super) struct CommandPattern {
    pub(super) program: ProgramPattern,
    pub(super) arguments: Arguments,
}

impl CommandPattern {
    /// Compiles `RULE` of the grammar, without `kind(…)`.
    pub(super) fn new(text: &str) -> Result<Self, Bad> {
        if let Some(regex) = text.trim_start().strip_prefix("re:") {
            return regular(regex);
        }
        let (exact, text) = match text.trim_start().strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let words = lex::words(text)?;
        let Some((first, rest)) = words.split_first() else {
            return Err(Bad::new(
                "the pattern is empty",
                "name a program, for example `git log`; `*` is any program",
            ));
        };
        let items = rest.iter().map(item).collect::<Result<Vec<_>, _>>()?;
        if exact && items.iter().any(|item| matches!(item, Item::Many)) {
            return Err(Bad::new(
                "`**` in an exact pattern contradicts it",
                "leave out the `=`, or name every word",
            ));
        }
        Ok(Self {
            program: program(first)?,
            arguments: if exact {
                Arguments::Exact(items)
            } else {
                Arguments::Prefix(items)
            },
        })
    }

    /// Whether the pattern itself spells this word out, without wildcards.
    pub(super) fn spells(&self, word: &[u8]) -> bool {
        let items = match &self.arguments {
            Arguments::Prefix(items) | Arguments::Exact(items) => items,
            Arguments::Regex(_) => return false,
        };
        items.iter().any(|item| match item {
            Item::Many => false,
            Item::One(globs) => globs.iter().any(|glob| glob.literal() == Some(word)),
        })
    }

    /// The names of its program that are written without a wildcard.
    pub(super) fn program_names(&self) -> Vec<Vec<u8>> {
        match &self.program {
            ProgramPattern::Names(globs) => globs
                .iter()
                .filter_map(|glob| glob.literal().map(<[u8]>::to_vec))
                .collect(),
            ProgramPattern::Path(_) | ProgramPattern::Content(_) => Vec::new(),
        }
    }

    /// How many words the pattern fixes after the program.
    pub(super) fn fixed_words(&self) -> usize {
        match &self.arguments {
            Arguments::Prefix(items) | Arguments::Exact(items) => items
                .iter()
                .filter(|item| matches!(item, Item::One(_)))
                .count(),
            Arguments::Regex(_) => 1,
        }
    }

    /// Compares the arguments alone; `argv` holds the program first.
    pub(super) fn matches_arguments(&self, argv: &[Word], against: &Against<'_>) -> Match {
        match &self.arguments {
            Arguments::Prefix(items) => sequence(items, rest(argv), false, against),
            Arguments::Exact(items) => sequence(items, rest(argv), true, against),
            Arguments::Regex(regex) => {
                text(argv).map_or(Match::Maybe, |text| regex.is_match(&text).into())
            }
        }
    }
}

/// A whole argv as text, as `re:` rules see it; `None` when a word is not known, or is no text.
pub(super) fn text(argv: &[Word]) -> Option<String> {
    let texts: Option<Vec<&str>> = argv
        .iter()
        .map(|word| std::str::from_utf8(word.as_static()?).ok())
        .collect();
    texts.map(shell_words::join)
}

/// What words are compared for.
pub(super) struct Against<'a> {
    pub(super) purpose: Purpose,
    pub(super) home: Option<&'a [u8]>,
    /// The folder the words are seen from, when it is known: ask and deny rules also look at the
    /// absolute, cleaned form of an operand.
    pub(super) folder: Option<&'a crate::model::path::AbsolutePath>,
}

fn rest(argv: &[Word]) -> &[Word] {
    argv.get(1..).unwrap_or_default()
}

/// Whether `argv` matches `items`, by the same backwards table as in `glob`.
fn sequence(items: &[Item], argv: &[Word], exact: bool, against: &Against<'_>) -> Match {
    let get = |row: &[Match], at: usize| row.get(at).copied().unwrap_or(Match::No);
    let mut below = vec![Match::Yes; argv.len() + 1];
    if exact {
        for (at, word) in argv.iter().enumerate().rev() {
            let value = if is_many(word) {
                get(&below, at + 1).min(Match::Maybe)
            } else {
                Match::No
            };
            if let Some(cell) = below.get_mut(at) {
                *cell = value;
            }
        }
    }
    for item in items.iter().rev() {
        let mut row = vec![Match::No; argv.len() + 1];
        for at in (0..=argv.len()).rev() {
            let skip = get(&below, at);
            let value = match (argv.get(at), item) {
                (None, Item::Many) => skip,
                (None, Item::One(_)) => Match::No,
                (Some(_), Item::Many) => skip.max(get(&row, at + 1)),
                (Some(word), Item::One(globs)) => {
                    let one = any(globs, word, against).min(get(&below, at + 1));
                    if is_many(word) {
                        // It turns into nothing, or into this word and perhaps more.
                        one.max(get(&row, at + 1)).max(skip).min(Match::Maybe)
                    } else {
                        one
                    }
                }
            };
            if let Some(cell) = row.get_mut(at) {
                *cell = value;
            }
        }
        below = row;
    }
    get(&below, 0)
}

fn any(globs: &[Glob], word: &Word, against: &Against<'_>) -> Match {
    globs
        .iter()
        .map(|glob| {
            let written = glob.matches_word(word, against.home, against.purpose);
            match (against.purpose, word.as_static(), against.folder) {
                (Purpose::Restrict, Some(bytes), Some(folder)) if glob.is_absolute() => {
                    let path = folder.join_bytes(bytes);
                    written.max(
                        glob.matches(path.as_bytes(), against.home, against.purpose)
                            .into(),
                    )
                }
                (Purpose::Restrict | Purpose::Allow, _, _) => written,
            }
        })
        .max()
        .unwrap_or(Match::No)
}

fn program(word: &[Char]) -> Result<ProgramPattern, Bad> {
    if lex::is_bare(word, "**") {
        return Err(Bad::new(
            "`**` cannot stand for the program",
            "write `*` for any program",
        ));
    }
    if let Some(hex) = lex::after(word, "sha256:") {
        let text = format!("sha256:{}", lex::text(hex));
        return text.parse().map(ProgramPattern::Content).map_err(|_| {
            Bad::new(
                "the digest is not `sha256:` and 64 hex digits",
                "`sha256sum FILE` prints it",
            )
        });
    }
    let is_home = lex::after(word, "~").is_some() || lex::after(word, "$HOME").is_some();
    if is_home || word.iter().any(|char| char.byte == b'/') {
        return PathPattern::new(word).map(ProgramPattern::Path);
    }
    let globs = lex::alternatives(word)?
        .iter()
        .map(|word| glob(word))
        .collect::<Result<Vec<_>, _>>()?;
    if globs
        .iter()
        .any(|glob| glob.literal().is_some_and(|name| name.is_empty()))
    {
        return Err(Bad::new(
            "the program's name is empty",
            "name a program, for example `git log`; `*` is any program",
        ));
    }
    if globs
        .iter()
        .any(|glob| glob.literal().is_some_and(|name| name.contains(&b'=')))
    {
        return Err(Bad::new(
            "the first word is an assignment, not a program",
            "allow the variable with `env(NAME)` and the program with a rule of its own",
        ));
    }
    Ok(ProgramPattern::Names(globs))
}

fn item(word: &RuleWord) -> Result<Item, Bad> {
    if lex::is_bare(word, "**") {
        return Ok(Item::Many);
    }
    lex::alternatives(word)?
        .iter()
        .map(|word| glob(word))
        .collect::<Result<Vec<_>, _>>()
        .map(Item::One)
}

/// Compiles one word.
pub(super) fn glob(word: &[Char]) -> Result<Glob, Bad> {
    let (home, rest) = match lex::after(word, "~").or_else(|| lex::after(word, "$HOME")) {
        Some(rest) if rest.first().is_none_or(|char| char.byte == b'/') => (true, rest),
        Some(_) | None => (false, word),
    };
    let mut tokens: Vec<Token> = Vec::with_capacity(rest.len());
    for char in rest {
        let token = match (char.literal, char.byte) {
            (false, b'*') => match tokens.last_mut() {
                Some(last @ Token::Star) => {
                    *last = Token::DoubleStar;
                    continue;
                }
                Some(Token::DoubleStar) => continue,
                Some(Token::Byte(_) | Token::One) | None => Token::Star,
            },
            (false, b'?') => Token::One,
            (false, b'$') => {
                return Err(Bad::new(
                    "variables are not expanded in rules",
                    "`~` and `$HOME` at the start of a word mean the home; quote any other `$`",
                ));
            }
            (_, byte) => Token::Byte(byte),
        };
        tokens.push(token);
    }
    Ok(Glob::new(tokens, home))
}

fn regular(text: &str) -> Result<CommandPattern, Bad> {
    if text.trim().is_empty() {
        return Err(Bad::new(
            "the expression is empty",
            "an expression must match the whole command line, for example `re:git (log|show)( .*)?`",
        ));
    }
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(REGEX_LIMIT)
            .dfa_size_limit(REGEX_LIMIT)
            .nest_limit(64)
            .build()
    };
    // Alone first: `a)|(b` is wrong by itself but would be right, and unanchored, inside the group.
    let regex = build(text)
        .and_then(|_| build(&format!(r"\A(?:{text})\z")))
        .map_err(|error| {
            let last = error.to_string();
            let last = last
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            Bad::new(
                format!(
                    "the regular expression is wrong: {}",
                    Escaped::from(last.as_str())
                ),
                "expressions are those of the Rust `regex` crate, limited in size",
            )
        })?;
    Ok(CommandPattern {
        program: ProgramPattern::Names(vec![Glob::new(vec![Token::Star], false)]),
        arguments: Arguments::Regex(regex),
    })
}

/// An argv whose words are all known, for tests and examples.
pub(super) fn static_argv(words: &[&[u8]]) -> Vec<Word> {
    words
        .iter()
        .map(|word| Word::text(Span::default(), *word))
        .collect()
}
