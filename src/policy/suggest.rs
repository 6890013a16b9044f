//! "Did you mean": the nearest of a few known words.

/// The word of `known` that is at most two edits from `given`, if one is clearly meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer texts are no typing slip, and the distance is quadratic.
    if given.len() > 64 {
        return None;
    }
    let allowed = 2.min(given.chars().count().div_ceil(2));
    known
        .into_iter()
        // Swapped letters are the commonest slip.
        .map(|word| (distance(given, word), letters(given) != letters(word), word))
        .filter(|(distance, _, _)| *distance <= allowed)
        .min()
        .map(|(_, _, word)| word)
}

fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut last: Option<char> = None;
    for (index, l) in left.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(index + 1);
        for (column, r) in right.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&row, column) + usize::from(l != *r))
                .min(at(&row, column + 1) + 1)
                .min(at(&next, column) + 1);
            let swapped = column > 0 && last == Some(*r) && right.get(column - 1) == Some(&l);
            if swapped && !before.is_empty() {
                best = best.min(at(&before, column - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(l);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["allow", "ask", "deny"];
        assert_eq!(nearest("alow", known), Some("allow"));
        assert_eq!(nearest("dney", known), Some("deny"));
        assert_eq!(nearest("permit", known), None);
        assert_eq!(nearest("gti", ["gci", "git"]), Some("git"));
    }
}
