//! Tests of calls: connections that the process makes through a backend, without a client.

use reactor::Class;
use settings::{Mode, ProxySection};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::rc::Rc;
use testing::*;
use transaction::call::Call;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Ending, Failure};

/// The result of a task of a test.
type Shared<T> = Rc<RefCell<T>>;

/// A backend in TCP mode whose servers take one session at a time.
fn narrow(servers: &[std::net::SocketAddr]) -> ProxySection {
    let one = |(index, address): (usize, &_)| {
        let mut server = server(index as u32 + 1, *address);
        server.balance.maxconn = 1;
        server
    };
    backend("agents", Mode::Tcp, servers.iter().enumerate().map(one).collect())
}

/// Spawns a task that connects a call, and shares its result.
fn dial(world: &World, greeting: &'static [u8]) -> Shared<Option<Result<Call, Failure>>> {
    let (worker, shared) = (world.workers[0].clone(), Shared::default());
    let out = shared.clone();
    let scheduler = world.workers[0].thread.clone();
    scheduler.scheduler().spawn(Class::Normal, async move {
        let backend = worker.backend("agents").expect("there is a backend").clone();
        let mut call = Call::new(&worker, &backend);
        let result = call.connect(greeting).await.map(|count| assert_eq!(count, greeting.len()));
        *out.borrow_mut() = Some(result.map(|()| call));
    });
    shared
}

fn connected(world: &World, call: &Shared<Option<Result<Call, Failure>>>) {
    world.until("the call is connected", || call.borrow().is_some());
    assert!(matches!(&*call.borrow(), Some(Ok(_))), "{:?}", failure(call));
}

fn failure(call: &Shared<Option<Result<Call, Failure>>>) -> Option<Failure> {
    call.borrow().as_ref().and_then(|result| result.as_ref().err().copied())
}

#[test]
fn a_call_sends_its_greeting_and_receives_bytes() {
    let origin = Origin::echo();
    let world = World::new(vec![narrow(&[origin.address])]);
    let (worker, received) = (world.workers[0].clone(), Shared::<Vec<u8>>::default());
    let out = received.clone();
    world.workers[0].thread.scheduler().spawn(Class::Normal, async move {
        let backend = worker.backend("agents").expect("there is a backend").clone();
        let mut call = Call::new(&worker, &backend);
        assert_eq!(call.connect(b"hello ").await.unwrap(), 6);
        assert_eq!(call.send(b"world").unwrap(), 5);
        let mut buffer = [0; 64];
        while out.borrow().len() < 11 {
            match call.recv(&mut buffer) {
                Ok(count) => out.borrow_mut().extend_from_slice(&buffer[..count]),
                Err(_) => {
                    call.link().unwrap().want_read();
                    worker.thread.scheduler().wait(None).await;
                }
            }
        }
    });
    let back = world.backend("agents");
    world.until("the call is over", || back.counters.sum(Metric::BytesOut) > 0);
    assert_eq!(*received.borrow(), b"hello world");
    assert_eq!(back.counters.sum(Metric::Sessions), 1);
    assert_eq!(back.counters.sum(Metric::BytesIn), 11);
    assert_eq!(back.counters.sum(Metric::BytesOut), 11);
    assert_eq!(back.servers[0].counters.sum(Metric::Sessions), 1);
    assert_eq!(back.sessions.current(), 0);
    assert_eq!(world.shared.connections.current(), 0, "a call is no client");
    assert_eq!(world.lines(), Vec::<String>::new(), "a call has no log line");
}

#[test]
fn a_dropped_call_gives_its_slot_to_the_next_one() {
    let origin = Origin::silent();
    let world = World::new(vec![narrow(&[origin.address])]);
    let first = dial(&world, b"1");
    connected(&world, &first);
    let second = dial(&world, b"2");
    let back = world.backend("agents");
    world.until("the second waits", || back.servers[0].queue.len() + back.queue.len() == 1);
    assert_eq!(back.servers[0].sessions.current(), 1);
    drop(first.take());
    connected(&world, &second);
    assert_eq!((back.queue.len(), back.sessions.current()), (0, 1));
    drop(second.take());
    assert_eq!((back.servers[0].sessions.current(), back.sessions.current()), (0, 0));
    assert_eq!(back.servers[0].used.current(), 0);
    world.until("both have connected", || origin.served() == 2);
}

