//! Top talkers: the entries of a stick table with the most of what it counts.

use super::writer::Json;
use engine::state::worker::Worker;
use std::cmp::Reverse;
use std::sync::Arc;
use table::{DataKind, DataType, Entry, Table, Walk};

/// Entries shown.
const SHOWN: usize = 10;
/// Entries that are read at most; the answer notes when a table has more.
const LOOKED_AT: usize = 4_096;

/// The first of these that a table stores is what it is ordered by.
const ORDER: &[&str] = &[
    "http_req_rate",
    "conn_rate",
    "sess_rate",
    "bytes_out_rate",
    "bytes_in_rate",
    "http_err_rate",
    "gpc0_rate",
    "gpc1_rate",
    "http_req_cnt",
    "conn_cnt",
    "sess_cnt",
    "bytes_out_cnt",
    "bytes_in_cnt",
    "http_err_cnt",
    "gpc0",
    "gpc1",
    "conn_cur",
];

/// The busiest entries of a table, by name; an empty object if there is no such table.
pub(super) fn write(worker: &Worker, name: Option<&String>) -> String {
    let mut json = Json::default();
    let table = worker.shared.tables.iter().find(|table| name.is_some_and(|it| table.name() == it));
    json.object(|json| {
        if let Some(table) = table {
            json.key("name").text(table.name());
            busiest(json, table, worker.millis());
        }
    });
    json.finish()
}

fn busiest(json: &mut Json, table: &Table, now: u64) {
    let mut order = ORDER.iter().filter_map(|name| DataType::named(name));
    let order = order.find(|data| table.stored(*data).is_some());
    let mut walk = Walk::default();
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    while entries.len() < LOOKED_AT {
        let Some(some) = table.walk(&mut walk, now) else { break };
        entries.extend(some);
    }
    let looked_at = entries.len();
    if let Some(data) = order {
        entries.sort_by_cached_key(|entry| Reverse(entry.get(data, 0, now).unwrap_or(0)));
        json.key("order").text(data.name());
    }
    json.key("looked_at").plain(looked_at);
    json.key("used").plain(table.used());
    json.key("columns").array(|json| columns(table).for_each(|data| json.text(data.name())));
    json.key("entries").array(|json| {
        entries.iter().take(SHOWN).for_each(|entry| row(json, table, entry, now));
    });
}

/// The counters of an entry: numbers that are not arrays.
fn columns(table: &Table) -> impl Iterator<Item = DataType> {
    let kept = DataType::TABLE.iter().filter(|(data, _, kind)| {
        *kind != DataKind::Text && !data.is_array() && table.stored(*data).is_some()
    });
    kept.map(|(data, ..)| *data)
}

fn row(json: &mut Json, table: &Table, entry: &Entry, now: u64) {
    let mut key = String::new();
    // Writing to a string cannot fail.
    let _ = table.kind().show(entry.key(), &mut key);
    json.array(|json| {
        json.text(&key);
        columns(table).for_each(|data| json.plain(entry.get(data, 0, now).unwrap_or(0)));
    });
}
