//! Readers of changes against a naive model, and values that go from one table to another.

use super::*;
use crate::data::{DataKind, DataType};
use crate::key::{Key, KeyKind};
use crate::layout::Settings;
use crate::store::Walk;
use crate::value::{Exported, Value};
use crate::{Rate, RateValue};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn table(size: u32, expire: Option<u32>) -> Table {
    let mut settings = Settings::new("t", KeyKind::Integer, size);
    settings.expire = expire;
    for data in [DataType::Gpc0, DataType::ConnCur, DataType::ConnCnt] {
        settings.add(data, 1, 0);
    }
    Table::new(settings, 0)
}

fn key(n: u32) -> Key<'static> {
    Key::integer(n.into())
}

fn count(table: &Table, n: u32, now: u64) {
    let add = |entry: &Entry| entry.count(&[DataType::Gpc0], 1, now);
    table.enter(&key(n), now, add).expect("room");
}

fn number(entry: &Entry) -> u32 {
    u32::from_be_bytes(entry.key().try_into().expect("four bytes"))
}

/// Reads all changes; returns the keys in the order of reading.
fn drain(table: &Table, reader: &mut ChangeReader, now: u64) -> Vec<u32> {
    let mut found = Vec::new();
    while table.changes(reader, now, &mut found) == Progress::More {}
    found.iter().map(|entry| number(entry)).collect()
}

#[test]
fn an_entry_that_changed_often_is_read_once() {
    let table = table(10, None);
    count(&table, 1, 0);
    let mut reader = table.subscribe().expect("few readers");
    assert!(drain(&table, &mut reader, 0).is_empty(), "changes before the subscription");
    for n in [1, 2, 1, 1, 2] {
        count(&table, n, 0);
    }
    assert_eq!(table.last_change(), 2, "the entries wait to be read");
    assert_eq!(drain(&table, &mut reader, 0), [1, 2]);
    assert!(drain(&table, &mut reader, 0).is_empty());
    count(&table, 1, 0);
    assert_eq!(drain(&table, &mut reader, 0), [1]);
}

#[test]
fn readers_that_come_later_or_skip_see_what_changes_again() {
    let table = table(10, None);
    let mut first = table.subscribe().expect("few readers");
    count(&table, 1, 0);
    let mut second = table.subscribe().expect("few readers");
    count(&table, 1, 0);
    assert_eq!(drain(&table, &mut second, 0), [1], "a change after its subscription");
    count(&table, 2, 0);
    table.skip_changes(&mut second);
    assert!(drain(&table, &mut second, 0).is_empty());
    count(&table, 2, 0);
    assert_eq!(drain(&table, &mut second, 0), [2]);
    assert_eq!(drain(&table, &mut first, 0), [1, 2]);
    table.rewind(&mut second, 0);
    assert_eq!(drain(&table, &mut second, 0), [1, 2]);
}

#[test]
fn changes_of_one_shard_are_read_in_order() {
    let table = table(15, None);
    let mut reader = table.subscribe().expect("few readers");
    (0..10).for_each(|n| count(&table, n, 0));
    assert_eq!(drain(&table, &mut reader, 0), (0..10).collect::<Vec<_>>());
    (0..10).rev().for_each(|n| count(&table, n, 0));
    assert_eq!(drain(&table, &mut reader, 0), (0..10).rev().collect::<Vec<_>>());
}

#[test]
fn learned_values_are_no_changes_of_this_process() {
    let table = table(10, Some(1_000));
    let mut reader = table.subscribe().expect("few readers");
    let values = [LearnedValue { data: DataType::Gpc0, index: 0, value: Value::Number(7) }];
    let learned = Learned {
        key: &key(1),
        expires_in: Some(300),
        values: &values,
        precedence: Precedence::Learned,
    };
    assert!(table.merge(&learned, 5_000));
    assert!(drain(&table, &mut reader, 5_000).is_empty());
    let look = |entry: &Entry| (entry.get(DataType::Gpc0, 0, 5_000), entry.expires_in(5_000));
    assert_eq!(table.look(&key(1), 5_000, look), Some((Some(7), 300)));
    count(&table, 1, 5_100);
    assert_eq!(drain(&table, &mut reader, 5_100), [1], "a count on what was learned");
}

