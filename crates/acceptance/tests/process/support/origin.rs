//! Origins by script: each connection is handed to the test's own function.

use super::{Client, Message, eventually};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The requests that an origin has received.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<Message>>,
    closing: AtomicBool,
}

/// An origin that listens on a port given by the system until it is dropped.
pub(crate) struct Origin {
    address: SocketAddr,
    seen: Arc<Seen>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// A connection as the script has it.
pub(crate) struct Peer {
    pub(crate) client: Client,
    seen: Arc<Seen>,
}

impl Peer {
    /// Takes a request and remembers it; nothing when the proxy closed.
    pub(crate) fn request(&mut self) -> Option<Message> {
        let request = self.client.request()?;
        self.seen.requests.lock().expect("no test thread panicked").push(request.clone());
        Some(request)
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // A proxy that went away is a case of its own in several tests.
        let _ = self.client.try_send(bytes);
    }
}

impl Origin {
    /// Starts one whose connections are each served by `script` on a thread of their own.
    pub(crate) fn new(script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a port"), script)
    }

    /// As [`Origin::new`] on a socket that listens already.
    pub(crate) fn on(listener: TcpListener, script: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().expect("a listening socket");
        let seen = Arc::new(Seen::default());
        let (script, shared) = (Arc::new(script), seen.clone());
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if shared.closing.load(Ordering::Relaxed) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let peer = Peer { client: Client::of(stream), seen: shared.clone() };
                let script = script.clone();
                std::thread::spawn(move || script(peer));
            }
        });
        Self { address, seen, thread: Some(thread) }
    }

    /// One that gives every request the same answer, and keeps connections open.
    pub(crate) fn answering(answer: impl Into<String>) -> Self {
        let answer = answer.into();
        Self::new(move |peer| serve_forever(peer, |_| answer.clone().into_bytes()))
    }

    /// One that answers 200 with `body`.
    pub(crate) fn saying(body: &str) -> Self {
        Self::answering(super::reply("200 OK", body))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// Requests so far.
    pub(crate) fn requests(&self) -> Vec<Message> {
        self.seen.requests.lock().expect("no test thread panicked").clone()
    }

    /// Waits for the request with this number, from 0.
    pub(crate) fn request(&self, number: usize) -> Message {
        eventually("a request at the origin", || self.requests().get(number).cloned())
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.seen.closing.store(true, Ordering::Relaxed);
        let _ = std::net::TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers each request of a connection until the proxy closes it.
pub(crate) fn serve_forever(mut peer: Peer, answer: impl Fn(&Message) -> Vec<u8>) {
    while let Some(request) = peer.request() {
        let answer = answer(&request);
        peer.send(answer);
    }
}
