//! A transaction whose stream is a silent tunnel: both ends, what ends it, and its log record.
//!
//! It holds no workspace and, unless a feature keeps data in them, no notes. The texts of the
//! request and other data that the log line may read are copied out of the notes in their exact
//! size, so that the notes serve the next request.

use engine::state::backend::reservation::Claim;
use engine::state::backend::server_connection::ServerConn;
use engine::state::session::client::Client;
use engine::state::session::request_buffers::{Lease, Notes};
use engine::state::session::stream_list::Listed;
use engine::state::session::transaction::{BackendSession, Transaction};
use engine::state::worker::Worker;
use sample::{TransactionRecord, VarStore};
use std::cell::OnceCell;
use std::mem;
use std::net::SocketAddr;
use table::Trackers;
use transport::stats::transaction_log::{Cause, Journal, Phase};

/// The transaction.
pub(super) struct RestingTransaction {
    /// The client.
    pub(super) client: Box<Client>,
    /// The connection to the server.
    pub(super) server: Box<ServerConn>,
    entry: Option<Listed>,
    claim: Option<Claim>,
    backend_session: Option<BackendSession>,
    journal: Journal,
    /// Method and URI for the recorder; no memory without one.
    line: Box<[u8]>,
    notes: Option<KeptNotes>,
}

/// The notes of a transaction that are in use.
enum KeptNotes {
    /// A feature keeps data in them.
    Whole(Box<Notes>),
    /// Those that the log line may read.
    Parts(Box<LoggedNotes>),
}

/// Data of the notes that the end of a stream may use.
struct LoggedNotes {
    /// The texts of the record, one after another.
    texts: Box<[u8]>,
    /// The length of each.
    lengths: [u32; TEXTS],
    trackers: Trackers,
    variables: [VarStore; 3],
    captures: [Vec<Option<Vec<u8>>>; 2],
    unique_id: OnceCell<Vec<u8>>,
    source: Option<SocketAddr>,
    destination: Option<SocketAddr>,
    limits: [Option<u32>; 2],
    priority: (i16, i32),
    arrived: [usize; 2],
}

/// Texts of a record that outlive the rules.
const TEXTS: usize = 5;

fn texts(record: &mut TransactionRecord) -> [&mut Vec<u8>; TEXTS] {
    [
        &mut record.method,
        &mut record.uri,
        &mut record.version,
        &mut record.request_cookie,
        &mut record.response_cookie,
    ]
}

impl LoggedNotes {
    fn take(notes: &mut Notes) -> Self {
        let mut lengths = [0; TEXTS];
        let mut all = Vec::new();
        for (length, text) in lengths.iter_mut().zip(texts(&mut notes.record)) {
            *length = text.len() as u32;
            all.extend_from_slice(text);
        }
        let variables = &mut notes.variables;
        let stores = [&mut variables.transaction, &mut variables.request, &mut variables.response];
        Self {
            texts: all.into(),
            lengths,
            trackers: mem::take(&mut notes.trackers),
            variables: stores.map(mem::take),
            captures: [0, 1].map(|side| notes.captures[side].take()),
            unique_id: mem::take(&mut notes.unique_id),
            source: notes.source,
            destination: notes.destination,
            limits: notes.limits,
            priority: notes.priority,
            arrived: notes.arrived,
        }
    }

    fn put_back(self, notes: &mut Notes) {
        let mut rest = &*self.texts;
        for (length, text) in self.lengths.iter().zip(texts(&mut notes.record)) {
            let (own, behind) = rest.split_at((*length as usize).min(rest.len()));
            text.clear();
            text.extend_from_slice(own);
            rest = behind;
        }
        notes.trackers = self.trackers;
        let variables = &mut notes.variables;
        [variables.transaction, variables.request, variables.response] = self.variables;
        for (slots, kept) in notes.captures.iter().zip(self.captures) {
            slots.replace(kept);
        }
        notes.unique_id = self.unique_id;
        (notes.source, notes.destination) = (self.source, self.destination);
        (notes.limits, notes.priority, notes.arrived) = (self.limits, self.priority, self.arrived);
        notes.used = true;
    }
}

