//! What one thread's loop has done so far, for any thread to read. Never written by two threads.
//!
//! Each counter belongs to one thread, which adds with a load and a store; whoever wants a total
//! sums over the threads. So the loop writes no line that another thread writes. Lines written per
//! round: those of this block, which the owner alone holds until somebody asks.

use crate::class::COUNT;
use crate::profile::{Function, Switch};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// A number that one thread writes and all may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; for the owner.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Replaces; for the owner.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// The number at some moment not long ago.
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
    /// Rounds that found nothing to run.
    pub empty_rounds: Counter,
    /// Rounds that ended with work left.
    pub long_rounds: Counter,
    /// Wake-ups because a deadline had passed.
    pub expired: Counter,
    /// Letters opened: wake-ups and kills that came from other threads.
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
    /// Turns of the loop.
    pub loops: Counter,
    /// Turns that did not sleep because work was queued.
    pub wake_tasks: Counter,
    /// Turns that did not sleep because letters had come.
    pub wake_mail: Counter,
    /// Calls of the poller that were interrupted by a signal.
    pub wake_signal: Counter,
    /// Calls of the poller that brought events.
    pub poll_io: Counter,
    /// Calls of the poller that slept until a timer.
    pub poll_expired: Counter,
    /// Events of descriptors that are gone.
    pub poll_drop: Counter,
    /// Events that nobody wanted.
    pub poll_skip: Counter,
    /// Times that a task had to wait for a buffer.
    pub buffer_waits: Counter,
    /// Idle server connections taken over from another thread.
    pub taken_over: Counter,
    /// Idle server connections found closed when they were to be taken over.
    pub found_dead: Counter,
    /// The average length of a turn without its sleep, in nanoseconds, over about 1024 turns.
    pub loop_nanos: Counter,
    running: AtomicPtr<Function>,
    /// Whether tasks are profiled; any thread may turn it.
    pub profiling: Switch,
}

impl Activity {
    /// Publishes what runs now; for the owner.
    #[inline]
    pub(crate) fn enter(&self, function: &'static Function) {
        self.running.store(ptr::from_ref(function).cast_mut(), Relaxed);
    }

    /// Publishes that nothing runs; for the owner.
    #[inline]
    pub(crate) fn leave(&self) {
        self.running.store(ptr::null_mut(), Relaxed);
    }

    /// The function that the thread runs now, if any.
    pub fn running(&self) -> Option<&'static str> {
        // SAFETY: only `enter` stores a pointer, taken from a reference that lives for ever.
        unsafe { self.running.load(Relaxed).as_ref() }.map(Function::name)
    }

    /// Tasks polled or dropped in all classes.
    pub fn switches(&self) -> u64 {
        self.ran.iter().map(Counter::get).sum()
    }

    /// Begins anew; for the owner ("clear counters").
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
    fn what_runs_is_seen_while_it_runs() {
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
