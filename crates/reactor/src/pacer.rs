//! A pace for long background work, such as a listing of a million entries.
//!
//! Yielding after each piece lets the other tasks of the thread run, but then the thread itself
//! does not sleep. If the thread shares its processor with other programs, the system treats it as
//! CPU-bound and makes it wait milliseconds for each time slice, which delays all its clients. A
//! thread that sleeps now and then is run as soon as input comes.

use crate::Class;
use crate::thread::Thread;

/// Pieces done in a row, each in a turn of its own.
const PIECES: u32 = 16;
/// Length of the rest after them, in ticks of a millisecond, of which the first has begun already.
const REST_MS: u32 = 2;

/// Number of pieces done since the last rest.
#[derive(Debug, Default)]
pub struct Pacer {
    pieces: u32,
}

impl Pacer {
    /// Called by the running task after each piece of work, which should take well under 0.2 ms:
    /// lets all other tasks of this turn run, and now and then the whole thread sleep.
    pub async fn yield_turn(&mut self, thread: &Thread) {
        self.pieces += 1;
        if self.pieces >= PIECES {
            self.pieces = 0;
            let until = thread.tick().plus_ms(REST_MS);
            while !until.is_due(thread.tick()) {
                thread.scheduler().wait(Some(until)).await;
            }
        }
        thread.next_turn(Class::Bulk).await;
    }
}

#[cfg(test)]
mod tests {
    //! Tests of when paced work runs, by the clock of a scripted system.
    use super::*;
    use crate::scripted_kernel::ScriptedKernel;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Turn and millisecond at which each piece is done.
    fn pieces(script: &ScriptedKernel, count: usize) -> Vec<(u64, u64)> {
        let thread = script.thread();
        let (own, made) = (thread.clone(), Rc::new(RefCell::new(Vec::new())));
        let noted = made.clone();
        thread.scheduler().spawn(Class::Normal, async move {
            let mut pace = Pacer::default();
            for _ in 0..count {
                noted.borrow_mut().push((own.turns(), own.nanos() / 1_000_000));
                pace.yield_turn(&own).await;
            }
        });
        while thread.scheduler().tasks() > 0 {
            thread.turn(None).unwrap();
        }
        made.take()
    }

    #[test]
    fn each_piece_has_a_turn_of_its_own() {
        let made = pieces(&ScriptedKernel::default(), 100);
        assert!(made.windows(2).all(|two| two[0].0 < two[1].0), "{made:?}");
    }

    #[test]
    fn the_thread_sleeps_between_two_stretches() {
        let stretch = PIECES as usize;
        let made = pieces(&ScriptedKernel::default(), 4 * stretch);
        for (at, two) in made.windows(2).enumerate() {
            let rest = if (at + 1) % stretch == 0 { u64::from(REST_MS) } else { 0 };
            assert_eq!(two[1].1 - two[0].1, rest, "after piece {at}: {made:?}");
        }
    }

    #[test]
    fn being_woken_does_not_end_a_rest() {
        let script = ScriptedKernel::default();
        let thread = script.thread();
        let (own, made) = (thread.clone(), Rc::new(RefCell::new(0)));
        let noted = made.clone();
        let task = thread.scheduler().spawn(Class::Normal, async move {
            let mut pace = Pacer { pieces: PIECES - 1 };
            pace.yield_turn(&own).await;
            *noted.borrow_mut() += 1;
        });
        for _ in 0..5 {
            thread.turn(Some(std::time::Duration::ZERO)).unwrap();
            thread.scheduler().wake(task, sched::Wake::IO);
        }
        assert_eq!(*made.borrow(), 0);
        while thread.scheduler().tasks() > 0 {
            thread.turn(None).unwrap();
        }
        assert_eq!(*made.borrow(), 1);
    }
}
