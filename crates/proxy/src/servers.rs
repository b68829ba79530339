//! The servers of a backend, some of which may come and go while the program runs. Never balances.
//!
//! A server keeps its slot for good. One that is deleted is gone for everybody who looks; its
//! memory stays, because who has looked it up before may still hold it. So adding and deleting
//! servers for ever takes memory for ever, some kilobytes each.

use crate::runtime::Server;
use std::ops::Index;
use stdx::Grow;

/// The servers by slot.
#[derive(Debug, Default)]
pub struct Servers(Grow<Server>);

impl Servers {
    /// Appends a server, in the slot that its state names.
    pub(crate) fn push(&self, server: Server) -> usize {
        self.0.push(server)
    }

    /// The server in a slot, unless it has been deleted.
    pub fn get(&self, slot: usize) -> Option<&Server> {
        self.0.get(slot).filter(|server| !server.is_deleted())
    }

    /// All that are there, in order of their slots.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Server> {
        self.0.iter().filter(|server| !server.is_deleted())
    }

    /// The slot of the first server of which something holds.
    pub fn slot_of(&self, mut holds: impl FnMut(&Server) -> bool) -> Option<usize> {
        self.iter().find(|server| holds(server)).map(|server| server.state.slot())
    }

    /// How many are there.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// How many slots there are, those of deleted servers included.
    pub fn slots(&self) -> usize {
        self.0.len()
    }
}

impl Index<usize> for Servers {
    type Output = Server;

    /// The server in a slot, deleted or not: for who holds a claim on it.
    fn index(&self, slot: usize) -> &Server {
        &self.0[slot]
    }
}

impl<'a> IntoIterator for &'a Servers {
    type Item = &'a Server;
    type IntoIter = Box<dyn Iterator<Item = &'a Server> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl FromIterator<Server> for Servers {
    fn from_iter<I: IntoIterator<Item = Server>>(servers: I) -> Self {
        Self(servers.into_iter().collect())
    }
}
