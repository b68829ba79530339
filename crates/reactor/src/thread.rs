//! One thread's reactor: its scheduler, its sockets, its time.

use self::send_queue::SendQueue;
use self::socket::{
    CLOSED, FAILED, LOST, QUEUED, READ, Registration, SocketState, UNREGISTERED, UNSENT, WANTED,
    WRITE,
};
use crate::clock_correction::{ClockCorrection, LEAP};
use crate::heartbeat::Heartbeat;
use crate::kernel::{Event, Handle, Kernel, Watch};
use sched::{Class, Mailbox, Scheduler, Wake};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use stdx::{Key, Prng, Slab, Tick};

mod send_queue;
pub mod socket;

/// Settings of the operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Settings of the scheduler.
    pub scheduler: sched::Settings,
    /// Whether the thread polls without sleeping (`busy-polling`).
    pub busy_polling: bool,
}

/// Time for which the offset between wall clock and monotonic clock is trusted, in nanoseconds.
const WALL_TRUST: u64 = 50_000_000;

/// One turn in this many is measured.
const SAMPLED: u64 = 16;
/// Turns measured that make up an average.
const SAMPLES: u64 = 64;

/// A registered descriptor, for operators.
#[derive(Clone, Copy, Debug)]
pub struct WatchedDescriptor {
    /// The descriptor.
    pub number: i32,
    /// The task that its readiness wakes, as one word.
    pub owner: u64,
    /// `signals` for the signal descriptor, else `task`.
    pub kind: &'static str,
    /// Whether the handle is readable, and whether its owner waits for input.
    pub reads: (bool, bool),
    /// Whether the handle is writable, and whether its owner waits to write.
    pub writes: (bool, bool),
    /// Whether the peer has closed.
    pub closed: bool,
}

/// Time for bulk work in one round, in nanoseconds. More urgent work is noticed between rounds
/// only, and the share of tasks does not bound their duration.
const BULK_TIME: u64 = 500_000;
/// The same in a round that had more urgent work: its clients will soon send again.
const BULK_TIME_BESIDE_URGENT: u64 = 200_000;
/// The same in any round with `tune.sched.low-latency`.
const BULK_TIME_LOW_LATENCY: u64 = 25_000;
/// Age of a round, in nanoseconds, from which heavy work waits for the next round with
/// `tune.sched.low-latency`: clients that have come meanwhile would have to wait for it, too.
const HEAVY_WITHIN: u64 = 10_000;
/// Bulk tasks that run between two reads of the clock.
const BULK_TASKS: u32 = 2;

