//! Short messages that the tasks of a turn have sent, on their way to the system together. Never
//! lets bytes of a socket overtake each other, and never loses what a caller was told is sent.
//!
//! Why: a call of the system drives the program's own code out of the processor's caches, and each
//! message pays for that on its way in and out. Sent one behind the other, they pay once.
//!
//! To a caller a message lies where it would lie otherwise, between the program and the wire. So
//! what the system does not take at once is kept here, as its own buffer would, even beyond the
//! socket's end; and what it has to say against it is told by the next call for the socket.

use crate::kernel::Handle;
use crate::socket::{BROKEN, CLOSED, LATE, LOST, READ, WAITS, WANTED, WRITE};
use crate::thread::Thread;
use sched::{Class, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::time::Duration;
use stdx::{Key, Tick};

/// The longest message that is copied to go with others, in bytes.
pub(crate) const SHORT: usize = 4096;
/// As much a connection is sent at most since something was received over it: beyond that it may
/// have no room, and its owner had better know. The system has so much room from the start.
pub(crate) const UNHEARD: usize = 8 * 1024;
/// As many messages go together at most,
const MESSAGES: usize = 32;
/// and so many bytes;
const BYTES: usize = 64 * 1024;
/// and no message waits for more tasks than this,
const TASKS: u32 = 32;
/// or, with `tune.sched.low-latency`, than this.
const TASKS_HASTY: u32 = 1;
/// How long the rest of a message outlives its socket at most, in milliseconds.
const OUTLIVES: u32 = 60_000;
/// As many rests outlive their sockets at most, so that clients that never read hold neither memory
/// nor descriptors without end; more are dropped, as a reset would drop them.
const ORPHANS: usize = 1_024;

/// What a thread has yet to give the system.
#[derive(Debug)]
pub(crate) struct Outgoing {
    bytes: RefCell<Vec<u8>>,
    /// Whose message ends where.
    messages: RefCell<Vec<(Key, usize)>>,
    /// Tasks run since the first of them, and how many may.
    passed: Cell<u32>,
    tasks: u32,
    /// The class of the last of these tasks.
    class: Cell<Class>,
    /// What the system did not take, by socket.
    rests: RefCell<BTreeMap<u64, Rest>>,
    /// What has failed, by socket.
    failures: RefCell<BTreeMap<u64, Failure>>,
    /// How many rests have outlived their sockets.
    orphans: Cell<usize>,
}

/// The rest of a message.
#[derive(Debug, Default)]
struct Rest {
    bytes: Vec<u8>,
    /// The stream ends after it.
    ends: bool,
    /// The socket is gone; this is how long the rest may take.
    until: Option<Tick>,
}

/// What is known of a socket over which nothing more can be sent.
#[derive(Debug, Default)]
struct Failure {
    /// Why, until somebody has heard it.
    error: Option<io::Error>,
    /// What was said to be sent and will never leave.
    lost: Vec<u8>,
}

impl Outgoing {
    /// Nothing so far; `hasty`: with `tune.sched.low-latency`.
    pub(crate) fn new(hasty: bool) -> Self {
        Self {
            bytes: RefCell::default(),
            messages: RefCell::default(),
            passed: Cell::new(0),
            tasks: if hasty { TASKS_HASTY } else { TASKS },
            class: Cell::new(Class::Urgent),
            rests: RefCell::default(),
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

    /// Adds to the rest of a socket.
    fn keep(&self, key: Key, bytes: &[u8]) {
        self.rests.borrow_mut().entry(key.to_bits()).or_default().bytes.extend_from_slice(bytes);
    }

    /// Why nothing more can be sent over a socket, once.
    pub(crate) fn take_error(&self, key: Key) -> Option<io::Error> {
        self.failures.borrow_mut().get_mut(&key.to_bits())?.error.take()
    }

    /// Looks at the bytes of a socket that will never leave.
    pub(crate) fn lost<T>(&self, key: Key, look: impl FnOnce(&[u8]) -> T) -> T {
        let failures = self.failures.borrow();
        look(failures.get(&key.to_bits()).map_or(&[], |failure| &failure.lost))
    }

    /// Forgets what has failed of a socket.
    fn forget_failure(&self, key: Key) {
        self.failures.borrow_mut().remove(&key.to_bits());
    }
}

/// How far a message got.
enum Sent {
    All,
    Part(usize),
    Failed(usize, io::Error),
}

impl Thread {
    /// Takes a message that goes to the system before the thread sleeps, and before longer work.
    #[inline]
    pub(crate) fn send_soon(&self, key: Key, message: &[u8]) {
        self.outgoing.put(key, message);
        if self.outgoing.is_full() {
            self.send_waiting();
        }
    }

    /// Called before each task of a round: nothing waits for work of another class, or for long.
    #[inline]
    pub(crate) fn before_task(&self, class: Class) {
        let outgoing = &self.outgoing;
        if outgoing.class.replace(class) != class || outgoing.passed.get() >= outgoing.tasks {
            self.send_waiting();
        }
        if !outgoing.is_empty() {
            outgoing.passed.set(outgoing.passed.get() + 1);
        }
    }

    /// Gives the system all that waits.
    #[inline]
    pub(crate) fn send_waiting(&self) {
        if !self.outgoing.is_empty() {
            self.send_all(None);
        }
    }

    /// As [`Thread::send_waiting`], before the stream of a socket ends: its last message goes with
    /// the end, in one packet.
    pub(crate) fn send_last(&self, key: Key) {
        self.send_all(Some(key));
    }

    fn send_all(&self, ending: Option<Key>) {
        let mut bytes = self.outgoing.bytes.take();
        let mut messages = self.outgoing.messages.take();
        self.outgoing.passed.set(0);
        let mut from = 0;
        // What a socket was told in one go is one message to the system, and mostly one packet.
        for run in messages.chunk_by(|one, next| one.0 == next.0) {
            let Some((key, to)) = run.last().copied() else { continue };
            self.send_one(key, &bytes[from..to], ending == Some(key));
            from = to;
        }
        messages.clear();
        bytes.clear();
        // What was put meanwhile is nothing: sending runs no task.
        self.outgoing.bytes.replace(bytes);
        self.outgoing.messages.replace(messages);
    }

    fn send_one(&self, key: Key, message: &[u8], more: bool) {
        let (handle, ready) = self.io(key, |io| {
            io.ready &= !WAITS;
            (io.handle, io.ready)
        });
        if ready & LATE != 0 {
            return self.outgoing.keep(key, message);
        }
        match self.send_much(handle, message, more) {
            Sent::All => {}
            Sent::Part(count) => {
                self.io(key, |io| io.ready = io.ready & !WRITE | LATE);
                self.outgoing.keep(key, &message[count..]);
                self.introduce(key);
            }
            Sent::Failed(count, error) => self.fail(key, &message[count..], error),
        }
    }

    /// `more`: something follows at once, if it is only the end.
    fn send_much(&self, handle: Handle, message: &[u8], more: bool) -> Sent {
        let mut done = 0;
        while done < message.len() {
            match self.kernel().send(handle, &[IoSlice::new(&message[done..])], more) {
                Ok(count) => {
                    self.pulse().throughput().add(count);
                    done += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Sent::Part(done),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Sent::Failed(done, error),
            }
        }
        Sent::All
    }

    /// Marks a socket and has its owner look at it, if that is what it waits for.
    fn rouse(&self, key: Key, ready: u16) {
        let (owner, reason, awaited) = self.io(key, |io| {
            io.ready |= ready;
            (io.owner, io.reason, io.wanted & ready & WANTED != 0)
        });
        if awaited {
            self.scheduler().wake(owner, reason);
        }
    }

    /// Has the owner of a socket learn why nothing more can be sent, and what has not been.
    pub(crate) fn fail(&self, key: Key, lost: &[u8], error: io::Error) {
        let mut failures = self.outgoing.failures.borrow_mut();
        let failure = failures.entry(key.to_bits()).or_default();
        failure.lost.extend_from_slice(lost);
        failure.error.get_or_insert(error);
        drop(failures);
        self.rouse(key, BROKEN | LOST | CLOSED | READ | WRITE);
    }

    /// Goes on with the rest of a socket's message: there is room, or the connection has broken.
    #[cold]
    pub(crate) fn send_rest(&self, key: Key) {
        let Some(mut rest) = self.outgoing.rests.borrow_mut().remove(&key.to_bits()) else {
            return;
        };
        let handle = self.io(key, |io| io.handle);
        match self.send_much(handle, &rest.bytes, false) {
            Sent::Part(count) => {
                rest.bytes.drain(..count);
                self.outgoing.rests.borrow_mut().insert(key.to_bits(), rest);
            }
            _ if rest.until.is_some() => self.bury(key),
            Sent::Failed(count, error) => {
                self.forget_rest(key);
                self.fail(key, &rest.bytes[count..], error);
            }
            Sent::All => {
                if rest.ends {
                    // It has broken if this fails, and its owner hears of that by reading.
                    let _ = self.kernel().shutdown_write(handle);
                }
                self.forget_rest(key);
                self.rouse(key, WRITE);
            }
        }
    }

    fn forget_rest(&self, key: Key) {
        self.io(key, |io| io.ready &= !LATE);
    }

    /// Has the stream end after the rest of a message; `false` if there is none.
    pub(crate) fn ends_after_rest(&self, key: Key) -> bool {
        let mut rests = self.outgoing.rests.borrow_mut();
        rests.get_mut(&key.to_bits()).map(|rest| rest.ends = true).is_some()
    }

    /// Sends what waits of a socket that is closed. `false`: it must stay open for the rest of a
    /// message, and nobody owns it any more.
    pub(crate) fn settle_estate(&self, key: Key) -> bool {
        let (resets, waits) = self.io(key, |io| (io.resets, io.ready & WAITS != 0));
        if waits && !resets {
            self.send_last(key);
            let (handle, ready) = self.io(key, |io| (io.handle, io.ready));
            if ready & (LATE | BROKEN) == 0 {
                // Closing alone would forget what waits for more, if something came unread.
                let _ = self.kernel().shutdown_write(handle);
            }
        } else {
            self.send_waiting();
        }
        self.outgoing.forget_failure(key);
        let mut rests = self.outgoing.rests.borrow_mut();
        if resets {
            rests.remove(&key.to_bits());
            return true;
        }
        let Some(rest) = rests.get_mut(&key.to_bits()) else { return true };
        if rest.until.is_none() {
            if self.outgoing.orphans.get() >= ORPHANS {
                rests.remove(&key.to_bits());
                self.io(key, |io| io.resets = true);
                return true;
            }
            rest.until = Some(self.tick().plus_ms(OUTLIVES));
            self.outgoing.orphans.set(self.outgoing.orphans.get() + 1);
            self.io(key, |io| (io.owner, io.wanted) = (TaskId::NONE, 0));
        }
        false
    }

    /// Sends what waits of a socket that goes elsewhere, and forgets what cannot be sent now.
    /// Whoever passes it on has asked before whether it is settled.
    #[cold]
    pub(crate) fn give_up_estate(&self, key: Key) {
        self.send_waiting();
        self.outgoing.forget_failure(key);
        self.outgoing.rests.borrow_mut().remove(&key.to_bits());
    }

    /// Whether rests have outlived their sockets.
    pub(crate) fn has_orphans(&self) -> bool {
        self.outgoing.orphans.get() > 0
    }

    /// Closes a socket whose owner is gone.
    fn bury(&self, key: Key) {
        self.outgoing.orphans.set(self.outgoing.orphans.get().saturating_sub(1));
        self.forget_rest(key);
        self.unregister(key);
    }

    /// How long the thread may sleep for the sake of rests without owners.
    pub(crate) fn patience_of_orphans(&self, patience: Option<Duration>) -> Option<Duration> {
        const LOOK: Duration = Duration::from_secs(1);
        if !self.has_orphans() {
            return patience;
        }
        Some(patience.map_or(LOOK, |patience| patience.min(LOOK)))
    }

    /// Ends the connections whose rests have had their time; a peer that does not read gets no
    /// more.
    pub(crate) fn bury_overdue(&self) {
        if !self.has_orphans() {
            return;
        }
        let now = self.tick();
        let overdue = |rest: &Rest| rest.until.is_some_and(|until| until.is_due(now));
        let rests = self.outgoing.rests.borrow();
        let due = rests.iter().filter(|(_, rest)| overdue(rest)).map(|(key, _)| *key);
        let due: Vec<u64> = due.collect();
        drop(rests);
        for key in due {
            self.outgoing.rests.borrow_mut().remove(&key);
            self.bury(Key::from_bits(key));
        }
    }
}

#[cfg(test)]
mod tests;
