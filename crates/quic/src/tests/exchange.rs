//! Requests and responses over whole connections.

use super::link::{Net, server_settings};
use super::material::acceptor;
use super::peer::Identity;
use crate::{CongestionControl, QuicSettings};
use quinn_proto::{ConnectionError, Dir, StreamId};

fn connected(settings: QuicSettings) -> Net {
    let mut net = Net::with(settings, acceptor(&["a.test"], |_| ()), &Identity::new(), "a.test");
    assert!(net.run_until(2_000, |net| net.peer.connected), "{:?}", net.peer.lost);
    net.peer.greet();
    net
}

/// Runs until all of these are answered.
fn finish(net: &mut Net, ids: &[StreamId], ms: u64) -> bool {
    net.run_until(ms, |net| ids.iter().all(|id| net.peer.response(*id).is_some()))
}

#[test]
fn requests_are_answered() {
    let mut net = connected(server_settings());
    let (get, post) = (net.peer.request("GET", "/", b""), net.peer.request("POST", "/x", b"hello"));
    assert!(finish(&mut net, &[get, post], 1_000));
    assert_eq!(net.peer.response(get), Some(("200".to_owned(), b"GET".to_vec())));
    assert_eq!(net.peer.response(post), Some(("200".to_owned(), b"hello".to_vec())));
    net.run_until(100, |_| false);
    assert_eq!(net.only().machine.streams(), 0);
    assert!(net.only().machine.is_open());
}

#[test]
fn many_requests_of_any_size_are_answered_in_any_network() {
    for (loses, congestion) in [
        ((|_| false) as fn(u64) -> bool, CongestionControl::Cubic),
        (|n| n % 20 == 0, CongestionControl::NewReno),
        (|n| n % 10 == 3, CongestionControl::Bbr),
    ] {
        let mut net = connected(QuicSettings { congestion, ..server_settings() });
        net.loses = loses;
        let body = |n: usize| vec![n as u8; [0, 1, 1_000, 16_384, 70_000, 200_000][n % 6]];
        let ids: Vec<_> = (0..30).map(|n| net.peer.request("PUT", "/", &body(n))).collect();
        assert!(finish(&mut net, &ids, 60_000), "{:?}", net.peer.lost);
        for (n, id) in ids.into_iter().enumerate() {
            let expected = if n % 6 == 0 { b"PUT".to_vec() } else { body(n) };
            assert!(net.peer.response(id) == Some(("200".to_owned(), expected)), "{n}");
        }
        net.run_until(200, |_| false);
        assert_eq!(net.only().machine.streams(), 0);
    }
}

#[test]
fn more_requests_follow_when_streams_are_released() {
    let mut net = connected(QuicSettings { streams: 2, ..server_settings() });
    for _ in 0..20 {
        let ids = [net.peer.request("GET", "/", b""), net.peer.request("GET", "/", b"")];
        assert!(finish(&mut net, &ids, 1_000));
        net.run_until(200, |_| false);
    }
}

#[test]
fn keys_are_updated() {
    let mut net = connected(server_settings());
    for _ in 0..3 {
        net.peer.conn.force_key_update();
        let id = net.peer.request("GET", "/", b"");
        assert!(finish(&mut net, &[id], 1_000), "{:?}", net.peer.lost);
        net.run_until(500, |_| false);
    }
}

#[test]
fn a_client_may_change_its_address() {
    let mut net = connected(server_settings());
    let before = net.peer.request("POST", "/", &[1; 50_000]);
    assert!(finish(&mut net, &[before], 5_000));
    net.client_address = "127.0.0.1:6000".parse().unwrap();
    let after = net.peer.request("POST", "/", &[2; 50_000]);
    assert!(finish(&mut net, &[after], 5_000), "{:?}", net.peer.lost);
    assert_eq!(net.only().conn.remote(), "127.0.0.1:6000".parse().unwrap());
}

#[test]
fn errors_of_http_close_the_connection() {
    let mut net = connected(server_settings());
    // DATA before HEADERS.
    net.peer.open(Dir::Bi, &[0, 1, b'x'], true);
    assert!(net.run_until(2_000, |net| net.peer.lost.is_some()));
    let Some(ConnectionError::ApplicationClosed(close)) = &net.peer.lost else {
        panic!("{:?}", net.peer.lost)
    };
    assert_eq!(close.error_code.into_inner(), 0x105);
    net.run_until(5_000, |_| false);
    assert!(net.served.is_empty());
}

/// A client that has not received the GOAWAY cannot tell which requests it may send again.
#[test]
fn a_response_is_delivered_with_the_goaway_behind_it() {
    let mut net = connected(server_settings());
    let id = net.peer.request("GET", "/", b"");
    assert!(finish(&mut net, &[id], 1_000));
    net.run_until(500, |_| false);
    net.only().machine.begin_shutdown();
    net.only().machine.finish_shutdown();
    net.loses = |_| true;
    net.run_until(3_000, |net| net.only().conn.delivery().is_none());
    assert!(net.only().machine.is_over() && net.only().conn.delivery().is_some());
    net.loses = |_| false;
    assert!(net.run_until(10_000, |net| net.only().conn.delivery().is_none()));
    let has_goaway = |(bytes, _): &(Vec<u8>, bool)| bytes.ends_with(&[7, 1, 4]);
    assert!(net.peer.received.values().any(has_goaway), "{:?}", net.peer.received);
}

#[test]
fn a_client_that_goes_ends_its_requests() {
    let mut net = connected(server_settings());
    net.peer.open(Dir::Bi, &[1, 10], false);
    net.run_until(200, |_| false);
    net.peer.leave(net.nanos);
    net.run_until(5_000, |_| false);
    assert!(net.served.is_empty());
    assert_eq!(net.endpoint.connections(), 0);
}
