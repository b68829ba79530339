//! Rings: buffers of the last messages written, for readers at their own pace (configuration
//! manual, section 3.9).
//!
//! Messages are stored one after the other, each after its length, and the oldest are overwritten.
//! Messages that a server has still to get are kept: while there is no room, a new message is
//! dropped and counted, so that a slow collector loses a bounded and known part. One lock per ring
//! is held for one copy; a message wakes only readers that wait.
use crate::state::os_handles::{Backing, OsHandles};
use crate::state::worker::Worker;
use reactor::{Mailbox, TaskId, Wake};
use settings::LogTransport;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub mod mirror;

/// Bytes of a length before a message.
pub const LENGTH: usize = 4;
/// The size of that ring, in bytes.
const OWN_SIZE: usize = 1 << 20;

/// A ring.
#[derive(Debug)]
pub struct Ring {
    /// Its settings.
    pub settings: settings::Ring,
    file: Option<Arc<dyn Backing>>,
    store: Mutex<Store>,
    /// Notified when the file lacks messages, and when it has caught up.
    grown: Condvar,
    dropped: AtomicU64,
}

/// The messages of a ring. Positions count bytes from the start of the process; a byte is stored at
/// its position modulo the size.
#[derive(Debug)]
pub struct Store {
    /// Messages, each behind its length.
    pub bytes: Vec<u8>,
    /// The position of the oldest message.
    pub head: u64,
    /// The position of the next message.
    pub tail: u64,
    /// The position up to which the file has the messages.
    mirrored: u64,
    /// Tasks that read the ring.
    pub readers: Vec<Reader>,
    /// The number of the next reader.
    next_reader: u64,
}

/// A reader and its position.
#[derive(Debug)]
pub struct Reader {
    number: u64,
    /// The end of the messages that the reader has confirmed.
    pub at: u64,
    /// Messages that the reader has not confirmed are kept.
    keeps: bool,
    asleep: bool,
    mailbox: Arc<Mailbox>,
    task: TaskId,
}

/// The framing of messages that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// Each ends with a newline (RFC 6587, section 3.4.2), and has none within: otherwise the
    /// source of a message could forge others.
    Lines,
    /// Each ends with a newline, for people: traces have several lines.
    Shown,
    /// Each begins with its length (RFC 6587, section 3.4.1).
    Counted,
}

/// All rings of the process: the one without a section first.
pub(crate) fn all(settings: &[settings::Ring], handles: &OsHandles) -> Vec<Arc<Ring>> {
    let own = settings::Ring {
        name: "buf0".into(),
        description: "in-memory ring buffer".to_owned(),
        transport: LogTransport::Timed,
        max_len: usize::MAX,
        size: OWN_SIZE,
        ..settings::Ring::default()
    };
    let settings = std::iter::once(own).chain(settings.iter().cloned());
    let ring = |settings: settings::Ring| {
        let file = handles.file(&settings.name).cloned();
        Arc::new(Ring::new(settings, file))
    };
    let rings: Vec<_> = settings.map(ring).collect();
    rings.iter().for_each(mirror::start);
    rings
}

impl Ring {
    /// An empty ring, and the file that keeps a copy of its bytes.
    pub fn new(settings: settings::Ring, file: Option<Arc<dyn Backing>>) -> Self {
        let bytes = vec![0; settings.size.max(LENGTH + 1)];
        let (head, tail, mirrored) = (0, 0, 0);
        let store = Store { bytes, head, tail, mirrored, readers: Vec::new(), next_reader: 0 };
        let store = Mutex::new(store);
        Self { settings, file, store, grown: Condvar::new(), dropped: AtomicU64::new(0) }
    }

    /// Messages that found no room because a server has not taken earlier ones.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Adds a message, truncated to the ring's limit. `false`: there was no room.
    pub fn write(&self, message: &[u8]) -> bool {
        let mut store = self.lock();
        let most = self.settings.max_len.min(store.bytes.len() - LENGTH);
        let message = &message[..message.len().min(most)];
        if !store.make_room(LENGTH + message.len()) {
            self.dropped.fetch_add(1, Relaxed);
            return false;
        }
        let length = u32::try_from(message.len()).expect("a ring has at most 1 GiB");
        store.put(&length.to_le_bytes());
        store.put(message);
        store.wake_readers();
        drop(store);
        if self.file.is_some() {
            self.grown.notify_all();
        }
        true
    }

