//! Tables of which each node counts in a copy of its own, and parts of the keys.

use super::world::World;
use super::{FIVE, errors};
use crate::settings::Shards;
use std::collections::BTreeMap;
use table::{Aggregate, DataType, Tracker};

fn summed(seed: u64) -> World {
    let mut world = World::new(seed);
    world.aggregate = Some(Aggregate::Sum);
    world
}

fn nodes(seed: u64, names: &[&str]) -> World {
    let mut world = summed(seed);
    for name in names {
        world.start(name, names, false);
    }
    world
}

/// The value that rules of a process see.
fn seen(world: &World, process: usize, key: u32, data: DataType) -> Option<u64> {
    let read = |entry: &table::Entry| entry.get(data, 0, world.now);
    world.processes[process].table.look(&key.to_be_bytes(), world.now, read).flatten()
}

fn count(world: &mut World, process: usize, key: u32, times: u64) {
    (0..times).for_each(|_| world.count(process, key));
}

#[test]
fn counts_of_all_nodes_are_added_up_in_every_process() {
    for seed in 0..5 {
        let mut world = nodes(seed, &["a", "b", "c"]);
        for process in 0..3 {
            count(&mut world, process, 1, 10 + process as u64);
            count(&mut world, process, 10 + process as u32, 2);
        }
        world.run(20_000);
        count(&mut world, 1, 1, 100);
        world.run(5_000);
        for process in 0..3 {
            let seen = |key| seen(&world, process, key, DataType::Gpc0);
            assert_eq!(seen(1), Some(133), "seed {seed}, process {process}");
            assert_eq!([10, 11, 12].map(seen), [Some(2); 3], "seed {seed}, process {process}");
        }
        assert_eq!(errors(&world), 0, "seed {seed}");
    }
}

#[test]
fn a_process_that_starts_again_gets_its_counts_back_and_those_of_a_node_that_is_away() {
    for seed in 0..5 {
        let mut world = nodes(seed, &["a", "b", "c"]);
        (0..3).for_each(|process| count(&mut world, process, 1, 5));
        world.run(20_000);
        world.kill(2);
        world.kill(0);
        count(&mut world, 1, 1, 1);
        world.run(3_000);
        let a = world.start("a", &["a", "b", "c"], false);
        count(&mut world, a, 2, 7);
        // Counts that the process makes before it is taught do not hide the values of others.
        count(&mut world, a, 1, 1);
        world.run(20_000);
        for process in [1, a] {
            let seen = |key| seen(&world, process, key, DataType::Gpc0);
            assert_eq!((seen(1), seen(2)), (Some(16), Some(7)), "seed {seed}, process {process}");
        }
        assert_eq!(errors(&world), 0, "seed {seed}");
    }
}

#[test]
fn a_successor_goes_on_with_the_counts_of_its_predecessor() {
    let mut world = nodes(3, &["a", "b"]);
    (0..2).for_each(|process| count(&mut world, process, 1, 5));
    world.run(20_000);
    let new = world.start("a", &["a", "b"], true);
    let now = world.now;
    world.processes[0].group.stop(now);
    world.run(3_000);
    assert!(world.processes[0].group.is_taught());
    world.kill(0);
    count(&mut world, new, 1, 1);
    world.run(20_000);
    for process in [1, new] {
        assert_eq!(seen(&world, process, 1, DataType::Gpc0), Some(11), "process {process}");
    }
}

