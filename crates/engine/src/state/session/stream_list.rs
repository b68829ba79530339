//! The streams that a thread serves, as `show sess` lists them, and their ends from outside
//! (management.txt 9.3).
//!
//! A stream is listed from the moment at which its request is understood, in TCP mode from its
//! start: connections that wait for a request are not streams. Places are reused, so that listing
//! one costs a few words written and no memory.

pub mod http;

use self::http::{Http, Message};
use crate::state::runtime::Shared;
use crate::state::session::client::Client;
use crate::state::worker::Worker;
use reactor::{TaskId, Tick, Wake};
use sched::Usage;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use stdx::slab::{Key, Slab};
use transport::channel::Link;
use transport::stats::transaction_log::Cause;

/// An entry of the list. Proxies are named by their index, servers by their slot, [`NONE`] is
/// neither.
#[derive(Debug)]
struct Stream {
    frontend: u32,
    backend: u32,
    server: u32,
    peer: Option<SocketAddr>,
    bind: u32,
    /// Monotonic nanoseconds.
    since: u64,
    descriptor: i32,
    /// The descriptor of the connection to the server; -1 without one.
    server_descriptor: i32,
    task: TaskId,
    /// The usage of its task before the stream began.
    before: Usage,
    /// The reason why the stream has to end, if it has to.
    ends: Option<Cause>,
    /// The state of its messages, in HTTP mode.
    http: Option<Http>,
}

/// No backend or server so far.
const NONE: u32 = u32::MAX;

/// The number of a proxy or server.
fn known(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

/// The streams of one thread.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    all: RefCell<Slab<Stream>>,
    /// Streams that have to end and still run. While it is 0, streams need no further check.
    ending: Cell<usize>,
}

/// A stream as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its number, unique in the process.
    pub number: u64,
    /// The frontend, by index.
    pub frontend: usize,
    /// The backend, by index, once there is one.
    pub backend: Option<usize>,
    /// The server, by slot, once there is one.
    pub server: Option<usize>,
    /// The client; none over a unix socket.
    pub peer: Option<SocketAddr>,
    /// The listener, by its place.
    pub bind: u32,
    /// The descriptor of the client's connection.
    pub descriptor: i32,
    /// The descriptor of the server's connection; -1 while there is none.
    pub server_descriptor: i32,
    /// Its task, as one word.
    pub task: u64,
    /// The usage of its task for the stream.
    pub usage: Usage,
    /// Milliseconds until the task's timer expires; `None`: it has no timer.
    pub expires_ms: Option<u64>,
    /// Its age in seconds.
    pub age_s: u64,
    /// When it began, in nanoseconds since 1970.
    pub began: u64,
    /// The state of its messages, in HTTP mode.
    pub http: Option<Http>,
}

/// Slots inspected by one step of [`Worker::streams`].
const STEP: u32 = 64;

/// Some streams of a thread.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// In no order.
    pub streams: Vec<Listing>,
    /// The place to continue from, if there may be more.
    pub next: Option<u32>,
}

/// The streams to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamSet {
    /// The one that `show sess` lists under this number.
    Number(u64),
    /// Streams of a server: its backend by index, its slot.
    Server(usize, usize),
}

/// Ends streams of all threads: with an error response if none has begun, else in the middle of the
/// response.
pub fn end_all(shared: &Shared, which: StreamSet, cause: Cause) {
    for thread in 0..shared.settings.threads {
        let end = move |worker: &Worker| {
            worker.end_streams(which, cause);
        };
        shared.run_on_thread(thread, Box::new(end));
    }
}

/// A stream's line in the list, until dropped.
pub struct Listed {
    worker: Rc<Worker>,
    key: Key,
}

impl Listed {
    /// Lists a stream of this client, whose task had used so much before.
    pub fn new(worker: &Rc<Worker>, client: &Client, before: Usage, http: Option<Http>) -> Self {
        let stream = Stream {
            frontend: client.proxy.index as u32,
            backend: NONE,
            server: NONE,
            peer: client.peer,
            bind: client.bind,
            since: worker.thread.nanos(),
            descriptor: descriptor(&client.socket),
            server_descriptor: -1,
            task: worker.thread.scheduler().current(),
            before,
            ends: None,
            http,
        };
        let key = worker.streams.all.borrow_mut().insert(stream);
        Self { worker: worker.clone(), key }
    }

