//! A connection slot of a server that a stream holds.

use crate::state::session::transaction::Transaction;
use crate::state::thread_handle::{BackendRef, LocalBackend, ServerRef};
use balance::Ticket;
use transport::stats::counters::{Block, Metric};

/// A claim on a server. Its drop offers the connection slot to the next request in the queue.
pub struct Claim {
    /// The ticket of the balancer, given back when the claim is dropped.
    pub ticket: Option<Ticket>,
    /// The backend.
    pub backend: BackendRef,
    /// The server.
    pub server: ServerRef,
    /// The claim counts in the server's current sessions.
    entered: bool,
    /// The claim has been counted in the server's total of sessions.
    pub counted: bool,
    /// No connection is established: the claim keeps its slot, and does not count in the current
    /// sessions.
    absent: bool,
}

impl Claim {
    /// `None` when the server of the ticket has been deleted.
    pub fn new(ticket: Ticket, backend: &BackendRef) -> Option<Self> {
        let server = backend.server(ticket.server().slot())?;
        Some(Self::pending(ticket, backend, server))
    }

    /// A claim on the direct target (`dispatch`, `option transparent`), if the backend has one and
    /// the request names no server.
    pub fn direct(tx: &Transaction, backend: &BackendRef) -> Option<Self> {
        let server = backend.direct().filter(|_| tx.persistent_server.is_none())?;
        Some(Self::pending(Ticket::claim(&server.state), backend, server))
    }

    fn pending(ticket: Ticket, backend: &BackendRef, server: ServerRef) -> Self {
        let (ticket, backend) = (Some(ticket), backend.clone());
        Self { ticket, backend, server, entered: false, counted: false, absent: false }
    }

    /// The server.
    pub fn server(&self) -> &ServerRef {
        &self.server
    }

    /// Its number in the backend, from 0.
    pub fn slot(&self) -> usize {
        self.server.slot()
    }

    /// Whether the claim holds a connection slot of the server.
    pub fn is_served(&self) -> bool {
        self.entered
    }

    /// Whether the claim counts in the server's current sessions.
    pub fn is_present(&self) -> bool {
        self.entered && !self.absent
    }

    /// Sets whether the connection is missing, between a failure and the next attempt: the claim is
    /// no current session then.
    pub fn set_absent(&mut self, absent: bool) {
        if self.entered && self.absent != absent {
            self.absent = absent;
            if absent {
                self.server.sessions.leave();
            } else {
                self.server.sessions.enter();
            }
        }
    }

    /// Takes a connection slot of the server if one is free.
    pub fn try_serve(&mut self) -> bool {
        let served = self.ticket.as_mut().is_some_and(Ticket::try_serve);
        if served && !std::mem::replace(&mut self.entered, true) {
            self.server.sessions.enter();
        }
        served
    }

    /// Gives the connection slot back until the request looks for a server again: a claim that
    /// waits for a slot counts in the server's load, too.
    pub fn step_back(&mut self) {
        self.ticket = None;
        self.leave();
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.entered) {
            if !std::mem::take(&mut self.absent) {
                self.server.sessions.leave();
            }
            self.backend.back.offer(self.slot());
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        drop(self.ticket.take());
        self.leave();
    }
}

/// Counts an event for the claimed server, if there is one, and for its backend.
pub fn count_both(claim: Option<&Claim>, backend: &LocalBackend, metric: Metric) {
    let blocks = [claim.map(|claim| claim.server().block()), Some(backend.block())];
    blocks.into_iter().flatten().for_each(|block: &Block| block.count(metric));
}
