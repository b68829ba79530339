//! HTTP/2 from a client's point of view, on real sockets, with servers that speak HTTP/1.

mod again;
mod crowd;
mod farewell;
mod resting;

use htx::{Fields, Head, Version};
use mux::h2::{H2Conn, H2ConnSettings, Key};
use mux::{BodyKind, HeadStep, Side};
use settings::{Mode, Protocol, ProxySection, Reuse, Server, ServerProtocols};
use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use testing::{Origin, World, client, listen, read_head};

/// An HTTP/2 client of its own on a blocking socket.
struct Peer {
    socket: TcpStream,
    machine: H2Conn,
    input: Vec<u8>,
}

impl Peer {
    fn new(address: SocketAddr) -> Self {
        let machine = H2Conn::new(Side::Server, H2ConnSettings::default());
        Self { socket: client(address), machine, input: Vec::new() }
    }

    fn flush(&mut self) {
        let output = self.machine.output().to_vec();
        self.socket.write_all(&output).unwrap();
        self.machine.advance_output(output.len());
    }

    /// Reads until `done` holds; `false` at the end of the connection.
    fn until(&mut self, mut done: impl FnMut(&mut H2Conn) -> bool) -> bool {
        let mut buffer = [0; 4_096];
        loop {
            self.flush();
            if done(&mut self.machine) {
                return true;
            }
            match self.socket.read(&mut buffer) {
                Ok(0) | Err(_) => {
                    self.machine.handle_eof();
                    return done(&mut self.machine);
                }
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
            }
            let taken = self.machine.handle_input(&self.input, 0).unwrap();
            self.input.drain(..taken);
        }
    }

    /// Sends the head of a request.
    fn send(&mut self, method: &str, path: &str, body: BodyKind) -> Key {
        let key = self.machine.open().unwrap();
        let mut head = Head::default();
        head.set_request(method.as_bytes(), path.as_bytes(), Version::Http2);
        head.push(b"host", b"example.org");
        self.machine.encode_head(key, &mut head, body, b"http");
        key
    }

    /// The answer: status, body, trailers.
    fn answer(&mut self, key: Key) -> (u16, Vec<u8>, Fields) {
        let (mut head, mut body, mut trailers) = (Head::default(), Vec::new(), Fields::default());
        assert!(
            self.until(|it| matches!(
                it.handle_head(key, &mut head),
                Ok(HeadStep::Complete { .. })
            ))
        );
        let status = head.status();
        let mut buffer = [0; 1_000];
        self.until(|it| {
            while let Ok(Some(count @ 1..)) = it.read(key, &mut buffer) {
                body.extend_from_slice(&buffer[..count]);
            }
            it.handle_body(key, b"", &mut trailers).done || it.is_reset(key)
        });
        assert!(self.machine.has_received_all(key), "the answer is cut short");
        self.machine.release(key);
        (status, body, trailers)
    }
}

fn proxy(origin: &Origin) -> (ProxySection, SocketAddr) {
    listen("h2", Mode::Http, vec![testing::server(1, origin.address)])
}

/// Answers each request of a connection with its request line and its body.
fn parrot() -> Origin {
    Origin::new(|mut stream, _| {
        loop {
            let head = String::from_utf8(read_head(&mut stream)).unwrap();
            let Some(line) = head.lines().next() else { return };
            let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap())];
            stream.read_exact(&mut body).unwrap();
            let answer = [line.as_bytes(), b"|", &body].concat();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
            stream.write_all(&[head.as_bytes(), &answer].concat()).unwrap();
        }
    })
}

#[test]
fn requests_go_through_on_streams() {
    let origin = parrot();
    let (proxy, address) = proxy(&origin);
    let world = World::new(vec![proxy]);
    let answers = world.play(move || {
        let mut peer = Peer::new(address);
        let one = peer.send("GET", "/one", BodyKind::None);
        let two = peer.send("POST", "/two", BodyKind::Length(4));
        peer.machine.encode_data(two, 4);
        peer.machine.encode_end(two, None);
        assert_eq!(peer.machine.send(two, &[IoSlice::new(b"body")]), Ok(4));
        [peer.answer(one), peer.answer(two)].map(|(status, body, _)| (status, body))
    });
    assert_eq!(answers[0], (200, b"GET /one HTTP/1.1|".to_vec()));
    assert_eq!(answers[1].1, b"POST /two HTTP/1.1|body");
    world.until("the connection is closed", || world.workers[0].clients.get() == 0);
    let line = world.line("/one");
    assert!(line.contains("\"GET http://example.org/one HTTP/2.0\""), "{line}");
}

#[test]
fn many_streams_at_once() {
    let origin = parrot();
    let (proxy, address) = proxy(&origin);
    let world = World::new(vec![proxy]);
    let count = world.play(move || {
        let mut peer = Peer::new(address);
        let mut count = 0;
        for _ in 0..3 {
            let keys: Vec<Key> =
                (0..100).map(|n| peer.send("GET", &format!("/{n}"), BodyKind::None)).collect();
            for (n, key) in keys.into_iter().enumerate() {
                let (status, body, _) = peer.answer(key);
                assert_eq!((status, body), (200, format!("GET /{n} HTTP/1.1|").into_bytes()));
                count += 1;
            }
        }
        count
    });
    assert_eq!(count, 300);
}

