//! Counters of one thread's loop, written by that thread and readable by all (`show activity`).
//!
//! A counter is incremented with a plain load and store, because only its own thread writes it. A
//! total over all threads is the sum of their counters. No cache line here is written by two
//! threads.

use crate::class::COUNT;
use crate::profile::{Function, Switch};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// A number that one thread writes and all may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Increments the counter. Called by the owning thread only.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Sets the counter. Called by the owning thread only.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Reads the counter; another thread may see a slightly older value.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counters of one thread (management manual, "show activity").
///
/// The block has cache lines of its own, in pairs, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Activity {
    /// Tasks polled or dropped, by class.
    pub ran: [Counter; COUNT],
    /// Rounds without a task to run.
    pub empty_rounds: Counter,
    /// Rounds that ended with work left.
    pub long_rounds: Counter,
    /// Wake-ups because a deadline had passed.
    pub expired: Counter,
    /// Letters received: wake-ups and kills sent by other threads.
    pub letters: Counter,
    /// Tasks spawned.
    pub spawned: Counter,
    /// Tasks dropped because they were killed.
    pub killed: Counter,
    /// Tasks that ended by a panic.
    pub panicked: Counter,
    /// Items in the run queue at the end of the last round, by class.
    pub queued: [Counter; COUNT],
    /// The greatest length of the run queue.
    pub peak: Counter,
    /// Tasks alive at the end of the last round.
    pub tasks: Counter,
    /// Timers armed at the end of the last round.
    pub timers: Counter,
    /// Iterations of the loop.
    pub loops: Counter,
    /// Iterations that did not sleep because work was queued.
    pub wake_tasks: Counter,
    /// Iterations that did not sleep because letters had arrived.
    pub wake_mail: Counter,
    /// Calls of the poller that were interrupted by a signal.
    pub wake_signal: Counter,
    /// Calls of the poller that brought events.
    pub poll_io: Counter,
    /// Calls of the poller that slept until a timer.
    pub poll_expired: Counter,
    /// Events of descriptors that are closed already.
    pub poll_drop: Counter,
    /// Events that no task was interested in.
    pub poll_skip: Counter,
    /// Times that a task had to wait for a buffer.
    pub buffer_waits: Counter,
    /// Idle server connections taken over from another thread.
    pub taken_over: Counter,
    /// Idle server connections found closed when they were to be taken over.
    pub found_dead: Counter,
    /// Average length of an iteration without its sleep, in nanoseconds, over about 1024
    /// iterations.
    pub loop_nanos: Counter,
    running: AtomicPtr<Function>,
    /// Profiling mode; any thread may change it.
    pub profiling: Switch,
}

impl Activity {
    /// Publishes the function that runs now. Called by the owning thread only.
    #[inline]
    pub(crate) fn enter(&self, function: &'static Function) {
        self.running.store(ptr::from_ref(function).cast_mut(), Relaxed);
    }

    /// Publishes that no task runs. Called by the owning thread only.
    #[inline]
    pub(crate) fn leave(&self) {
        self.running.store(ptr::null_mut(), Relaxed);
    }

    /// Path of the function that the thread runs now, if any.
    pub fn running(&self) -> Option<&'static str> {
        // SAFETY: only `enter` stores a pointer, taken from a reference that lives forever.
        unsafe { self.running.load(Relaxed).as_ref() }.map(Function::name)
    }

    /// Tasks polled or dropped in all classes.
    pub fn switches(&self) -> u64 {
        self.ran.iter().map(Counter::get).sum()
    }

    /// Sets the event counters to 0 ("clear counters"). Called by the owning thread only.
    pub fn reset(&self) {
        let events = [
            &self.empty_rounds,
            &self.long_rounds,
            &self.expired,
            &self.letters,
            &self.spawned,
            &self.killed,
            &self.panicked,
            &self.peak,
            &self.loops,
            &self.wake_tasks,
            &self.wake_mail,
            &self.wake_signal,
            &self.poll_io,
            &self.poll_expired,
            &self.poll_drop,
            &self.poll_skip,
            &self.buffer_waits,
            &self.taken_over,
            &self.found_dead,
        ];
        self.ran.iter().chain(events).for_each(|counter| counter.set(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, size_of};

    #[test]
    fn counters_of_two_threads_share_no_line() {
        assert_eq!(align_of::<Activity>(), 128);
        assert_eq!(size_of::<Activity>() % 128, 0);
    }

    #[test]
    fn running_function_is_published() {
        let activity = Activity::default();
        assert_eq!(activity.running(), None);
        activity.enter(Function::of::<u32>());
        assert_eq!(activity.running(), Some("u32"));
        activity.leave();
        assert_eq!(activity.running(), None);
    }

    #[test]
    fn reset_clears_events_and_keeps_levels() {
        let activity = Activity::default();
        activity.ran[2].add(3);
        activity.tasks.set(7);
        assert_eq!(activity.switches(), 3);
        activity.reset();
        assert_eq!((activity.switches(), activity.tasks.get()), (0, 7));
    }
}
