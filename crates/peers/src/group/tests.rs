//! Groups that speak with each other in memory.

mod nodes;
mod world;

use super::*;
use crate::hello::Hello;
use crate::message::{self, UpdateKind};
use std::collections::BTreeMap;
use world::World;

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

fn errors(world: &World) -> u64 {
    world.sum(|peer| peer.counters.protocol_errors.into())
}

#[test]
fn two_peers_have_one_session_and_teach_each_other() {
    for seed in 0..50 {
        let mut world = World::with(seed, &["a", "b"]);
        (0..50).for_each(|key| world.count(0, key));
        (50..100).for_each(|key| world.count(1, key));
        world.run(20_000);
        assert_eq!(world.count_of_connections(), 1, "seed {seed}");
        assert_eq!(world.contents(0).len(), 100, "seed {seed}");
        assert_eq!(world.contents(0), world.contents(1), "seed {seed}");
        assert!(world.processes.iter().all(|process| process.group.is_up_to_date()));
        assert_eq!(errors(&world), 0, "seed {seed}");
        for process in &world.processes {
            let peer = process.group.view().peers.into_iter().nth(1).expect("one remote peer");
            let table = &peer.tables[0];
            assert_eq!(table.last_acked, table.last_sent, "seed {seed}: all is confirmed");
        }
    }
}

#[test]
fn learned_entries_are_not_taught_back() {
    let mut world = World::with(1, &["a", "b"]);
    world.run(20_000);
    let taught = |world: &World| world.sum(|peer| peer.counters.taught);
    let before = taught(&world);
    (0..50).for_each(|key| world.count(0, key));
    world.run(5_000);
    assert_eq!(world.contents(1).len(), 50);
    assert_eq!(taught(&world), before + 50);
}

#[test]
fn confirmed_updates_are_not_sent_again_over_the_next_connection() {
    let mut world = World::with(2, &["a", "b"]);
    (0..50).for_each(|key| world.count(0, key));
    world.run(20_000);
    let before = world.sum(|peer| peer.counters.taught);
    world.lose_any();
    world.run(20_000);
    assert_eq!(world.count_of_connections(), 1);
    assert_eq!(world.sum(|peer| peer.counters.taught), before);
}

#[test]
fn a_new_process_is_taught_each_entry_once() {
    for seed in 0..10 {
        let names = ["a", "b"];
        let mut world = World::new(seed);
        world.start("a", &names, false);
        world.run(10_000);
        (0..3_000).for_each(|key| world.count(0, key));
        world.start("b", &names, false);
        world.run(60_000);
        assert_eq!(world.contents(1).len(), 3_000, "seed {seed}");
        assert_eq!(world.sum(|peer| peer.counters.taught), 3_000, "seed {seed}");
        // A change that follows is sent at once.
        world.count(0, 1);
        world.run(500);
        assert_eq!(world.sum(|peer| peer.counters.taught), 3_001, "seed {seed}");
    }
}

#[test]
fn changes_that_a_peer_does_not_ask_for_are_sent_after_a_moment() {
    let mut world = World::with(4, &["a", "b"]);
    world.run(20_000);
    world.listeners.clear();
    while world.count_of_connections() > 0 {
        world.lose_any();
    }
    (0..3_000).for_each(|key| world.count(0, key));
    world.listeners.insert("a".into(), 0);
    world.run(60_000);
    assert_eq!(world.contents(1).len(), 3_000);
}

#[test]
fn a_group_that_ends_leaves_tables_without_readers() {
    let mut world = World::with(6, &["a", "b"]);
    let table = world.processes[0].table.clone();
    world.count(0, 1);
    let logged = table.last_change();
    world.processes.clear();
    table.enter(&2u32.to_be_bytes(), world.now, |_| ());
    assert_eq!((logged, table.last_change()), (1, 1));
}

#[test]
fn a_change_that_is_sent_again_does_not_undo_a_later_one() {
    for seed in 0..50 {
        let mut world = World::with(seed, &["a", "b"]);
        world.run(20_000);
        world.count(0, 1);
        // The other process gets the change, and its acknowledgement is lost.
        while world.contents(1).is_empty() {
            world.step();
        }
        world.lose_any();
        world.count(1, 1);
        world.run(20_000);
        let count = |process: usize| world.contents(process).get(&1).map(|(count, _)| *count);
        assert_eq!([count(0), count(1)], [Some(2); 2], "seed {seed}");
    }
}

#[test]
fn processes_that_change_an_entry_while_they_are_apart_agree_on_the_greater_values() {
    for seed in 0..50 {
        let mut world = World::with(seed, &FIVE);
        world.run(30_000);
        while world.count_of_connections() > 0 {
            world.lose_any();
        }
        for process in 0..5 {
            (0..world.random.below(9)).for_each(|_| world.count(process, 1));
        }
        let greatest = (0..5).filter_map(|at| world.contents(at).remove(&1)).max();
        world.run(30_000);
        (0..5).for_each(|at| assert_eq!(world.contents(at).remove(&1), greatest, "seed {seed}"));
    }
}

