//! The streams that a thread serves, as `show sess` lists them, and their ends from outside
//! (management.txt 9.3). Never reads or writes for one.
//!
//! A stream is listed from the moment at which its request is understood, in TCP mode from its
//! start: connections that wait for a request are not streams. Places are reused, so that listing
//! one costs a few words written and no memory.

use crate::client::Client;
use crate::journal::Cause;
use crate::runtime::Shared;
use crate::worker::Worker;
use reactor::{TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use stdx::slab::{Key, Slab};

/// What is told of a stream. Proxies are named by their index, servers by their slot.
#[derive(Debug)]
struct Stream {
    frontend: usize,
    backend: Option<usize>,
    server: Option<usize>,
    peer: Option<SocketAddr>,
    bind: u32,
    /// Monotonic nanoseconds.
    since: u64,
    task: TaskId,
    /// Why it has to end, if it has.
    ends: Option<Cause>,
}

/// The streams of one thread.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    all: RefCell<Slab<Stream>>,
    /// How many have to end and run still. Streams look at this alone while there is none.
    ending: Cell<usize>,
}

/// Which streams an end is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that `show sess` lists under this number.
    Number(u64),
    /// Those of a server: its backend by index, its slot.
    Server(usize, usize),
}

/// Ends streams of all threads: with an answer where none has begun, in the middle elsewhere.
pub fn end_all(shared: &Shared, which: Which, cause: Cause) {
    for thread in 0..shared.settings.threads {
        let end = move |worker: &Worker| {
            worker.end_streams(which, cause);
        };
        shared.ask(thread, Box::new(end));
    }
}

/// A stream's line in the list, until dropped.
pub(crate) struct Listed {
    worker: Rc<Worker>,
    key: Key,
}

impl Listed {
    /// Lists a stream of this client.
    pub(crate) fn new(worker: &Rc<Worker>, client: &Client) -> Self {
        let stream = Stream {
            frontend: client.proxy.index,
            backend: None,
            server: None,
            peer: client.peer,
            bind: client.bind,
            since: worker.thread.nanos(),
            task: worker.thread.scheduler().current(),
            ends: None,
        };
        let key = worker.streams.all.borrow_mut().insert(stream);
        Self { worker: worker.clone(), key }
    }

    /// The stream belongs to this backend, by index.
    pub(crate) fn set_backend(&self, index: usize) {
        self.change(|stream| (stream.backend, stream.server) = (Some(index), None));
    }

    /// The stream goes to this server of its backend, by slot.
    pub(crate) fn set_server(&self, slot: usize) {
        self.change(|stream| stream.server = Some(slot));
    }

    /// Why the stream has to end now, if it has.
    #[inline]
    pub(crate) fn ends(&self) -> Option<Cause> {
        match self.worker.streams.ending.get() {
            0 => None,
            _ => self.worker.streams.all.borrow().get(self.key)?.ends,
        }
    }

    fn change(&self, how: impl FnOnce(&mut Stream)) {
        self.worker.streams.all.borrow_mut().get_mut(self.key).map(how);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Streams { all, ending } = &self.worker.streams;
        if all.borrow_mut().remove(self.key).is_some_and(|stream| stream.ends.is_some()) {
            ending.set(ending.get() - 1);
        }
    }
}

impl Worker {
    /// Writes one line per stream of this thread, in the words of HAProxy's `show sess`, as far as
    /// they have a meaning here.
    pub fn list_streams(&self, out: &mut String) {
        for (key, stream) in self.streams.all.borrow().iter() {
            self.list_stream(key, stream, out);
        }
    }

    /// Ends streams of this thread; tells how many there were.
    pub fn end_streams(&self, which: Which, cause: Cause) -> usize {
        let mut count = 0;
        for (key, stream) in self.streams.all.borrow_mut().iter_mut() {
            let meant = match which {
                Which::Number(number) => self.number(key) == number,
                Which::Server(backend, slot) => {
                    (stream.backend, stream.server) == (Some(backend), Some(slot))
                }
            };
            if !meant {
                continue;
            }
            count += 1;
            if stream.ends.replace(stream.ends.unwrap_or(cause)).is_none() {
                self.streams.ending.set(self.streams.ending.get() + 1);
                self.thread.scheduler().wake(stream.task, Wake::MESSAGE);
            }
        }
        count
    }

