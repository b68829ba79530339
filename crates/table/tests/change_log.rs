//! The change log under a model checker: a change is in the values that readers see, or read later.
//!
//! The sources of the log are compiled over loom's words and locks.

#[path = "../src/change_list.rs"]
#[allow(dead_code, reason = "the product uses all of it")]
mod change_list;
#[path = "../src/change_log.rs"]
#[allow(dead_code, unreachable_pub, reason = "the product uses all of it")]
mod change_log;

mod sync {
    //! Loom's primitives.
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().expect("no holder panics")
    }
}

use change_log::{ChangeLog, Mark};
use loom::model::Builder;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::panic::catch_unwind;

/// Explores interleavings with up to four preemptions.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(4);
    builder.max_branches = 10_000;
    builder.check(model);
}

/// One entry of a table with one shard.
struct World {
    log: ChangeLog,
    mark: Mark,
    value: Mutex<u32>,
    woken: AtomicBool,
}

impl World {
    fn note(&self) {
        if self.log.note(0, 0, &self.mark) {
            self.woken.store(true, Relaxed);
        }
    }

    fn change(&self) {
        *self.value.lock().expect("no holder panics") += 1;
        self.note();
    }

    /// The reader's view of the entry, if it changed.
    fn read(&self, reader: u32) -> Option<u32> {
        let mut found = false;
        self.log.read(0, reader, self.log.count(), 10, |_, _| found = true);
        found.then(|| *self.value.lock().expect("no holder panics"))
    }
}

fn world() -> (Arc<World>, u32) {
    let world = World {
        log: ChangeLog::new(1),
        mark: Mark::default(),
        value: Mutex::new(0),
        woken: AtomicBool::new(false),
    };
    let reader = world.log.open().expect("few readers");
    (Arc::new(world), reader)
}

/// Two threads change an entry while it is read; then it is read once more.
fn changes_while_it_is_read(change: fn(&World)) {
    explore(move || {
        let (world, reader) = world();
        let threads = [world.clone(), world.clone()].map(|it| thread::spawn(move || change(&it)));
        let seen = world.read(reader);
        threads.into_iter().for_each(|it| it.join().expect("it ends"));
        let last = world.read(reader).or(seen);
        assert_eq!(last, Some(2), "the reader has seen the last value");
    });
}

#[test]
fn readers_see_the_last_value() {
    changes_while_it_is_read(World::change);
}

#[test]
fn planted_bug_a_change_logged_before_it_is_made_is_lost_in_the_model() {
    let planted = |world: &World| {
        world.note();
        *world.value.lock().expect("no holder panics") += 1;
    };
    assert!(catch_unwind(move || changes_while_it_is_read(planted)).is_err());
}

#[test]
fn a_reader_that_finds_nothing_is_woken_by_the_next_change() {
    explore(|| {
        let (world, reader) = world();
        let thread = thread::spawn({
            let world = world.clone();
            move || world.change()
        });
        world.log.arm();
        let seen = match world.log.last(0) {
            0 => None,
            _ => world.read(reader),
        };
        thread.join().expect("it ends");
        assert!(seen.is_some() || world.woken.load(Relaxed), "nobody wakes the reader");
    });
}

#[test]
fn an_entry_that_is_taken_out_stays_out() {
    explore(|| {
        let (world, reader) = world();
        let thread = thread::spawn({
            let world = world.clone();
            move || world.change()
        });
        world.log.forget(0, 0, &world.mark);
        thread.join().expect("it ends");
        assert_eq!(world.read(reader), None);
    });
}