/// State shared by all tasks of a thread.
pub struct Thread {
    /// Number of the thread, from 0.
    pub index: usize,
    kernel: Box<dyn Kernel>,
    scheduler: Scheduler,
    /// The number of timers that may fire in one turn.
    expirations: usize,
    /// Timers that may still fire in this turn.
    expirations_left: Cell<usize>,
    ios: RefCell<Slab<SocketState>>,
    events: RefCell<Vec<Event>>,
    pub(crate) send_queue: SendQueue,
    prng: Prng,
    now: Cell<u64>,
    tick: Cell<Tick>,
    wall: Cell<u64>,
    wall_read: Cell<u64>,
    /// Last timeout of the poller, in nanoseconds.
    last_timeout: Cell<u64>,
    /// Offset to the kernel's clock in this turn, from the clock correction.
    correction: Cell<u64>,
    clock_correction: Arc<ClockCorrection>,
    stopping: Cell<bool>,
    flushes_on_stop: Cell<bool>,
    busy_polling: Cell<bool>,
    heartbeat: Arc<Heartbeat>,
    turns: Cell<u64>,
    /// Bulk tasks run in this round, and the start of the first of them.
    bulk: Cell<(u32, u64)>,
    /// Time limit for bulk work of this round.
    bulk_time: Cell<u64>,
    /// The limits for any round: with bulk work alone, and with more urgent work.
    bulk_times: (u64, u64),
    /// Bulk tasks that run between two reads of the clock.
    bulk_tasks: u32,
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Thread {
    /// A thread without tasks over a kernel, with a clock correction of its own.
    pub fn new(index: usize, kernel: Box<dyn Kernel>, settings: Settings) -> Rc<Self> {
        let heartbeat: Arc<Heartbeat> = Arc::default();
        let clock_correction = ClockCorrection::of(vec![heartbeat.clone()]);
        Self::with(index, kernel, settings, heartbeat, clock_correction)
    }

    /// As [`Thread::new`], with the clock correction and the heartbeats of a process.
    ///
    /// # Panics
    /// The clock correction has no thread of this number.
    pub fn of_process(
        index: usize,
        kernel: Box<dyn Kernel>,
        settings: Settings,
        clock_correction: &Arc<ClockCorrection>,
    ) -> Rc<Self> {
        let heartbeat = clock_correction.heartbeats()[index].clone();
        Self::with(index, kernel, settings, heartbeat, clock_correction.clone())
    }

    fn with(
        index: usize,
        kernel: Box<dyn Kernel>,
        settings: Settings,
        heartbeat: Arc<Heartbeat>,
        clock_correction: Arc<ClockCorrection>,
    ) -> Rc<Self> {
        let mailbox = Arc::new(Mailbox::new(kernel.alarm()));
        let correction = clock_correction.correction();
        let (now, wall) = (kernel.monotonic().wrapping_add(correction), kernel.wall());
        let scheduler = Scheduler::with_counters(
            settings.scheduler,
            mailbox,
            Tick::from_nanos(now),
            heartbeat.activity().clone(),
            kernel.stopwatch(),
        );
        let hasty = settings.scheduler.low_latency;
        Rc::new(Self {
            index,
            prng: Prng::new(kernel.seed()),
            kernel,
            expirations: settings.scheduler.depth as usize,
            expirations_left: Cell::new(0),
            scheduler,
            ios: RefCell::default(),
            events: RefCell::default(),
            send_queue: SendQueue::new(hasty),
            now: Cell::new(now),
            tick: Cell::new(Tick::from_nanos(now)),
            wall: Cell::new(wall),
            wall_read: Cell::new(now),
            last_timeout: Cell::new(u64::MAX),
            correction: Cell::new(correction),
            clock_correction,
            stopping: Cell::new(false),
            flushes_on_stop: Cell::new(false),
            busy_polling: Cell::new(settings.busy_polling),
            heartbeat,
            turns: Cell::new(0),
            bulk: Cell::new((0, 0)),
            bulk_time: Cell::new(BULK_TIME),
            bulk_times: if hasty {
                (BULK_TIME_LOW_LATENCY, BULK_TIME_LOW_LATENCY)
            } else {
                (BULK_TIME, BULK_TIME_BESIDE_URGENT)
            },
            bulk_tasks: if hasty { 1 } else { BULK_TASKS },
        })
    }

    /// The thread's scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The queue for wake-ups from other threads.
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        self.scheduler.mailbox()
    }

    /// The thread's heartbeat.
    pub fn heartbeat(&self) -> &Arc<Heartbeat> {
        &self.heartbeat
    }

    /// The thread's kernel.
    pub fn kernel(&self) -> &dyn Kernel {
        &*self.kernel
    }

    /// The thread's random generator; fast, not for secrets.
    pub fn prng(&self) -> &Prng {
        &self.prng
    }

    /// Timers that may still fire in this turn; shared work uses the rest of this budget.
    pub fn spare_expirations(&self) -> usize {
        self.expirations_left.get()
    }

    /// Takes `count` off the budget, because shared work has used it.
    pub fn use_expirations(&self, count: usize) {
        self.expirations_left.set(self.expirations_left.get().saturating_sub(count));
    }

    /// The time of this turn.
    pub fn tick(&self) -> Tick {
        self.tick.get()
    }

    /// The time of this turn, in nanoseconds of a monotonic clock.
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

    /// Lets other tasks run until the next turn begins; the task is queued in `class`. A task may
    /// run several times in one turn, but the poller is asked between turns only.
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