#[test]
fn the_greater_count_stays_and_the_tag_that_was_changed_since() {
    let mut settings = Settings::new("t", KeyKind::Integer, 10);
    settings.add(DataType::Gpc0, 1, 0);
    settings.add(DataType::Gpt0, 1, 0);
    settings.add(DataType::ConnRate, 1, 1_000);
    let table = Table::new(settings, 0);
    let _reader = table.subscribe().expect("few readers");
    let set = |n: u32, count: u64, tag: u64| {
        table.enter(&key(n), 5_000, |entry| {
            entry.change(5_000, |counters| {
                counters.set(DataType::Gpc0, 0, count);
                counters.set(DataType::Gpt0, 0, tag);
                counters.add(DataType::ConnRate, 0, count);
            });
        });
    };
    set(1, 9, 9);
    let before = table.last_change();
    set(2, 9, 9);
    set(3, 1, 0);
    let rate = RateValue { age: 0, current: 5, past: 0 };
    let types = [DataType::Gpc0, DataType::Gpt0, DataType::ConnRate];
    let values = [Value::Number(5), Value::Number(5), Value::Rate(rate)];
    let pairs = types.into_iter().zip(values);
    let values: Vec<_> =
        pairs.map(|(data, value)| LearnedValue { data, index: 0, value }).collect();
    for n in 1..=4 {
        let precedence = Precedence::OwnAfter(before);
        let key = key(n);
        let learned = Learned { key: &key, expires_in: None, values: &values, precedence };
        assert!(table.merge(&learned, 5_000));
    }
    let read = |n| {
        let look = |entry: &Entry| types.map(|data| entry.get(data, 0, 5_000).expect("stored"));
        table.look(&key(n), 5_000, look).expect("it is there")
    };
    assert_eq!([read(1), read(2)], [[9, 5, 9], [9; 3]]);
    assert_eq!([read(3), read(4)], [[5; 3], [5; 3]], "what is not set is taken over");
}

#[test]
fn of_values_that_both_have_changed_the_greater_one_stays_and_is_taught() {
    let mut settings = Settings::new("t", KeyKind::Integer, 10);
    settings.add(DataType::Gpc0, 1, 0);
    settings.add(DataType::Gpt0, 1, 0);
    settings.add(DataType::ServerKey, 1, 0);
    let table = Table::new(settings, 0);
    let mut reader = table.subscribe().expect("few readers");
    for n in 1..=4 {
        table.enter(&key(n), 0, |entry| {
            entry.change(0, |counters| {
                counters.set(DataType::Gpc0, 0, n.into());
                counters.set(DataType::Gpt0, 0, n.into());
            });
            entry.set_server(0, Some(&format!("s{n}").into()));
        });
    }
    drain(&table, &mut reader, 0);
    let numbers = [DataType::Gpc0, DataType::Gpt0];
    let mut values: Vec<_> = numbers
        .map(|data| LearnedValue { data, index: 0, value: Value::Number(3) })
        .into_iter()
        .collect();
    let value = Value::Text(Some("s3".into()));
    values.push(LearnedValue { data: DataType::ServerKey, index: 0, value });
    for n in 1..=4 {
        let (key, precedence) = (key(n), Precedence::GreaterBetween(1, 100));
        assert!(
            table.merge(&Learned { key: &key, expires_in: None, values: &values, precedence }, 0)
        );
    }
    let read = |n| {
        let look = |entry: &Entry| {
            let [count, tag] = numbers.map(|data| entry.get(data, 0, 0).expect("stored"));
            (count, tag, entry.server_key_own().expect("set").to_string())
        };
        table.look(&key(n), 0, look).expect("it is there")
    };
    let all = |n: u64| (n, n, format!("s{n}"));
    assert_eq!([1, 2, 3, 4].map(read), [3, 3, 3, 4].map(all));
    assert_eq!(drain(&table, &mut reader, 0), [4], "all others get what stays");
    let learned = Learned {
        key: &key(4),
        expires_in: None,
        values: &values,
        precedence: Precedence::GreaterBetween(0, 4),
    };
    assert!(table.merge(&learned, 0));
    assert_eq!(read(4), all(3), "it was changed later");
}

#[test]
fn current_connections_are_not_learned() {
    let table = table(10, None);
    let tracker = table.track(&key(1), 0, &[]).expect("room");
    let values = [DataType::ConnCur, DataType::ConnCnt].map(|data| LearnedValue {
        data,
        index: 0,
        value: Value::Number(50),
    });
    assert!(table.merge(
        &Learned {
            key: &key(1),
            expires_in: None,
            values: &values,
            precedence: Precedence::Learned
        },
        0
    ));
    assert_eq!(tracker.entry().get(DataType::ConnCur, 0, 0), Some(1));
    assert_eq!(tracker.entry().get(DataType::ConnCnt, 0, 0), Some(50));
}