#[test]
fn a_connection_that_fails_leaves_an_open_session_as_it_is() {
    let mut wire = Wire::open();
    wire.group.connect_failed(1, wire.now);
    let peer = wire.group.view().peers.into_iter().nth(1).expect("a peer");
    assert_eq!((peer.status, peer.reconnect_at), (PeerStatus::Established, None));
}

#[test]
fn idle_sessions_live_by_heartbeats() {
    let mut world = World::with(3, &["a", "b"]);
    world.run(20_000);
    let established = world.processes[0].events.len();
    world.run(60_000);
    assert_eq!(world.processes[0].events.len(), established, "the session has not changed");
    assert!(world.sum(|peer| peer.counters.sent_heartbeats.into()) >= 30);
}

#[test]
fn a_new_process_learns_all_entries_from_an_up_to_date_peer() {
    for seed in 0..50 {
        let mut world = World::with(seed, &["a", "b", "c"]);
        (0..300).for_each(|key| world.count((key % 3) as usize, key));
        world.run(20_000);
        world.kill(2);
        world.run(1_000);
        (300..350).for_each(|key| world.count(0, key));
        let new = world.start("c", &["a", "b", "c"], false);
        world.run(20_000);
        assert!(world.processes[new].group.is_up_to_date());
        assert_eq!(world.contents(new).len(), 350, "seed {seed}");
        assert_eq!(world.contents(new), world.contents(0), "seed {seed}");
        assert_eq!(errors(&world), 0, "seed {seed}");
    }
}

#[test]
fn an_old_process_teaches_its_successor_and_ends() {
    for seed in 0..50 {
        let mut world = World::with(seed, &["a"]);
        (0..500).for_each(|key| world.count(0, key));
        world.run(10_000);
        let new = world.start("a", &["a"], true);
        let now = world.now;
        world.processes[0].group.stop(now);
        assert!(!world.processes[0].group.is_taught());
        world.run(4_000);
        assert!(world.processes[0].group.is_taught(), "seed {seed}");
        assert!(world.processes[new].group.is_up_to_date(), "seed {seed}");
        assert_eq!(world.contents(new), world.contents(0), "seed {seed}");
        assert_eq!(world.count_of_connections(), 0, "seed {seed}");
    }
}

#[test]
fn a_process_that_stops_without_a_successor_does_not_wait_for_ever() {
    let mut world = World::with(4, &["a"]);
    let now = world.now;
    world.listeners.clear();
    world.processes[0].group.stop(now);
    world.run(400);
    assert!(!world.processes[0].group.is_taught());
    world.run(500);
    assert!(world.processes[0].group.is_taught(), "ten attempts have failed");
}

/// Five processes count while connections are lost. Each key is counted by one process at a time.
fn converges(seed: u64) {
    let mut world = World::with(seed, &FIVE);
    world.run(u64::from(world.random.below(8_000)));
    let mut expected = BTreeMap::new();
    for _ in 0..60 {
        for _ in 0..world.random.below(10) {
            let key = world.random.below(400);
            world.count((key % 5) as usize, key);
            *expected.entry(key).or_insert(0) += 1;
        }
        if world.random.below(3) == 0 {
            world.lose_any();
        }
        let span = world.random.below(300);
        world.run(span.into());
    }
    world.run(30_000);
    assert_eq!(world.count_of_connections(), 10, "seed {seed}: one connection per pair");
    for process in 0..5 {
        let counts: BTreeMap<u32, u64> =
            world.contents(process).into_iter().map(|(key, (count, _))| (key, count)).collect();
        assert_eq!(counts, expected, "seed {seed}, process {process}");
    }
    // The last update of keys that all have counted is the one that holds.
    for key in 0..50 {
        let process = world.random.below(5) as usize;
        world.count(process, key);
        world.run(20);
    }
    world.run(15_000);
    (1..5).for_each(|at| assert_eq!(world.contents(at), world.contents(0), "seed {seed}"));
    assert_eq!(errors(&world), 0, "seed {seed}");
    assert!(world.most_unused < 2 * world::MAX_MESSAGE + 4_000);
}

