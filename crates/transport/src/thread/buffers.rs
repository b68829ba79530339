//! A thread's buffers, and how many of them there may be.

use buf::{Buf, Levels, Pool};
use reactor::{FairSemaphore, Thread, Tick, Urgency, WaitTicket};
use settings::memory::BufferLimit;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Free buffers that a thread keeps.
const KEEP: usize = 256;
/// Bytes of a buffer for long bodies; a body gets one when it has filled an ordinary one.
const BULK: usize = 256 * 1024;
/// Free bulk buffers that a thread keeps.
const KEEP_BULK: usize = 16;
/// The most bulk buffers in use on a thread: a slow reader holds one all the time, and there may be
/// thousands of slow readers.
const MOST_BULK: usize = 64;

/// Size and use of a thread's pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolUse {
    /// Name of the pool.
    pub name: &'static str,
    /// Bytes of each buffer.
    pub size: usize,
    /// Buffers of the pool.
    pub allocated: usize,
    /// Buffers in use.
    pub used: usize,
}

/// Ordinary buffers, and bigger ones for long bodies while there is no limit.
pub struct Buffers {
    thread: Rc<Thread>,
    ordinary: Pool,
    bulk: Pool,
    supply: Option<Rc<FairSemaphore>>,
    /// Buffers of the thread, where requests that hold some without need end.
    shed_of: Option<isize>,
    /// Whether memory is so short that there are no bulk buffers.
    tight: Cell<bool>,
    /// Whether memory is so short that queued requests hold no buffer.
    short: Cell<bool>,
}

impl Buffers {
    /// Buffers of `size` bytes for one of `threads` threads.
    pub fn new(
        thread: &Rc<Thread>,
        size: usize,
        limit: Option<BufferLimit>,
        threads: usize,
    ) -> Self {
        let own = limit.map(|limit| limit.of_thread(threads.max(1)));
        Self {
            thread: thread.clone(),
            ordinary: Pool::new(size, KEEP),
            bulk: Pool::new(BULK.max(size), KEEP_BULK),
            supply: own.map(|own| Rc::new(FairSemaphore::new(own.buffers, own.reserve))),
            shed_of: own.filter(|own| own.sheds).map(|own| own.buffers as isize),
            tight: Cell::new(false),
            short: Cell::new(false),
        }
    }

    /// Bytes of an ordinary buffer.
    pub fn size(&self) -> usize {
        self.ordinary.size()
    }

    /// Buffers handed out and not given back.
    pub fn in_use(&self) -> usize {
        self.ordinary.in_use() + self.bulk.in_use()
    }

    /// Ordinary and bulk buffers, a count for other threads to read.
    pub fn levels(&self) -> [Arc<Levels>; 2] {
        [self.ordinary.levels().clone(), self.bulk.levels().clone()]
    }

    /// Use of the pools, for operators.
    pub fn pools(&self) -> [PoolUse; 2] {
        let of = |name, pool: &Pool| PoolUse {
            name,
            size: pool.size(),
            allocated: pool.in_use() + pool.kept(),
            used: pool.in_use(),
        };
        [of("buffer", &self.ordinary), of("bulk_buffer", &self.bulk)]
    }

    /// A free buffer. `None`: the task has to wait, with [`Buffers::take`].
    pub fn try_take(&self, need: Urgency) -> Option<Buf> {
        match &self.supply {
            Some(supply) if !supply.try_acquire(need) => None,
            _ => Some(self.ordinary.take()),
        }
    }

    /// A free buffer, or the next one, in order of arrival. `None` at the deadline.
    pub async fn take(&self, need: Urgency, deadline: Option<Tick>) -> Option<Buf> {
        match self.try_take(need) {
            Some(buffer) => Some(buffer),
            None => Box::pin(self.wait(need, deadline)).await,
        }
    }

    #[cold]
    async fn wait(&self, need: Urgency, deadline: Option<Tick>) -> Option<Buf> {
        let mut claim = Claim::default();
        claim.renew(self, Some(need));
        loop {
            if let Some((_, buffer)) = claim.collect(self) {
                return Some(buffer);
            }
            if deadline.is_some_and(|deadline| deadline.is_due(self.thread.tick())) {
                return None;
            }
            self.thread.scheduler().wait(deadline).await;
        }
    }

