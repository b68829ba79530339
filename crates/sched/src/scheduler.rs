//! The scheduler of one thread: spawns, wakes, expires and runs tasks.
//!
//! Invariant: a task stays on the thread that spawned it.

use crate::activity::Activity;
use crate::class::Class;
use crate::mailbox::Mailbox;
use crate::profile::{Clock, Function, Mode, NoClock, Profile};
use crate::queue::RunQueue;
use crate::slot::{State, TaskTable};
use crate::task_id::TaskId;
use crate::wake::Wake;
use crate::wheel::Wheel;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use stdx::Tick;

pub use observe::QueuedTasks;
pub use round::Round;
pub use wait::{Wait, Yield};

mod observe;
mod round;
mod wait;
mod waker;

/// Settings of the operator (`tune.runqueue-depth`, `tune.sched.low-latency`).
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Most items of one round, and of one sweep over expired timers.
    pub depth: u32,
    /// Whether a round returns to the most urgent class after each item.
    pub low_latency: bool,
    /// Profiling mode at the start (`profiling.tasks`).
    pub profiling: Mode,
}

impl Default for Settings {
    fn default() -> Self {
        Self { depth: 200, low_latency: false, profiling: Mode::Auto }
    }
}

struct Core {
    tasks: TaskTable,
    queue: RunQueue,
    wheel: Wheel,
    /// Deadlines set in this round that have to be armed in the wheel, with the slots' indices.
    /// They are armed together at the end of the round: each touches a cold cache line when there
    /// are many timers, so the processor's misses overlap.
    arming: Vec<(u32, Tick)>,
}

/// Tasks, run queues and timers of one thread.
///
/// Invariant: it stays on the thread that made it, which the type system holds:
///
/// ```compile_fail
/// fn elsewhere(scheduler: sched::Scheduler) {
///     std::thread::spawn(move || drop(scheduler));
/// }
/// ```
///
/// and no other thread can refer to it:
///
/// ```compile_fail
/// fn elsewhere(scheduler: &'static sched::Scheduler) {
///     std::thread::spawn(move || scheduler.has_work());
/// }
/// ```
pub struct Scheduler {
    inner: RefCell<Core>,
    mailbox: Arc<Mailbox>,
    settings: Settings,
    current: Cell<TaskId>,
    reasons: Cell<Wake>,
    /// Deadline of the running task; it is armed when the task pauses.
    deadline: Cell<Option<Tick>>,
    activity: Arc<Activity>,
    profile: Profile,
    /// Consecutive rounds in which heavy work was postponed.
    postponed: Cell<u32>,
    /// Thread that made the scheduler, for assertions.
    owner_thread: usize,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("tasks", &self.tasks()).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// A scheduler without tasks, whose time starts at `now`.
    pub fn new(settings: Settings, mailbox: Arc<Mailbox>, now: Tick) -> Self {
        Self::with_counters(settings, mailbox, now, Arc::default(), Box::new(NoClock))
    }

    /// As [`Scheduler::new`], with counters that other threads may hold already and a clock for
    /// profiling.
    pub fn with_counters(
        settings: Settings,
        mailbox: Arc<Mailbox>,
        now: Tick,
        activity: Arc<Activity>,
        clock: Box<dyn Clock>,
    ) -> Self {
        activity.profiling.set(settings.profiling);
        let profile = Profile::new(clock);
        profile.adopt_mode(&activity.profiling);
        let inner = Core {
            tasks: TaskTable::new(),
            queue: RunQueue::default(),
            wheel: Wheel::new(now),
            arming: Vec::new(),
        };
        Self {
            inner: RefCell::new(inner),
            mailbox,
            settings,
            current: Cell::new(TaskId::NONE),
            reasons: Cell::new(Wake::empty()),
            deadline: Cell::new(None),
            activity,
            profile,
            postponed: Cell::new(0),
            owner_thread: waker::thread_address(),
        }
    }

    /// In debug builds, panics if the scheduler is used by a thread that does not own it.
    #[inline]
    fn assert_on_owner_thread(&self) {
        debug_assert_eq!(waker::thread_address(), self.owner_thread, "used on the wrong thread");
    }

