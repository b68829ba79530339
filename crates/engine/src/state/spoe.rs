//! Agents of SPOE as a thread has them: payloads that wait, connections, answers.
//!
//! A stream submits a payload and waits for its [`SpoeAnswer`]. A payload goes to a connection with
//! room at once; else it waits in the queue, and the agent's keeper opens connections. The tasks of
//! the connections are in a room above.

pub mod figures;
mod payloads;
#[cfg(test)]
mod tests;

use crate::state::spoe::figures::{Rate, SpoeFigures};
use crate::state::spoe::payloads::{PayloadState, Payloads};
pub use crate::state::spoe::payloads::{SpoeAnswer, SpoeAnswered};
use reactor::{TaskId, Thread, Wake};
use settings::SpoeFilter;
use spop::{Capabilities, FrameId, SpopConn, SpopSettings, Status, Submission};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Most connections of a thread to one agent.
const MAX_CONNECTIONS: usize = 1_000;
/// Most of them that are being opened at a time.
const MAX_OPENING: usize = 100;
/// The error of a payload that does not fit in a frame (SPOE.txt, `set-on-error`).
pub const TOO_BIG: u16 = 3;
/// The error of a payload whose fragments the agent has refused.
pub const ABORTED: u16 = 4;
/// The offset from a status of the protocol.
pub const PROTOCOL: u16 = 256;

/// The payloads and connections of an agent on one thread.
pub struct SpoeAgentPool {
    /// The line that names it.
    pub filter: Arc<SpoeFilter>,
    /// Its figures of all threads.
    pub figures: Arc<SpoeFigures>,
    /// Writes the messages of one payload at a time.
    pub writer: RefCell<spop::MessageWriter>,
    thread: Rc<Thread>,
    /// `max-frame-size`, which fills a buffer if it is not given.
    frame_size: u32,
    engine_id: String,
    payloads: RefCell<Payloads>,
    connections: RefCell<Vec<Rc<SpoeConnection>>>,
    opening: Cell<usize>,
    /// Payloads in flight that one connection takes, as agreed in the last handshake.
    width: Cell<usize>,
    keeper: Cell<Option<TaskId>>,
    made: Cell<u64>,
}

impl std::fmt::Debug for SpoeAgentPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpoeAgentPool")
            .field("engine", &self.filter.engine.name)
            .finish_non_exhaustive()
    }
}

/// A connection whose handshake is complete.
#[derive(Debug)]
pub struct SpoeConnection {
    number: u64,
    task: TaskId,
    /// The protocol.
    pub machine: RefCell<SpopConn>,
}

impl SpoeConnection {
    fn capabilities(&self) -> Capabilities {
        self.machine.borrow().agreed().map_or(Capabilities::default(), |it| it.capabilities)
    }

    fn overlaps(&self) -> bool {
        let agreed = self.capabilities();
        agreed.pipelining || agreed.is_async
    }
}

impl SpoeAgentPool {
    /// The agent before its first payload.
    pub fn new(
        thread: &Rc<Thread>,
        filter: &Arc<SpoeFilter>,
        figures: &Arc<SpoeFigures>,
        buffer_size: usize,
    ) -> Self {
        let settings = &filter.engine.agent;
        let overlaps = settings.pipelining || settings.is_async;
        Self {
            filter: filter.clone(),
            figures: figures.clone(),
            writer: RefCell::default(),
            thread: thread.clone(),
            frame_size: match settings.max_frame_size {
                0 => buffer_size.saturating_sub(4) as u32,
                size => size,
            },
            engine_id: engine_id(thread),
            payloads: RefCell::default(),
            connections: RefCell::default(),
            opening: Cell::new(0),
            width: Cell::new(if overlaps { settings.max_waiting } else { 1 }),
            keeper: Cell::new(None),
            made: Cell::new(0),
        }
    }

    /// The protocol of a new connection.
    pub fn machine(&self) -> SpopConn {
        let agent = &self.filter.engine.agent;
        SpopConn::new(&SpopSettings {
            max_frame_size: self.frame_size,
            capabilities: Capabilities {
                fragmentation: agent.fragments,
                pipelining: agent.pipelining,
                is_async: agent.is_async,
            },
            max_waiting: agent.max_waiting,
            engine_id: self.engine_id.as_bytes(),
            healthcheck: false,
        })
    }

    /// The task that opens connections when they are needed.
    pub fn set_keeper(&self, keeper: TaskId) {
        self.keeper.set(Some(keeper));
    }