    /// A buffer at once, regardless of the limit: for checks, which are few at a time.
    pub fn take_anyway(&self) -> Buf {
        if let Some(supply) = &self.supply {
            supply.acquire_beyond_limit();
        }
        self.ordinary.take()
    }

    /// A bulk buffer. `None` while buffers are limited, or many bulk buffers are in use: only
    /// ordinary buffers are used then.
    pub fn take_bulk(&self) -> Option<Buf> {
        let may = self.supply.is_none() && self.bulk.in_use() < MOST_BULK && !self.tight.get();
        may.then(|| self.bulk.take())
    }

    /// Whether so many buffers are in use that a request may not hold one while it waits. The bound
    /// is three quarters for queued requests, and nine tenths for requests whose peer does not
    /// read; the rest is for requests that progress.
    pub fn is_crowded(&self, queued: bool) -> bool {
        let (Some(all), Some(supply)) = (self.shed_of, &self.supply) else { return false };
        let short = queued && self.short.get();
        short || supply.free() < if queued { all / 4 } else { all / 10 }
    }

    /// Sets whether bulk buffers are forbidden, and whether queued requests hold no buffer at all.
    pub fn set_tight(&self, tight: bool, short: bool) {
        self.tight.set(tight);
        self.short.set(short);
    }

    /// Frees the buffers that are kept for later.
    pub fn trim(&self) {
        self.ordinary.trim();
        self.bulk.trim();
    }

    /// Takes a buffer back; one without memory is no buffer.
    pub fn release(&self, buffer: Buf) {
        if buffer.capacity() > 0 {
            self.give(buffer);
        }
    }

    /// Takes a buffer back, and wakes the task that waits for one.
    pub(crate) fn give(&self, buffer: Buf) {
        if buffer.capacity() != self.ordinary.size() {
            return self.bulk.give(buffer);
        }
        self.ordinary.give(buffer);
        if let Some(supply) = &self.supply {
            supply.release(self.thread.scheduler());
        }
    }
}

/// A task's place in the queue for a buffer, in one queue at a time: the response goes first.
#[derive(Default)]
pub struct Claim(Option<Box<BufferWait>>);

/// A waiter, which leaves the queue on drop.
struct BufferWait {
    thread: Rc<Thread>,
    supply: Rc<FairSemaphore>,
    pub ticket: Option<WaitTicket>,
}

impl Claim {
    /// The buffer and its purpose, once one is free.
    #[inline]
    pub fn collect(&mut self, buffers: &Buffers) -> Option<(Urgency, Buf)> {
        self.0.as_ref()?;
        self.redeem(buffers)
    }

    #[cold]
    fn redeem(&mut self, buffers: &Buffers) -> Option<(Urgency, Buf)> {
        let place = self.0.as_mut()?;
        match place.supply.claim(place.ticket.take()?) {
            Ok(need) => {
                self.0 = None;
                Some((need, buffers.ordinary.take()))
            }
            Err(ticket) => {
                place.ticket = Some(ticket);
                None
            }
        }
    }

    /// Joins the queue of the purpose needed now, or none.
    #[inline]
    pub fn renew(&mut self, buffers: &Buffers, need: Option<Urgency>) {
        if self.0.is_some() || need.is_some() {
            self.queue(buffers, need);
        }
    }

    #[cold]
    fn queue(&mut self, buffers: &Buffers, need: Option<Urgency>) {
        let stands =
            self.0.as_ref().and_then(|place| place.ticket.as_ref()).map(WaitTicket::urgency);
        if stands == need {
            return;
        }
        self.0 = None;
        let (Some(need), Some(supply)) = (need, &buffers.supply) else { return };
        let (thread, supply) = (buffers.thread.clone(), supply.clone());
        thread.heartbeat().activity().buffer_waits.add(1);
        let ticket = Some(supply.enqueue(thread.scheduler(), need));
        self.0 = Some(Box::new(BufferWait { thread, supply, ticket }));
    }
}

impl Drop for BufferWait {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.supply.cancel(self.thread.scheduler(), ticket);
        }
    }
}
