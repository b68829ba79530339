//! One thread's reactor: its scheduler, its sockets, its time. Never shared with another thread.

use crate::kernel::{Event, Handle, Kernel, Watch};
use crate::outgoing::Outgoing;
use crate::pulse::Pulse;
use crate::socket::{BROKEN, CLOSED, Io, LATE, LOST, NEW, READ, Report, WAITS, WANTED, WRITE};
use crate::timekeeper::{LEAP, Timekeeper};
use sched::{Class, Mailbox, Scheduler, Wake};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use stdx::{Key, Prng, Slab, Tick};

/// What an operator may set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The scheduler's.
    pub scheduler: sched::Settings,
    /// Polls without ever sleeping (`busy-polling`).
    pub busy_polling: bool,
}

/// How long the offset between the wall clock and the monotonic one is trusted, in nanoseconds.
const WALL_TRUST: u64 = 50_000_000;

/// The length of one turn in this many is measured.
const SAMPLED: u64 = 16;
/// Turns measured that make up an average.
const SAMPLES: u64 = 64;

/// A descriptor that a thread watches.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The number that the system gave it.
    pub number: i32,
    /// The task that its readiness wakes, as one word.
    pub owner: u64,
    /// What its readiness means to that task.
    pub kind: &'static str,
    /// Whether reading may find something, and whether that is waited for.
    pub reads: (bool, bool),
    /// The same for writing.
    pub writes: (bool, bool),
    /// Whether the peer has closed.
    pub closed: bool,
}

/// Bulk work of one round, in nanoseconds: what is more urgent is heard of between rounds only, and
/// a share of tasks says nothing of how long they take.
const BULK: u64 = 500_000;
/// The same in a round that had more urgent work: whoever it was for is about to ask again.
const BULK_BESIDE: u64 = 200_000;
/// The same in any round with `tune.sched.low-latency`.
const BULK_HASTY: u64 = 25_000;
/// The age of a round, in nanoseconds, from which heavy work waits for the next one with
/// `tune.sched.low-latency`: whoever has come meanwhile would wait for that, too.
const HEAVY_WITHIN: u64 = 10_000;
/// How many tasks of bulk work run between two looks at the clock.
const BULK_TASKS: u32 = 2;

/// What all tasks of a thread share.
pub struct Thread {
    /// Number of the thread, from 0.
    pub index: usize,
    kernel: Box<dyn Kernel>,
    scheduler: Scheduler,
    /// The most timers that fire in one turn.
    expirations: usize,
    /// How many fewer have fired in this one.
    spare: Cell<usize>,
    ios: RefCell<Slab<Io>>,
    events: RefCell<Vec<Event>>,
    pub(crate) outgoing: Outgoing,
    prng: Prng,
    now: Cell<u64>,
    tick: Cell<Tick>,
    wall: Cell<u64>,
    wall_read: Cell<u64>,
    /// How long the poller was last asked to wait at most, in nanoseconds.
    asked: Cell<u64>,
    /// What is added to the kernel's clock in this turn, as the timekeeper says.
    correction: Cell<u64>,
    timekeeper: Arc<Timekeeper>,
    stopping: Cell<bool>,
    lingers: Cell<bool>,
    busy_polling: Cell<bool>,
    pulse: Arc<Pulse>,
    turns: Cell<u64>,
    /// Tasks of bulk work in this round, and when the first of them began.
    bulk: Cell<(u32, u64)>,
    /// How long this round's bulk work may take.
    bulk_time: Cell<u64>,
    /// How long that of any round may: alone, and beside work that is more urgent.
    bulk_times: (u64, u64),
    /// How many tasks of it run between two looks at the clock.
    bulk_tasks: u32,
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Thread {
    /// A thread without tasks, on top of a kernel, with a time of its own.
    pub fn new(index: usize, kernel: Box<dyn Kernel>, settings: Settings) -> Rc<Self> {
        let pulse: Arc<Pulse> = Arc::default();
        let timekeeper = Timekeeper::of(vec![pulse.clone()]);
        Self::with(index, kernel, settings, pulse, timekeeper)
    }

    /// As [`Thread::new`], of a process that keeps one time and looks at signs of life.
    ///
    /// # Panics
    /// The process has no thread of this number.
    pub fn of_process(
        index: usize,
        kernel: Box<dyn Kernel>,
        settings: Settings,
        timekeeper: &Arc<Timekeeper>,
    ) -> Rc<Self> {
        let pulse = timekeeper.pulses()[index].clone();
        Self::with(index, kernel, settings, pulse, timekeeper.clone())
    }

    fn with(
        index: usize,
        kernel: Box<dyn Kernel>,
        settings: Settings,
        pulse: Arc<Pulse>,
        timekeeper: Arc<Timekeeper>,
    ) -> Rc<Self> {
        let mailbox = Arc::new(Mailbox::new(kernel.alarm()));
        let correction = timekeeper.correction();
        let (now, wall) = (kernel.monotonic().wrapping_add(correction), kernel.wall());
        let scheduler = Scheduler::observed(
            settings.scheduler,
            mailbox,
            Tick::from_nanos(now),
            pulse.activity().clone(),
            kernel.stopwatch(),
        );
        let hasty = settings.scheduler.low_latency;
        Rc::new(Self {
            index,
            prng: Prng::new(kernel.seed()),
            kernel,
            expirations: settings.scheduler.depth as usize,
            spare: Cell::new(0),
            scheduler,
            ios: RefCell::default(),
            events: RefCell::default(),
            outgoing: Outgoing::new(hasty),
            now: Cell::new(now),
            tick: Cell::new(Tick::from_nanos(now)),
            wall: Cell::new(wall),
            wall_read: Cell::new(now),
            asked: Cell::new(u64::MAX),
            correction: Cell::new(correction),
            timekeeper,
            stopping: Cell::new(false),
            lingers: Cell::new(false),
            busy_polling: Cell::new(settings.busy_polling),
            pulse,
            turns: Cell::new(0),
            bulk: Cell::new((0, 0)),
            bulk_time: Cell::new(BULK),
            bulk_times: if hasty { (BULK_HASTY, BULK_HASTY) } else { (BULK, BULK_BESIDE) },
            bulk_tasks: if hasty { 1 } else { BULK_TASKS },
        })
    }

    /// The tasks.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The way in for other threads.
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        self.scheduler.mailbox()
    }

