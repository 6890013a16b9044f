//! Splits a rule into words as a shell splits them, keeping which characters were quoted.

/// A byte of a rule and whether it was quoted or escaped, and so stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Char {
    pub(super) byte: u8,
    pub(super) literal: bool,
}

/// One word of a rule.
pub(super) type RuleWord = Vec<Char>;

/// Why a text is no list of words, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) message: String,
    pub(super) help: &'static str,
}

impl Bad {
    pub(super) fn new(message: impl Into<String>, help: &'static str) -> Self {
        Self {
            message: message.into(),
            help,
        }
    }
}

/// The words of `text`. An operator of the shell is an error: a rule covers one command, and text after
/// an operator would never match.
pub(super) fn words(text: &str) -> Result<Vec<RuleWord>, Bad> {
    let mut words = Vec::new();
    let mut word: Option<RuleWord> = None;
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' => words.extend(word.take()),
            b'\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match bytes.next() {
                        Some(b'\'') => break,
                        Some(byte) => push(word, byte, true)?,
                        None => return Err(unclosed('\'')),
                    }
                }
            }
            b'"' => {
                let word = word.get_or_insert_default();
                loop {
                    match bytes.next() {
                        Some(b'"') => break,
                        Some(b'\\') => match bytes.next() {
                            Some(byte @ (b'"' | b'\\' | b'$' | b'`')) => push(word, byte, true)?,
                            Some(byte) => {
                                push(word, b'\\', true)?;
                                push(word, byte, true)?;
                            }
                            None => return Err(unclosed('"')),
                        },
                        Some(byte) => push(word, byte, true)?,
                        None => return Err(unclosed('"')),
                    }
                }
            }
            b'\\' => {
                let Some(byte) = bytes.next() else {
                    return Err(Bad::new(
                        "the rule ends in a backslash",
                        "write `\\\\` for a backslash",
                    ));
                };
                push(word.get_or_insert_default(), byte, true)?;
            }
            b';' | b'|' | b'&' | b'<' | b'>' | b'`' => {
                return Err(Bad::new(
                    format!("`{}` is an operator of the shell", char::from(byte)),
                    "a rule covers one command; write one rule for each, or quote the character",
                ));
            }
            byte => push(word.get_or_insert_default(), byte, false)?,
        }
    }
    words.extend(word);
    Ok(words)
}

fn push(word: &mut RuleWord, byte: u8, literal: bool) -> Result<(), Bad> {
    // A control character in a rule is a slip of the keyboard or a trick on its reader.
    if byte < 0x20 && byte != b'\n' && byte != b'\t' || byte == 0x7f || (byte == b'\n' && !literal)
    {
        return Err(Bad::new(
            "the rule holds a control character",
            "write a rule on one line, without control characters",
        ));
    }
    word.push(Char { byte, literal });
    Ok(())
}

fn unclosed(quote: char) -> Bad {
    Bad::new(
        format!("the quote {quote} is not closed"),
        "close it, or escape it with a backslash",
    )
}

/// Whether the word holds exactly these unquoted characters.
pub(super) fn is_bare(word: &[Char], text: &str) -> bool {
    word.len() == text.len()
        && word
            .iter()
            .zip(text.bytes())
            .all(|(char, byte)| !char.literal && char.byte == byte)
}

/// The rest of the word after these unquoted characters.
pub(super) fn after<'a>(word: &'a [Char], prefix: &str) -> Option<&'a [Char]> {
    let (head, rest) = word.split_at_checked(prefix.len())?;
    is_bare(head, prefix).then_some(rest)
}

/// The alternatives of an unquoted `{a,b}` that makes up the whole word; the word itself otherwise.
pub(super) fn alternatives(word: &[Char]) -> Result<Vec<RuleWord>, Bad> {
    let bare = |byte: u8| move |char: &Char| !char.literal && char.byte == byte;
    let help = "write `{a,b}` as a word of its own, or quote the braces";
    let inner = match word {
        [first, inner @ .., last] if bare(b'{')(first) && bare(b'}')(last) => inner,
        _ => {
            let braced = word.iter().any(bare(b'{')) && word.iter().any(bare(b','));
            return if braced {
                Err(Bad::new("alternatives are a part of a word here", help))
            } else {
                Ok(vec![word.to_vec()])
            };
        }
    };
    if !inner.iter().any(bare(b',')) {
        // `{}` and `{x}` stand for themselves, as in the shell.
        return Ok(vec![word.to_vec()]);
    }
    if inner
        .iter()
        .any(|char| bare(b'{')(char) || bare(b'}')(char))
    {
        return Err(Bad::new("alternatives cannot be nested", help));
    }
    let parts: Vec<RuleWord> = inner
        .split(|char| bare(b',')(char))
        .map(<[Char]>::to_vec)
        .collect();
    if parts.iter().any(Vec::is_empty) {
        return Err(Bad::new("an alternative is empty", help));
    }
    Ok(parts)
}

/// The characters as text, for messages and patterns of hosts and names.
pub(super) fn text(word: &[Char]) -> String {
    let bytes: Vec<u8> = word.iter().map(|char| char.byte).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
