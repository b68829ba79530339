//! The machine under test: reactor threads that are stepped in random order on one system thread.
//! Virtual time passes only when all of them are idle.

use crate::net::Net;
use crate::world::World;
use reactor::Thread;
use std::cell::RefMut;
use std::io::Write as _;
use std::rc::Rc;
use std::time::Duration;

/// Most turns at one moment of virtual time; beyond that, threads keep each other or themselves
/// busy.
const TURNS_AT_ONCE: u32 = 20_000;

/// Reason why a run ended before its condition held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Nothing will happen any more.
    Deadlock,
    /// Turns without end at one moment of virtual time.
    Livelock,
    /// The limit of virtual time was reached.
    Limit,
    /// A task of this thread panicked.
    Panicked(usize),
    /// A handle was used that is closed, of the wrong kind, or watched twice.
    Misuse,
    /// The poller of this thread failed.
    Failed(usize),
}

/// Several threads in one world.
pub struct Machine {
    world: Rc<World>,
    settings: reactor::Settings,
    /// All threads; each has the poller of its place.
    threads: Vec<Rc<Thread>>,
    awake: Vec<usize>,
    /// Threads that do not run.
    paused: Vec<usize>,
    turns: u64,
    turns_at_once: u32,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("seed", &self.world.seed()).finish_non_exhaustive()
    }
}

impl Machine {
    /// A machine of `threads` threads with default settings, in a world of its own.
    pub fn new(seed: u64, threads: usize) -> Self {
        Self::with(World::new(seed), threads, reactor::Settings::default())
    }

    /// A machine in a given world.
    pub fn with(world: Rc<World>, threads: usize, settings: reactor::Settings) -> Self {
        let threads: Vec<_> =
            (0..threads).map(|index| Thread::new(index, world.kernel(), settings)).collect();
        let (awake, paused) = Default::default();
        Self { world, settings, threads, awake, paused, turns: 0, turns_at_once: 0 }
    }

    /// Adds the threads of another process, numbered from 0. They share handles with the others,
    /// but for those that [`Net::duplicate`] has made for them.
    pub fn add_process(&mut self, threads: usize) -> Vec<Rc<Thread>> {
        let settings = self.settings;
        let new: Vec<_> =
            (0..threads).map(|index| Thread::new(index, self.world.kernel(), settings)).collect();
        self.threads.extend(new.iter().cloned());
        new
    }

    /// Stops the threads in these places, as a busy system may, until the next call.
    pub fn pause(&mut self, places: &[usize]) {
        self.paused = places.to_vec();
    }

    /// The world around it.
    pub fn world(&self) -> &Rc<World> {
        &self.world
    }

