//! Commands about stick tables.

use super::call::{Call, Reply};
use crate::settings::Level;
use engine::state::runtime::Shared;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use stdx::decimal;
use table::{DataKind, DataType, Entry, GroupWalk, Key, KeyKind, Removal, Table};

/// Filters of one command.
const MAX_FILTERS: usize = 4;
/// Entries up to which a listing is made at once, in the order of the keys.
const SORTED: usize = 256;
/// The number of expired entries that a listing may remove.
const EXPIRED: usize = 256;

/// The comparison of a filter, by its operator.
type Compare = fn(&u64, &u64) -> bool;

const OPERATORS: &[(&str, Compare)] = &[
    ("eq", u64::eq),
    ("ne", u64::ne),
    ("le", u64::le),
    ("ge", u64::ge),
    ("lt", u64::lt),
    ("gt", u64::gt),
];

/// The comparison of an operator.
pub(crate) fn compare_by(operator: &str) -> Option<Compare> {
    OPERATORS.iter().find(|(name, _)| *name == operator).map(|(_, compare)| *compare)
}

/// Entries whose data compares so with a value.
struct EntryFilter {
    data: DataType,
    compare: Compare,
    value: u64,
}

/// Which entries a command is about.
enum Selection<'a> {
    All,
    Key(&'a str),
    Filters(Vec<EntryFilter>),
}

/// `show table [<table> [<filter>]*]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let now = call.worker.millis();
    let mut out = String::new();
    if call.word(2).is_empty() {
        // As HAProxy lists them, the last one declared first.
        for table in call.shared().tables.iter().rev() {
            title(table, now, &mut out);
            table.copies().iter().for_each(|copy| title(copy, now, &mut out));
        }
        return Reply::Dump(out);
    }
    let (table, selection) = match target(call, "Showing keys from") {
        Ok(target) => target,
        Err(reply) => return reply,
    };
    if call.state.level < Level::Operator {
        title(table, now, &mut out);
        out.push_str("# contents not dumped due to insufficient privileges\n");
        return Reply::Dump(out);
    }
    match selection {
        Selection::Key(key) => {
            let key = match key_of(table, key) {
                Ok(key) => key,
                Err(reply) => return reply,
            };
            table.look(&key, now, |entry| {
                title(table, now, &mut out);
                Lines::of(table, now).write(entry, &mut out);
            });
        }
        Selection::All => return listing(table, Vec::new(), now),
        Selection::Filters(filters) => return listing(table, filters, now),
    }
    Reply::Dump(out)
}

/// The refusal to change what another node counts.
const READ_ONLY: &str = "The table is the copy of another node";

/// The arguments of `clear table`.
const CLEARED: &str = "Required arguments: <table> \"data.<store_data_type>\" <operator> <value> or <table> key <key>";

/// `clear table <table> [<filter>]*`
pub(super) fn clear(call: &mut Call<'_>) -> Reply {
    if call.word(2).is_empty() {
        return Reply::error(CLEARED);
    }
    let (table, selection) = match target(call, "Removing keys from") {
        Ok(target) => target,
        Err(reply) => return reply,
    };
    let now = call.worker.millis();
    match selection {
        Selection::Key(key) => {
            let removal = match key_of(table, key) {
                Ok(key) => table.remove(&key),
                Err(reply) => return reply,
            };
            if removal == Removal::InUse {
                return Reply::error("Entry currently in use, cannot remove");
            }
        }
        Selection::All => return removal(table, Vec::new(), now),
        Selection::Filters(filters) => return removal(table, filters, now),
    }
    Reply::Done
}

/// Removes the entries that pass all filters, except those in use.
fn removal(table: &Arc<Table>, filters: Vec<EntryFilter>, now: u64) -> Reply {
    let (table, mut walk) = (table.clone(), GroupWalk::default());
    Reply::Pieces(Box::new(move |_, _| {
        let Some(entries) = table.walk_group(&mut walk, now) else { return false };
        for entry in entries.iter().filter(|it| passes(&table, it, &filters, now)) {
            table.remove(entry.key());
        }
        true
    }))
}

