//! Values that peers send each other: how entries are exported from a table, and merged into it.

use crate::aggregate::ForeignConnections;
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

/// The values that were read of one entry.
#[derive(Debug, Default)]
pub struct Exported {
    /// The value of each data type that the table stores, in the order of [`DataType::TABLE`], the
    /// elements of arrays one by one.
    pub values: Vec<Value>,
    /// Milliseconds until it expires; 0 in a table without expiry.
    pub expires_in: u64,
}

/// A value that was learned: its data type and element, and the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnedValue {
    /// The data type.
    pub data: DataType,
    /// The element of an array; 0 where the value has none.
    pub index: u32,
    /// The value.
    pub value: Value,
}

impl Entry {
    /// Reads all values as of one moment. Replaces the contents of `into`.
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
            into.values.extend(cells.map(|cell| match exported(&held, cell, now) {
                Value::Number(word) => Value::Number(layout.number(*data, word, now)),
                other => other,
            }));
        }
    }

    /// Merges learned values; returns whether this process keeps a different count, tag or text.
    /// Values that the table does not store are skipped, and `conn_cur` if it counts connections of
    /// this process.
    pub(crate) fn import<'v>(
        &self,
        values: impl Iterator<Item = &'v LearnedValue>,
        now: u64,
        keep: Keep,
    ) -> bool {
        let mut held = self.lock();
        let mut differs = false;
        let counts_own = matches!(self.layout.connections, ForeignConnections::Ignored);
        let taken = |it: &&LearnedValue| it.data != DataType::ConnCur || !counts_own;
        for learned in values.filter(taken) {
            differs |= import(&mut held, &self.layout, learned, now, keep);
        }
        differs
    }
}

/// The values that stay when others are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// None.
    Nothing,
    /// Greater counts and rates.
    Counts,
    /// Greater counts and rates, and all else that is set.
    Own,
    /// Greater values of all types.
    Greater,
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

/// Merges a learned value; returns whether this process keeps a different value, rates aside.
fn import(held: &mut Data, layout: &Layout, learned: &LearnedValue, now: u64, keep: Keep) -> bool {
    let LearnedValue { data, index, value } = learned;
    if let Value::Text(text) = value {
        let is_stored = data.kind() == DataKind::Text && layout.stored(*data).is_some();
        return is_stored && import_text(&mut held.server_key, text, keep);
    }
    // An element of an array is not taken for the data type that came before arrays, as with
    // HAProxy.
    let Some(cell) = layout.stored(*data).and_then(|_| layout.cell(*data, *index)) else {
        return false;
    };
    if let (DataType::ConnCur, ForeignConnections::OfNode(session), Value::Number(count)) =
        (data, &layout.connections, value)
    {
        held.words[cell.at] = session.stored(*count);
        return false;
    }
    let is_tag = data.is_label();
    let words = &mut held.words[cell.at..];
    match (value, cell.kind) {
        (Value::Number(number), DataKind::Count | DataKind::Long) => {
            let most = if cell.kind == DataKind::Count { u32::MAX.into() } else { u64::MAX };
            let (own, number) = (words[0], number & most);
            let is_own = keep == Keep::Own && is_tag && own > 0;
            let is_kept = match keep {
                Keep::Nothing => false,
                Keep::Counts => !is_tag,
                Keep::Own | Keep::Greater => true,
            };
            let stays = is_own || (is_kept && own > number);
            if !stays {
                words[0] = number;
            }
            stays && own != number
        }
        (Value::Rate(rate), DataKind::Rate) => {
            let rate = Rate::import(*rate, now, cell.period);
            let read = |rate: Rate| rate.read(now, cell.period);
            if keep == Keep::Nothing || read(rate) > read(Rate::load(words)) {
                rate.save(words);
            }
            false
        }
        _ => false,
    }
}

/// Merges the name of a server; returns whether this process keeps a different name.
fn import_text(own: &mut Option<Arc<str>>, text: &Option<Arc<str>>, keep: Keep) -> bool {
    let stays = match keep {
        Keep::Nothing | Keep::Counts => false,
        Keep::Own => own.is_some(),
        Keep::Greater => *own > *text,
    };
    if !stays {
        own.clone_from(text);
    }
    stays && own != text
}
