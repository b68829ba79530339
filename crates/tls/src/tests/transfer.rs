//! Bytes through a session: how they are cut, held back, and ended.

use super::pair::{Memory, Pair, acceptor, bind, connector, ecdsa, joined, make, trusting};
use crate::{Acceptor, Connector, Options, Reason, ServerSettings, Step};
use std::io::{ErrorKind, IoSlice};

#[test]
fn sent_bytes_arrive() {
    let mut pair = joined();
    let parts = [IoSlice::new(b"GET / HTTP/1.1\r\n"), IoSlice::new(b"\r\n")];
    assert_eq!(pair.client_send(&parts).unwrap(), 18);
    let mut buffer = [0; 64];
    assert_eq!(pair.server_recv(&mut buffer).unwrap(), 18);
    assert_eq!(&buffer[..18], b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn small_parts_share_a_record() {
    let mut pair = joined();
    let mut buffer = [0; 64];
    let _ = pair.client_recv(&mut buffer);
    pair.up.bytes.clear();
    pair.client_send(&[IoSlice::new(b"a"), IoSlice::new(b"b"), IoSlice::new(b"c")]).unwrap();
    // Header, three bytes, type of content and tag (RFC 8446 section 5.2).
    assert_eq!(pair.up.bytes.len(), 5 + 3 + 1 + 16);
}

#[test]
fn nothing_counts_as_sent_before_its_records_have_left() {
    let mut pair = joined();
    let body = vec![7; 200_000];
    pair.up.room = 50_000;
    let (mut sent, mut received) = (0, Vec::new());
    let mut buffer = vec![0; 30_000];
    let mut waits = 0;
    while received.len() < body.len() {
        match pair.client_send(&[IoSlice::new(&body[sent..])]) {
            Ok(count) => sent += count,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                waits += 1;
            }
        }
        match pair.server_recv(&mut buffer) {
            Ok(count) => received.extend_from_slice(&buffer[..count]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        assert!(sent <= received.len() + 50_000);
    }
    assert!(waits > 0);
    assert!(received == body && sent == body.len());
}

#[test]
fn a_flight_is_received_at_once() {
    let mut pair = joined();
    // The hello, and what ends the handshake. OpenSSL reads once more behind the ClientHello before
    // it answers; other libraries may not.
    assert!((2..=3).contains(&pair.up.reads), "{} reads", pair.up.reads);
    // The bytes behind the handshake are not lost.
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let acceptor = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
    let connector = connector(trusting(), &files).unwrap();
    let client = connector.connect(0, Some("a.test"), None).unwrap();
    pair = Pair::new(client, acceptor.accept().unwrap());
    assert!(!pair.step_client() && !pair.step_server() && pair.step_client());
    pair.client_send(&[IoSlice::new(b"request")]).unwrap();
    assert!(pair.step_server() && pair.server.has_buffered());
    let mut buffer = [0; 64];
    assert_eq!((pair.server_recv(&mut buffer).unwrap(), &buffer[..7]), (7, &b"request"[..]));
    assert!(!pair.server.has_buffered());
}

#[test]
fn tickets_are_sent_together_with_the_response() {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let acceptor = acceptor(bind(&["a.pem"], Options::default()), &files).unwrap();
    let connector = connector(trusting(), &files).unwrap();
    for (asks, waits) in [(true, false), (true, true), (false, false)] {
        let client = connector.connect(0, Some("a.test"), None).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        assert!(!pair.step_client() && !pair.step_server() && pair.step_client());
        pair.down.bytes.clear();
        if asks {
            pair.client_send(&[IoSlice::new(b"request")]).unwrap();
        }
        assert!(pair.step_server());
        let mut buffer = [0; 64];
        if asks {
            assert_eq!(pair.server_recv(&mut buffer).unwrap(), 7);
        }
        if waits {
            assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        // Some libraries keep them for the next answer in any case.
        assert!(!asks || waits || pair.down.bytes.is_empty());
        assert!(ffi::NAME != "OpenSSL" || asks && !waits || !pair.down.bytes.is_empty());
        pair.server_send(b"answer").unwrap();
        assert!(pair.down.bytes.len() > 5 + 6 + 17, "and tickets");
        assert_eq!(pair.client_recv(&mut buffer).unwrap(), 6);
    }
}

#[test]
fn tickets_wait_neither_for_a_busy_client_nor_for_early_data() {
    for early in [false, true] {
        let bound = Options { early, ..Options::default() };
        let (acceptor, connector) = lines(bound, Options::default());
        let client = connector.connect(0, Some("a.test"), None).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        assert!(!pair.step_client() && !pair.step_server() && pair.step_client());
        pair.down.bytes.clear();
        pair.client_send(&[IoSlice::new(b"one")]).unwrap();
        assert!(pair.step_server());
        let mut buffer = [0; 64];
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 3);
        assert!(ffi::NAME != "OpenSSL" || early != pair.down.bytes.is_empty());
        pair.client_send(&[IoSlice::new(b"two")]).unwrap();
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 3);
        assert!(ffi::NAME != "OpenSSL" || !pair.down.bytes.is_empty());
    }
}

#[test]
fn buffered_bytes_are_counted() {
    let mut pair = joined();
    pair.client_send(&[IoSlice::new(b"abc")]).unwrap();
    let mut byte = [0];
    assert_eq!(pair.server_recv(&mut byte).unwrap(), 1);
    assert!(pair.server.has_buffered());
    assert_eq!(pair.server_recv(&mut byte).unwrap(), 1);
    assert_eq!(pair.server_recv(&mut byte).unwrap(), 1);
    let _ = pair.server_recv(&mut byte);
    assert!(!pair.server.has_buffered());
}

#[test]
fn a_session_that_has_to_wait_holds_no_memory() {
    let mut pair = joined();
    assert_eq!(pair.server_recv(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(pair.client_is_quiet());
    assert!(!pair.server.has_unsent() && !pair.client.has_unsent());
    let spares = [pair.scratch.take(), pair.scratch.take()];
    assert!(spares.iter().any(|spare| spare.capacity() > 0), "given back for others");
    pair.scratch.give(vec![0; 64]);
    let _ = pair.server_recv(&mut [0; 4]);
    assert_eq!(pair.scratch.take().capacity(), 64);
}

#[test]
fn tickets_do_not_count_as_payload() {
    let mut pair = joined();
    // The server's tickets have not been read yet; some libraries keep them for the first answer.
    assert!(ffi::NAME != "OpenSSL" || !pair.down.bytes.is_empty());
    assert!(pair.client_is_quiet());
    pair.server_send(b"x").unwrap();
    assert!(!pair.client_is_quiet());
    assert_eq!(pair.client_recv(&mut [0; 4]).unwrap(), 1);
}

#[test]
fn an_end_is_seen_with_and_without_leave() {
    let mut pair = joined();
    pair.server_send(b"x").unwrap();
    pair.server_close();
    let mut buffer = [0; 4];
    assert_eq!(pair.client_recv(&mut buffer).unwrap(), 1);
    assert!(pair.client.has_buffered());
    assert_eq!(pair.client_recv(&mut buffer).unwrap(), 0);
    let mut pair = joined();
    pair.down.closed = true;
    assert_eq!(pair.client_recv(&mut buffer).unwrap(), 0);
}

#[test]
fn garbage_breaks_the_session() {
    let mut pair = joined();
    pair.up.bytes.extend(b"\x17\x03\x03\x00\x20 this is no record of this session");
    let mut buffer = [0; 64];
    assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(pair.server_recv(&mut buffer).is_err());
}

/// Bytes of early data that may be sent.
const ROOM: usize = ffi::EARLY_ROOM as usize;

/// Both sides of lines with these options.
fn lines(bound: Options, server: Options) -> (Acceptor, Connector) {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let settings = ServerSettings { options: server, ..trusting() };
    (acceptor(bind(&["a.pem"], bound), &files).unwrap(), connector(settings, &files).unwrap())
}

/// Lets the client have the tickets of a session.
fn meet(acceptor: &Acceptor, connector: &Connector, alpn: Option<&[u8]>) {
    let client = connector.connect(0, Some("a.test"), alpn).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    // Some libraries keep them for the first answer.
    pair.server_send(b"x").unwrap();
    assert_eq!(pair.client_recv(&mut [0; 8]).unwrap(), 1);
}

/// Once with each session.
#[test]
fn early_data_is_sent_before_the_handshake_ends() {
    let early = || Options { early: true, ..Options::default() };
    let (acceptor, connector) = lines(early(), early());
    let early = |alpn| connector.connect_early(0, Some("a.test"), alpn, 0).unwrap();
    assert_eq!(early(None).1, 0, "there is no session");
    meet(&acceptor, &connector, None);
    let (client, room) = early(None);
    assert_eq!(room, ROOM);
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    pair.client_say_early(&[7; 10_000]).unwrap();
    pair.client_say_early(b"abc").unwrap();
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    assert!(pair.client.was_early_taken());
    let mut bytes = vec![0; 20_000];
    let mut read = 0;
    while read < 10_003 {
        read += pair.server_recv(&mut bytes[read..]).unwrap();
    }
    assert_eq!(&bytes[9_998..10_003], [7, 7, b'a', b'b', b'c']);
    drop(pair);
    assert_eq!(early(None).1, 0, "the session is used up");
}

#[test]
fn early_data_has_an_offered_protocol() {
    let bound =
        Options { alpn: Some(b"\x08http/1.1\x02h2".to_vec()), early: true, ..Options::default() };
    let (acceptor, connector) = lines(bound, Options::default());
    for (offered, room) in [(&b"\x02h2"[..], 0), (b"\x02h2\x08http/1.1", ROOM)] {
        meet(&acceptor, &connector, Some(b"\x08http/1.1"));
        let (_, found) = connector.connect_early(0, Some("a.test"), Some(offered), 0).unwrap();
        assert_eq!(found, room);
    }
    meet(&acceptor, &connector, Some(b"\x08http/1.1"));
    assert_eq!(connector.connect_early(0, Some("a.test"), None, 0).unwrap().1, 0);
}

#[test]
fn no_early_data_is_sent_with_an_expired_ticket() {
    let early = || Options { early: true, ..Options::default() };
    let (acceptor, connector) = lines(early(), early());
    meet(&acceptor, &connector, None);
    let room = |now| connector.connect_early(0, Some("a.test"), None, now).unwrap().1;
    assert_eq!(room(u64::MAX), 0);
    assert_eq!(room(0), ROOM, "it was not used");
}

#[test]
fn a_server_may_reject_early_data() {
    let early = || Options { early: true, ..Options::default() };
    let (acceptor, connector) = lines(early(), early());
    meet(&acceptor, &connector, None);
    let (client, _) = connector.connect_early(0, Some("a.test"), None, 0).unwrap();
    let (other, _) = lines(Options::default(), Options::default());
    let mut pair = Pair::new(client, other.accept().unwrap());
    pair.client_say_early(b"abc").unwrap();
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    assert!(!pair.client.was_early_taken());
    let mut bytes = [0; 8];
    assert_eq!(pair.server_recv(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
    pair.client_send(&[IoSlice::new(b"abc")]).unwrap();
    assert_eq!(pair.server_recv(&mut bytes).unwrap(), 3);
}

/// A replayed ClientHello with early data is refused.
#[test]
fn early_data_is_accepted_once() {
    let early = || Options { early: true, ..Options::default() };
    let (acceptor, connector) = lines(early(), early());
    meet(&acceptor, &connector, None);
    let (client, room) = connector.connect_early(0, Some("a.test"), None, 0).unwrap();
    assert_eq!(room, ROOM);
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    pair.client_say_early(b"abc").unwrap();
    assert!(!pair.step_client());
    let recorded = pair.up.bytes.clone();
    assert!(pair.step_server() && pair.server.is_early());
    let mut bytes = [0; 8];
    assert_eq!(pair.server_recv(&mut bytes).unwrap(), 3);
    pair.server = acceptor.accept().unwrap();
    (pair.up.bytes, pair.down.bytes) = (recorded, Default::default());
    // A library that handles this itself continues without early data.
    let step = pair.server_handshake().map_err(|fault| fault.reason);
    let told = if ffi::TAKES_EARLY_ONCE { Ok(Step::Receive) } else { Err(Reason::Handshake) };
    assert_eq!(step, told);
    assert!(!pair.server.stands() && !pair.server.is_early());
    assert!(pair.server_recv(&mut bytes).is_err());
}

/// A client that could say something early, and does not.
#[test]
fn a_handshake_completes_without_early_data() {
    let early = || Options { early: true, ..Options::default() };
    let (acceptor, connector) = lines(early(), early());
    meet(&acceptor, &connector, None);
    let (client, _) = connector.connect_early(0, Some("a.test"), None, 0).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    assert!(!pair.server.is_early() && pair.client.is_resumed());
    pair.client_send(&[IoSlice::new(b"abc")]).unwrap();
    assert_eq!(pair.server_recv(&mut [0; 8]).unwrap(), 3);
}

/// The words, the end of the handshake and more words arrive at once.
#[test]
fn early_data_ends_with_the_handshake() {
    let early = || Options { early: true, ..Options::default() };
    let (acceptor, connector) = lines(early(), early());
    for reads in [false, true] {
        meet(&acceptor, &connector, None);
        let (client, _) = connector.connect_early(0, Some("a.test"), None, 0).unwrap();
        let mut pair = Pair::new(client, acceptor.accept().unwrap());
        pair.client_say_early(b"abc").unwrap();
        assert!(!pair.step_client() && pair.step_server() && pair.server.is_early());
        let mut bytes = [0; 8];
        if reads {
            assert_eq!(pair.server_recv(&mut bytes).unwrap(), 3);
        }
        assert_eq!(pair.server_send(b"early answer").unwrap(), 12);
        assert!(pair.step_client());
        pair.client_send(&[IoSlice::new(b"def")]).unwrap();
        assert!(pair.step_server() && !pair.server.is_early());
        let mut read = if reads { 3 } else { 0 };
        while read < 6 {
            read += pair.server_recv(&mut bytes[read..]).unwrap();
        }
        assert_eq!(&bytes[..6], b"abcdef");
        let mut answer = [0; 16];
        assert_eq!(pair.client_recv(&mut answer).unwrap(), 12);
    }
}
