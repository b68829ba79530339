//! The servers of a backend, some of which may come and go while the program runs.
//!
//! A server keeps its slot permanently. Look-ups do not find a deleted server; its memory stays,
//! because a transaction may still hold it, and is reused for a server that is added later with the
//! same settings.

use crate::state::runtime::Server;
use std::ops::Index;
use std::sync::Arc;
use stdx::AppendList;

/// The servers by slot.
#[derive(Debug, Default)]
pub struct Servers {
    listed: AppendList<Arc<Server>>,
    direct: Option<Arc<Server>>,
}

impl Servers {
    /// The slot of the direct target, which is not listed as a server.
    pub(crate) const DIRECT: usize = usize::MAX;

    /// These servers, and the direct target of requests for which none of them is chosen
    /// (`dispatch`, `option transparent`).
    pub(crate) fn new(listed: impl IntoIterator<Item = Server>, direct: Option<Server>) -> Self {
        Self { listed: listed.into_iter().map(Arc::new).collect(), direct: direct.map(Arc::new) }
    }

    /// The direct target of requests for which no server is chosen.
    pub(crate) fn direct(&self) -> Option<&Server> {
        self.direct.as_deref()
    }

    /// Appends a server, in the slot that its state names.
    pub fn push(&self, server: Server) -> usize {
        self.listed.push(Arc::new(server))
    }

    /// The server in a slot, unless it has been deleted.
    pub fn get(&self, slot: usize) -> Option<&Server> {
        self.listed.get(slot).map(|server| &**server).filter(|server| !server.is_deleted())
    }

    /// A shared handle on the server in a slot, deleted or not, or on the direct target.
    pub fn share(&self, slot: usize) -> Option<Arc<Server>> {
        if slot == Self::DIRECT { self.direct.clone() } else { self.listed.get(slot).cloned() }
    }

    /// The servers that are not deleted, in order of their slots.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Server> {
        self.listed.iter().map(|server| &**server).filter(|server| !server.is_deleted())
    }

    /// The slot of the first server for which `holds` is true.
    pub fn slot_of(&self, mut holds: impl FnMut(&Server) -> bool) -> Option<usize> {
        self.iter().find(|server| holds(server)).map(|server| server.state.slot())
    }

    /// The number of servers that are not deleted.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether the list has no server.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The number of slots, including those of deleted servers.
    pub fn slots(&self) -> usize {
        self.listed.len()
    }
}

impl Index<usize> for Servers {
    type Output = Server;

    /// The server in a slot, deleted or not, or the direct target: for the holder of a claim on it.
    fn index(&self, slot: usize) -> &Server {
        match (self.listed.get(slot), &self.direct) {
            (Some(server), _) => server,
            (None, Some(direct)) => direct,
            (None, None) => panic!("a claim is on a slot that there is"),
        }
    }
}

impl<'a> IntoIterator for &'a Servers {
    type Item = &'a Server;
    type IntoIter = Box<dyn Iterator<Item = &'a Server> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}
