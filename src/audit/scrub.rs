//! Replaces secrets in everything that is written.
//!
//! A secret becomes `[secret:` and 32 hex digits of its HMAC-SHA-256 under a key of this state folder:
//! the same secret can be recognised in two records, and nobody who has the log can try guesses. The
//! rules see the real bytes, before any escaping could hide one.
//!
//! Hidden are the values of the caller's secret variables wherever they appear, tokens of known shape,
//! and values behind a name or option that says so. What was found once in a record is hidden in all of
//! it and in those that follow, and a text that holds it only in pieces, taken apart by quotes, is withheld as a whole.

use std::ops::Range;

use serde_json::Value;

use super::bytes::{decode, encode};
use super::hash::hmac;
use super::shapes::{find, is_secret_option, is_user_option, occurrences, password};

/// Shorter values would hide half of the log.
const LEAST: usize = 6;
/// Lines of a longer value, such as a key, are hidden one by one as well from this length on.
const LEAST_LINE: usize = 16;

/// Secrets remembered from record to record; then the memory starts anew.
const MEMORY: usize = 256;

/// Fields that hold words of closed lists, ids and digests of our own making. They hold no secret, and
/// a secret that happens to be spelled `default` must not hide the mode.
const WORDS: &[&str] = &[
    "id", "verdict", "final", "reason", "mode", "profile", "network", "level", "layer", "digest",
    "object", "outcome", "why", "known", "through",
];

/// How a replacement starts, and how many hex digits it has.
const OPENING: &str = "[secret:";
const DIGITS: usize = 32;

/// Hides secrets.
#[derive(Clone)]
pub struct Scrubber {
    key: [u8; 32],
    secrets: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Scrubber {
    /// Neither key nor secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scrubber").finish_non_exhaustive()
    }
}

impl Scrubber {
    /// Hides `secrets`, and what looks like one, under `key`.
    pub fn new(key: [u8; 32], secrets: &[Vec<u8>]) -> Self {
        Self {
            key,
            secrets: Vec::new(),
        }
        .hiding(secrets)
    }

    /// The same that also hides `secrets`.
    pub fn hiding(mut self, secrets: &[Vec<u8>]) -> Self {
        for secret in secrets {
            let whole = secret.trim_ascii();
            if whole.len() >= LEAST {
                self.secrets.push(whole.to_vec());
            }
            let lines = whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            self.secrets.extend(
                lines
                    .filter(|line| line.len() >= LEAST_LINE && *line != whole)
                    .map(<[u8]>::to_vec),
            );
        }
        self
    }

    /// `text` with its secrets replaced, `None` when it holds none.
    pub fn scrub(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.replace(text, self.spans(text, &[]))
    }

    /// Scrubs every string of a record. Strings are taken as the text form of bytes ([`encode`]) and,
    /// since plain text can look the same, as they stand.
    ///
    /// `found` are the secrets of earlier records, which may come up again in this one; those of this
    /// one are added.
    pub(super) fn scrub_record(&self, record: &mut Value, found: &mut Vec<Vec<u8>>) {
        if found.len() > MEMORY {
            found.clear();
        }
        self.each(record, None, &mut |text, before| {
            found.extend(self.secrets_of(text, before));
            None
        });
        found.sort();
        found.dedup();
        found.retain(|secret| secret.len() >= LEAST);
        self.each(record, None, &mut |text, before| {
            let shown = self.shown(text, before, found);
            (shown != text).then_some(shown)
        });
    }

