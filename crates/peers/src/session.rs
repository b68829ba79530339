//! One connection with a peer: its state in both directions.

use crate::definition::Definition;
use crate::dictionary::{ReceivedTexts, SentTexts};
use crate::hello::Version;
use std::sync::Arc;
use table::{Entry, Exported, LearnedValue, Walk};

/// The name of a connection, unique in its group forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(crate) u64);

impl SessionId {
    /// Its number, from 0 on.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The peer has connected and its hello has to come by this time.
    AwaitHello(u64),
    /// Our hello was sent and its status has to come by this time.
    AwaitStatus(u64),
    /// Both sides send messages.
    Open,
    /// The rest of the bytes goes out, by this time.
    Closing(u64),
}

/// A table as the peer has described it.
#[derive(Debug)]
pub(crate) struct TaughtTable {
    pub(crate) definition: Definition,
    /// The index of our table; `None` if its updates are ignored.
    pub(crate) local: Option<usize>,
    /// The number of the last update.
    pub(crate) last: u32,
    /// Updates have come since the last acknowledgement.
    pub(crate) owes_ack: bool,
}

/// Everything that is taught once, from the first entry of the first table.
#[derive(Debug, Default)]
pub(crate) struct Teaching {
    pub(crate) table: usize,
    pub(crate) walk: Walk,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: State,
    /// The peer, by index; `None` until its greeting has arrived.
    pub(crate) peer: Option<usize>,
    pub(crate) version: Version,
    /// Lines and control messages that wait to be sent.
    pub(crate) pending: Vec<u8>,
    /// When the last bytes were received, and when the last ones were sent.
    pub(crate) received_at: u64,
    pub(crate) sent_at: u64,
    /// Changes are sent from this time on, or from the peer's first message: it may ask for all
    /// entries, and changes are in them.
    pub(crate) hold: Option<u64>,
    pub(crate) incoming: Incoming,
    pub(crate) outgoing: Outgoing,
}

/// The tables and texts that the peer has taught on a connection.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The tables that we share, at most one description of each.
    pub(crate) tables: Vec<TaughtTable>,
    /// The last description of a table that we do not share.
    pub(crate) stray: Option<TaughtTable>,
    /// The table that updates are about.
    pub(crate) current: Current,
    pub(crate) texts: ReceivedTexts,
    /// The tables with a fault that was reported, each once.
    pub(crate) reported: Vec<usize>,
    /// Kept for its memory.
    pub(crate) values: Vec<LearnedValue>,
}

/// The table that updates are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Current {
    /// Updates are passed over.
    #[default]
    None,
    /// An index into [`Incoming::tables`].
    Shared(usize),
    /// [`Incoming::stray`]; its updates are read for their texts alone.
    Stray,
}

impl Incoming {
    pub(crate) fn current(&mut self) -> Option<&mut TaughtTable> {
        match self.current {
            Current::None => None,
            Current::Shared(at) => self.tables.get_mut(at),
            Current::Stray => self.stray.as_mut(),
        }
    }
}

/// The lesson, changes and texts that we teach on a connection.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) lesson: Option<Teaching>,
    /// Entries that were read and not sent yet, the next one last, of this table.
    pub(crate) batch: Vec<Arc<Entry>>,
    pub(crate) table: usize,
    /// The number of the last update to the local peer, which acknowledges none.
    pub(crate) last_of_local: u32,
    /// The table that our updates are about.
    pub(crate) described: Option<usize>,
    /// The number of the last update may be left out of the next one.
    pub(crate) continues: bool,
    pub(crate) texts: SentTexts,
    /// An encoded update that had no room.
    pub(crate) held: Vec<u8>,
    /// Kept for their memory.
    pub(crate) body: Vec<u8>,
    pub(crate) exported: Exported,
}

impl Session {
    pub(crate) fn new(state: State, peer: Option<usize>, version: Version, now: u64) -> Session {
        Session {
            state,
            peer,
            version,
            pending: Vec::new(),
            received_at: now,
            sent_at: now,
            hold: None,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
        }
    }
}
