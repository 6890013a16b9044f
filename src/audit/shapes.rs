//! Secrets that are known by their look or by the name before them.

use std::ops::Range;

use crate::resolve::environment::is_secret_name;

/// A token that starts with a fixed text.
struct Shape {
    prefix: &'static [u8],
    /// Least number of bytes after the prefix.
    least: usize,
    /// Whether the prefix is rare enough to count inside a word too.
    anywhere: bool,
}

impl AsRef<[u8]> for Shape {
    fn as_ref(&self) -> &[u8] {
        self.prefix
    }
}

const fn rare(prefix: &'static [u8], least: usize) -> Shape {
    Shape {
        prefix,
        least,
        anywhere: true,
    }
}

const fn plain(prefix: &'static [u8], least: usize) -> Shape {
    Shape {
        prefix,
        least,
        anywhere: false,
    }
}

/// Prefixes that issuers publish so that scanners can find leaked tokens.
const SHAPES: &[Shape] = &[
    rare(b"ghp_", 16),
    rare(b"gho_", 16),
    rare(b"ghu_", 16),
    rare(b"ghs_", 16),
    rare(b"ghr_", 16),
    rare(b"github_pat_", 16),
    rare(b"glpat-", 16),
    rare(b"xoxa-", 8),
    rare(b"xoxb-", 8),
    rare(b"xoxp-", 8),
    rare(b"xoxr-", 8),
    rare(b"xoxs-", 8),
    rare(b"npm_", 30),
    rare(b"pypi-", 16),
    rare(b"dop_v1_", 16),
    rare(b"hf_", 30),
    rare(b"AIza", 30),
    rare(b"sk_live_", 16),
    rare(b"rk_live_", 16),
    plain(b"AKIA", 16),
    plain(b"ASIA", 16),
    plain(b"sk-", 16),
    // A JSON Web Token: `{"` in base64, and a dot or two further on.
    plain(b"eyJ", 20),
];

/// Names before a colon whose whole value is secret.
const HEADERS: &[&[u8]] = &[
    b"authorization",
    b"proxy-authorization",
    b"cookie",
    b"set-cookie",
];

/// Words that stand before the secret in such a value.
const SCHEMES: &[&[u8]] = &[b"bearer", b"basic", b"token", b"digest", b"negotiate"];

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'=' | b'+' | b'/' | b'~')
}

fn is_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_quote(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn rest(text: &[u8], from: usize) -> &[u8] {
    text.get(from..).unwrap_or_default()
}

fn run(text: &[u8], from: usize, of: impl Fn(&u8) -> bool) -> usize {
    from + rest(text, from).iter().take_while(|byte| of(byte)).count()
}

/// Every place where one of `needles` stands, with the needle. A text is read once; most of its bytes
/// start no needle.
pub(super) fn occurrences<N: AsRef<[u8]>>(
    text: &[u8],
    needles: impl IntoIterator<Item = N, IntoIter: Clone>,
) -> Vec<(Range<usize>, N)> {
    let needles = needles.into_iter();
    let mut starts = [false; 256];
    for needle in needles.clone() {
        if let Some(first) = needle.as_ref().first()
            && let Some(start) = starts.get_mut(usize::from(*first))
        {
            *start = true;
        }
    }
    let mut found = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if !starts.get(usize::from(*byte)).is_some_and(|start| *start) {
            continue;
        }
        for needle in needles.clone() {
            let bytes = needle.as_ref();
            if !bytes.is_empty() && rest(text, at).starts_with(bytes) {
                found.push((at..at + bytes.len(), needle));
            }
        }
    }
    found
}

fn places(text: &[u8], needle: &'static [u8]) -> impl Iterator<Item = Range<usize>> {
    occurrences(text, [needle])
        .into_iter()
        .map(|(span, _)| span)
}

/// Where secrets stand in `text`, in no order; ranges may overlap.
pub(super) fn find(text: &[u8]) -> Vec<Range<usize>> {
    let mut spans = tokens(text);
    spans.extend(urls(text));
    spans.extend(keys(text));
    spans.extend(named(text));
    spans.extend(bearers(text));
    spans.retain(|span| !span.is_empty());
    spans
}

