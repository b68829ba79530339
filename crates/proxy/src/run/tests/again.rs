//! Servers that speak HTTP/2 and fail their streams: the requests that are sent again.

use htx::{Fields, Head, Version};
use mux::h2::{H2Conn, H2ConnSettings, Key};
use mux::{BodyKind, HeadStep, Side};
use settings::{Mode, Protocol, RetryOn, Reuse, Server, ServerProtocols};
use std::io::{IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Barrier};
use testing::{Origin, World, client, listen, read_head};
use transport::stats::counters::Metric;
use wire::h2::{ErrorCode, encode};

/// A server's reaction to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// Answers with the body of the request.
    Answer,
    /// Refuses the stream as not processed (REFUSED_STREAM).
    Refuse,
    /// Sends GOAWAY with a last stream below this one.
    Leave,
    /// Sends GOAWAY with this stream as the last one; then closes the connection.
    LeaveWithIt,
    /// Closes the connection.
    Close,
    /// Resets the stream.
    Fail,
}
use Deed::{Answer, Close, Fail, Leave, LeaveWithIt, Refuse};

/// A connection of the proxy, as its server sees it.
struct Peer {
    stream: TcpStream,
    machine: H2Conn,
    input: Vec<u8>,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        let machine = H2Conn::new(Side::Client, H2ConnSettings::default());
        Self { stream, machine, input: Vec::new() }
    }

    /// A peer that allows one stream at a time.
    fn one_by_one(stream: TcpStream) -> Self {
        let mut settings = H2ConnSettings::default();
        settings.announced.max_concurrent_streams = Some(1);
        Self { machine: H2Conn::new(Side::Client, settings), ..Self::new(stream) }
    }

    /// Reads once; `false` at the end.
    fn read(&mut self) -> bool {
        self.flush();
        let mut buffer = [0; 4_096];
        let Ok(count @ 1..) = self.stream.read(&mut buffer) else { return false };
        self.input.extend_from_slice(&buffer[..count]);
        let taken = self.machine.handle_input(&self.input, 0).unwrap();
        self.input.drain(..taken);
        true
    }

    fn flush(&mut self) {
        let output = self.machine.output().to_vec();
        self.machine.advance_output(output.len());
        let _ = self.stream.write_all(&output);
    }

    /// The next request, with its whole body unless it is to fail before that.
    fn request(&mut self, whole: bool) -> Option<(Key, Vec<u8>)> {
        let key = loop {
            match self.machine.poll_opened() {
                Some(key) => break key,
                None if self.read() => {}
                None => return None,
            }
        };
        let (mut head, mut body, mut trailers) = (Head::default(), Vec::new(), Fields::default());
        let Ok(HeadStep::Complete { .. }) = self.machine.handle_head(key, &mut head) else {
            return None;
        };
        let mut buffer = [0; 4_096];
        loop {
            while let Ok(Some(count @ 1..)) = self.machine.read(key, &mut buffer) {
                body.extend_from_slice(&buffer[..count]);
            }
            if !whole || self.machine.handle_body(key, b"", &mut trailers).done {
                return Some((key, body));
            }
            if !self.read() {
                return None;
            }
        }
    }

    /// Reacts to a request as the script demands; `false` when the connection is to end.
    fn act(&mut self, deed: Deed, (key, body): (Key, Vec<u8>)) -> bool {
        let mut goodbye = Vec::new();
        match deed {
            Answer => {
                let mut head = Head::default();
                head.set_response(Version::Http2, 200, b"OK");
                let length = BodyKind::Length(body.len() as u64);
                if self.machine.encode_head(key, &mut head, length, b"") != BodyKind::None {
                    self.machine.encode_data(key, body.len() as u64);
                    self.machine.encode_end(key, None);
                    self.machine.send(key, &[IoSlice::new(&body)]).unwrap();
                }
            }
            Refuse => self.machine.reset(key, ErrorCode::REFUSED_STREAM),
            Fail => self.machine.reset(key, ErrorCode::INTERNAL_ERROR),
            Leave => encode::go_away(
                self.machine.id(key).saturating_sub(2),
                ErrorCode::NO_ERROR,
                &mut goodbye,
            ),
            LeaveWithIt => encode::go_away(self.machine.id(key), ErrorCode::NO_ERROR, &mut goodbye),
            Close => {}
        }
        if matches!(deed, Answer | Refuse | Fail) {
            self.machine.release(key);
        }
        self.flush();
        let _ = self.stream.write_all(&goodbye);
        !matches!(deed, Close | LeaveWithIt)
    }
}

