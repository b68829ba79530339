//! The checks of a thread as other threads see them: an inbox, and the counts that compare loads.
//!
//! A move writes these cache lines that another thread reads or writes: the receiver's inbox, the
//! lines of the records (24 bytes each), and the two of a message to its mailbox (the queue's tail
//! and the message); if the receiver sleeps, also its `parked` flag and an eventfd. The decision
//! writes no shared memory: it reads the counts and the heartbeat of one other thread.

use crate::state::backend::check_record::{EarlyCheck, Record};
use reactor::{Heartbeat, Mailbox, TaskId, Wake};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard, OnceLock};
use stdx::Mutex;

/// The part of a thread's checker that other threads use.
#[derive(Debug, Default)]
pub struct CheckInbox {
    /// Checks that sleep, run and wait.
    pub counts: Counts,
    inbox: Inbox,
}

/// Counts that the owner alone writes.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Counts {
    running: AtomicU32,
    batches: AtomicU64,
    checks: AtomicU64,
    given: AtomicU64,
    owner: OnceLock<Owner>,
}

/// Requests that other threads write and the owner takes.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Inbox(Mutex<CheckRequests>);

/// Requests of other threads to a thread's checker.
#[derive(Debug, Default)]
pub struct CheckRequests {
    /// Checks that the thread takes over.
    pub given: Vec<Record>,
    /// Checks that have to run earlier, if they sleep here (`observe`, `fastinter`).
    pub hastened: Vec<EarlyCheck>,
}

/// Handles to a thread's checker.
#[derive(Debug)]
pub struct Owner {
    /// Wakes the thread.
    pub mailbox: Arc<Mailbox>,
    /// The task that starts due checks.
    pub checker: TaskId,
    /// How busy the thread is.
    pub heartbeat: Arc<Heartbeat>,
}

/// Counts of a thread's checks since the start.
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

/// Adds to a count: with one writer, a plain load and store suffice.
fn add(count: &AtomicU64, more: usize) {
    count.store(count.load(Relaxed) + more as u64, Relaxed);
}

impl CheckInbox {
    /// Makes the owner known; from then on the thread takes checks.
    pub fn open(&self, owner: Owner) {
        let _ = self.counts.owner.set(owner);
    }

    /// The thread's load: the tasks in its run queue and its batches under way. `None` while it has
    /// no checker.
    pub fn load(&self) -> Option<u32> {
        let queued = self.counts.owner.get()?.heartbeat.load();
        Some(queued.saturating_add(self.counts.running()))
    }

    /// Gives records to the thread and wakes its checker.
    pub fn give(&self, records: impl IntoIterator<Item = Record>) {
        self.inbox().given.extend(records);
        self.wake_checker();
    }

    /// Asks the thread to run a check earlier, if the check sleeps there.
    pub fn hasten(&self, haste: EarlyCheck) {
        self.inbox().hastened.push(haste);
        self.wake_checker();
    }

    fn wake_checker(&self) {
        if let Some(owner) = self.counts.owner.get() {
            owner.mailbox.wake(owner.checker, Wake::MESSAGE);
        }
    }

    fn inbox(&self) -> MutexGuard<'_, CheckRequests> {
        self.inbox.0.lock()
    }

    /// Takes the letters of other threads.
    pub fn take(&self) -> CheckRequests {
        std::mem::take(&mut *self.inbox())
    }

    /// The counts of this thread's checks.
    pub fn activity(&self) -> Activity {
        let Counts { batches, checks, given, .. } = &self.counts;
        let read = |count: &AtomicU64| count.load(Relaxed);
        let running = self.counts.running();
        Activity { running, batches: read(batches), checks: read(checks), given: read(given) }
    }
}
