//! Tests of rings: the messages that they keep and drop.

use engine::state::os_handles::Backing;
use engine::state::ring::mirror;
use engine::state::ring::*;
use proptest::prelude::*;
use reactor::{Address, Class};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::Read;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Condvar;
use std::sync::{Arc, Mutex};
use testing::World;

/// The longest wait for a thread on a busy machine.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);

fn ring(size: usize, max_len: usize) -> Arc<Ring> {
    Arc::new(Ring::new(settings::Ring { size, max_len, ..settings::Ring::default() }, None))
}

fn read(tap: &mut Tap, framing: Framing) -> String {
    let mut out = Vec::new();
    while tap.read(framing, usize::MAX, &mut out) {}
    String::from_utf8(out).unwrap()
}

#[test]
fn a_message_of_lines_is_one_line_where_lines_end_messages() {
    let (world, ring) = (World::new(Vec::new()), ring(64, 20));
    let mut tap = ring.tap(&world.workers[0], false, false);
    ring.write(b"one\ntwo");
    assert_eq!(read(&mut tap, Framing::Lines), "one two\n");
    ring.write(b"one\ntwo");
    assert_eq!(read(&mut tap, Framing::Shown), "one\ntwo\n");
    ring.write(b"one\ntwo");
    assert_eq!(read(&mut tap, Framing::Counted), "7 one\ntwo");
}

#[test]
fn the_oldest_give_way() {
    let (world, ring) = (World::new(Vec::new()), ring(32, 10));
    for text in ["one", "two", "a long message", "four"] {
        assert!(ring.write(text.as_bytes()));
    }
    let mut tap = ring.tap(&world.workers[0], false, false);
    assert_eq!(read(&mut tap, Framing::Lines), "two\na long mes\nfour\n");
    ring.write(b"five");
    ring.write(b"");
    assert_eq!(read(&mut tap, Framing::Counted), "4 five0 ");
    assert_eq!(ring.dropped(), 0);
}

#[test]
fn messages_that_a_server_has_not_got_stay() {
    let (world, ring) = (World::new(Vec::new()), ring(32, 100));
    let mut server = ring.tap(&world.workers[0], false, true);
    let mut guest = ring.tap(&world.workers[0], true, false);
    for text in ["first", "second", "third", "fourth"] {
        ring.write(text.as_bytes());
    }
    assert_eq!(ring.dropped(), 1, "there was room for three");
    assert_eq!(read(&mut guest, Framing::Lines), "first\nsecond\nthird\n");
    assert_eq!(read(&mut server, Framing::Lines), "first\nsecond\nthird\n");
    server.rewind();
    assert_eq!(read(&mut server, Framing::Lines), "first\nsecond\nthird\n", "it did not arrive");
    assert!(!ring.write(b"fifth"), "nothing was confirmed");
    server.confirm();
    assert!(ring.write(b"sixth"));
    assert_eq!(read(&mut server, Framing::Lines), "sixth\n");
    drop(server);
    (0..10).for_each(|_| assert!(ring.write(b"free")));
    assert_eq!(ring.dropped(), 2);
}

#[derive(Debug, Default)]
struct Paper(Mutex<Vec<u8>>);

impl Backing for Paper {
    fn write_at(&self, offset: u64, bytes: &[u8]) {
        let mut paper = self.0.lock().unwrap();
        let end = offset as usize + bytes.len();
        let len = paper.len().max(end);
        paper.resize(len, 0);
        paper[offset as usize..end].copy_from_slice(bytes);
    }
}

#[test]
fn a_backing_file_has_what_the_ring_has() {
    let paper = Arc::new(Paper::default());
    let backing = Some(paper.clone() as Arc<dyn Backing>);
    let settings = settings::Ring { size: 40, max_len: 100, ..Default::default() };
    let ring = Arc::new(Ring::new(settings, backing));
    mirror::start(&ring);
    (0..9).for_each(|number| assert!(ring.write(format!("message {number}").as_bytes())));
    ring.await_file(PATIENCE);
    assert_eq!(*paper.0.lock().unwrap(), ring.lock().bytes);
}

/// A disk whose writes block until the test releases it.
#[derive(Debug, Default)]
struct Stuck(Mutex<bool>, Condvar, Paper);

impl Backing for Stuck {
    fn write_at(&self, offset: u64, bytes: &[u8]) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |goes| !*goes).unwrap());
        self.2.write_at(offset, bytes);
    }
}

#[test]
fn a_disk_that_hangs_delays_the_file_and_not_the_ring() {
    let disk = Arc::new(Stuck::default());
    let backing = Some(disk.clone() as Arc<dyn Backing>);
    let settings = settings::Ring { size: 40, max_len: 100, ..Default::default() };
    let ring = Arc::new(Ring::new(settings, backing));
    mirror::start(&ring);
    (0..99).for_each(|number| assert!(ring.write(format!("message {number}").as_bytes())));
    *disk.0.lock().unwrap() = true;
    disk.1.notify_all();
    ring.await_file(PATIENCE);
    assert_eq!(*disk.2.0.lock().unwrap(), ring.lock().bytes, "the file has caught up");
}

#[test]
fn a_message_is_confirmed_when_the_system_has_taken_it() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Inet(server.local_addr().unwrap());
    let servers = vec![settings::RingServer { address, counts: false, encryption: None }];
    let ring = settings::Ring { size: 1_000, max_len: 100, servers, ..Default::default() };
    let process = settings::Process { rings: vec![ring], ..testing::process(1) };
    let world = World::with(process, Vec::new());
    let ring = world.shared.rings[1].clone();
    ring.write(b"first");
    let peer = world.play(move || {
        let (mut peer, _) = server.accept().unwrap();
        peer.read_exact(&mut [0; 6]).unwrap();
        peer
    });
    let reached = |ring: &Ring| {
        let store = ring.lock();
        store.readers[0].at == store.tail
    };
    world.until("the first message is confirmed", || reached(&ring));
    ring.write(b"second");
    peer.set_nonblocking(true).unwrap();
    // Checks after each turn of the task that sends, before the thread's own turn is over.
    let seen = Rc::new(Cell::new(None));
    let (told, worker, watched) = (seen.clone(), world.workers[0].clone(), ring.clone());
    world.workers[0].thread.scheduler().spawn(Class::Normal, async move {
        while !reached(&watched) {
            worker.thread.scheduler().yield_as(Class::Normal).await;
        }
        told.set(Some(peer.peek(&mut [0; 10]).ok()));
    });
    world.until("the second one is confirmed", || seen.get().is_some());
    assert_eq!(seen.get(), Some(Some(b"second\n".len())), "nothing has arrived");
}

proptest! {
    #[test]
    fn a_ring_is_a_queue_that_forgets(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..60),
    ) {
        let ring = Ring::new(settings::Ring { size: 100, max_len: 30, ..Default::default() }, None);
        let mut model: VecDeque<Vec<u8>> = VecDeque::new();
        for message in &messages {
            prop_assert!(ring.write(message));
            model.push_back(message[..message.len().min(30)].to_vec());
            while model.iter().map(|it| it.len() + LENGTH).sum::<usize>() > 100 {
                model.pop_front();
            }
            let store = ring.lock();
            let mut at = store.head;
            for expected in &model {
                let parts = store.parts(at + LENGTH as u64, store.length(at) as usize);
                prop_assert_eq!(&parts.concat(), expected);
                at += (LENGTH + expected.len()) as u64;
            }
            prop_assert_eq!(at, store.tail);
        }
    }
}