    /// The network. The borrow must end before the machine runs.
    pub fn net(&self) -> RefMut<'_, Net> {
        self.world.net()
    }

    /// A thread of the machine, by index.
    pub fn thread(&self, index: usize) -> &Rc<Thread> {
        &self.threads[index]
    }

    /// Its threads.
    pub fn threads(&self) -> &[Rc<Thread>] {
        &self.threads
    }

    /// Turns of all threads so far.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Whether all threads are idle, so that time can pass.
    pub fn is_at_rest(world: &World, threads: &[Rc<Thread>]) -> bool {
        let net = world.net();
        let mut all = threads.iter().enumerate();
        all.all(|(poller, thread)| !net.is_awake(poller) && !thread.scheduler().has_work())
    }

    /// The hash of the run so far; equal for equal seeds and programs.
    pub fn trace_hash(&self) -> u64 {
        self.net().trace().hash()
    }

    /// Runs until `condition` is true, which is evaluated after each step.
    ///
    /// # Errors
    /// The condition did not become true within `limit` of virtual time, or a thread failed.
    pub fn run_until(
        &mut self,
        mut condition: impl FnMut() -> bool,
        limit: Duration,
    ) -> Result<(), Stop> {
        let limit = self.net().now().saturating_add(limit.as_nanos() as u64);
        while !condition() {
            if let Err(stop) = self.step(limit) {
                // A failure of a thread takes precedence over its consequences, and the last event
                // may have made the condition true.
                let ended = if condition() { Ok(()) } else { Err(stop) };
                return self.check().and(ended);
            }
        }
        self.check()
    }

    /// As [`Machine::run_until`], but a failure panics with the seed and the last records.
    ///
    /// # Panics
    /// `run_until` fails.
    #[track_caller]
    pub fn expect_until(&mut self, condition: impl FnMut() -> bool, limit: Duration) {
        if let Err(stop) = self.run_until(condition, limit) {
            panic!("{stop:?}: {}", self.report());
        }
    }

    /// Lets `span` of virtual time pass.
    ///
    /// # Errors
    /// A thread failed. An idle machine is no error.
    pub fn run_for(&mut self, span: Duration) -> Result<(), Stop> {
        let until = self.net().now().saturating_add(span.as_nanos() as u64);
        match self.run_until(|| false, span) {
            Err(Stop::Limit) => Ok(()),
            Err(Stop::Deadlock) => {
                self.net().advance_to(until);
                Ok(())
            }
            other => other,
        }
    }

    /// Runs one turn of one thread; or, if all sleep, advances time to the next event.
    fn step(&mut self, limit: u64) -> Result<(), Stop> {
        let world = self.world.clone();
        let mut net = world.net();
        net.settle();
        self.awake.clear();
        for (index, thread) in self.threads.iter().enumerate() {
            let is_awake = net.is_awake(index) || thread.scheduler().has_work();
            if is_awake && !self.paused.contains(&index) {
                self.awake.push(index);
            }
        }
        if self.awake.is_empty() {
            return self.pass_time(&mut net, limit);
        }
        let index = self.awake[net.prng().below(self.awake.len() as u32) as usize];
        net.note_turn(index);
        drop(net);
        self.turns += 1;
        self.turns_at_once += 1;
        if self.turns_at_once > TURNS_AT_ONCE {
            return Err(Stop::Livelock);
        }
        self.threads[index].turn(None).map_err(|_| Stop::Failed(index))
    }

    fn pass_time(&mut self, net: &mut Net, limit: u64) -> Result<(), Stop> {
        self.turns_at_once = 0;
        let next = match (net.next_due(), net.next_wake(&self.paused)) {
            (Some(due), Some(wake)) => due.min(wake),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return Err(Stop::Deadlock),
        };
        net.advance_to(next.min(limit));
        if next > limit { Err(Stop::Limit) } else { self.check_on(net) }
    }

    fn check(&self) -> Result<(), Stop> {
        self.check_on(&self.net())
    }

    fn check_on(&self, net: &Net) -> Result<(), Stop> {
        if net.misuses() > 0 {
            return Err(Stop::Misuse);
        }
        let panicked = self.threads.iter().position(|thread| thread.scheduler().panics() > 0);
        panicked.map_or(Ok(()), |thread| Err(Stop::Panicked(thread)))
    }

    /// State of the machine as text, for failures: seed, time, threads, last records.
    pub fn report(&self) -> String {
        use std::fmt::Write as _;
        let net = self.net();
        let mut text = format!("seed {}, {net:?}\n", self.world.seed());
        for (poller, thread) in self.threads.iter().enumerate() {
            let (tasks, timers) = (thread.scheduler().tasks(), thread.scheduler().timers());
            let (sockets, load) = (thread.sockets(), thread.scheduler().load());
            let _ = writeln!(
                text,
                "thread {}: {tasks} tasks, {timers} timers, {sockets} sockets, {load} queued, {}",
                poller,
                if net.is_awake(poller) { "awake" } else { "asleep" },
            );
        }
        for record in net.trace().last() {
            let _ = writeln!(text, "{record}");
        }
        text
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "the world's seed was {}", self.world.seed());
        }
        // Tasks hold their thread, which holds them.
        self.threads.iter().for_each(|thread| thread.scheduler().clear());
    }
}
