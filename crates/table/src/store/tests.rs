//! The store against a naive model, expiry, purging, trackers.

use super::*;
use crate::layout::Stored;
use crate::track::Trackers;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn table(size: u32, expire: Option<u32>) -> Table {
    let mut settings = Settings::new("t", KeyKind::Integer, size);
    settings.expire = expire;
    for data in [DataType::Gpc0, DataType::ConnCnt, DataType::ConnCur, DataType::BytesInCnt] {
        settings.add(data, 1, 0);
    }
    settings.add(DataType::ConnRate, 1, 10_000);
    Table::new(settings, 7)
}

fn key(n: i64) -> Key<'static> {
    Key::integer(n)
}

fn keys(table: &Table, now: u64) -> BTreeSet<u32> {
    let mut walk = Walk::default();
    let entries = std::iter::from_fn(|| table.walk(&mut walk, now)).flatten();
    let number = |entry: Arc<Entry>| {
        u32::from_be_bytes(entry.key().try_into().expect("an integer has four bytes"))
    };
    entries.map(number).collect()
}

#[test]
fn a_walk_sees_entries_that_live_throughout_once() {
    let table = table(100_000, Some(60_000));
    for n in 0..10_000 {
        table.enter(&key(n), 1_000, |_| ()).expect("room");
    }
    let (mut walk, mut seen, mut step) = (Walk::default(), Vec::new(), 0);
    while let Some(entries) = table.walk(&mut walk, 2_000) {
        assert!(entries.len() <= STEP);
        seen.extend(entries.iter().map(|it| u32::from_be_bytes(it.key().try_into().unwrap())));
        // Odd entries are removed, and new entries may take their slots.
        for n in (0..40).map(|n| (step * 40 + n) * 2 + 1).filter(|n| *n < 10_000) {
            table.remove(&key(n));
            table.enter(&key(20_000 + n), 2_000, |_| ()).expect("room");
        }
        step += 1;
    }
    let stayed = |n: &&u32| **n < 10_000 && n.is_multiple_of(2);
    assert_eq!(seen.iter().filter(stayed).count(), 5_000);
    let once: BTreeSet<u32> = seen.iter().copied().filter(|n| stayed(&n)).collect();
    assert_eq!(once.len(), 5_000);
}

#[test]
fn a_full_table_gives_up_its_oldest_entries() {
    for expire in [Some(60_000), None] {
        let table = table(1000, expire);
        for n in 0..1000 {
            table.enter(&key(n), 1_000 + n as u64, |_| ()).expect("room");
        }
        // Those touched since are not the oldest any more.
        for n in [0, 2] {
            table.enter(&key(n), 3_000, |_| ()).expect("it is there");
        }
        table.enter(&key(1000), 4_000, |_| ()).expect("others give way");
        assert_eq!(table.used(), 997, "a 256th and one gave way");
        let missing: Vec<u32> = (0..=1000).filter(|n| !keys(&table, 4_000).contains(n)).collect();
        assert_eq!(missing, [1, 3, 4, 5], "{expire:?}");
    }
}

#[test]
fn nopurge_refuses_new_entries() {
    let mut settings = Settings::new("t", KeyKind::Integer, 2);
    settings.nopurge = true;
    let table = Table::new(settings, 0);
    assert!(table.enter(&key(1), 0, |_| ()).is_some() && table.enter(&key(2), 0, |_| ()).is_some());
    assert!(table.enter(&key(3), 0, |_| ()).is_none() && table.enter(&key(1), 0, |_| ()).is_some());
    assert_eq!((table.used(), table.available()), (2, 0));
}

