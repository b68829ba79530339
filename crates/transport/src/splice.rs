//! Payload that moves through system pipes instead of buffers (`option splice-auto` and its
//! family).
//!
//! Pipes are few (`maxpipes`) and kept by the thread that opened them: a direction takes a pipe
//! when it has bytes to move, and returns it when all are moved. Without a pipe, bytes are copied.

use reactor::{Pipe, Socket, Thread};
use settings::splice::PipeLimits;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Free pipes that a thread keeps.
const KEEP: usize = 64;

/// Condition for splicing in a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Splicing {
    /// No splicing.
    #[default]
    Never,
    /// Once the source has filled a buffer: with that much payload, moving pages is cheaper than
    /// copying bytes.
    Bulk,
    /// Whenever the payload is larger than a buffer.
    Always,
}

/// Whether a socket is of a kind that cannot fill a pipe.
pub fn is_unable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// The pipes of all threads.
#[derive(Debug, Default)]
pub struct Pipes {
    open: AtomicU32,
    used: AtomicU32,
    bytes: AtomicU64,
}

impl Pipes {
    /// Pipes in use and free pipes.
    pub fn counts(&self) -> (u32, u32) {
        let used = self.used.load(Relaxed);
        (used, self.open.load(Relaxed).saturating_sub(used))
    }

    /// Bytes that passed through pipes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// The free pipes of a thread.
#[derive(Debug)]
pub struct PipePool {
    thread: Rc<Thread>,
    limits: PipeLimits,
    free: RefCell<Vec<Pipe>>,
    process: Arc<Pipes>,
}

impl PipePool {
    /// An empty pool within the limits of the process.
    pub fn new(thread: &Rc<Thread>, limits: PipeLimits, process: &Arc<Pipes>) -> Rc<Self> {
        let (thread, process) = (thread.clone(), process.clone());
        Rc::new(Self { thread, limits, free: RefCell::default(), process })
    }

    /// A new pipe, unless the process has reached its limit.
    fn open(&self) -> Option<Pipe> {
        let count = |now: u32| (now < self.limits.pipes).then_some(now + 1);
        self.process.open.fetch_update(Relaxed, Relaxed, count).ok()?;
        let opened = Pipe::open(&self.thread, self.limits.size as usize);
        if opened.is_err() {
            self.process.open.fetch_sub(1, Relaxed);
        }
        opened.ok()
    }
}

/// A pipe in use by one direction.
#[derive(Debug)]
pub struct Lane {
    pool: Rc<PipePool>,
    pipe: Option<Pipe>,
    moved: u64,
}

impl Lane {
    /// Takes a pipe, if one is available.
    pub fn take(pool: &Rc<PipePool>) -> Option<Self> {
        let free = pool.free.borrow_mut().pop();
        let pipe = match free {
            Some(pipe) => pipe,
            None => pool.open()?,
        };
        pool.process.used.fetch_add(1, Relaxed);
        Some(Self { pool: pool.clone(), pipe: Some(pipe), moved: 0 })
    }

    fn pipe(&mut self) -> &mut Pipe {
        self.pipe.as_mut().expect("only its drop takes the pipe")
    }

    /// Whether the pipe holds bytes.
    pub fn holds_data(&self) -> bool {
        self.pipe.as_ref().is_some_and(|pipe| pipe.held() > 0)
    }

    /// Reads up to `limit` bytes into the empty pipe; 0 at the end of the stream.
    pub fn fill(&mut self, from: &Socket, limit: u64) -> io::Result<usize> {
        self.pipe().fill(from, limit)
    }

    /// Moves the bytes that the destination takes; returns their number, and `WouldBlock` or
    /// another error if bytes are left.
    pub fn drain(&mut self, to: &Socket) -> (usize, io::Result<()>) {
        let mut sent = 0;
        while self.holds_data() {
            match self.pipe().drain(to) {
                Ok(0) => return (sent, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    sent += count;
                    self.moved += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (sent, Err(error)),
            }
        }
        (sent, Ok(()))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let process = &self.pool.process;
        process.used.fetch_sub(1, Relaxed);
        process.bytes.fetch_add(self.moved, Relaxed);
        let Some(pipe) = self.pipe.take() else { return };
        let mut free = self.pool.free.borrow_mut();
        match pipe.held() == 0 && free.len() < KEEP {
            true => free.push(pipe),
            false => drop(process.open.fetch_sub(1, Relaxed)),
        }
    }
}