    /// Unique in the process: the thread, how often the place was used, the place.
    fn number(&self, key: Key) -> u64 {
        let generation = u64::from(key.generation) << 24;
        (self.thread.index as u64 + 1) << 56 | generation | u64::from(key.index) << 4
    }

    fn list_stream(&self, key: Key, stream: &Stream, out: &mut String) {
        let id = self.number(key);
        let seconds = self.thread.nanos().saturating_sub(stream.since) / 1_000_000_000;
        let backend = stream.backend.and_then(|index| self.proxies.get(index));
        let server = || backend?.back.as_ref()?.servers.get(stream.server?);
        // Writing to a string cannot fail.
        let _ = write!(out, "0x{id:x}: {}", Peer(stream.peer, stream.bind));
        let _ = writeln!(
            out,
            " fe={} be={} srv={} ts=00 epoch=0 age={}",
            self.proxies.get(stream.frontend).map_or("<NONE>", |proxy| proxy.name()),
            backend.map_or("<NONE>", |proxy| proxy.name()),
            server().map_or("<none>", |server| server.state.name()),
            Age(seconds),
        );
    }
}

/// Protocol and address of a client; one without an address came over a bind line's unix socket.
struct Peer(Option<SocketAddr>, u32);

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(SocketAddr::V4(address)) => write!(f, "proto=tcpv4 src={address}"),
            Some(SocketAddr::V6(address)) => {
                write!(f, "proto=tcpv6 src={}:{}", address.ip(), address.port())
            }
            None => write!(f, "proto=unix_stream src=unix:{}", self.1 + 1),
        }
    }
}

/// Seconds in the two largest units: `1h5m`.
struct Age(u64);

impl std::fmt::Display for Age {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];
        let mut rest = self.0;
        let mut written = 0;
        for (span, unit) in units {
            let count = rest / span;
            rest %= span;
            if count > 0 && written < 2 {
                write!(f, "{count}{unit}")?;
                written += 1;
            } else if written == 1 {
                break;
            }
        }
        if written == 0 { f.write_str("0s") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Mode;
    use crate::testing::{self, Origin, World};
    use std::io::Write;

    #[test]
    fn an_age_has_two_units() {
        let ages = [0, 59, 61, 3_600, 3_605, 90_061, 5 * 86_400].map(|age| Age(age).to_string());
        assert_eq!(ages, ["0s", "59s", "1m1s", "1h", "1h", "1d1h", "5d"]);
    }

    #[test]
    fn streams_are_listed_and_idle_connections_are_not() {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = std::sync::Mutex::new(released);
        let origin = Origin::new(move |stream, _| {
            let _ = released.lock().unwrap().recv();
            drop(stream);
        });
        let server = || vec![testing::server(1, origin.address)];
        let (http, address) = testing::listen("px", Mode::Http, server());
        let (tcp, bytes) = testing::listen("by", Mode::Tcp, server());
        let world = World::new(vec![http, tcp]);
        let idle = world.play(move || testing::client(address));
        let busy = world.play(move || {
            let mut stream = testing::client(address);
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            stream
        });
        let session = world.play(move || testing::client(bytes));
        let list = || {
            let mut out = String::new();
            world.workers[0].list_streams(&mut out);
            out
        };
        world.until("both are with their servers", || list().matches("srv=s1").count() == 2);
        let listed = list();
        for (stream, name) in [(&busy, "px"), (&session, "by")] {
            let source = stream.local_addr().unwrap();
            let line = format!(
                ": proto=tcpv4 src={source} fe={name} be={name} srv=s1 ts=00 epoch=0 age=0s\n"
            );
            assert!(listed.contains(&line), "{listed}");
        }
        assert_eq!(listed.lines().count(), 2, "{listed}");
        drop((release, idle, busy, session));
        world.until("nothing is listed", || list().is_empty());
    }
}