    /// The registered descriptors, for operators.
    pub fn watched_descriptors(&self) -> Vec<WatchedDescriptor> {
        let ios = self.ios.borrow();
        let told = |(_, io): (Key, &SocketState)| {
            let bits = |bit| (io.ready & bit != 0, io.wanted & bit != 0);
            WatchedDescriptor {
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

    /// Lets the thread sleep from now on, whatever its settings, because it only finishes running
    /// work.
    pub fn stop_busy_polling(&self) {
        self.busy_polling.set(false);
    }

    /// Whether the thread polls without waiting (`busy-polling`).
    pub fn is_busy_polling(&self) -> bool {
        self.busy_polling.get()
    }

    /// As [`Thread::stop`], but unsent bytes of closed sockets are sent first, within their time.
    pub fn stop_when_flushed(&self) {
        self.flushes_on_stop.set(true);
        self.stop();
    }

    /// Makes [`Thread::run`] return after the turn.
    pub fn stop(&self) {
        self.stopping.set(true);
    }

    /// Runs turns until stopped, then drops all tasks.
    ///
    /// # Errors
    /// The poller fails permanently.
    pub fn run(&self) -> io::Result<()> {
        self.heartbeat.start();
        while !self.stopping.get() {
            self.turn(None)?;
        }
        self.scheduler.clear();
        while self.flushes_on_stop.get() && self.has_orphans() {
            self.turn(None)?;
        }
        // The watchdog and the clock correction must not expect another turn.
        self.heartbeat.sleep(u64::MAX);
        Ok(())
    }

    /// One turn: wait for events if there is no work, for `patience` at most; then wake the tasks
    /// that are due and run one round.
    ///
    /// # Errors
    /// The poller fails permanently.
    pub fn turn(&self, patience: Option<Duration>) -> io::Result<()> {
        let mut events = self.events.take();
        events.clear();
        let result = self.poll(patience, &mut events);
        self.turns.set(self.turns.get() + 1);
        self.activity().loops.add(1);
        self.read_clocks();
        self.heartbeat.throughput().turn(self.now.get());
        for event in &events {
            self.deliver(*event);
        }
        self.events.replace(events);
        result?;
        let expired = self.scheduler.expire(self.tick());
        self.expirations_left.set(self.expirations.saturating_sub(expired));
        self.close_overdue_orphans();
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
        self.scheduler.run_with(&before, &|| self.has_time_for_heavy());
        self.send_queued();
        self.heartbeat.end_turn(self.scheduler.load());
        if self.turns.get().is_multiple_of(SAMPLED) {
            self.measure_turn();
        }
        Ok(())
    }

    /// Whether another bulk task may run in this round after this one.
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

    /// Adds this turn to the average: one in [`SAMPLED`], so that the clock is read a second time
    /// rarely.
    fn measure_turn(&self) {
        let length = self.clock().saturating_sub(self.now.get());
        let average = self.activity().loop_nanos.get();
        let average = average - average / SAMPLES + length / SAMPLES;
        self.scheduler.set_loop_time(average);
    }

    fn activity(&self) -> &sched::Activity {
        self.scheduler.activity()
    }

    /// Waits for events, or only collects them if there is work.
    fn poll(&self, patience: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let activity = self.activity();
        let busy = self.scheduler.has_work();
        let sleeps = !busy && !self.busy_polling.get() && self.mailbox().park();
        if !sleeps && !self.mailbox().is_empty() {
            activity.wake_mail.add(1);
        } else if busy {
            activity.wake_tasks.add(1);
        }
        let patience = self.timeout_with_orphans(patience);
        let timeout = if sleeps { self.time_to_expiry(patience) } else { Some(Duration::ZERO) };
        self.heartbeat.sleep(self.now.get().saturating_add(self.longest_wait(timeout)));
        let result = self.kernel.wait(timeout, events);
        self.heartbeat.begin_turn();
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

    /// Longest time between two turns without a leap of the clock, for a timeout of the poller. The
    /// previous timeout counts too: in a simulation, time passes between turns.
    fn longest_wait(&self, timeout: Option<Duration>) -> u64 {
        let asked = timeout.map_or(u64::MAX, |it| it.as_nanos().try_into().unwrap_or(u64::MAX));
        asked.max(self.last_timeout.replace(asked))
    }

    /// Timeout of the poller: to the next timer, and at most `patience`.
    fn time_to_expiry(&self, patience: Option<Duration>) -> Option<Duration> {
        let Some(next) = self.scheduler.next_expiry() else { return patience };
        // Counted from the time of the last turn, so that no clock is read: the round since then is
        // short, and waking late is allowed. Aims at the start of the tick.
        let into_tick = self.now.get() % 1_000_000;
        let ahead = u64::from(next.ms_after(self.tick())) * 1_000_000;
        let until = Duration::from_nanos(ahead.saturating_sub(into_tick));
        Some(patience.map_or(until, |patience| patience.min(until)))
    }

    /// The kernel's clock, corrected for its leaps so far.
    fn clock(&self) -> u64 {
        self.kernel.monotonic().wrapping_add(self.correction.get())
    }

    /// Reads the clock, once per turn.
    ///
    /// A clock that goes back, or forward by far more than the timeouts, has leapt: the machine was
    /// suspended, the process stopped, a virtual machine moved. The process's own time does not
    /// follow the leap, so that its timers do not expire all at once or never.
    fn read_clocks(&self) {
        let (before, raw) = (self.now.get(), self.kernel.monotonic());
        let correction = self.clock_correction.correction();
        let read = raw.wrapping_add(correction);
        let (now, correction) = match read.wrapping_sub(before) <= LEAP {
            true => (read, correction),
            false => self.clock_correction.correct_leap(raw, before),
        };
        self.heartbeat.set_turn_time(now);
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
        // The socket was closed by a task of this batch of events.
        let Some(io) = ios.get_mut(key) else {
            return self.activity().poll_drop.add(1);
        };
        let late = io.ready & UNSENT != 0;
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
            self.send_unsent(key);
        }
    }

    /// Registers a handle that the socket will own; it is closed if the poller refuses it.
    pub(crate) fn register(&self, handle: Handle, ready: u16, watch: Watch) -> io::Result<Key> {
        self.add_registered(handle, ready, watch).inspect_err(|_| self.kernel.close(handle, false))
    }

    pub(crate) fn add_registered(
        &self,
        handle: Handle,
        ready: u16,
        watch: Watch,
    ) -> io::Result<Key> {
        let key = self.add(handle, ready);
        self.kernel.watch(handle, key.to_bits(), watch).inspect_err(|_| {
            self.ios.borrow_mut().remove(key);
        })?;
        Ok(key)
    }

    /// Adds a handle that is not registered with the poller.
    pub(crate) fn add(&self, handle: Handle, ready: u16) -> Key {
        let owner = self.scheduler.current();
        let io = SocketState {
            handle,
            owner,
            reason: Wake::IO,
            ready,
            wanted: 0,
            resets: false,
            unanswered: 0,
        };
        self.ios.borrow_mut().insert(io)
    }

    /// Registers a connection with the poller, for output too if room is lacking, unless it is
    /// registered so already; the poller reports readiness that exists already.
    pub(crate) fn register_interest(&self, key: Key) {
        let (handle, report) = self.io(key, |io| (io.handle, io.missing_registration()));
        let Some(Registration { watch, first }) = report else { return };
        let token = key.to_bits();
        let told = match first {
            true => self.kernel.watch(handle, token, watch),
            false => self.kernel.modify_watch(handle, token, watch),
        };
        if let Err(error) = told {
            self.record_failure(key, &[], error);
        }
    }

    /// Removes a socket and closes it. A second call does nothing.
    pub(crate) fn unregister(&self, key: Key) {
        if self.has_pending_sends(key) && !self.finish_sending(key) {
            return;
        }
        let io = self.ios.borrow_mut().remove(key);
        if let Some(io) = io {
            self.kernel.close(io.handle, io.resets);
        }
    }

    /// Removes a listener, or a released connection, without closing it.
    pub(crate) fn forget(&self, key: Key) {
        if self.has_pending_sends(key) {
            self.drop_unsent(key);
        }
        let io = self.ios.borrow_mut().remove(key);
        if let Some(io) = io.filter(|io| io.ready & UNREGISTERED == 0) {
            let _ = self.kernel.unwatch(io.handle);
        }
    }

    /// Whether a socket has queued or unsent bytes, or a failure.
    fn has_pending_sends(&self, key: Key) -> bool {
        self.ios
            .borrow()
            .get(key)
            .is_some_and(|io| io.ready & (QUEUED | UNSENT | FAILED | LOST) != 0)
    }

    pub(crate) fn io<R>(&self, key: Key, with: impl FnOnce(&mut SocketState) -> R) -> R {
        let mut ios = self.ios.borrow_mut();
        with(ios.get_mut(key).expect("a socket's entry lives as long as the socket"))
    }
}

#[cfg(test)]
mod leaps;
#[cfg(test)]
mod tests;