#[test]
fn long_bodies_and_trailers() {
    let origin = Origin::new(|mut stream, _| {
        read_head(&mut stream);
        let piece = [b'x'; 50_000];
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        for _ in 0..20 {
            stream.write_all(b"c350\r\n").unwrap();
            stream.write_all(&piece).unwrap();
            stream.write_all(b"\r\n").unwrap();
        }
        stream.write_all(b"0\r\nChecksum: 7\r\n\r\n").unwrap();
    });
    let (proxy, address) = proxy(&origin);
    let world = World::new(vec![proxy]);
    let (length, trailer) = world.play(move || {
        let mut peer = Peer::new(address);
        let key = peer.send("GET", "/", BodyKind::None);
        let (_, body, trailers) = peer.answer(key);
        (body.len(), trailers.get(b"checksum").map(<[u8]>::to_vec))
    });
    assert_eq!((length, trailer), (1_000_000, Some(b"7".to_vec())));
}

/// A client that does not read bounds the bytes read from the server, interim responses included.
#[test]
fn interim_answers_wait_for_their_client() {
    const ENOUGH: usize = 64 << 20;
    let (sender, sent) = std::sync::mpsc::channel();
    let origin = Origin::new(move |mut stream, _| {
        read_head(&mut stream);
        stream.set_write_timeout(Some(std::time::Duration::from_secs(1))).unwrap();
        let head = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(8_000));
        let mut count = 0;
        while count < ENOUGH && stream.write_all(head.as_bytes()).is_ok() {
            count += head.len();
        }
        let _ = sender.send(count);
    });
    let (proxy, address) = proxy(&origin);
    let world = World::new(vec![proxy]);
    let count = world.play(move || {
        let mut peer = Peer::new(address);
        peer.send("GET", "/", BodyKind::None);
        peer.flush();
        sent.recv().unwrap()
    });
    assert!(count < ENOUGH, "{count} bytes were taken from the server");
}

/// A response that ends early resets its stream; the connection continues.
#[test]
fn an_answer_cut_short_is_a_reset() {
    let origin = Origin::new(|mut stream, number| {
        read_head(&mut stream);
        let length = if number == 0 { 100 } else { 2 };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nok");
        stream.write_all(head.as_bytes()).unwrap();
    });
    let (proxy, address) = proxy(&origin);
    let world = World::new(vec![proxy]);
    let (reset, status) = world.play(move || {
        let mut peer = Peer::new(address);
        let key = peer.send("GET", "/short", BodyKind::None);
        let reset = peer.until(|it| it.is_reset(key));
        peer.machine.release(key);
        let key = peer.send("GET", "/whole", BodyKind::None);
        (reset, peer.answer(key).0)
    });
    assert!(reset);
    assert_eq!(status, 200);
    assert!(world.line("/short").contains(" SD-- "));
}

#[test]
fn clear_connections_are_refused_where_tls_is_required() {
    let origin = parrot();
    let (mut proxy, address) = proxy(&origin);
    proxy.front.as_mut().unwrap().disable_h2_upgrade = true;
    let world = World::new(vec![proxy]);
    let said = world.play(move || {
        let mut stream = client(address);
        stream.write_all(wire::h2::PREFACE).unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        said
    });
    assert!(said.starts_with(b"HTTP/1.1 400 "));
}

/// `proto h2`: a client of another protocol is refused.
#[test]
fn another_protocol_is_refused_where_this_one_is_expected() {
    let origin = parrot();
    let (mut proxy, address) = proxy(&origin);
    proxy.front.as_mut().unwrap().binds[0].protocol = Protocol::H2;
    let world = World::new(vec![proxy]);
    let said = world.play(move || {
        let mut stream = client(address);
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        said
    });
    let header = wire::h2::FrameHeader::parse(&said).unwrap();
    assert_eq!(header.kind, wire::h2::FrameType::Settings);
    let tail = &said[said.len() - 17..];
    assert_eq!(wire::h2::FrameHeader::parse(tail).unwrap().kind, wire::h2::FrameType::GoAway);
}

/// A client between requests receives GOAWAY when its idle time is over.
#[test]
fn idle_connections_end() {
    let origin = parrot();
    let (mut proxy, address) = proxy(&origin);
    proxy.timeouts.http_keep_alive = Some(30);
    let world = World::new(vec![proxy]);
    world.play(move || {
        let mut peer = Peer::new(address);
        let key = peer.send("GET", "/", BodyKind::None);
        assert_eq!(peer.answer(key).0, 200);
        assert!(peer.until(|it| !it.is_open()), "GOAWAY");
    });
    world.until("the connection is closed", || world.workers[0].clients.get() == 0);
}

