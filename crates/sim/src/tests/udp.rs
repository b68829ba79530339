//! Tests of datagrams between a listening socket of the machine and actors: addresses, segments,
//! ECN bits, sizes, order, new addresses, sockets that share an address.

use crate::faults::{Faults, MS};
use crate::net::actor::{Actor, ActorId, Signal};
use crate::net::datagram::DatagramId;
use crate::{Machine, Net, UdpDatagram};
use reactor::kernel::Kernel;
use reactor::{Handle, UdpBatch, UdpTrain};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const COUNT: u32 = 200;

/// An actor whose socket the test uses.
struct Idle;

impl Actor for Idle {
    fn act(&mut self, _: &mut Net, _: ActorId, _: Signal) {}
}

fn socket(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn server() -> SocketAddr {
    socket("10.0.0.1:443")
}

/// A machine with a socket at [`server`], and an actor's socket.
struct Setup {
    machine: Machine,
    kernel: Box<dyn Kernel>,
    handle: Handle,
    client: DatagramId,
}

impl Setup {
    fn new(seed: u64, faults: Faults) -> Self {
        let machine = Machine::new(seed, 1);
        machine.net().set_faults(faults);
        let kernel = machine.world().kernel();
        let handle = machine.net().listen_datagrams(server()).unwrap();
        kernel.prepare_udp(handle).unwrap();
        let actor = machine.net().spawn(Box::new(Idle));
        let client = machine.net().bind_datagrams(actor, socket("192.0.2.1:5000")).unwrap();
        Self { machine, kernel, handle, client }
    }

    fn pass(&mut self) {
        self.machine.run_for(Duration::from_secs(1)).unwrap();
    }

    fn client_sends(&self, ecn: u8, bytes: &[u8]) -> io::Result<()> {
        self.machine.net().send_marked(self.client, server(), ecn, bytes)
    }

    fn client_receives(&self) -> Vec<UdpDatagram> {
        let mut net = self.machine.net();
        std::iter::from_fn(|| net.recv_datagram(self.client).ok()).collect()
    }

    fn machine_sends(&self, train: &UdpTrain<'_>) -> io::Result<()> {
        self.kernel.send_udp(self.handle, train)
    }

    fn machine_receives(&self) -> Vec<UdpDatagram> {
        received(&*self.kernel, self.handle)
    }
}

/// All datagrams that a socket has received.
fn received(kernel: &dyn Kernel, handle: Handle) -> Vec<UdpDatagram> {
    let (mut batch, mut all) = (UdpBatch::default(), Vec::new());
    while let Ok(count) = kernel.receive_udp(handle, &mut batch) {
        assert!(count > 0 && count == batch.iter().count());
        let port = server().port();
        all.extend(batch.iter().map(|it| UdpDatagram {
            from: it.from,
            to: SocketAddr::new(it.to.unwrap(), port),
            ecn: it.ecn,
            bytes: it.bytes.to_vec(),
        }));
    }
    all
}

fn train(bytes: &[u8], segment: usize) -> UdpTrain<'_> {
    UdpTrain { to: socket("192.0.2.1:5000"), from: None, ecn: 2, bytes, segment }
}

#[test]
fn datagrams_and_trains_arrive_with_addresses_and_marks() {
    let mut setup = Setup::new(1, Faults::NONE);
    setup.client_sends(1, b"question").unwrap();
    setup.pass();
    let client = socket("192.0.2.1:5000");
    let expected = UdpDatagram { from: client, to: server(), ecn: 1, bytes: b"question".to_vec() };
    assert_eq!(setup.machine_receives(), [expected]);
    setup.machine_sends(&train(b"aabbc", 2)).unwrap();
    let other = Some(IpAddr::from([10, 0, 0, 7]));
    setup.machine_sends(&UdpTrain { from: other, ..train(b"d", 1) }).unwrap();
    setup.pass();
    let answer = |from: &str, bytes: &[u8]| UdpDatagram {
        from: socket(from),
        to: client,
        ecn: 2,
        bytes: bytes.to_vec(),
    };
    let here = "10.0.0.1:443";
    let expected = [
        answer(here, b"aa"),
        answer(here, b"bb"),
        answer(here, b"c"),
        answer("10.0.0.7:443", b"d"),
    ];
    assert_eq!(setup.client_receives(), expected);
}

