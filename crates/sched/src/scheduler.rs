//! The scheduler of one thread: spawns, wakes, expires and runs tasks.
//! Never sleeps, never reads a clock, never shares a task with another thread.

use crate::activity::Activity;
use crate::class::{self, Class};
use crate::mailbox::{Letter, Mailbox};
use crate::pause::{Pause, Yield};
use crate::profile::{Clock, Function, Mode, NoClock, Profile};
use crate::queue::RunQueue;
use crate::slot::{Slot, Work};
use crate::wake::Wake;
use crate::waker::{self, Borrowed};
use crate::wheel::Wheel;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use stdx::{Key, Slab, Tick};

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

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Tasks polled or dropped.
    pub ran: u32,
    /// Whether work is left, so that the thread must not sleep.
    pub more: bool,
}

struct Inner {
    tasks: Slab<Slot>,
    queue: RunQueue,
    wheel: Wheel,
}

/// What a queued task's turn turns out to be.
enum Turn {
    Poll(Work, Wake, &'static Function),
    Drop(Work),
    Pass,
}

/// Tasks, run queues and timers of one thread.
pub struct Scheduler {
    inner: RefCell<Inner>,
    mailbox: Arc<Mailbox>,
    settings: Settings,
    current: Cell<TaskId>,
    reasons: Cell<Wake>,
    activity: Arc<Activity>,
    profile: Profile,
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
        let inner =
            Inner { tasks: Slab::new(), queue: RunQueue::default(), wheel: Wheel::new(now) };
        Self {
            inner: RefCell::new(inner),
            mailbox,
            settings,
            current: Cell::new(TaskId::NONE),
            reasons: Cell::new(Wake::empty()),
            activity,
            profile,
        }
    }