    /// The queue for wake-ups from other threads.
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// Adds a task; its first turn is in `class`, with reason `INIT`.
    #[track_caller]
    pub fn spawn<F: Future<Output = ()> + 'static>(&self, class: Class, work: F) -> TaskId {
        self.assert_on_owner_thread();
        let work = Box::pin(work);
        self.activity.spawned.add(1);
        let inner = &mut *self.inner.borrow_mut();
        let id = inner.tasks.insert(work, Function::of::<F>());
        inner.enqueue(id, class);
        if self.profile.is_on() {
            self.profile.record_wake(id, Location::caller(), Wake::INIT);
        }
        id
    }

    /// Wakes a task of this thread. Does nothing if the task has ended.
    #[inline]
    #[track_caller]
    pub fn wake(&self, id: TaskId, reason: Wake) {
        self.wake_from(id, reason, Location::caller());
    }

    fn wake_from(&self, id: TaskId, reason: Wake, caller: &'static Location<'static>) {
        self.assert_on_owner_thread();
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id) else { return };
        slot.reasons |= reason;
        if slot.state.contains(State::QUEUED) {
            return;
        }
        slot.state |= State::QUEUED;
        if let Some(future) = &slot.future {
            stdx::prefetch::prefetch(&**future);
        }
        let class = match slot.state & State::NEXT_CLASS {
            State::NEXT_BULK => Class::Bulk,
            State::NEXT_HEAVY if reason == Wake::IO => Class::Heavy,
            _ => Class::of_wake(reason, id == self.current.get(), slot.nice != 0),
        };
        inner.queue.push(id, class, slot.nice);
        if self.profile.is_on() {
            self.profile.record_wake(id, caller, reason);
        }
    }

    /// Wakes every task of this thread, for a change that concerns all of them.
    #[track_caller]
    pub fn wake_all(&self, reason: Wake) {
        let caller = Location::caller();
        let all: Vec<_> = self.inner.borrow().tasks.iter().map(|(id, _)| id).collect();
        all.into_iter().for_each(|id| self.wake_from(id, reason, caller));
    }

    /// Has a task of this thread dropped in its next turn, as urgent work. A running task is
    /// dropped when it pauses; a queued one keeps its position in the queue.
    pub fn kill(&self, id: TaskId) {
        self.assert_on_owner_thread();
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id) else { return };
        slot.state |= State::KILLED;
        if !slot.state.contains(State::QUEUED) && slot.future.is_some() {
            inner.enqueue(id, Class::Urgent);
        }
    }

    /// The task that runs now.
    pub fn current(&self) -> TaskId {
        self.current.get()
    }

    /// Reasons of the wake-up for which the current task runs.
    #[inline]
    pub fn reasons(&self) -> Wake {
        self.reasons.get()
    }

    /// Tasks alive.
    pub fn tasks(&self) -> usize {
        self.inner.borrow().tasks.len()
    }

    /// Timers armed.
    pub fn timers(&self) -> usize {
        self.inner.borrow().wheel.len()
    }

    /// Items in the run queue and letters in the mailbox.
    pub fn load(&self) -> usize {
        self.inner.borrow().queue.len() + self.mailbox.len()
    }

    /// Panics caught; each ended only its task.
    pub fn panics(&self) -> u64 {
        self.activity.panicked.get()
    }

    /// Sets the `nice` of a task in the normal class: -1024 runs first, 1024 last.
    pub fn set_nice(&self, id: TaskId, nice: i16) {
        if let Some(slot) = self.inner.borrow_mut().tasks.get_mut(id) {
            slot.nice = nice.clamp(-1024, 1024);
        }
    }

    /// Sets or clears the deadline of the running task. O(1); postponing a deadline touches no
    /// list.
    #[inline]
    pub fn set_deadline(&self, deadline: Option<Tick>) {
        self.deadline.set(deadline);
    }

    /// Waits until the running task is woken, at the latest at `deadline`; yields the reasons.
    ///
    /// Wake-ups can be spurious: the caller checks its condition again.
    #[inline]
    pub fn wait(&self, deadline: Option<Tick>) -> Wait<'_> {
        Wait::new(self, deadline)
    }

    /// Makes the next wake-up of the running task bulk work: the task is in the middle of a
    /// transfer, and tasks that begin something run first.
    pub fn next_wake_as_bulk(&self) {
        self.set_next_class(State::NEXT_BULK);
    }

    /// Makes the next wake-up of the running task by I/O heavy work, because the task would only
    /// yield to that class after an ordinary wake-up. [`Wake::IO`] as the only reason tells the
    /// task that it runs as heavy work.
    pub fn next_wake_as_heavy(&self) {
        self.set_next_class(State::NEXT_HEAVY);
    }

    fn set_next_class(&self, what: State) {
        if let Some(slot) = self.inner.borrow_mut().tasks.get_mut(self.current.get()) {
            slot.state |= what;
        }
    }

    /// Yields to other tasks; the running task is queued again in `class`.
    #[track_caller]
    pub fn yield_as(&self, class: Class) -> Yield<'_> {
        Yield { scheduler: self, class, caller: Location::caller(), yielded: false }
    }

    pub(crate) fn requeue_current(&self, class: Class, caller: &'static Location<'static>) {
        let inner = &mut *self.inner.borrow_mut();
        let id = self.current.get();
        let Some(slot) = inner.tasks.get_mut(id) else { return };
        slot.reasons |= Wake::OTHER;
        // A wake-up during this poll may have queued the task already; the class of the yield
        // prevails.
        if slot.state.contains(State::QUEUED) {
            slot.yields_to = Some(class);
            return;
        }
        inner.enqueue(id, class);
        if self.profile.is_on() {
            self.profile.record_wake(id, caller, Wake::OTHER);
        }
    }

    /// Wakes the tasks whose deadline has passed, at most `depth` of them. Returns their number.
    pub fn expire(&self, now: Tick) -> usize {
        self.expire_within(now, self.settings.depth as usize)
    }

    /// As [`Scheduler::expire`] with a smaller budget, because the thread has spent a part on work
    /// shared with other threads.
    pub fn expire_within(&self, now: Tick, budget: usize) -> usize {
        self.assert_on_owner_thread();
        let caller = Location::caller();
        let inner = &mut *self.inner.borrow_mut();
        let Core { tasks, queue, wheel, .. } = inner;
        let fired = wheel.advance(now, budget, |index| {
            let (id, slot) = tasks.at(index)?;
            slot.armed = slot.deadline.filter(|deadline| !deadline.is_due(now));
            if slot.armed.is_some() || slot.deadline.is_none() {
                return slot.armed;
            }
            slot.deadline = None;
            slot.reasons |= Wake::TIMER;
            if !slot.state.contains(State::QUEUED) {
                slot.state |= State::QUEUED;
                queue.push(id, Class::Normal, slot.nice);
                if self.profile.is_on() {
                    self.profile.record_wake(id, caller, Wake::TIMER);
                }
            }
            None
        });
        self.activity.expired.add(fired as u64);
        fired
    }

    /// Time at which [`Scheduler::expire`] has to be called next.
    pub fn next_expiry(&self) -> Option<Tick> {
        self.inner.borrow().wheel.next()
    }

    /// Whether tasks are queued or letters wait in the mailbox.
    pub fn has_work(&self) -> bool {
        !self.inner.borrow().queue.is_empty() || !self.mailbox.is_empty()
    }
}