    /// The sign of life that a watchdog looks at.
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// The seam to the world.
    pub fn kernel(&self) -> &dyn Kernel {
        &*self.kernel
    }

    /// The thread's generator of cheap random numbers.
    pub fn prng(&self) -> &Prng {
        &self.prng
    }

    /// What the timers of this turn have left of its budget for expirations, for work that threads
    /// share.
    pub fn spare_expirations(&self) -> usize {
        self.spare.get()
    }

    /// Takes this many off what the turn has left: shared work has used them.
    pub fn use_expirations(&self, count: usize) {
        self.spare.set(self.spare.get().saturating_sub(count));
    }

    /// The time of this turn.
    pub fn tick(&self) -> Tick {
        self.tick.get()
    }

    /// The time of this turn, in nanoseconds on a clock that never goes back.
    pub fn nanos(&self) -> u64 {
        self.now.get()
    }

    /// The date of this turn, in nanoseconds since 1970-01-01 UTC.
    pub fn wall(&self) -> u64 {
        self.wall.get()
    }

    /// Turns made.
    pub fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// Lets others run until the next turn begins, among tasks of this class: in one turn a task
    /// may have many goes, and sockets are heard between turns only.
    pub async fn next_turn(&self, class: Class) {
        let turn = self.turns();
        while self.turns() == turn {
            self.scheduler.yield_as(class).await;
        }
    }

    /// Sockets open and listeners watched.
    pub fn sockets(&self) -> usize {
        self.ios.borrow().len()
    }

    /// What it watches, for operators.
    pub fn watched_descriptors(&self) -> Vec<Watched> {
        let ios = self.ios.borrow();
        let told = |(_, io): (Key, &Io)| {
            let bits = |bit| (io.ready & bit != 0, io.wanted & bit != 0);
            Watched {
                number: io.handle.0,
                owner: io.owner.to_bits(),
                kind: if io.reason == Wake::SIGNAL { "signals" } else { "task" },
                reads: bits(READ),
                writes: bits(WRITE),
                closed: io.ready & CLOSED != 0,
            }
        };
        ios.iter().map(told).collect()
    }

    /// Lets the thread sleep from now on, whatever its settings: it only finishes what runs.
    pub fn stop_busy_polling(&self) {
        self.busy_polling.set(false);
    }

    /// Whether the thread polls without waiting (`busy-polling`).
    pub fn is_busy_polling(&self) -> bool {
        self.busy_polling.get()
    }

    /// As [`Thread::stop`], but what was sent is sent first, within its time.
    pub fn leave(&self) {
        self.lingers.set(true);
        self.stop();
    }

    /// Makes [`Thread::run`] return after the turn.
    pub fn stop(&self) {
        self.stopping.set(true);
    }

    /// Turns until stopped, then drops all tasks.
    ///
    /// # Errors
    /// The poller fails for good.
    pub fn run(&self) -> io::Result<()> {
        self.pulse.start();
        while !self.stopping.get() {
            self.turn(None)?;
        }
        self.scheduler.clear();
        while self.lingers.get() && self.has_orphans() {
            self.turn(None)?;
        }
        // Nobody has to expect another turn.
        self.pulse.sleep(u64::MAX);
        Ok(())
    }

