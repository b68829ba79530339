//! The watchdog: finds a thread that does not come back to its loop. Never interrupts one that sleeps.

use crate::throughput::Throughput;
use sched::Activity;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// CPU time that one turn of a loop may take before the process is given up, in nanoseconds.
pub const LIMIT: u64 = 2_000_000_000;

/// One thread's sign of life. Written by its owner only, once or twice a turn.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Pulse {
    turns: AtomicU64,
    asleep: AtomicBool,
    thread: AtomicI32,
    load: AtomicU32,
    /// When its last turn began, and when the next one is expected at the latest.
    last_turn: AtomicU64,
    next_turn: AtomicU64,
    activity: Arc<Activity>,
    throughput: Throughput,
}

impl Pulse {
    /// The kernel's number of the owner; 0 before it has started.
    pub fn system_thread(&self) -> i32 {
        self.thread.load(Ordering::Relaxed)
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

    /// The owner's counters, what it runs, and the switch of its profiling.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// What the owner has sent.
    pub fn throughput(&self) -> &Throughput {
        &self.throughput
    }

    /// The owner introduces itself, from its own thread.
    pub fn start(&self) {
        self.thread.store(sys::cpu::thread_id(), Ordering::Relaxed);
    }

    /// When the owner's last turn began, in nanoseconds of the process's clock.
    pub(crate) fn last_turn(&self) -> u64 {
        self.last_turn.load(Ordering::Relaxed)
    }

    /// When the owner expects its next turn to begin at the latest. While it is in one, that is
    /// when this began.
    pub(crate) fn next_turn(&self) -> u64 {
        self.next_turn.load(Ordering::Relaxed)
    }

    /// The owner is about to wait in its poller, to this moment at most.
    pub fn sleep(&self, until: u64) {
        self.next_turn.store(until, Ordering::Relaxed);
        self.asleep.store(true, Ordering::Relaxed);
    }

    /// The owner's turn has begun at this moment.
    pub(crate) fn date(&self, now: u64) {
        self.last_turn.store(now, Ordering::Relaxed);
        self.next_turn.store(now, Ordering::Relaxed);
    }

    /// The owner begins a turn.
    pub fn beat(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        let turns = self.turns.load(Ordering::Relaxed);
        self.turns.store(turns.wrapping_add(1), Ordering::Relaxed);
    }

    /// The owner ends a turn with this much left in its run queue.
    pub fn leave(&self, load: usize) {
        self.load.store(u32::try_from(load).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Items in the owner's run queue at the end of its last turn.
    pub fn load(&self) -> u32 {
        self.load.load(Ordering::Relaxed)
    }
}

/// What is known of a thread that seems stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stuck {
    /// Number of the thread, from 0.
    pub thread: usize,
    /// CPU nanoseconds since it was last seen to begin a turn.
    pub cpu: u64,
    /// What it runs, if that is a task.
    pub function: Option<&'static str>,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (thread, spent) = (self.thread + 1, self.cpu / 1_000_000);
        let function = self.function.unwrap_or("no task");
        write!(f, "Thread {thread} has not come back to its loop for {spent} ms of CPU, ")?;
        write!(f, "and runs {function}")
    }
}

/// Looks at pulses now and then.
#[derive(Debug)]
pub struct Watchdog {
    pulses: Vec<Arc<Pulse>>,
    /// Per thread: the turn last seen, and the CPU time at that moment.
    seen: Vec<(u64, u64)>,
}

impl Watchdog {
    /// A watchdog over these threads.
    pub fn new(pulses: Vec<Arc<Pulse>>) -> Self {
        let seen = vec![(u64::MAX, 0); pulses.len()];
        Self { pulses, seen }
    }

    /// Looks once; `cpu` tells the CPU time of a thread by its system number, and is asked only for
    /// threads that do not sleep.
    pub fn look(&mut self, cpu: impl Fn(i32) -> u64) -> Option<Stuck> {
        for (thread, (pulse, seen)) in self.pulses.iter().zip(&mut self.seen).enumerate() {
            let system = pulse.thread.load(Ordering::Relaxed);
            if system == 0 || pulse.is_asleep() {
                continue;
            }
            let turns = pulse.turns.load(Ordering::Relaxed);
            let used = cpu(system);
            if turns != seen.0 {
                *seen = (turns, used);
            } else if used.saturating_sub(seen.1) >= LIMIT {
                let function = pulse.activity.running();
                return Some(Stuck { thread, cpu: used - seen.1, function });
            }
        }
        None
    }

    /// Watches from a thread of its own until the process ends; `report` is called once, when a
    /// thread is stuck, and decides what becomes of the process.
    ///
    /// # Errors
    /// No thread could be made.
    pub fn run(mut self, report: impl FnOnce(Stuck) + Send + 'static) -> std::io::Result<()> {
        let watch = move || {
            sys::process::leave_descriptors();
            loop {
                std::thread::park_timeout(Duration::from_secs(1));
                if let Some(stuck) = self.look(sys::clock::thread_cpu) {
                    return report(stuck);
                }
            }
        };
        std::thread::Builder::new().name("watchdog".into()).spawn(watch).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_thread_is_found_and_a_sleeping_one_is_not() {
        let pulse = Arc::new(Pulse::default());
        let mut dog = Watchdog::new(vec![Arc::default(), pulse.clone()]);
        assert_eq!(dog.look(|_| 0), None, "not started");
        pulse.start();
        pulse.beat();
        assert_eq!(dog.look(|_| 5), None);
        assert_eq!(dog.look(|_| LIMIT + 4), None);
        assert_eq!(dog.look(|_| LIMIT + 5), Some(Stuck { thread: 1, cpu: LIMIT, function: None }));
        pulse.beat();
        assert_eq!(dog.look(|_| LIMIT + 6), None, "it came back");
        pulse.sleep(0);
        assert_eq!(dog.look(|_| panic!("its clock is left alone")), None, "it sleeps");
        pulse.beat();
        assert_eq!(dog.look(|_| 9 * LIMIT), None, "a new turn");
        let stuck = dog.look(|_| 10 * LIMIT).unwrap().to_string();
        let told = "Thread 2 has not come back to its loop for 2000 ms of CPU, and runs no task";
        assert_eq!(stuck, told);
    }
}