/// Whether a feature keeps data in the notes that is more than texts and counters.
fn is_rich(notes: &Notes) -> bool {
    notes.edited.iter().any(Option::is_some)
        || notes.bodies.iter().any(Option::is_some)
        || notes.decoded.iter().any(|body| body.get().is_some())
        || notes.wake.is_some()
        || notes.cache.is_some()
        || notes.compressed.is_some()
        || notes.unsecured.is_some()
        || notes.asked.is_asked()
        || !notes.credentials.is_empty()
        || !notes.stores.is_empty()
        || !notes.spoe.is_empty()
        || !notes.private.is_empty()
        || !notes.script_filters.is_empty()
        || !notes.bandwidth.is_empty()
}

/// Whether the end of the stream finds nothing in the notes but the journal and the request line.
fn is_bare(notes: &mut Notes) -> bool {
    let stores =
        [&notes.variables.transaction, &notes.variables.request, &notes.variables.response];
    !is_rich(notes)
        && stores.iter().all(|store| store.is_empty())
        && notes.trackers.is_empty()
        && notes.captures.iter().all(|slots| slots.borrow().is_empty())
        && notes.unique_id.get().is_none()
        && (notes.source, notes.destination) == (None, None)
        && notes.limits == [None; 2]
        && notes.priority == (0, 0)
        && texts(&mut notes.record).iter().all(|text| text.is_empty())
}

impl KeptNotes {
    /// The fields of the notes that are kept; the rest of their memory returns to the thread.
    fn of(mut notes: Box<Notes>, worker: &Worker) -> Option<Self> {
        if notes.used && is_rich(&notes) {
            return Some(Self::Whole(notes));
        }
        let bare = !notes.used || is_bare(&mut notes);
        let kept = (!bare).then(|| Self::Parts(Box::new(LoggedNotes::take(&mut notes))));
        worker.give_notes(notes);
        kept
    }
}

impl RestingTransaction {
    /// Gives the memory of a transaction back that its stream does not need as a tunnel. The
    /// transaction has given its server up to the caller, and entered the bytes that its workspace
    /// has counted in the journal.
    pub(super) fn new(tx: Transaction, server: Box<ServerConn>) -> Self {
        let Transaction { worker, mut client, mut space, mut notes, .. } = tx;
        space.release(&worker);
        mem::swap(&mut notes.variables.session, &mut client.variables);
        Self {
            client,
            server,
            entry: tx.stream_entry,
            claim: tx.claim,
            backend_session: tx.backend_session,
            journal: mem::take(&mut notes.journal),
            line: notes.line.bytes().into(),
            notes: KeptNotes::of(notes, &worker),
        }
    }

    /// The transaction as it was, with a fresh workspace.
    pub(super) fn resume(self) -> Transaction {
        let worker = self.client.worker.clone();
        let mut client = self.client;
        let mut notes = match self.notes {
            Some(KeptNotes::Whole(notes)) => notes,
            Some(KeptNotes::Parts(parts)) => {
                let mut notes = worker.take_notes();
                parts.put_back(&mut notes);
                notes
            }
            None => worker.take_notes(),
        };
        mem::swap(&mut notes.variables.session, &mut client.variables);
        notes.journal = self.journal;
        (notes.ahead, notes.bytes_counted) = Default::default();
        notes.usage = self.entry.as_ref().map(Listed::usage_before).unwrap_or_default();
        notes.line.set(&[&self.line]);
        let space = Lease::new(&worker);
        Transaction {
            backend: self.backend_session.as_ref().map(|session| session.0.clone()),
            claim: self.claim,
            server: Some(self.server),
            backend_session: self.backend_session,
            stream_entry: self.entry,
            ..Transaction::over(worker, client, space, notes)
        }
    }

    /// The reason why an operator, or the end of its server, ends the stream, if one does.
    #[inline]
    pub(super) fn ends(&self) -> Option<Cause> {
        self.entry.as_ref().and_then(Listed::ends)
    }

    /// Records how the stream ends, unless that is known already.
    pub(super) fn note_end(&mut self, cause: Cause, phase: Phase) {
        self.journal.end(cause, phase);
    }
}
