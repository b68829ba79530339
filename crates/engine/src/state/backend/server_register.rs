//! Names and numbers of a backend's servers, held while servers are added or deleted.
use crate::state::runtime::{Backend, Server};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Why a server cannot be added or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another server has the name.
    NameTaken,
    /// The server in this slot has the number.
    NumberTaken(usize),
    /// The algorithm has a fixed table of servers.
    Static,
    /// Rules or other servers refer to the server.
    Referenced,
    /// The server is not in maintenance.
    InService,
    /// The server still has connections or requests.
    Busy,
}

/// Names and numbers that the servers of a backend have, and deleted servers whose slots can be
/// reused.
#[derive(Debug, Default)]
pub struct Register {
    /// Slots by name. Of several servers with one name, the first is listed.
    names: HashMap<Arc<str>, usize>,
    numbers: BTreeMap<u32, usize>,
    /// No lower number is free.
    lowest: u32,
    /// Slots of deleted servers, by the words that they were made with.
    deleted: HashMap<Arc<str>, Vec<usize>>,
}

impl Register {
    /// Adds a server.
    pub fn enter(&mut self, server: &Server) {
        let slot = server.state.slot();
        self.names.entry(server.state.name().share()).or_insert(slot);
        self.numbers.entry(server.state.id()).or_insert(slot);
    }

    /// The slot of the server with a name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Checks that name and number of a new server are free; a number of 0 becomes the lowest free
    /// one.
    pub fn admit(&mut self, settings: &mut settings::Server) -> Result<(), Refusal> {
        if self.names.contains_key(settings.balance.name.as_str()) {
            return Err(Refusal::NameTaken);
        }
        let id = &mut settings.balance.id;
        if let Some(slot) = self.numbers.get(id).filter(|_| *id > 0) {
            return Err(Refusal::NumberTaken(*slot));
        }
        if *id == 0 {
            let from = self.lowest.max(1);
            let mut taken = self.numbers.range(from..).map(|(number, _)| *number);
            let free = (from..u32::MAX).find(|number| taken.next() != Some(*number));
            *id = free.unwrap_or(u32::MAX);
            self.lowest = *id;
        }
        Ok(())
    }

    /// Takes a deleted server with the same settings that is not in use any more.
    pub fn take_deleted<'b>(
        &mut self,
        back: &'b Backend,
        to: &settings::Server,
    ) -> Option<&'b Server> {
        let slots = self.deleted.get_mut(to.words.as_ref()?)?;
        let server = &back.servers[*slots.last()?];
        if is_busy(server) {
            return None;
        }
        slots.pop();
        Some(server)
    }

    /// Removes a server.
    pub fn leave(&mut self, server: &Server) {
        let slot = server.state.slot();
        let name = server.state.name();
        if self.named(&name) == Some(slot) {
            self.names.remove(&*name);
        }
        if self.numbers.get(&server.state.id()) == Some(&slot) {
            self.numbers.remove(&server.state.id());
            self.lowest = self.lowest.min(server.state.id());
        }
        if let Some(words) = server.settings.words.as_ref().filter(|_| server.is_renewable()) {
            self.deleted.entry(words.clone()).or_default().push(slot);
        }
    }
}

/// Whether a connection, a request or a check still uses the server.
pub fn is_busy(server: &Server) -> bool {
    let load = server.state.load().total();
    load > 0 || server.sessions.current() > 0 || !server.queue.is_empty() || server.idle() > 0
}