fn tokens(text: &[u8]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (found, shape) in occurrences(text, SHAPES) {
        let before = found.start.checked_sub(1).and_then(|at| text.get(at));
        let inside = before.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let end = run(text, found.end, is_token);
        if (shape.anywhere || !inside) && end - found.end >= shape.least {
            spans.push(found.start..end);
        }
    }
    spans
}

/// The password of `scheme://user:password@host`.
fn urls(text: &[u8]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for found in places(text, b"://") {
        let end = run(text, found.end, |byte| {
            !matches!(byte, b'/' | b'?' | b'#' | b'<' | b'>')
                && !byte.is_ascii_whitespace()
                && !is_quote(byte)
        });
        let authority = text.get(found.end..end).unwrap_or_default();
        let at = authority.iter().rposition(|byte| *byte == b'@');
        let colon = authority.iter().position(|byte| *byte == b':');
        if let (Some(at), Some(colon)) = (at, colon)
            && colon < at
        {
            spans.push(found.end + colon + 1..found.end + at);
        }
    }
    spans
}

/// `-----BEGIN … KEY-----` to the end of its block, or of the text.
fn keys(text: &[u8]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for found in places(text, b"-----BEGIN ") {
        let label = run(text, found.end, |byte| !matches!(byte, b'-' | b'\n'));
        let name = text.get(found.end..label).unwrap_or_default();
        if !name.trim_ascii_end().ends_with(b"KEY") && !name.ends_with(b"KEY BLOCK") {
            continue;
        }
        let end = places(rest(text, label), b"-----END ").next().map(|close| {
            let label = run(text, label + close.end, |byte| {
                !matches!(byte, b'-' | b'\n')
            });
            run(text, label, |byte| *byte == b'-')
        });
        spans.push(found.start..end.unwrap_or(text.len()));
    }
    spans
}

/// `Bearer TOKEN` outside of a header.
fn bearers(text: &[u8]) -> Vec<Range<usize>> {
    let word: &[u8] = b"bearer ";
    text.windows(word.len())
        .enumerate()
        .filter(|(_, window)| {
            window
                .first()
                .is_some_and(|first| matches!(first, b'b' | b'B'))
                && window.eq_ignore_ascii_case(word)
        })
        .map(|(at, _)| at..at + word.len())
        .map(|found| {
            let start = run(text, found.end, |byte| *byte == b' ');
            start..run(text, start, is_token)
        })
        .filter(|span| span.len() >= 8)
        .collect()
}

/// Names that say where a secret is or what kind it has, not what it is.
const ABOUT: &[&[u8]] = &[b"file", b"path", b"dir", b"stdin", b"url", b"type", b"name"];

fn names_secret(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret_name(name) && !ABOUT.iter().any(|ending| lower.ends_with(ending))
}

/// Whether `word` is an option whose next word is a secret: `--password`, `-token`.
pub(super) fn is_secret_option(word: &[u8]) -> bool {
    word.starts_with(b"-") && word.iter().all(is_name) && names_secret(word)
}

/// Whether `word` is an option whose next word is `user:password`.
pub(super) fn is_user_option(word: &[u8]) -> bool {
    matches!(word, b"-u" | b"--user" | b"--proxy-user" | b"-U")
}

/// The password of `user:password`, when it is not a numeric id (`-u 1000:1000`).
pub(super) fn password(pair: &[u8]) -> Option<Range<usize>> {
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let number = rest(pair, colon + 1).iter().all(u8::is_ascii_digit);
    (!number && colon > 0).then_some(colon + 1..pair.len())
}

/// Values after a name: `NAME=value`, `"name": "value"`, `Header: value`, `--name value`.
fn named(text: &[u8]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let quotes = open_quotes(text);
    let mut at = 0;
    while at < text.len() {
        let end = run(text, at, is_name);
        if end == at {
            at += 1;
            continue;
        }
        let name = text.get(at..end).unwrap_or_default();
        let outer = quotes.get(at).copied().flatten();
        spans.extend(value_of(text, name, end, outer));
        at = end;
    }
    spans
}

