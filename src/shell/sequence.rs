//! Sequences in braces: `{1..5}`, `{a..e..2}`.

use super::limit;

/// `1..5`, `a..e..2`; `Some(None)` for what is no sequence, none for one left undecided.
pub(super) fn expand(text: &[u8], budget: &mut usize) -> Option<Option<Vec<Vec<u8>>>> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let mut ends = text.splitn(3, "..");
    let (Some(first), Some(last), step) = (ends.next(), ends.next(), ends.next()) else {
        return Some(None);
    };
    if text.contains(|letter: char| letter.is_ascii_whitespace() || letter == '\x0b') {
        // Blank space before a number counts nothing: `{\r1..3}`.
        return None;
    }
    let Ok(step) = step.unwrap_or("1").parse::<i64>() else {
        return Some(None);
    };
    let step = step.unsigned_abs().max(1);
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let padded = [first, last].iter().any(|end| {
            let digits = end.trim_start_matches(['-', '+']);
            digits.len() > 1 && digits.starts_with('0')
        });
        let width = if padded {
            first.len().max(last.len())
        } else {
            0
        };
        let numbers = count(from, to, step, budget)?;
        let words = numbers
            .into_iter()
            .map(|number| format!("{number:0width$}").into_bytes());
        return Some(Some(words.collect()));
    }
    let ([from], [to]) = (first.as_bytes(), last.as_bytes()) else {
        return Some(None);
    };
    if !from.is_ascii_alphabetic() || !to.is_ascii_alphabetic() {
        return Some(None);
    }
    if from.is_ascii_uppercase() != to.is_ascii_uppercase() {
        // The way leads over brackets, a backslash and a backquote.
        return None;
    }
    let letters = count(i64::from(*from), i64::from(*to), step, budget)?;
    let letters = letters
        .into_iter()
        .filter_map(|letter| u8::try_from(letter).ok());
    Some(Some(letters.map(|letter| vec![letter]).collect()))
}

/// The numbers from one to another, if they are not too many.
fn count(from: i64, to: i64, step: u64, budget: &mut usize) -> Option<Vec<i64>> {
    let steps = usize::try_from(from.abs_diff(to) / step).ok()?;
    if steps >= limit::BRACE_WORDS {
        return None;
    }
    // Paid before it is built, so that many sequences cost no more than few.
    *budget = budget.checked_sub((steps + 1) * 64)?;
    let direction = if from <= to { 1_i128 } else { -1 };
    (0..=steps)
        .map(|index| {
            let offset = i128::from(step) * i128::try_from(index).ok()? * direction;
            i64::try_from(i128::from(from) + offset).ok()
        })
        .collect()
}
