//! Counts of the established sessions of the process, by what protects their records.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The record layer of a session: the library's or that of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// The record layer of this process.
    Own,
    /// The session object of the library.
    Library,
}

static OWN: AtomicUsize = AtomicUsize::new(0);
static LIBRARY: AtomicUsize = AtomicUsize::new(0);

impl SessionKind {
    fn total(self) -> &'static AtomicUsize {
        match self {
            Self::Own => &OWN,
            Self::Library => &LIBRARY,
        }
    }

    /// How many sessions over TCP there are of this kind whose handshake is over.
    pub fn sessions(self) -> usize {
        self.total().load(Relaxed)
    }
}

/// Counts a session as long as it lives.
#[derive(Debug)]
pub(crate) struct CountedSession(SessionKind);

impl CountedSession {
    pub(crate) fn new(kind: SessionKind) -> Self {
        kind.total().fetch_add(1, Relaxed);
        Self(kind)
    }
}

impl Drop for CountedSession {
    fn drop(&mut self) {
        self.0.total().fetch_sub(1, Relaxed);
    }
}
