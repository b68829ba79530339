//! The watchdog: detects threads that do not return to their event loops.
//!
//! A thread that computes without end has a bug, and the process is aborted. A thread that is
//! blocked in the kernel may continue later, so it is reported, once when it is found and once when
//! it is back.

use crate::heartbeat::Heartbeat;
use std::sync::Arc;
use std::time::Duration;
use sys::threads::Threads;

/// CPU time that one turn of a loop may take before the process is given up, in nanoseconds.
pub const LIMIT: u64 = 2_000_000_000;
/// How long a thread may be blocked in the kernel before it is reported, in nanoseconds.
pub const BLOCKED: u64 = 10_000_000_000;
/// Time between two inspections.
const INTERVAL: Duration = Duration::from_secs(1);
/// Nanoseconds between two inspections from which on the whole process was stopped.
const STOPPED: u64 = 3_000_000_000;

/// A thread that does not return to its loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckThread {
    /// Number of the thread, from 0.
    pub thread: usize,
    /// The function of the running task, if any.
    pub function: Option<&'static str>,
    /// The reason why it does not return.
    pub hold: Hold,
}

/// The reason why a thread does not return to its loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// The thread has used so many nanoseconds of CPU since its turn began.
    Busy(u64),
    /// The thread has been blocked in the kernel for so many nanoseconds, at this place.
    Blocked(u64, String),
    /// The thread was blocked for about so many nanoseconds, and runs again.
    Back(u64),
}

impl std::fmt::Display for StuckThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thread = self.thread + 1;
        let function = self.function.unwrap_or("no task");
        match &self.hold {
            Hold::Busy(spent) => write!(
                f,
                "Thread {thread} has not come back to its loop for {} ms of CPU, and runs {function}",
                spent / 1_000_000
            ),
            Hold::Blocked(span, place) => write!(
                f,
                "Thread {thread} has been blocked in the kernel for {} s ({place}), and runs \
                 {function}",
                span / 1_000_000_000
            ),
            Hold::Back(span) => write!(
                f,
                "Thread {thread} has come back from the kernel after {} s",
                span / 1_000_000_000
            ),
        }
    }
}

/// Access to the system, as the watchdog needs it.
pub trait Senses {
    /// Nanoseconds on a clock that never goes back.
    fn now(&self) -> u64;
    /// CPU nanoseconds that a thread has used, by its system number.
    fn cpu(&self, thread: i32) -> u64;
    /// Where a thread sleeps in the kernel; `None` if it does not.
    fn sleeping(&self, thread: i32) -> Option<String>;
}

/// The system; without [`Threads`], no thread is known to sleep.
impl Senses for Option<Threads> {
    fn now(&self) -> u64 {
        sys::clock::monotonic()
    }

    fn cpu(&self, thread: i32) -> u64 {
        sys::clock::thread_cpu(thread)
    }

    fn sleeping(&self, thread: i32) -> Option<String> {
        self.as_ref()?.sleeping(thread)
    }
}

/// The turn in which a thread was last seen.
#[derive(Debug, Clone, Copy)]
struct ThreadRecord {
    turn: u64,
    /// The CPU time of its thread when the watchdog first saw the turn.
    cpu: u64,
    /// When that was.
    since: u64,
    /// Whether the thread has been reported as blocked.
    reported: bool,
}

/// Inspects the heartbeats of all threads periodically.
#[derive(Debug)]
pub struct Watchdog {
    heartbeats: Vec<Arc<Heartbeat>>,
    /// Last state seen, per thread.
    seen: Vec<ThreadRecord>,
    /// Time of the last inspection.
    last_inspection: u64,
    /// Nanoseconds for which a thread may be blocked without a report.
    patience: u64,
}

impl Watchdog {
    /// A watchdog over the threads with these heartbeats.
    pub fn new(heartbeats: Vec<Arc<Heartbeat>>) -> Self {
        let unseen = ThreadRecord { turn: u64::MAX, cpu: 0, since: 0, reported: false };
        let seen = vec![unseen; heartbeats.len()];
        Self { heartbeats, seen, last_inspection: 0, patience: BLOCKED }
    }

    /// Reports threads that are blocked for so many nanoseconds.
    #[must_use]
    pub fn with_patience(self, patience: u64) -> Self {
        Self { patience, ..self }
    }

    /// Inspects all threads once, and appends its findings.
    pub fn inspect(&mut self, senses: &impl Senses, found: &mut Vec<StuckThread>) {
        let now = senses.now();
        // Threads that were stopped together with the process were not blocked meanwhile.
        let stopped =
            now.saturating_sub(std::mem::replace(&mut self.last_inspection, now)) > STOPPED;
        for (thread, (heartbeat, seen)) in self.heartbeats.iter().zip(&mut self.seen).enumerate() {
            let system = heartbeat.system_thread();
            let turn = heartbeat.turns();
            let finding =
                |hold| StuckThread { thread, function: heartbeat.activity().running(), hold };
            if seen.reported && (turn != seen.turn || heartbeat.is_asleep()) {
                seen.reported = false;
                found.push(finding(Hold::Back(now.saturating_sub(seen.since))));
            }
            if system == 0 || heartbeat.is_asleep() {
                continue;
            }
            let used = senses.cpu(system);
            if turn != seen.turn {
                *seen = ThreadRecord { turn, cpu: used, since: now, reported: false };
                continue;
            }
            let spent = used.saturating_sub(seen.cpu);
            if spent >= LIMIT {
                found.push(finding(Hold::Busy(spent)));
            }
            if stopped && !seen.reported {
                seen.since = now;
            }
            let span = now.saturating_sub(seen.since);
            if span >= self.patience
                && !seen.reported
                && let Some(place) = senses.sleeping(system)
            {
                seen.reported = true;
                found.push(finding(Hold::Blocked(span, place)));
            }
        }
    }

