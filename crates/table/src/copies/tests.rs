//! Tables with copies of two nodes.

use super::*;
use crate::changes::{Learned, Precedence};
use crate::key::KeyKind;
use crate::layout::Settings;
use crate::rate::RateValue;
use crate::store::Removal;
use crate::value::{LearnedValue, Value};
use std::collections::BTreeMap;

const NOW: u64 = 1_000_000;

/// A table with the copies of two nodes, each with an open session.
fn table(how: Aggregate) -> Table {
    let mut settings = Settings::new("t", KeyKind::Integer, 1_000);
    settings.expire = Some(60_000);
    settings.aggregate = Some(how);
    for data in [DataType::Gpc0, DataType::ConnCur, DataType::Gpt0, DataType::ServerKey] {
        settings.add(data, 1, 0);
    }
    settings.add(DataType::HttpReqRate, 1, 10_000);
    let table = Table::new(settings, 0);
    table.keep_copies(&["b".into(), "c".into()]);
    table.copies().iter().for_each(|copy| copy.node_connected(NOW));
    table
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn number(data: DataType, value: u64) -> LearnedValue {
    LearnedValue { data, index: 0, value: Value::Number(value) }
}

/// Has the node of a copy teach an entry that it has just used.
fn teach(table: &Table, copy: usize, at: u32, values: &[LearnedValue], now: u64) {
    let precedence = Precedence::Learned;
    let learned = Learned { key: &key(at), expires_in: None, values, precedence };
    assert!(table.copies()[copy].merge(&learned, now));
}

fn read(table: &Table, at: u32, data: DataType, now: u64) -> Option<u64> {
    table.look(&key(at), now, |entry| entry.get(data, 0, now)).flatten()
}

fn count(table: &Table, at: u32, data: DataType, amount: u64, now: u64) {
    table.enter(&key(at), now, |entry| entry.count(&[data], amount, now));
}

#[test]
fn counts_and_rates_are_added_up() {
    let table = table(Aggregate::Sum);
    let rate = Value::Rate(RateValue { age: 10, current: 7, past: 0 });
    let rate = LearnedValue { data: DataType::HttpReqRate, index: 0, value: rate };
    count(&table, 1, DataType::Gpc0, 5, NOW);
    count(&table, 1, DataType::HttpReqRate, 3, NOW);
    teach(&table, 0, 1, &[number(DataType::Gpc0, 20), rate.clone()], NOW);
    teach(&table, 1, 1, &[number(DataType::Gpc0, 300), rate], NOW);
    assert_eq!(read(&table, 1, DataType::Gpc0, NOW), Some(325));
    assert_eq!(read(&table, 1, DataType::HttpReqRate, NOW), Some(17));
    let own = table.look(&key(1), NOW, |entry| entry.get_own(DataType::Gpc0, 0, NOW));
    assert_eq!(own, Some(Some(5)));
    // A value that a node teaches replaces the earlier value of that node, and of no other.
    teach(&table, 0, 1, &[number(DataType::Gpc0, 21)], NOW);
    assert_eq!(read(&table, 1, DataType::Gpc0, NOW), Some(326));
}

#[test]
fn the_greatest_or_the_last_value_may_hold_instead() {
    for (how, expected) in [(Aggregate::Max, 300), (Aggregate::Last, 20)] {
        let table = table(how);
        count(&table, 1, DataType::Gpc0, 5, NOW);
        teach(&table, 1, 1, &[number(DataType::Gpc0, 300)], NOW + 1);
        teach(&table, 0, 1, &[number(DataType::Gpc0, 20)], NOW + 2);
        assert_eq!(read(&table, 1, DataType::Gpc0, NOW + 3), Some(expected), "{how:?}");
    }
}

#[test]
fn entries_of_other_nodes_alone_are_read_and_count_for_all_of_them() {
    let table = table(Aggregate::Sum);
    teach(&table, 0, 1, &[number(DataType::Gpc0, 20)], NOW);
    teach(&table, 1, 1, &[number(DataType::Gpc0, 300)], NOW);
    teach(&table, 1, 2, &[number(DataType::Gpc0, 4)], NOW);
    assert_eq!(read(&table, 1, DataType::Gpc0, NOW), Some(320));
    assert_eq!(read(&table, 2, DataType::Gpc0, NOW), Some(4));
    assert_eq!((read(&table, 3, DataType::Gpc0, NOW), table.used()), (None, 0));
    // The copy of a node has the values of that node.
    let copy = &table.copies()[0];
    let of_node = copy.look(&key(1), NOW, |entry| entry.get_own(DataType::Gpc0, 0, NOW));
    assert_eq!(of_node, Some(Some(20)));
    assert_eq!(copy.look(&key(2), NOW, |_| ()), None);
}

#[test]
fn tags_and_servers_are_those_set_last() {
    let table = table(Aggregate::Sum);
    let server = |name: &str| LearnedValue {
        data: DataType::ServerKey,
        index: 0,
        value: Value::Text(Some(name.into())),
    };
    let seen = |now| {
        table.look(&key(1), now, |entry| {
            (entry.get(DataType::Gpt0, 0, now), entry.server_key(now).map(|it| it.to_string()))
        })
    };
    teach(&table, 0, 1, &[number(DataType::Gpt0, 3), server("s3")], NOW);
    teach(&table, 1, 1, &[number(DataType::Gpt0, 4), server("s4")], NOW + 1);
    assert_eq!(seen(NOW + 2), Some((Some(4), Some("s4".into()))));
    // A node that uses the entry without setting them does not change them.
    count(&table, 1, DataType::Gpc0, 1, NOW + 3);
    assert_eq!(seen(NOW + 4), Some((Some(4), Some("s4".into()))));
    teach(&table, 0, 1, &[number(DataType::Gpt0, 5), server("s5")], NOW + 5);
    assert_eq!(seen(NOW + 6), Some((Some(5), Some("s5".into()))));
}

#[test]
fn connections_count_as_long_as_their_session_may_be_open() {
    let table = table(Aggregate::Sum);
    let copy = &table.copies()[0];
    let tracker = table.track(&key(1), NOW, &[]).expect("there is room");
    teach(&table, 0, 1, &[number(DataType::ConnCur, 20)], NOW);
    teach(&table, 0, 2, &[number(DataType::ConnCur, 4)], NOW);
    let open = |at, now| read(&table, at, DataType::ConnCur, now);
    assert_eq!((open(1, NOW), open(2, NOW)), (Some(21), Some(4)));
    // A short interruption changes nothing.
    copy.node_lost(NOW + 1_000);
    assert_eq!(open(1, NOW + 3_000), Some(21));
    copy.node_connected(NOW + 3_000);
    assert_eq!(open(2, NOW + 3_100), Some(4));
    // The node teaches the entries again that it has.
    teach(&table, 0, 1, &[number(DataType::ConnCur, 19)], NOW + 3_200);
    assert_eq!((open(1, NOW + 13_000), open(2, NOW + 13_000)), (Some(20), Some(0)));
    // A node that stays away has no connections.
    copy.node_lost(NOW + 20_000);
    assert_eq!((open(1, NOW + 29_999), open(1, NOW + 30_000)), (Some(20), Some(1)));
    tracker.release(NOW + 31_000);
    assert_eq!(open(1, NOW + 31_000), Some(0));
}

#[test]
fn others_say_what_an_absent_node_has_but_for_its_connections() {
    let table = table(Aggregate::Sum);
    let values = [number(DataType::Gpc0, 9), number(DataType::ConnCur, 9)];
    let precedence = Precedence::OfAbsentNode;
    let learned = Learned { key: &key(1), expires_in: Some(5_000), values: &values, precedence };
    table.copies()[1].merge(&learned, NOW);
    assert_eq!(read(&table, 1, DataType::Gpc0, NOW), Some(9));
    assert_eq!(read(&table, 1, DataType::ConnCur, NOW), Some(0));
    assert_eq!(read(&table, 1, DataType::Gpc0, NOW + 5_000), None, "it has expired");
}

#[test]
fn a_node_that_is_told_what_it_had_keeps_the_greater_count_and_logs_it() {
    let table = table(Aggregate::Sum);
    let mut reader = table.subscribe().expect("a reader");
    let restore = |at, value| {
        let values = [number(DataType::Gpc0, value), number(DataType::ConnCur, 5)];
        let precedence = Precedence::OwnBefore;
        let learned = Learned { key: &key(at), expires_in: None, values: &values, precedence };
        table.merge(&learned, NOW);
    };
    count(&table, 1, DataType::Gpc0, 3, NOW);
    let mut changed = Vec::new();
    while table.changes(&mut reader, NOW, &mut changed) == crate::Progress::More {}
    changed.clear();
    restore(1, 500);
    restore(2, 40);
    assert_eq!(read(&table, 1, DataType::Gpc0, NOW), Some(500));
    assert_eq!(read(&table, 2, DataType::Gpc0, NOW), Some(40));
    assert_eq!(read(&table, 1, DataType::ConnCur, NOW), Some(0));
    while table.changes(&mut reader, NOW, &mut changed) == crate::Progress::More {}
    let keys: Vec<&[u8]> = changed.iter().map(|entry| entry.key()).collect();
    assert_eq!(keys, [key(1)], "others have the lower count of the first one");
}

#[test]
fn a_listing_has_each_key_of_all_nodes_once() {
    let table = table(Aggregate::Sum);
    (0..200).for_each(|at| count(&table, at, DataType::Gpc0, 1, NOW));
    (100..300).for_each(|at| teach(&table, 0, at, &[number(DataType::Gpc0, 1)], NOW));
    (50..400).for_each(|at| teach(&table, 1, at, &[number(DataType::Gpc0, 1)], NOW));
    let mut walk = GroupWalk::default();
    let mut seen = BTreeMap::new();
    while let Some(entries) = table.walk_group(&mut walk, NOW) {
        for entry in entries {
            let value = entry.get(DataType::Gpc0, 0, NOW).expect("stored");
            assert_eq!(seen.insert(entry.key().to_vec(), value), None);
        }
    }
    let expected =
        |at: u32| u64::from(at < 200) + u64::from((100..300).contains(&at)) + u64::from(at >= 50);
    let expected = (0..400).map(|at| (key(at).to_vec(), expected(at)));
    assert_eq!(seen, expected.collect());
    assert_eq!(table.used_in_group(), 750);
    assert_eq!(table.copies()[0].used_in_group(), 200);
}

#[test]
fn copies_expire_are_removed_and_give_way_with_their_table() {
    let table = table(Aggregate::Sum);
    teach(&table, 0, 1, &[number(DataType::Gpc0, 1)], NOW);
    teach(&table, 1, 2, &[number(DataType::Gpc0, 1)], NOW);
    assert_eq!(table.next_pass(), Some(NOW + 60_000));
    assert_eq!(table.remove(&key(1)), Removal::Done);
    assert_eq!(table.remove(&key(1)), Removal::Absent);
    assert_eq!(table.used_in_group(), 1);
    table.expire(NOW + 60_000, 100);
    assert_eq!((table.used_in_group(), table.next_pass()), (0, None));
    (0..2_000).for_each(|at| teach(&table, 0, at, &[number(DataType::Gpc0, 1)], NOW));
    assert!(table.copies()[0].used() <= 1_000, "a copy is no larger than the table");
}

#[test]
fn tables_without_aggregation_have_no_copies() {
    let table = Table::new(Settings::new("t", KeyKind::Integer, 10), 0);
    table.keep_copies(&["b".into()]);
    assert!(table.copies().is_empty() && !table.is_copy());
}

#[test]
fn a_table_that_only_receives_learns_connections() {
    for (recv_only, expected) in [(true, 7), (false, 0)] {
        let mut settings = Settings { recv_only, ..Settings::new("t", KeyKind::Integer, 10) };
        settings.add(DataType::ConnCur, 1, 0);
        let table = Table::new(settings, 0);
        let values = [number(DataType::ConnCur, 7)];
        let precedence = Precedence::Learned;
        table.merge(&Learned { key: &key(1), expires_in: None, values: &values, precedence }, NOW);
        assert_eq!(read(&table, 1, DataType::ConnCur, NOW), Some(expected));
    }
}

#[test]
fn tags_and_servers_that_are_learned_are_written_to_another_table() {
    let settings = |name| {
        let mut settings = Settings::new(name, KeyKind::Integer, 10);
        settings.expire = Some(60_000);
        [DataType::Gpc0, DataType::Gpt0, DataType::ServerId]
            .into_iter()
            .for_each(|data| settings.add(data, 1, 0));
        settings
    };
    let (source, target) = (Table::new(settings("s"), 0), Arc::new(Table::new(settings("t"), 1)));
    source.set_write_to(target.clone());
    let mut reader = target.subscribe().expect("a reader");
    let values =
        [number(DataType::Gpc0, 7), number(DataType::Gpt0, 8), number(DataType::ServerId, 9)];
    let precedence = Precedence::Learned;
    let learned = Learned { key: &key(1), expires_in: Some(1_000), values: &values, precedence };
    source.merge(&learned, NOW);
    let read = |data| read(&target, 1, data, NOW);
    assert_eq!(read(DataType::Gpt0), Some(8));
    assert_eq!(read(DataType::ServerId), Some(9));
    assert_eq!(read(DataType::Gpc0), Some(0), "counters are the target's own");
    let left = target.look(&key(1), NOW, |entry| entry.expires_in(NOW));
    assert_eq!(left, Some(60_000), "its time begins anew");
    let mut changed = Vec::new();
    while target.changes(&mut reader, NOW, &mut changed) == crate::Progress::More {}
    assert!(changed.is_empty(), "it is not taught as a change of this process");
    // Changes by this process are not written.
    source.enter(&key(2), NOW, |entry| entry.change(NOW, |it| it.set(DataType::Gpt0, 0, 1)));
    assert!(!target.contains(&key(2), NOW));
}
