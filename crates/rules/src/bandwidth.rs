//! Bandwidth limits as `filter bwlim-in` and `filter bwlim-out` declare them (manual, section 9).

use sample::{Expr, Side, TableRef};
use std::sync::Arc;
use table::Key;

/// `filter bwlim-in` or `filter bwlim-out`. Two are equal if they are the same one: a rule refers
/// to the filter of its section.
#[derive(Debug)]
pub struct BandwidthLimit {
    /// Its name, unique in its section.
    pub name: Box<str>,
    /// The direction that the limit applies to.
    pub side: Side,
    /// No smaller piece passes, but for the last one.
    pub min_size: u32,
    /// The streams that share the limit.
    pub scope: BandwidthScope,
}

/// The streams that share a bandwidth limit.
#[derive(Debug)]
pub enum BandwidthScope {
    /// Each stream has the limit for itself.
    Stream {
        /// `default-limit`: bytes per period.
        limit: u32,
        /// `default-period`, milliseconds.
        period: u32,
    },
    /// The streams with the same key have it together.
    Shared {
        /// `limit`: bytes per period of the rate that the table stores.
        limit: u32,
        /// `key`.
        key: Expr,
        /// `table`, else the table of the section.
        table: Arc<TableRef>,
    },
}

impl PartialEq for BandwidthLimit {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for BandwidthLimit {}

/// The values with which a rule enables a limit.
#[derive(Debug, Clone)]
pub enum BandwidthValues {
    /// A limit of the stream alone.
    Stream {
        /// Bytes per period; at least 1.
        limit: u32,
        /// Milliseconds; at least 1.
        period: u32,
    },
    /// Shared with the other streams of a key.
    Shared {
        /// Bytes per period of the table's rate.
        limit: u32,
        /// Number of the table.
        table: usize,
        /// The key.
        key: Key<'static>,
    },
}
