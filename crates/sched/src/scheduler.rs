//! The scheduler of one thread: spawns, wakes, expires and runs tasks.
//! Never sleeps, never reads a clock, never shares a task with another thread.

use crate::activity::Activity;
use crate::class::Class;
use crate::mailbox::Mailbox;
use crate::pause::{Pause, Yield};
use crate::profile::{Clock, Function, Mode, NoClock, Profile};
use crate::queue::RunQueue;
use crate::slot::{State, Tasks};
use crate::wake::Wake;
use crate::waker;
use crate::wheel::Wheel;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use stdx::{Key, Tick};

pub use observe::Queued;
pub use round::Round;

mod observe;
mod round;

/// Names a task of one scheduler for as long as it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct TaskId(pub(crate) Key);

impl TaskId {
    /// A name that no task has.
    pub const NONE: Self = Self(Key::NONE);

    /// The name as one word.
    pub fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// The inverse of [`TaskId::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self(Key::from_bits(bits))
    }
}

/// What an operator may set (`tune.runqueue-depth`, `tune.sched.low-latency`).
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The most items of one round, and of one sweep over expired timers.
    pub depth: u32,
    /// Return to the most urgent class after each item.
    pub low_latency: bool,
    /// Whether tasks are profiled from the start (`profiling.tasks`).
    pub profiling: Mode,
}

impl Default for Settings {
    fn default() -> Self {
        Self { depth: 200, low_latency: false, profiling: Mode::Auto }
    }
}

struct Inner {
    tasks: Tasks,
    queue: RunQueue,
    wheel: Wheel,
    /// Deadlines set in this round that the wheel has to hear of, with the tasks' positions. They
    /// go there together at its end: each touches memory that is cold when there are many, and so
    /// the processor waits for all of it at once.
    arming: Vec<(u32, Tick)>,
}

/// Tasks, run queues and timers of one thread.
///
/// It stays on the thread that made it; the type system sees to that:
///
/// ```compile_fail
/// fn elsewhere(scheduler: sched::Scheduler) {
///     std::thread::spawn(move || drop(scheduler));
/// }
/// ```
///
/// and nor can another thread look at it:
///
/// ```compile_fail
/// fn elsewhere(scheduler: &'static sched::Scheduler) {
///     std::thread::spawn(move || scheduler.has_work());
/// }
/// ```
pub struct Scheduler {
    inner: RefCell<Inner>,
    mailbox: Arc<Mailbox>,
    settings: Settings,
    current: Cell<TaskId>,
    reasons: Cell<Wake>,
    /// The deadline of the running task; the wheel hears of it when the task pauses.
    deadline: Cell<Option<Tick>>,
    activity: Arc<Activity>,
    profile: Profile,
    /// For how many rounds heavy work has been put off.
    put_off: Cell<u32>,
    /// The thread that it was made on, for assertions.
    home: usize,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("tasks", &self.tasks()).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// A scheduler without tasks, whose time starts at `now`.
    pub fn new(settings: Settings, mailbox: Arc<Mailbox>, now: Tick) -> Self {
        Self::observed(settings, mailbox, now, Arc::default(), Box::new(NoClock))
    }

    /// As [`Scheduler::new`], with counters that others hold already and a clock for profiling.
    pub fn observed(
        settings: Settings,
        mailbox: Arc<Mailbox>,
        now: Tick,
        activity: Arc<Activity>,
        clock: Box<dyn Clock>,
    ) -> Self {
        activity.profiling.set(settings.profiling);
        let profile = Profile::new(clock);
        profile.follow(&activity.profiling);
        let inner = Inner {
            tasks: Tasks::new(),
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
            put_off: Cell::new(0),
            home: waker::here(),
        }
    }

    /// In debug builds, catches a queue or timer in the hands of a thread that does not own it.
    #[inline]
    fn assert_at_home(&self) {
        debug_assert_eq!(waker::here(), self.home, "used on the wrong thread");
    }

