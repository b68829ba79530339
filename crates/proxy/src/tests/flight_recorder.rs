//! Tests of the flight recorder.

use engine::state::records::flight_recorder::*;
use engine::state::records::flight_recorder::{KEPT, TEXT};
use settings::Mode;
use std::io::{Read, Write};
use std::sync::atomic::Ordering::Relaxed;
use testing::{Origin, World};
use transport::stats::transaction_log::Chooser;

#[test]
fn texts_are_cut() {
    let mut text = Text::default();
    text.set(&[b"GET", b" ", b"/x"]);
    assert_eq!((text.bytes(), text.is_full()), (&b"GET /x"[..], false));
    text.set(&[b"GET", b" ", &[b'y'; 100]]);
    assert_eq!((text.bytes().len(), text.is_full()), (TEXT, true));
}

#[test]
fn transactions_are_remembered_and_failures_longer() {
    let origin = Origin::new(|mut stream, _| {
        let mut head = [0; 1024];
        let _ = stream.read(&mut head);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    let server = testing::server(1, origin.address);
    let (good, address) = testing::listen("good", Mode::Http, vec![server]);
    let (bad, refused) = testing::listen("bad", Mode::Http, Vec::new());
    let world = World::new(vec![good, bad]);
    let get = |address, uri: String| {
        world.play(move || {
            let mut stream = testing::client(address);
            let request = format!("GET {uri} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        })
    };
    assert!(get(refused, "/first".into()).starts_with("HTTP/1.1 503 "));
    assert!(get(address, "/second".into()).starts_with("HTTP/1.1 200 "));
    let worker = &world.workers[0];
    world.until("both have ended", || worker.flights(false).len() == 2);
    let flights = worker.flights(false);
    assert_eq!(flights[0].line.bytes(), b"GET /first");
    assert_eq!((flights[0].status, flights[0].server), (503, None));
    assert_eq!((flights[1].number, flights[1].server), (2, Some(0)));
    assert_eq!((flights[1].chooser, flights[1].fresh), (Chooser::Algorithm, true));
    assert!(flights[1].span(0, 5) >= flights[1].span(3, 4));
    let failed = worker.flights(true);
    assert_eq!((failed.len(), failed[0].number), (1, 1));
    worker.shared.records.store(false, Relaxed);
    assert!(get(address, "/third".into()).starts_with("HTTP/1.1 200 "));
    assert_eq!(worker.flights(false).len(), 2);
    worker.shared.records.store(true, Relaxed);
    for n in 0..KEPT {
        let mut flight = flights[1].clone();
        flight.number = n as u64;
        worker.recorder.0.borrow_mut().all.push(flight);
    }
    let kept = worker.flights(false);
    assert_eq!((kept.len(), kept[0].number, kept[KEPT - 1].number), (KEPT, 0, 511));
    assert_eq!(worker.flights(true).len(), 1);
}
