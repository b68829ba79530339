//! `show peers`, `show info` and metrics of peers.

use super::wire::RawPeer;
use super::{SECTIONS, addresses, becomes, setup};
use crate::support::{Running, eventually};
use std::path::Path;

/// Waits until the listing of the section has a text, and returns the listing.
fn listing(weir: &Running, text: &str) -> String {
    eventually(&format!("show peers has {text}"), || {
        let listing = weir.cli("show peers");
        listing.contains(text).then_some(listing)
    })
}

#[test]
fn peers_are_listed_with_their_connections_and_tables() {
    let addresses = addresses();
    let [a, b] = ["A", "B"].map(|name| setup(SECTIONS, name, &addresses).start());
    let text = listing(&a, "last_status=ESTA");
    assert!(text.contains("] id=group disabled=0 flags=0x"), "{text}");
    let remote = format!(": id=B(remote,active) addr={} last_status=ESTA", addresses[1]);
    let local = format!(": id=A(local,inactive) addr={} last_status=NONE", addresses[0]);
    assert!(text.contains(&remote) && text.contains(&local), "{text}");
    a.cli("set table counts key /one data.gpc0 1");
    becomes(&b, "/one", "gpc0=1");
    let text = listing(&a, "last_local_table:");
    assert!(text.contains(" id=counts local_id=1 remote_id="), "{text}");
    listing(&b, "remote_data=0x604");
    assert_eq!(a.cli("show peers nope"), "No such peers");
    assert_eq!(a.cli("show peers group").lines().count(), a.cli("show peers -").lines().count());
    let dictionary = a.cli("show peers dict group");
    assert!(
        dictionary.contains("RX dictionary cache:\n            0 -> -    1 -> -"),
        "{dictionary}"
    );
    let info = a.cli("show info");
    assert!(info.contains("\nActivePeers: 1\nConnectedPeers: 1\n"), "{info}");
    drop(b);
    let text = listing(&a, "last_status=CLOS");
    assert!(text.contains("id=B(remote,inactive)"), "{text}");
    let info = a.cli("show info");
    assert!(info.contains("\nConnectedPeers: 0\n"), "{info}");
}

#[test]
fn refused_connections_are_counted_and_shown() {
    let addresses = addresses();
    let a = setup(SECTIONS, "A", &addresses).start();
    let mut peer = RawPeer::open(&addresses[0]);
    listing(&a, "last_status=ESTA");
    // A message of the wrong length is answered and ends the session.
    peer.0.send([10, 0x83, 0]);
    assert!(peer.0.rest().ends_with(&[1, 0]));
    listing(&a, "proto_err=1");
}

/// The lines of a listing with `n` for each number.
fn shape(listing: &str) -> Vec<String> {
    let mut shape = Vec::new();
    for line in listing.lines().filter(|line| !line.contains("xprt=")) {
        let mut text = String::new();
        for word in line.split_inclusive([' ', '=', ':', '/', '.']) {
            let bare = word.trim_end_matches([' ', '=', ':', '/', '.']);
            let end = &word[bare.len()..];
            let is_number = bare.starts_with(|first: char| first.is_ascii_digit());
            let is_time = bare.starts_with('<');
            text.push_str(if is_number || is_time { "n" } else { bare });
            text.push_str(end);
        }
        shape.push(text);
    }
    shape
}

#[test]
fn listings_have_the_lines_of_haproxy() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let addresses = addresses();
    let other = setup(SECTIONS, "A", &addresses).program(haproxy).start();
    let weir = setup(SECTIONS, "B", &addresses).start();
    weir.cli("set table counts key /one data.gpc0 1");
    becomes(&other, "/one", "gpc0=1");
    other.cli("set table counts key /two data.gpc0 1");
    becomes(&weir, "/two", "gpc0=1");
    let theirs = shape(&listing(&other, "last_local_table:"));
    let ours = shape(&listing(&weir, "last_local_table:"));
    let of = |name: &str, lines: &[String]| -> Vec<String> {
        let begin = lines.iter().position(|line| line.contains(&format!("id={name}(")));
        let lines = lines[begin.expect("the peer is listed") + 1..].iter();
        lines.take_while(|line| !line.contains(": id=")).cloned().collect()
    };
    assert_eq!(of("A", &ours), of("B", &theirs), "the peer");
    assert_eq!(of("B", &ours), of("A", &theirs), "this process");
    let title = |lines: &[String]| lines[0].clone();
    assert_eq!(title(&ours), title(&theirs));
}