    /// The way in for other threads.
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// Adds a task, which first runs in `class`, with reason `INIT`.
    #[track_caller]
    pub fn spawn<F: Future<Output = ()> + 'static>(&self, class: Class, work: F) -> TaskId {
        self.assert_at_home();
        let work = Box::pin(work);
        self.activity.spawned.add(1);
        let inner = &mut *self.inner.borrow_mut();
        let id = inner.tasks.insert(work, Function::of::<F>());
        inner.enqueue(id, class);
        if self.profile.is_on() {
            self.profile.woken(id, Location::caller(), Wake::INIT);
        }
        id
    }

    /// Wakes a task of this thread. Waking one that is gone does nothing.
    #[inline]
    #[track_caller]
    pub fn wake(&self, id: TaskId, reason: Wake) {
        self.wake_from(id, reason, Location::caller());
    }

    fn wake_from(&self, id: TaskId, reason: Wake, caller: &'static Location<'static>) {
        self.assert_at_home();
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id) else { return };
        slot.reasons |= reason;
        if slot.state.contains(State::QUEUED) {
            return;
        }
        slot.state |= State::QUEUED;
        if let Some(future) = &slot.future {
            stdx::prefetch::soon(&**future);
        }
        let class = match slot.state & State::SAID {
            State::CARRIES_ON => Class::Bulk,
            State::LABOURS if reason == Wake::IO => Class::Heavy,
            _ => Class::of_wake(reason, id == self.current.get(), slot.nice != 0),
        };
        inner.queue.push(id, class, slot.nice);
        if self.profile.is_on() {
            self.profile.woken(id, caller, reason);
        }
    }

    /// Wakes every task of this thread, because something has changed for all of them.
    #[track_caller]
    pub fn wake_all(&self, reason: Wake) {
        let caller = Location::caller();
        let all: Vec<_> = self.inner.borrow().tasks.iter().map(|(id, _)| id).collect();
        all.into_iter().for_each(|id| self.wake_from(id, reason, caller));
    }

    /// Drops a task of this thread at its next turn, as urgent work. One that runs right now is
    /// dropped when it pauses; one that is queued already keeps its place.
    pub fn kill(&self, id: TaskId) {
        self.assert_at_home();
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

    /// Why the task that runs now was woken.
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

    /// Items in the run queue, mailbox included.
    pub fn load(&self) -> usize {
        self.inner.borrow().queue.len() + self.mailbox.len()
    }

    /// Panics caught; each has killed just its task.
    pub fn panics(&self) -> u64 {
        self.activity.panicked.get()
    }

    /// Sets the place of a task in the normal class: -1024 first, 1024 last.
    pub fn set_nice(&self, id: TaskId, nice: i16) {
        if let Some(slot) = self.inner.borrow_mut().tasks.get_mut(id) {
            slot.nice = nice.clamp(-1024, 1024);
        }
    }

    /// Sets or clears the deadline of the running task. O(1); pushing one later touches no list.
    #[inline]
    pub fn set_deadline(&self, deadline: Option<Tick>) {
        self.deadline.set(deadline);
    }

    /// Waits for the next wake-up of the running task, at the latest at `deadline`; yields the
    /// reasons.
    ///
    /// Spurious wake-ups are possible: the caller looks again at what it waits for.
    #[inline]
    pub fn pause(&self, deadline: Option<Tick>) -> Pause<'_> {
        Pause::new(self, deadline)
    }

    /// Has the next wake-up of the running task count as bulk work: there is more of a transfer
    /// that it is in the midst of, and those who only begin go first.
    pub fn carry_on(&self) {
        self.say(State::CARRIES_ON);
    }

    /// Has the next wake-up of the running task by I/O count as heavy work, for which it waits:
    /// it need not run first only to give way. If I/O alone is among the reasons then, this is how
    /// it was woken.
    pub fn labour(&self) {
        self.say(State::LABOURS);
    }

    fn say(&self, what: State) {
        if let Some(slot) = self.inner.borrow_mut().tasks.get_mut(self.current.get()) {
            slot.state |= what;
        }
    }

    /// Lets others run; the running task goes on in `class`.
    #[track_caller]
    pub fn yield_as(&self, class: Class) -> Yield<'_> {
        Yield { scheduler: self, class, caller: Location::caller(), yielded: false }
    }

    pub(crate) fn requeue_current(&self, class: Class, caller: &'static Location<'static>) {
        let inner = &mut *self.inner.borrow_mut();
        let id = self.current.get();
        let Some(slot) = inner.tasks.get_mut(id) else { return };
        slot.reasons |= Wake::OTHER;
        // A wake-up during this very poll may have queued it already; the yield decides the class.
        if slot.state.contains(State::QUEUED) {
            slot.yields_to = Some(class);
            return;
        }
        inner.enqueue(id, class);
        if self.profile.is_on() {
            self.profile.woken(id, caller, Wake::OTHER);
        }
    }

    /// Wakes the tasks whose deadline has come, at most `depth` of them. Returns how many.
    pub fn expire(&self, now: Tick) -> usize {
        self.expire_within(now, self.settings.depth as usize)
    }

    /// As [`Scheduler::expire`], for one that has spent part of its budget already on work that it
    /// shares with other threads.
    pub fn expire_within(&self, now: Tick, budget: usize) -> usize {
        self.assert_at_home();
        let caller = Location::caller();
        let inner = &mut *self.inner.borrow_mut();
        let Inner { tasks, queue, wheel, .. } = inner;
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
                    self.profile.woken(id, caller, Wake::TIMER);
                }
            }
            None
        });
        self.activity.expired.add(fired as u64);
        fired
    }

    /// When [`Scheduler::expire`] has something to do next.
    pub fn next_expiry(&self) -> Option<Tick> {
        self.inner.borrow().wheel.next()
    }

    /// Whether work is queued here or waits in the mailbox.
    pub fn has_work(&self) -> bool {
        !self.inner.borrow().queue.is_empty() || !self.mailbox.is_empty()
    }
}

impl Inner {
    fn enqueue(&mut self, id: TaskId, class: Class) {
        let Some(slot) = self.tasks.get_mut(id) else { return };
        slot.state |= State::QUEUED;
        self.queue.push(id, class, slot.nice);
    }

    /// Asks for the memory of the task after this one: what was asked for when it was queued has
    /// left the cache again if many were.
    #[inline]
    fn fetch_next(&self, class: Class) {
        let next = self.queue.peek(class).and_then(|id| self.tasks.get(id));
        if let Some(future) = next.and_then(|slot| slot.future.as_ref()) {
            stdx::prefetch::soon(&**future);
        }
    }

    /// Lets the wheel hear of the deadlines of this round, but for those of tasks that are gone.
    fn arm_all(&mut self) {
        let Self { tasks, wheel, arming, .. } = self;
        for (index, at) in arming.drain(..) {
            if tasks.at(index).is_some_and(|(_, slot)| slot.armed == Some(at)) {
                wheel.arm(index, at);
            }
        }
    }

    fn forget(&mut self, id: TaskId) {
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