    /// Hands a payload over for the running task, which is woken when there is an answer.
    pub fn submit(&self, id: FrameId, bytes: &[u8]) {
        let task = self.thread.scheduler().current();
        let mut payloads = self.payloads.borrow_mut();
        // Payloads that wait already go first.
        let waiting = payloads.queued() > 0;
        payloads.insert(id, task);
        let connections = self.connections.borrow();
        let roomy = connections.iter().max_by_key(|it| it.machine.borrow().room());
        if let Some(connection) = roomy.filter(|_| !waiting)
            && self.send(connection, &mut payloads, id, bytes)
        {
            return;
        }
        payloads.enqueue(id, bytes);
        self.wake_keeper();
    }

    /// Submits a payload on a connection. `false`: the connection has no room.
    fn send(
        &self,
        connection: &SpoeConnection,
        payloads: &mut Payloads,
        id: FrameId,
        bytes: &[u8],
    ) -> bool {
        let submitted = connection.machine.borrow_mut().submit(id, bytes);
        match submitted {
            Submission::Sent => {
                payloads.sent(id, connection.number, self.thread.nanos());
                self.thread.scheduler().wake(connection.task, Wake::OTHER);
            }
            Submission::TooBig => self.finish(payloads, id, SpoeAnswer::Failed(TOO_BIG)),
            Submission::Wait | Submission::Closed => return false,
        }
        true
    }

    /// The answer to a payload, once there is one.
    pub fn take(&self, id: FrameId) -> Option<SpoeAnswered> {
        self.payloads.borrow_mut().take(id)
    }

    /// When a payload was sent, in nanoseconds, if it was.
    pub fn sent_at(&self, id: FrameId) -> Option<u64> {
        self.payloads.borrow().sent_at(id)
    }

    /// Its stream waits no longer. A connection without pipelining stays in use until the agent
    /// answers: it works on one payload at a time.
    pub fn leave(&self, id: FrameId) {
        let state = self.payloads.borrow_mut().remove(id);
        let Some(PayloadState::Sent(number)) = state else { return };
        let found = self.connections.borrow().iter().find(|it| it.number == number).cloned();
        if let Some(connection) = found.filter(|it| it.overlaps()) {
            connection.machine.borrow_mut().forget(id);
            self.dispatch(&connection);
        }
    }

    /// An agent has answered on a connection. On another one than the payload was sent on, both
    /// have to be asynchronous.
    pub fn answered(&self, connection: &SpoeConnection, id: FrameId, actions: &[u8]) {
        let mut payloads = self.payloads.borrow_mut();
        if let Some(owner) = payloads.owner(id).filter(|owner| *owner != connection.number) {
            let connections = self.connections.borrow();
            let owner = connections.iter().find(|it| it.number == owner);
            let is_async = |it: &SpoeConnection| it.capabilities().is_async;
            if !is_async(connection) || !owner.is_none_or(|owner| is_async(owner)) {
                return;
            }
            if let Some(owner) = owner {
                owner.machine.borrow_mut().forget(id);
            }
        }
        self.finish(&mut payloads, id, SpoeAnswer::Actions(actions.to_vec()));
    }

    /// The agent gives up a payload.
    pub fn aborted(&self, id: FrameId) {
        self.finish(&mut self.payloads.borrow_mut(), id, SpoeAnswer::Failed(ABORTED));
    }

    fn finish(&self, payloads: &mut Payloads, id: FrameId, answer: SpoeAnswer) {
        if let Some(task) = payloads.finish(id, answer, self.thread.nanos()) {
            self.thread.scheduler().wake(task, Wake::OTHER);
        }
    }

    /// Sends payloads of the queue as long as a connection has room.
    pub fn dispatch(&self, connection: &SpoeConnection) {
        let mut payloads = self.payloads.borrow_mut();
        while connection.machine.borrow().room() > 0
            && let Some((id, bytes)) = payloads.dequeue()
        {
            if !self.send(connection, &mut payloads, id, &bytes) {
                payloads.enqueue(id, &bytes);
                return;
            }
        }
    }

    /// Whether a stream waits for a payload that this connection has.
    pub fn is_awaited(&self, connection: &SpoeConnection) -> bool {
        let payloads = self.payloads.borrow();
        connection.machine.borrow().in_flight().iter().any(|id| payloads.waits(*id))
    }

    /// How many connections to open now.
    pub fn lacks(&self) -> usize {
        let needed = self.payloads.borrow().queued().div_ceil(self.width.get().max(1));
        let all = self.connections.borrow().len() + self.opening.get();
        let room = MAX_CONNECTIONS.saturating_sub(all);
        needed.min(MAX_OPENING).saturating_sub(self.opening.get()).min(room)
    }

