//! Entries that the response of a request is to store.

use table::Key;

/// A key that will be stored with the server.
#[derive(Debug)]
pub struct Pending {
    /// Number of the table.
    pub table: usize,
    /// The key.
    pub key: Key<'static>,
    /// The rule is one of the response.
    pub response: bool,
}
