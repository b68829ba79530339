//! A model of threads that give checks to each other, to tell a rule that moves a check once from
//! one that moves it again.

use super::rule;
use crate::checks::store::Store;
use engine::state::backend::check_record::Record;
use stdx::Prng;

type Rule = fn(moved: bool, own_load: u32, other_load: u32) -> bool;

#[derive(Default)]
struct Thread {
    store: Store,
    inbox: Vec<Record>,
    running: u32,
}

/// The most moves that any of 200 checks makes in one wake-up, on 64 threads, when all fall due at
/// once on the first; and how many move at all.
fn moves(rule: Rule, seed: u64) -> (u32, usize) {
    let prng = Prng::new(seed);
    let mut threads: Vec<Thread> = (0..64).map(|_| Thread::default()).collect();
    let record = |slot| Record { slot, interval: 2000, ..Record::default() };
    (0..200).for_each(|slot| threads[0].store.put(record(slot)));
    let mut moves = [0; 200];
    // A bounce without end would be one as well.
    for _ in 0..1_000 {
        // The load that each thread shows is as old as the round: several may choose the same one.
        let shown: Vec<u32> = threads.iter().map(|thread| thread.running).collect();
        let mut sent = Vec::new();
        for (here, thread) in threads.iter_mut().enumerate() {
            let mut woken = std::mem::take(&mut thread.inbox);
            thread.store.take_batch(1, 0, &mut woken);
            for record in woken {
                let draw = prng.below(63) as usize;
                let there = draw + usize::from(draw >= here);
                if rule(record.moved, thread.running, shown[there]) {
                    sent.push((there, Record { moved: true, ..record }));
                } else {
                    thread.running += 1;
                }
            }
        }
        for (there, record) in sent {
            moves[record.slot as usize] += 1;
            threads[there].inbox.push(record);
        }
    }
    (*moves.iter().max().unwrap(), moves.iter().filter(|count| **count > 0).count())
}

#[test]
fn a_check_moves_at_most_once_per_wake_up() {
    for seed in 0..50 {
        let (most, moved) = moves(rule::moves, seed);
        assert_eq!(most, 1, "seed {seed}");
        assert!(moved > 100, "seed {seed}: {moved}");
    }
}

#[test]
fn the_planted_double_bounce_is_caught() {
    // The receiver may give a check away again, as if it had just woken up.
    let bouncing: Rule = |_, own, other| rule::moves(false, own, other);
    for seed in 0..50 {
        assert!(moves(bouncing, seed).0 > 1, "seed {seed}");
    }
}