    /// One turn: wait for events while there is no work, at most for `patience`; then wake what is
    /// due and run one round.
    ///
    /// # Errors
    /// The poller fails for good.
    pub fn turn(&self, patience: Option<Duration>) -> io::Result<()> {
        let mut events = self.events.take();
        events.clear();
        let result = self.poll(patience, &mut events);
        self.turns.set(self.turns.get() + 1);
        self.activity().loops.add(1);
        self.read_clocks();
        self.pulse.throughput().turn(self.now.get());
        for event in &events {
            self.deliver(*event);
        }
        self.events.replace(events);
        result?;
        let expired = self.scheduler.expire(self.tick());
        self.spare.set(self.expirations.saturating_sub(expired));
        self.bury_overdue();
        self.bulk.set((0, 0));
        self.bulk_time.set(self.bulk_times.0);
        let before = |class| {
            self.before_task(class);
            if class < Class::Bulk {
                self.bulk_time.set(self.bulk_times.1);
                return true;
            }
            self.has_time_for_bulk()
        };
        self.scheduler.run_telling(&before, &|| self.has_time_for_heavy());
        self.send_waiting();
        self.pulse.leave(self.scheduler.load());
        if self.turns.get().is_multiple_of(SAMPLED) {
            self.measure_turn();
        }
        Ok(())
    }

    /// Whether another task of bulk work may run in this round after the coming one.
    fn has_time_for_bulk(&self) -> bool {
        let (tasks, since) = self.bulk.get();
        let since = if tasks == 0 { self.clock() } else { since };
        self.bulk.set((tasks + 1, since));
        let looks = tasks > 0 && tasks.is_multiple_of(self.bulk_tasks);
        !looks || self.clock().saturating_sub(since) < self.bulk_time.get()
    }

    /// Whether this round is young enough for heavy work with `tune.sched.low-latency`.
    fn has_time_for_heavy(&self) -> bool {
        self.clock().saturating_sub(self.now.get()) < HEAVY_WITHIN
    }

    /// Takes this turn into the average: one of [`SAMPLED`], so that a second clock is read rarely.
    fn measure_turn(&self) {
        let length = self.clock().saturating_sub(self.now.get());
        let average = self.activity().loop_nanos.get();
        let average = average - average / SAMPLES + length / SAMPLES;
        self.scheduler.hear_loop(average);
    }

    fn activity(&self) -> &sched::Activity {
        self.scheduler.activity()
    }

