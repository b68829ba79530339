//! Stick tables as scripts see them.

use crate::cli::compare_by;
use engine::state::runtime::{Proxy, Shared};
use script::{Plain, ScriptError, TableCall, TableFilter, key};
use std::sync::Arc;
use table::{DataKind, DataType, Entry, KeyKind, Stored, Table, Walk};

/// The stick table of a proxy.
pub(super) fn of<'s>(shared: &'s Shared, proxy: &Proxy) -> Option<&'s Arc<Table>> {
    shared.tables.iter().find(|table| table.name() == proxy.name())
}

/// Answers a call about a table.
///
/// # Errors
/// A filter names an unknown column or operator.
pub(super) fn call(table: &Arc<Table>, call: &TableCall, now: u64) -> Result<Plain, ScriptError> {
    Ok(match call {
        TableCall::Exists => Plain::Bool(true),
        TableCall::Info => info(table),
        TableCall::Lookup(text) => {
            let text = String::from_utf8_lossy(text);
            let found = table.parse_key(&text);
            let entry =
                found.and_then(|key| table.look(&key, now, |entry| looked(table, entry, now)));
            entry.unwrap_or(Plain::Nil)
        }
        TableCall::Dump(filters, from) => dump(table, &compiled(filters)?, *from, now),
    })
}

fn int(value: u64) -> Plain {
    Plain::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The stored data, with the name of each.
fn stored(table: &Table) -> impl Iterator<Item = (&'static str, DataKind, Stored)> {
    let known = DataType::TABLE.iter();
    known.filter_map(|(data, name, kind)| Some((*name, *kind, table.stored(*data)?)))
}

fn info(table: &Table) -> Plain {
    let settings = table.settings();
    // The length of texts counts the zero behind them, as in HAProxy.
    let length = match settings.kind {
        KeyKind::Ip | KeyKind::Integer => 4,
        KeyKind::Ipv6 => 16,
        KeyKind::Text(length) => length + 1,
        KeyKind::Binary(length) => length,
    };
    let data = stored(table).map(|(name, kind, stored)| {
        let period = if kind == DataKind::Rate { i64::from(stored.period) } else { -1 };
        (key(name), Plain::Int(period))
    });
    Plain::Map(vec![
        (key("type"), settings.kind.name().into()),
        (key("length"), Plain::Int(length as i64)),
        (key("size"), Plain::Int(i64::from(settings.size))),
        (key("used"), Plain::Int(i64::from(table.used()))),
        (key("nopurge"), Plain::Bool(settings.nopurge)),
        (key("expire"), Plain::Int(settings.expire.map_or(-1, i64::from))),
        (key("data"), Plain::Map(data.collect())),
    ])
}

/// The data of an entry.
fn values(table: &Table, entry: &Entry, now: u64) -> Vec<(Vec<u8>, Plain)> {
    let value = |(name, kind, stored): (&str, DataKind, Stored)| {
        let at = |index| int(entry.get(stored.data, index, now).unwrap_or(0));
        let value = match kind {
            DataKind::Text => entry.server_key(now).as_deref().unwrap_or_default().into(),
            _ if stored.data.is_array() => Plain::List((0..stored.count).map(at).collect()),
            _ => at(0),
        };
        (key(name), value)
    };
    stored(table).map(value).collect()
}

fn looked(table: &Table, entry: &Entry, now: u64) -> Plain {
    let mut all = values(table, entry, now);
    all.push((key("use"), Plain::Int(i64::from(entry.uses()))));
    all.push((key("expire"), int(entry.expires_in(now))));
    Plain::Map(all)
}

/// A filter with its column and comparison.
type Compiled = (DataType, fn(&u64, &u64) -> bool, u64);

fn compiled(filters: &[TableFilter]) -> Result<Vec<Compiled>, ScriptError> {
    let compile = |(column, operator, value): &TableFilter| {
        let data = DataType::named(column)
            .ok_or_else(|| ScriptError::Argument("Unknown data type".to_owned()))?;
        let compare = compare_by(operator)
            .ok_or_else(|| ScriptError::Argument("Unknown operator in filter table".to_owned()))?;
        Ok((data, compare, *value as u64))
    };
    filters.iter().map(compile).collect()
}

/// The entries of one step that pass all filters, and the place of the next step.
fn dump(table: &Arc<Table>, filters: &[Compiled], from: (usize, usize), now: u64) -> Plain {
    let mut walk = Walk::at(from);
    let step = table.walk(&mut walk, now);
    let (shard, place) = match &step {
        Some(_) => (Plain::Int(walk.numbers().0 as i64), Plain::Int(walk.numbers().1 as i64)),
        None => (Plain::Nil, Plain::Nil),
    };
    let passes = |entry: &&Arc<Entry>| {
        filters.iter().all(|(data, compare, value)| {
            entry.get(*data, 0, now).is_some_and(|own| compare(&own, value))
        })
    };
    let entries = step.iter().flatten().filter(passes);
    let entries =
        entries.map(|entry| (name(table, entry), Plain::Map(values(table, entry, now)))).collect();
    Plain::Map(vec![
        (key("entries"), Plain::Map(entries)),
        (key("numeric"), Plain::Bool(table.kind() == KeyKind::Integer)),
        (key("shard"), shard),
        (key("place"), place),
    ])
}

/// The key of an entry as scripts get it.
fn name(table: &Table, entry: &Entry) -> Vec<u8> {
    match table.kind() {
        KeyKind::Text(_) | KeyKind::Binary(_) => entry.key().to_vec(),
        kind => {
            let mut shown = String::new();
            // Writing to a string cannot fail.
            let _ = kind.show(entry.key(), &mut shown);
            shown.into_bytes()
        }
    }
}
