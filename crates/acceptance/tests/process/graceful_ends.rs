//! HTTP/2 connections that end gracefully (RFC 9113 section 6.8): no request on its way is lost.

use crate::http2::{OK, PREFACE, SETTINGS, answer, block, frame, get, told};
use crate::support::master::Master;
use crate::support::{Client, Origin, Running, Setup, eventually, reply};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use sys::signal;

const GOAWAY: u8 = 7;
const PING: u8 = 6;

/// Answers itself, so that no server is needed.
const RETURN: &str = "    http-request return status 200";

/// The payload of the next frame of a kind.
fn until(client: &mut Client, kind: u8) -> Vec<u8> {
    let mut frames = std::iter::repeat_with(|| frame(client));
    frames.find(|(found, ..)| *found == kind).expect("frames without end").3
}

/// Waits until the client is asked to open no more streams; returns the PING that came with that.
fn announced(client: &mut Client) -> Vec<u8> {
    assert_eq!(until(client, GOAWAY), [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    until(client, PING)
}

/// The answer to a PING.
fn pong(payload: &[u8]) -> Vec<u8> {
    [&[0, 0, 8, PING, 1, 0, 0, 0, 0], payload].concat()
}

/// Reads until the connection ends: the last stream of each GOAWAY, and the streams that end.
fn rest(client: &mut Client) -> (Vec<u8>, Vec<u8>) {
    let (mut last, mut ended) = (Vec::new(), Vec::new());
    while let Some(header) = client.try_take(9) {
        let payload = client.take(usize::from(header[1]) << 8 | usize::from(header[2]));
        match header[3] {
            GOAWAY => {
                assert_eq!((&payload[..3], &payload[4..]), (&[0; 3][..], &[0; 4][..]));
                last.push(payload[3]);
            }
            0 | 1 if header[4] & 1 != 0 => ended.push(header[8]),
            _ => {}
        }
    }
    ended.sort_unstable();
    (last, ended)
}

/// A client that has learned of the end, and had sent stream 3 before: it is served.
fn expect_grace(client: &mut Client) {
    let ping = announced(client);
    client.send(get(3));
    assert_eq!(block(client, 3)[0], OK);
    client.send(pong(&ping));
    assert_eq!(rest(client), (vec![3], vec![]));
}

fn begun(weir: &Running) -> Client {
    weir.cli("show info");
    let mut client = weir.web();
    told(&mut client);
    assert_eq!(answer(&mut client, 1), OK);
    client
}

#[test]
fn a_soft_stop_serves_requests_that_are_on_their_way() {
    for global in ["", "close-spread-time 50ms"] {
        let mut weir = Setup::http(RETURN, "").global(global).start();
        let mut client = begun(&weir);
        weir.signal(signal::USR1);
        expect_grace(&mut client);
        assert_eq!(weir.wait().code(), Some(0), "{global}");
    }
}

#[test]
fn a_soft_stop_serves_a_first_request_that_is_on_its_way() {
    let mut weir = Setup::http(RETURN, "").start();
    weir.cli("show info");
    let mut client = weir.web();
    told(&mut client);
    weir.signal(signal::USR1);
    let ping = announced(&mut client);
    client.send([get(1), pong(&ping)].concat());
    assert_eq!(rest(&mut client), (vec![1], vec![1]));
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_soft_stop_does_not_wait_for_ever_for_the_answer_to_its_ping() {
    let mut weir = Setup::http(RETURN, "").start();
    let mut client = begun(&weir);
    weir.signal(signal::USR1);
    announced(&mut client);
    assert_eq!(rest(&mut client), (vec![1], vec![]));
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_soft_stop_leaves_idle_connections_one_more_request_if_asked_to() {
    let front = format!("    option idle-close-on-response\n{RETURN}");
    let mut weir = Setup::http(&front, "").start();
    let mut client = begun(&weir);
    weir.signal(signal::USR1);
    eventually("no new clients are taken", || {
        TcpStream::connect(weir.address("web")).is_err().then_some(())
    });
    client.send(get(3));
    let ping = announced(&mut client);
    client.send([get(5), pong(&ping)].concat());
    assert_eq!(rest(&mut client), (vec![5], vec![3, 5]));
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_soft_stop_waits_for_streams_that_are_under_way() {
    let (tell, told_to) = channel();
    let told_to = Arc::new(Mutex::new(told_to));
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            let _ = told_to.lock().expect("nothing panics with it").recv();
            peer.send(reply("200 OK", "late"));
        }
    });
    let mut weir =
        Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
    weir.cli("show info");
    let mut client = weir.web();
    told(&mut client);
    client.send(get(1));
    origin.request(0);
    weir.signal(signal::USR1);
    let ping = announced(&mut client);
    client.send([get(3), pong(&ping)].concat());
    assert_eq!(until(&mut client, GOAWAY)[3], 3);
    // A stream above the last one of the GOAWAY is not served, and its client knows that.
    client.send(get(5));
    tell.send(()).expect("the origin waits");
    tell.send(()).expect("the origin waits");
    assert_eq!(rest(&mut client), (vec![], vec![1, 3]));
    assert_eq!(weir.wait().code(), Some(0));
}

/// More than the buffers of two sockets hold.
const LARGE: usize = 32 << 20;

#[test]
fn a_soft_stop_does_not_cut_a_download_that_its_client_takes_slowly() {
    let body = "x".repeat(LARGE);
    let origin = Origin::saying(&body);
    let mut weir =
        Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
    weir.cli("show info");
    let mut client = weir.web();
    // Windows as large as they can be: nothing but the socket holds the download up.
    let windows = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff];
    let wide = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xfe, 0, 0];
    client.send([PREFACE, &windows, &wide, &get(1)].concat());
    assert_eq!(block(&mut client, 1)[0], OK);
    weir.signal(signal::USR1);
    eventually("no new clients are taken", || {
        TcpStream::connect(weir.address("web")).is_err().then_some(())
    });
    let (mut taken, mut ended) = (0, false);
    while !ended {
        let (kind, flags, stream, payload) = frame(&mut client);
        if (kind, stream) == (0, 1) {
            (taken, ended) = (taken + payload.len(), flags & 1 != 0);
        }
    }
    assert_eq!(taken, LARGE);
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn an_idle_timeout_serves_requests_that_are_on_their_way() {
    let front = format!("    timeout http-keep-alive 100ms\n{RETURN}");
    let weir = Setup::http(&front, "").start();
    let mut client = begun(&weir);
    expect_grace(&mut client);
}

#[test]
fn max_total_streams_serves_requests_that_are_on_their_way() {
    let weir = Setup::http(RETURN, "").global("tune.h2.fe.max-total-streams 1").start();
    let mut client = weir.web();
    told(&mut client);
    client.send(get(1));
    expect_grace(&mut client);
}

/// As HAProxy 2.6 was seen to do: connections of either version end with their next request.
#[test]
fn shutdown_frontend_ends_connections_with_their_next_request() {
    let weir = Setup::http(RETURN, "").start();
    let mut client = begun(&weir);
    let mut old = weir.web();
    assert_eq!(old.get("/").header("connection"), None);
    assert_eq!(weir.cli("shutdown frontend web"), "");
    client.send([get(3), get(5)].concat());
    let ping = announced(&mut client);
    client.send([get(7), pong(&ping)].concat());
    assert_eq!(rest(&mut client), (vec![7], vec![3, 5, 7]));
    assert_eq!(old.get("/").header("connection"), Some("close"));
    old.expect_end();
}

#[test]
fn a_reload_serves_requests_that_are_on_their_way() {
    let text = "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n\
        defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
        timeout server 20s\nfrontend web\n    bind <web>\n    http-request return status 200\n";
    let master = Master::start(Setup::new(text), &["-W"]);
    let mut old = master.worker();
    for _ in 0..3 {
        let mut clients: Vec<_> = (0..8).map(|_| master.running.web()).collect();
        for client in &mut clients {
            client.send([PREFACE, &SETTINGS, &get(1)].concat());
            assert_eq!(block(client, 1)[0], OK);
        }
        assert_eq!(master.cli("reload"), "Loading success.");
        clients.iter_mut().for_each(expect_grace);
        let now = master.settled();
        assert_ne!(now, old);
        old = now;
    }
}
