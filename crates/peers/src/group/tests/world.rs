//! Processes and a network in memory, replayed from a seed.

use super::super::{Action, Event, Group};
use crate::session::SessionId;
use crate::settings::{Settings, Shards, SharedTable};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::Prng;
use table::{Aggregate, DataType, Exported, Key, KeyKind, Table, Value, Walk};

/// Bytes that a message may have in these tests.
pub(super) const MAX_MESSAGE: usize = 512;

/// One process.
pub(super) struct Process {
    pub(super) group: Group,
    pub(super) table: Arc<Table>,
    pub(super) events: Vec<Event>,
    pub(super) is_running: bool,
}

/// One end of a connection.
struct End {
    process: usize,
    session: SessionId,
    /// Bytes on their way to this end, and bytes that its process has not used yet.
    coming: VecDeque<u8>,
    unused: Vec<u8>,
}

/// All processes, and connections between them.
pub(super) struct World {
    pub(super) now: u64,
    pub(super) random: Prng,
    pub(super) processes: Vec<Process>,
    /// The process that listens under a name.
    pub(super) listeners: BTreeMap<String, usize>,
    connections: Vec<[End; 2]>,
    /// Connections that were lost.
    pub(super) lost: usize,
    /// Whether processes that start keep a copy of the table per node.
    pub(super) aggregate: Option<Aggregate>,
    /// The parts of the keys that processes that start send to others.
    pub(super) shards: Shards,
    /// The longest queue of bytes that an end has seen.
    pub(super) most_unused: usize,
}

