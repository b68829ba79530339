//! Heartbeats of threads, which the watchdog and the clock correction read.

use crate::throughput::Throughput;
use sched::Activity;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// One thread's heartbeat. Written by its owner only, once or twice per turn.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Heartbeat {
    turns: AtomicU64,
    asleep: AtomicBool,
    thread: AtomicI32,
    load: AtomicU32,
    /// Start of the last turn, and latest expected start of the next one.
    last_turn: AtomicU64,
    next_turn: AtomicU64,
    activity: Arc<Activity>,
    throughput: Throughput,
}

impl Heartbeat {
    /// The kernel's id of the owning thread; 0 before it has started.
    pub fn system_thread(&self) -> i32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Turns that the owner has begun, wrapping.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Whether the owner waits in its poller.
    pub fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Nanoseconds of CPU that the owner has used; 0 before it has started.
    pub fn cpu_nanos(&self) -> u64 {
        match self.system_thread() {
            0 => 0,
            system => sys::clock::thread_cpu(system),
        }
    }

    /// Counters of the owner, the function that it runs, and its profiling switch.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Bytes that the owner has sent.
    pub fn throughput(&self) -> &Throughput {
        &self.throughput
    }

    /// Stores the thread's id. Called by the owner from its own thread.
    pub fn start(&self) {
        self.thread.store(sys::cpu::thread_id(), Ordering::Relaxed);
    }

    /// Start of the owner's last turn, in nanoseconds of the process's clock.
    pub(crate) fn last_turn(&self) -> u64 {
        self.last_turn.load(Ordering::Relaxed)
    }

    /// Latest expected start of the owner's next turn. During a turn it is the start of this turn.
    pub(crate) fn next_turn(&self) -> u64 {
        self.next_turn.load(Ordering::Relaxed)
    }

    /// The owner is about to wait in its poller, until this time at most.
    pub fn sleep(&self, until: u64) {
        self.next_turn.store(until, Ordering::Relaxed);
        self.asleep.store(true, Ordering::Relaxed);
    }

    /// The owner's turn has begun at this time.
    pub(crate) fn set_turn_time(&self, now: u64) {
        self.last_turn.store(now, Ordering::Relaxed);
        self.next_turn.store(now, Ordering::Relaxed);
    }

    /// The owner begins a turn.
    pub fn begin_turn(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        let turns = self.turns.load(Ordering::Relaxed);
        self.turns.store(turns.wrapping_add(1), Ordering::Relaxed);
    }

    /// The owner ends a turn with this many items left in its run queue.
    pub fn end_turn(&self, load: usize) {
        self.load.store(u32::try_from(load).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Items in the owner's run queue at the end of its last turn.
    pub fn load(&self) -> u32 {
        self.load.load(Ordering::Relaxed)
    }
}
