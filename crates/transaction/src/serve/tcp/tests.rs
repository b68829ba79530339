//! Tests of TCP sessions over real sockets: data, ends, retries, queues, limits, and what is logged.

use settings::{Mode, ProxySection, Server, Timeouts};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use testing::{Origin, PATIENCE, World};
use transport::stats::counters::Metric;

fn listen(servers: Vec<Server>) -> (ProxySection, SocketAddr) {
    testing::listen("px", Mode::Tcp, servers)
}

/// Runs a client against a listener with these servers and limits; returns the bytes that it
/// received, and the log line from the server's name on, without times.
fn session(
    servers: Vec<Server>,
    change: impl FnOnce(&mut ProxySection),
    script: impl FnOnce(&mut TcpStream) + Send + 'static,
) -> (Vec<u8>, String) {
    let (mut proxy, address) = listen(servers);
    change(&mut proxy);
    let world = World::new(vec![proxy]);
    let received = world.play(move || {
        let mut stream = testing::client(address);
        script(&mut stream);
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        received
    });
    let line = world.line("px/");
    world.until("the session ends", || world.frontend("px").connections.current() == 0);
    assert_eq!(world.backend("px").sessions.current(), 0);
    let worker = &world.workers[0];
    assert_eq!(worker.buffers.in_use(), 0, "buffers are given back");
    (received, tail(&line))
}

/// `px/s1 5 -- 1/1/0/0/0 0/0`
fn tail(line: &str) -> String {
    let (_, rest) = line.split_once("px/").unwrap();
    let words: Vec<_> = rest.split(' ').collect();
    let kept = words.iter().enumerate().filter(|(place, _)| *place != 1);
    kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

fn say(bytes: &'static [u8]) -> impl FnOnce(&mut TcpStream) + Send {
    move |stream| {
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    }
}

fn limits(client: u32, server: u32) -> impl FnOnce(&mut ProxySection) {
    move |proxy| {
        let (client, server) = (Some(client), Some(server));
        proxy.timeouts = Timeouts { client, server, ..Timeouts::default() };
    }
}

#[test]
fn a_half_close_is_passed_on_both_ways() {
    let origin = Origin::new(|mut stream, _| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.reverse();
        stream.write_all(&all).unwrap();
    });
    let server = testing::server(1, origin.address);
    let (received, line) = session(vec![server], |_| {}, say(b"hello"));
    assert_eq!(received, b"olleh", "the server answered after the end of the request");
    assert_eq!(line, "s1 5 -- 1/1/0/0/0 0/0");
}

#[test]
fn a_server_may_send_first() {
    let origin = Origin::new(|mut stream, _| stream.write_all(b"220 ready\r\n").unwrap());
    let (received, line) = session(vec![testing::server(1, origin.address)], |_| {}, |_| {});
    assert_eq!(received, b"220 ready\r\n");
    assert_eq!(line, "s1 11 -- 1/1/0/0/0 0/0");
}

