//! `cache` sections (section 6.2).
use crate::diag::Place;
use std::sync::Arc;

/// A `cache` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSection {
    /// Its name.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// `total-max-size`, in bytes: a multiple of 1 MiB, at most 4095 of them.
    pub total_max_size: u64,
    /// `max-object-size`, in bytes: at most half of the total.
    pub max_object_size: u64,
    /// `max-age`: longest time in seconds for which a response is fresh.
    pub max_age: u32,
    /// `process-vary`: whether responses with `Vary` are stored.
    pub process_vary: bool,
    /// `max-secondary-entries`: most responses with the same URL, at least 1.
    pub max_secondary_entries: u32,
}

impl CacheSection {
    /// `max-age` of a section without it.
    pub(crate) const MAX_AGE: u32 = 60;
    /// `max-secondary-entries` of a section without it.
    pub(crate) const MAX_SECONDARY: u32 = 10;
    /// Largest `total-max-size`, in MiB.
    pub(crate) const MAX_TOTAL: u64 = 4095;
    /// Part of the total that `max-object-size` is without its line.
    pub(crate) const OBJECT_PART: u64 = 256;
    /// Longest name; HAProxy truncates longer ones.
    pub(crate) const MAX_NAME: usize = 32;
}
