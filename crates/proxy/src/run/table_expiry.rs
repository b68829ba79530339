//! Removes expired entries of stick tables.
//!
//! Each table with entries has one job in the work that threads share: the first entry of a table
//! without a job starts it, and it ends when the table is empty.

use engine::state::runtime::Shared;
use engine::state::worker::Worker;
use std::sync::{Arc, Weak};
use table::Table;

/// The least time between two passes over a table, in milliseconds. Lookups skip an expired entry
/// whether it has been removed or not.
const PASS_MS: u64 = 1_000;
/// Entries examined before the job gives way to others.
const BUDGET: usize = 256;

/// Makes each table whose entries expire start a job at its first entry.
pub(crate) fn tend_all(shared: &Arc<Shared>) {
    let forgetful = shared.tables.iter().filter(|table| table.settings().expire.is_some());
    for table in forgetful {
        let (shared, tended) = (Arc::downgrade(shared), Arc::downgrade(table));
        table.set_keeper(Box::new(move |due| tend(&shared, &tended, due)));
    }
}

/// Adds the job of a table. Each table is watched by one thread, a different one for each table.
fn tend(shared: &Weak<Shared>, table: &Weak<Table>, due: u64) {
    let (Some(shared), Some(table)) = (shared.upgrade(), table.upgrade()) else { return };
    let watcher = table.number() % shared.settings.threads;
    let job = Box::new(move |_: &Worker, now: u64| pass(&table, now));
    let _ = shared.work.add(watcher, shared.work.all_threads(), due, job);
}

/// One pass over a table; returns the time of the next one, or none for an empty table.
fn pass(table: &Table, now: u64) -> Option<u64> {
    if table.expire(now, BUDGET) >= BUDGET {
        return Some(now);
    }
    table.next_pass().map(|due| due.max(now + PASS_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::{KeyKind, Settings};

    #[test]
    fn a_pass_returns_the_time_of_the_next_and_an_empty_table_has_none() {
        let settings =
            Settings { expire: Some(10_000), ..Settings::new("t", KeyKind::Integer, 1_000) };
        let table = Table::new(settings, 0);
        for key in 0..600u32 {
            table.enter(&key.to_be_bytes(), 5_000, |_| ());
        }
        let mut passes = 0;
        while pass(&table, 15_000) == Some(15_000) {
            passes += 1;
        }
        assert_eq!((passes, table.used(), pass(&table, 15_000)), (2, 0, None));
        table.enter(b"abcd", 16_000, |_| ());
        assert_eq!(pass(&table, 16_001), Some(26_000), "nothing to do before");
        assert_eq!(pass(&table, 25_999), Some(26_999), "not more often than once a second");
    }
}