#[test]
fn bulk_passes_whole_and_the_books_agree() {
    const SIZE: usize = 5 << 20;
    let origin = Origin::echo();
    let (proxy, address) = listen(vec![testing::server(1, origin.address)]);
    let world = World::new(vec![proxy]);
    let data: Vec<u8> = (0..SIZE).map(|place| (place / 7) as u8).collect();
    let expected = data.clone();
    let received = world.play(move || {
        let mut stream = testing::client(address);
        let mut writer = stream.try_clone().unwrap();
        let writing = std::thread::spawn(move || {
            writer.write_all(&data).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        writing.join().unwrap();
        received
    });
    assert!(received == expected);
    let line = world.line("px/");
    assert_eq!(tail(&line), format!("s1 {SIZE} -- 1/1/0/0/0 0/0"));
    let back = world.backend("px");
    for counters in [&back.counters, &back.servers[0].counters, &world.frontend("px").counters] {
        let bytes = [Metric::BytesIn, Metric::BytesOut].map(|metric| counters.sum(metric));
        assert_eq!(bytes, [SIZE as u64; 2]);
        assert_eq!(counters.sum(Metric::Sessions), 1);
    }
    let worker = &world.workers[0];
    assert_eq!(worker.buffers.in_use(), 0);
}

#[test]
fn an_idle_session_holds_no_buffer() {
    let origin = Origin::echo();
    let (proxy, address) = listen(vec![testing::server(1, origin.address)]);
    let world = World::new(vec![proxy]);
    let stream = world.play(move || {
        let mut stream = testing::client(address);
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        stream
    });
    let worker = &world.workers[0];
    world.until("buffers are given back", || worker.buffers.in_use() == 0);
    let polls = worker.thread.scheduler().polls();
    world.turn();
    assert_eq!(worker.thread.scheduler().polls(), polls, "nothing runs while nothing happens");
    drop(stream);
    assert_eq!(tail(&world.line("px/")), "s1 1 -- 1/1/0/0/0 0/0");
}

#[test]
fn a_refused_connection_is_tried_again_after_a_pause() {
    let server = testing::server(1, testing::nobody());
    let change = |proxy: &mut ProxySection| {
        proxy.timeouts.connect = Some(20);
        proxy.back.as_mut().unwrap().retries = 2;
    };
    let (received, line) = session(vec![server], change, say(b"hello"));
    assert_eq!((&*received, &*line), (&b""[..], "s1 0 SC 1/1/0/0/2 0/0"));
}

#[test]
fn redispatch_goes_to_another_server_at_once_with_the_clients_bytes() {
    let origin = Origin::echo();
    let servers = vec![testing::server(1, testing::nobody()), testing::server(2, origin.address)];
    let change = |proxy: &mut ProxySection| {
        // A pause before the second attempt would end the test.
        proxy.timeouts.connect = Some(10 * PATIENCE.as_millis() as u32);
        proxy.back.as_mut().unwrap().redispatch = -1;
    };
    let (received, line) = session(servers, change, say(b"hello"));
    assert_eq!((&*received, &*line), (&b"hello"[..], "s2 5 -- 1/1/0/0/+1 0/0"));
}

#[test]
fn without_a_server_the_session_ends_at_once() {
    let mut server = testing::server(1, testing::nobody());
    server.balance.disabled = true;
    let (_, line) = session(vec![server], |_| {}, |_| {});
    assert_eq!(line, "<NOSRV> 0 SC 1/1/0/0/0 0/0");
}

#[test]
fn resets_name_the_side_that_sent_them() {
    let origin = Origin::new(|stream, _| testing::reset(stream));
    let server = testing::server(1, origin.address);
    let (_, line) = session(vec![server], |_| {}, |stream| stream.write_all(b"x").unwrap());
    assert_eq!(line, "s1 0 SD 1/1/0/0/0 0/0");
    let origin = Origin::echo();
    let (proxy, address) = listen(vec![testing::server(1, origin.address)]);
    let world = World::new(vec![proxy]);
    world.play(move || {
        let mut stream = testing::client(address);
        stream.write_all(b"hello").unwrap();
        testing::reset(stream);
    });
    assert_eq!(tail(&world.line("px/")), "s1 5 CD 1/1/0/0/0 0/0");
    assert_eq!(world.backend("px").counters.sum(Metric::ClientAborts), 1);
}

#[test]
fn silence_ends_a_session_and_names_the_side() {
    let origin = Origin::silent();
    let server = || vec![testing::server(1, origin.address)];
    let (_, line) = session(server(), limits(20, 20), |_| {});
    assert_eq!(line, "s1 0 cD 1/1/0/0/0 0/0");
    let (_, line) = session(server(), limits(60_000, 20), |_| {});
    assert_eq!(line, "s1 0 sD 1/1/0/0/0 0/0");
    let tunnel = |proxy: &mut ProxySection| {
        limits(60_000, 60_000)(proxy);
        proxy.timeouts.tunnel = Some(20);
    };
    let (_, line) = session(server(), tunnel, |_| {});
    assert_eq!(line, "s1 0 cD 1/1/0/0/0 0/0");
}

#[test]
fn after_a_half_close_the_other_limits_hold() {
    let fin = |proxy: &mut ProxySection| {
        limits(60_000, 60_000)(proxy);
        (proxy.timeouts.client_fin, proxy.timeouts.server_fin) = (Some(20), Some(20));
    };
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    // Keeps its own side open until the test is over.
    let mute = Origin::new(move |stream, _| {
        let _ = released.lock().unwrap().recv();
        drop(stream);
    });
    let (_, line) = session(vec![testing::server(1, mute.address)], fin, say(b"hello"));
    assert_eq!(line, "s1 0 sD 1/1/0/0/0 0/0");
    drop(release);
    let origin = Origin::new(|stream, _| {
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = std::io::copy(&mut &stream, &mut std::io::sink());
    });
    let (_, line) = session(vec![testing::server(1, origin.address)], fin, |_| {});
    assert_eq!(line, "s1 0 -- 1/1/0/0/0 0/0", "a client that closes in time ends it well");
}

#[test]
fn a_full_server_makes_sessions_wait_and_give_up() {
    let origin = Origin::echo();
    let mut server = testing::server(1, origin.address);
    server.balance.maxconn = 1;
    let (mut proxy, address) = listen(vec![server]);
    proxy.timeouts.queue = Some(50);
    let world = World::new(vec![proxy]);
    let talk = move || {
        let mut stream = testing::client(address);
        stream.write_all(b"x").unwrap();
        let served = stream.read_exact(&mut [0]).is_ok();
        (stream, served)
    };
    let (first, served) = world.play(talk);
    assert!(served);
    let (_, served) = world.play(talk);
    assert!(!served);
    assert_eq!(tail(&world.line("sQ")), "<NOSRV> 0 sQ 2/2/1/0/0 0/1");
    let queue = &world.backend("px").queue;
    world.play(move || drop(testing::client(address)));
    assert_eq!(tail(&world.line("CQ")), "<NOSRV> 0 CQ 2/2/1/0/0 0/1");
    let waiting = std::thread::spawn(talk);
    world.until("another waits", || queue.len() == 1);
    drop(first);
    world.until("it is served", || waiting.is_finished());
    assert!(waiting.join().unwrap().1);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_listener_goes_to_its_default_backend() {
    let origin = Origin::echo();
    let (mut front, address) = listen(Vec::new());
    front.back = None;
    front.front.as_mut().unwrap().default_backend = Some(1);
    let back = testing::backend("be", Mode::Tcp, vec![testing::server(1, origin.address)]);
    let world = World::new(vec![front, back]);
    let received = world.play(move || {
        let mut stream = testing::client(address);
        say(b"hello")(&mut stream);
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        received
    });
    assert_eq!(received, b"hello");
    assert!(world.line("be/s1").contains(" px be/s1 "));
}
