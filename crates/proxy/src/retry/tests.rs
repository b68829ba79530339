//! Tests of requests whose kept connection breaks before anything of them has left. Never part of the
//! product.

use crate::settings::{Mode, RetryOn, Reuse};
use crate::testing::{self, Origin, World, client, listen, read_head};
use reactor::Class;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Mutex, mpsc};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// The first connection answers once, leaves the body unread, so that closing it resets it, and
/// goes to the test.
fn server() -> (Origin, mpsc::Receiver<TcpStream>) {
    let (first, ends) = mpsc::channel();
    let first = Mutex::new(first);
    let origin = Origin::new(move |mut stream, number| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(ANSWER).unwrap();
            if number == 0 {
                return first.lock().unwrap().send(stream).unwrap();
            }
        }
    });
    (origin, ends)
}

/// The status of a request of this method whose connection breaks so, 0 for none; how many
/// connections the server has had.
fn ask(method: &'static str, policy: RetryOn) -> (u16, usize) {
    let (origin, ends) = server();
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
    let head = world.play(move || {
        let request = format!("{method} / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        String::from_utf8(read_head(&mut stream)).unwrap()
    });
    (head.get(9..12).map_or(0, |status| status.parse().unwrap()), origin.served())
}

#[test]
fn what_has_not_left_goes_out_again_whatever_it_is() {
    for method in ["DELETE", "POST", "GET"] {
        assert_eq!(ask(method, RetryOn::CONNECTION), (200, 2), "{method}");
    }
}

#[test]
fn what_has_not_left_goes_out_once_where_retries_are_forbidden() {
    assert_eq!(ask("DELETE", RetryOn::NEVER), (0, 1));
}
