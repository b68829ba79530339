//! Names of `proc.` variables that the configuration mentions: scripts may ask to set only those.

use std::collections::HashSet;
use std::sync::OnceLock;
use stdx::Mutex;

/// The names parsed so far.
static PARSED: Mutex<Vec<Box<str>>> = Mutex::new(Vec::new());

/// The names, once the configuration is complete: names that are parsed later come from scripts,
/// commands and clients, and are not kept.
static COMPLETE: OnceLock<HashSet<Box<str>>> = OnceLock::new();

/// Adds a name, unless the configuration is complete.
pub(super) fn add(name: &str) {
    if COMPLETE.get().is_none() {
        PARSED.lock().push(name.into());
    }
}

/// Whether the configuration mentions the name.
pub(super) fn contains(name: &str) -> bool {
    match COMPLETE.get() {
        Some(names) => names.contains(name),
        None => PARSED.lock().iter().any(|own| **own == *name),
    }
}

/// The configuration is complete.
pub fn complete() {
    COMPLETE.get_or_init(|| std::mem::take(&mut *PARSED.lock()).into_iter().collect());
}
