//! What a transaction needs besides its connections: heads, directions, texts. Pooled and reused, so
//! that a transaction allocates nothing in steady state. Never outlives its transaction's meaning: it is
//! cleared when it goes back.

use crate::flow::Flow;
use crate::journal::Journal;
use htx::{Fields, Head};
use sample::{TransactionRecord, Variables};
use std::cell::{OnceCell, RefCell};

/// The memory of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) request: Head,
    pub(crate) response: Head,
    pub(crate) trailers: Fields,
    /// From the client to the server.
    pub(crate) up: Flow,
    /// From the server, or from the proxy itself, to the client.
    pub(crate) down: Flow,
    /// The body of a local answer.
    pub(crate) body: Vec<u8>,
    pub(crate) journal: Journal,
    /// What logs say, filled in when they are written; the texts of the request from its arrival.
    pub(crate) record: TransactionRecord,
    /// Whether the record is in use: someone will read it.
    pub(crate) logs: bool,
    pub(crate) variables: Variables,
    /// `unique-id-format`, built at first use.
    pub(crate) unique_id: OnceCell<Vec<u8>>,
    /// Contents of the capture slots: those of the request, those of the response.
    pub(crate) captures: [RefCell<Vec<Option<Vec<u8>>>>; 2],
}

impl Workspace {
    pub(crate) fn clear(&mut self) {
        self.request.clear();
        self.response.clear();
        self.trailers.clear();
        self.up.clear();
        self.down.clear();
        self.body.clear();
        self.journal = Journal::default();
        if std::mem::take(&mut self.logs) {
            self.record.reset();
        }
        self.variables.transaction.clear();
        self.variables.request.clear();
        self.variables.response.clear();
        self.unique_id.take();
        self.captures.iter().for_each(|slots| slots.borrow_mut().clear());
    }
}