/// The quote each byte stands in, as a shell reads the text.
fn open_quotes(text: &[u8]) -> Vec<Option<u8>> {
    let mut quotes = Vec::with_capacity(text.len());
    let mut open = None;
    let mut escaped = false;
    for byte in text {
        quotes.push(open);
        if escaped {
            escaped = false;
            continue;
        }
        match (open, byte) {
            (None | Some(b'"'), b'\\') => escaped = true,
            (None, b'\'' | b'"') => open = Some(*byte),
            (Some(quote), byte) if quote == *byte => open = None,
            (None | Some(_), _) => {}
        }
    }
    quotes
}

fn value_of(text: &[u8], name: &[u8], end: usize, outer: Option<u8>) -> Option<Range<usize>> {
    let blanks = |from: usize| run(text, from, |byte| matches!(byte, b' ' | b'\t'));
    let quoted = text.get(end).is_some_and(is_quote);
    let closed = blanks(if quoted { end + 1 } else { end });
    let sign = text.get(closed);
    let start = match sign {
        Some(b':') => blanks(closed + 1),
        Some(b'=') if closed == end || quoted => closed + 1,
        Some(_) if name.starts_with(b"-") && closed > end && !quoted => closed,
        Some(_) | None => return None,
    };
    // Names are looked at last: most words have no value behind them.
    let lower = name.to_ascii_lowercase();
    let header = HEADERS.iter().any(|header| lower.ends_with(header));
    let user = is_user_option(name);
    let option = text.get(start) == Some(&b'-') && sign != Some(&b'=');
    if !header && (option || (!user && !names_secret(name))) {
        return None;
    }
    let span = if header {
        header_value(text, start)
    } else {
        shell_value(text, start, outer)
    };
    if user {
        let pair = text.get(span.clone())?;
        return password(pair).map(|found| span.start + found.start..span.start + found.end);
    }
    let value = text.get(span.clone())?;
    (!is_reference(value)).then_some(span)
}

/// To the end of the line or of the quotes around it, without the word for the scheme.
fn header_value(text: &[u8], start: usize) -> Range<usize> {
    let start = run(text, start, is_quote);
    let end = run(text, start, |byte| !is_quote(byte) && *byte != b'\n');
    let value = text.get(start..end).unwrap_or_default();
    let word = run(value, 0, |byte| byte.is_ascii_alphabetic());
    let scheme = value.get(..word).unwrap_or_default().to_ascii_lowercase();
    let after = run(value, word, |byte| *byte == b' ');
    if SCHEMES.contains(&scheme.as_slice()) && after > word && after < value.len() {
        start + after..end
    } else {
        start..end
    }
}

/// One word as a shell reads it, which ends with the quotes around the name at the latest. Where the
/// whole of it is quoted the quotes stay outside.
fn shell_value(text: &[u8], start: usize, outer: Option<u8>) -> Range<usize> {
    let mut quote = None;
    let mut at = start;
    while let Some(byte) = text.get(at) {
        match (quote, byte) {
            (None, byte) if outer == Some(*byte) => break,
            (None, b'\\') | (Some(b'"'), b'\\') => at += 1,
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => {
                quote = None;
                if text.get(start) == Some(&open) {
                    // What follows the closing quote may belong to the word still.
                    let end = run(text, at + 1, |byte| is_token(byte) || is_quote(byte));
                    let inner = start + 1..at;
                    return if end == at + 1 { inner } else { start..end };
                }
            }
            (None, byte)
                if byte.is_ascii_whitespace()
                    || matches!(byte, b';' | b'&' | b'|' | b'<' | b'>' | b')' | b'}' | b'`') =>
            {
                break;
            }
            (None | Some(_), _) => {}
        }
        at += 1;
    }
    start..at.min(text.len())
}

/// `$NAME`, `${NAME}` and `$(…` hold no secret themselves.
fn is_reference(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let Some(name) = value.strip_prefix(b"$") else {
        return false;
    };
    if name.starts_with(b"(") {
        return true;
    }
    let name = name.strip_prefix(b"{").unwrap_or(name);
    let name = name.strip_suffix(b"\"").unwrap_or(name);
    let name = name.strip_suffix(b"}").unwrap_or(name);
    !name.is_empty()
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests;
