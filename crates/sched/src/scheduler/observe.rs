//! What operators may see of a scheduler: counters, profile, what is queued. Never changes a task.

use super::{Round, Scheduler, TaskId};
use crate::activity::Activity;
use crate::class::{COUNT, Class};
use crate::profile::{Entry, Usage};
use std::sync::Arc;
use stdx::Tick;

/// What stands in the run queue of one thread, of one function and class ("show tasks").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// What will run.
    pub function: &'static str,
    /// Where it stands.
    pub class: Class,
    /// How often.
    pub places: u64,
    /// Of those, how many have a dated wake-up: only while tasks are profiled.
    pub dated: u64,
    /// Nanoseconds that the dated ones have waited so far, together.
    pub latency: u64,
}

impl Scheduler {
    /// The counters, which other threads may hold and read too.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// The times by function and caller since profiling was last turned on; for the own thread.
    pub fn profile(&self) -> Vec<Entry> {
        self.profile.entries()
    }

    /// What the running task has used; nothing outside of tasks.
    pub fn usage(&self) -> Usage {
        let id = self.current.get();
        let turns = self.inner.borrow().tasks.get(id).map(|slot| slot.turns);
        let Some(calls) = turns else { return Usage::default() };
        let (cpu, latency) = self.profile.spent(id);
        Usage { calls, cpu, latency }
    }

    /// What a task of this thread has used, and when it wants to be woken; `None`: it has ended.
    pub fn seen(&self, id: TaskId) -> Option<(Usage, Option<Tick>)> {
        let (calls, deadline) = {
            let inner = self.inner.borrow();
            let slot = inner.tasks.get(id)?;
            (slot.turns, slot.deadline)
        };
        let (cpu, latency) = self.profile.spent(id);
        Some((Usage { calls, cpu, latency }, deadline))
    }

    /// What the running task had used before this turn was due.
    pub fn usage_before(&self) -> Usage {
        let now = self.usage();
        let waited = if self.profile.is_on() { self.profile.waited() } else { 0 };
        Usage {
            calls: now.calls.saturating_sub(1),
            latency: now.latency.wrapping_sub(waited),
            ..now
        }
    }

    /// What is queued now, by function and class; for the own thread. O(length of the queue).
    pub fn queued(&self) -> Vec<Queued> {
        let inner = self.inner.borrow();
        let now = self.profile.now();
        let mut found: Vec<Queued> = Vec::new();
        for (id, class) in inner.queue.iter() {
            let Some(slot) = inner.tasks.get(id) else { continue };
            let function = slot.function.name();
            let known = found.iter().position(|q| q.class == class && q.function == function);
            let place = known.unwrap_or_else(|| {
                found.push(Queued { function, class, places: 0, dated: 0, latency: 0 });
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

    /// The greatest length that the run queue has had.
    pub fn peak(&self) -> usize {
        self.inner.borrow().queue.peak()
    }

    /// Hears the average length of a turn of the loop, without its sleep, in nanoseconds.
    pub fn hear_loop(&self, average: u64) {
        self.activity.loop_nanos.set(average);
        self.profile.hear(average);
    }

    /// Puts the counters of a round where others see them.
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
