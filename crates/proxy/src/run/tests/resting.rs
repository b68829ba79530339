//! Idle HTTP/2 connections to servers: how many are kept (manual section 5.2, `pool-max-conn`).

use super::{answer, parrot};
use settings::{Mode, Protocol, Reuse, Server, ServerProtocols};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use testing::{Origin, World, client, listen, listen_twice};
use transport::stats::counters::Metric;

/// Two threads in front of a server that speaks HTTP/2, with a limit of idle connections; the
/// server counts connections.
fn two_threads(origin: &Origin, (reuse, limit): (Reuse, Option<u32>)) -> (World, [SocketAddr; 2]) {
    let (inner, between) = listen("inner", Mode::Http, vec![testing::server(1, origin.address)]);
    let speech = ServerProtocols::only(Protocol::H2);
    let server = Server { speech, pool_max: limit, ..testing::server(1, between) };
    let (mut outer, addresses) = listen_twice("outer", server);
    outer.back.as_mut().unwrap().reuse = reuse;
    (World::with(testing::process(2), vec![outer, inner]), addresses)
}

/// Sends this many requests over one connection, which stays open.
fn ask(world: &World, address: SocketAddr, times: usize) -> TcpStream {
    world.play(move || {
        let mut stream = client(address);
        for _ in 0..times {
            stream.write_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
            answer(&mut stream, 16);
        }
        stream
    })
}

/// The connections between the proxies after a request on each thread, and the number of idle ones.
fn kept(limit: Option<u32>) -> (u64, u32) {
    let origin = parrot();
    let (world, addresses) = two_threads(&origin, (Reuse::Always, limit));
    let _clients = addresses.map(|address| ask(&world, address, 1));
    let stand = || u64::from(world.frontend("inner").connections.current());
    let server = &world.backend("outer").servers[0];
    let expected = limit.unwrap_or(2).min(2);
    world.until("all others are closed", || {
        stand() == u64::from(expected) && server.idle() == expected
    });
    assert_eq!((server.in_use(), server.idle_proven()), (0, server.idle()));
    (stand(), server.idle())
}

#[test]
fn the_bound_holds_for_all_threads() {
    assert_eq!([Some(0), Some(1), Some(2), None].map(kept), [(0, 0), (1, 1), (2, 2), (2, 2)]);
}

/// The manual's bound holds for connections that can be shared.
#[test]
fn connections_of_one_client_are_not_bounded() {
    let origin = parrot();
    let (world, [address, _]) = two_threads(&origin, (Reuse::Never, Some(0)));
    let _client = ask(&world, address, 3);
    let made = world.frontend("inner").counters.since_start(Metric::Connections);
    assert_eq!((made, world.backend("outer").servers[0].idle()), (1, 0));
}
