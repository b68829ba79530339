//! Values that leave a table and come into it: what peers teach each other.

use crate::data::{DataKind, DataType};
use crate::entry::{Data, Entry};
use crate::layout::{Cell, Layout, MAX_ARRAY};
use crate::rate::{Rate, RateValue};
use std::sync::Arc;

/// One value of an entry, apart from any clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number: of 32 bits in counters and tags, of 64 in counts of bytes.
    Number(u64),
    /// A rate.
    Rate(RateValue),
    /// A text; nothing where none is stored.
    Text(Option<Arc<str>>),
}

/// What was read of one entry.
#[derive(Debug, Default)]
pub struct Exported {
    /// The value of each data type that the table stores, in the order of [`DataType::TABLE`], the
    /// elements of arrays one by one.
    pub values: Vec<Value>,
    /// Milliseconds until it expires; 0 in a table without expiry.
    pub expires_in: u64,
}

/// A value that was learned: which one and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnedValue {
    /// The data type.
    pub data: DataType,
    /// The element of an array; 0 for what is none.
    pub index: u32,
    /// The value.
    pub value: Value,
}

impl Entry {
    /// Reads all values as of one moment. Replaces what is in `into`.
    pub fn export(&self, now: u64, into: &mut Exported) {
        into.values.clear();
        into.expires_in = self.expires_in(now);
        let held = self.lock();
        let layout = &self.layout;
        for (data, ..) in DataType::TABLE {
            let Some(stored) = layout.stored(*data) else { continue };
            if data.kind() == DataKind::Text {
                into.values.push(Value::Text(held.server_key.clone()));
                continue;
            }
            let elements = 0..stored.count.clamp(1, MAX_ARRAY);
            let cells = elements.filter_map(|index| layout.cell(*data, index));
            into.values.extend(cells.map(|cell| exported(&held, cell, now)));
        }
    }

    /// Takes learned values over. Those that are not stored are left out, and so is `conn_cur`: it
    /// counts what this process has open. With `keep`, greater counts and rates stay, and so does
    /// all else that is set.
    pub(crate) fn import(&self, values: &[LearnedValue], now: u64, keep: bool) {
        let mut held = self.lock();
        for learned in values.iter().filter(|learned| learned.data != DataType::ConnCur) {
            import(&mut held, &self.layout, learned, now, keep);
        }
    }
}

fn exported(held: &Data, cell: Cell, now: u64) -> Value {
    match cell.kind {
        DataKind::Rate => {
            let rate = Rate::load(&held.words[cell.at..]);
            Value::Rate(rate.export(now, cell.period))
        }
        _ => Value::Number(held.words[cell.at]),
    }
}

fn import(held: &mut Data, layout: &Layout, learned: &LearnedValue, now: u64, keep: bool) {
    let LearnedValue { data, index, value } = learned;
    if let Value::Text(text) = value {
        let keep = keep && held.server_key.is_some();
        if data.kind() == DataKind::Text && layout.stored(*data).is_some() && !keep {
            held.server_key.clone_from(text);
        }
        return;
    }
    // An element of an array is not taken for the data type that came before arrays, as with
    // HAProxy.
    let Some(cell) = layout.stored(*data).and_then(|_| layout.cell(*data, *index)) else { return };
    let is_tag = matches!(data, DataType::ServerId | DataType::Gpt0 | DataType::Gpt);
    let words = &mut held.words[cell.at..];
    let stays = |number: u64| keep && (words[0] > number || (is_tag && words[0] > 0));
    match (value, cell.kind) {
        (Value::Number(number), DataKind::Count | DataKind::Long) => {
            let most = if cell.kind == DataKind::Count { u32::MAX.into() } else { u64::MAX };
            let number = number & most;
            if !stays(number) {
                words[0] = number;
            }
        }
        (Value::Rate(rate), DataKind::Rate) => {
            let rate = Rate::import(*rate, now, cell.period);
            let read = |rate: Rate| rate.read(now, cell.period);
            if !keep || read(rate) > read(Rate::load(words)) {
                rate.save(words);
            }
        }
        _ => {}
    }
}