#[test]
fn a_call_that_ends_in_the_queue_leaves_it() {
    let origin = Origin::silent();
    let world = World::new(vec![narrow(&[origin.address])]);
    let first = dial(&world, b"1");
    connected(&world, &first);
    let back = world.backend("agents");
    let second = dial(&world, b"2");
    world.until("the second waits", || back.servers[0].queue.len() + back.queue.len() == 1);
    // Its task ends with all others of the thread.
    world.workers[0].thread.scheduler().clear();
    assert_eq!(back.servers[0].queue.len() + back.queue.len(), 0);
    assert_eq!(back.sessions.current(), 1, "the first one's");
    drop((first.take(), second));
    assert_eq!(back.sessions.current(), 0);
}

#[test]
fn calls_are_balanced_and_go_past_servers_that_refuse() {
    let origin = Origin::echo();
    let mut proxy = narrow(&[nobody(), origin.address]);
    proxy.back.as_mut().unwrap().redispatch = 1;
    let world = World::new(vec![proxy]);
    let call = dial(&world, b"x");
    connected(&world, &call);
    let back = world.backend("agents");
    assert_eq!(back.servers[1].sessions.current(), 1);
    assert_eq!(back.servers[0].sessions.current(), 0);
    assert!(back.counters.sum(Metric::Redispatches) == 1);
}

#[test]
fn a_call_without_a_usable_server_fails() {
    let world = World::new(vec![narrow(&[])]);
    let call = dial(&world, b"x");
    world.until("the call fails", || failure(&call).is_some());
    assert_eq!(failure(&call).unwrap().ending, Ending::Error(503));
    assert_eq!(world.backend("agents").sessions.current(), 0);
}

#[test]
fn a_call_waits_in_a_queue_no_longer_than_allowed() {
    let origin = Origin::silent();
    let mut proxy = narrow(&[origin.address]);
    proxy.timeouts.queue = Some(20);
    let world = World::new(vec![proxy]);
    let first = dial(&world, b"1");
    connected(&world, &first);
    let second = dial(&world, b"2");
    world.until("the second fails", || failure(&second).is_some());
    let back = world.backend("agents");
    assert_eq!(back.servers[0].queue.len() + back.queue.len(), 0);
}

#[test]
fn a_call_introduces_itself_without_a_client() {
    let (sender, received) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let origin = Origin::new(move |mut stream, _| {
        let mut bytes = [0; 17];
        stream.read_exact(&mut bytes).unwrap();
        sender.lock().unwrap().send(bytes).unwrap();
        let _ = stream.write_all(b"!");
    });
    let mut proxy = narrow(&[origin.address]);
    proxy.back.as_mut().unwrap().servers[0].link.announce = Some(settings::Announce::V1);
    let world = World::new(vec![proxy]);
    let call = dial(&world, b"hi");
    connected(&world, &call);
    world.until("the server has the header", || call.borrow().is_some());
    assert_eq!(&received.recv().unwrap(), b"PROXY UNKNOWN\r\nhi");
}

#[test]
fn content_rules_of_the_backend_see_the_greeting() {
    let origin = Origin::echo();
    for (rule, passes) in [
        ("tcp-request content reject if { req.payload(0,2) -m str hi }", false),
        ("tcp-request content reject if { req.payload(0,2) -m str no }", true),
    ] {
        let mut proxy = narrow(&[origin.address]);
        proxy.rules = rules(Mode::Tcp, &[rule]);
        let world = World::new(vec![proxy]);
        let call = dial(&world, b"hi");
        world.until("the rules have decided", || call.borrow().is_some());
        assert_eq!(failure(&call).is_none(), passes, "{rule}");
    }
}

#[test]
fn the_end_of_a_server_ends_its_calls() {
    use engine::state::session::stream_list::{StreamSet, end_all};
    use transport::stats::transaction_log::Cause;
    let origin = Origin::silent();
    let world = World::new(vec![narrow(&[origin.address])]);
    let call = dial(&world, b"x");
    connected(&world, &call);
    let call = call.take().unwrap().ok().unwrap();
    assert!(call.go_on().is_ok());
    end_all(&world.shared, StreamSet::Server(0, 0), Cause::ServerAbort);
    world.until("the call ends", || call.go_on().is_err());
}