#[test]
fn tracked_entries_neither_expire_nor_are_evicted() {
    let table = table(2, Some(100));
    let held = table.track(&key(1), 0, DataType::CONNECTION).expect("room");
    table.enter(&key(2), 0, |_| ()).expect("room");
    assert_eq!(table.remove(&key(1)), Removal::InUse);
    table.enter(&key(3), 1, |_| ()).expect("the other one gives way");
    assert_eq!(keys(&table, 1), [1, 3].into());
    while table.expire(10_000, 8) >= 8 {}
    assert_eq!(keys(&table, 10_000), [1].into());
    held.release(10_000);
    assert_eq!(table.look(&key(1), 10_099, |entry| entry.uses()), Some(0));
    assert_eq!(table.look(&key(1), 10_100, |_| ()), None);
    while table.expire(20_000, 8) >= 8 {}
    assert_eq!(table.used(), 0);
}

#[test]
fn trackers_count_while_they_hold() {
    let table = table(10, Some(1_000));
    let mut trackers = Trackers::default();
    for slot in [0, 1, 1] {
        trackers.set(slot, table.track(&key(5), 0, DataType::CONNECTION).expect("room"));
    }
    let entry = trackers.get(0).expect("tracked");
    assert_eq!(entry.uses(), 2, "the third was one too many");
    assert_eq!(entry.get(DataType::ConnCnt, 0, 0), Some(3));
    assert_eq!(entry.get(DataType::ConnCur, 0, 0), Some(2));
    assert_eq!(entry.get(DataType::ConnRate, 0, 0), Some(3));
    assert_eq!((entry.get(DataType::SessCnt, 0, 0), entry.table()), (None, 7));
    trackers.count(DataType::BYTES_IN, 1 << 33, 0);
    trackers.release(500);
    let read = |data| table.look(&key(5), 500, |entry| entry.get(data, 0, 500)).flatten();
    assert_eq!([read(DataType::ConnCur), read(DataType::BytesInCnt)], [Some(0), Some(2 << 33)]);
    assert_eq!(
        table.look(&key(5), 700, |entry| (entry.expires_in(700), entry.idle(700))),
        Some((800, 200))
    );
}

#[test]
fn entries_all_touched_since_still_give_way() {
    for size in [1, 20, 200, 2_000] {
        let table = table(size, Some(100));
        for now in 0..2 {
            for n in 0..size {
                assert!(table.enter(&key(n.into()), now, |_| ()).is_some());
            }
        }
        assert!(table.enter(&key(size.into()), 2, |_| ()).is_some(), "of {size}");
        assert!(table.used() <= size);
    }
}

#[test]
fn an_entry_whose_time_is_over_begins_anew() {
    let table = table(10, Some(10));
    let count = |now| table.enter(&key(1), now, |e| e.change(now, |c| c.add(DataType::Gpc0, 0, 1)));
    assert_eq!([count(0), count(9), count(19)], [Some(Some(1)), Some(Some(2)), Some(Some(1))]);
    assert_eq!(table.used(), 1);
}

#[test]
fn arrays_have_the_value_of_their_older_scalar_names() {
    let mut settings = Settings::new("t", KeyKind::Ip, 10);
    settings.store = vec![
        Stored { data: DataType::Gpt, count: 2, period: 0 },
        Stored { data: DataType::Gpc, count: 3, period: 0 },
        Stored { data: DataType::GpcRate, count: 2, period: 1_000 },
    ];
    let table = Table::new(settings, 0);
    let tracker = table.track(&key(1), 5, &[]).expect("room");
    let entry = tracker.entry();
    entry.change(5, |counters| {
        assert_eq!(counters.add(DataType::Gpc1, 0, 1), Some(1));
        assert_eq!(counters.add(DataType::Gpc, 1, 1), Some(2));
        assert_eq!(counters.add(DataType::Gpc1Rate, 0, 4), Some(4));
        assert_eq!(counters.set(DataType::Gpt, 1, 1 << 40 | 9), Some(0));
        assert_eq!(counters.add(DataType::Gpc, 3, 1), None);
        assert_eq!(counters.set(DataType::GpcRate, 0, 7), Some(0));
    });
    let values = [
        (DataType::Gpc, 1, 2),
        (DataType::GpcRate, 1, 4),
        (DataType::Gpt, 1, 9),
        (DataType::Gpc0Rate, 0, 7),
    ];
    for (data, index, value) in values {
        assert_eq!(entry.get(data, index, 5), Some(value), "{data:?}");
    }
}