/// A proxy whose server speaks HTTP/2: another proxy, in front of an origin.
fn chain(origin: &Origin, reuse: Reuse) -> (World, SocketAddr) {
    let (inner, between) = listen("inner", Mode::Http, vec![testing::server(1, origin.address)]);
    let server =
        Server { speech: ServerProtocols::only(Protocol::H2), ..testing::server(1, between) };
    let (mut outer, address) = listen("outer", Mode::Http, vec![server]);
    outer.back.as_mut().unwrap().reuse = reuse;
    (World::new(vec![outer, inner]), address)
}

/// An answer to an HTTP/1 client: its head and `length` bytes.
fn answer(stream: &mut TcpStream, length: usize) -> (String, Vec<u8>) {
    let head = String::from_utf8(read_head(stream)).unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

#[test]
fn servers_get_streams_of_shared_connections() {
    let origin = parrot();
    let (world, address) = chain(&origin, Reuse::Always);
    let body = world.play(move || {
        let mut bodies = Vec::new();
        for _ in 0..3 {
            let mut stream = client(address);
            stream.write_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
            bodies.push(answer(&mut stream, 16).1);
            let post = b"POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nup";
            stream.write_all(post).unwrap();
            bodies.push(answer(&mut stream, 19).1);
        }
        bodies
    });
    assert_eq!(body[4..], [b"GET /a HTTP/1.1|".to_vec(), b"POST /b HTTP/1.1|up".to_vec()]);
    assert_eq!(world.frontend("inner").connections.current(), 1, "one connection carries all");
    assert!(world.line("/b").contains("HTTP/"));
}

#[test]
fn http_reuse_decides_which_connections_are_shared() {
    for (reuse, connections) in
        [(Reuse::Never, 2), (Reuse::Safe, 2), (Reuse::Aggressive, 1), (Reuse::Always, 1)]
    {
        let origin = parrot();
        let (world, address) = chain(&origin, reuse);
        world.play(move || {
            let ask = |stream: &mut TcpStream| {
                stream.write_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
                answer(stream, 16);
            };
            let (mut one, mut two) = (client(address), client(address));
            ask(&mut one);
            ask(&mut two);
            ask(&mut one);
            ask(&mut two);
        });
        assert_eq!(world.frontend("inner").connections.current(), connections, "{reuse:?}");
    }
}

#[test]
fn trailers_and_long_bodies_pass_both_ways() {
    let origin = Origin::new(|mut stream, _| {
        read_head(&mut stream);
        // Chunks and trailers of the request come back as they are.
        let mut body = Vec::new();
        let mut byte = [0];
        while !body.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
            body.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        stream.write_all(&body).unwrap();
    });
    let (world, address) = chain(&origin, Reuse::Safe);
    let said = world.play(move || {
        let mut stream = client(address);
        let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\
                    Connection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let piece = [b'y'; 60_000];
        for _ in 0..5 {
            stream.write_all(b"ea60\r\n").unwrap();
            stream.write_all(&piece).unwrap();
            stream.write_all(b"\r\n").unwrap();
        }
        stream.write_all(b"0\r\nx-sum: 5\r\n\r\n").unwrap();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        said
    });
    assert_eq!(said.iter().filter(|byte| **byte == b'y').count(), 300_000);
    assert!(said.ends_with(b"x-sum: 5\r\n\r\n"));
}

/// A server that refuses a stream without having processed it gets the request again, on another
/// connection.
#[test]
fn refused_requests_are_sent_again() {
    let origin = Origin::new(|mut stream, number| {
        let mut machine = H2Conn::new(Side::Client, H2ConnSettings::default());
        let (mut input, mut buffer) = (Vec::new(), [0; 4_096]);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            input.extend_from_slice(&buffer[..count]);
            let taken = machine.handle_input(&input, 0).unwrap();
            input.drain(..taken);
            while let Some(key) = machine.poll_opened() {
                let mut head = Head::default();
                machine.handle_head(key, &mut head).unwrap();
                if number == 0 {
                    machine.reset(key, wire::h2::ErrorCode::REFUSED_STREAM);
                    continue;
                }
                head.set_response(Version::Http2, 200, b"OK");
                machine.encode_head(key, &mut head, BodyKind::None, b"");
            }
            let output = machine.output().to_vec();
            stream.write_all(&output).unwrap();
            machine.advance_output(output.len());
            if number == 0 && !output.is_empty() && machine.streams() > 0 {
                return;
            }
        }
    });
    let server = Server {
        speech: ServerProtocols::only(Protocol::H2),
        ..testing::server(1, origin.address)
    };
    let (mut proxy, address) = listen("outer", Mode::Http, vec![server]);
    proxy.back.as_mut().unwrap().retries = 3;
    let world = World::new(vec![proxy]);
    let head = world.play(move || {
        let mut stream = client(address);
        stream.write_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        answer(&mut stream, 0).0
    });
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(origin.served(), 2);
}
