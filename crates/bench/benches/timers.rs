//! `cargo xtask bench timers`: a million timers armed, cancelled and extended in random order, and a
//! storm of 200,000 due at once (rows C1 and C2). Never part of the product.

use bench::{nanos_per_op, now, table};
use sched::wheel::Wheel;
use sched::{Alarm, Class, Mailbox, Scheduler, Settings};
use std::rc::Rc;
use std::sync::Arc;
use stdx::{Prng, Tick};

const TIMERS: u32 = 1_000_000;
const STORM: u32 = 200_000;
const HOUR: u32 = 3_600_000;

struct Silent;

impl Alarm for Silent {
    fn ring(&self) {}
}

/// All indices in random order, with a deadline within the hour each.
fn shuffled(prng: &Prng) -> Vec<(u32, Tick)> {
    let mut all: Vec<u32> = (0..TIMERS).collect();
    for place in (1..all.len()).rev() {
        all.swap(place, prng.below(place as u32 + 1) as usize);
    }
    all.into_iter().map(|index| (index, Tick(1 + prng.below(HOUR)))).collect()
}

fn costs() {
    let prng = Prng::new(7);
    let (order, later) = (shuffled(&prng), shuffled(&prng));
    let mut wheel = Wheel::new(Tick(0));
    let count = u64::from(TIMERS);
    // Once without the clock, so that memory is there.
    order.iter().for_each(|(index, at)| wheel.arm(*index, *at));
    order.iter().for_each(|(index, _)| wheel.disarm(*index));
    let arm = nanos_per_op(1, count, || order.iter().for_each(|(i, at)| wheel.arm(*i, *at)));
    let extend = nanos_per_op(1, count, || {
        later.iter().for_each(|(i, at)| wheel.arm(*i, Tick(at.0 + HOUR)));
    });
    let cancel = nanos_per_op(1, count, || later.iter().for_each(|(i, _)| wheel.disarm(*i)));
    println!("{TIMERS} timers in random order, ns per operation (target 60):");
    let row = [arm, cancel, extend].iter().map(|nanos| format!("{nanos:.1}")).collect();
    println!("{}", table(&["arm", "cancel", "move"], &[row]));
}

/// Microseconds of the longest loop while everything that slept until one moment is run.
fn storm() {
    let mailbox = Arc::new(Mailbox::new(Box::new(Silent)));
    let own = Rc::new(Scheduler::new(Settings::default(), mailbox, Tick(0)));
    for _ in 0..STORM {
        let sleeper = own.clone();
        own.spawn(Class::Normal, async move {
            sleeper.pause(Some(Tick(70_000))).await;
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
    costs();
    storm();
}
