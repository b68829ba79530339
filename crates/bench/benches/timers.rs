//! `cargo xtask bench timers`: a million timers armed, cancelled and extended in random order, and
//! a storm of 200,000 due at once (rows C1 and C2).

use bench::{nanos_per_op, now, quantile, table};
use sched::wheel::Wheel;
use sched::{Class, Mailbox, NoAlarm, Scheduler, Settings, TaskId, Wake};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use stdx::{Prng, Tick};

const TIMERS: u32 = 1_000_000;
const STORM: u32 = 200_000;
const HOUR: u32 = 3_600_000;
const ROUNDS: u32 = 5;
/// Tasks woken before they are run, so that the run queue is as short as that of a proxy.
const WOKEN: usize = 128;

/// All indices in random order, each with a deadline within the hour.
fn shuffled(prng: &Prng) -> Vec<(u32, Tick)> {
    let mut all: Vec<u32> = (0..TIMERS).collect();
    for place in (1..all.len()).rev() {
        all.swap(place, prng.below(place as u32 + 1) as usize);
    }
    all.into_iter().map(|index| (index, Tick(1 + prng.below(HOUR)))).collect()
}

/// Measures the wheel alone, without tasks.
fn costs_of_the_wheel() {
    let prng = Prng::new(7);
    let (order, other) = (shuffled(&prng), shuffled(&prng));
    let mut wheel = Wheel::new(Tick(0));
    let count = u64::from(TIMERS);
    let mut best = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        let cost = |work: &mut dyn FnMut()| nanos_per_op(1, count, work);
        let arm = cost(&mut || order.iter().for_each(|(i, at)| wheel.arm(*i, *at)));
        let extend = cost(&mut || {
            other.iter().for_each(|(i, at)| wheel.arm(*i, Tick(at.0 + HOUR)));
        });
        let forward = cost(&mut || order.iter().for_each(|(i, at)| wheel.arm(*i, *at)));
        let cancel = cost(&mut || other.iter().for_each(|(i, _)| wheel.disarm(*i)));
        note(&mut best, [arm, cancel, extend, forward]);
    }
    println!("{TIMERS} timers of a wheel in random order, ns per operation (target 60):");
    println!("{}", table(&["arm", "cancel", "extend", "bring forward"], &[row(&best)]));
}

/// Keeps the smaller of each pair.
fn note<const N: usize>(best: &mut [f64; N], measured: [f64; N]) {
    best.iter_mut().zip(measured).for_each(|(best, it)| *best = best.min(it));
}

fn row(nanos: &[f64]) -> Vec<String> {
    nanos.iter().map(|nanos| format!("{nanos:.1}")).collect()
}

/// Wakes all tasks once in this order; returns nanoseconds per task.
fn one_turn_each(own: &Scheduler, order: &[TaskId]) -> f64 {
    nanos_per_op(1, order.len() as u64, || {
        for some in order.chunks(WOKEN) {
            some.iter().for_each(|id| own.wake(*id, Wake::IO));
            while own.run().more {}
        }
    })
}

/// Measures timers as tasks use them: a million tasks, each of which sets, extends or clears its
/// deadline in a turn of its own. The cost of a turn without a deadline is subtracted.
fn costs_of_tasks() {
    let own = scheduler();
    let deadline: Rc<Cell<Option<u32>>> = Rc::default();
    let prng = Rc::new(Prng::new(7));
    let mut order: Vec<TaskId> = (0..TIMERS)
        .map(|_| {
            let (own, base, prng) = (own.clone(), deadline.clone(), prng.clone());
            let sleeper = own.clone();
            own.spawn(Class::Normal, async move {
                loop {
                    // The random draw costs the same in each phase.
                    let within = prng.below(HOUR);
                    let at = base.get().map(|base| Tick(base + within));
                    sleeper.wait(at).await;
                }
            })
        })
        .collect();
    while own.run().more {}
    for place in (1..order.len()).rev() {
        order.swap(place, prng.below(place as u32 + 1) as usize);
    }
    let (mut rounds, mut turns) = ([const { Vec::new() }; 3], Vec::new());
    for round in 0..ROUNDS {
        let start = round * 3 * HOUR;
        let phase = |base: Option<u32>| {
            deadline.set(base);
            one_turn_each(&own, &order)
        };
        let before = phase(None);
        let arm = phase(Some(start + 1));
        // Later than any of their deadlines.
        let extend = phase(Some(start + 1 + HOUR));
        let cancel = phase(None);
        let turn = f64::midpoint(before, phase(None));
        turns.push(turn);
        rounds.iter_mut().zip([arm, cancel, extend]).for_each(|(all, it)| all.push(it - turn));
        // Cancelled timers are removed from the wheel before the next round.
        while own.timers() > 0 {
            own.expire(Tick(start + 3 * HOUR));
        }
    }
    let medians: Vec<f64> = rounds.into_iter().chain([turns]).map(median).collect();
    println!(
        "{TIMERS} tasks with deadlines, woken in random order, ns on top of a turn (target 60):"
    );
    println!("{}", table(&["arm", "cancel", "extend", "the turn"], &[row(&medians)]));
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    quantile(&all, 0.5)
}

fn scheduler() -> Rc<Scheduler> {
    let mailbox = Arc::new(Mailbox::new(Box::new(NoAlarm)));
    Rc::new(Scheduler::new(Settings::default(), mailbox, Tick(0)))
}

/// Microseconds of the longest iteration while all tasks with the same deadline are run.
fn storm() {
    let own = scheduler();
    for _ in 0..STORM {
        let sleeper = own.clone();
        own.spawn(Class::Normal, async move {
            sleeper.wait(Some(Tick(70_000))).await;
        });
    }
    while own.run().more {}
    let (mut longest, mut loops) = (0.0f64, 0u32);
    let begun = now();
    while own.tasks() > 0 {
        let start = now();
        own.expire(Tick(70_001));
        own.run();
        longest = longest.max(start.elapsed().as_nanos() as f64 / 1e3);
        loops += 1;
    }
    let total = begun.elapsed().as_millis();
    println!("{STORM} timers due at once (target: no loop longer than 2000 us):");
    let row = vec![format!("{longest:.0}"), loops.to_string(), total.to_string()];
    println!("{}", table(&["longest loop us", "loops", "all ms"], &[row]));
}

fn main() {
    costs_of_the_wheel();
    costs_of_tasks();
    storm();
}
