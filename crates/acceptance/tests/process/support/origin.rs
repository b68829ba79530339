//! Origins by script: each connection is handed to the test's own function.

use super::scripted_server::{ScriptedServer, Seen};
use super::{Client, Message};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// An origin that listens on a port given by the system until it is dropped.
pub(crate) struct Origin {
    server: ScriptedServer<Message>,
}

/// A connection as the script has it.
pub(crate) struct Peer {
    pub(crate) client: Client,
    seen: Arc<Seen<Message>>,
}

impl Peer {
    /// Takes a request and remembers it; nothing when the proxy closed.
    pub(crate) fn request(&mut self) -> Option<Message> {
        let request = self.client.request()?;
        self.seen.push(request.clone());
        Some(request)
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // Several tests have a proxy that closes its connections.
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
        let serve = move |stream, seen| script(Peer { client: Client::of(stream), seen });
        Self { server: ScriptedServer::on(listener, serve) }
    }

    /// An origin that gives every request the same answer, and keeps connections open.
    pub(crate) fn answering(answer: impl Into<String>) -> Self {
        let answer = answer.into();
        Self::new(move |peer| serve_forever(peer, |_| answer.clone().into_bytes()))
    }

    /// An origin that answers 200 with `body`.
    pub(crate) fn saying(body: &str) -> Self {
        Self::answering(super::reply("200 OK", body))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Requests so far.
    pub(crate) fn requests(&self) -> Vec<Message> {
        self.server.requests()
    }

    /// Waits for the request with this number, from 0.
    pub(crate) fn request(&self, number: usize) -> Message {
        self.server.request(number)
    }
}

/// Answers each request of a connection until the proxy closes it.
pub(crate) fn serve_forever(mut peer: Peer, answer: impl Fn(&Message) -> Vec<u8>) {
    while let Some(request) = peer.request() {
        let answer = answer(&request);
        peer.send(answer);
    }
}
