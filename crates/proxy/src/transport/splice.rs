//! Payload that goes through pipes of the system instead of buffers (`option splice-auto` and its family).
//! Never looks at it.
//!
//! Pipes are few (`maxpipes`) and kept by the thread that opened them: a direction takes one when
//! it has something to move, and gives it back when it has moved all. Without one bytes are copied.

use crate::settings::splice::Wishes;
use crate::state::runtime::ProxyRef;
use crate::state::transaction::Transaction;
use crate::state::worker::Worker;
use reactor::{Pipe, Socket};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Free pipes that a thread keeps.
const KEEP: usize = 64;

/// When the payload of a direction goes through a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Splicing {
    /// Never.
    #[default]
    Never,
    /// Once the source has filled a buffer: then there is so much that moving pages is cheaper than
    /// copying bytes.
    Bulk,
    /// Whenever there is more than a buffer holds.
    Always,
}

/// What both directions of a transaction do: towards the server, towards the client.
pub(crate) fn of(tx: &Transaction) -> [Splicing; 2] {
    if tx.worker.shared.settings.splice.pipes == 0 {
        return [Splicing::Never; 2];
    }
    let (front, side): (&ProxyRef, &ProxyRef) = (&tx.client.proxy, tx.side());
    let (front, back) = (front.settings.splice, side.settings.splice);
    let either = |wish: fn(Wishes) -> bool| wish(front) || wish(back);
    let auto = either(|it| it.auto);
    let decide = |always| match (always, auto) {
        (true, _) => Splicing::Always,
        (false, true) => Splicing::Bulk,
        (false, false) => Splicing::Never,
    };
    [decide(either(|it| it.request)), decide(either(|it| it.response))]
}

/// Whether a socket is of a kind that no pipe can be filled from.
pub(crate) fn is_unable(error: &io::Error) -> bool {
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
    /// Those in use and those that are free.
    pub fn counts(&self) -> (u32, u32) {
        let used = self.used.load(Relaxed);
        (used, self.open.load(Relaxed).saturating_sub(used))
    }

    /// Bytes that have gone through pipes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// The free pipes of a thread.
#[derive(Debug, Default)]
pub(crate) struct Shelf(RefCell<Vec<Pipe>>);

/// A pipe in use by one direction.
#[derive(Debug)]
pub(crate) struct Lane {
    worker: Rc<Worker>,
    pipe: Option<Pipe>,
    moved: u64,
}

impl Lane {
    /// Takes a pipe, if there is one to be had.
    pub(crate) fn take(worker: &Worker) -> Option<Self> {
        let free = worker.pipes.0.borrow_mut().pop();
        let pipe = match free {
            Some(pipe) => pipe,
            None => Self::open(worker)?,
        };
        worker.shared.pipes.used.fetch_add(1, Relaxed);
        Some(Self { worker: worker.handle()?, pipe: Some(pipe), moved: 0 })
    }

    fn open(worker: &Worker) -> Option<Pipe> {
        let (limits, pipes) = (worker.shared.settings.splice, &worker.shared.pipes);
        let count = |now: u32| (now < limits.pipes).then_some(now + 1);
        pipes.open.fetch_update(Relaxed, Relaxed, count).ok()?;
        let opened = Pipe::open(&worker.thread, limits.size as usize);
        if opened.is_err() {
            pipes.open.fetch_sub(1, Relaxed);
        }
        opened.ok()
    }

    fn pipe(&mut self) -> &mut Pipe {
        self.pipe.as_mut().expect("only its drop takes the pipe")
    }

    /// Whether it holds something.
    pub(crate) fn holds_data(&self) -> bool {
        self.pipe.as_ref().is_some_and(|pipe| pipe.held() > 0)
    }

    /// Takes up to `limit` bytes in; 0 at the end of the stream. It must be empty.
    pub(crate) fn fill(&mut self, from: &Socket, limit: u64) -> io::Result<usize> {
        self.pipe().fill(from, limit)
    }

    /// Lets go what the destination takes; how many bytes that is, and `WouldBlock` or another
    /// error if it is not all.
    pub(crate) fn drain(&mut self, to: &Socket) -> (usize, io::Result<()>) {
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
        let pipes = &self.worker.shared.pipes;
        pipes.used.fetch_sub(1, Relaxed);
        pipes.bytes.fetch_add(self.moved, Relaxed);
        let Some(pipe) = self.pipe.take() else { return };
        let mut free = self.worker.pipes.0.borrow_mut();
        match pipe.held() == 0 && free.len() < KEEP {
            true => free.push(pipe),
            false => drop(pipes.open.fetch_sub(1, Relaxed)),
        }
    }
}
