//! A process under test: a group with its connections on sockets.

use crate::clock;
use peers::{Action, Group, SessionId, Settings, SharedTable};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use table::Table;

/// Milliseconds on the clock of a process when it begins.
const BEGIN: u64 = 50_000_000;

struct Connection {
    socket: TcpStream,
    unused: Vec<u8>,
    unsent: Vec<u8>,
}

/// The peer `B`.
pub(crate) struct Node {
    pub(crate) group: Group,
    connections: BTreeMap<SessionId, Connection>,
    listener: TcpListener,
    other: u16,
    begin: Instant,
}

impl Node {
    /// A process that shares these tables with the peer `A` on this port.
    pub(crate) fn new(
        tables: Vec<Arc<Table>>,
        pid: u32,
        listener: TcpListener,
        other: u16,
    ) -> Node {
        let settings = Settings { remotes: vec!["A".into()], pid, ..Settings::new("B") };
        Node::with(settings, tables, listener, other)
    }

    /// A process whose place an HAProxy takes, the peer `A` on this port.
    pub(crate) fn predecessor(tables: Vec<Arc<Table>>, listener: TcpListener, other: u16) -> Node {
        Node::with(Settings::new("A"), tables, listener, other)
    }

    fn with(
        settings: Settings,
        tables: Vec<Arc<Table>>,
        listener: TcpListener,
        other: u16,
    ) -> Node {
        listener.set_nonblocking(true).expect("a socket");
        let shared = |table: Arc<Table>| {
            let name = format!("/{}", table.settings().name);
            SharedTable { name: name.into(), table }
        };
        let tables = tables.into_iter().map(shared).collect();
        let group = Group::new(settings, tables, 1, BEGIN);
        Node { group, connections: BTreeMap::new(), listener, other, begin: clock::now() }
    }

    /// The time on its clock.
    pub(crate) fn now(&self) -> u64 {
        BEGIN + self.begin.elapsed().as_millis() as u64
    }

    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        self.group.tables().iter().map(|shared| shared.table.clone()).collect()
    }

    /// Ends it; its successor listens on the same socket.
    pub(crate) fn end(self) -> TcpListener {
        self.listener
    }

    pub(crate) fn protocol_errors(&self) -> u32 {
        self.group.view().peers.iter().map(|peer| peer.counters.protocol_errors).sum()
    }

    /// Entries that were taught.
    pub(crate) fn taught(&self) -> u64 {
        self.group.view().peers.iter().map(|peer| peer.counters.taught).sum()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.group.view().peers.iter().any(|peer| peer.session.is_some())
    }

    /// Resets all connections.
    pub(crate) fn lose_sessions(&mut self) {
        let now = self.now();
        for (id, _) in std::mem::take(&mut self.connections) {
            self.group.closed(id, now);
        }
    }

    /// Runs until a condition holds, and fails after some seconds with the last reason why not.
    pub(crate) fn until(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&mut Node) -> Result<(), String>,
    ) {
        let end = clock::now() + Duration::from_secs(20);
        loop {
            for _ in 0..10 {
                self.step();
            }
            match holds(self) {
                Ok(()) => return,
                Err(why) => assert!(clock::now() < end, "{what}: {why}"),
            }
        }
    }

    fn step(&mut self) {
        let now = self.now();
        if self.group.next_deadline().is_some_and(|due| due <= now) {
            self.group.tick(now);
        }
        if let Ok((socket, _)) = self.listener.accept()
            && let Some(id) = self.group.accept(now)
        {
            self.add(id, socket);
        }
        self.act();
        let ids: Vec<SessionId> = self.connections.keys().copied().collect();
        let busy = ids.into_iter().filter(|id| self.serve(*id)).count();
        self.act();
        if busy == 0 {
            clock::pause();
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.group.next_action() {
            let now = self.now();
            match action {
                Action::Connect(peer) => match TcpStream::connect(("127.0.0.1", self.other)) {
                    Ok(socket) => {
                        if let Some(id) = self.group.connected(peer, now) {
                            self.add(id, socket);
                        }
                    }
                    Err(_) => self.group.connect_failed(peer, now),
                },
                Action::Close(id) => {
                    if let Some(mut connection) = self.connections.remove(&id) {
                        let _ = connection.socket.write(&connection.unsent);
                    }
                }
                Action::Report(_) => {}
            }
        }
    }

    fn add(&mut self, id: SessionId, socket: TcpStream) {
        socket.set_nonblocking(true).expect("a socket");
        let connection = Connection { socket, unused: Vec::new(), unsent: Vec::new() };
        self.connections.insert(id, connection);
    }

    /// Moves bytes of a connection; returns `true` if there were any.
    fn serve(&mut self, id: SessionId) -> bool {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let mut bytes = [0; 16_384];
        let mut busy = false;
        match connection.socket.read(&mut bytes) {
            Ok(len) if len > 0 => {
                busy = true;
                connection.unused.extend_from_slice(&bytes[..len]);
                let used = self.group.receive(id, &connection.unused, now);
                connection.unused.drain(..used);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => {
                self.connections.remove(&id);
                self.group.closed(id, now);
                return true;
            }
        }
        if connection.unsent.is_empty() {
            self.group.transmit(id, &mut connection.unsent, 16_384, now);
        }
        if !connection.unsent.is_empty()
            && let Ok(len) = connection.socket.write(&connection.unsent)
        {
            connection.unsent.drain(..len);
            busy = true;
        }
        busy
    }
}
