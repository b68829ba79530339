//! Peers that violate the protocol, stall, flood, or describe tables in ways of their own.

use super::wire::{RawPeer, definition, message, number, text, update};
use super::{addresses, setup};
use crate::support::{LogReceiver, Running, eventually};
use std::path::Path;

const SECTIONS: &str = "peers group\n    log <log> local0\n    peer A <a>\n    peer B <b>\n\
    frontend web\n    bind <web>\n    http-request track-sc0 path table s\n    \
    http-request sc-inc-gpc0(0)\n    http-request return status 200\n\
    backend s\n    stick-table type string len 8 size 1k expire 1h store gpc0 peers group\n\
    backend n\n    stick-table type binary len 8 size 1k expire 1h store gpc0 peers group\n\
    backend i\n    \
    stick-table type ip size 1k expire 1h store gpc0,http_req_rate(10s),conn_cur peers group\n\
    backend few\n    stick-table type string len 8 size 1 nopurge store gpc0 peers group\n";

/// Keys of strings of 8 characters.
const STRING: (u64, u64) = (6, 9);
/// The data type `gpc0`, as a bit.
const GPC0: u64 = 1 << 2;

struct Victim {
    weir: Running,
    log: LogReceiver,
    address: String,
}

impl Victim {
    fn new() -> Self {
        let (addresses, log) = (addresses(), LogReceiver::new());
        let weir = setup(SECTIONS, "A", &addresses).with("log", log.address()).start();
        let [address, _] = addresses;
        Self { weir, log, address }
    }

    /// A session as the peer `B`.
    fn open(&self) -> RawPeer {
        RawPeer::open(&self.address)
    }

    /// Checks that a good peer is learned from, and that clients are served.
    fn works(&self, key: &str) {
        let mut peer = self.open();
        let update = update(1, &text(key), &[5]);
        peer.0.send([definition("s", STRING, GPC0, &[]), update].concat());
        eventually(&format!("the entry {key} is learned"), || {
            let listing = self.weir.cli("show table s");
            listing.contains(&format!("key={key} ")).then_some(())
        });
        assert_eq!(self.weir.web().get("/").status(), 200);
    }
}

#[test]
fn hellos_that_do_not_fit_are_answered_logged_and_closed() {
    let victim = Victim::new();
    let long = format!("HAProxyS 2.1\nA\n{}", "B".repeat(4_000));
    for (hello, status) in [
        ("HAProxyS 1.0\nA\nB 7 1\n", 502),
        ("HAProxyS 3.0\nA\nB 7 1\n", 502),
        ("HAProxyP 2.1\nA\nB 7 1\n", 501),
        ("HAProxyS 2.1\nZ\nB 7 1\n", 503),
        ("HAProxyS 2.1\nA\nZ 7 1\n", 504),
        ("HAProxyS 2.1\nA\nB\n", 501),
        ("GET / HTTP/1.1\r\n\r\n", 501),
        (&long, 501),
    ] {
        let mut peer = RawPeer::connect(&victim.address, hello.as_bytes());
        let said = String::from_utf8(peer.0.rest()).expect("a line");
        assert_eq!(said, format!("{status}\n"), "{hello:.40}");
        victim.log.find(&format!("Peers group: connection refused with status {status}."));
    }
    victim.works("good");
}

#[test]
fn messages_that_break_the_protocol_are_answered_logged_and_end_the_session() {
    let victim = Victim::new();
    let endless = [&[10, 0x80][..], &[0xff; 12]].concat();
    let large = [&[10, 0x80][..], &number(20_000)].concat();
    let start = definition("s", STRING, GPC0, &[]);
    let without_value = [start.clone(), message(0x80, b"\0\0\0\x01\x02ab")].concat();
    let long_key = [start.clone(), message(0x80, b"\0\0\0\x01\x7fab\x05")].concat();
    for (bytes, answer) in [
        (endless, [1, 0]),
        (large, [1, 1]),
        (without_value, [1, 0]),
        (long_key, [1, 0]),
        (message(0x82, &[1, 40]), [1, 0]),
        (message(0x83, &[]), [1, 0]),
        (message(0x84, &[1, 2]), [1, 0]),
        (message(0x84, &[0xff; 12]), [1, 0]),
    ] {
        let mut peer = victim.open();
        peer.0.send(&bytes);
        let said = peer.0.rest();
        assert!(said.ends_with(&answer), "{bytes:?}: {said:?}");
        victim.log.find("session ended (protocol error of the peer).");
    }
    victim.works("good");
}