/// The table that the processes of a test share.
fn shared_table(expire: Option<u32>, aggregate: Option<Aggregate>) -> Table {
    let mut settings = table::Settings::new("t", KeyKind::Integer, 10_000);
    settings.expire = expire;
    settings.aggregate = aggregate;
    settings.add(DataType::Gpc0, 1, 0);
    settings.add(DataType::ConnCur, 1, 0);
    settings.add(DataType::ServerKey, 1, 0);
    Table::new(settings, 0)
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        World {
            now: 1_000_000,
            random: Prng::new(seed),
            processes: Vec::new(),
            listeners: BTreeMap::new(),
            connections: Vec::new(),
            lost: 0,
            aggregate: None,
            shards: Shards::default(),
            most_unused: 0,
        }
    }

    /// Processes of these names, each a peer of all others.
    pub(super) fn with(seed: u64, names: &[&str]) -> World {
        let mut world = World::new(seed);
        for name in names {
            world.start(name, names, false);
        }
        world
    }

    /// Starts a process, which listens under its name from now on.
    pub(super) fn start(&mut self, name: &str, group: &[&str], replaces: bool) -> usize {
        let table = shared_table(Some(600_000), self.aggregate);
        let others = group.iter().filter(|other| **other != name);
        let remotes: Vec<Arc<str>> = others.map(|other| Arc::from(*other)).collect();
        table.keep_copies(&remotes);
        let table = Arc::new(table);
        let settings = Settings {
            remotes,
            shards: self.shards.clone(),
            pid: 100 + self.processes.len() as u32,
            max_updates: 20,
            max_message: MAX_MESSAGE,
            replaces,
            ..Settings::new(name)
        };
        let shared = SharedTable { name: "t".into(), table: table.clone() };
        let group = Group::new(settings, vec![shared], self.random.next_u64(), self.now);
        let process = Process { group, table, events: Vec::new(), is_running: true };
        self.processes.push(process);
        self.listeners.insert(name.into(), self.processes.len() - 1);
        self.processes.len() - 1
    }

    /// Kills a process.
    pub(super) fn kill(&mut self, process: usize) {
        self.processes[process].is_running = false;
        let at_end = |ends: &[End; 2]| ends.iter().position(|end| end.process == process);
        while let Some(at) = self.connections.iter().position(|ends| at_end(ends).is_some()) {
            self.lose(at);
        }
    }

    /// Loses a connection; bytes on their way are lost too.
    fn lose(&mut self, at: usize) {
        self.lost += 1;
        for end in self.connections.swap_remove(at) {
            let process = &mut self.processes[end.process];
            if process.is_running {
                process.group.closed(end.session, self.now);
            }
        }
    }

    /// Loses one of the connections, if there is any.
    pub(super) fn lose_any(&mut self) {
        let at = self.random.below(self.connections.len() as u32) as usize;
        if at < self.connections.len() {
            self.lose(at);
        }
    }

    pub(super) fn count_of_connections(&self) -> usize {
        self.connections.len()
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, span: u64) {
        let end = self.now + span;
        while self.now < end {
            self.now += 1 + u64::from(self.random.below(20));
            self.step();
        }
    }

    /// Runs one step: deadlines, output, input.
    pub(super) fn step(&mut self) {
        for at in 0..self.processes.len() {
            let process = &mut self.processes[at];
            if !process.is_running {
                continue;
            }
            if process.group.next_deadline().is_some_and(|due| due <= self.now) {
                process.group.tick(self.now);
            }
            self.act(at);
        }
        for at in 0..self.connections.len() {
            for side in 0..2 {
                self.send(at, side);
                self.deliver(at, side);
            }
        }
        (0..self.processes.len()).for_each(|at| self.act(at));
    }

    fn send(&mut self, at: usize, side: usize) {
        let room = 20 + self.random.below(600) as usize;
        let ends = &mut self.connections[at];
        if ends[1 - side].coming.len() > 2_000 {
            return;
        }
        let mut bytes = Vec::new();
        let process = &mut self.processes[ends[side].process];
        process.group.transmit(ends[side].session, &mut bytes, room, self.now);
        assert!(bytes.len() <= room);
        ends[1 - side].coming.extend(bytes);
    }

    fn deliver(&mut self, at: usize, side: usize) {
        let end = &mut self.connections[at][side];
        let len = self.random.below(end.coming.len() as u32 + 1) as usize;
        end.unused.extend(end.coming.drain(..len));
        self.most_unused = self.most_unused.max(end.unused.len());
        let group = &mut self.processes[end.process].group;
        let used = group.receive(end.session, &end.unused, self.now);
        end.unused.drain(..used);
    }

    /// Runs an action that a process asks for.
    fn act(&mut self, at: usize) {
        if !self.processes[at].is_running {
            return;
        }
        while let Some(action) = self.processes[at].group.next_action() {
            match action {
                Action::Connect(peer) => self.connect(at, peer),
                Action::Close(session) => {
                    let is_it = |end: &End| end.process == at && end.session == session;
                    let found = self.connections.iter().position(|ends| ends.iter().any(is_it));
                    if let Some(found) = found {
                        self.close(found, at);
                    }
                }
                Action::Report(event) => self.processes[at].events.push(event),
            }
        }
    }

    /// Closes one side; the other side first gets the bytes under way.
    fn close(&mut self, at: usize, by: usize) {
        for mut end in self.connections.swap_remove(at) {
            if end.process != by || self.processes[by].group.sessions().any(|it| it == end.session)
            {
                let group = &mut self.processes[end.process].group;
                end.unused.extend(end.coming.drain(..));
                group.receive(end.session, &end.unused, self.now);
                group.closed(end.session, self.now);
            }
        }
    }

    fn connect(&mut self, from: usize, peer: usize) {
        let name = self.processes[from].group.peer_name(peer).expect("a peer").to_string();
        let to = self.listeners.get(&name).copied();
        let to = to.filter(|to| *to != from && self.processes[*to].is_running);
        let fails = self.random.below(10) == 0;
        let Some(to) = to.filter(|_| !fails) else {
            self.processes[from].group.connect_failed(peer, self.now);
            return;
        };
        let Some(ours) = self.processes[from].group.connected(peer, self.now) else { return };
        let Some(theirs) = self.processes[to].group.accept(self.now) else {
            self.processes[from].group.closed(ours, self.now);
            return;
        };
        let end = |process, session| End {
            process,
            session,
            coming: VecDeque::new(),
            unused: Vec::new(),
        };
        self.connections.push([end(from, ours), end(to, theirs)]);
    }

    /// Counts on a key of a process.
    pub(super) fn count(&mut self, process: usize, key: u32) {
        let table = &self.processes[process].table;
        table.enter(&Key::integer(key.into()), self.now, |entry| {
            entry.count(&[DataType::Gpc0], 1, self.now);
            let server: Arc<str> = format!("server{}", key % 300).into();
            entry.set_server(key, Some(&server));
        });
    }

    /// The entries of a process: counter and server by key.
    pub(super) fn contents(&self, process: usize) -> BTreeMap<u32, (u64, Option<String>)> {
        let table = &self.processes[process].table;
        let (mut walk, mut contents, mut read) =
            (Walk::default(), BTreeMap::new(), Exported::default());
        while let Some(entries) = table.walk(&mut walk, self.now) {
            for entry in entries {
                entry.export(self.now, &mut read);
                let key = u32::from_be_bytes(entry.key().try_into().expect("four bytes"));
                let [Value::Number(count), _, Value::Text(server)] = &read.values[..] else {
                    panic!("three values: {read:?}")
                };
                contents.insert(key, (*count, server.as_deref().map(String::from)));
            }
        }
        contents
    }

    /// The group and the name of a peer, for what `show peers` would say.
    pub(super) fn sum(&self, what: impl Fn(&crate::PeerView) -> u64) -> u64 {
        let running = self.processes.iter().filter(|process| process.is_running);
        running.flat_map(|process| process.group.view().peers).map(|peer| what(&peer)).sum()
    }
}