#[test]
fn five_peers_converge_whatever_connections_are_lost() {
    let seeds = std::env::var("PEERS_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(20);
    (0..seeds).for_each(converges);
}

/// A process under test, and the peer's end of a connection to it.
struct Wire {
    group: Group,
    id: SessionId,
    now: u64,
}

impl Wire {
    fn new(hello: &str) -> (Wire, Vec<u8>) {
        let mut world = World::with(5, &["a", "b"]);
        let process = world.processes.remove(0);
        let (mut group, now) = (process.group, world.now);
        while group.next_action().is_some() {}
        let id = group.accept(now).expect("room");
        let mut wire = Wire { group, id, now };
        let said = wire.say(hello.as_bytes());
        (wire, said)
    }

    fn open() -> Wire {
        let (wire, said) = Wire::new("HAProxyS 2.1\na\nb 7 1\n");
        assert_eq!(said, b"200\n\0\0", "it asks to be taught");
        wire
    }

    /// The bytes of the reply; an X behind them if the connection is closed.
    fn say(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.group.receive(self.id, bytes, self.now);
        self.hear()
    }

    fn hear(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.group.transmit(self.id, &mut out, 100_000, self.now) {}
        while let Some(action) = self.group.next_action() {
            if action == Action::Close(self.id) {
                out.push(b'X');
            }
        }
        out
    }
}

// HAProxy 2.6 and 2.7 give these answers.
#[test]
fn hellos_are_answered_as_haproxy_does() {
    for (hello, answer) in [
        ("HAProxyS 2.1\na\nb 1 0\n", "200\n\0\0"),
        ("HAProxyS 2.0\na\nb 1 0\n", "200\n\0\0"),
        ("HAProxyS 1.0\na\nb 1 0\n", "502\nX"),
        ("Foo 2.0\na\nb 1 0\n", "501\nX"),
        ("HAProxyS 2.1\nz\nb 1 0\n", "503\nX"),
        ("HAProxyS 2.1\na\nx 1 0\n", "504\nX"),
        ("HAProxyS 2.1\na\na 1 0\n", "200\n\0\x02"),
        ("garbage\n", "501\nX"),
    ] {
        let (_, said) = Wire::new(hello);
        assert_eq!(String::from_utf8_lossy(&said), answer, "{hello:?}");
    }
}

#[test]
fn breaches_of_the_protocol_are_answered_and_end_the_session() {
    let definition = b"\x0a\x82\x07\x05\x01t\x02\x04\x04\x00".as_slice();
    let mut long = vec![10, 0x84];
    long.extend([0xff; 12]);
    for (bytes, answer) in [
        (&b"\x0a\x80\xff\xff\xff\xff\x0f"[..], &b"\x01\x01X"[..]),
        (&long, b"\x01\x00X"),
        (b"\x0a\x82\x01\x05", b"\x01\x00X"),
        (b"\x0a\x84\x01\x05", b"\x01\x00X"),
        (b"\x0a\x83\x00", b"\x01\x00X"),
        (b"\x01\x00", b"X"),
    ] {
        let mut wire = Wire::open();
        assert_eq!(wire.say(bytes), answer, "{bytes:?}");
    }
    let mut wire = Wire::open();
    wire.say(definition);
    assert_eq!(wire.say(b"\x0a\x80\x08\0\0\0\x01\0\0\0\x09"), b"\x01\x00X", "no value");
}

#[test]
fn unusable_updates_have_no_effect() {
    let update = b"\x0a\x80\x09\0\0\0\x01\0\0\0\x09\x05";
    for bytes in [
        &b"\x63\x00\x00\x77\x0a\x90\x01\x00"[..],
        update,
        b"\x0a\x83\x01\x09",
        b"\x0a\x84\x05\x63\0\0\0\x09",
        b"\x0a\x84\x05\x01\0\0\0\x09",
        b"\x00\x01\x00\x03\x00\x04",
    ] {
        let mut wire = Wire::open();
        // The answer to our own request for a lesson is expected.
        let said = wire.say(bytes);
        assert!(said.is_empty() || said == b"\0\x03", "{bytes:?}: {said:?}");
    }
    // Tables that this process does not have, and tables with other keys.
    for definition in [
        &b"\x0a\x82\x07\x05\x01q\x02\x04\x04\x00"[..],
        b"\x0a\x82\x07\x05\x01t\x04\x04\x04\x00",
        b"\x0a\x82\x07\x05\x01t\x63\x04\x04\x00",
    ] {
        let mut wire = Wire::open();
        assert!(wire.say(definition).is_empty());
        assert!(wire.say(update).is_empty(), "nothing is acknowledged");
        assert_eq!(wire.group.tables()[0].table.used(), 0);
    }
}

#[test]
fn texts_in_updates_of_no_use_are_remembered() {
    let mut wire = Wire::open();
    let mut definition = b"\x05\x01q\x02\x04".to_vec();
    crate::varint::put(&mut definition, 1 << 19);
    definition.push(0);
    let mut bytes = Vec::new();
    message::put_definition(&mut bytes, &definition);
    let plain = UpdateKind { incremental: false, timed: false };
    message::put_update(&mut bytes, plain, b"\0\0\0\x01\0\0\0\x09\x05\x01\x03srv");
    definition[2] = b't';
    message::put_definition(&mut bytes, &definition);
    message::put_update(&mut bytes, plain, b"\0\0\0\x01\0\0\0\x09\x01\x01");
    assert_eq!(wire.say(&bytes), b"\x0a\x84\x05\x05\0\0\0\x01");
    let table = &wire.group.tables()[0].table;
    let server = table.look(&9u32.to_be_bytes(), wire.now, table::Entry::server_key_own);
    assert_eq!(server.flatten().as_deref(), Some("srv"));
}

#[test]
fn a_second_connection_of_a_peer_takes_the_place_of_the_first() {
    let mut wire = Wire::open();
    let first = wire.id;
    let second = wire.group.accept(wire.now).expect("room");
    wire.id = second;
    let said = wire.say(b"HAProxyS 2.1\na\nb 7 1\n");
    assert_eq!(said, b"200\n\0\0");
    assert!(!wire.group.sessions().any(|id| id == first));
    assert_eq!(wire.group.view().peers.into_iter().nth(1).expect("a peer").counters.collisions, 1);
}

#[test]
fn a_second_local_process_is_put_off() {
    let (mut wire, _) = Wire::new("HAProxyS 2.1\na\na 1 0\n");
    wire.id = wire.group.accept(wire.now).expect("room");
    assert_eq!(wire.say(b"HAProxyS 2.1\na\na 2 0\n"), b"300\nX");
}

#[test]
fn connections_without_a_hello_are_bounded_in_number_and_time() {
    let mut wire = Wire::open();
    let strangers = std::iter::from_fn(|| wire.group.accept(wire.now)).count();
    assert_eq!(strangers, 2 + STRANGERS);
    wire.now += HANDSHAKE;
    wire.group.receive(wire.id, &[0, 4], wire.now);
    wire.group.tick(wire.now);
    assert_eq!(wire.group.sessions().count(), 1);
}

#[test]
fn a_silent_peer_is_given_up_and_met_again_after_a_random_time() {
    let mut wire = Wire::open();
    wire.now += 4_999;
    wire.group.tick(wire.now);
    assert_eq!(wire.hear(), b"\0\x04");
    wire.now += 1;
    wire.group.tick(wire.now);
    let peer = wire.group.view().peers.into_iter().nth(1).expect("a peer");
    assert_eq!(peer.counters.missing_heartbeats, 1);
    let wait = peer.reconnect_at.expect("another attempt") - wire.now;
    assert!((50..=2_050).contains(&wait), "{wait}");
}

#[test]
fn version_2_0_gets_no_heartbeats_and_no_remaining_times() {
    let (mut wire, said) = Wire::new("HAProxyS 2.0\na\nb 7 1\n");
    assert_eq!(said, b"200\n\0\0");
    let (table, now) = (wire.group.tables()[0].table.clone(), wire.now);
    table.enter(&1u32.to_be_bytes(), now, |_| ());
    wire.now += 100_000;
    wire.group.tick(wire.now);
    let said = wire.say(b"\0\0");
    let update = [10, 0x80, 11, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    assert!(said.windows(update.len()).any(|part| part == update), "{said:?}");
    let heartbeat = |part: &[u8]| part == [0, 4];
    assert!(!said.windows(2).any(heartbeat), "{said:?}");
}

#[test]
fn a_peer_that_refuses_the_version_is_asked_for_the_older_one() {
    let mut wire = Wire::open();
    wire.group.closed(wire.id, wire.now);
    let mut versions = Vec::new();
    for _ in 0..3 {
        wire.now += 10_000;
        wire.group.tick(wire.now);
        wire.id = wire.group.connected(1, wire.now).expect("no other session");
        let hello = wire.hear();
        let (hello, _) = Hello::read(&hello).expect("valid").expect("whole");
        versions.push(hello.version);
        assert_eq!(wire.say(b"502\n"), b"X");
    }
    assert_eq!(versions, [Version::V21, Version::V20, Version::V21]);
}

#[test]
fn a_peer_that_floods_requests_is_taught_once_at_a_time() {
    let mut wire = Wire::open();
    let table = wire.group.tables()[0].table.clone();
    (0..200u32).for_each(|key| {
        table.enter(&key.to_be_bytes(), wire.now, |_| ());
    });
    let requests = [0; 2_000];
    wire.group.receive(wire.id, &requests, wire.now);
    let mut out = Vec::new();
    wire.group.transmit(wire.id, &mut out, 100_000, wire.now);
    assert!(out.len() < 20 * 30, "one call sends so many updates: {}", out.len());
    wire.hear();
    assert_eq!(wire.group.view().peers.into_iter().nth(1).expect("a peer").counters.taught, 400);
    // Each answer to a finished lesson is owed; too many end the session.
    let mut wire = Wire::open();
    let finished = [0, 1].repeat(1_000);
    assert_eq!(wire.say(&finished), b"\0\x03");
}