/// A server that reacts to the requests of each connection as its line of the script demands; the
/// last line holds for all further connections.
fn server(script: &'static [&'static [Deed]]) -> Origin {
    Origin::new(move |stream, number| {
        let mut peer = Peer::new(stream);
        for deed in script[number.min(script.len() - 1)] {
            // A request that is refused is refused as soon as its head has arrived.
            let Some(request) = peer.request(*deed != Refuse) else { return };
            if !peer.act(*deed, request) {
                return;
            }
        }
        while peer.read() {}
    })
}

/// The settings of the proxy, the script of the server, and the requests of the client.
#[derive(Clone, Copy)]
struct Asked {
    retries: u32,
    retry_on: RetryOn,
    script: &'static [&'static [Deed]],
    /// Each request is sent when the one before has been answered.
    requests: &'static [(&'static str, usize)],
}

const USUAL: Asked = Asked {
    retries: 3,
    retry_on: RetryOn::CONNECTION,
    script: &[&[Answer, Close], &[Answer; 9]],
    requests: &[("GET", 0), ("GET", 0)],
};

/// The statuses of the answers, 0 for none, and the number of connections that the server has had.
fn ask(asked: Asked) -> (Vec<u16>, usize) {
    let origin = server(asked.script);
    let one = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(1, origin.address)
    };
    let (mut proxy, address) = listen("px", Mode::Http, vec![one]);
    let back = proxy.back.as_mut().unwrap();
    (back.retries, back.retry_on, back.reuse) = (asked.retries, asked.retry_on, Reuse::Always);
    let world = World::new(vec![proxy]);
    let statuses = world.play(move || {
        let mut stream = client(address);
        let mut statuses = Vec::new();
        for (method, length) in asked.requests {
            let body = vec![b'x'; *length];
            let head =
                format!("{method} / HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n");
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
            let head = String::from_utf8(read_head(&mut stream)).unwrap();
            let status = head.get(9..12).map_or(0, |status| status.parse().unwrap());
            let mut back = vec![0; if status == 200 { *length } else { 0 }];
            stream.read_exact(&mut back).unwrap();
            assert!(status != 200 || back == body, "the server has had the whole body");
            statuses.push(status);
            if status != 200 {
                break;
            }
        }
        statuses
    });
    (statuses, origin.served())
}

#[test]
fn safe_requests_are_sent_again_when_a_kept_connection_ends() {
    let closes: &[&[Deed]] = &[&[Answer, Close], &[Answer]];
    let leaves: &[&[Deed]] = &[&[Answer, LeaveWithIt], &[Answer]];
    for script in [closes, leaves] {
        for requests in [
            &[("GET", 0), ("GET", 0)],
            &[("GET", 0), ("OPTIONS", 0)],
            &[("GET", 0), ("TRACE", 0)],
            &[("GET", 0), ("GET", 5_000)],
        ] {
            let told = ask(Asked { script, requests, ..USUAL });
            assert_eq!(told, (vec![200, 200], 2), "{requests:?} {script:?}");
        }
    }
}

#[test]
fn unsafe_requests_are_not_sent_twice() {
    for requests in [&[("GET", 0), ("POST", 0)], &[("GET", 0), ("POST", 9)]] {
        let told = ask(Asked { requests, ..USUAL });
        assert_eq!(told, (vec![200, 0], 1), "{requests:?}");
    }
}