    /// Watches from a thread of its own until the process ends, and passes all findings to
    /// `report`, which decides whether to abort.
    ///
    /// # Errors
    /// No thread could be made.
    pub fn run(
        mut self,
        threads: Option<Threads>,
        mut report: impl FnMut(&StuckThread) + Send + 'static,
    ) -> std::io::Result<()> {
        let watch = move || {
            let kept = threads.as_ref().map(Threads::descriptor);
            sys::process::unshare_descriptors_except(kept.as_slice());
            let mut found = Vec::new();
            loop {
                std::thread::park_timeout(INTERVAL);
                self.inspect(&threads, &mut found);
                found.drain(..).for_each(|finding| report(&finding));
            }
        };
        std::thread::Builder::new().name("watchdog".into()).spawn(watch).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[derive(Default)]
    struct FakeSenses {
        now: Cell<u64>,
        cpu: Cell<u64>,
        place: RefCell<Option<String>>,
    }

    impl Senses for FakeSenses {
        fn now(&self) -> u64 {
            self.now.get()
        }
        fn cpu(&self, _: i32) -> u64 {
            self.cpu.get()
        }
        fn sleeping(&self, _: i32) -> Option<String> {
            self.place.borrow().clone()
        }
    }

    struct Fixture {
        dog: Watchdog,
        heartbeat: Arc<Heartbeat>,
        scene: FakeSenses,
    }

    impl Fixture {
        fn new() -> Self {
            let heartbeat = Arc::new(Heartbeat::default());
            let dog = Watchdog::new(vec![Arc::default(), heartbeat.clone()]);
            Self { dog, heartbeat, scene: FakeSenses::default() }
        }

        /// The findings after a second in which the thread has used `cpu` nanoseconds.
        fn look(&mut self, cpu: u64) -> Vec<String> {
            self.scene.now.set(self.scene.now.get() + 1_000_000_000);
            self.scene.cpu.set(self.scene.cpu.get() + cpu);
            let mut found = Vec::new();
            self.dog.inspect(&self.scene, &mut found);
            found.iter().map(StuckThread::to_string).collect()
        }
    }

    const NOTHING: [String; 0] = [];

    #[test]
    fn a_busy_thread_is_found_and_a_sleeping_one_is_not() {
        let mut bench = Fixture::new();
        assert_eq!(bench.look(9 * LIMIT), NOTHING, "not started");
        bench.heartbeat.start();
        bench.heartbeat.begin_turn();
        assert_eq!(bench.look(5), NOTHING);
        assert_eq!(bench.look(LIMIT - 1), NOTHING);
        let line = "Thread 2 has not come back to its loop for 2000 ms of CPU, and runs no task";
        assert_eq!(bench.look(1), [line]);
        bench.heartbeat.begin_turn();
        assert_eq!(bench.look(1), NOTHING, "it came back");
        bench.heartbeat.sleep(0);
        assert_eq!(bench.look(9 * LIMIT), NOTHING, "it sleeps");
        bench.heartbeat.begin_turn();
        assert_eq!(bench.look(9 * LIMIT), NOTHING, "a new turn");
    }

    #[test]
    fn a_thread_that_is_blocked_is_found_once_and_its_return_too() {
        let mut bench = Fixture::new();
        bench.heartbeat.start();
        bench.heartbeat.begin_turn();
        for second in 0..20 {
            assert_eq!(bench.look(0), NOTHING, "it waits for a processor, second {second}");
        }
        bench.scene.place.replace(Some("write on descriptor 1".into()));
        bench.heartbeat.begin_turn();
        for second in 0..10 {
            assert_eq!(bench.look(0), NOTHING, "second {second}");
        }
        let line = "Thread 2 has been blocked in the kernel for 10 s (write on descriptor 1), and \
                    runs no task";
        assert_eq!(bench.look(0), [line]);
        assert_eq!(bench.look(0), NOTHING, "it has been reported");
        bench.heartbeat.begin_turn();
        assert_eq!(bench.look(0), ["Thread 2 has come back from the kernel after 12 s"]);
        assert_eq!(bench.look(0), NOTHING);
    }

    #[test]
    fn a_process_that_was_stopped_was_not_blocked() {
        let mut bench = Fixture::new();
        bench.heartbeat.start();
        bench.heartbeat.begin_turn();
        bench.scene.place.replace(Some("at pipe_read".into()));
        assert_eq!(bench.look(0), NOTHING);
        bench.scene.now.set(bench.scene.now.get() + 60_000_000_000);
        for second in 0..10 {
            assert_eq!(bench.look(0), NOTHING, "second {second}");
        }
        assert_eq!(bench.look(0).len(), 1, "ten seconds since it goes on");
    }
}
