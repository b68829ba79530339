//! A request's claim on a server: its drop brings every count down.

use std::sync::Arc;

use crate::server::Server;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Pending,
    Queued,
    Served,
}

/// One request on one server: reserved by the pick, then perhaps queued, then served.
///
/// Dropping it at any stage, also by unwinding, takes it out of the counts and lets the load
/// index know. Only the reservation and the drop change the load; the stages between do not.
#[derive(Debug)]
pub struct Ticket {
    server: Arc<Server>,
    stage: Stage,
}

impl Ticket {
    /// Takes over a reservation that the algorithm has made.
    pub(crate) fn reserved(server: Arc<Server>) -> Self {
        Self { server, stage: Stage::Pending }
    }

    /// A ticket on a server that was not chosen by the algorithm (cookie, stick table,
    /// `use-server`).
    pub fn claim(server: &Arc<Server>) -> Self {
        server.load().reserve();
        server.load_changed();
        Self::reserved(Arc::clone(server))
    }

    /// The server claimed.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Whether the request counts as served.
    pub fn is_served(&self) -> bool {
        self.stage == Stage::Served
    }

    /// Counts the request as waiting in the server's queue.
    pub fn enqueue(&mut self) {
        if self.stage == Stage::Pending {
            self.server.load().enqueue();
            self.stage = Stage::Queued;
        }
    }

    /// Counts the request as served, whatever the limit.
    pub fn serve(&mut self) {
        if self.stage != Stage::Served {
            self.server.load().commit();
            self.served_now();
        }
    }

    /// Counts the request as served if the server's `maxconn` leaves room; returns whether it does.
    pub fn try_serve(&mut self) -> bool {
        if self.stage == Stage::Served {
            return true;
        }
        let room = self.server.load().try_commit();
        if room {
            self.served_now();
        }
        room
    }

    fn served_now(&mut self) {
        if self.stage == Stage::Queued {
            self.server.load().dequeue();
        }
        self.stage = Stage::Served;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let load = self.server.load();
        match self.stage {
            Stage::Served => load.release(),
            Stage::Pending => load.cancel(),
            Stage::Queued => {
                load.dequeue();
                load.cancel();
            }
        }
        self.server.load_changed();
    }
}