#[test]
fn a_new_connection_that_ends_has_failed_the_request() {
    let told = ask(Asked { script: &[&[Close]], ..USUAL });
    assert_eq!(told, (vec![502], 1));
    // A stream that ends alone is not the connection's fault either.
    let told = ask(Asked { script: &[&[Answer, Fail], &[Answer]], ..USUAL });
    assert_eq!(told, (vec![200, 0], 1));
}

#[test]
fn retries_have_an_end_and_can_be_forbidden() {
    let told = ask(Asked { retries: 0, ..USUAL });
    assert_eq!(told, (vec![200, 0], 1));
    let told = ask(Asked { retry_on: RetryOn::NEVER, ..USUAL });
    assert_eq!(told, (vec![200, 0], 1));
    let told = ask(Asked { retry_on: RetryOn::NEVER, script: &[&[Refuse], &[Answer]], ..USUAL });
    assert_eq!(told, (vec![502], 1));
    let told = ask(Asked { retries: 2, script: &[&[Refuse]], ..USUAL });
    assert_eq!(told, (vec![502], 3));
}

#[test]
fn unprocessed_requests_of_any_method_are_sent_again() {
    let refuses: &[&[Deed]] = &[&[Refuse], &[Answer, Refuse], &[Answer; 9]];
    let leaves: &[&[Deed]] = &[&[Leave], &[Answer, Leave], &[Answer; 9]];
    for script in [refuses, leaves] {
        for requests in [
            &[("POST", 0), ("POST", 0)][..],
            &[("POST", 10), ("POST", 10)],
            &[("PUT", 9_000), ("GET", 9_000)],
            &[("DELETE", 0), ("POST", 5_000)],
        ] {
            let told = ask(Asked { script, requests, ..USUAL });
            assert_eq!(told, (vec![200, 200], 3), "{requests:?} {script:?}");
        }
    }
}

/// The connection of the second try is refused; the third connection has to carry the whole body.
#[test]
fn a_try_that_comes_to_no_connection_loses_nothing_of_the_body() {
    let origin = server(&[&[Leave], &[Answer; 9]]);
    let alive = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(1, origin.address)
    };
    let dead = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(2, testing::nobody())
    };
    let (mut proxy, address) = listen("px", Mode::Http, vec![alive, dead]);
    let back = proxy.back.as_mut().unwrap();
    (back.retries, back.redispatch, back.reuse) = (5, -1, Reuse::Always);
    let world = World::new(vec![proxy]);
    let whole = world.play(move || {
        let mut stream = client(address);
        let body = vec![b'x'; 2_000];
        let head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n";
        stream.write_all(&[&head[..], &body].concat()).unwrap();
        let head = String::from_utf8(read_head(&mut stream)).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let mut back = vec![0; 2_000];
        stream.read_exact(&mut back).unwrap();
        back == body
    });
    assert_eq!((whole, origin.served()), (true, 2));
    let claims = &world.shared.proxies[0].back.as_ref().unwrap().servers;
    assert!(claims[1].counters.sum(Metric::Redispatches) > 0, "the dead one was tried between");
}

#[test]
fn a_body_larger_than_a_buffer_is_sent_once() {
    let told =
        ask(Asked { script: &[&[Leave], &[Answer]], requests: &[("POST", 40_000)], ..USUAL });
    assert_eq!(told, (vec![502], 1));
}

