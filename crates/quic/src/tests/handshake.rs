//! Handshakes: suites, names, protocols, resumption, Retry, refusals.

use super::link::{Net, server_settings};
use super::material::acceptor;
use super::peer::Identity;
use crate::{CloseReason, ConnectionOwner, QuicSettings, Steering};
use quinn_proto::{ConnectionError, TransportErrorCode};
use rustls::crypto::ring::cipher_suite;
use wire::h3::H3ErrorCode;

fn connect(net: &mut Net) -> bool {
    net.run_until(2_000, |net| net.peer.connected)
}

#[test]
fn clients_connect_with_every_suite() {
    for suite in [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        let identity = Identity::with(&[suite], &[b"h3"]);
        let mut net = Net::new(acceptor(&["a.test"], |_| ()), &identity);
        assert!(connect(&mut net), "{suite:?}: {:?}", net.peer.lost);
        net.run_until(100, |_| false);
        let session = net.only().session.as_ref().unwrap();
        assert_eq!((session.version(), session.alpn()), ("TLSv1.3", Some(&b"h3"[..])));
        assert_eq!(session.server_name(), Some(&b"a.test"[..]));
        assert!(session.cipher().starts_with("TLS_"), "{}", session.cipher());
        assert_eq!(net.endpoint.handshakes(), 0);
    }
}

#[test]
fn the_certificate_is_that_of_the_name() {
    for name in ["a.test", "b.test"] {
        let identity = Identity::new();
        let acceptor = acceptor(&["a.test", "b.test"], |_| ());
        let mut net = Net::with(server_settings(), acceptor, &identity, name);
        assert!(connect(&mut net));
        let shown = identity.seen.last();
        let found = shown.windows(6).any(|part| part == name.as_bytes());
        let other = if name == "a.test" { b"b.test" } else { b"a.test" };
        assert!(found && !shown.windows(6).any(|part| part == other));
    }
}

#[test]
fn a_client_without_a_common_protocol_gets_an_alert() {
    let identity = Identity::with(&[], &[b"h2"]);
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &identity);
    assert!(net.run_until(2_000, |net| net.peer.lost.is_some()));
    let Some(ConnectionError::ConnectionClosed(close)) = &net.peer.lost else {
        panic!("{:?}", net.peer.lost)
    };
    assert_eq!(close.error_code, TransportErrorCode::crypto(120));
    assert_eq!(net.endpoint.handshakes(), 0);
}

#[test]
fn sessions_are_resumed() {
    let identity = Identity::new();
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &identity);
    assert!(connect(&mut net));
    net.run_until(200, |_| false);
    assert!(!net.only().session.as_ref().unwrap().is_resumed());
    net.served.clear();
    net.reconnect(&identity);
    assert!(connect(&mut net));
    net.run_until(200, |_| false);
    assert!(net.only().session.as_ref().unwrap().is_resumed());
}

#[test]
fn early_data_is_accepted_and_waits_for_the_end_of_the_handshake() {
    let identity = Identity::new();
    let mut net = Net::new(acceptor(&["a.test"], |options| options.early = true), &identity);
    assert!(connect(&mut net));
    net.run_until(200, |_| false);
    net.served.clear();
    net.reconnect(&identity);
    assert!(net.peer.conn.has_0rtt());
    net.peer.greet();
    let id = net.peer.request("POST", "/", b"early");
    let early = |net: &mut Net| net.served.values().any(|it| !it.conn.is_connected());
    assert!(net.run_until(2_000, early));
    assert_eq!(net.only().machine.streams(), 0);
    assert!(net.run_until(2_000, |net| net.peer.response(id).is_some()), "{:?}", net.peer.lost);
    assert!(net.peer.conn.accepted_0rtt());
    assert_eq!(net.peer.response(id), Some(("200".to_owned(), b"early".to_vec())));
}

#[test]
fn tickets_allow_no_early_data_without_the_option() {
    let identity = Identity::new();
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &identity);
    assert!(connect(&mut net));
    net.run_until(200, |_| false);
    net.reconnect(&identity);
    assert!(!net.peer.conn.has_0rtt());
}

#[test]
fn retry_validates_the_address_first() {
    let settings = QuicSettings { always_retries: true, ..server_settings() };
    let identity = Identity::new();
    let mut net = Net::with(settings, acceptor(&["a.test"], |_| ()), &identity, "a.test");
    assert!(connect(&mut net), "{:?}", net.peer.lost);
    assert_eq!(net.answers, 1);
}

#[test]
fn many_handshakes_under_way_make_clients_retry() {
    let settings = QuicSettings { retry_threshold: 0, ..server_settings() };
    let mut net = Net::with(settings, acceptor(&["a.test"], |_| ()), &Identity::new(), "a.test");
    assert!(connect(&mut net));
    assert_eq!(net.answers, 1);
}

