//! The states of the process, and fetches and converters as functions of expressions.

use crate::budget::in_one_turn;
use crate::call::{Call, Step, Subject};
use crate::error::LoadError;
use crate::host::{Host, NoHost};
use crate::state::State;
use crate::surroundings::{self, Surroundings};
use sample::{Facts, Number, ScriptFunction, Value};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::{Arc, MutexGuard, OnceLock};
use stdx::Mutex;

/// Milliseconds that scripts may run, by context; 0 without end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// Actions, fetches and converters (`tune.lua.session-timeout`).
    pub session: u64,
    /// Services (`tune.lua.service-timeout`).
    pub service: u64,
    /// Tasks and commands (`tune.lua.task-timeout`).
    pub task: u64,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { session: 4_000, service: 4_000, task: 0 }
    }
}

/// Wakes a task that waits for the shared state.
type Waker = Box<dyn FnOnce() + Send>;

/// A state that one script at a time may use.
pub struct Cell {
    state: Mutex<State>,
    /// Tasks that wait for it: emptied at the end of each turn.
    waiting: Mutex<Vec<Waker>>,
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").finish_non_exhaustive()
    }
}

impl Cell {
    pub(crate) fn new(state: State) -> Cell {
        Cell { state: Mutex::new(state), waiting: Mutex::default() }
    }

    /// The state, if no other thread uses it; otherwise the task is woken when it is free.
    pub fn enter(&self, wake: impl FnOnce() + Send + 'static) -> Option<Turn<'_>> {
        if let Some(state) = self.state.try_lock() {
            return Some(Turn { cell: self, state: Some(state) });
        }
        self.waiting.lock().push(Box::new(wake));
        // The runtime may have become free before the task was in the queue.
        let state = self.state.try_lock()?;
        Some(Turn { cell: self, state: Some(state) })
    }

    /// The state, if no other thread uses it.
    pub fn try_enter(&self) -> Option<Turn<'_>> {
        Some(Turn { cell: self, state: Some(self.state.try_lock()?) })
    }

    /// The state; waits for the slice of another thread at most, for what cannot be suspended.
    pub fn wait(&self) -> Turn<'_> {
        Turn { cell: self, state: Some(self.state.lock()) }
    }
}

/// The right to use a state; the tasks that wait for it are woken at its end.
pub struct Turn<'c> {
    cell: &'c Cell,
    state: Option<MutexGuard<'c, State>>,
}

impl Deref for Turn<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state.as_ref().expect("held until the end")
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_mut().expect("held until the end")
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.state = None;
        // All of them: the first one may belong to a task that has ended since.
        let waiting = std::mem::take(&mut *self.cell.waiting.lock());
        waiting.into_iter().for_each(|wake| wake());
    }
}

/// A line of `core.register_init`: its level and its text.
pub(crate) type EarlyLine = (Option<u8>, Vec<u8>);

/// Surroundings that keep a copy of the lines that are logged.
struct Recorded {
    inner: Rc<dyn Surroundings>,
    lines: Rc<RefCell<Vec<EarlyLine>>>,
}

impl Surroundings for Recorded {
    fn log(&self, level: Option<u8>, text: &[u8]) {
        let mut lines = self.lines.borrow_mut();
        if lines.len() < MAX_EARLY {
            lines.push((level, text.to_vec()));
        }
        self.inner.log(level, text);
    }

    fn alert(&self, text: &str) {
        self.inner.alert(text);
    }

    fn write(&self, descriptor: i32, text: &[u8]) {
        self.inner.write(descriptor, text);
    }

    fn wall(&self) -> (i64, u32) {
        self.inner.wall()
    }
}

/// A command that a script has registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Its words, one blank between two.
    pub words: &'static str,
    /// Its help text.
    pub usage: &'static str,
    /// Whether each thread has a state of its own for it.
    pub per_thread: bool,
}

impl Command {
    /// The number of words of the command, if `given` begins with them.
    pub fn matches(&self, given: &[String]) -> Option<usize> {
        let count = self.words.split(' ').count();
        let same = given.len() >= count && self.words.split(' ').zip(given).all(|(a, b)| a == b);
        same.then_some(count)
    }
}

/// All states of the process.
#[derive(Debug)]
pub struct Runtime {
    pub(crate) shared: Option<Cell>,
    pub(crate) threads: Vec<Cell>,
    /// The time that scripts have.
    pub timeouts: Timeouts,
    /// The commands that scripts have registered, in the order of their words.
    pub commands: Vec<Command>,
    /// Lines that the functions of `core.register_init` have logged.
    pub(crate) early: Mutex<Vec<EarlyLine>>,
}

