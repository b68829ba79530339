//! Every configuration name of HAProxy 2.7, implemented here or not.
use crate::area::area;
use crate::later;
use crate::line::{Args, Fault};
use crate::suggest;

/// One `class name` per line, sorted.
const KEYWORDS: &str = include_str!("../data/keywords-2.7.txt");

/// The names of one class.
pub(crate) fn names(class: &'static str) -> impl Iterator<Item = &'static str> {
    KEYWORDS.lines().filter_map(move |line| {
        let (kind, name) = line.split_once(' ')?;
        (kind == class).then_some(name)
    })
}

/// True when HAProxy 2.7 has this name in this class.
pub(crate) fn contains(class: &'static str, name: &str) -> bool {
    names(class).any(|known| known == name)
}

/// Whether any class has this name.
pub(crate) fn any(name: &str) -> bool {
    KEYWORDS.lines().any(|line| line.split_once(' ').is_some_and(|(_, known)| known == name))
}

/// The fault for argument `n`, which is none of the implemented names of `class`: not implemented
/// yet, of a later version, or unknown with the closest name. `shown` is how the keyword is called
/// in full, e.g. `option tcpka`.
pub(crate) fn fault(
    args: Args<'_>,
    n: usize,
    class: &'static str,
    shown: &str,
    unknown: String,
) -> Fault {
    let word = args.text(n);
    if contains(class, word) {
        let fault = args.fault(n, format!("'{shown}' is not implemented yet"));
        return fault.in_area(area(class, word));
    }
    if later::contains(class, word) {
        return args.fault(n, later::message(class, word, shown));
    }
    if n == 0 && later::contains("section", word) {
        return args.fault(n, later::message("section", word, word));
    }
    args.fault(n, unknown).suggest(suggest::nearest(word, names(class)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_complete() {
        let lines: Vec<&str> = KEYWORDS.lines().collect();
        assert!(lines.windows(2).all(|w| w[0] < w[1]));
        for (class, count) in [("global", 174), ("proxy", 174), ("option", 57), ("bind", 66)] {
            assert_eq!(names(class).count(), count, "{class}");
        }
        assert!(contains("server", "check") && !contains("server", "chek"));
        let names_of_later: Vec<&str> = later::NAMES.lines().collect();
        assert!(names_of_later.windows(2).all(|w| w[0] < w[1]));
        let both =
            names_of_later.iter().filter(|line| KEYWORDS.lines().any(|known| known == **line));
        assert_eq!(both.count(), 0, "the names of 2.7 are no later ones");
    }
}