impl Core {
    fn enqueue(&mut self, id: TaskId, class: Class) {
        let Some(slot) = self.tasks.get_mut(id) else { return };
        slot.state |= State::QUEUED;
        self.queue.push(id, class, slot.nice);
    }

    /// Prefetches the memory of the task that runs after this one: when many tasks were queued, the
    /// prefetch done at the wake-up has left the cache again.
    #[inline]
    fn prefetch_next(&self, class: Class) {
        let next = self.queue.peek(class).and_then(|id| self.tasks.get(id));
        if let Some(future) = next.and_then(|slot| slot.future.as_ref()) {
            stdx::prefetch::prefetch(&**future);
        }
    }

    /// Arms the deadlines set in this round, except those of tasks that have ended.
    fn arm_all(&mut self) {
        let Self { tasks, wheel, arming, .. } = self;
        for (index, at) in arming.drain(..) {
            if tasks.at(index).is_some_and(|(_, slot)| slot.armed == Some(at)) {
                wheel.arm(index, at);
            }
        }
    }

    fn remove_task(&mut self, id: TaskId) {
        if self.tasks.get(id).is_some_and(|slot| slot.armed.is_some()) {
            self.wheel.disarm(id.0.index);
        }
        self.tasks.remove(id);
    }
}

#[cfg(test)]
mod fairness;
#[cfg(test)]
mod tests;
