//! A server by script: each connection is handed to a function on a thread of its own.

use super::eventually;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The connections and requests that a server has seen.
pub(super) struct Seen<R> {
    connections: AtomicUsize,
    requests: Mutex<Vec<R>>,
    closing: AtomicBool,
}

impl<R> Seen<R> {
    /// Remembers a request.
    pub(super) fn push(&self, request: R) {
        self.requests.lock().expect("no test thread panicked").push(request);
    }
}

/// A server that listens until it is dropped; its requests are of type `R`.
pub(super) struct ScriptedServer<R> {
    address: SocketAddr,
    seen: Arc<Seen<R>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl<R: Clone + Send + 'static> ScriptedServer<R> {
    /// Starts one on a port given by the system.
    pub(super) fn new(serve: impl Fn(TcpStream, Arc<Seen<R>>) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a port"), serve)
    }

    /// As [`ScriptedServer::new`] on a socket that listens already.
    pub(super) fn on(
        listener: TcpListener,
        serve: impl Fn(TcpStream, Arc<Seen<R>>) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("a listening socket");
        let (connections, requests, closing) = Default::default();
        let seen = Arc::new(Seen { connections, requests, closing });
        let (serve, shared) = (Arc::new(serve), seen.clone());
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if shared.closing.load(Ordering::Relaxed) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (serve, seen) = (serve.clone(), shared.clone());
                std::thread::spawn(move || serve(stream, seen));
            }
        });
        Self { address, seen, thread: Some(thread) }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far.
    pub(super) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> Vec<R> {
        self.seen.requests.lock().expect("no test thread panicked").clone()
    }

    /// Waits for the request with this number, from 0.
    pub(super) fn request(&self, number: usize) -> R {
        eventually("a request at the server", || self.requests().get(number).cloned())
    }
}

impl<R> Drop for ScriptedServer<R> {
    fn drop(&mut self) {
        self.seen.closing.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
