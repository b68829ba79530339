//! Task profiling: CPU time and scheduling latency by function, and the caller that woke it.
//!
//! The clock is an argument. While profiling is off it costs one branch per wake-up and one per
//! turn.

mod table;

pub use table::{Entry, Totals};

use crate::{TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use table::Table;

/// Source of time for profiling.
pub trait Clock {
    /// Nanoseconds on a monotonic clock; 0 if the time is unknown.
    fn nanos(&self) -> u64;
}

/// A clock without time: calls are counted, durations are not.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClock;

impl Clock for NoClock {
    fn nanos(&self) -> u64 {
        0
    }
}

/// How profiling is switched (`profiling.tasks`, `set profiling tasks`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Tasks are not profiled.
    Off,
    /// While the average turn of the loop takes 1000 us or more, until it takes less than 990 us.
    #[default]
    Auto,
    /// Tasks are profiled.
    On,
}

/// Profiling mode of a thread, which any thread may change.
#[derive(Debug, Default)]
pub struct Switch(AtomicU32);

impl Switch {
    /// Sets the mode; the thread adopts it in its next round. `Mode::On` clears the thread's
    /// statistics.
    pub fn set(&self, mode: Mode) {
        let _ = self.0.fetch_update(Relaxed, Relaxed, |old| {
            let epoch = (old >> 2).wrapping_add(u32::from(mode == Mode::On));
            Some(epoch << 2 | mode as u32)
        });
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        decode(self.0.load(Relaxed))
    }
}

fn decode(word: u32) -> Mode {
    match word & 3 {
        0 => Mode::Off,
        1 => Mode::Auto,
        _ => Mode::On,
    }
}

/// The function that a task runs: the path of its `async fn`.
#[derive(Debug)]
pub struct Function {
    path: fn() -> &'static str,
}

struct TypeName<F>(std::marker::PhantomData<F>);

impl<F> TypeName<F> {
    const FUNCTION: Function = Function { path: std::any::type_name::<F> };
}

impl Function {
    /// The profile entry of the function that makes futures of type `F`.
    pub fn of<F>() -> &'static Self {
        &TypeName::<F>::FUNCTION
    }

    /// Its path, such as `proxy::client::run`.
    pub fn name(&self) -> &'static str {
        let mut path = (self.path)();
        while let Some(shorter) = path.strip_suffix("::{{closure}}") {
            path = shorter;
        }
        path
    }
}

/// Time, caller and reason of the wake-up that queued a task.
#[derive(Clone, Copy)]
struct WakeMark {
    date: u64,
    caller: &'static Location<'static>,
    reason: Wake,
}

/// Measurement of the turn that runs.
#[derive(Clone, Copy, Default)]
struct Lap {
    mark: Option<WakeMark>,
    start: u64,
}

impl Lap {
    /// Time from the wake-up to the turn, if the wake-up has a date.
    fn latency(&self) -> Option<u64> {
        let mark = self.mark.filter(|mark| mark.date != 0)?;
        Some(self.start.saturating_sub(mark.date))
    }
}

/// CPU time and latency that one task has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of turns.
    pub calls: u32,
    /// Nanoseconds of CPU in finished turns, while tasks were profiled.
    pub cpu: u64,
    /// Nanoseconds from wake-ups to their turns, while tasks were profiled.
    pub latency: u64,
}

impl Usage {
    /// The difference to an earlier reading.
    pub fn since(self, before: Self) -> Self {
        Self {
            calls: self.calls.wrapping_sub(before.calls),
            cpu: self.cpu.wrapping_sub(before.cpu),
            latency: self.latency.wrapping_sub(before.latency),
        }
    }
}

/// Average nanoseconds per iteration at which automatic profiling begins, and below which it ends.
const AUTO: (u64, u64) = (1_000_000, 990_000);

/// One thread's profile, used by that thread only.
pub(crate) struct Profile {
    clock: Box<dyn Clock>,
    on: Cell<bool>,
    word: Cell<u32>,
    slow: Cell<bool>,
    marks: RefCell<Vec<Option<WakeMark>>>,
    lap: Cell<Lap>,
    /// CPU time and latency by slot index. The sums continue when another task takes the slot, so
    /// only differences of two readings are meaningful.
    spent: RefCell<Vec<(u64, u64)>>,
    table: RefCell<Table>,
}

