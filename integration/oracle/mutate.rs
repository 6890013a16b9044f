//! Small damage to shell text: what a typing mistake, a model or an attacker makes of a line.

use super::support::rng::Rng;

/// What is put in: everything the grammar gives a meaning, and text between.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "|", "||", "&", "&&", ";", ";;", ";&", ";;&", "|&", "(", ")", "((", "))", "{", "}", "{ ", "; }", "[[ ", " ]]", "[", "]",
    "<", ">", ">>", "<<E\n", "<<-E\n", "\nE\n", "<<<", ">&", "<&", "&>", "&>>", ">|", "<>", "2>&1", "2>", "<(", ">(",
    "$", "${", "$(", "$((", "$[", "`", "\"", "'", "$'", "$\"", "\\", "\\\n", "\n", " ", "\t", "#", " #", "!", " ! ", "~", "*", "?",
    "=", "+=", "a=", "a[0]=", "=(", "{a,b}", "{,x}", "{1..3}", "@(", "x()", "()", " in ", ":-", ":=", "#", "%", "//", "@Q", "[@]",
    "if ", "then ", "else ", "elif ", "fi", "for i in ", "do ", "done", "while ", "until ", "case x in ", "esac", "function f ",
    "time ", "coproc ", "select i in ", "eval ", "exec ", "cd ", "rm -r x", "id", "x", "\\x", "\\'", "\\\"", "\u{e9}", "\u{1}", "\r",
    "$x", "\"$x\"", "${x}", "$@", "\"$@\"", "$1", "$?", "$$", "$(id)", "`id`", "$((1))", "\\$(id)", "-v", "--", "1", "10",
];

/// `text` with one to three changes. `other` lends the pieces that are spliced in.
pub fn mutate(rng: &mut Rng, text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=rng.below(3) {
        change(rng, &mut text, other);
    }
    text.retain(|&byte| byte != 0);
    text
}

fn change(rng: &mut Rng, text: &mut Vec<u8>, other: &[u8]) {
    let at = rng.below(text.len() + 1);
    let short = (at + 1 + rng.below(4)).min(text.len());
    match rng.below(10) {
        0 => text.truncate(at),
        1 => drop(text.drain(at..short)),
        2 => {
            let word = word_at(text, at);
            drop(text.drain(word));
        }
        3..=5 => insert(text, at, rng.pick(TOKENS).as_bytes()),
        6 => {
            let from = rng.below(other.len() + 1);
            let to = (from + rng.below(16)).min(other.len());
            insert(text, at, &other[from..to]);
        }
        7 => {
            let other = rng.below(text.len().max(1));
            if at < text.len() {
                text.swap(at, other);
            }
        }
        8 => {
            let word = word_at(text, at);
            let token = rng.pick(TOKENS).bytes();
            text.splice(word, token);
        }
        _ => {
            let piece = text[at..short].to_vec();
            insert(text, at, &piece);
        }
    }
}

fn insert(text: &mut Vec<u8>, at: usize, piece: &[u8]) {
    text.splice(at..at, piece.iter().copied());
}

/// The run of non-blank bytes around `at`.
fn word_at(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let start = text[..at].iter().rposition(blank).map_or(0, |end| end + 1);
    let end = text[at..]
        .iter()
        .position(blank)
        .map_or(text.len(), |length| at + length);
    start..end
}

/// A few lines of a script, as a command line would hold them.
pub fn window(rng: &mut Rng, script: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = script.split(|&byte| byte == b'\n').collect();
    let from = rng.below(lines.len());
    let to = (from + 1 + rng.below(12)).min(lines.len());
    lines[from..to].join(&b'\n')
}
