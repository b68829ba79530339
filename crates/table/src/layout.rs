//! The declaration of a `stick-table` line, and the place of each value in an entry.

use crate::aggregate::{Aggregate, ForeignConnections, OtherNodes};
use crate::change_log::{ChangeCallback, ChangeLog};
use crate::data::{DataKind, DataType, TYPES};
use crate::key::KeyKind;
use crate::rate;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The most elements of an array.
pub const MAX_ARRAY: u32 = 100;

/// How `stick` rules remember servers (`srvkey`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerKey {
    /// By their name.
    #[default]
    Name,
    /// By their address and port.
    Address,
}

/// One data type as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Which one.
    pub data: DataType,
    /// Elements; 1 for other types than arrays.
    pub count: u32,
    /// Milliseconds that a rate covers.
    pub period: u32,
}

/// A table as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name: that of its proxy.
    pub name: Arc<str>,
    /// Type of the keys.
    pub kind: KeyKind,
    /// The most entries.
    pub size: u32,
    /// Milliseconds that an entry lives without being touched; `None` forever.
    pub expire: Option<u32>,
    /// A full table takes no new entry, instead of giving up its oldest ones.
    pub nopurge: bool,
    /// How servers are remembered.
    pub server_key: ServerKey,
    /// The stored data types, each once.
    pub store: Vec<Stored>,
    /// The name of the `peers` section that shares it.
    pub peers: Option<Arc<str>>,
    /// This process does not change the table, and learns `conn_cur` too (`recv-only`).
    pub recv_only: bool,
    /// The name of the table that tags and servers are written to as well, when they are learned
    /// (`write-to`).
    pub write_to: Option<Arc<str>>,
    /// Each node counts in a copy of its own, and readers see one value of all (`aggregate`).
    pub aggregate: Option<Aggregate>,
}

impl Settings {
    /// A table of these keys that stores nothing yet.
    pub fn new(name: impl Into<Arc<str>>, kind: KeyKind, size: u32) -> Settings {
        Settings {
            name: name.into(),
            kind,
            size,
            peers: None,
            expire: None,
            nopurge: false,
            server_key: ServerKey::Name,
            store: Vec::new(),
            recv_only: false,
            write_to: None,
            aggregate: None,
        }
    }

    /// Stores a data type too; one that is stored already stays as it is.
    pub fn add(&mut self, data: DataType, count: u32, period: u32) {
        if !self.stores(data) {
            self.store.push(Stored { data, count, period });
        }
    }

    /// Whether a data type is stored.
    pub fn stores(&self, data: DataType) -> bool {
        self.store.iter().any(|stored| stored.data == data)
    }
}

/// The position of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    /// First word.
    pub(crate) at: usize,
    pub(crate) kind: DataKind,
    pub(crate) period: u32,
}

/// The layout of one table's entries, and the settings that they share.
pub(crate) struct Layout {
    /// Place of each data type: its first word and its declaration.
    places: [Option<(usize, Stored)>; TYPES],
    /// The data types stored, as bits.
    stored: u32,
    /// Words of an entry.
    pub(crate) words: usize,
    pub(crate) expire: Option<u32>,
    /// Which table it is, among all of the process.
    pub(crate) table: usize,
    shards: usize,
    /// Which entries have changed.
    pub(crate) log: ChangeLog,
    /// Wakes the reader of the log.
    pub(crate) on_change: OnceLock<ChangeCallback>,
    /// The tables of other nodes that readers see with it.
    pub(crate) others: OnceLock<Box<dyn OtherNodes>>,
    pub(crate) connections: ForeignConnections,
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Layout {
    /// The layout of a table with this many shards, a power of two.
    pub(crate) fn new(settings: &Settings, table: usize, shards: usize) -> Layout {
        let mut layout = Layout {
            places: [None; TYPES],
            stored: 0,
            words: 0,
            expire: settings.expire,
            table,
            shards,
            log: ChangeLog::new(shards),
            on_change: OnceLock::new(),
            others: OnceLock::new(),
            connections: match settings.recv_only {
                true => ForeignConnections::Learned,
                false => ForeignConnections::Ignored,
            },
        };
        for stored in &settings.store {
            let each = match stored.data.kind() {
                DataKind::Rate => rate::WORDS,
                DataKind::Count | DataKind::Long => 1,
                DataKind::Text => 0,
            };
            layout.places[stored.data as usize] = Some((layout.words, *stored));
            layout.stored |= stored.data.bit();
            layout.words += each * stored.count.clamp(1, MAX_ARRAY) as usize;
        }
        layout
    }

    /// The shard of a key with this hash. The low bits choose among a shard's buckets.
    pub(crate) fn shard_of(&self, hash: u64) -> usize {
        (hash >> 48) as usize & (self.shards - 1)
    }

    /// The declaration of a data type.
    pub(crate) fn stored(&self, data: DataType) -> Option<Stored> {
        self.places[data as usize].map(|(_, stored)| stored)
    }

    /// Whether one of these data types is stored.
    pub(crate) fn stores_any(&self, data: &[DataType]) -> bool {
        data.iter().any(|data| self.stored & data.bit() != 0)
    }

    /// The position of element `index` of a data type; a type that was a single value before arrays
    /// is looked up in its array too.
    pub(crate) fn cell(&self, data: DataType, index: u32) -> Option<Cell> {
        if let Some((at, stored)) = self.places[data as usize] {
            let kind = data.kind();
            let each = if kind == DataKind::Rate { rate::WORDS } else { 1 };
            let inside = index < stored.count && kind != DataKind::Text;
            let at = at + each * index as usize;
            return inside.then_some(Cell { at, kind, period: stored.period });
        }
        let (array, element) = data.in_array().filter(|_| index == 0)?;
        self.cell(array, element)
    }
}
