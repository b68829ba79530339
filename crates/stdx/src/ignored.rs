//! The hook of the proof that every keyword matters: a debug build accepts one name and ignores it.
//! Never does anything in a release build.
//!
//! `cargo xtask compat --prove` starts the test that is linked to a name with
//! `WEIR_IGNORE=class/name` (classes and names of `docs/compat/keywords-2.7.tsv`) and expects it to
//! fail. Each class asks here at the one place where its names are looked up.

use std::sync::OnceLock;

/// The class and the name to ignore, if any.
pub fn planted() -> Option<(&'static str, &'static str)> {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    if !cfg!(debug_assertions) {
        return None;
    }
    PLANTED.get_or_init(|| std::env::var("WEIR_IGNORE").ok()).as_deref()?.rsplit_once('/')
}

/// Whether `name` of `class` is to be accepted and ignored.
pub fn ignored(class: &str, name: &str) -> bool {
    cfg!(debug_assertions) && planted() == Some((class, name))
}
