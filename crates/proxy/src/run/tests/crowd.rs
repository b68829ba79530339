//! Connections with many streams beside a client with one request.

use super::Peer;
use mux::BodyKind;
use settings::{Mode, Process, Reuse};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use testing::{Origin, World};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const ATTACKERS: u32 = 10;

/// A hundred times `GET http://a/`, each on a stream of its own.
fn crowd() -> Vec<u8> {
    let get = |id: u8| [&[0, 0, 6, 1, 5, 0, 0, 0, id][..], b"\x82\x86\x84\x41\x01a"].concat();
    (0..100).flat_map(|number| get(2 * number + 1)).collect()
}

/// Sends a request and turns the world until the answer comes; returns how many tasks have run
/// meanwhile.
fn ask(world: &World, client: &mut TcpStream) -> u64 {
    let activity = world.workers[0].thread.scheduler().activity().clone();
    let ran = || activity.ran.iter().map(sched::activity::Counter::get).sum::<u64>();
    let before = ran();
    client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut buffer = [0; 4_096];
    world.until("there is an answer", || match client.read(&mut buffer) {
        Ok(count) => count > 0,
        Err(error) => panic_unless_waiting(&error),
    });
    ran() - before
}

/// Always `false`; panics unless the error is that there is nothing to read yet.
fn panic_unless_waiting(error: &std::io::Error) -> bool {
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
    false
}

#[test]
fn a_crowd_of_streams_lets_others_go_first() {
    // Without a server every answer is the proxy's own.
    let (proxy, address) = testing::listen("px", Mode::Http, Vec::new());
    let world = World::new(vec![proxy]);
    let mut victim = testing::client(address);
    victim.set_nonblocking(true).unwrap();
    ask(&world, &mut victim);
    let mut attackers: Vec<_> = (0..ATTACKERS).map(|_| testing::client(address)).collect();
    attackers.iter_mut().for_each(|it| it.write_all(PREFACE).unwrap());
    let connections = || world.shared.connections.current();
    world.until("all are connected", || connections() == ATTACKERS + 1);
    let scheduler = world.workers[0].thread.scheduler();
    world.until("all are understood", || !scheduler.has_work());
    attackers.iter_mut().for_each(|it| it.write_all(&crowd()).unwrap());
    // The proxy has read all requests, and has started few of them.
    world.until("the streams have begun", || scheduler.tasks() > 100);
    assert!(scheduler.load() > 500, "{}", scheduler.load());
    let ran = ask(&world, &mut victim);
    assert!(ran < 150, "{ran} tasks ran before the request of another client was answered");
}

/// A client with several requests at a time leaves idle server connections to clients with a single
/// one: a new connection may wait in the server's accept queue.
#[test]
fn a_crowd_of_streams_leaves_idle_connections_to_others() {
    for (short, alone) in [(false, false), (true, false), (false, true)] {
        let (left, two) = leave(short, alone);
        let reason = "new connections would not be kept where descriptors run short";
        assert_eq!(left, !short && !alone, "{reason}, and there are others or not");
        assert!(two < 4, "no new connection for one request");
    }
}

/// Whether the client with many streams leaves the one idle connection, and the number of the
/// connection that the next request uses.
fn leave(short: bool, alone: bool) -> (bool, usize) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let origin = Origin::new(move |mut stream, connection| {
        loop {
            let head = testing::read_head(&mut stream);
            if head.is_empty() {
                return;
            }
            let path = String::from_utf8_lossy(&head).split(' ').nth(1).unwrap().to_owned();
            seen.lock().unwrap().push((connection, path));
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let server = testing::server(1, origin.address);
    let (mut proxy, address) = testing::listen("px", Mode::Http, vec![server]);
    proxy.back.as_mut().unwrap().reuse = Reuse::Always;
    const KEPT: i32 = i32::MAX - 1;
    let process = Process { idle_descriptors: Some((KEPT, i32::MAX)), ..testing::process(1) };
    let world = World::with(process, vec![proxy]);
    let ask = |paths: &'static [&'static str]| {
        world.play(move || {
            let mut peer = Peer::new(address);
            let send = |path: &&str| peer.send("GET", path, BodyKind::None);
            let keys: Vec<_> = paths.iter().map(send).collect();
            keys.into_iter().for_each(|key| assert_eq!(peer.answer(key).0, 200));
        });
        let idle = || world.backend("px").servers[0].idle();
        world.until("connections are idle", || idle() as usize == origin.served());
    };
    ask(&["/one"]);
    let _other = (!alone).then(|| testing::client(address));
    let clients = usize::from(!alone);
    world.until("the others are there", || world.workers[0].clients.get() == clients);
    if short {
        world.workers[0].idle.pretend_used(KEPT + 1);
    }
    ask(&["/crowd"; 3]);
    let all = std::mem::take(&mut *asked.lock().unwrap());
    let left = all.iter().filter(|(connection, _)| *connection == 0).count() == 1;
    ask(&["/two"]);
    let all = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(all.len(), 1, "{all:?}");
    (left, all[0].0)
}
