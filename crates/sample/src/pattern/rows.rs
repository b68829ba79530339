//! The rows of a dictionary: keys, values and versions as text. Never compiles a pattern.

use super::table::Table;
use std::ops::Range;

/// Part of the arena.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: usize,
    len: u32,
}

#[derive(Debug)]
struct Row {
    key: Span,
    value: Span,
    /// The version it belongs to.
    version: u32,
    dead: bool,
}

/// Rows in order. A row keeps its number until they are compacted.
#[derive(Debug, Default)]
pub(super) struct Rows {
    arena: Vec<u8>,
    rows: Vec<Row>,
    dead: usize,
    /// Bytes of the arena that no living row needs.
    wasted: usize,
    /// Rows by key; built when somebody first asks, because most files are only ever read.
    by_key: Option<Table>,
}

impl Rows {
    fn text(&self, span: Span) -> &[u8] {
        &self.arena[span.from..span.from + span.len as usize]
    }

    fn keep(&mut self, text: &[u8]) -> Span {
        let from = self.arena.len();
        let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.arena.extend_from_slice(&text[..len as usize]);
        Span { from, len }
    }

    /// Makes room for `rows` rows of together `bytes` bytes.
    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.rows.reserve(rows);
        self.arena.reserve(bytes);
    }

    /// The key of a row.
    pub(super) fn key(&self, order: u32) -> &[u8] {
        self.text(self.rows[order as usize].key)
    }

    /// The value of a row.
    pub(super) fn value(&self, order: u32) -> &[u8] {
        self.text(self.rows[order as usize].value)
    }

    /// The version of a row.
    pub(super) fn version(&self, order: u32) -> u32 {
        self.rows[order as usize].version
    }

    /// Adds a row and returns its number; nothing when 2^32 rows were there already.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8], version: u32) -> Option<u32> {
        let order = u32::try_from(self.rows.len()).ok().filter(|order| *order < u32::MAX)?;
        if self.by_key.as_mut().is_some_and(|table| !table.push(key, order)) {
            return None;
        }
        let (key, value) = (self.keep(key), self.keep(value));
        self.rows.push(Row { key, value, version, dead: false });
        Some(order)
    }

    /// How many numbers have been given.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.rows.len()).unwrap_or(u32::MAX)
    }

    /// Replaces the value of a row.
    pub(super) fn set(&mut self, order: u32, value: &[u8]) {
        let value = self.keep(value);
        let old = std::mem::replace(&mut self.rows[order as usize].value, value);
        self.wasted += old.len as usize;
    }

    /// Removes a row.
    pub(super) fn kill(&mut self, order: u32) {
        let row = &mut self.rows[order as usize];
        if !row.dead {
            row.dead = true;
            self.dead += 1;
            self.wasted += (row.key.len + row.value.len) as usize;
        }
    }

    /// Whether the row is there.
    pub(super) fn holds(&self, order: u32) -> bool {
        self.rows.get(order as usize).is_some_and(|row| !row.dead)
    }

    /// The rows of a version, in order.
    pub(super) fn of(&self, version: u32) -> impl Iterator<Item = u32> {
        let wanted = move |row: &(&Row, u32)| row.0.version == version && !row.0.dead;
        self.rows.iter().zip(0..).filter(wanted).map(|row| row.1)
    }

    /// The rows of a version among these places, and whether there are places behind them.
    pub(super) fn among(
        &self,
        version: u32,
        places: Range<u32>,
    ) -> (impl Iterator<Item = u32>, bool) {
        let count = self.count();
        let places = places.start.min(count)..places.end.min(count);
        let more = places.end < count;
        let wanted = move |order: &u32| self.holds(*order) && self.version(*order) == version;
        (places.filter(wanted), more)
    }

    /// All the rows, of any version.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().zip(0..).filter(|row| !row.0.dead).map(|row| row.1)
    }

    /// The rows of `version` with exactly this key, in order.
    pub(super) fn by_key(&mut self, key: &[u8], version: u32) -> Vec<u32> {
        if self.by_key.is_none() {
            let mut table = Table::new(false);
            let whole = self.all().all(|order| table.push(self.key(order), order));
            if !whole {
                let all = self.of(version);
                return all.filter(|order| self.key(*order) == key).collect();
            }
            self.by_key = Some(table);
        }
        let found: Vec<u32> = self.by_key.iter().flat_map(|table| table.find(key)).collect();
        let wanted = |order: &u32| self.holds(*order) && self.version(*order) == version;
        found.into_iter().filter(wanted).collect()
    }

    /// Whether most of the memory belongs to dead rows or to replaced values.
    pub(super) fn is_worn(&self) -> bool {
        const SMALL: usize = 1 << 16;
        let dead = self.dead > SMALL && self.dead * 2 > self.rows.len();
        dead || (self.wasted > SMALL && self.wasted * 2 > self.arena.len())
    }

    /// The living rows alone, renumbered.
    pub(super) fn compacted(&self) -> Rows {
        let mut rows = Rows::default();
        for row in self.rows.iter().filter(|row| !row.dead) {
            // There were no more rows before.
            let _ = rows.push(self.text(row.key), self.text(row.value), row.version);
        }
        rows
    }
}
