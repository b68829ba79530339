//! Stick tables: keys, counters, rates, expiry.
//!
//! Reading order: [`Settings`] and [`DataType`] (what a `stick-table` line declares), [`Key`] (what
//! entries are found by), [`Entry`] (what is stored), [`Table`] (the store that all threads share),
//! [`Trackers`] (the entries that a session or a stream follows). Manual section 4.2,
//! `stick-table`.
//!
//! Times are milliseconds on one monotonic clock.
#![forbid(unsafe_code)]

mod data;
mod entry;
mod key;
mod layout;
mod rate;
mod shard;
mod store;
mod track;

pub use data::{DataKind, DataType};
pub use entry::{Counters, Entry};
pub use key::{Key, KeyKind};
pub use layout::{MAX_ARRAY, ServerKey, Settings, Stored};
pub use rate::Rate;
pub use store::{ExpiryCallback, Removal, STEP, Table, Walk};
pub use track::{SLOTS, Tracker, Trackers};
