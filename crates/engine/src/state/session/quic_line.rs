//! State that the threads of a QUIC listener share: datagrams on their way from the thread that has
//! received them to the thread that has their connection, and the processes before and after.

use crate::state::os_handles::QuicSockets;
use reactor::{Handle, Mailbox, TaskId, Wake};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{
    AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, OnceLock};
use stdx::Mutex;

/// Datagrams that wait for a thread; further ones are lost, as in a network.
const CAPACITY: usize = 1_024;

/// The part of connection IDs and tokens that the processes of a listener have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicIdentity {
    /// The number of the process.
    pub process: u8,
    /// The key of connection IDs.
    pub key: [u64; 2],
    /// The secret of tokens and stateless resets, if the configuration has none.
    pub secret: Vec<u8>,
}

/// A datagram on its way to another thread.
#[derive(Debug)]
pub struct StrayDatagram {
    /// The sender.
    pub from: SocketAddr,
    /// The address that it was sent to, if the system reports it.
    pub to: Option<IpAddr>,
    /// The ECN bits.
    pub ecn: u8,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// Counts of datagrams that arrived elsewhere than at their thread.
#[derive(Debug, Default)]
pub struct StrayCounters {
    /// Passed to another thread.
    pub steered: AtomicU64,
    /// Passed to another process.
    pub relayed: AtomicU64,
    /// Lost because a queue was full, or because their process has ended.
    pub lost: AtomicU64,
}

/// Datagrams for one thread.
#[derive(Debug, Default)]
struct StrayQueue {
    datagrams: Mutex<VecDeque<StrayDatagram>>,
    /// The task that takes them, once the thread runs.
    task: OnceLock<(Arc<Mailbox>, TaskId)>,
}

/// State of a QUIC listener.
#[derive(Debug)]
pub struct QuicLine {
    sockets: Option<Arc<QuicSockets>>,
    identity: OnceLock<QuicIdentity>,
    queues: Vec<StrayQueue>,
    /// Running processes before this one, each with its number.
    predecessors: Mutex<Vec<(u8, Handle)>>,
    /// Another process receives the datagrams of new connections.
    has_successor: AtomicBool,
    /// Counts of datagrams that arrived at another thread or process than their connection's.
    pub strays: StrayCounters,
}

impl QuicLine {
    pub(crate) fn new(sockets: Option<Arc<QuicSockets>>, threads: usize) -> Self {
        let predecessors = sockets.iter().flat_map(|all| all.predecessors.iter().copied());
        let identity = sockets.as_ref().map(|all| OnceLock::from(all.identity.clone()));
        Self {
            predecessors: Mutex::new(predecessors.collect()),
            identity: identity.unwrap_or_default(),
            queues: (0..threads).map(|_| StrayQueue::default()).collect(),
            has_successor: AtomicBool::new(false),
            strays: StrayCounters::default(),
            sockets,
        }
    }

    /// The identity of the process; the first thread that needs it draws it, unless another process
    /// has handed one over.
    pub fn identity(&self, draw: impl FnOnce() -> QuicIdentity) -> &QuicIdentity {
        self.identity.get_or_init(draw)
    }

    /// The sockets of the listener, each with its threads, the first of which receives; empty: one
    /// socket for all threads.
    pub fn sockets(&self) -> &[(Handle, Vec<u16>)] {
        self.sockets.as_ref().map_or(&[], |sockets| &sockets.sockets)
    }

    /// The socket over which this process and its successor exchange datagrams.
    pub fn own_end(&self) -> Option<Handle> {
        self.sockets.as_ref().map(|sockets| sockets.own)
    }

    /// The sockets of the processes before this one that run, the one that it replaces first.
    pub fn predecessors(&self) -> Vec<Handle> {
        self.predecessors.lock().iter().map(|(_, handle)| *handle).collect()
    }

    /// The socket of a process before this one.
    pub fn predecessor(&self, process: u8) -> Option<Handle> {
        let all = self.predecessors.lock();
        all.iter().find(|(number, _)| *number == process).map(|(_, handle)| *handle)
    }

    /// Forgets a process that has ended.
    pub fn forget_predecessor(&self, process: u8) {
        self.predecessors.lock().retain(|(number, _)| *number != process);
    }

    /// Whether another process receives the datagrams of new connections.
    pub fn has_successor(&self) -> bool {
        self.has_successor.load(Acquire)
    }

    /// Notes that another process receives the datagrams of new connections.
    pub fn set_successor(&self) {
        self.has_successor.store(true, Release);
    }

    /// Makes a task the one that takes the datagrams for a thread.
    pub fn attend(&self, thread: usize, mailbox: Arc<Mailbox>, task: TaskId) {
        if let Some(queue) = self.queues.get(thread) {
            let _ = queue.task.set((mailbox, task));
        }
    }

    /// Passes a datagram to a thread; `false`: its queue is full, and the datagram is lost.
    pub fn steer(&self, thread: usize, datagram: StrayDatagram) -> bool {
        let Some(queue) = self.queues.get(thread) else { return false };
        let (count, full) = {
            let mut datagrams = queue.datagrams.lock();
            let full = datagrams.len() >= CAPACITY;
            if !full {
                datagrams.push_back(datagram);
            }
            (datagrams.len(), full)
        };
        let counter = if full { &self.strays.lost } else { &self.strays.steered };
        counter.fetch_add(1, Relaxed);
        // A task with datagrams before this one was woken for them.
        if let Some((mailbox, task)) = queue.task.get().filter(|_| count == 1) {
            mailbox.wake(*task, Wake::IO);
        }
        !full
    }

    /// The datagrams for a thread.
    pub fn take(&self, thread: usize) -> VecDeque<StrayDatagram> {
        let Some(queue) = self.queues.get(thread) else { return VecDeque::new() };
        std::mem::take(&mut *queue.datagrams.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(n: usize) -> StrayDatagram {
        let from = "192.0.2.1:4".parse().unwrap();
        StrayDatagram { from, to: None, ecn: 0, bytes: n.to_le_bytes().to_vec() }
    }

    #[test]
    fn datagrams_wait_for_their_thread_up_to_a_bound() {
        let line = QuicLine::new(None, 2);
        let taken = (0..CAPACITY + 3).filter(|n| line.steer(1, datagram(*n)));
        assert_eq!(taken.count(), CAPACITY);
        assert!(!line.steer(7, datagram(0)), "there is no such thread");
        assert!(line.take(0).is_empty());
        let taken = line.take(1);
        assert_eq!(taken.len(), CAPACITY);
        assert_eq!(taken[1].bytes, 1usize.to_le_bytes());
        let strays = &line.strays;
        assert_eq!((strays.steered.load(Relaxed), strays.lost.load(Relaxed)), (1_024, 3));
        assert!(line.take(1).is_empty());
    }

    #[test]
    fn processes_before_this_one_are_known_until_they_end() {
        let identity = QuicIdentity { process: 5, ..QuicIdentity::default() };
        let predecessors = vec![(4, Handle(70)), (3, Handle(71))];
        let own = Handle(72);
        let sockets = QuicSockets { sockets: Vec::new(), identity, own, predecessors };
        let line = QuicLine::new(Some(Arc::new(sockets)), 1);
        assert_eq!(line.identity(QuicIdentity::default).process, 5);
        assert_eq!(line.predecessors(), [Handle(70), Handle(71)]);
        assert_eq!(line.predecessor(3), Some(Handle(71)));
        line.forget_predecessor(3);
        assert_eq!((line.predecessor(3), line.predecessor(4)), (None, Some(Handle(70))));
    }
}
