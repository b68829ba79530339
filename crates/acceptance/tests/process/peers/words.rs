//! Words of `peers` sections, and `tune.peers.max-updates-at-once`.

use super::wire::RawPeer;
use super::{SECTIONS, addresses, becomes, setup};
use crate::support::{Identity, LogReceiver, Secure, eventually};

/// Both peers listen with TLS, by presets; a table belongs to the section. Two spaces have the
/// program make its listener itself.
const PRESETS: &str = "peers group\n    disabled\n    enabled\n    log <log> local0\n    \
    default-bind ssl crt <dir>/a.pem\n    default-server ssl verify none\n    \
    bind  <own>\n    server <me>\n    server <other>\n    \
    table t type string len 32 size 1k expire 1h store gpc0\n\
    frontend web\n    bind <web>\n    http-request track-sc0 path table group/t\n    \
    http-request sc-inc-gpc0(0)\n    http-request return status 200\n";

#[test]
fn words_of_sections_take_effect() {
    let addresses = addresses();
    let pem = Identity::new("a.test", None).pem();
    let log = LogReceiver::new();
    let [a, b] = [("A", "B", 0), ("B", "A", 1)].map(|(name, other, at): (_, _, usize)| {
        setup(PRESETS, name, &addresses)
            .with("own", &addresses[at])
            .with("me", name)
            .with("other", format!("{other} {}", addresses[1 - at]))
            .with("log", log.address())
            .file("a.pem", &pem)
            .start()
    });
    log.find("Peers group/B: session established.");
    a.web().get("/seen");
    eventually("the entry is learned", || {
        b.cli("show table group/t").contains("key=/seen ").then_some(())
    });
    // `default-bind` has the listener encrypt.
    Secure::connect(addresses[0].parse().expect("an address"), "a.test");
    let mut plain = RawPeer::connect(&addresses[0], b"HAProxyS 2.1\nA\nB 7 1\n");
    assert!(!plain.0.rest().starts_with(b"200"));
}

#[test]
fn so_many_updates_are_sent_at_once() {
    // The first update of a batch carries its number, later ones do not.
    for (max, numbered) in [(1, 12), (5, 3), (200, 1)] {
        let addresses = addresses();
        let limit = format!("tune.peers.max-updates-at-once {max}");
        let a = setup(SECTIONS, "A", &addresses).global(&limit).start();
        let mut client = a.web();
        (0..12).for_each(|key| drop(client.get(&format!("/{key}"))));
        becomes(&a, "/11", "use=0");
        let mut peer = RawPeer::open(&addresses[0]);
        let lesson = peer.lesson();
        let count =
            |kind| lesson.iter().filter(|said| (said.class, said.kind) == (10, kind)).count();
        assert_eq!([count(0x85), count(0x86)], [numbered, 12 - numbered], "{max} at once");
    }
}