/// A request that is sent again does not wait for a connection made before its own failed, even if
/// that one still waits for the server's SETTINGS.
#[test]
fn an_established_connection_is_used_without_a_wait() {
    let both = Barrier::new(2);
    let origin = Origin::new(move |stream, number| {
        let mut peer = match number {
            0 => Peer::one_by_one(stream),
            _ => Peer::new(stream),
        };
        match number {
            0 => {
                let first = peer.request(true).unwrap();
                peer.act(Answer, first);
                // The next connection fails once another one is established.
                peer.request(true).unwrap();
                both.wait();
                both.wait();
            }
            // The server sends nothing, not even SETTINGS.
            1 => {
                both.wait();
                let mut told = [0; 24];
                peer.stream.read_exact(&mut told).unwrap();
                both.wait();
                let _ = peer.stream.read_to_end(&mut Vec::new());
            }
            _ => while peer.request(true).is_some_and(|request| peer.act(Answer, request)) {},
        }
    });
    let one = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(1, origin.address)
    };
    let (mut proxy, address) = listen("px", Mode::Http, vec![one]);
    let back = proxy.back.as_mut().unwrap();
    (back.retries, back.reuse) = (3, Reuse::Always);
    let world = World::new(vec![proxy]);
    let get = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut asks = world.play(move || {
        let mut stream = client(address);
        stream.write_all(get).unwrap();
        assert!(read_head(&mut stream).starts_with(b"HTTP/1.1 200 "));
        stream.write_all(get).unwrap();
        stream
    });
    let trunk = world.workers[0].trunks.any().unwrap();
    world.until("it is on its way", || trunk.session.inspect(|mux| mux.streams() == 1));
    let mut upgrades = client(address);
    upgrades
        .write_all(
            b"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
              Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        )
        .unwrap();
    let head = world.play(move || read_head(&mut asks));
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
    assert_eq!(origin.served(), 3);
    drop(upgrades);
    let server = &world.shared.proxies[0].back.as_ref().unwrap().servers[0];
    assert_eq!(server.counters.sum(Metric::Retries), 1, "nobody has waited in vain");
}

/// Bytes that the connection's task has written wait for the end of the turn.
#[test]
fn unsent_requests_of_any_method_are_sent_again() {
    for method in ["DELETE", "POST"] {
        let (first, ends) = std::sync::mpsc::channel();
        let first = std::sync::Mutex::new(first);
        let origin = Origin::new(move |stream, number| {
            let mut peer = Peer::new(stream);
            while let Some(request) = peer.request(true) {
                peer.act(Answer, request);
                if number == 0 {
                    // The answer to this frame is not read: closing the connection resets it.
                    peer.stream.write_all(b"\0\0\x08\x06\0\0\0\0\0unheeded").unwrap();
                    return first.lock().unwrap().send(peer.stream).unwrap();
                }
            }
        });
        let one = Server {
            speech: ServerProtocols::only(Protocol::H2),
            ..testing::server(1, origin.address)
        };
        let (mut proxy, address) = listen("px", Mode::Http, vec![one]);
        let back = proxy.back.as_mut().unwrap();
        (back.retries, back.reuse) = (3, Reuse::Always);
        let world = World::new(vec![proxy]);
        let mut stream = client(address);
        let ask = format!("{method} / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
        let request = ask.clone();
        let mut stream = world.play(move || {
            stream.write_all(request.as_bytes()).unwrap();
            let head = read_head(&mut stream);
            assert!(head.starts_with(b"HTTP/1.1 200 "));
            stream
        });
        let server = world.workers[0].trunks.any().unwrap();
        let end = ends.recv().unwrap();
        let heard = end.try_clone().unwrap();
        world.play(move || heard.peek(&mut [0; 17]).unwrap());
        world.close_within_turn((reactor::Class::Normal, end), move || {
            server.session.inspect(|mux| mux.streams() == 1 && mux.output().is_empty())
        });
        let head = world.play(move || {
            stream.write_all(ask.as_bytes()).unwrap();
            String::from_utf8(read_head(&mut stream)).unwrap()
        });
        assert!(head.starts_with("HTTP/1.1 200 "), "{method}: {head}");
        assert_eq!(origin.served(), 2);
    }
}

/// Other connections that were idle as long may be dead too.
#[test]
fn the_next_connection_is_younger_than_the_failure() {
    let origin = server(&[&[Answer; 9], &[Answer, Close], &[Answer; 9]]);
    let one = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(1, origin.address)
    };
    let (mut proxy, address) = listen("px", Mode::Http, vec![one]);
    proxy.back.as_mut().unwrap().reuse = Reuse::Safe;
    let world = World::new(vec![proxy]);
    world.play(move || {
        let ask = |stream: &mut TcpStream| {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
            let head = String::from_utf8(read_head(stream)).unwrap();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        };
        // The first request of each makes a connection; the second takes the last one made.
        let (mut one, mut two) = (client(address), client(address));
        ask(&mut one);
        ask(&mut two);
        ask(&mut one);
    });
    assert_eq!(origin.served(), 3);
}

