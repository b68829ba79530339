//! HTTP/2 as the configuration asks for it. Never about what streams do: the crates below test that.

use crate::support::{Client, LogReceiver, Origin, Setup};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// `GET http://a/` on a stream of its own, complete.
fn get(stream: u8) -> Vec<u8> {
    [&[0, 0, 6, 1, 5, 0, 0, 0, stream][..], b"\x82\x86\x84\x41\x01a"].concat()
}

/// A frame: its type, its flags, its stream, its payload.
fn frame(client: &mut Client) -> (u8, u8, u32, Vec<u8>) {
    let header = client.take(9);
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let payload = client.take(number(&header[..3]) as usize);
    (header[3], header[4], number(&header[5..]), payload)
}

/// The settings that a client is told, by number.
fn told(client: &mut Client) -> Vec<(u8, u32)> {
    client.send([PREFACE, &SETTINGS].concat());
    let (kind, _, _, payload) = frame(client);
    assert_eq!(kind, 4, "SETTINGS come first");
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    payload.chunks(6).map(|entry| (entry[1], number(&entry[2..]))).collect()
}

/// The first byte of the header block that answers a stream: an indexed status.
fn answer(client: &mut Client, stream: u8) -> u8 {
    client.send(get(stream));
    loop {
        let (kind, _, id, payload) = frame(client);
        if (kind, id) == (1, u32::from(stream)) {
            return payload[0];
        }
    }
}

const OK: u8 = 0x88;

#[test]
fn clear_ports_take_both_versions() {
    let log = LogReceiver::new();
    let origin = Origin::saying("ok");
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    assert_eq!(answer(&mut client, 1), OK);
    assert_eq!(weir.web().get("/").status(), 200);
    log.find("\"GET http://a/ HTTP/2.0\"");
}

#[test]
fn settings_are_told() {
    let front = "    http-request return status 200";
    let weir = Setup::http(front, "").start();
    assert_eq!(told(&mut weir.web()), [(3, 100), (4, 65_536), (8, 1)]);
    let global = "tune.h2.header-table-size 8192\n    tune.h2.initial-window-size 1000\n    \
                  tune.h2.max-concurrent-streams 7\n    tune.bufsize 32768\n    \
                  tune.h2.max-frame-size 20000\n    h2-workaround-bogus-websocket-clients";
    let weir = Setup::http(front, "").global(global).start();
    assert_eq!(told(&mut weir.web()), [(1, 8_192), (3, 7), (4, 1_000), (5, 20_000)]);
}

#[test]
fn clear_ports_that_do_not_change_their_protocol() {
    let front = "    option disable-h2-upgrade\n    http-request return status 200";
    let weir = Setup::http(front, "").start();
    let mut client = weir.web();
    client.send(PREFACE);
    assert_eq!(client.response().status(), 400);
}

#[test]
fn the_version_can_be_asked_for() {
    let front = "    http-request return status 200 if { fc_http_major 2 }\n    \
                 http-request deny";
    let weir = Setup::http(front, "").start();
    let mut client = weir.web();
    told(&mut client);
    assert_eq!(answer(&mut client, 1), OK);
    assert_eq!(weir.web().get("/").status(), 403);
}

#[test]
fn lines_say_what_is_spoken_on_them() {
    let back = "    server s <inner> proto h2\nfrontend inner\n    bind <inner> proto h2\n    \
                http-request return status 200 hdr x-version %[fc_http_major]";
    let weir = Setup::http("", back).start();
    assert_eq!(weir.web().get("/").header("x-version"), Some("2"));
    let mut client = weir.connect("inner");
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(!client.rest().starts_with(b"HTTP/1"));
}
