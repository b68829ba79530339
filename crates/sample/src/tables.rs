//! Stick tables named in expressions and rules: names now, numbers once all sections are read.

use crate::value::{Type, Value};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use table::{DataType, Key, KeyKind};

/// A stick table by its name. Its section may come later in the file: the number is filled in when
/// all are read.
#[derive(Debug)]
pub struct TableRef {
    name: Box<str>,
    number: OnceLock<usize>,
}

impl TableRef {
    pub(crate) fn new(name: &str) -> TableRef {
        TableRef { name: name.into(), number: OnceLock::new() }
    }

    /// The name as written, or that of the section.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number among all tables.
    pub fn number(&self) -> Option<usize> {
        self.number.get().copied()
    }

    /// Fills the number in; the first one stays.
    pub fn resolve(&self, number: usize) {
        let _ = self.number.set(number);
    }
}

/// The use of a table, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableUse {
    /// Argument `number` of a keyword.
    Argument {
        /// From 1.
        number: usize,
        /// Kind and name of the keyword, in HAProxy's words.
        keyword: String,
    },
    /// A `track-sc` rule, whose keys have this type.
    Track(usize, Type),
    /// A shared bandwidth limit of this name, whose keys have this type; it is measured by this
    /// data type.
    Bandwidth(String, Type, DataType),
    /// A rule that matches servers by keys of this type.
    Match(Type),
    /// A rule that stores servers by keys of this type.
    Store(Type),
}

/// A place that names a table.
#[derive(Debug, Clone)]
pub struct TableMention {
    /// The table.
    pub table: Arc<TableRef>,
    /// The use.
    pub usage: TableUse,
    /// The proxy that the place belongs to.
    pub proxy: String,
    /// Its file.
    pub file: Arc<str>,
    /// Its line, from 1.
    pub line: u32,
}

/// All places that name a table, in the order in which they were read.
#[derive(Debug, Default)]
pub struct TableNames(RefCell<Vec<TableMention>>);

impl TableNames {
    pub(crate) fn push(&self, mention: TableMention) {
        self.0.borrow_mut().push(mention);
    }

    /// The places; none is left.
    pub fn take(&self) -> Vec<TableMention> {
        self.0.take()
    }
}

/// Whether samples of a type can be keys of this kind.
pub fn fits(from: Type, kind: KeyKind) -> bool {
    from.casts_to(match kind {
        KeyKind::Ip => Type::Ipv4,
        KeyKind::Ipv6 => Type::Ipv6,
        KeyKind::Integer => Type::Int,
        KeyKind::Text(_) => Type::Str,
        KeyKind::Binary(_) => Type::Bin,
    })
}

/// Calls `look` with a sample as a key; nothing when the sample has no value of the key's type,
/// as an empty text has neither a number nor an address.
pub fn with_key<T>(value: Value<'_>, kind: KeyKind, look: impl FnOnce(&Key<'_>) -> T) -> Option<T> {
    match kind {
        KeyKind::Ip => {
            let Value::Ipv4(address) = value.cast(Type::Ipv4)? else { return None };
            Some(look(&Key::ip(address)))
        }
        KeyKind::Ipv6 => {
            let Value::Ipv6(address) = value.cast(Type::Ipv6)? else { return None };
            Some(look(&Key::ipv6(address)))
        }
        KeyKind::Integer => Some(look(&Key::integer(value.to_int()?))),
        KeyKind::Text(len) => {
            let text = value.to_str()?;
            Some(look(&Key::text(&text, len)))
        }
        KeyKind::Binary(len) => {
            let block = value.to_bin()?;
            Some(look(&Key::binary(&block, len)))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