/// The most lines of `core.register_init` that are kept until the process can send them.
const MAX_EARLY: usize = 1_024;

impl Runtime {
    /// Runs the functions of `core.register_init`, before the process serves; `pause` waits for
    /// so many milliseconds.
    ///
    /// # Errors
    /// The first function that fails.
    pub fn init(&self, pause: fn(u64)) -> Result<(), LoadError> {
        let lines = Rc::default();
        let before = surroundings::here();
        if let Some(inner) = &before {
            surroundings::surround(Rc::new(Recorded {
                inner: inner.clone(),
                lines: Rc::clone(&lines),
            }));
        }
        let mut cells = self.shared.iter().chain(&self.threads);
        let done = cells.try_for_each(|cell| cell.wait().init(&mut NoHost, pause));
        if let Some(before) = before {
            surroundings::surround(before);
        }
        self.early.lock().append(&mut lines.borrow_mut());
        done
    }

    /// Takes the lines that initialization has logged.
    pub fn early_lines(&self) -> Vec<EarlyLine> {
        std::mem::take(&mut *self.early.lock())
    }

    /// The state for a function: the shared one, or that of the thread.
    pub fn cell(&self, per_thread: bool, thread: usize) -> Option<&Cell> {
        if per_thread { self.threads.get(thread) } else { self.shared.as_ref() }
    }

    /// Frees what scripts have left behind in the state of a thread; the first thread does so in
    /// the shared one. A state in use is left out.
    pub fn free_garbage(&self, thread: usize) {
        let shared = self.shared.as_ref().filter(|_| thread == 0);
        let states = self.threads.get(thread).into_iter().chain(shared);
        states.filter_map(Cell::try_enter).for_each(|mut state| state.free_garbage());
    }
}

/// A fetch or converter that a script has registered.
pub(crate) struct Function {
    pub(crate) runtime: Arc<OnceLock<Arc<Runtime>>>,
    pub(crate) per_thread: bool,
    pub(crate) name: Box<str>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.name).finish()
    }
}

impl ScriptFunction for Function {
    fn call(
        &self,
        input: Option<Value<'_>>,
        args: &[&[u8]],
        facts: &dyn Facts,
    ) -> Option<Value<'static>> {
        let runtime = self.runtime.get()?;
        let thread = facts.number(Number::Thread).unwrap_or(0);
        let mut state = runtime.cell(self.per_thread, usize::try_from(thread).ok()?)?.wait();
        let args: Vec<Cow<'_, [u8]>> = args.iter().map(|arg| Cow::Borrowed(*arg)).collect();
        let (call, kind) = match input {
            None => (Call::Fetch(&self.name), "sample-fetch"),
            Some(_) => (Call::Converter(&self.name), "converter"),
        };
        let subject = input.map_or(Subject::Transaction, Subject::Value);
        let mut host = FactsHost { facts };
        let limit = in_one_turn(runtime.timeouts.session, state.limits.burst);
        let (mut step, mut script) = state.start(call, subject, &args, limit, &mut host);
        // An expression cannot be suspended: its slices follow one another.
        while let (Step::Waits(crate::Request::Slice), Some(script)) = (&step, &mut script) {
            step = state.resume(script, crate::Answer::Done, &mut host);
        }
        match step {
            Step::Returned(value) => value,
            Step::Failed(fault) => {
                let text = fault.text(state.number());
                surroundings::alert(&format!("Lua {kind} '{}': {text}", self.name));
                None
            }
            Step::Ended | Step::Waits(_) => None,
        }
    }
}

/// The host of a fetch or converter: it sees, and changes nothing but variables.
struct FactsHost<'f> {
    facts: &'f dyn Facts,
}

impl Host for FactsHost<'_> {
    fn facts(&self) -> Option<&dyn Facts> {
        Some(self.facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BURST;
    use crate::state::Limits;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn every_waiting_task_is_woken_at_the_end_of_a_turn() {
        let clock = || 0;
        let limits = Limits { number: 0, instructions: 10_000, memory: 0, burst: BURST, clock };
        let cell = Cell::new(State::new(limits).expect("memory"));
        let woken = Arc::new(AtomicUsize::new(0));
        let turn = cell.enter(|| {}).expect("the state is free");
        for _ in 0..2 {
            let woken = woken.clone();
            let wake = move || {
                woken.fetch_add(1, Relaxed);
            };
            let other = cell.enter(wake);
            assert!(other.is_none(), "another task uses the state");
        }
        assert_eq!(woken.load(Relaxed), 0);
        drop(turn);
        assert_eq!(woken.load(Relaxed), 2, "the first one may have ended since");
        assert!(cell.enter(|| {}).is_some());
    }
}
