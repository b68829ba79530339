//! Tests of how listeners end, over real sockets, and of a case that no process can show: a clock
//! that is set back under `maxsslrate`.

use super::{Moment, is_too_fast_for_tls};
use settings::Mode;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;
use testing::{Origin, World};

#[test]
fn a_date_that_is_set_back_does_not_freeze_the_rate_of_tls() {
    let (proxy, _) = testing::listen("px", Mode::Http, Vec::new());
    let world = World::new(vec![proxy]);
    let shared = &world.shared;
    shared.max_rates.tls_sessions.store(1, Relaxed);
    shared.tls.front.tick(9_000);
    let at = |second, ms| is_too_fast_for_tls(shared, Moment { second, of_second: 0, ms });
    assert!(at(1_000_000, 9_500));
    // An hour back, and two seconds on.
    assert!(!at(996_400, 11_000));
    // An hour on, in the same second.
    assert!(at(1_003_600, 9_500));
}

#[test]
fn clients_that_wait_at_an_ending_listener_are_served() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let (proxy, address) =
        testing::listen("px", Mode::Http, vec![testing::server(1, origin.address)]);
    let world = World::new(vec![proxy]);
    // More clients than one turn accepts; the stop comes before any is accepted.
    let connect = |_| {
        let mut client = testing::client(address);
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        client
    };
    let clients: Vec<TcpStream> = (0..9).map(connect).collect();
    world.shared.begin_stop(world.workers[0].thread.nanos());
    let answers = world.play(move || {
        let hear = |mut client: TcpStream| {
            let mut heard = String::new();
            client.read_to_string(&mut heard).map(|_| heard)
        };
        clients.into_iter().map(hear).collect::<Vec<_>>()
    });
    for answer in answers {
        assert!(answer.as_ref().is_ok_and(|text| text.starts_with("HTTP/1.1 200")), "{answer:?}");
    }
    assert!(TcpStream::connect(address).is_err(), "the address is free");
}