/// `set table <table> key <key> [data.<type> <value>]*`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    const USAGE: &str = "Required arguments: <table> key <key> [data.<store_data_type> <value>]*";
    if call.word(2).is_empty() {
        return Reply::error(USAGE);
    }
    let shared = call.shared().clone();
    let Some(table) = find(&shared, call.word(2)) else { return Reply::error("No such table") };
    if table.is_copy() {
        return Reply::error(READ_ONLY);
    }
    match call.word(3) {
        "key" if call.word(4).is_empty() => return Reply::error("Key value expected"),
        "key" => {}
        word if word.starts_with("data.") => {
            let text =
                "content-based lookup is only supported with the \"show\" and \"clear\" actions";
            return Reply::error(text);
        }
        _ => return Reply::error(USAGE),
    }
    if let Some(reply) = unwritable(table, "Inserting keys into") {
        return reply;
    }
    let values = match values(call, table) {
        Ok(values) => values,
        Err(text) => return Reply::error(text),
    };
    let key = match key_of(table, call.word(4)) {
        Ok(key) => key,
        Err(reply) => return reply,
    };
    let now = call.worker.millis();
    let done = table.enter(&key, now, |entry| {
        entry.change(now, |counters| {
            for (data, value) in values {
                counters.set(data, 0, value);
            }
        });
    });
    match done {
        Some(()) => Reply::Done,
        None => Reply::error("Unable to allocate a new entry"),
    }
}

/// The key that a command gives. Integers are what fits in 32 bits without a sign, addresses those
/// of the table's family.
fn key_of<'k>(table: &Table, text: &'k str) -> Result<Key<'k>, Reply> {
    let fits = match table.kind() {
        KeyKind::Integer => text.parse::<u32>().is_ok(),
        KeyKind::Ipv6 => text.parse::<Ipv4Addr>().is_err(),
        _ => true,
    };
    let key = table.parse_key(text).filter(|_| fits);
    key.ok_or_else(|| Reply::error("Invalid key"))
}

/// The pairs of data types and values behind the key.
fn values(call: &Call<'_>, table: &Table) -> Result<Vec<(DataType, u64)>, &'static str> {
    let mut values = Vec::new();
    let mut at = 5;
    while !call.word(at).is_empty() {
        let name = call.word(at).strip_prefix("data.");
        let name = name.ok_or("\"data.<type>\" followed by a value expected")?;
        let data = DataType::named(name).ok_or("Unknown data type")?;
        table.stored(data).ok_or("Data type not stored in this table")?;
        let value = integer(call.word(at + 1)).filter(|_| data.kind() != DataKind::Text);
        values.push((data, value.ok_or("Require a valid integer value to store")?));
        at += 2;
    }
    Ok(values)
}

/// A number as C reads it: a negative one wraps.
fn integer(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(|value| value as u64))
}

/// The table of this name, or the copy of another node.
fn find<'s>(shared: &'s Shared, name: &str) -> Option<&'s Arc<Table>> {
    let copies = shared.tables.iter().flat_map(|table| table.copies());
    shared.tables.iter().chain(copies).find(|table| table.name() == name)
}

/// The refusal where keys of this type cannot be written.
fn unwritable(table: &Table, verb: &str) -> Option<Reply> {
    matches!(table.kind(), KeyKind::Binary(_)).then(|| {
        Reply::error(format!(
            "{verb} tables of type other than ip, ipv6, string and integer is not supported"
        ))
    })
}

/// The table that a command names, and the entries.
fn target<'c>(call: &'c Call<'_>, verb: &str) -> Result<(&'c Arc<Table>, Selection<'c>), Reply> {
    let table = find(call.shared(), call.word(2)).ok_or_else(|| Reply::error("No such table"))?;
    if table.is_copy() && call.word(0) == "clear" {
        return Err(Reply::error(READ_ONLY));
    }
    let selection = match call.word(3) {
        "" => Selection::All,
        "key" if call.word(4).is_empty() => return Err(Reply::error("Key value expected")),
        "key" => match unwritable(table, verb) {
            Some(reply) => return Err(reply),
            None => Selection::Key(call.word(4)),
        },
        word if word.starts_with("data.") => Selection::Filters(filters(call, table)?),
        _ if call.word(0) == "clear" => return Err(Reply::error(CLEARED)),
        _ => {
            let text = "Optional argument only supports \"data.<store_data_type>\" <operator> <value> and key <key>";
            return Err(Reply::error(text));
        }
    };
    Ok((table, selection))
}

fn filters(call: &Call<'_>, table: &Table) -> Result<Vec<EntryFilter>, Reply> {
    let mut filters = Vec::new();
    let mut at = 3;
    while !call.word(at).is_empty() {
        if filters.len() == MAX_FILTERS {
            let last = call.word(at - 1);
            let text = format!(
                "Detected extra data in filter, {}th word of input, after '{last}'",
                at + 1
            );
            return Err(Reply::error(text));
        }
        let filter = filter(call, table, at);
        let number = filters.len() + 1;
        let told = |text| Reply::error(format!("Filter entry #{number}: {text}"));
        filters.push(filter.map_err(told)?);
        at += 3;
    }
    Ok(filters)
}