    /// Waits for events.
    fn poll(&self, patience: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let activity = self.activity();
        let busy = self.scheduler.has_work();
        let sleeps = !busy && !self.busy_polling.get() && self.mailbox().park();
        if !sleeps && !self.mailbox().is_empty() {
            activity.wake_mail.add(1);
        } else if busy {
            activity.wake_tasks.add(1);
        }
        let patience = self.patience_of_orphans(patience);
        let timeout = if sleeps { self.time_to_expiry(patience) } else { Some(Duration::ZERO) };
        self.pulse.sleep(self.now.get().saturating_add(self.patience_for_leaps(timeout)));
        let result = self.kernel.wait(timeout, events);
        self.pulse.beat();
        self.mailbox().unpark();
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                activity.wake_signal.add(1);
                return Ok(());
            }
            Ok(()) if !events.is_empty() => activity.poll_io.add(1),
            Ok(()) if sleeps && self.mailbox().is_empty() => activity.poll_expired.add(1),
            _ => {}
        }
        result
    }

    /// How long the poller may take without a leap of the clock, if it is asked to wait for
    /// `timeout` at most. The last call counts too: in a simulation, time passes between the turns.
    fn patience_for_leaps(&self, timeout: Option<Duration>) -> u64 {
        let asked = timeout.map_or(u64::MAX, |it| it.as_nanos().try_into().unwrap_or(u64::MAX));
        asked.max(self.asked.replace(asked))
    }

    /// How long to wait at most: to the next timer, and not beyond `patience`.
    fn time_to_expiry(&self, patience: Option<Duration>) -> Option<Duration> {
        let Some(next) = self.scheduler.next_expiry() else { return patience };
        // Counted from the last turn's time; the round since then is short, and a late wake-up is
        // allowed, so no second clock is read. A tick's start is aimed at, rounded up.
        let into_tick = self.now.get() % 1_000_000;
        let ahead = u64::from(next.ms_after(self.tick())) * 1_000_000;
        let until = Duration::from_nanos(ahead.saturating_sub(into_tick));
        Some(patience.map_or(until, |patience| patience.min(until)))
    }

    /// The kernel's clock, without its leaps so far.
    fn clock(&self) -> u64 {
        self.kernel.monotonic().wrapping_add(self.correction.get())
    }

    /// Reads the clock, once per turn.
    ///
    /// A clock that goes back, or on by far more than the pollers were to wait, has leapt: the
    /// machine was suspended, the process stopped, a virtual machine moved. The process's own time
    /// does not follow it, so that its timers expire neither all at once nor never.
    fn read_clocks(&self) {
        let (before, raw) = (self.now.get(), self.kernel.monotonic());
        let correction = self.timekeeper.correction();
        let read = raw.wrapping_add(correction);
        let (now, correction) = match read.wrapping_sub(before) <= LEAP {
            true => (read, correction),
            false => self.timekeeper.judge(raw, before),
        };
        self.pulse.date(now);
        let leapt = self.correction.replace(correction) != correction;
        self.wall.set(self.wall.get().wrapping_add(now - before));
        self.now.set(now);
        self.tick.set(Tick::from_nanos(now));
        if leapt || now - self.wall_read.get() > WALL_TRUST {
            self.wall.set(self.kernel.wall());
            self.wall_read.set(now);
        }
    }

    fn deliver(&self, event: Event) {
        let key = Key::from_bits(event.token);
        let mut ios = self.ios.borrow_mut();
        // An event of a socket that is gone, harvested in the same batch, finds nothing.
        let Some(io) = ios.get_mut(key) else {
            return self.activity().poll_drop.add(1);
        };
        let late = io.ready & LATE != 0;
        if event.readable {
            io.ready |= READ;
        }
        if event.writable && !late {
            io.ready |= WRITE;
        }
        if event.closed {
            io.ready |= CLOSED;
        }
        let (owner, reason) = (io.owner, io.reason);
        let awaited = io.ready & io.wanted & WANTED != 0;
        drop(ios);
        if awaited {
            self.scheduler.wake(owner, reason);
        } else {
            self.activity().poll_skip.add(1);
        }
        if late {
            self.send_rest(key);
        }
    }

    /// Registers a handle that the socket will own: it is closed if the poller refuses it.
    pub(crate) fn register(&self, handle: Handle, ready: u16, watch: Watch) -> io::Result<Key> {
        self.enrol(handle, ready, watch).inspect_err(|_| self.kernel.close(handle, false))
    }

    pub(crate) fn enrol(&self, handle: Handle, ready: u16, watch: Watch) -> io::Result<Key> {
        let key = self.enter(handle, ready);
        self.kernel.watch(handle, key.to_bits(), watch).inspect_err(|_| {
            self.ios.borrow_mut().remove(key);
        })?;
        Ok(key)
    }

    /// Takes a handle in that the poller does not know.
    pub(crate) fn enter(&self, handle: Handle, ready: u16) -> Key {
        let owner = self.scheduler.current();
        let io =
            Io { handle, owner, reason: Wake::IO, ready, wanted: 0, resets: false, unheard: 0 };
        self.ios.borrow_mut().insert(io)
    }

    /// Has the poller know a connection, and report room if that is lacking, unless it does
    /// already: it reports what is ready now, too.
    pub(crate) fn introduce(&self, key: Key) {
        let (handle, report) = self.io(key, |io| (io.handle, io.report()));
        let Some(Report { watch, first }) = report else { return };
        let token = key.to_bits();
        let told = match first {
            true => self.kernel.watch(handle, token, watch),
            false => self.kernel.rewatch(handle, token, watch),
        };
        if let Err(error) = told {
            self.fail(key, &[], error);
        }
    }

    /// Forgets a socket and closes it. Doing so twice does nothing.
    pub(crate) fn unregister(&self, key: Key) {
        if self.has_estate(key) && !self.settle_estate(key) {
            return;
        }
        let io = self.ios.borrow_mut().remove(key);
        if let Some(io) = io {
            self.kernel.close(io.handle, io.resets);
        }
    }

    /// Forgets a listener, or a connection let go, without closing it.
    pub(crate) fn dismiss(&self, key: Key) {
        if self.has_estate(key) {
            self.give_up_estate(key);
        }
        let io = self.ios.borrow_mut().remove(key);
        if let Some(io) = io.filter(|io| io.ready & NEW == 0) {
            let _ = self.kernel.unwatch(io.handle);
        }
    }

    /// Whether something of a socket is still on its way, or has failed.
    fn has_estate(&self, key: Key) -> bool {
        self.ios.borrow().get(key).is_some_and(|io| io.ready & (WAITS | LATE | BROKEN | LOST) != 0)
    }

    pub(crate) fn io<R>(&self, key: Key, with: impl FnOnce(&mut Io) -> R) -> R {
        let mut ios = self.ios.borrow_mut();
        with(ios.get_mut(key).expect("a socket's entry lives as long as the socket"))
    }
}

#[cfg(test)]
mod leaps;
#[cfg(test)]
mod tests;