#[test]
fn open_connections_of_all_nodes_are_added_up() {
    for seed in 0..4 {
        let mut world = nodes(seed, &FIVE);
        let hold = |world: &World, process: usize| -> Tracker {
            let table = &world.processes[process].table;
            table.track(&1u32.to_be_bytes(), world.now, &[]).expect("there is room")
        };
        let mut held: Vec<Vec<Tracker>> =
            (0..5).map(|process| (0..3).map(|_| hold(&world, process)).collect()).collect();
        world.run(20_000);
        let all = |world: &World, expected: u64| {
            for process in (0..5).filter(|process| world.processes[*process].is_running) {
                let seen = seen(world, process, 1, DataType::ConnCur);
                assert_eq!(seen, Some(expected), "seed {seed}, process {process}");
            }
        };
        all(&world, 15);
        let now = world.now;
        held[2].drain(..2).for_each(|tracker| tracker.release(now));
        world.run(2_000);
        // When a node leaves, its connections no longer count.
        world.kill(4);
        world.run(20_000);
        world.start("e", &FIVE, false);
        world.run(20_000);
        world.processes.swap_remove(4);
        (0..4).for_each(|process| {
            assert_eq!(seen(&world, process, 1, DataType::ConnCur), Some(10), "seed {seed}");
        });
    }
}

#[test]
fn the_count_of_a_process_without_nodes_is_added_up_once() {
    for seed in 0..4 {
        let names = ["a", "b", "h"];
        let mut world = summed(seed);
        world.start("a", &names, false);
        world.start("b", &names, false);
        world.aggregate = None;
        let plain = world.start("h", &names, false);
        (0..3).for_each(|process| count(&mut world, process, 1, 4));
        world.run(20_000);
        count(&mut world, plain, 1, 100);
        count(&mut world, 0, 1, 1);
        world.run(5_000);
        for (process, expected) in [(0, 113), (1, 113), (plain, 104)] {
            let seen = seen(&world, process, 1, DataType::Gpc0);
            assert_eq!(seen, Some(expected), "seed {seed}, process {process}");
        }
    }
}

#[test]
fn sums_converge_while_connections_are_lost_and_processes_start_again() {
    for seed in 0..6 {
        let mut world = nodes(seed, &FIVE);
        let mut expected = BTreeMap::new();
        let mut running = [0, 1, 2, 3, 4];
        for round in 0..60 {
            let at = world.random.below(5) as usize;
            let key = world.random.below(30);
            world.count(running[at], key);
            *expected.entry(key).or_insert(0) += 1;
            let pause = world.random.below(400);
            world.run(pause.into());
            if world.random.below(3) == 0 {
                world.lose_any();
            }
            if round % 20 == 19 {
                // Other nodes get the last counts of a process before it ends.
                world.run(20_000);
                let at = world.random.below(5) as usize;
                world.kill(running[at]);
                running[at] = world.start(FIVE[at], &FIVE, false);
                world.run(15_000);
            }
        }
        world.run(30_000);
        for process in running {
            for (key, count) in &expected {
                let seen = seen(&world, process, *key, DataType::Gpc0);
                assert_eq!(seen, Some(*count), "seed {seed}, process {process}, key {key}");
            }
        }
        assert_eq!(errors(&world), 0, "seed {seed}");
    }
}

#[test]
fn a_peer_gets_its_part_of_the_keys() {
    let names = ["a", "b", "c", "d"];
    let mut world = World::new(1);
    let of_remotes = vec![Some(1), Some(2), Some(9)];
    world.shards = Shards { count: 2, of_remotes };
    let a = world.start("a", &names, false);
    world.shards = Shards::default();
    (0..100).for_each(|key| world.count(a, key));
    // Each of the other nodes knows only the first one.
    let others = names[1..].iter().map(|name| world.start(name, &["a", name], false));
    let others: Vec<usize> = others.collect();
    world.run(20_000);
    let of = |process: usize| world.contents(others[process]).into_keys().collect::<Vec<_>>();
    let part = Shards { count: 2, ..Shards::default() };
    let expected =
        |shard| (0..100).filter(|key: &u32| part.of_key(&key.to_be_bytes()) == shard).collect();
    let [first, second]: [Vec<u32>; 2] = [1, 2].map(expected);
    assert!((30..70).contains(&first.len()), "the parts are about equal");
    assert_eq!((of(0), of(1)), (first, second));
    assert_eq!(of(2).len(), 100, "there is no such part");
    assert_eq!(errors(&world), 0);
}