fn filter(call: &Call<'_>, table: &Table, at: usize) -> Result<EntryFilter, &'static str> {
    let name = call.word(at).strip_prefix("data.").unwrap_or("");
    let data = DataType::named(name).ok_or("Unknown data type")?;
    table.stored(data).ok_or("Data type not stored in this table")?;
    let operator = OPERATORS.iter().find(|(name, _)| *name == call.word(at + 1));
    let operator = operator
        .ok_or("Require and operator among \"eq\", \"ne\", \"le\", \"ge\", \"lt\", \"gt\"")?;
    let value =
        integer(call.word(at + 2)).ok_or("Require a valid integer value to compare against")?;
    Ok(EntryFilter { data, compare: operator.1, value })
}

/// Whether an entry passes all filters. Data without a number passes no filter.
fn passes(table: &Table, entry: &Entry, filters: &[EntryFilter], now: u64) -> bool {
    filters.iter().all(|filter| {
        let value = match table.is_copy() {
            true => entry.get_own(filter.data, 0, now),
            false => entry.get(filter.data, 0, now),
        };
        value.is_some_and(|value| (filter.compare)(&value, &filter.value))
    })
}

/// A table with the entries that pass all filters.
fn listing(table: &Arc<Table>, filters: Vec<EntryFilter>, now: u64) -> Reply {
    let mut out = String::new();
    title(table, now, &mut out);
    let (table, mut walk) = (table.clone(), GroupWalk::default());
    let mut lines = Lines::of(&table, now);
    if table.used_in_group() <= SORTED {
        let steps = std::iter::from_fn(|| table.walk_group(&mut walk, now)).flatten();
        let passing = steps.filter(|it| passes(&table, it, &filters, now));
        let mut entries: Vec<Arc<Entry>> = passing.collect();
        entries.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        entries.iter().for_each(|entry| lines.write(entry, &mut out));
        return Reply::Dump(out);
    }
    let mut start = Some(out);
    Reply::Pieces(Box::new(move |_, out| {
        out.extend(start.take());
        let Some(entries) = table.walk_group(&mut walk, now) else { return false };
        let passing = entries.iter().filter(|it| passes(&table, it, &filters, now));
        passing.for_each(|entry| lines.write(entry, out));
        true
    }))
}

fn title(table: &Table, now: u64, out: &mut String) {
    // Entries that have expired meanwhile are not counted either.
    table.expire(now, EXPIRED);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "# table: {}, type: {}, size:{}, used:{}",
        table.name(),
        table.kind().name(),
        table.settings().size,
        table.used()
    );
}

/// The data that all lines of one table share.
struct Lines {
    table: Arc<Table>,
    now: u64,
    /// The values, each with the text in front of it.
    columns: Vec<(String, DataKind)>,
    wanted: Vec<(DataType, u32)>,
    values: Vec<u64>,
}

impl Lines {
    fn of(table: &Arc<Table>, now: u64) -> Self {
        let (mut columns, mut wanted) = (Vec::new(), Vec::new());
        for (data, name, kind) in DataType::TABLE {
            let Some(stored) = table.stored(*data) else { continue };
            for index in 0..stored.count {
                let name =
                    if data.is_array() { data.element_name(index) } else { (*name).to_owned() };
                let label = match kind {
                    DataKind::Rate => format!(" {name}({})=", stored.period),
                    DataKind::Count | DataKind::Long | DataKind::Text => format!(" {name}="),
                };
                columns.push((label, *kind));
                wanted.push((*data, index));
            }
        }
        Self { table: table.clone(), now, columns, wanted, values: Vec::new() }
    }

    fn write(&mut self, entry: &Entry, out: &mut String) {
        let is_copy = self.table.is_copy();
        let uses = match is_copy {
            true => entry.read_own(&self.wanted, self.now, &mut self.values),
            false => entry.read(&self.wanted, self.now, &mut self.values),
        };
        // Tools expect an address to tell entries apart; any number that does will do.
        let _ = write!(out, "{:p}: key=", std::ptr::from_ref(entry));
        match self.table.kind().number(entry.key()) {
            Some(number) => decimal::push(out, number.into()),
            None => drop(self.table.kind().show(entry.key(), out)),
        }
        out.push_str(" use=");
        decimal::push(out, uses.into());
        out.push_str(" exp=");
        decimal::push(out, entry.expires_in(self.now));
        for ((label, kind), value) in self.columns.iter().zip(&self.values) {
            out.push_str(label);
            match kind {
                DataKind::Text => {
                    let key =
                        if is_copy { entry.server_key_own() } else { entry.server_key(self.now) };
                    out.push_str(key.as_deref().unwrap_or("-"));
                }
                DataKind::Rate | DataKind::Count | DataKind::Long => decimal::push(out, *value),
            }
        }
        out.push('\n');
    }
}
