//! Write coalescing: short messages sent by the tasks of a turn go to the system together.
//!
//! Invariant: bytes of one socket stay in order, and a message reported as sent is sent or its loss
//! is reported (`tests`).
//!
//! Reason: a system call evicts the program's code from the processor's caches, and each message
//! pays for that on the way in and out. Messages sent in a row share one call.
//!
//! To a caller, a queued message is where it would be without coalescing: between the program and
//! the wire. So bytes that the system does not take at once are kept here, as a socket buffer would
//! keep them, even after the socket is closed; and an error of the system is returned by the next
//! call for the socket.

use crate::kernel::Handle;
use crate::thread::Thread;
use crate::thread::socket::{CLOSED, FAILED, LOST, QUEUED, READ, UNSENT, WANTED, WRITE};
use sched::{Class, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::time::Duration;
use stdx::{Key, Tick};

/// Longest message that is coalesced, in bytes.
pub(crate) const MAX_COALESCED: usize = 4096;
/// Most bytes coalesced on a connection since something was received over it. Beyond that the
/// connection may lack room, and its owner has to see this. The system's buffer has so much room
/// from the start.
pub(crate) const MAX_UNANSWERED: usize = 8 * 1024;
/// The number of messages that may be sent together.
const MESSAGES: usize = 32;
/// The number of bytes that may be sent together.
const BYTES: usize = 64 * 1024;
/// The number of tasks that may run while a message waits.
const TASKS: u32 = 32;
/// The same with `tune.sched.low-latency`.
const TASKS_LOW_LATENCY: u32 = 1;
/// Longest time that unsent bytes outlive their socket, in milliseconds.
const ORPHAN_LIFETIME_MS: u32 = 60_000;
/// Most sockets whose unsent bytes outlive them, so that clients that do not read cannot hold
/// memory and descriptors without bound; beyond that, the connection is reset.
const MAX_ORPHANS: usize = 1_024;

/// Messages of a thread that the system has not got yet.
#[derive(Debug)]
pub(crate) struct SendQueue {
    bytes: RefCell<Vec<u8>>,
    /// Socket and end offset of each message in `bytes`.
    messages: RefCell<Vec<(Key, usize)>>,
    /// Tasks run since the first message was queued, and their limit.
    tasks_run: Cell<u32>,
    max_tasks: u32,
    /// Class of the last of these tasks.
    class: Cell<Class>,
    /// Bytes that the system did not take, by socket.
    unsent: RefCell<BTreeMap<u64, UnsentBytes>>,
    /// Errors of sending, by socket.
    failures: RefCell<BTreeMap<u64, SendFailure>>,
    /// Number of `rests` whose sockets are closed.
    orphans: Cell<usize>,
}

/// Unsent bytes of a socket.
#[derive(Debug, Default)]
struct UnsentBytes {
    bytes: Vec<u8>,
    /// Whether the sending direction is closed after them.
    ends: bool,
    /// The socket is closed, and this is the deadline of its unsent bytes.
    until: Option<Tick>,
}

/// Failure of a socket over which nothing more can be sent.
#[derive(Debug, Default)]
struct SendFailure {
    /// The error, until it is returned to a caller.
    error: Option<io::Error>,
    /// Bytes that were reported as sent and will not be sent.
    lost: Vec<u8>,
}

impl SendQueue {
    /// An empty queue; `hasty`: with `tune.sched.low-latency`.
    pub(crate) fn new(hasty: bool) -> Self {
        Self {
            bytes: RefCell::default(),
            messages: RefCell::default(),
            tasks_run: Cell::new(0),
            max_tasks: if hasty { TASKS_LOW_LATENCY } else { TASKS },
            class: Cell::new(Class::Urgent),
            unsent: RefCell::default(),
            failures: RefCell::default(),
            orphans: Cell::new(0),
        }
    }

    fn put(&self, key: Key, message: &[u8]) {
        let mut bytes = self.bytes.borrow_mut();
        bytes.extend_from_slice(message);
        self.messages.borrow_mut().push((key, bytes.len()));
    }

    fn is_empty(&self) -> bool {
        self.messages.borrow().is_empty()
    }

    fn is_full(&self) -> bool {
        self.messages.borrow().len() >= MESSAGES || self.bytes.borrow().len() >= BYTES
    }

    /// Appends to the unsent bytes of a socket.
    fn add_unsent(&self, key: Key, bytes: &[u8]) {
        self.unsent.borrow_mut().entry(key.to_bits()).or_default().bytes.extend_from_slice(bytes);
    }

    /// Takes the error for which nothing more can be sent over a socket; it is returned once.
    pub(crate) fn take_error(&self, key: Key) -> Option<io::Error> {
        self.failures.borrow_mut().get_mut(&key.to_bits())?.error.take()
    }

    /// Calls `look` with the bytes of a socket that will not be sent.
    pub(crate) fn with_lost_bytes<T>(&self, key: Key, look: impl FnOnce(&[u8]) -> T) -> T {
        let failures = self.failures.borrow();
        look(failures.get(&key.to_bits()).map_or(&[], |failure| &failure.lost))
    }

    /// Forgets the failure of a socket.
    fn forget_failure(&self, key: Key) {
        self.failures.borrow_mut().remove(&key.to_bits());
    }
}

/// Result of sending a message.
enum SendResult {
    All,
    Part(usize),
    Failed(usize, io::Error),
}

impl Thread {
    /// Queues a message, which is sent before the thread sleeps, and before longer work.
    #[inline]
    pub(crate) fn queue_message(&self, key: Key, message: &[u8]) {
        self.send_queue.put(key, message);
        if self.send_queue.is_full() {
            self.send_queued();
        }
    }

    /// Called before each task of a round: sends what waits if the class changes or enough tasks
    /// ran.
    #[inline]
    pub(crate) fn before_task(&self, class: Class) {
        let outgoing = &self.send_queue;
        if outgoing.class.replace(class) != class || outgoing.tasks_run.get() >= outgoing.max_tasks
        {
            self.send_queued();
        }
        if !outgoing.is_empty() {
            outgoing.tasks_run.set(outgoing.tasks_run.get() + 1);
        }
    }

    /// Sends all queued messages.
    #[inline]
    pub(crate) fn send_queued(&self) {
        if !self.send_queue.is_empty() {
            self.send_all(None);
        }
    }

    /// As [`Thread::send_queued`], before a socket's sending direction is closed: its last message
    /// and the FIN share a packet.
    pub(crate) fn send_queued_with_fin(&self, key: Key) {
        self.send_all(Some(key));
    }

    fn send_all(&self, ending: Option<Key>) {
        let mut bytes = self.send_queue.bytes.take();
        let mut messages = self.send_queue.messages.take();
        self.send_queue.tasks_run.set(0);
        let mut from = 0;
        // Successive messages of one socket are one system call, and mostly one packet.
        for run in messages.chunk_by(|one, next| one.0 == next.0) {
            let Some((key, to)) = run.last().copied() else { continue };
            self.send_message(key, &bytes[from..to], ending == Some(key));
            from = to;
        }
        messages.clear();
        bytes.clear();
        // No message was queued meanwhile, because sending runs no task.
        self.send_queue.bytes.replace(bytes);
        self.send_queue.messages.replace(messages);
    }

    fn send_message(&self, key: Key, message: &[u8], more: bool) {
        let (handle, ready) = self.io(key, |io| {
            io.ready &= !QUEUED;
            (io.handle, io.ready)
        });
        if ready & UNSENT != 0 {
            return self.send_queue.add_unsent(key, message);
        }
        match self.send_as_much_as_possible(handle, message, more) {
            SendResult::All => {}
            SendResult::Part(count) => {
                self.io(key, |io| io.ready = io.ready & !WRITE | UNSENT);
                self.send_queue.add_unsent(key, &message[count..]);
                self.register_interest(key);
            }
            SendResult::Failed(count, error) => self.record_failure(key, &message[count..], error),
        }
    }

    /// Sends as much as the system takes. `more`: the end of the stream follows at once.
    fn send_as_much_as_possible(&self, handle: Handle, message: &[u8], more: bool) -> SendResult {
        let mut done = 0;
        while done < message.len() {
            match self.kernel().send(handle, &[IoSlice::new(&message[done..])], more) {
                Ok(count) => {
                    self.heartbeat().throughput().add(count);
                    done += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return SendResult::Part(done);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return SendResult::Failed(done, error),
            }
        }
        SendResult::All
    }

    /// Sets ready bits of a socket, and wakes its owner if it waits for one of them.
    fn set_ready(&self, key: Key, ready: u16) {
        let (owner, reason, awaited) = self.io(key, |io| {
            io.ready |= ready;
            (io.owner, io.reason, io.wanted & ready & WANTED != 0)
        });
        if awaited {
            self.scheduler().wake(owner, reason);
        }
    }

    /// Records why nothing more can be sent over a socket and which bytes are lost; wakes its
    /// owner.
    pub(crate) fn record_failure(&self, key: Key, lost: &[u8], error: io::Error) {
        let mut failures = self.send_queue.failures.borrow_mut();
        let failure = failures.entry(key.to_bits()).or_default();
        failure.lost.extend_from_slice(lost);
        failure.error.get_or_insert(error);
        drop(failures);
        self.set_ready(key, FAILED | LOST | CLOSED | READ | WRITE);
    }

    /// Sends more of a socket's unsent bytes: it has become writable, or the connection has broken.
    #[cold]
    pub(crate) fn send_unsent(&self, key: Key) {
        let Some(mut rest) = self.send_queue.unsent.borrow_mut().remove(&key.to_bits()) else {
            return;
        };
        let handle = self.io(key, |io| io.handle);
        match self.send_as_much_as_possible(handle, &rest.bytes, false) {
            SendResult::Part(count) => {
                rest.bytes.drain(..count);
                self.send_queue.unsent.borrow_mut().insert(key.to_bits(), rest);
            }
            _ if rest.until.is_some() => self.close_orphan(key),
            SendResult::Failed(count, error) => {
                self.clear_unsent(key);
                self.record_failure(key, &rest.bytes[count..], error);
            }
            SendResult::All => {
                if rest.ends {
                    // If this fails, the connection is broken, and its owner sees that by reading.
                    let _ = self.kernel().shutdown_write(handle);
                }
                self.clear_unsent(key);
                self.set_ready(key, WRITE);
            }
        }
    }

    fn clear_unsent(&self, key: Key) {
        self.io(key, |io| io.ready &= !UNSENT);
    }

    /// Closes the sending direction after the unsent bytes; `false` if there are none.
    pub(crate) fn shutdown_after_unsent(&self, key: Key) -> bool {
        let mut rests = self.send_queue.unsent.borrow_mut();
        rests.get_mut(&key.to_bits()).map(|rest| rest.ends = true).is_some()
    }

    /// Sends the queued messages of a socket that is being closed. `false`: it has to stay open for
    /// its unsent bytes, without an owner.
    pub(crate) fn finish_sending(&self, key: Key) -> bool {
        let (resets, waits) = self.io(key, |io| (io.resets, io.ready & QUEUED != 0));
        if waits && !resets {
            self.send_queued_with_fin(key);
            let (handle, ready) = self.io(key, |io| (io.handle, io.ready));
            if ready & (UNSENT | FAILED) == 0 {
                // Without this, closing with unread input would discard what waits behind
                // `MSG_MORE`.
                let _ = self.kernel().shutdown_write(handle);
            }
        } else {
            self.send_queued();
        }
        self.send_queue.forget_failure(key);
        let mut rests = self.send_queue.unsent.borrow_mut();
        if resets {
            rests.remove(&key.to_bits());
            return true;
        }
        let Some(rest) = rests.get_mut(&key.to_bits()) else { return true };
        if rest.until.is_none() {
            if self.send_queue.orphans.get() >= MAX_ORPHANS {
                rests.remove(&key.to_bits());
                self.io(key, |io| io.resets = true);
                return true;
            }
            rest.until = Some(self.tick().plus_ms(ORPHAN_LIFETIME_MS));
            self.send_queue.orphans.set(self.send_queue.orphans.get() + 1);
            self.io(key, |io| (io.owner, io.wanted) = (TaskId::NONE, 0));
        }
        false
    }

    /// Sends the queued messages of a socket that is passed on, and drops what cannot be sent now.
    /// The caller has checked before that the socket is settled.
    #[cold]
    pub(crate) fn drop_unsent(&self, key: Key) {
        self.send_queued();
        self.send_queue.forget_failure(key);
        self.send_queue.unsent.borrow_mut().remove(&key.to_bits());
    }

    /// Whether there are unsent bytes of closed sockets.
    pub(crate) fn has_orphans(&self) -> bool {
        self.send_queue.orphans.get() > 0
    }

    /// Closes a socket that has no owner.
    fn close_orphan(&self, key: Key) {
        self.send_queue.orphans.set(self.send_queue.orphans.get().saturating_sub(1));
        self.clear_unsent(key);
        self.unregister(key);
    }

    /// Limits the poller's timeout while there are unsent bytes of closed sockets.
    pub(crate) fn timeout_with_orphans(&self, patience: Option<Duration>) -> Option<Duration> {
        const LOOK: Duration = Duration::from_secs(1);
        if !self.has_orphans() {
            return patience;
        }
        Some(patience.map_or(LOOK, |patience| patience.min(LOOK)))
    }

    /// Closes ownerless sockets whose deadline has passed: their peers do not read.
    pub(crate) fn close_overdue_orphans(&self) {
        if !self.has_orphans() {
            return;
        }
        let now = self.tick();
        let overdue = |rest: &UnsentBytes| rest.until.is_some_and(|until| until.is_due(now));
        let rests = self.send_queue.unsent.borrow();
        let due = rests.iter().filter(|(_, rest)| overdue(rest)).map(|(key, _)| *key);
        let due: Vec<u64> = due.collect();
        drop(rests);
        for key in due {
            self.send_queue.unsent.borrow_mut().remove(&key);
            self.close_orphan(Key::from_bits(key));
        }
    }
}

#[cfg(test)]
mod tests;