#[test]
fn clients_that_are_not_admitted_are_refused() {
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &Identity::new());
    net.admits = false;
    assert!(net.run_until(2_000, |net| net.peer.lost.is_some()));
    let Some(ConnectionError::ConnectionClosed(close)) = &net.peer.lost else {
        panic!("{:?}", net.peer.lost)
    };
    assert_eq!(close.error_code, TransportErrorCode::CONNECTION_REFUSED);
    assert!(net.served.is_empty());
}

#[test]
fn a_close_before_the_end_of_the_handshake_reaches_the_client_and_ends_the_handshake() {
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &Identity::new());
    assert!(net.run_until(2_000, |net| !net.served.is_empty()));
    assert_eq!(net.endpoint.handshakes(), 1);
    let nanos = net.nanos;
    net.only().conn.close(nanos, H3ErrorCode::REQUEST_REJECTED);
    assert!(net.run_until(2_000, |net| net.peer.lost.is_some()));
    let Some(ConnectionError::ConnectionClosed(close)) = &net.peer.lost else {
        panic!("{:?}", net.peer.lost)
    };
    assert_eq!(close.error_code, TransportErrorCode::APPLICATION_ERROR);
    assert_eq!(net.endpoint.handshakes(), 0);
    net.run_until(10_000, |_| false);
    assert_eq!(net.endpoint.connections(), 0);
}

#[test]
fn a_discarded_connection_sends_nothing_and_is_not_counted() {
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &Identity::new());
    for bytes in net.peer.run(0) {
        net.serve(&bytes);
    }
    assert_eq!((net.endpoint.handshakes(), net.endpoint.connections()), (1, 1));
    let mut served = std::mem::take(&mut net.served);
    served.values_mut().for_each(|served| net.endpoint.discard(&mut served.conn));
    assert_eq!((net.endpoint.handshakes(), net.endpoint.connections()), (0, 0));
}

#[test]
fn handshakes_survive_loss() {
    for loses in
        [|n| n % 3 == 0, |n| n % 4 == 1, |n| n == 2 || n == 3 || n == 5] as [fn(u64) -> bool; 3]
    {
        let mut net = Net::new(acceptor(&["a.test"], |_| ()), &Identity::new());
        net.loses = loses;
        assert!(net.run_until(15_000, |net| net.peer.connected), "{:?}", net.peer.lost);
    }
}

#[test]
fn an_idle_connection_ends_and_is_forgotten() {
    let settings = QuicSettings { idle_ms: 3_000, ..server_settings() };
    let mut net = Net::with(settings, acceptor(&["a.test"], |_| ()), &Identity::new(), "a.test");
    assert!(connect(&mut net));
    net.run_until(100, |_| false);
    let mut reasons = Vec::new();
    net.run_until(5_000, |net| {
        reasons.extend(net.served.values().filter_map(|served| served.conn.closed()));
        !reasons.is_empty()
    });
    assert!(reasons.iter().all(|reason| *reason == CloseReason::Idle));
    net.run_until(5_000, |_| false);
    assert!(net.served.is_empty());
    assert_eq!(net.endpoint.connections(), 0);
}

#[test]
fn garbage_has_no_effect() {
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &Identity::new());
    for len in [0, 1, 5, 20, 21, 100, 1_199, 1_200, 1_500, 65_000] {
        for first in [0x00, 0x40, 0x7f, 0x80, 0xc0, 0xd0, 0xe0, 0xf0, 0xff] {
            let mut bytes = vec![first; len];
            if let Some(version) = bytes.get_mut(1..5) {
                version.copy_from_slice(&[0, 0, 0, 1]);
            }
            net.serve(&bytes);
        }
    }
    assert!(net.served.is_empty());
    assert_eq!(net.endpoint.handshakes(), 0);
    assert!(connect(&mut net));
}

#[test]
fn datagrams_name_the_owner_of_their_connection() {
    let mut net = Net::new(acceptor(&["a.test"], |_| ()), &Identity::new());
    assert!(connect(&mut net));
    net.run_until(100, |_| false);
    let steering = Steering::new(&server_settings().secret);
    net.peer.conn.ping();
    let datagrams = net.peer.run(net.nanos);
    assert!(!datagrams.is_empty());
    let owner = Some(ConnectionOwner { process: 0, thread: 3 });
    datagrams.iter().for_each(|bytes| assert_eq!(steering.owner_of(bytes), owner));
    for bytes in [&[][..], &[0x40], &[0xc0; 1_200]] {
        assert_eq!(steering.owner_of(bytes), None);
    }
}
