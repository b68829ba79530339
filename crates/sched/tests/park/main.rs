//! The park protocol under loom, which tries all interleavings that the memory model allows.
//!
//! `src/park.rs` itself is compiled over loom's atomics, and once more with a planted bug, a weaker
//! fence, which loom must find.

#![allow(clippy::duplicate_mod, reason = "the same file over other atomics is the point")]

mod strong;
mod weak;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

/// The calls of the protocol, as the scheduler makes them, in a correct and in a wrong version.
trait Protocol: Send + Sync + 'static {
    fn new() -> Self;
    fn posted(&self) -> bool;
    fn park(&self, has_mail: impl FnOnce() -> bool) -> bool;
}

/// The planted bug: the owner does not look for letters again after it has announced its sleep.
struct UncheckedPark(strong::park::Park);

impl Protocol for UncheckedPark {
    fn new() -> Self {
        Self(strong::park::Park::new())
    }
    fn posted(&self) -> bool {
        self.0.posted()
    }
    fn park(&self, _: impl FnOnce() -> bool) -> bool {
        self.0.park(|| false)
    }
}

macro_rules! protocol {
    ($park:ty) => {
        impl Protocol for $park {
            fn new() -> Self {
                Self::new()
            }
            fn posted(&self) -> bool {
                self.posted()
            }
            fn park(&self, has_mail: impl FnOnce() -> bool) -> bool {
                self.park(has_mail)
            }
        }
    };
}

protocol!(strong::park::Park);
protocol!(weak::park::Park);

struct World<P> {
    park: P,
    letters: AtomicUsize,
    bell: AtomicBool,
}

/// Senders post one letter each while the owner empties its mailbox and goes to sleep. Afterwards
/// no letter may be left with a sleeping owner whose alarm was not rung.
fn senders_meet_a_thread_that_falls_asleep<P: Protocol>(senders: usize) {
    let world = Arc::new(World {
        park: P::new(),
        letters: AtomicUsize::new(0),
        bell: AtomicBool::new(false),
    });
    let send = |world: Arc<World<P>>| {
        thread::spawn(move || {
            world.letters.fetch_add(1, Ordering::Release);
            if world.park.posted() {
                world.bell.store(true, Ordering::Release);
            }
        })
    };
    let all: Vec<_> = (0..senders).map(|_| send(world.clone())).collect();
    world.letters.swap(0, Ordering::Acquire);
    // A relaxed load, the weakest that a queue's `is_empty` may use.
    let sleeps = world.park.park(|| world.letters.load(Ordering::Relaxed) != 0);
    all.into_iter().for_each(|sender| sender.join().expect("no panic"));
    let (left, rung) = (world.letters.load(Ordering::Relaxed), world.bell.load(Ordering::Relaxed));
    assert!(!sleeps || left == 0 || rung, "a letter lies before a sleeper");
}

/// The fault that the model finds in a version of the protocol, if any.
fn fault<P: Protocol>(senders: usize) -> Option<String> {
    let mut model = loom::model::Builder::new();
    model.max_duration = Some(std::time::Duration::from_secs(2));
    let check = move || model.check(move || senders_meet_a_thread_that_falls_asleep::<P>(senders));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).err()?;
    Some((*panic.downcast::<&str>().expect("the assertion above")).to_owned())
}

#[test]
fn no_wake_up_is_lost() {
    assert_eq!(fault::<strong::park::Park>(1), None);
    assert_eq!(fault::<strong::park::Park>(2), None);
}

#[test]
fn planted_bug_without_the_second_check_before_parking_is_caught() {
    assert_eq!(fault::<UncheckedPark>(1).as_deref(), Some("a letter lies before a sleeper"));
}

#[test]
fn planted_bug_acquire_release_instead_of_the_fence_is_caught() {
    assert_eq!(fault::<weak::park::Park>(1).as_deref(), Some("a letter lies before a sleeper"));
}
