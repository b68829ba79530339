//! Listening sockets, client connections per thread, and listeners that wait for handshakes to end.

use crate::state::worker::Worker;
use reactor::{Handle, TaskId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use stdx::Mutex;

/// The number of tasks, of all threads, that listen on each handle: the last one closes it, so that
/// no task accepts on a descriptor that belongs to another socket by then.
#[derive(Debug, Default)]
pub struct Listening(Mutex<HashMap<Handle, usize>>);

impl Listening {
    pub fn enter(&self, handle: Handle) {
        *self.counts().entry(handle).or_insert(0) += 1;
    }

    /// Removes a task; returns whether it was the last one.
    pub fn leave(&self, handle: Handle) -> bool {
        let mut counts = self.counts();
        let Some(count) = counts.get_mut(&handle) else { return false };
        *count -= 1;
        let last = *count == 0;
        if last {
            counts.remove(&handle);
        }
        last
    }

    /// Whether no task listens any more.
    pub fn is_over(&self) -> bool {
        self.counts().is_empty()
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Handle, usize>> {
        self.0.lock()
    }
}

/// The clients of each thread, including those handed to it.
#[derive(Debug, Default)]
pub struct Loads(Vec<Load>);

/// A line of the cache of its own: mostly its thread alone writes it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Load(AtomicU32);

impl Loads {
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Load::default()).collect())
    }

    pub(crate) fn enter(&self, thread: usize) {
        self.0[thread].0.fetch_add(1, Relaxed);
    }

    pub(crate) fn leave(&self, thread: usize) {
        self.0[thread].0.fetch_sub(1, Relaxed);
    }

    /// Clients of a thread.
    pub fn of(&self, thread: usize) -> u32 {
        self.0.get(thread).map_or(0, |load| load.0.load(Relaxed))
    }
}

/// Listeners of one thread that have paused at a limit.
#[derive(Debug, Default)]
pub struct PausedListeners(pub RefCell<Vec<TaskId>>);

impl PausedListeners {
    /// Has the running task woken when handshakes have ended.
    pub fn add(&self, worker: &Worker) {
        let task = worker.thread.scheduler().current();
        let mut paused = self.0.borrow_mut();
        if !paused.contains(&task) {
            paused.push(task);
        }
    }
}
