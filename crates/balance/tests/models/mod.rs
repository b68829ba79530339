//! Concurrent operations on a load index, in every order that the memory model allows.

use super::{Build, Load};
use loom::{model::Builder, thread};
use std::sync::Arc;
use std::time::Duration;

type Index = Arc<dyn super::index::LoadIndex>;

/// Explores interleavings with up to four preemptions, for two seconds at most.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(4);
    builder.max_duration = Some(Duration::from_secs(2));
    builder.max_branches = 10_000;
    builder.check(model);
}

/// Two servers that take part, with these effective weights.
fn two_servers(build: Build, weights: [u32; 2]) -> (Arc<[Arc<Load>]>, Index) {
    let loads: Arc<[_]> = weights.map(|weight| Arc::new(Load::new(weight, 0))).into();
    let index = build(loads.iter().cloned().collect());
    index.members(&[0, 1]);
    (loads, index)
}

/// A request that a cookie binds to a server.
fn claim(loads: &[Arc<Load>], index: &Index, slot: usize) {
    loads[slot].reserve();
    index.load_changed(slot);
}

fn release(loads: &[Arc<Load>], index: &Index, slot: usize) {
    loads[slot].cancel();
    index.load_changed(slot);
}

fn pick_and_release(loads: &[Arc<Load>], index: &Index) {
    let slot = index.pick(None).expect("a server is usable");
    loads[slot].commit();
    loads[slot].release();
    index.load_changed(slot);
}

/// Invariant: the conditions that hold whenever no operation is under way.
fn at_rest(loads: &[Arc<Load>], index: &Index, in_flight: u64) {
    assert_eq!(loads.iter().map(|load| load.total()).sum::<u64>(), in_flight);
    for _ in 0..3 {
        let least = loads.iter().map(|load| load.key()).min();
        let slot = index.pick(None).expect("a server is usable");
        loads[slot].cancel();
        assert_eq!(Some(loads[slot].key()), least, "the least loaded is found");
        loads[slot].reserve();
    }
}

/// A release finds its server standing right just while a pick moves it up, far beyond the other.
pub fn release_while_a_pick_lifts(build: Build) {
    explore(move || {
        let (loads, index) = two_servers(build, [256, 1]);
        claim(&loads, &index, 0);
        index.members(&[0, 1]);
        claim(&loads, &index, 1);
        let other = {
            let (loads, index) = (loads.clone(), index.clone());
            thread::spawn(move || release(&loads, &index, 1))
        };
        index.pick(None).expect("usable");
        other.join().expect("no panic");
        at_rest(&loads, &index, 2);
    });
}

/// A release finds its server standing right just while a claim moves it up, beyond the other.
pub fn release_while_a_claim_moves(build: Build) {
    explore(move || {
        let (loads, index) = two_servers(build, [32, 16]);
        (0..4).for_each(|_| claim(&loads, &index, 0));
        claim(&loads, &index, 1);
        let other = {
            let (loads, index) = (loads.clone(), index.clone());
            thread::spawn(move || release(&loads, &index, 1))
        };
        claim(&loads, &index, 1);
        other.join().expect("no panic");
        at_rest(&loads, &index, 5);
    });
}

/// A pick that comes too late for the only server still finds room on it.
pub fn one_server_is_never_full(build: Build) {
    explore(move || {
        let loads: Arc<[_]> = [Arc::new(Load::new(16, 0))].into();
        let index = build(loads.iter().cloned().collect());
        index.members(&[0]);
        let other = {
            let (loads, index) = (loads.clone(), index.clone());
            thread::spawn(move || {
                pick_and_release(&loads, &index);
                pick_and_release(&loads, &index);
            })
        };
        index.pick(None).expect("usable");
        other.join().expect("no panic");
        at_rest(&loads, &index, 1);
    });
}

/// Whole requests of two threads.
pub fn requests_side_by_side(build: Build) {
    explore(move || {
        let (loads, index) = two_servers(build, [16, 16]);
        let other = {
            let (loads, index) = (loads.clone(), index.clone());
            thread::spawn(move || pick_and_release(&loads, &index))
        };
        pick_and_release(&loads, &index);
        index.pick(None).expect("usable");
        other.join().expect("no panic");
        at_rest(&loads, &index, 1);
    });
}

/// A server goes down, comes back and gets another weight while a request chooses and ends.
pub fn changes_while_others_pick(build: Build) {
    explore(move || {
        let (loads, index) = two_servers(build, [16, 16]);
        let other = {
            let (loads, index) = (loads.clone(), index.clone());
            thread::spawn(move || pick_and_release(&loads, &index))
        };
        index.members(&[0]);
        loads[0].set_weight(32);
        index.members(&[0, 1]);
        other.join().expect("no panic");
        at_rest(&loads, &index, 0);
    });
}