    /// Adds a reader, from the oldest message on or, with `fresh`, from the next one. New messages
    /// wake the running task. `keeps`: messages that the reader has not confirmed stay, and new
    /// ones are dropped instead.
    pub fn tap(self: &Arc<Self>, worker: &Worker, fresh: bool, keeps: bool) -> Tap {
        let mut store = self.lock();
        let at = if fresh { store.tail } else { store.head };
        let number = store.next_reader;
        store.next_reader += 1;
        store.readers.push(Reader {
            number,
            at,
            keeps,
            asleep: false,
            mailbox: worker.thread.mailbox().clone(),
            task: worker.thread.scheduler().current(),
        });
        drop(store);
        Tap { ring: self.clone(), number, next: at }
    }

    /// Whether a server has still to get messages.
    pub fn is_awaited(&self) -> bool {
        let store = self.lock();
        store.readers.iter().any(|reader| reader.keeps && reader.at < store.tail)
    }

    /// Locks the messages.
    pub fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Removes the oldest messages until there is room; `false` if a reader keeps them.
    fn make_room(&mut self, wanted: usize) -> bool {
        let size = self.bytes.len() as u64;
        while self.tail - self.head + wanted as u64 > size {
            let held = |reader: &Reader| reader.keeps && reader.at <= self.head;
            if self.readers.iter().any(held) {
                return false;
            }
            self.head += LENGTH as u64 + self.length(self.head);
        }
        true
    }

    fn put(&mut self, part: &[u8]) {
        let size = self.bytes.len();
        let at = (self.tail % size as u64) as usize;
        let (first, rest) = part.split_at(part.len().min(size - at));
        self.bytes[at..at + first.len()].copy_from_slice(first);
        self.bytes[..rest.len()].copy_from_slice(rest);
        self.tail += part.len() as u64;
    }

    /// The bytes at a position, in one or two parts.
    pub fn parts(&self, at: u64, count: usize) -> [&[u8]; 2] {
        let size = self.bytes.len();
        let at = (at % size as u64) as usize;
        let first = count.min(size - at);
        [&self.bytes[at..at + first], &self.bytes[..count - first]]
    }

    /// The length of the message at a position.
    pub fn length(&self, at: u64) -> u64 {
        let mut length = [0; LENGTH];
        let [first, rest] = self.parts(at, LENGTH);
        length[..first.len()].copy_from_slice(first);
        length[first.len()..].copy_from_slice(rest);
        u64::from(u32::from_le_bytes(length))
    }

    fn reader(&mut self, number: u64) -> &mut Reader {
        let found = self.readers.iter_mut().find(|reader| reader.number == number);
        found.expect("a reader is listed as long as its tap is there")
    }

    fn wake_readers(&mut self) {
        for reader in &mut self.readers {
            if std::mem::take(&mut reader.asleep) {
                reader.mailbox.wake(reader.task, Wake::MESSAGE);
            }
        }
    }
}

/// A reader's place in a ring, given up when dropped.
#[derive(Debug)]
pub struct Tap {
    ring: Arc<Ring>,
    number: u64,
    next: u64,
}

impl Tap {
    /// Appends messages until `limit` bytes are exceeded. `false` if there was none: then the task
    /// that made the tap is woken by the next one.
    pub fn read(&mut self, framing: Framing, limit: usize, out: &mut Vec<u8>) -> bool {
        let (mut store, before) = (self.ring.lock(), out.len());
        // Messages overwritten before they were read are lost to readers that do not keep them.
        self.next = self.next.max(store.head);
        while self.next < store.tail && out.len() < limit {
            let length = store.length(self.next);
            if framing == Framing::Counted {
                out.extend_from_slice(length.to_string().as_bytes());
                out.push(b' ');
            }
            let start = out.len();
            let parts = store.parts(self.next + LENGTH as u64, length as usize);
            parts.iter().for_each(|part| out.extend_from_slice(part));
            if framing == Framing::Lines {
                out[start..].iter_mut().filter(|byte| **byte == b'\n').for_each(|it| *it = b' ');
            }
            if framing != Framing::Counted {
                out.push(b'\n');
            }
            self.next += LENGTH as u64 + length;
        }
        let found = out.len() > before;
        store.reader(self.number).asleep = !found;
        found
    }

    /// Confirms that the messages read so far have arrived, so that the ring may drop them.
    pub fn confirm(&mut self) {
        self.ring.lock().reader(self.number).at = self.next;
    }

    /// Goes back to the last [`Tap::confirm`]: messages read since then have not arrived, and are
    /// read again.
    pub fn rewind(&mut self) {
        self.next = self.ring.lock().reader(self.number).at;
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.ring.lock().readers.retain(|reader| reader.number != self.number);
    }
}