    /// The stream belongs to this backend, by index.
    pub fn set_backend(&self, index: usize) {
        self.change(|stream| (stream.backend, stream.server) = (index as u32, NONE));
    }

    /// The stream goes to this server of its backend, by slot.
    pub fn set_server(&self, slot: usize) {
        self.change(|stream| (stream.server, stream.server_descriptor) = (slot as u32, -1));
    }

    /// The stream has this connection to its server.
    pub fn set_connection(&self, link: &Link) {
        let descriptor = descriptor(link);
        self.change(|stream| stream.server_descriptor = descriptor);
    }

    /// The stream is an exchange in HTTP from now on.
    pub fn set_http(&self, http: Http) {
        self.change(|stream| stream.http = Some(http));
    }

    /// Notes the progress of the stream's messages.
    pub fn change_http(&self, how: impl FnOnce(&mut Http)) {
        self.change(|stream| {
            stream.http.as_mut().map(how);
        });
    }

    /// Notes that the request or the response is complete.
    pub fn end_message(&self, which: impl FnOnce(&mut Http) -> &mut Message) {
        self.change_http(|http| Http::end(which(http)));
    }

    /// The usage of the stream's task before the stream.
    pub fn usage_before(&self) -> Usage {
        self.worker.streams.all.borrow().get(self.key).map(|it| it.before).unwrap_or_default()
    }

    /// The reason why the stream has to end now, if it has to.
    #[inline]
    pub fn ends(&self) -> Option<Cause> {
        match self.worker.streams.ending.get() {
            0 => None,
            _ => self.worker.streams.all.borrow().get(self.key)?.ends,
        }
    }

    fn change(&self, how: impl FnOnce(&mut Stream)) {
        self.worker.streams.all.borrow_mut().get_mut(self.key).map(how);
    }
}

/// The descriptor of the connection that carries the stream, possibly with others; -1 without one.
fn descriptor(link: &Link) -> i32 {
    link.transport().map_or(-1, |it| it.socket().handle().0)
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
    /// Some streams of this thread, from a place on; 0 is the first one.
    pub fn streams(&self, from: u32) -> Part {
        let all = self.streams.all.borrow();
        let end = from.saturating_add(STEP);
        let keys = (from..end.min(all.positions())).filter_map(|place| all.key_at(place));
        let streams = keys.filter_map(|key| Some(self.listing(key, all.get(key)?))).collect();
        Part { streams, next: Some(end).filter(|end| *end < all.positions()) }
    }

    fn listing(&self, key: Key, stream: &Stream) -> Listing {
        let age = self.thread.nanos().saturating_sub(stream.since);
        let (usage, deadline) = self.thread.scheduler().task_usage(stream.task).unwrap_or_default();
        let left = |deadline: Tick| u64::from(deadline.ms_after(self.thread.tick()));
        Listing {
            number: self.number(key),
            frontend: stream.frontend as usize,
            backend: known(stream.backend),
            server: known(stream.server),
            peer: stream.peer,
            bind: stream.bind,
            descriptor: stream.descriptor,
            server_descriptor: stream.server_descriptor,
            task: stream.task.to_bits(),
            usage: usage.since(stream.before),
            expires_ms: deadline.map(left),
            age_s: age / 1_000_000_000,
            began: self.thread.wall().saturating_sub(age),
            http: stream.http,
        }
    }

    /// Ends streams of this thread; tells how many there were.
    pub fn end_streams(&self, which: StreamSet, cause: Cause) -> usize {
        let mut count = 0;
        for (key, stream) in self.streams.all.borrow_mut().iter_mut() {
            let meant = match which {
                StreamSet::Number(number) => self.number(key) == number,
                StreamSet::Server(backend, slot) => {
                    (known(stream.backend), known(stream.server)) == (Some(backend), Some(slot))
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
}
