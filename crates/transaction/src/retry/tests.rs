//! Tests of requests whose reused connection breaks before any byte of the request has left.

use reactor::Class;
use settings::{Mode, RetryOn, Reuse};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, mpsc};
use testing::{Origin, World, client, listen, read_head};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// The body that a server has received behind its head.
fn read_body(stream: &mut TcpStream, head: &str) -> Vec<u8> {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    let chunked = head.contains("transfer-encoding: chunked");
    let (mut body, mut byte) = (Vec::new(), [0]);
    while if chunked { !body.ends_with(b"\r\n\r\n") } else { body.len() < length } {
        assert_eq!(stream.read(&mut byte).unwrap(), 1);
        body.push(byte[0]);
    }
    body
}

/// The first connection answers once, leaves the body unread, so that closing it resets it, and
/// goes to the test; so do the heads that the second receives, and bodies.
fn server() -> (Origin, mpsc::Receiver<TcpStream>, mpsc::Receiver<String>) {
    let ((first, ends), (heard, parts)) = (mpsc::channel(), mpsc::channel());
    let mutexes = (Mutex::new(first), Mutex::new(heard));
    let origin = Origin::new(move |mut stream, number| {
        let tell = |part: &[u8]| {
            let part = String::from_utf8_lossy(part).to_ascii_lowercase();
            mutexes.1.lock().unwrap().send(part.clone()).unwrap();
            part
        };
        loop {
            let head = read_head(&mut stream);
            if head.is_empty() {
                return;
            }
            if number == 0 {
                stream.write_all(ANSWER).unwrap();
                return mutexes.0.lock().unwrap().send(stream).unwrap();
            }
            let head = tell(&head);
            tell(&read_body(&mut stream, &head));
            stream.write_all(ANSWER).unwrap();
        }
    });
    (origin, ends, parts)
}

/// The outcome of a request whose connection broke before any of its bytes had left.
struct Asked {
    /// The status of the answer, 0 for none.
    status: u16,
    /// Connections that the server has had.
    connections: usize,
    /// The received body.
    body: String,
}

/// Sends a request, and `later` once the server has its head.
fn ask(request: impl Into<Vec<u8>>, later: &'static str, policy: RetryOn) -> Asked {
    let (request, (origin, ends, parts)) = (request.into(), server());
    let (mut proxy, address) = listen("px", Mode::Http, vec![testing::server(1, origin.address)]);
    let back = proxy.back.as_mut().unwrap();
    (back.retries, back.retry_on, back.reuse) = (3, policy, Reuse::Always);
    let world = World::new(vec![proxy]);
    let mut stream = world.play(move || {
        let mut stream = client(address);
        stream.write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx").unwrap();
        assert!(read_head(&mut stream).starts_with(b"HTTP/1.1 200 "));
        stream
    });
    let worker = world.workers[0].clone();
    let idle = move || worker.idle.counts().iter().flatten().sum::<usize>();
    let one = idle.clone();
    world.until("the connection is kept", move || one() == 1);
    world.close_within_turn((Class::Urgent, ends.recv().unwrap()), move || idle() == 0);
    let (head, body) = world.play(move || {
        stream.write_all(&request).unwrap();
        if !later.is_empty() {
            parts.recv_timeout(testing::PATIENCE).unwrap();
            stream.write_all(later.as_bytes()).unwrap();
        }
        let head = String::from_utf8(read_head(&mut stream)).unwrap();
        (head, parts.try_iter().last().unwrap_or_default())
    });
    let status = head.get(9..12).map_or(0, |status| status.parse().unwrap());
    Asked { status, connections: origin.served(), body }
}

fn bodiless(method: &str) -> String {
    format!("{method} / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
}

const LENGTH: &str = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn unsent_requests_of_any_method_are_sent_again() {
    for method in ["DELETE", "POST", "GET"] {
        let asked = ask(bodiless(method), "", RetryOn::CONNECTION);
        assert_eq!((asked.status, asked.connections), (200, 2), "{method}");
    }
}

/// For the client it is sent already, and no buffer of the connection has a part of it.
#[test]
fn a_body_that_has_not_left_goes_out_again() {
    let trailer = "2\r\nhe\r\n3\r\nllo\r\n0\r\nx-end: 1\r\n\r\n";
    let once = "5\r\nhello\r\n0\r\nx-end: 1\r\n\r\n";
    let cases: [(&str, &str, &'static str, &str); 6] = [
        (LENGTH, "hello", "", "hello"),
        (LENGTH, "hel", "lo", "hello"),
        (LENGTH, "", "hello", "hello"),
        (CHUNKED, trailer, "", once),
        (CHUNKED, "2\r\nhe\r\n", "3\r\nllo\r\n0\r\n\r\n", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        (CHUNKED, "", trailer, trailer),
    ];
    for (head, now, later, body) in cases {
        let asked = ask(format!("{head}{now}"), later, RetryOn::CONNECTION);
        let got = (asked.status, asked.connections, &asked.body[..]);
        assert_eq!(got, (200, 2, body), "{head}{now} {later}");
    }
}

#[test]
fn unsent_requests_are_not_sent_again_where_retries_are_forbidden() {
    for request in [bodiless("DELETE"), format!("{LENGTH}hello")] {
        let asked = ask(request, "", RetryOn::NEVER);
        assert_eq!((asked.status, asked.connections, &asked.body[..]), (0, 1, ""));
    }
}
