//! Stick tables: keys, counters, rates, expiry.
//!
//! Reading order: [`Settings`] and [`DataType`] (what a `stick-table` line declares), [`Key`] (what
//! entries are found by), [`Entry`] (what is stored), [`Table`] (the store that all threads share),
//! [`Trackers`] (the entries that a session or a stream follows), [`ChangeReader`] (what changed,
//! for peers), [`Learned`] (what peers have changed). Manual section 4.2,
//! `stick-table`.
//!
//! Times are milliseconds on one monotonic clock.
#![forbid(unsafe_code)]

mod aggregate;
mod change_list;
mod change_log;
mod changes;
mod copies;
mod data;
mod entry;
mod key;
mod layout;
mod rate;
mod shard;
mod store;
mod sync;
mod track;
mod value;

pub use aggregate::Aggregate;
pub use change_log::ChangeCallback;
pub use changes::{ChangeReader, Learned, Precedence, Progress};
pub use copies::GroupWalk;
pub use data::{DataKind, DataType};
pub use entry::{Counters, Entry};
pub use key::{Key, KeyKind};
pub use layout::{MAX_ARRAY, ServerKey, Settings, Stored};
pub use rate::{Rate, RateValue};
pub use store::{ExpiryCallback, Removal, STEP, Table, Walk};
pub use track::{EntryUse, SLOTS, Tracker, Trackers};
pub use value::{Exported, LearnedValue, Value};