/// The proxy learns of both in the same turn, of the request first.
#[test]
fn nothing_is_sent_on_a_connection_that_is_known_to_be_closed() {
    let (barrier, closes) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (told, closed) = (barrier.clone(), closes.clone());
    let origin = Origin::new(move |stream, number| {
        let mut peer = Peer::new(stream);
        while let Some(request) = peer.request(true) {
            peer.act(Answer, request);
            if number == 0 {
                told.wait();
                // The proxy's last bytes have arrived, so that no reset follows.
                drop(peer);
                closed.wait();
                return;
            }
        }
    });
    let one = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(1, origin.address)
    };
    let (mut proxy, address) = listen("px", Mode::Http, vec![one]);
    let back = proxy.back.as_mut().unwrap();
    (back.retries, back.reuse) = (0, Reuse::Always);
    let world = World::new(vec![proxy]);
    let ask = |stream: &mut TcpStream| {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
    };
    let hear = |mut stream: TcpStream| {
        world.play(move || {
            let head = String::from_utf8(read_head(&mut stream)).unwrap();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head:?}");
            stream
        })
    };
    let mut stream = client(address);
    ask(&mut stream);
    let mut stream = hear(stream);
    let scheduler = world.workers[0].thread.scheduler();
    world.until("all has been said", || !scheduler.has_work());
    ask(&mut stream);
    barrier.wait();
    closes.wait();
    hear(stream);
    assert_eq!(origin.served(), 2);
}

/// The connection takes time to establish: requests that failed together are sent again together.
#[test]
fn streams_that_have_lost_their_connection_share_the_next_one() {
    const STREAMS: usize = 20;
    let origin = Origin::new(|mut stream, number| {
        // The request of SOCKS4: 8 bytes, and a name that ends with a zero.
        let mut byte = [1];
        stream.read_exact(&mut [0; 8]).unwrap();
        while byte[0] != 0 {
            stream.read_exact(&mut byte).unwrap();
        }
        stream.write_all(&[0, 0x5a, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut peer = Peer::new(stream);
        let first = peer.request(true).unwrap();
        peer.act(Answer, first);
        if number == 0 {
            (0..STREAMS).for_each(|_| drop(peer.request(true)));
            return;
        }
        while let Some(request) = peer.request(true) {
            peer.act(Answer, request);
        }
    });
    let mut one = testing::server(1, origin.address);
    one.speech = ServerProtocols::only(Protocol::H2);
    one.link.socks4 = Some(origin.address);
    let (mut proxy, address) = listen("px", Mode::Http, vec![one]);
    proxy.back.as_mut().unwrap().retries = 3;
    let world = World::new(vec![proxy]);
    world.play(move || {
        let mut client = super::Peer::new(address);
        let first = client.send("GET", "/", BodyKind::None);
        assert_eq!(client.answer(first).0, 200);
        let all: Vec<_> = (0..STREAMS).map(|_| client.send("GET", "/", BodyKind::None)).collect();
        all.into_iter().for_each(|key| assert_eq!(client.answer(key).0, 200));
    });
    assert_eq!(origin.served(), 2);
}
