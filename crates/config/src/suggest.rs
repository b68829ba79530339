//! The closest known word to a mistyped one.

/// The candidate nearest to `word`, when it is near enough to be worth proposing.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let others = candidates.into_iter().filter(|it| *it != word && !it.is_empty());
    sample::closest(word, others).filter(|_| !word.is_empty()).map(str::to_owned)
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
            ("check", None),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, words).as_deref(), meant, "{typed}");
        }
    }
}
