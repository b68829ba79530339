//! Handles of the system for the settings of the process: sockets, network namespaces and files, found by kind and name.

use crate::state::session::quic_line::QuicIdentity;
use reactor::{Handle, Namespace};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The kind of `log-forward` sections.
pub const LOG_FORWARD: &str = "log-forward";
/// The kind of `peers` sections.
pub const PEERS: &str = "peers";

/// The handles of a process.
#[derive(Debug, Default)]
pub struct OsHandles {
    /// Sockets of `bind` lines, by frontend and number of the line.
    listeners: HashMap<(Arc<str>, u32), ListenSockets>,
    /// Sockets of other sections, by their kind and name.
    sections: HashMap<(&'static str, String), SectionSockets>,
    /// Network namespaces that lines or a PROXY header may name.
    pub namespaces: Vec<Arc<Namespace>>,
    /// Files of rings, by the name of the ring.
    files: HashMap<String, Arc<dyn Backing>>,
}

/// The sockets of one `bind` line.
#[derive(Clone, Debug)]
pub struct ListenSockets {
    /// The socket of all threads without one of their own.
    pub first: Handle,
    /// Further sockets of the same address (`shards`), each with its threads.
    pub shards: Vec<(Handle, Vec<u16>)>,
    /// Links of a QUIC listener with the processes before and after this one.
    pub quic: Option<Arc<QuicSockets>>,
}

/// Links of a QUIC listener with other processes that serve its address.
#[derive(Clone, Debug)]
pub struct QuicSockets {
    /// The sockets of the address, each with its threads: the first one receives.
    pub sockets: Vec<(Handle, Vec<u16>)>,
    /// The identity and keys that this process shares with them.
    pub identity: QuicIdentity,
    /// This process's end of the socket pair whose other end a successor gets.
    pub own: Handle,
    /// The ends that processes before this one have handed over, with the numbers of the processes;
    /// the process that this one replaces comes first.
    pub predecessors: Vec<(u8, Handle)>,
}

/// The sockets of a section that is no proxy.
#[derive(Clone, Debug, Default)]
pub struct SectionSockets {
    /// Listeners, in the order of their lines.
    pub listeners: Vec<Handle>,
    /// Sockets for datagrams, in the order of their lines.
    pub datagrams: Vec<Handle>,
}

/// A file that keeps the bytes of a ring beyond the process. A dedicated thread writes to it and
/// may wait for the disk; write errors are not reported.
pub trait Backing: Debug + Send + Sync {
    /// Prepares the writing thread, which calls it once before its first write.
    fn begin(&self) {}
    /// Writes the bytes at this offset.
    fn write_at(&self, offset: u64, bytes: &[u8]);
}

impl OsHandles {
    /// Adds the sockets of a `bind` line.
    pub fn add_listener(&mut self, frontend: &Arc<str>, bind: u32, sockets: ListenSockets) {
        self.listeners.insert((frontend.clone(), bind), sockets);
    }

    /// The sockets of a `bind` line.
    pub(crate) fn listener(&self, frontend: &Arc<str>, bind: u32) -> Option<&ListenSockets> {
        self.listeners.get(&(frontend.clone(), bind))
    }

    /// Adds the sockets of a section of this kind.
    pub fn add_section(&mut self, kind: &'static str, name: &str, sockets: SectionSockets) {
        self.sections.insert((kind, name.to_owned()), sockets);
    }

    /// The sockets of a section of this kind; none if the section has none.
    pub fn section(&self, kind: &'static str, name: &str) -> SectionSockets {
        self.sections.get(&(kind, name.to_owned())).cloned().unwrap_or_default()
    }

    /// Adds the file of a ring.
    pub fn add_file(&mut self, ring: &str, file: Arc<dyn Backing>) {
        self.files.insert(ring.to_owned(), file);
    }

    /// The file of a ring.
    pub(crate) fn file(&self, ring: &str) -> Option<&Arc<dyn Backing>> {
        self.files.get(ring)
    }

    /// The network namespace of this name.
    pub fn namespace(&self, name: &[u8]) -> Option<&Arc<Namespace>> {
        self.namespaces.iter().find(|namespace| namespace.name().as_bytes() == name)
    }

    /// Options of a connection, with the namespace that they name.
    pub fn connect_options(&self, settings: &settings::ConnectOptions) -> reactor::ConnectOptions {
        let namespace = settings.namespace.as_ref();
        let namespace = namespace.and_then(|name| self.namespace(name.as_bytes()));
        settings.with_namespace(namespace.cloned())
    }
}

impl ListenSockets {
    /// One socket for all threads.
    pub fn one(first: Handle) -> Self {
        Self { first, shards: Vec::new(), quic: None }
    }

    /// The socket on which a thread accepts.
    pub fn of_thread(&self, thread: usize) -> Handle {
        let own = |it: &u16| usize::from(*it) == thread;
        let shard = self.shards.iter().find(|(_, threads)| threads.iter().any(own));
        shard.map_or(self.first, |(handle, _)| *handle)
    }

    /// All sockets of the line.
    pub fn all(&self) -> impl Iterator<Item = Handle> {
        std::iter::once(self.first).chain(self.shards.iter().map(|(handle, _)| *handle))
    }
}
