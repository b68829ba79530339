//! A connection that the process itself makes to a server of a backend, without a client.
//!
//! Balancing, queues, `maxconn`, retries, TLS, the source address and the PROXY header are those of
//! any session of the backend: a call is a transaction whose client side has no peer
//! ([`Client::internal`]). A call carries bytes, so its backend is in TCP mode. A drop closes the
//! connection and gives the slot of the server back, also while the call waits for one.

pub mod http_call;
mod request;
pub mod script;
mod url;

use crate::connect;
use crate::serve::http;
use crate::stages::tcp_content_rules;
use buf::Buf;
use engine::state::runtime::BackendRef;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Arrival, Parts, Transaction};
use engine::state::worker::Worker;
use observability::telemetry::accounting;
use std::io::{self, IoSlice};
use std::rc::Rc;
use transport::channel::Link;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// A call, from its wait for a server to the end of its connection. The call belongs to the task
/// that has started it.
pub struct Call {
    /// `None` only while it is dropped.
    tx: Option<Box<Transaction>>,
}

impl Call {
    /// A call to this backend, which counts as one of its sessions.
    pub fn new(worker: &Rc<Worker>, backend: &BackendRef) -> Self {
        let client = Box::new(Client::internal(worker, backend));
        let mut tx = Box::new(Transaction::new(Parts { client, arrival: Arrival::Data }));
        tx.client.mux.close_after_message();
        http::list(&mut tx);
        tx.notes.journal.request = worker.thread.nanos();
        accounting::enter_backend(&mut tx, backend.clone());
        Self { tx: Some(tx) }
    }

    /// Makes the connection. The first bytes of `greeting` are what rules of the backend see; they
    /// are sent as soon as a server has accepted. Returns how many of them the call has taken, a
    /// buffer at most.
    ///
    /// # Errors
    /// The backend has no usable server, all attempts failed, or a queue or a handshake took too
    /// long.
    pub async fn connect(&mut self, greeting: &[u8]) -> Result<usize, Failure> {
        let result = self.attempt(greeting).await;
        if let (Err(failure), Some(tx)) = (&result, &mut self.tx) {
            tx.notes.journal.end(failure.cause, failure.phase);
        }
        result
    }

    async fn attempt(&mut self, greeting: &[u8]) -> Result<usize, Failure> {
        let Some(tx) = &mut self.tx else { return Err(ended()) };
        let Some(backend) = tx.backend.clone() else { return Err(ended()) };
        if backend.settings.disabled {
            return Err(Failure::error(503, Cause::ServerAbort, Phase::Connect));
        }
        let mut input = tx.worker.buffers.take_anyway();
        let count = greeting.len().min(input.room());
        input.space()[..count].copy_from_slice(&greeting[..count]);
        input.filled(count);
        tx.client.input = input;
        if backend.rules.content {
            tcp_content_rules::request(tx, &backend.common).await?;
        }
        connect::run(tx, &backend).await?;
        tx.notes.journal.response = tx.worker.thread.nanos();
        self.release_greeting();
        Ok(count)
    }

    /// Sends bytes; returns how many were taken.
    ///
    /// # Errors
    /// `WouldBlock`: the connection takes none now. Any other error: the connection is broken.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let tx = self.tx.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let server = tx.server.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let greeting = tx.client.input.data();
        let parts = [IoSlice::new(greeting), IoSlice::new(bytes)];
        let first = usize::from(greeting.is_empty());
        let sent = server.socket().send(&parts[first..], false)?;
        let own = sent.min(greeting.len());
        tx.client.input.consume(own);
        tx.space.up.sent += sent as u64;
        self.release_greeting();
        Ok(sent - own)
    }

    /// Whether bytes of the greeting wait for room.
    pub fn owes_greeting(&self) -> bool {
        self.tx.as_ref().is_some_and(|tx| !tx.client.input.is_empty())
    }

    /// Reads the bytes that have arrived; 0 at the end of the server's stream.
    ///
    /// # Errors
    /// `WouldBlock`: there are none now. Others: the connection is broken.
    pub fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let tx = self.tx.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let server = tx.server.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let count = server.socket().recv(buffer)?;
        tx.space.down.sent += count as u64;
        Ok(count)
    }

    /// The connection to the server, once there is one.
    pub fn link(&self) -> Option<&Link> {
        Some(self.tx.as_ref()?.server.as_ref()?.socket())
    }

    /// `timeout server` of the backend, in milliseconds.
    pub fn server_timeout(&self) -> Option<u32> {
        self.tx.as_ref()?.server_timeout()
    }

    /// # Errors
    /// An operator ends it, or its server goes down and ends its sessions.
    pub fn go_on(&self) -> Result<(), Failure> {
        self.tx.as_ref().map_or(Err(ended()), |tx| tx.go_on(Ending::Close, Phase::Data))
    }

    /// Records why the connection ends, for the counters.
    pub fn end(&mut self, cause: Cause) {
        if let Some(tx) = &mut self.tx {
            tx.notes.journal.end(cause, Phase::Data);
        }
    }

    fn release_greeting(&mut self) {
        if let Some(tx) = self.tx.as_mut().filter(|tx| tx.client.input.is_empty()) {
            tx.worker.release(std::mem::replace(&mut tx.client.input, Buf::empty()));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take() {
            finish(*tx);
        }
    }
}

/// Counts the call as ended, and releases its connection and slot. There is no log line: the caller
/// writes its own.
fn finish(mut tx: Transaction) {
    let journal = &mut tx.notes.journal;
    (journal.ended, journal.silent) = (tx.worker.thread.nanos(), true);
    journal.bytes_in = tx.space.up.sent;
    accounting::finished(&mut tx);
    tx.drop_server();
    let Transaction { worker, mut space, mut notes, claim, .. } = tx;
    drop(claim);
    notes.trackers.release(worker.millis());
    space.release(&worker);
    worker.give_notes(notes);
}

fn ended() -> Failure {
    Failure::close(Cause::Internal, Phase::Data)
}