#[test]
fn tracking_and_its_end_are_changes() {
    let table = table(10, Some(1_000));
    let mut reader = table.subscribe().expect("few readers");
    let tracker = table.track(&key(1), 0, DataType::CONNECTION).expect("room");
    assert_eq!(drain(&table, &mut reader, 0), [1]);
    tracker.release(500);
    assert_eq!(drain(&table, &mut reader, 500), [1], "it lives longer");
    table.touch(&key(1), 600, |_| ()).expect("it is there");
    assert_eq!(drain(&table, &mut reader, 600), [1]);
}

#[test]
fn removed_or_expired_entries_are_not_read() {
    let table = table(10, Some(1_000));
    let mut reader = table.subscribe().expect("few readers");
    (1..=3).for_each(|n| count(&table, n, 0));
    count(&table, 4, 800);
    table.remove(&key(1));
    assert_eq!(drain(&table, &mut reader, 1_100), [4]);
    table.expire(1_100, 100);
    assert_eq!(table.used(), 1);
    // A new entry takes the slot of a removed one.
    count(&table, 9, 1_100);
    assert_eq!(drain(&table, &mut reader, 1_100), [9]);
}

#[test]
fn a_removed_entry_that_is_still_held_is_not_logged_again() {
    let table = table(10, None);
    let mut reader = table.subscribe().expect("few readers");
    count(&table, 1, 0);
    let mut walk = Walk::default();
    let held = table.walk(&mut walk, 0).expect("a first step");
    table.remove(&key(1));
    count(&table, 2, 0);
    held[0].count(&[DataType::Gpc0], 1, 0);
    assert_eq!(drain(&table, &mut reader, 0), [2]);
}

#[test]
fn a_reader_that_goes_back_reads_again_what_was_not_confirmed() {
    let table = table(1_000, None);
    let mut reader = table.subscribe().expect("few readers");
    (0..20).for_each(|n| count(&table, n, 0));
    let mut found = Vec::new();
    let confirmed = loop {
        if let Progress::Read(upto) = table.changes(&mut reader, 0, &mut found) {
            break upto;
        }
    };
    (15..30).for_each(|n| count(&table, n, 0));
    assert_eq!(drain(&table, &mut reader, 0).len(), 15);
    for _ in 0..2 {
        table.rewind(&mut reader, confirmed);
        let again: BTreeSet<u32> = drain(&table, &mut reader, 0).into_iter().collect();
        assert_eq!(again, (15..30).collect());
    }
    table.rewind(&mut reader, 0);
    assert_eq!(drain(&table, &mut reader, 0).len(), 30);
}

#[test]
fn the_callback_is_called_once_per_sleep() {
    let table = table(10, None);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    table.set_change_callback(Box::new(move || {
        counted.fetch_add(1, Relaxed);
    }));
    count(&table, 1, 0);
    let mut reader = table.subscribe().expect("few readers");
    count(&table, 1, 0);
    assert_eq!(calls.load(Relaxed), 0, "no reader sleeps");
    table.arm();
    assert_eq!(drain(&table, &mut reader, 0), [1]);
    (1..5).for_each(|n| count(&table, n, 0));
    assert_eq!(calls.load(Relaxed), 1);
}

#[test]
fn readers_beyond_the_bound_are_refused_until_another_one_ends() {
    let table = table(10, None);
    let mut readers: Vec<_> = std::iter::from_fn(|| table.subscribe()).collect();
    assert_eq!(readers.len(), 63);
    table.unsubscribe(readers.pop().expect("not empty"));
    let mut last = table.subscribe().expect("room for one");
    count(&table, 1, 0);
    readers.iter_mut().chain([&mut last]).for_each(|reader| {
        assert_eq!(drain(&table, reader, 0), [1]);
    });
    readers.into_iter().chain([last]).for_each(|reader| table.unsubscribe(reader));
    count(&table, 1, 0);
    assert_eq!(table.last_change(), 1, "nobody reads");
}

/// A table that stores every data type, and its reader's view of values.
fn of_all_types() -> Table {
    let mut settings = Settings::new("t", KeyKind::Integer, 10);
    settings.expire = Some(60_000);
    for (data, _, kind) in DataType::TABLE {
        let count = if data.is_array() { 3 } else { 1 };
        settings.add(*data, count, if *kind == DataKind::Rate { 10_000 } else { 0 });
    }
    Table::new(settings, 0)
}