#[test]
fn messages_of_unknown_classes_and_types_have_no_effect() {
    let victim = Victim::new();
    let mut peer = victim.open();
    peer.0.send([77, 3, 77, 0x90, 2, 1, 1, 10, 0x8f, 1, 9, 0, 9]);
    peer.0.send([definition("s", STRING, GPC0, &[]), update(1, &text("known"), &[5])].concat());
    assert_eq!(peer.next_of_class(10).kind, 0x84, "an acknowledgement");
    becomes_of(&victim.weir, "s", "key=known ");
}

#[test]
fn a_connection_that_ends_within_a_message_has_no_effect() {
    let victim = Victim::new();
    let whole = [definition("s", STRING, GPC0, &[]), update(1, &text("cut"), &[5])].concat();
    for len in 1..whole.len() {
        let mut peer = victim.open();
        peer.0.send(&whole[..len]);
        peer.0.half_close();
        peer.0.rest();
    }
    assert!(!victim.weir.cli("show table s").contains("key=cut"));
    victim.works("good");
}

#[test]
fn a_peer_that_stalls_loses_its_place() {
    let victim = Victim::new();
    let mut hello = RawPeer::connect(&victim.address, b"HAProxyS 2.1\nA\n");
    let mut session = victim.open();
    // Neither side sends anything for five seconds.
    assert!(hello.0.rest().is_empty());
    session.0.rest();
    victim.log.find("Peers group/B: session ended (no heartbeat).");
    victim.works("good");
}

#[test]
fn a_flood_of_requests_is_answered_in_turn_and_clients_are_served() {
    let victim = Victim::new();
    let mut client = victim.weir.web();
    (0..200).for_each(|key| drop(client.get(&format!("/{key}"))));
    let mut peer = victim.open();
    // The test reads nothing: the answers pile up in the kernel, and no further.
    for _ in 0..2_000 {
        if peer.0.try_send([0; 512]).is_err() {
            break;
        }
    }
    assert_eq!(victim.weir.web().get("/while").status(), 200);
    drop(peer);
    victim.works("good");
}

#[test]
fn peers_that_reconnect_in_a_loop_do_not_stop_others() {
    let victim = Victim::new();
    for _ in 0..300 {
        drop(RawPeer::connect(&victim.address, b"HAProxyS 2.1\nA\nB 7 1\n"));
        drop(RawPeer::connect(&victim.address, b"HAProxyS 2.1\nA\nZ 7 1\n"));
        drop(RawPeer::connect(&victim.address, b""));
    }
    victim.works("good");
}

#[test]
fn a_peer_that_claims_to_be_the_local_one_is_taught_and_a_second_one_is_put_off() {
    let victim = Victim::new();
    victim.weir.cli("set table s key mine data.gpc0 4");
    let hello = b"HAProxyS 2.1\nA\nA 7 1\n";
    let mut peer = RawPeer::connect(&victim.address, hello);
    assert_eq!(peer.0.take(4), b"200\n");
    assert_eq!(peer.next().kind, 0x82);
    let update = peer.next();
    assert_eq!((update.kind, &update.body[8..]), (0x85, &b"\x04mine\x04"[..]));
    let mut second = RawPeer::connect(&victim.address, hello);
    assert_eq!(second.0.rest(), b"300\n");
    victim.works("good");
}

#[test]
fn a_full_table_leaves_entries_out_and_is_reported_once() {
    let victim = Victim::new();
    let mut peer = victim.open();
    peer.0.send(definition("few", STRING, GPC0, &[]));
    (1..=20).for_each(|at| peer.0.send(update(at, &text(&format!("k{at}")), &[5])));
    victim.log.find("Peers group/B: table few is full.");
    becomes_of(&victim.weir, "few", "used:1\n");
    assert_eq!(victim.weir.cli("show table few").lines().count(), 2);
}

