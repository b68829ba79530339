//! The helpers of the tests: the program, clients, origins, log receivers.
//!
//! Everything that waits does so for an event, for at most [`PATIENCE`].

mod browser;
mod client;
mod coding;
mod directory;
mod dns;
mod eager;
mod h3_bridge;
pub(crate) mod h3_client;
mod log;
pub(crate) mod master;
mod message;
mod origin;
mod program;
mod responder;
mod scripted_server;
mod secure;
mod talker;

pub(crate) use browser::Browser;
pub(crate) use client::Client;
pub(crate) use coding::{begun, decoded, page};
pub(crate) use directory::Directory;
pub(crate) use dns::{NameServer, Says};
pub(crate) use eager::{Eager, EarlyOrigin, Plain};
pub(crate) use log::{LogReceiver, shape};
pub(crate) use message::{Message, reply};
pub(crate) use origin::{Origin, Peer, serve_forever};
pub(crate) use program::{Running, Setup, is_built_on, program, run, stat_of};
pub(crate) use responder::{AppConn, AppRequest, Responder, STDERR, STDOUT, end, record};
pub(crate) use secure::{Identity, Secure};
pub(crate) use talker::{Heard, Talker};

use std::time::Duration;

/// How long an expected event may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// A moment, to measure a duration from.
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(sys::clock::monotonic())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(sys::clock::monotonic() - self.0)
    }
}

/// Polls until the condition holds.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Moment::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "this did not happen in time: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The bytes from a peer up to a text.
pub(crate) fn hear(stream: &mut impl std::io::Read, until: &str) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(until.as_bytes()) {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("more of it");
        heard.push(byte[0]);
    }
    String::from_utf8(heard).expect("a text")
}

/// An address without a listener. A client socket holds it until the process ends, so that no other
/// test gets it.
pub(crate) fn nobody() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    let client = std::net::TcpStream::connect(address).expect("a listener");
    let address = client.local_addr().expect("a port");
    std::mem::forget((listener, client));
    address
}

/// Lets time pass, for behaviour that is made of it (timeouts, rates).
pub(crate) fn pass(span: Duration) {
    let begin = Moment::now();
    while let Some(left) = span.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