#[test]
fn threads_share_a_table() {
    let table = table(64, None);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let table = &table;
            scope.spawn(move || {
                for n in 0..20_000i64 {
                    let tracker = table.track(&key((n * 7 + thread) % 96), n as u64, &[]);
                    table.look(&key(n % 96), n as u64, |entry| entry.uses());
                    drop(tracker);
                    table.remove(&key(n % 50));
                }
            });
        }
    });
    let entries = keys(&table, 0).len();
    assert_eq!(table.used() as usize, entries);
    assert!(entries <= 64);
}

#[derive(Debug, Clone)]
enum Deed {
    Enter(u8),
    Look(u8),
    Remove(u8),
    Expire,
    Wait(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0..40u8).prop_map(Deed::Enter),
        2 => (0..40u8).prop_map(Deed::Look),
        1 => (0..40u8).prop_map(Deed::Remove),
        1 => Just(Deed::Expire),
        2 => (1..40u8).prop_map(Deed::Wait),
    ]
}

proptest! {
    /// The model of a table: keys with the time of their last touch.
    #[test]
    fn the_store_agrees_with_a_naive_model(
        deeds in proptest::collection::vec(deed(), 1..200),
        size in 1u32..60,
    ) {
        let table = table(size, Some(100));
        let mut model: BTreeMap<u8, u64> = BTreeMap::new();
        let mut now = 1_000;
        for deed in deeds {
            match deed {
                Deed::Enter(n) => {
                    let known = model.contains_key(&n);
                    if !known && model.len() as u32 >= size {
                        // The one touched first gives way; of several, any may.
                        let before = keys(&table, 0);
                        let oldest = *model.values().min().expect("a full table has entries");
                        table.enter(&key(n.into()), now, |_| ()).expect("the oldest gives way");
                        let after = keys(&table, 0);
                        let gone: Vec<u8> =
                            model.keys().copied().filter(|k| !after.contains(&u32::from(*k))).collect();
                        prop_assert!(before.len() as u32 == size && gone.len() == 1);
                        prop_assert_eq!(model.remove(&gone[0]), Some(oldest));
                    } else {
                        table.enter(&key(n.into()), now, |_| ()).expect("there is room");
                    }
                    model.insert(n, now);
                }
                Deed::Look(n) => {
                    let alive = model.get(&n).is_some_and(|touched| touched + 100 > now);
                    prop_assert_eq!(table.look(&key(n.into()), now, |_| ()).is_some(), alive);
                }
                Deed::Remove(n) => {
                    let done = table.remove(&key(n.into())) == Removal::Done;
                    prop_assert_eq!(done, model.remove(&n).is_some());
                }
                Deed::Expire => {
                    while table.expire(now, 4) >= 4 {}
                    model.retain(|_, touched| *touched + 100 > now);
                }
                Deed::Wait(ms) => now += u64::from(ms),
            }
            prop_assert_eq!(table.used() as usize, model.len());
        }
    }
}

#[test]
fn a_use_that_is_no_connection_keeps_its_entry() {
    let table = table(10, Some(1_000));
    let held = table.hold(&key(1), 0).expect("room");
    assert_eq!(held.entry().uses(), 1);
    assert_eq!(held.entry().get(DataType::ConnCur, 0, 0), Some(0), "it is no connection");
    table.expire(5_000, 100);
    assert_eq!(keys(&table, 5_000), BTreeSet::from([1]), "an entry in use does not expire");
    drop(held);
    table.expire(5_000, 100);
    assert_eq!(keys(&table, 5_000), BTreeSet::new());
}