fn becomes_of(weir: &Running, table: &str, text: &str) {
    eventually(&format!("the table {table} has {text}"), || {
        weir.cli(&format!("show table {table}")).contains(text).then_some(())
    });
}

/// A definition and an update, and the table that they are about.
fn odd_definitions() -> Vec<(&'static str, Vec<u8>)> {
    let rate = 1 << 10;
    let (string, ip) = (|key| text(key), b"\x01\x02\x03\x04");
    let one = |name, definition: Vec<u8>, key: &[u8], values: &[u64]| {
        (name, [definition, update(1, key, values)].concat())
    };
    vec![
        one("s", definition("s", STRING, GPC0, &[]), &string("same"), &[5]),
        one("s", definition("s", (6, 33), GPC0, &[]), &string("longerlongerlonger"), &[5]),
        one("s", definition("s", (6, 33), GPC0, &[]), &string("fits"), &[5]),
        one("s", definition("s", (6, 5), GPC0, &[]), &string("abcd"), &[5]),
        one("s", definition("s", (7, 8), GPC0, &[]), b"abcdefgh", &[5]),
        one("n", definition("n", (7, 8), GPC0, &[]), b"abcdefgh", &[5]),
        one("n", definition("n", (7, 12), GPC0, &[]), b"abcdefghijkl", &[5]),
        one("n", definition("n", (7, 4), GPC0, &[]), b"abcd", &[5]),
        one("i", definition("i", (4, 4), GPC0, &[]), ip, &[5]),
        one("i", definition("i", (2, 4), GPC0, &[]), ip, &[5]),
        one("i", definition("i", (5, 16), GPC0, &[]), &[9; 16], &[5]),
        one("i", definition("i", (4, 4), GPC0 | rate, &[10, 60_000]), ip, &[5, 100, 7, 2]),
        one("i", definition("i", (4, 4), GPC0 | 2, &[]), ip, &[9, 5]),
        one("i", definition("i", (4, 4), GPC0 | 1 << 6, &[]), ip, &[5, 9]),
        one("i", definition("i", (4, 4), GPC0 | 1 << 30, &[]), ip, &[5, 9]),
        one("i", definition("i", (4, 4), 1 << 23, &[23, 3]), ip, &[5, 6, 7]),
    ]
}

/// The entries that a program learns of each, without their times.
fn learned(program: &Running, address: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (table, bytes) in odd_definitions() {
        let mut peer = RawPeer::open(address);
        peer.0.send(&bytes);
        // Later messages are acknowledged after earlier ones.
        let mark = [definition("few", STRING, GPC0, &[]), update(9, &text("mark"), &[1])].concat();
        peer.0.send(&mark);
        while peer.next_of_class(10).kind != 0x84 {}
        drop(peer);
        eventually("the mark is learned", || {
            program.cli("show table few").contains("key=mark").then_some(())
        });
        let listing = program.cli(&format!("show table {table}"));
        let line =
            listing.lines().nth(1).map_or("", |line| line.split_once(": ").expect("fields").1);
        let fields = line.split(' ').filter(|field| !field.starts_with("exp="));
        all.push(format!("{table}: {}", fields.collect::<Vec<_>>().join(" ")));
        program.cli(&format!("clear table {table}"));
        program.cli("clear table few");
    }
    all
}

#[test]
fn definitions_that_differ_are_taken_as_haproxy_takes_them() {
    let victim = Victim::new();
    let ours = learned(&victim.weir, &victim.address);
    victim.log.find("Peers group/B: the keys of table s differ from ours");
    assert_eq!(ours[0], "s: key=same use=0 gpc0=5");
    assert_eq!(ours[1..5], ["s: "; 4]);
    assert_eq!(ours[11], "i: key=1.2.3.4 use=0 gpc0=5 conn_cur=0 http_req_rate(10000)=8");
    let haproxy = Path::new("/usr/sbin/haproxy");
    if haproxy.exists() {
        let addresses = addresses();
        let other = setup(SECTIONS, "A", &addresses).program(haproxy).start();
        assert_eq!(ours, learned(&other, &addresses[0]));
    }
}
