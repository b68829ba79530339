//! The connection, proxy or server of an event, for traces that are locked on one.

use super::words::Criterion;

/// The identity of a place among places of its kind.
pub type Key = [u64; 2];

/// The place of an event, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracePlace {
    /// Number of the thread.
    pub thread: usize,
    /// Number of the frontend.
    pub frontend: Option<usize>,
    /// Number of the bind line in the frontend.
    pub bind: u32,
    /// Number of the backend.
    pub backend: Option<usize>,
    /// Slot of the server in the backend.
    pub slot: Option<usize>,
    /// The number of the client among those of its thread.
    pub client: Option<u64>,
    /// The number of the stream among those of its client.
    pub stream: Option<u32>,
    /// The backend and the server of a check.
    pub check: Option<Key>,
}

impl TracePlace {
    /// The object of this kind; `None`: the event has none, or none yet.
    pub fn of(&self, criterion: Criterion) -> Option<Key> {
        // A process has fewer than 2^16 threads, and a thread fewer than 2^48 clients.
        let client = self.client.map(|client| (self.thread as u64) << 48 | client);
        match criterion {
            Criterion::Nothing => None,
            Criterion::Thread => Some([self.thread as u64, 0]),
            Criterion::Frontend => Some([self.frontend? as u64, 0]),
            Criterion::Listener => Some([self.frontend? as u64, self.bind.into()]),
            Criterion::Backend => Some([self.backend? as u64, 0]),
            Criterion::Server => Some([self.backend? as u64, self.slot? as u64]),
            Criterion::Connection | Criterion::Session => Some([client?, 0]),
            Criterion::Stream | Criterion::H1Stream | Criterion::H2Stream => {
                Some([client?, self.stream?.into()])
            }
            Criterion::Check => self.check,
        }
    }
}
