//! Tests of idle connections in the pools of threads.

use settings::{Mode, Reuse};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Barrier};
use testing::*;

/// Answers every request until the peer closes.
fn patient() -> Origin {
    Origin::new(|mut stream, _| {
        while !read_head(&mut stream).is_empty() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

fn get(address: SocketAddr) -> impl FnOnce() -> TcpStream + Send + 'static {
    move || {
        let mut stream = client(address);
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        stream.read_exact(&mut [0; 2]).unwrap();
        stream
    }
}

/// Two threads with a listener each, in front of one server.
fn two_threads(shared: bool, origin: &Origin, low: u32) -> (World, [SocketAddr; 2]) {
    let (mut proxy, addresses) = listen_twice("fe", server(1, origin.address));
    let back = proxy.back.as_mut().unwrap();
    back.reuse = Reuse::Always;
    back.servers[0].pool_low = low;
    let process = settings::Process { shared_pools: shared, ..process(2) };
    (World::with(process, vec![proxy]), addresses)
}

fn idle(world: &World) -> u32 {
    world.backend("fe").servers[0].idle()
}

#[test]
fn purges_keep_to_the_delay_of_each_server() {
    let origin = patient();
    let (mut proxy, address) = listen("fe", Mode::Http, vec![server(1, origin.address)]);
    proxy.back.as_mut().unwrap().servers[0].pool_purge = 20;
    let world = World::new(vec![proxy]);
    let one = world.play(get(address));
    world.until("a connection is idle", || idle(&world) == 1);
    let began = world.workers[0].thread.nanos();
    world.until("it is dropped", || idle(&world) == 0);
    let took = world.workers[0].thread.nanos() - began;
    assert!(took < 4_000_000_000, "before the usual 5 s");
    drop(one);
}

#[test]
fn idle_connections_that_a_thread_does_not_need_serve_others() {
    for (shared, connections) in [(true, 1), (false, 2)] {
        let origin = patient();
        // Few connections, so that no thread asks another.
        let (world, [first, second]) = two_threads(shared, &origin, 5);
        let _one = world.play(get(first));
        world.until("the connection is idle", || idle(&world) == 1);
        // The first purge finds no demand for the connection, the second closes it.
        (0..2).for_each(|_| world.workers[0].idle.purge(&world.workers[0]));
        let _two = world.play(get(second));
        world.until("a connection is idle again", || idle(&world) == 1);
        assert_eq!(origin.served(), connections, "shared: {shared}");
    }
}

#[test]
fn a_parked_connection_ends_when_unused_or_closed_by_its_server() {
    let origin = patient();
    let (world, [first, _]) = two_threads(true, &origin, 0);
    let _one = world.play(get(first));
    world.until("the connection is idle", || idle(&world) == 1);
    let parked = || world.backend("fe").servers[0].parked.count();
    (0..2).for_each(|_| world.workers[0].idle.purge(&world.workers[0]));
    assert_eq!((parked(), idle(&world)), (1, 1));
    let work = &world.shared.work;
    let tended = (work.next(0), work.next(1));
    assert!(tended.0.is_some() && tended.1.is_none(), "one thread watches: {tended:?}");
    // Any thread may do the job; it continues while a connection is parked.
    let now = tended.0.unwrap();
    let again = (0..3).map(|n| {
        engine::state::backend::pool::shared::tend_again(&world.workers[n % 2], now).is_some()
    });
    assert_eq!(again.collect::<Vec<_>>(), [true, true, false]);
    assert_eq!((parked(), idle(&world)), (0, 0));
}

#[test]
fn connections_beside_idle_ones_do_not_pile_up() {
    let origin = patient();
    // By default, the first request of a client takes no idle connection.
    let (proxy, address) = listen("fe", Mode::Http, vec![server(1, origin.address)]);
    let world = World::new(vec![proxy]);
    (0..30).for_each(|_| drop(world.play(get(address))));
    world.until("all but a few are closed", || {
        let most = 1 + engine::state::backend::pool::sizing::SLACK;
        origin.served() == 30 && (1..=most).contains(&idle(&world))
    });
    let server = &world.backend("fe").servers[0];
    assert_eq!((server.demand(), server.idle_proven()), ((1, 1), 0));
}

#[test]
fn as_many_are_kept_as_were_used_at_a_time() {
    const CLIENTS: usize = 12;
    let together = Arc::new(Barrier::new(CLIENTS));
    let origin = Origin::new(move |mut stream, _| {
        while !read_head(&mut stream).is_empty() {
            together.wait();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let (proxy, address) = listen("fe", Mode::Http, vec![server(1, origin.address)]);
    let world = World::new(vec![proxy]);
    let clients = world.play(move || {
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| client(address)).collect();
        for _ in 0..3 {
            let ask = |it: &mut TcpStream| it.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            clients.iter_mut().for_each(|it| ask(it).unwrap());
            for it in &mut clients {
                assert!(read_head(it).starts_with(b"HTTP/1.1 200"));
                it.read_exact(&mut [0; 2]).unwrap();
            }
        }
        clients
    });
    world.until("all are idle", || idle(&world) == CLIENTS as u32);
    assert_eq!(origin.served(), CLIENTS, "none was opened twice");
    let server = &world.backend("fe").servers[0];
    assert_eq!((server.demand(), server.idle_proven()), ((12, 12), 12));
    drop(clients);
}

#[test]
fn a_thread_without_a_connection_takes_that_of_another() {
    let origin = patient();
    let (world, [first, second]) = two_threads(true, &origin, 0);
    let one = world.play(get(first));
    world.until("the connection is idle", || idle(&world) == 1);
    let two = world.play(get(second));
    world.until("it is idle again", || idle(&world) == 1);
    assert_eq!(origin.served(), 1, "one connection serves both");
    let counts: Vec<_> = world.workers.iter().map(|it| it.idle.counts()[0][0]).collect();
    assert_eq!(counts, [0, 1], "the second thread has it now");
    drop((one, two));
}

#[test]
fn few_idle_connections_stay_where_they_are() {
    let origin = patient();
    let (world, [first, second]) = two_threads(true, &origin, 2);
    let one = world.play(get(first));
    world.until("the connection is idle", || idle(&world) == 1);
    let two = world.play(get(second));
    world.until("there are two", || idle(&world) == 2);
    let three = world.play(get(second));
    world.until("there are two still", || idle(&world) == 2);
    assert_eq!(origin.served(), 2, "pool-low-conn 2: one is not enough");
    drop((one, two, three));
}
