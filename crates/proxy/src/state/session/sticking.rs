//! Entries that the response of a request is to store.

use table::Key;

/// A key that will be stored with the server.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Number of the table.
    pub(crate) table: usize,
    pub(crate) key: Key<'static>,
    pub(crate) response: bool,
}
