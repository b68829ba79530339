//! The closest known word to a mistyped one. Never allocates more than two rows of distances.

/// The candidate nearest to `word`, when it is near enough to be worth proposing: a third of the word's length
/// in edits (swapped neighbours count one), at least one.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let worst = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(word.len()) <= worst && *c != word)
        .map(|c| (distance(word.as_bytes(), c.as_bytes()), c))
        .filter(|(d, _)| *d <= worst)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c.to_owned())
}

/// Optimal string alignment distance.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_proposed_and_far_ones_are_not() {
        let words = ["maxconn", "nbthread", "check", "tfo", "httplog"];
        for (typed, meant) in [
            ("maxcon", Some("maxconn")),
            ("chek", Some("check")),
            ("hcekc", None),
            ("cehck", Some("check")),
            ("httplogg", Some("httplog")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, words).as_deref(), meant, "{typed}");
        }
    }
}
