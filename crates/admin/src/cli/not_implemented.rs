//! Commands of HAProxy 2.7 that are not implemented yet.
//!
//! An entry moves from here into the table of commands when it works; a test holds that no command
//! is in both.

/// Their words.
#[rustfmt::skip]
pub(super) const NOT_YET: &[&str] = &[
    "debug dev bug", "debug dev close", "debug dev deadlock", "debug dev exit",
    "debug dev hex", "debug dev panic", "debug dev sched", "debug dev stream", "debug dev sym",
    "debug dev tkill",
];

/// The unimplemented command that these words call, if any.
pub(super) fn find(words: &[String]) -> Option<&'static str> {
    let matches = |name: &&&str| {
        let count = name.split(' ').count();
        words.len() >= count && name.split(' ').zip(words).all(|(own, word)| own == word)
    };
    NOT_YET.iter().filter(matches).max_by_key(|name| name.len()).copied()
}