    /// Calls `change` for each string with the string before it in the same array, and puts what it
    /// returns in its place.
    fn each(
        &self,
        value: &mut Value,
        before: Option<&str>,
        change: &mut impl FnMut(&str, Option<&str>) -> Option<String>,
    ) {
        match value {
            Value::String(text) => {
                if let Some(changed) = change(text, before) {
                    *text = changed;
                }
            }
            Value::Array(values) => {
                let mut before: Option<String> = None;
                for value in values {
                    // As it was, since an option is recognised by its own text.
                    let own = value.as_str().map(str::to_owned);
                    self.each(value, before.as_deref(), change);
                    before = own;
                }
            }
            Value::Object(fields) => {
                for (_, value) in fields
                    .iter_mut()
                    .filter(|(name, _)| !WORDS.contains(&name.as_str()))
                {
                    self.each(value, None, change);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn secrets_of(&self, text: &str, before: Option<&str>) -> Vec<Vec<u8>> {
        let raw = decode(text);
        let raw = raw.as_deref().unwrap_or(text.as_bytes());
        let mut spans = self.spans(raw, &[]);
        spans.extend(after_option(raw, before));
        merged(spans)
            .into_iter()
            .filter_map(|span| raw.get(span).map(<[u8]>::to_vec))
            .collect()
    }

    fn shown(&self, text: &str, before: Option<&str>, found: &[Vec<u8>]) -> String {
        // Plain text of our own making may look like the text form of other bytes: what is known to be
        // secret goes from it as it stands first.
        let known = self
            .replace(text.as_bytes(), self.known(text.as_bytes(), found))
            .map(|hidden| String::from_utf8_lossy(&hidden).into_owned());
        let text = known.as_deref().unwrap_or(text);
        if let Some(raw) = decode(text) {
            let mut spans = self.spans(&raw, found);
            spans.extend(after_option(&raw, before));
            if let Some(hidden) = self.replace(&raw, spans) {
                return encode(&self.withheld(hidden, found));
            }
            if let Some(withheld) = self.in_pieces(&raw, found) {
                return encode(&withheld);
            }
            if raw == text.as_bytes() {
                return text.to_owned();
            }
        }
        let raw = text.as_bytes();
        match self.replace(raw, self.spans(raw, found)) {
            Some(hidden) => String::from_utf8_lossy(&hidden).into_owned(),
            None => text.to_owned(),
        }
    }

    fn withheld(&self, text: Vec<u8>, found: &[Vec<u8>]) -> Vec<u8> {
        self.in_pieces(&text, found).unwrap_or(text)
    }

    /// A replacement for the whole text when a secret shows once its quotes are gone.
    fn in_pieces(&self, text: &[u8], found: &[Vec<u8>]) -> Option<Vec<u8>> {
        if !text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\')) {
            return None;
        }
        let joined = unquoted(text);
        let spans = self.spans(&joined, found);
        let own = |span: &Range<usize>| {
            let secret = joined.get(span.clone()).unwrap_or_default();
            self.secrets
                .iter()
                .chain(found)
                .any(|known| known == secret)
        };
        spans
            .iter()
            .any(own)
            .then(|| format!("[withheld: a secret in pieces] {}", self.mark(text)).into_bytes())
    }

    fn spans(&self, text: &[u8], found: &[Vec<u8>]) -> Vec<Range<usize>> {
        let mut spans = find(text);
        spans.extend(self.known(text, found));
        spans
    }

    fn known(&self, text: &[u8], found: &[Vec<u8>]) -> Vec<Range<usize>> {
        let secrets = self.secrets.iter().chain(found);
        occurrences(text, secrets)
            .into_iter()
            .map(|(span, _)| span)
            .collect()
    }

    fn replace(&self, text: &[u8], spans: Vec<Range<usize>>) -> Option<Vec<u8>> {
        let mut spans = merged(spans);
        spans.retain(|span| !is_mark(text.get(span.clone()).unwrap_or_default()));
        if spans.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        for span in spans {
            out.extend_from_slice(text.get(at..span.start).unwrap_or_default());
            let secret = text.get(span.clone()).unwrap_or_default();
            out.extend_from_slice(self.mark(secret).as_bytes());
            at = span.end;
        }
        out.extend_from_slice(text.get(at..).unwrap_or_default());
        Some(out)
    }

    fn mark(&self, secret: &[u8]) -> String {
        let digits: String = hmac(&self.key, secret).hex().chars().take(DIGITS).collect();
        format!("{OPENING}{digits}]")
    }
}

/// Whether a text is what a secret was replaced by.
fn is_mark(text: &[u8]) -> bool {
    text.strip_prefix(OPENING.as_bytes())
        .and_then(|rest| rest.strip_suffix(b"]"))
        .is_some_and(|digits| digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

/// What an option in the word before makes of this one.
fn after_option(word: &[u8], before: Option<&str>) -> Option<Range<usize>> {
    let before = before?.as_bytes();
    if is_secret_option(before) && !word.starts_with(b"-") {
        Some(0..word.len())
    } else if is_user_option(before) {
        password(word)
    } else {
        None
    }
}

/// Overlapping and touching ranges joined, in order.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            Some(_) | None => joined.push(span),
        }
    }
    joined
}

/// Without quotes, backslashes and joined lines, and with the escapes of `$'…'` resolved.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\'' | b'"' => {}
            b'$' if bytes.peek() == Some(&b'\'') => {}
            b'\\' => match bytes.next() {
                None | Some(b'\n') => {}
                Some(b'x') => {
                    let digits: Vec<u8> =
                        std::iter::from_fn(|| bytes.next_if(u8::is_ascii_hexdigit))
                            .take(2)
                            .collect();
                    let digits = String::from_utf8_lossy(&digits).into_owned();
                    out.extend(u8::from_str_radix(&digits, 16).ok());
                }
                Some(first @ b'0'..=b'7') => {
                    let more =
                        std::iter::from_fn(|| bytes.next_if(|byte| matches!(byte, b'0'..=b'7')))
                            .take(2);
                    let value = std::iter::once(first)
                        .chain(more)
                        .fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                    out.extend(u8::try_from(value & 0xff).ok());
                }
                Some(other) => out.push(other),
            },
            byte => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Scrubber;
    use crate::audit::bytes::encode;
    use serde_json::{Value, json};

    fn scrubber(secrets: &[&str]) -> Scrubber {
        let secrets: Vec<Vec<u8>> = secrets.iter().map(|one| one.as_bytes().to_vec()).collect();
        Scrubber::new([7; 32], &secrets)
    }

    fn scrubbed(scrubber: &Scrubber, mut record: Value) -> String {
        scrubber.scrub_record(&mut record, &mut Vec::new());
        record.to_string()
    }

    #[test]
    fn equal_secrets_are_recognised_and_keys_matter() {
        let scrub =
            |key: u8, text: &[u8]| Scrubber::new([key; 32], &[b"hunter2".to_vec()]).scrub(text);
        assert_eq!(scrub(1, b"hunter2"), scrub(1, b"hunter2"));
        assert_ne!(scrub(1, b"hunter2"), scrub(2, b"hunter2"));
        assert_eq!(scrub(1, b"hunter"), None);
        let text = scrub(1, b"a hunter2 b hunter2").unwrap();
        assert!(!String::from_utf8(text).unwrap().contains("hunter2"));
    }

    #[test]
    fn escapes_hide_nothing() {
        let secret = "pa\"ss\\wo\nrd\u{202e}\u{1}é";
        let scrubber = scrubber(&[secret]);
        let record = json!({
            "line": encode(format!("echo {secret}!").as_bytes()),
            "plain": format!("echo {secret}!"),
            "argv": ["echo", encode(secret.as_bytes())],
        });
        let text = scrubbed(&scrubber, record);
        for hidden in ["wo\\nrd", "ss\\\\", "pa\\\"", "rd"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }

    #[test]
    fn a_word_after_an_option_is_hidden_in_the_whole_record() {
        let text = scrubbed(
            &scrubber(&[]),
            json!({
                "claim": "starts swordfish",
                "argv": ["login", "--password", "swordfish", "--verbose", "x"],
                "other": ["curl", "-u", "ana:sesame-open", "--token", "-v"],
            }),
        );
        assert!(
            !text.contains("swordfish") && !text.contains("sesame"),
            "{text}"
        );
        for kept in ["login", "--verbose", "\"x\"", "ana:", "\"-v\""] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn a_secret_in_pieces_withholds_the_text() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        for spelled in [
            format!("echo gh'p_'{}", &token[4..]),
            format!("echo g\\h\"p_{}\"", &token[4..]),
            format!("echo $'\\x67hp_{}'", &token[4..]),
            format!("echo $'\\147hp_{}'", &token[4..]),
        ] {
            let record = json!({ "line": encode(spelled.as_bytes()), "argv": ["echo", token] });
            let text = scrubbed(&scrubber(&[]), record);
            assert!(text.contains("withheld"), "{spelled}: {text}");
            assert!(!text.contains(&token[4..]), "{spelled}: {text}");
        }
        let record = json!({ "line": "echo pass''word-of-mine" });
        let text = scrubbed(&scrubber(&["password-of-mine"]), record);
        assert!(text.contains("withheld"), "{text}");
    }

    #[test]
    fn what_holds_no_secret_stays_byte_for_byte() {
        let record = json!({
            "line": encode(b"grep -E 'a\\|b' \"x\" \xff | head -3"),
            "rule": "re:\\d+\\q",
            "n": 3,
            "none": null,
            "argv": ["grep", null, "a\\\\|b"],
        });
        assert_eq!(
            scrubbed(&scrubber(&["sixsix"]), record.clone()),
            record.to_string()
        );
    }

    #[test]
    fn words_of_our_own_stay_whatever_a_secret_is_called() {
        let record = json!({ "mode": "default", "digest": "sha256:0123456", "cwd": "/default" });
        let text = scrubbed(&scrubber(&["default", "123456"]), record);
        assert!(
            text.contains("\"mode\":\"default\"") && text.contains("0123456"),
            "{text}"
        );
        assert!(!text.contains("/default"), "{text}");
    }

    #[test]
    fn lines_of_a_long_secret_are_hidden_and_short_values_pass() {
        let key = "-----START-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n";
        let scrubber = scrubber(&[key, "short"]);
        assert!(scrubber.scrub(b"echo hkiG9w0BAQEFAASC").is_some());
        assert_eq!(scrubber.scrub(b"short"), None);
    }
}
