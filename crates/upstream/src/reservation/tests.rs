//! Tests of waiting: a request that leaves a queue passes on the slot that it was offered.

use super::*;
use reactor::TaskId;
use settings::Mode;
use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use testing::{Origin, World};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A place in the backend's queue before all others, of a task that never runs: as a request on
/// another thread that is about to leave when its turn comes.
fn first_in_line<'a>(world: &World, back: &'a Backend) -> Waiting<'a> {
    let mailbox = world.workers[0].thread.mailbox().clone();
    let waiter = Waiter { mailbox, task: TaskId::NONE };
    let place = queue(back, None).join(waiter, Priority::default());
    let paused = Cell::new(true);
    Waiting { back, slot: None, place, before: 0, offered: Cell::default(), paused }
}

#[test]
fn a_waiter_that_leaves_at_its_turn_passes_the_slot_on() {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let origin = Origin::new(move |mut stream, _| {
        testing::read_head(&mut stream);
        if released.lock().unwrap().recv().is_ok() {
            let _ = stream.write_all(ANSWER);
        }
    });
    let mut server = testing::server(1, origin.address);
    server.balance.maxconn = 1;
    let (proxy, address) = testing::listen("be", Mode::Http, vec![server]);
    let world = World::new(vec![proxy]);
    let ask = || {
        let mut client = testing::client(address);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        client
    };
    let _served = ask();
    world.until("the first request is served", || origin.served() == 1);
    let backend = world.shared.backend("be").unwrap().clone();
    let leaving = first_in_line(&world, &backend);
    let queue = queue(&backend, None);
    let mut waits = ask();
    world.until("the second request waits", || queue.len() == 2);
    release.send(()).unwrap();
    // A waiter that was called is not called again: the second one is next then.
    let called = || queue.next_order() != Some(Priority::default());
    assert!(!called());
    world.until("the one before it is called", called);
    assert_eq!(origin.served(), 1, "the place is kept for it");
    drop(leaving);
    world.until("the place is handed on", || origin.served() == 2);
    release.send(()).unwrap();
    let answer = world.play(move || {
        let mut answer = Vec::new();
        waits.read_to_end(&mut answer).map(|_| answer)
    });
    assert!(answer.unwrap().starts_with(b"HTTP/1.1 200 OK\r\n"));
}