impl Profile {
    pub(crate) fn new(clock: Box<dyn Clock>) -> Self {
        Self {
            clock,
            on: Cell::new(false),
            word: Cell::new(0),
            slow: Cell::new(false),
            marks: RefCell::default(),
            lap: Cell::default(),
            spent: RefCell::default(),
            table: RefCell::default(),
        }
    }

    /// Whether turns are measured.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.get()
    }

    /// Adopts the mode that the switch holds now; called once per round.
    #[inline]
    pub(crate) fn adopt_mode(&self, switch: &Switch) {
        let word = switch.0.load(Relaxed);
        if word != self.word.get() || (self.slow.get() != self.on.get() && word & 3 == 1) {
            self.turn(word);
        }
    }

    #[cold]
    fn turn(&self, word: u32) {
        if word >> 2 != self.word.get() >> 2 {
            self.table.borrow_mut().clear();
        }
        self.word.set(word);
        let on = match decode(word) {
            Mode::Off => false,
            Mode::Auto => self.slow.get(),
            Mode::On => true,
        };
        if on != self.on.get() {
            // Tasks woken before now have no date, so their latency is not counted.
            self.marks.borrow_mut().clear();
            self.on.set(on);
        }
    }

    /// Updates the average length of an iteration, which the automatic mode follows.
    pub(crate) fn set_loop_time(&self, loop_nanos: u64) {
        let bound = if self.slow.get() { AUTO.1 } else { AUTO.0 };
        self.slow.set(loop_nanos >= bound);
    }

    /// Records a wake-up that queued a task.
    #[cold]
    pub(crate) fn record_wake(&self, id: TaskId, caller: &'static Location<'static>, reason: Wake) {
        let marks = &mut *self.marks.borrow_mut();
        let index = id.0.index as usize;
        if marks.len() <= index {
            marks.resize(index + 1, None);
        }
        marks[index] = Some(WakeMark { date: self.clock.nanos(), caller, reason });
    }

    /// The date of the wake-up that queued a task, if it has one.
    pub(crate) fn date(&self, id: TaskId) -> Option<u64> {
        let marks = self.marks.borrow();
        let mark = marks.get(id.0.index as usize)?.as_ref()?;
        Some(mark.date).filter(|date| *date != 0)
    }

    /// Time of the profiling clock; 0 if unknown.
    pub(crate) fn now(&self) -> u64 {
        self.clock.nanos()
    }

    /// Takes the mark of a task that is about to run, before it can be queued again.
    #[cold]
    pub(crate) fn take_mark(&self, id: TaskId) {
        let mark = self.marks.borrow_mut().get_mut(id.0.index as usize).and_then(Option::take);
        self.lap.set(Lap { mark, start: 0 });
    }

    /// Starts the measurement of the turn whose mark was taken last.
    #[cold]
    pub(crate) fn begin(&self, id: TaskId) {
        let lap = Lap { start: self.clock.nanos(), ..self.lap.get() };
        self.spend(id, 0, lap.latency().unwrap_or(0));
        self.lap.set(lap);
    }

    fn spend(&self, id: TaskId, cpu: u64, latency: u64) {
        let spent = &mut *self.spent.borrow_mut();
        let index = id.0.index as usize;
        if spent.len() <= index {
            spent.resize(index + 1, (0, 0));
        }
        let (own_cpu, own_latency) = &mut spent[index];
        *own_cpu = own_cpu.wrapping_add(cpu);
        *own_latency = own_latency.wrapping_add(latency);
    }

    /// CPU time in finished turns and latency before started turns of the task at this slot.
    pub(crate) fn spent(&self, id: TaskId) -> (u64, u64) {
        self.spent.borrow().get(id.0.index as usize).copied().unwrap_or_default()
    }

    /// Latency of the turn that runs.
    pub(crate) fn current_latency(&self) -> u64 {
        self.lap.get().latency().unwrap_or(0)
    }

    /// Ends the measurement of a turn.
    #[cold]
    pub(crate) fn end(&self, id: TaskId, function: &'static Function) {
        let lap = self.lap.take();
        let cpu = self.clock.nanos().saturating_sub(lap.start);
        let latency = lap.latency();
        self.spend(id, cpu, 0);
        let caller = lap.mark.map(|mark| (mark.caller, mark.reason));
        self.table.borrow_mut().add(function, caller, cpu, latency);
    }

    /// All rows since the last reset.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.table.borrow().entries()
    }
}

#[cfg(test)]
mod tests;