#[test]
fn a_batch_is_bounded_and_nothing_is_left_behind() {
    for short_read in [0, 500] {
        let mut setup = Setup::new(2, Faults { short_read, ..Faults::NONE });
        (0..COUNT).for_each(|n| setup.client_sends(0, &n.to_be_bytes()).unwrap());
        setup.pass();
        let numbers = setup.machine_receives().into_iter().map(|it| it.bytes);
        assert!(numbers.eq((0..COUNT).map(|n| n.to_be_bytes().to_vec())));
        let mut batch = UdpBatch::default();
        let error = setup.kernel.receive_udp(setup.handle, &mut batch).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}

#[test]
fn a_path_clears_marks_or_reports_congestion() {
    let marks = |faults: Faults| {
        let mut setup = Setup::new(3, faults);
        for n in 0..COUNT {
            setup.client_sends((n % 3) as u8, b"x").unwrap();
        }
        setup.pass();
        let marks = setup.machine_receives().into_iter().map(|it| it.ecn).collect::<Vec<_>>();
        std::array::from_fn(|mark| marks.iter().filter(|it| usize::from(**it) == mark).count())
    };
    assert_eq!(marks(Faults::NONE), [67, 67, 66, 0]);
    assert_eq!(marks(Faults { bleach: 1_000, congested: 1_000, ..Faults::NONE }), [200, 0, 0, 0]);
    assert_eq!(marks(Faults { congested: 1_000, ..Faults::NONE }), [67, 0, 0, 133]);
    let some = marks(Faults { bleach: 300, congested: 300, ..Faults::NONE });
    assert!(some.iter().all(|count| *count > 20), "{some:?}");
}

#[test]
fn datagrams_are_refused_beyond_the_mtu_of_the_link_and_lost_beyond_that_of_the_path() {
    let faults = Faults { mtu: 1_500, path_mtu: 1_200, ..Faults::NONE };
    let mut setup = Setup::new(4, faults);
    for len in [1_200, 1_201, 1_500] {
        setup.client_sends(0, &vec![0; len]).unwrap();
    }
    let error = setup.client_sends(0, &[0; 1_501]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(90), "EMSGSIZE");
    let error = setup.machine_sends(&train(&[0; 4_000], 1_501)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(90), "EMSGSIZE");
    setup.machine_sends(&train(&[0; 2_500], 1_200)).unwrap();
    setup.pass();
    let lengths = |all: Vec<UdpDatagram>| all.iter().map(|it| it.bytes.len()).collect::<Vec<_>>();
    assert_eq!(lengths(setup.machine_receives()), [1_200]);
    assert_eq!(lengths(setup.client_receives()), [1_200, 1_200, 100]);
}

#[test]
fn some_datagrams_are_overtaken_and_a_seed_determines_which() {
    let order = |seed| {
        let mut setup = Setup::new(seed, Faults { reorder: 100, latency: MS, ..Faults::NONE });
        for n in 0..COUNT {
            setup.client_sends(0, &n.to_be_bytes()).unwrap();
            setup.machine.run_for(Duration::from_micros(100)).unwrap();
        }
        setup.pass();
        setup.machine_receives().into_iter().map(|it| it.bytes).collect::<Vec<_>>()
    };
    let first = order(5);
    let late = first.windows(2).filter(|two| two[0] > two[1]).count();
    assert!(first.len() == COUNT as usize && (5..60).contains(&late), "{late} are overtaken");
    assert_eq!(first, order(5));
    assert_ne!(first, order(6));
}

#[test]
fn a_client_with_a_new_port_gets_no_datagrams_for_the_old_one() {
    let mut setup = Setup::new(6, Faults::NONE);
    let old = socket("192.0.2.1:5000");
    setup.machine_sends(&train(b"early", 5)).unwrap();
    let new = setup.machine.net().rebind_datagrams(setup.client).unwrap();
    assert!(new.ip() == old.ip() && new.port() != old.port());
    setup.client_sends(0, b"question").unwrap();
    setup.pass();
    assert_eq!(setup.machine_receives()[0].from, new);
    setup.machine_sends(&train(b"late", 4)).unwrap();
    setup.machine_sends(&UdpTrain { to: new, ..train(b"right", 5) }).unwrap();
    setup.pass();
    let got = setup.client_receives();
    assert!(got.len() == 1 && got[0].bytes == b"right", "{got:?}");
    setup.machine.net().close_datagram_socket(setup.client);
    let actor = setup.machine.net().spawn(Box::new(Idle));
    for address in [old, new] {
        setup.machine.net().bind_datagrams(actor, address).unwrap();
    }
}

#[test]
fn a_plan_moves_clients_to_new_ports() {
    let mut setup = Setup::new(7, Faults { rebind: 50, ..Faults::NONE });
    (0..COUNT).for_each(|_| setup.client_sends(0, b"x").unwrap());
    setup.pass();
    let mut ports: Vec<_> = setup.machine_receives().iter().map(|it| it.from.port()).collect();
    assert_eq!(ports.len(), COUNT as usize);
    ports.dedup();
    assert!((4..20).contains(&ports.len()), "{ports:?}");
}

#[test]
fn sockets_that_share_an_address_divide_the_clients() {
    let mut setup = Setup::new(8, Faults::NONE);
    let second = setup.machine.net().listen_datagrams(server()).unwrap();
    let actor = setup.machine.net().spawn(Box::new(Idle));
    assert!(setup.machine.net().bind_datagrams(actor, server()).is_err());
    for port in 6_000..6_050 {
        let mut net = setup.machine.net();
        let client = net.bind_datagrams(actor, SocketAddr::new([192, 0, 2, 2].into(), port));
        let client = client.unwrap();
        (0..2).for_each(|_| net.send_datagram(client, server(), b"x").unwrap());
    }
    setup.pass();
    let senders = |handle| {
        let all = received(&*setup.kernel, handle);
        let mut ports: Vec<_> = all.iter().map(|it| it.from.port()).collect();
        assert!(ports.as_chunks::<2>().0.iter().all(|[one, two]| one == two), "{ports:?}");
        ports.dedup();
        ports.len()
    };
    let counts = [senders(setup.handle), senders(second)];
    assert!(counts.iter().all(|count| *count > 10) && counts[0] + counts[1] == 50, "{counts:?}");
    setup.kernel.close(setup.handle, false);
    setup.client_sends(0, b"x").unwrap();
    setup.pass();
    assert_eq!(received(&*setup.kernel, second).len(), 1);
    assert_eq!(setup.machine.net().open_handles(), 1);
}

#[test]
fn a_socket_of_all_addresses_receives_for_each() {
    let mut setup = Setup::new(9, Faults::NONE);
    let any = setup.machine.net().listen_datagrams(socket("0.0.0.0:8443")).unwrap();
    let to = socket("10.0.0.9:8443");
    setup.machine.net().send_datagram(setup.client, to, b"x").unwrap();
    setup.pass();
    let mut batch = UdpBatch::default();
    assert_eq!(setup.kernel.receive_udp(any, &mut batch).unwrap(), 1);
    assert_eq!(batch.iter().next().unwrap().to, Some(to.ip()));
}
