//! The accept loop over sockets of the system: limits, batches and the end.

use super::*;
use reactor::os::Os;
use reactor::{Settings, Socket};
use std::cell::Cell;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A host that keeps its connections open, and is full at `most`.
struct Counting {
    thread: Rc<Thread>,
    sockets: std::cell::RefCell<Vec<Socket>>,
    most: Cell<usize>,
    over: Cell<bool>,
}

impl Host for Rc<Counting> {
    fn is_over(&self) -> bool {
        self.over.get()
    }

    fn limit_ms(&self) -> Option<u32> {
        (self.sockets.borrow().len() >= self.most.get()).then_some(1)
    }

    fn serve(&self, handle: Handle, peer: Option<SocketAddr>) {
        assert!(peer.is_some_and(|peer| peer.ip().is_loopback()));
        self.sockets.borrow_mut().push(Socket::adopt(&self.thread, handle));
    }

    fn batch(&self) -> usize {
        2
    }
}

/// A listener with `clients` in its backlog, and the task that accepts them.
struct World {
    thread: Rc<Thread>,
    host: Rc<Counting>,
    _listener: TcpListener,
    _clients: Vec<TcpStream>,
}

impl World {
    fn new(clients: usize, most: usize) -> Self {
        let thread = Thread::new(0, Box::new(Os::new(64).unwrap()), Settings::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let to = listener.local_addr().unwrap();
        let clients = (0..clients).map(|_| TcpStream::connect(to).unwrap()).collect();
        let host = Rc::new(Counting {
            thread: thread.clone(),
            sockets: Default::default(),
            most: Cell::new(most),
            over: Cell::new(false),
        });
        let (own, accepting, handle) = (thread.clone(), host.clone(), Handle(listener.as_raw_fd()));
        let task = async move { run(&own, handle, &accepting).await };
        thread.scheduler().spawn(Class::Normal, task);
        Self { thread, host, _listener: listener, _clients: clients }
    }

    fn turn(&self) {
        self.thread.turn(Some(Duration::from_millis(10))).unwrap();
    }

    /// Runs until the host has `count` connections.
    fn until(&self, count: usize) {
        while self.host.sockets.borrow().len() < count {
            self.turn();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.host.sockets.borrow_mut().clear();
        self.thread.scheduler().clear();
    }
}

#[test]
fn more_clients_than_a_batch_are_accepted_in_several_turns() {
    let world = World::new(5, usize::MAX);
    world.turn();
    assert!(world.host.sockets.borrow().len() <= 2, "other tasks run between two batches");
    world.until(5);
}

#[test]
fn a_full_host_accepts_again_after_its_limit_has_risen() {
    let world = World::new(3, 1);
    world.until(1);
    (0..3).for_each(|_| world.turn());
    assert_eq!(world.host.sockets.borrow().len(), 1);
    world.host.most.set(usize::MAX);
    world.until(3);
}

#[test]
fn clients_of_the_backlog_are_served_after_the_end() {
    let world = World::new(5, usize::MAX);
    world.host.over.set(true);
    world.until(5);
    while world.thread.scheduler().tasks() > 0 {
        world.turn();
    }
}
