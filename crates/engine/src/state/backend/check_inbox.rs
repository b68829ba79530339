//! The checks of a thread as other threads see them: an inbox, and the counts that compare loads.
//!
//! A move writes these lines that another thread reads or writes: the receiver's inbox, the
//! lines of the records (24 bytes each), and the two of a letter to its mailbox (the queue's tail
//! and the letter); if the receiver sleeps, also its `parked` flag and an eventfd. Deciding writes
//! none: it reads the counts and the heartbeat of one other thread.

use crate::state::backend::check_record::{Haste, Record};
use reactor::{Heartbeat, Mailbox, TaskId, Wake};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What a thread's checker shows to the others.
#[derive(Debug, Default)]
pub struct Desk {
    /// Checks that sleep, run and wait.
    pub counts: Counts,
    inbox: Inbox,
}

/// Written by the owner alone.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Counts {
    running: AtomicU32,
    batches: AtomicU64,
    checks: AtomicU64,
    given: AtomicU64,
    owner: OnceLock<Owner>,
}

/// Written by givers, emptied by the owner.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Inbox(Mutex<Letters>);

/// What others want of a thread's checker.
#[derive(Debug, Default)]
pub struct Letters {
    /// Checks that it takes over.
    pub given: Vec<Record>,
    /// Checks that are to come earlier, wherever they sleep.
    pub hastened: Vec<Haste>,
}

/// The way to a thread's checker.
#[derive(Debug)]
pub struct Owner {
    /// Wakes the thread.
    pub mailbox: Arc<Mailbox>,
    /// The task that starts due checks.
    pub checker: TaskId,
    /// How busy the thread is.
    pub heartbeat: Arc<Heartbeat>,
}

/// What a thread has done about checks since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Batches under way.
    pub running: u32,
    /// Batches run.
    pub batches: u64,
    /// Checks run.
    pub checks: u64,
    /// Checks given to other threads.
    pub given: u64,
}

impl Counts {
    /// A batch of `checks` begins.
    pub fn begin(&self, checks: usize) {
        self.running.store(self.running() + 1, Relaxed);
        add(&self.batches, 1);
        add(&self.checks, checks);
    }

    /// A batch has ended.
    pub fn end(&self) {
        self.running.store(self.running() - 1, Relaxed);
    }

    /// Batches under way.
    pub fn running(&self) -> u32 {
        self.running.load(Relaxed)
    }

    /// The owner gives checks away.
    pub fn give(&self, checks: usize) {
        add(&self.given, checks);
    }
}

/// There is one writer, so that a plain load and store do.
fn add(count: &AtomicU64, more: usize) {
    count.store(count.load(Relaxed) + more as u64, Relaxed);
}

impl Desk {
    /// Makes the owner known; from then on the thread takes checks.
    pub fn open(&self, owner: Owner) {
        let _ = self.counts.owner.set(owner);
    }

    /// The thread's load: what is in its run queue, and its batches under way. `None` while it has
    /// no checker.
    pub fn load(&self) -> Option<u32> {
        let queued = self.counts.owner.get()?.heartbeat.load();
        Some(queued.saturating_add(self.counts.running()))
    }

    /// Gives records to the thread and wakes its checker.
    pub fn give(&self, records: impl IntoIterator<Item = Record>) {
        self.inbox().given.extend(records);
        self.rouse();
    }

    /// Asks the thread to let a check come earlier, if it sleeps there.
    pub fn hasten(&self, haste: Haste) {
        self.inbox().hastened.push(haste);
        self.rouse();
    }

    fn rouse(&self) {
        if let Some(owner) = self.counts.owner.get() {
            owner.mailbox.wake(owner.checker, Wake::MESSAGE);
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Letters> {
        self.inbox.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what others gave and want.
    pub fn take(&self) -> Letters {
        std::mem::take(&mut *self.inbox())
    }

    /// What the checks of this thread do.
    pub fn activity(&self) -> Activity {
        let Counts { batches, checks, given, .. } = &self.counts;
        let read = |count: &AtomicU64| count.load(Relaxed);
        let running = self.counts.running();
        Activity { running, batches: read(batches), checks: read(checks), given: read(given) }
    }
}