#[test]
fn values_of_every_type_go_from_one_table_to_another() {
    let (ours, theirs) = (of_all_types(), of_all_types());
    ours.enter(&key(1), 100_000, |entry| {
        entry.set_server(3, Some(&"srv3".into()));
        entry.change(100_000, |counters| {
            for (data, ..) in DataType::TABLE.iter().skip(1) {
                (0..3).for_each(|index| {
                    counters.add(*data, index, 100 + *data as u64 + u64::from(index));
                });
            }
        });
    });
    let mut exported = Exported::default();
    ours.look(&key(1), 102_000, |entry| entry.export(102_000, &mut exported));
    assert_eq!(exported.expires_in, 58_000);
    let mut values = exported.values.iter().cloned();
    let mut learned = Vec::new();
    for (data, ..) in DataType::TABLE {
        for index in 0..if data.is_array() { 3 } else { 1 } {
            let value = values.next().expect("a value per element");
            learned.push(LearnedValue { data: *data, index, value });
        }
    }
    assert!(values.next().is_none());
    // The clock of the other process differs.
    let learned = Learned {
        key: &key(1),
        expires_in: Some(58_000),
        values: &learned,
        precedence: Precedence::Learned,
    };
    assert!(theirs.merge(&learned, 5_000_000));
    let mut copy = Exported::default();
    theirs.look(&key(1), 5_000_000, |entry| entry.export(5_000_000, &mut copy));
    exported.values[DataType::ConnCur as usize] = Value::Number(0);
    assert_eq!((copy.values, copy.expires_in), (exported.values, 58_000));
}

#[test]
fn ages_of_rates_are_bounded() {
    let period = 1_000;
    let read = |age, now| {
        let value = RateValue { age, current: 40, past: 20 };
        Rate::import(value, now, period).read(now, period)
    };
    assert_eq!(read(500, 90_000), 50);
    assert_eq!(read(2_000, 90_000), 0);
    assert_eq!(read(u64::MAX, 90_000), 0);
    assert_eq!(read(u64::MAX, 100), 0, "a clock that has just begun");
    assert_eq!(read(1_500, 100), 58, "an age before the clock began is cut");
    let exported = Rate::default().export(1_000_000, period);
    assert_eq!(exported, RateValue { age: 2_000, current: 0, past: 0 });
}

#[derive(Debug, Clone)]
enum Step {
    Count(u32),
    Merge(u32),
    Remove(u32),
    Read(usize),
    Confirm(usize),
    Rewind(usize),
    Skip(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u32..40).prop_map(Step::Count),
        1 => (0u32..40).prop_map(Step::Merge),
        1 => (0u32..40).prop_map(Step::Remove),
        2 => (0usize..3).prop_map(Step::Read),
        1 => (0usize..3).prop_map(Step::Confirm),
        1 => (0usize..3).prop_map(Step::Rewind),
        1 => (0usize..3).prop_map(Step::Skip),
    ]
}

proptest! {
    /// Each reader reads exactly the entries that exist and have changed since it read them, or
    /// since the confirmed place that it went back to.
    #[test]
    fn readers_agree_with_a_naive_model(steps in proptest::collection::vec(step(), 1..300)) {
        let table = table(100, None);
        let mut readers: Vec<_> = (0..3).map(|_| table.subscribe().expect("few")).collect();
        // Per reader: the changes that it must read, those that it has read since its confirmed
        // place, and that place.
        let mut due = vec![BTreeSet::new(); 3];
        let mut unconfirmed = vec![BTreeSet::new(); 3];
        let mut confirmed = [0; 3];
        for step in steps {
            match step {
                Step::Count(n) => {
                    count(&table, n, 0);
                    due.iter_mut().for_each(|due| { due.insert(n); });
                }
                Step::Merge(n) => {
                    table.merge(&Learned { key: &key(n), expires_in: None, values: &[], precedence: Precedence::Learned }, 0);
                }
                Step::Remove(n) => {
                    table.remove(&key(n));
                    for set in due.iter_mut().chain(&mut unconfirmed) {
                        set.remove(&n);
                    }
                }
                Step::Read(at) => {
                    let read: BTreeSet<u32> =
                        drain(&table, &mut readers[at], 0).into_iter().collect();
                    prop_assert_eq!(&read, &due[at]);
                    due[at].clear();
                    unconfirmed[at].extend(read);
                }
                Step::Confirm(at) => {
                    let mut found = Vec::new();
                    let upto = loop {
                        if let Progress::Read(upto) = table.changes(&mut readers[at], 0, &mut found) {
                            break upto;
                        }
                    };
                    due[at].clear();
                    unconfirmed[at].clear();
                    confirmed[at] = upto;
                }
                Step::Skip(at) => {
                    table.skip_changes(&mut readers[at]);
                    let passed = std::mem::take(&mut due[at]);
                    unconfirmed[at].extend(passed);
                }
                Step::Rewind(at) => {
                    table.rewind(&mut readers[at], confirmed[at]);
                    let again = std::mem::take(&mut unconfirmed[at]);
                    due[at].extend(again);
                }
            }
        }
    }
}