    /// The way in for other threads.
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// Adds a task, which first runs in `class`, with reason `INIT`.
    #[track_caller]
    pub fn spawn<F: Future<Output = ()> + 'static>(&self, class: Class, work: F) -> TaskId {
        let slot = Slot::new(Box::pin(work), Function::of::<F>());
        self.activity.spawned.add(1);
        let inner = &mut *self.inner.borrow_mut();
        let id = TaskId(inner.tasks.insert(slot));
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
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id.0) else { return };
        slot.reasons |= reason;
        if !slot.queued {
            let class = Class::of_wake(reason, id == self.current.get(), slot.nice != 0);
            inner.enqueue(id, class);
            if self.profile.is_on() {
                self.profile.woken(id, caller, reason);
            }
        }
    }

    /// Wakes every task of this thread, because something has changed for all of them.
    #[track_caller]
    pub fn wake_all(&self, reason: Wake) {
        let caller = Location::caller();
        let all: Vec<_> = self.inner.borrow().tasks.iter().map(|(key, _)| TaskId(key)).collect();
        all.into_iter().for_each(|id| self.wake_from(id, reason, caller));
    }

    /// Drops a task of this thread at its next turn, as urgent work. One that runs right now is
    /// dropped when it pauses.
    pub fn kill(&self, id: TaskId) {
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id.0) else { return };
        slot.killed = true;
        if !slot.queued && slot.future.is_some() {
            inner.enqueue(id, Class::Urgent);
        }
    }

    /// The task that runs now.
    pub fn current(&self) -> TaskId {
        self.current.get()
    }

    /// Why the task that runs now was woken.
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
        if let Some(slot) = self.inner.borrow_mut().tasks.get_mut(id.0) {
            slot.nice = nice.clamp(-1024, 1024);
        }
    }

    /// Sets the user's mark of a task, which survives its wake-ups.
    pub fn mark(&self, id: TaskId, marked: bool) {
        if let Some(slot) = self.inner.borrow_mut().tasks.get_mut(id.0) {
            slot.marked = marked;
        }
    }

    /// The user's mark of a task.
    pub fn is_marked(&self, id: TaskId) -> bool {
        self.inner.borrow().tasks.get(id.0).is_some_and(|slot| slot.marked)
    }

    /// Sets or clears the deadline of the running task. O(1); pushing one later touches no list.
    pub fn set_deadline(&self, deadline: Option<Tick>) {
        let inner = &mut *self.inner.borrow_mut();
        let TaskId(key) = self.current.get();
        let Some(slot) = inner.tasks.get_mut(key) else { return };
        if slot.deadline == deadline {
            return;
        }
        slot.deadline = deadline;
        let Some(deadline) = deadline else { return };
        match inner.wheel.armed(key.index) {
            Some(armed) if !deadline.is_before(armed) => {}
            _ => inner.wheel.arm(key.index, deadline),
        }
    }

    /// Waits for the next wake-up of the running task, at the latest at `deadline`; yields the
    /// reasons.
    ///
    /// Spurious wake-ups are possible: the caller looks again at what it waits for.
    pub fn pause(&self, deadline: Option<Tick>) -> Pause<'_> {
        Pause { scheduler: self, deadline, waiting: false }
    }

    /// Lets others run; the running task goes on in `class`.
    #[track_caller]
    pub fn yield_as(&self, class: Class) -> Yield<'_> {
        Yield { scheduler: self, class, caller: Location::caller(), yielded: false }
    }

    pub(crate) fn requeue_current(&self, class: Class, caller: &'static Location<'static>) {
        let inner = &mut *self.inner.borrow_mut();
        let id = self.current.get();
        let Some(slot) = inner.tasks.get_mut(id.0) else { return };
        slot.reasons |= Wake::OTHER;
        // A wake-up during this very poll may have queued it already; the yield decides the class.
        if slot.queued {
            slot.yields_to = Some(class);
        } else {
            inner.enqueue(id, class);
            if self.profile.is_on() {
                self.profile.woken(id, caller, Wake::OTHER);
            }
        }
    }

    /// Wakes the tasks whose deadline has come, at most `depth` of them. Returns how many.
    pub fn expire(&self, now: Tick) -> usize {
        let inner = &mut *self.inner.borrow_mut();
        let Inner { tasks, queue, wheel } = inner;
        let caller = Location::caller();
        let fired = wheel.advance(now, self.settings.depth as usize, |index| {
            let key = tasks.key_at(index)?;
            let slot = tasks.get_mut(key)?;
            let deadline = slot.deadline?;
            if !deadline.is_due(now) {
                return Some(deadline);
            }
            slot.deadline = None;
            slot.reasons |= Wake::TIMER;
            if !slot.queued {
                slot.queued = true;
                queue.push(TaskId(key), Class::Normal, slot.nice);
                if self.profile.is_on() {
                    self.profile.woken(TaskId(key), caller, Wake::TIMER);
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

    /// Runs one round: at most `depth` items, shared out over the classes by weight.
    pub fn run(&self) -> Round {
        self.profile.follow(&self.activity.profiling);
        self.open_mail();
        let mut round = Round::default();
        let given = {
            let queue = &self.inner.borrow().queue;
            class::shares(queue.ready(), self.round_depth(queue))
        };
        let mut left = given;
        let mut level = 0;
        while let Some((id, class)) = self.next_item(&mut left, level) {
            level = if self.settings.low_latency { 0 } else { class as usize };
            self.run_one(id, class);
            round.ran += 1;
        }
        round.more = self.has_work();
        self.publish(round, std::array::from_fn(|class| given[class] - left[class]));
        round
    }

    /// The most items of this round: fewer with niced tasks; a queue that is longer, but at most
    /// twice as long, is cut into two equal halves.
    fn round_depth(&self, queue: &RunQueue) -> u32 {
        let depth = self.settings.depth.max(1);
        let depth = if queue.has_niced() { (depth / 4).max(1) } else { depth };
        let len = queue.len().try_into().unwrap_or(u32::MAX);
        if len > depth && len <= depth.saturating_mul(2) { len.div_ceil(2) } else { depth }
    }

    /// The next item of the most urgent class from `level` on that has work and budget.
    fn next_item(&self, shares: &mut [u32; class::COUNT], level: usize) -> Option<(TaskId, Class)> {
        let queue = &mut self.inner.borrow_mut().queue;
        for class in &Class::ALL[level..] {
            if shares[*class as usize] == 0 {
                continue;
            }
            if let Some(id) = queue.pop(*class) {
                shares[*class as usize] -= 1;
                return Some((id, *class));
            }
        }
        None
    }

    /// Polls one task, or drops it if it was killed.
    fn run_one(&self, id: TaskId, class: Class) {
        let lap = self.profile.is_on().then(|| self.profile.begin(id));
        let (mut work, reasons, function) = match self.check_out(id, class) {
            Turn::Poll(work, reasons, function) => (work, reasons, function),
            // Dropped here, outside the borrow: a future's drop may call back into the scheduler.
            Turn::Drop(work) => {
                self.activity.killed.add(1);
                return drop(work);
            }
            Turn::Pass => return,
        };
        self.current.set(id);
        self.reasons.set(reasons);
        self.activity.enter(function);
        let borrowed = Borrowed { mailbox: &self.mailbox, id };
        let polled = waker::with_waker(&borrowed, |waker| {
            let mut context = Context::from_waker(waker);
            catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context)))
        });
        self.current.set(TaskId::NONE);
        match polled {
            Ok(Poll::Pending) => self.check_in(id, work),
            Ok(Poll::Ready(())) => self.remove(id, work),
            Err(_) => {
                self.activity.panicked.add(1);
                self.remove(id, work);
            }
        }
        if let Some(lap) = lap {
            self.profile.end(lap, function);
        }
    }

    /// Takes the future out of its slot to run it.
    fn check_out(&self, id: TaskId, class: Class) -> Turn {
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id.0) else { return Turn::Pass };
        slot.queued = false;
        if let Some(wanted) = slot.yields_to.take().filter(|wanted| *wanted != class) {
            inner.enqueue(id, wanted);
            return Turn::Pass;
        }
        let Some(work) = slot.future.take() else { return Turn::Pass };
        if slot.killed {
            inner.forget(id);
            return Turn::Drop(work);
        }
        Turn::Poll(work, std::mem::take(&mut slot.reasons), slot.function)
    }

    fn check_in(&self, id: TaskId, work: Work) {
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id.0) else { return };
        slot.future = Some(work);
        if slot.killed && !slot.queued {
            inner.enqueue(id, Class::Urgent);
        }
    }

    fn remove(&self, id: TaskId, work: Work) {
        self.inner.borrow_mut().forget(id);
        drop(work);
    }

    /// Drops every task, for the end of the thread; their drops may still call the scheduler.
    pub fn clear(&self) {
        while let Some(work) = self.take_any() {
            drop(work);
        }
    }

    fn take_any(&self) -> Option<Work> {
        let inner = &mut *self.inner.borrow_mut();
        let (key, _) = inner.tasks.iter().find(|(_, slot)| slot.future.is_some())?;
        let work = inner.tasks.get_mut(key)?.future.take();
        inner.forget(TaskId(key));
        work
    }

    fn open_mail(&self) {
        let mut opened = 0;
        for _ in 0..self.settings.depth.max(1) {
            match self.mailbox.receive() {
                Some(Letter::Wake(id, reason, caller)) => self.wake_from(id, reason, caller),
                Some(Letter::Kill(id)) => self.kill(id),
                None => break,
            }
            opened += 1;
        }
        self.activity.letters.add(opened);
    }
}

impl Inner {
    fn enqueue(&mut self, id: TaskId, class: Class) {
        let Some(slot) = self.tasks.get_mut(id.0) else { return };
        slot.queued = true;
        self.queue.push(id, class, slot.nice);
    }

    fn forget(&mut self, id: TaskId) {
        self.wheel.disarm(id.0.index);
        self.tasks.remove(id.0);
    }
}

pub use observe::Queued;

mod observe;
#[cfg(test)]
mod tests;
