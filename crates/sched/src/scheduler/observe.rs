//! Statistics of a scheduler for operators: counters, profile, queue contents.

use super::{Round, Scheduler, TaskId};
use crate::activity::Activity;
use crate::class::{COUNT, Class};
use crate::profile::{Entry, Usage};
use std::sync::Arc;
use stdx::Tick;

/// Queued tasks of one function and class ("show tasks").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedTasks {
    /// Path of the function.
    pub function: &'static str,
    /// Class in which they are queued.
    pub class: Class,
    /// Number of queued tasks.
    pub places: u64,
    /// Tasks among these whose wake-up has a date, which only profiling sets.
    pub dated: u64,
    /// The total delay in nanoseconds of tasks with a wake-up time.
    pub latency: u64,
}

impl Scheduler {
    /// The counters, which other threads may hold and read too.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Times by function and caller since profiling was last switched on. Own thread only.
    pub fn profile(&self) -> Vec<Entry> {
        self.profile.entries()
    }

    /// Usage of the running task; zero outside of tasks.
    pub fn usage(&self) -> Usage {
        let id = self.current.get();
        let turns = self.inner.borrow().tasks.get(id).map(|slot| slot.turns);
        let Some(calls) = turns else { return Usage::default() };
        let (cpu, latency) = self.profile.spent(id);
        Usage { calls, cpu, latency }
    }

    /// Usage and deadline of a task of this thread; `None`: the task has ended.
    pub fn task_usage(&self, id: TaskId) -> Option<(Usage, Option<Tick>)> {
        let (calls, deadline) = {
            let inner = self.inner.borrow();
            let slot = inner.tasks.get(id)?;
            (slot.turns, slot.deadline)
        };
        let (cpu, latency) = self.profile.spent(id);
        Some((Usage { calls, cpu, latency }, deadline))
    }

    /// Usage of the running task before this turn: without this turn and its latency.
    pub fn usage_before(&self) -> Usage {
        let now = self.usage();
        let waited = if self.profile.is_on() { self.profile.current_latency() } else { 0 };
        Usage {
            calls: now.calls.saturating_sub(1),
            latency: now.latency.wrapping_sub(waited),
            ..now
        }
    }

    /// Queued tasks by function and class. Own thread only; O(length of the queue).
    pub fn queued(&self) -> Vec<QueuedTasks> {
        let inner = self.inner.borrow();
        let now = self.profile.now();
        let mut found: Vec<QueuedTasks> = Vec::new();
        for (id, class) in inner.queue.iter() {
            let Some(slot) = inner.tasks.get(id) else { continue };
            let function = slot.function.name();
            let known = found.iter().position(|q| q.class == class && q.function == function);
            let place = known.unwrap_or_else(|| {
                found.push(QueuedTasks { function, class, places: 0, dated: 0, latency: 0 });
                found.len() - 1
            });
            let queued = &mut found[place];
            queued.places += 1;
            if let Some(date) = self.profile.date(id) {
                queued.dated += 1;
                queued.latency += now.saturating_sub(date);
            }
        }
        found
    }

    /// Tasks polled or dropped since the start.
    pub fn polls(&self) -> u64 {
        self.activity.switches()
    }

    /// The greatest length of the run queue so far.
    pub fn peak(&self) -> usize {
        self.inner.borrow().queue.peak()
    }

    /// Sets the average length of a loop iteration without its sleep, in nanoseconds.
    pub fn set_loop_time(&self, average: u64) {
        self.activity.loop_nanos.set(average);
        self.profile.set_loop_time(average);
    }

    /// Publishes the counters of a round.
    pub(super) fn publish(&self, round: Round, ran: [u32; COUNT]) {
        let activity = &*self.activity;
        let inner = self.inner.borrow();
        for class in Class::ALL {
            activity.ran[class as usize].add(u64::from(ran[class as usize]));
            activity.queued[class as usize].set(inner.queue.class_len(class) as u64);
        }
        activity.empty_rounds.add(u64::from(round.ran == 0));
        activity.long_rounds.add(u64::from(round.more));
        activity.peak.set(inner.queue.peak() as u64);
        activity.tasks.set(inner.tasks.len() as u64);
        activity.timers.set(inner.wheel.len() as u64);
    }
}
