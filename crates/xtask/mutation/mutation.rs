//! Which keyword a mutation test wants accepted and ignored.
//!
//! `cargo xtask compat --prove` runs the test linked to a keyword with `WEIR_IGNORE=class/name`
//! (classes and names of `docs/compat/keywords-2.7.tsv`) and expects it to fail. The edits of
//! `hooks.diff` call this where each class looks its names up.

use std::sync::OnceLock;

/// Class and name of the keyword to ignore, if any.
pub fn ignored_keyword() -> Option<(&'static str, &'static str)> {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("WEIR_IGNORE").ok()).as_deref()?.rsplit_once('/')
}

/// Whether this keyword is to be accepted and ignored.
pub fn is_ignored(class: &str, name: &str) -> bool {
    ignored_keyword() == Some((class, name))
}