    /// Whether `maxconnrate` leaves a connection in this second, which is counted then.
    pub fn may_connect(&self, second: u32) -> bool {
        let limit = self.filter.engine.agent.max_connections_per_s;
        limit == 0 || self.figures.connections.admits(second, limit)
    }

    /// Whether `maxerrrate` is reached in this second.
    pub fn errs_too_often(&self, second: u32) -> bool {
        let limit = self.filter.engine.agent.max_errors_per_s;
        limit != 0 && self.figures.errors.count(second) >= limit
    }

    /// A connection is being opened, until the result is dropped.
    pub fn open(self: &Rc<Self>) -> Opening {
        self.opening.set(self.opening.get() + 1);
        Opening { agent: self.clone(), status: Status::Io }
    }

    /// A handshake of the running task is complete.
    pub fn opened(&self, machine: SpopConn) -> Rc<SpoeConnection> {
        let (number, task) = (self.made.get(), self.thread.scheduler().current());
        self.made.set(number + 1);
        let connection = Rc::new(SpoeConnection { number, task, machine: RefCell::new(machine) });
        let overlaps = connection.overlaps();
        self.width.set(if overlaps { self.filter.engine.agent.max_waiting } else { 1 });
        self.connections.borrow_mut().push(connection.clone());
        self.dispatch(&connection);
        // The agent may take fewer payloads at a time than was thought.
        if self.payloads.borrow().queued() > 0 {
            self.wake_keeper();
        }
        connection
    }

    /// A connection has ended: its payloads fail, unless another asynchronous connection may bring
    /// their answers.
    pub fn closed(&self, connection: &Rc<SpoeConnection>, status: Status) {
        self.connections.borrow_mut().retain(|it| !Rc::ptr_eq(it, connection));
        let others = self.connections.borrow().iter().any(|it| it.capabilities().is_async);
        let (mut payloads, mut lost) = (self.payloads.borrow_mut(), Vec::new());
        for id in connection.machine.borrow().in_flight() {
            // The agreed capabilities are not known any more; they hold for all connections of an
            // agent.
            match others {
                true => payloads.orphan(*id),
                false => lost.push(*id),
            }
        }
        if !others {
            lost.extend(payloads.orphans());
        }
        let failed = |_: &FrameId| SpoeAnswer::Failed(PROTOCOL + u16::from(status.code()));
        lost.iter().for_each(|id| self.finish(&mut payloads, *id, failed(id)));
        if payloads.queued() > 0 {
            self.wake_keeper();
        }
    }

    fn wake_keeper(&self) {
        if let Some(keeper) = self.keeper.get().filter(|_| self.opening.get() < MAX_OPENING) {
            self.thread.scheduler().wake(keeper, Wake::OTHER);
        }
    }

    /// No connection was opened. Payloads in the queue fail if there is no other one to wait for.
    fn open_failed(&self, status: Status) {
        let connected = !self.connections.borrow().is_empty();
        if connected || self.opening.get() > 0 {
            return;
        }
        let mut payloads = self.payloads.borrow_mut();
        let code = PROTOCOL + u16::from(status.code());
        while let Some((id, _)) = payloads.dequeue() {
            self.finish(&mut payloads, id, SpoeAnswer::Failed(code));
        }
    }

    /// Puts the state of this thread into the figures.
    pub fn publish(&self) {
        let connections = self.connections.borrow();
        let is_idle = |it: &&Rc<SpoeConnection>| it.machine.borrow().in_flight().is_empty();
        let payloads = self.payloads.borrow();
        self.figures.of(self.thread.index).set_state([
            connections.iter().filter(is_idle).count(),
            connections.len() + self.opening.get(),
            payloads.queued(),
            payloads.sent_count(),
        ]);
    }
}

/// A connection that is being opened.
#[derive(Debug)]
pub struct Opening {
    agent: Rc<SpoeAgentPool>,
    /// The reason for its failure, if it fails.
    pub status: Status,
}

impl Opening {
    /// The handshake is complete.
    pub fn succeed(self, machine: SpopConn) -> Rc<SpoeConnection> {
        self.agent.opened(machine)
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.agent.opening.set(self.agent.opening.get() - 1);
        self.agent.open_failed(self.status);
    }
}

/// A version 4 UUID.
fn engine_id(thread: &Thread) -> String {
    let (high, low) = (thread.prng().next_u64(), thread.prng().next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

impl Rate {
    /// Counts an event of this second if there were fewer than `limit`; tells whether it did.
    pub(crate) fn admits(&self, second: u32, limit: u32) -> bool {
        let admitted = self.count(second) < limit;
        if admitted {
            self.add(second);
        }
        admitted
    }
}
