//! Shared parts of the stick counter fetches: finding an entry, reading it and changing it.

use crate::args::Args;
use crate::facts::Facts;
use crate::tables::with_key;
use crate::value::{Missing, Outcome, Value};
use table::{DataType, Entry, Table};

/// The way to the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The one tracked in this place.
    Slot(usize),
    /// The entry that is tracked in the slot of the argument.
    SlotArg,
    /// That of the client's address.
    Source,
}

/// The operation on the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// A value.
    Value(DataType),
    /// An element of an array; its index is the first argument.
    Element(DataType),
    /// A value divided by 1024.
    Kilo(DataType),
    /// A counter and its rate are incremented; the counter's new value.
    Increment(DataType, DataType),
    /// The same for an element of arrays.
    IncrementElement(DataType, DataType),
    /// A counter becomes zero; its old value.
    Clear(DataType),
    /// The same for an element of an array.
    ClearElement(DataType),
    /// Whether there is an entry.
    Tracked,
    /// The number of trackers of the entry.
    Trackers,
}

/// `gpc0` is incremented: a counter and its rate grow together.
pub(super) const FIRST: Ask = Ask::Increment(DataType::Gpc0, DataType::Gpc0Rate);
/// The same for `gpc1`.
pub(super) const SECOND: Ask = Ask::Increment(DataType::Gpc1, DataType::Gpc1Rate);
/// The same for an element of the array `gpc`.
pub(super) const NTH: Ask = Ask::IncrementElement(DataType::Gpc, DataType::GpcRate);

impl Ask {
    /// Whether the first argument is an index.
    fn has_index(self) -> bool {
        matches!(self, Ask::Element(_) | Ask::IncrementElement(..) | Ask::ClearElement(_))
    }

    /// Whether the entry is made if there is none.
    fn makes(self) -> bool {
        use Ask::{Clear, ClearElement, Increment, IncrementElement};
        matches!(self, Increment(..) | IncrementElement(..) | Clear(_) | ClearElement(_))
    }

    fn answer(self, entry: &Entry, index: u32, now: u64) -> Option<Value<'static>> {
        let increment = |data, rate| {
            entry.change(now, |counters| {
                let rated = counters.add(rate, index, 1);
                counters.add(data, index, 1).or(rated)
            })
        };
        let number = match self {
            Ask::Value(data) | Ask::Element(data) => entry.get(data, index, now)?,
            Ask::Kilo(data) => entry.get(data, index, now)? >> 10,
            Ask::Increment(data, rate) | Ask::IncrementElement(data, rate) => {
                let own = increment(data, rate)?;
                let counted = if entry.stores(data) { data } else { rate };
                entry.of_all(own, (counted, index), now)
            }
            Ask::Clear(data) | Ask::ClearElement(data) => {
                entry.change(now, |counters| counters.set(data, index, 0))?
            }
            Ask::Tracked => return Some(Value::Bool(true)),
            Ask::Trackers => entry.uses().into(),
        };
        Some(Value::Int(number as i64))
    }

    /// The answer where there is no entry.
    fn none(self) -> Value<'static> {
        match self {
            Ask::Tracked => Value::Bool(false),
            _ => Value::Int(0),
        }
    }
}

/// Asks; the arguments are an index where the question needs one, a place where it is not fixed,
/// and a table.
pub(super) fn ask<'e>(whose: Whose, ask: Ask, args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let index = if ask.has_index() { args.int(0) } else { Some(0) };
    let index = index.and_then(|index| u32::try_from(index).ok()).ok_or(Missing::Absent)?;
    let mut at = usize::from(ask.has_index());
    let slot = match whose {
        Whose::Slot(slot) => Some(slot),
        Whose::SlotArg => {
            at += 1;
            let slot = args.int(at - 1).and_then(|slot| usize::try_from(slot).ok());
            Some(slot.ok_or(Missing::Absent)?)
        }
        Whose::Source => None,
    };
    let table = args.table(at, facts);
    let found = match slot {
        Some(slot) => tracked(slot, table, ask, index, facts),
        None => of_source(table, ask, index, facts),
    };
    found.ok_or(Missing::Absent)
}

/// Asks the entry tracked in a place, or the one with its key in another table.
fn tracked(
    slot: usize,
    table: Option<&Table>,
    ask: Ask,
    index: u32,
    facts: &dyn Facts,
) -> Option<Value<'static>> {
    let now = facts.now_ms();
    let Some(entry) = facts.tracked(slot) else {
        return (ask == Ask::Tracked).then(|| ask.none());
    };
    match table.filter(|table| table.number() != entry.table()) {
        Some(other) => {
            let own = facts.table(entry.table())?;
            if own.kind() != other.kind() {
                return Some(ask.none());
            }
            in_table(other, entry.key(), ask, index, now)
        }
        None => ask.answer(entry, index, now),
    }
}

fn of_source(
    table: Option<&Table>,
    ask: Ask,
    index: u32,
    facts: &dyn Facts,
) -> Option<Value<'static>> {
    let table = table?;
    let source = Value::from(facts.source()?.ip());
    with_key(source, table.kind(), |key| in_table(table, key, ask, index, facts.now_ms()))?
}

fn in_table(table: &Table, key: &[u8], ask: Ask, index: u32, now: u64) -> Option<Value<'static>> {
    let look = |entry: &Entry| ask.answer(entry, index, now);
    let found = match ask.makes() {
        true => table.enter(key, now, look),
        false => table.look(key, now, look),
    };
    found.unwrap_or_else(|| Some(ask.none()))
}
